// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// CRC-32 of IEEE 802.3: polynomial 0x04C11DB7, bits reflected (0xEDB88320), as Ethernet, zlib and
// RoCE's ICRC have it. A state is the remainder as it stands between two bytes, so without the
// complements at the beginning and end of a message: those are 0xFFFFFFFF before its first byte,
// and ~state behind its last.
//
// Runs on carry-less multiplication where the CPU has it, else on zlib; found out at run time.
#pragma once

#include "wire/wire.h"

#define CRC_INITIAL   0xFFFFFFFFu
#define CRC_HEAD_SIZE 64u

// Continues a state over bytes; any size, 0 too.
uint32_t crc_add(uint32_t state, const uint8_t *bytes, size_t size);

// The same over CRC_HEAD_SIZE bytes that lie elsewhere, then over bytes.
uint32_t crc_add_behind(uint32_t state, const uint8_t head[CRC_HEAD_SIZE], const uint8_t *bytes,
			size_t size);

// What crc_add() does on a CPU without carry-less multiplication.
uint32_t crc_add_portable(uint32_t state, const uint8_t *bytes, size_t size);
