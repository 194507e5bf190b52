// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Packs a built MEP into the form that files contain: source ids ascend, the MFPs have the same
// order without gaps, each MFP starts at a multiple of 8 bytes, and padding is zero. The MFPs
// themselves are not changed.
//
// Only one thread uses a packer.
#pragma once

#include "record/gather.h"
#include "record/mep_order.h"

struct mep_pack {
	struct mep mep; // the MEP to be packed, in the caller's memory
	struct mep_order order;
	uint32_t sizes[MEP_MAX_MFPS];   // bytes of each MFP, in the new order
	uint32_t offsets[MEP_MAX_MFPS]; // 32-bit words from the MEP's start, in the new order
	uint16_t source_ids[MEP_MAX_MFPS];
	size_t header_size; // bytes
	uint32_t words;     // of the packed MEP
};

// Reads the MEP's headers and computes the layout of its packed form, of *size bytes. The caller
// must not change the MEP before mep_pack_write(). Fails if the bytes are no MEP.
enum wire_error mep_pack_prepare(struct mep_pack *pack, const uint8_t *bytes, size_t length,
				 uint64_t *size);

// Appends the packed MEP to the gather. Returns 0 or a negative errno of the file.
int mep_pack_write(const struct mep_pack *pack, struct gather *gather);
