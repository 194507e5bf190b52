// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A built MEP in the form in which files hold it: source ids ascending, MFPs in that order without
// gaps, each at a multiple of 8 bytes, padding zero. The MFPs themselves are not changed.
//
// A packer belongs to one thread. It allocates only when a MEP has more MFPs than all before.
#pragma once

#include "record/gather.h"
#include "record/mep_order.h"

struct mep_pack {
	struct mep mep; // being packed; its bytes are the caller's
	struct mep_order order;
	uint32_t *sizes;   // bytes of each MFP, in the new order
	uint32_t *offsets; // 32-bit words from the MEP's start, in the new order
	uint16_t *source_ids;
	unsigned capacity;
	size_t header_size; // bytes
	uint32_t words;     // of the packed MEP
};

void mep_pack_fini(struct mep_pack *pack);

// Reads the MEP's headers and lays out its packed form, of *size bytes. The bytes must stay as
// they are until mep_pack_write(). Returns 0; -ENOMEM; -EBADMSG if it is no MEP, with the cause in
// *reason.
int mep_pack_prepare(struct mep_pack *pack, const uint8_t *bytes, size_t length, uint64_t *size,
		     enum wire_error *reason);

// Puts the packed MEP into the gather. Returns 0 or a negative errno of the file.
int mep_pack_write(const struct mep_pack *pack, struct gather *gather);
