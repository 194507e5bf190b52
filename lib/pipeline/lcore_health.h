// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Whether the lcores make progress. A role that does not return from a call stops the loop of its
// lcore, and with it all other roles of this lcore.
#pragma once

#include "base/limits.h"
#include "pipeline/lcore.h"

struct lcore_health {
	uint64_t loops[EVB_MAX_CPUS]; // of each lcore, when all had made progress the last time
};

// Returns the first lcore that runs and has ended no loop since the last call that returned NULL.
// NULL: there is none, and the next call begins from here. The caller zeroes `health` once, and
// passes the same lcores, n <= EVB_MAX_CPUS, each time. One thread; the lcores may run.
const struct lcore *lcore_find_stuck(struct lcore_health *health, const struct lcore *lcores,
				     unsigned n);
