// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Synthetic sources: fragments of drawn sizes, filled with a pattern that can be verified
// (pattern.h).
//
// Size laws: fixed (mean), gaussian (mean, sigma, limited to 0..maximum), and lhcb, which draws
// from the distribution measured for the subdetector of the source (lhcb_profile.h). All sizes,
// types and bytes follow from the seed, the source id and the variant.
//
// With law lhcb the lowest source id of subdetector 0 has ODIN fragments (version 7). They count
// events from 0; source_set_patch_odin() writes the current event ids. Fragments are padded to 4
// bytes.
#pragma once

#include "source/block_maker.h"

// Makes the maker for kind synthetic; its cycle is parameters->variants long. Returns 0, or -1 with
// one line in error[SOURCE_ERROR_SIZE].
int synthetic_open(struct block_maker **maker, const struct source_set_parameters *parameters,
		   char *error);

// Draws the size of one fragment, in bytes. subdetector: 0..31, of law lhcb only.
struct random;
uint16_t synthetic_draw_size(const struct fragment_sizes *sizes, unsigned subdetector,
			     struct random *random);
