// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// One record of each type of the control protocol, written from the layouts in wire/ctrl.h by other
// means than the code that is tested, no two fields alike.
#pragma once

#include "bytes.h"

#include "wire/ctrl.h"

#define CTRL_N_SAMPLES (CTRL_N_TYPES - 2u) // there is no type 0 and no type 4

struct ctrl_sample {
	enum ctrl_type type;
	const char *name, *hex;
	size_t fixed_size; // what a record of its type has at least
};

extern const struct ctrl_sample ctrl_samples[CTRL_N_SAMPLES];

// The bytes of the sample; the record in them.
struct bytes ctrl_sample_bytes(enum ctrl_type type);
struct ctrl_record ctrl_record_of(const struct bytes *bytes);

// Whether the bit of a source's index is set in a mask of n words. Bits beyond the mask are not.
static inline bool ctrl_mask_bit(const uint8_t *mask, unsigned n_words, unsigned index)
{
	return index / 64 < n_words && (load_le64(mask + index / 64 * 8) >> index % 64 & 1) != 0;
}
