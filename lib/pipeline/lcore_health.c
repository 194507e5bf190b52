// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pipeline/lcore_health.h"

#include "base/counter.h"

const struct lcore *lcore_find_stuck(struct lcore_health *health, const struct lcore *lcores,
				     unsigned n)
{
	uint64_t now[EVB_MAX_CPUS];

	for (unsigned i = 0; i < n; i++) {
		now[i] = counter_read(&lcores[i].counters.loops);
		if (now[i] == health->loops[i] &&
		    atomic_load_explicit(&lcores[i].running, memory_order_relaxed))
			return &lcores[i];
	}
	for (unsigned i = 0; i < n; i++)
		health->loops[i] = now[i];
	return NULL;
}
