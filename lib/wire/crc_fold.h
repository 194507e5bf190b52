// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// CRC-32 by carry-less multiplication: what crc_add() chooses from. Each function needs the
// instructions that the question before it is about.
#pragma once

#include "wire/crc.h"

#define CRC_MIN_SHORT 16u  // bytes: least size for crc_fold_short()
#define CRC_MIN_WIDE  192u // and for crc_fold_wide(), behind the head

// PCLMULQDQ and SSE4.1.
bool crc_has_clmul(void);
uint32_t crc_fold_short(uint32_t state, const uint8_t *bytes, size_t size);
// A head, then any number of bytes, which may be those right behind it.
uint32_t crc_fold(uint32_t state, const uint8_t head[CRC_HEAD_SIZE], const uint8_t *bytes,
		  size_t size);

// VPCLMULQDQ on registers of 512 bits.
bool crc_has_wide_clmul(void);
uint32_t crc_fold_wide(uint32_t state, const uint8_t head[CRC_HEAD_SIZE], const uint8_t *bytes,
		       size_t size);
