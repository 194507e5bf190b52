// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A random history: layout, mode, network and all that happens follow from the seed.
#pragma once

#include "farm.h"

struct mixture_sums {
	uint64_t published, incomplete, twice, repeated, unasked;
	uint64_t kills, managers, cuts, exclusions, pauses, departures, take_overs;
	uint64_t shared, shared_received, shared_repeated; // frames
};

// Leaves the farm closed; farm->broken says what did not hold. elects: several nodes can manage.
// multicast: frames are for all readouts, and each of them receives a frame or not.
void mixture_run(struct farm *farm, uint64_t seed, bool elects, bool multicast,
		 struct mixture_sums *sums);
