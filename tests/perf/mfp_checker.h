// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Checks whether each byte of MFPs is what synthetic sources generate (source/pattern.h), at a
// small part of the cost of pattern_check_mfp().
//
// A source sends its variants again and again. An MFP is compared with the pattern when it comes
// for the first time, and the CRC-32 of its bytes without the event id is remembered. Later an MFP
// is right if its CRC is the remembered one, and is compared with the pattern again if it is not:
// so a right MFP is never refused, and a wrong one is accepted only if its CRC is right by chance.
//
// A checker belongs to one thread. One of all zeros knows no MFP.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/mfp.h"

#define MFP_CHECKER_KNOWN 1024u // MFPs; others take the place of one of these

struct mfp_checker {
	struct mfp_known {
		uint64_t seed; // of the first fragment: source, variant; 0: none
		uint32_t size; // bytes of the MFP
		uint32_t crc;
	} known[MFP_CHECKER_KNOWN];
};

// mfp: decoded from these bytes.
bool mfp_checker_is_right(struct mfp_checker *checker, const struct mfp *mfp, const uint8_t *bytes);
