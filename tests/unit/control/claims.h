// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Several processes claim the same node number: they start, die, are unplugged (for one or both
// directions) and plugged in again in random histories. However a history went, one second after
// its last change each process that is plugged in is in step with one process of the other number,
// or has been refused and told so. Half of the histories are with a key; in these a
// stranger sends recorded frames again.
#pragma once

#include <stdint.h>

// Processes that refused another one, and that accepted another session, at the end of all
// histories.
struct claims_sums {
	uint64_t refused, restarted;
};

// Runs histories of n_zero processes with node number 0 and n_one with number 1, 6 together at
// most. Returns NULL, or the invariant that a history breaks.
const char *claims_run(unsigned n_zero, unsigned n_one, unsigned histories,
		       struct claims_sums *sums);
