// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "mfp_checker.h"

#include "source/pattern.h"
#include "wire/crc.h"

// Where an encoded MFP has the event id, which differs between MFPs with the same fragments.
#define EVENT_ID offsetof(struct mfp_header, event_id)
#define AFTER_ID (EVENT_ID + sizeof(uint64_t))

static uint32_t crc_of(const uint8_t *bytes, uint32_t size)
{
	return crc_add(crc_add(UINT32_MAX, bytes, EVENT_ID), bytes + AFTER_ID, size - AFTER_ID);
}

bool mfp_checker_is_right(struct mfp_checker *checker, const struct mfp *mfp, const uint8_t *bytes)
{
	struct mfp_known found = { .size = mfp->header.packet_size };
	struct mfp_known *known;
	size_t data = (size_t)(mfp->data - bytes);

	if (data + sizeof(found.seed) > found.size)
		return pattern_check_mfp(mfp) == 0;
	found.seed = load_le64(mfp->data);
	found.crc = crc_of(bytes, found.size);
	known = &checker->known[(mfp->header.source_id * 64u + pattern_stream(found.seed)) %
				MFP_CHECKER_KNOWN];
	if (known->seed == found.seed && known->size == found.size && known->crc == found.crc)
		return true;
	if (pattern_check_mfp(mfp) != 0)
		return false;
	*known = found;
	return true;
}
