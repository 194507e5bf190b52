// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What LHCb's subdetectors send: the sizes of their fragments as measured by measure_profile.py on
// ten simulated minimum-bias events of the full Run 3 detector.
#pragma once

#include <stdint.h>

// Probabilities 0, 1/32, ... 31/32, and in the upper tail, which falls off exponentially,
// 63/64, 127/128, 255/256, 511/512 and 1.
#define LHCB_QUANTILES 37

struct lhcb_profile {
	const char *name;
	uint16_t n_sources;             // in the measured events
	uint8_t type;                   // of the fragments
	uint8_t version;                // of the fragments
	double empty;                   // share of fragments of size 0
	uint16_t sizes[LHCB_QUANTILES]; // bytes, ascending, quantiles of the others
};

// The profile of a subdetector (the upper 5 bits of a source id). Those that the measured events do
// not hold get what all measured fragments together look like.
const struct lhcb_profile *lhcb_profile(unsigned subdetector);

// Size at a quantile q, 0 <= q <= 1, in bytes; between the table's points linearly.
uint16_t lhcb_profile_size(const struct lhcb_profile *profile, double q);
