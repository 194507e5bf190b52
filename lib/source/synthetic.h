// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Made-up sources: fragments of drawn sizes, filled with a pattern that can be verified.
//
// Size laws: fixed (size_mean), gaussian (size_mean, size_sigma, clamped to 0..size_maximum), and
// lhcb, which draws from the distribution measured for the source's subdetector (lhcb_profile.h).
// All sizes, types and bytes follow from parameters->seed, the source id and the variant.
//
// Under law lhcb the lowest source id of subdetector 0 carries ODIN fragments (version 7): as made
// they count events from 0; source_set_patch_odin() gives them the event ids of the moment.
// Fragments are padded to 4 bytes.
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
