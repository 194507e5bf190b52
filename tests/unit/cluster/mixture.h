// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A random history: layout, mode, network and all that happens follow from the seed.
#pragma once

#include "farm.h"

struct mixture_sums {
	uint64_t published, incomplete, twice, repeated, unasked;
	uint64_t kills, managers, cuts, exclusions, pauses, departures, take_overs;
};

// Leaves the farm closed; farm->broken says what did not hold. elects: several nodes can manage.
void mixture_run(struct farm *farm, uint64_t seed, bool elects, struct mixture_sums *sums);
