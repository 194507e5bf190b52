// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/crc.h"

#include <zlib.h>

#include "wire/crc_fold.h"

// From here on wide registers are worth their longer way to the end.
#define WORTH_WIDE 512u

uint32_t crc_add_portable(uint32_t state, const uint8_t *bytes, size_t size)
{
	// zlib answers a null pointer with the CRC of nothing.
	return size > 0 ? ~(uint32_t)crc32_z(~state, bytes, size) : state;
}

uint32_t crc_add(uint32_t state, const uint8_t *bytes, size_t size)
{
	if (size < CRC_MIN_SHORT || !crc_has_clmul())
		return crc_add_portable(state, bytes, size);
	if (size < CRC_HEAD_SIZE)
		return crc_fold_short(state, bytes, size);
	return crc_add_behind(state, bytes, bytes + CRC_HEAD_SIZE, size - CRC_HEAD_SIZE);
}

uint32_t crc_add_behind(uint32_t state, const uint8_t head[CRC_HEAD_SIZE], const uint8_t *bytes,
			size_t size)
{
	if (size >= WORTH_WIDE && crc_has_wide_clmul())
		return crc_fold_wide(state, head, bytes, size);
	if (crc_has_clmul())
		return crc_fold(state, head, bytes, size);
	return crc_add_portable(crc_add_portable(state, head, CRC_HEAD_SIZE), bytes, size);
}
