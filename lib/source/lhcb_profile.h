// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The sizes of the fragments that LHCb's subdetectors send, as measured by measure_profile.py on
// ten simulated minimum-bias events of the full Run 3 detector.
#pragma once

#include <stdint.h>

// Quantiles at probabilities 0, 1/32, ... 31/32, and in the upper tail, which falls exponentially,
// at 63/64, 127/128, 255/256, 511/512 and 1.
#define LHCB_QUANTILES 37

struct lhcb_profile {
	const char *name;
	uint16_t n_sources;             // in the measured events
	uint8_t type;                   // of the fragments
	uint8_t version;                // of the fragments
	double empty;                   // share of fragments of size 0
	uint16_t sizes[LHCB_QUANTILES]; // bytes, ascending: quantiles of the fragments that are not
					// empty
};

// The profile of a subdetector (the upper 5 bits of a source id). A subdetector that is not in the
// measured events has the profile of all measured fragments together.
const struct lhcb_profile *lhcb_profile(unsigned subdetector);

// The size at quantile q, 0 <= q <= 1, in bytes; linear between the points of the table.
uint16_t lhcb_profile_size(const struct lhcb_profile *profile, double q);
