// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "builder/window_watch.h"

#include "base/counter.h"

void window_watch_make(struct window_watch *watch,
		       const struct shift_windows_parameters *parameters)
{
	struct shift_windows_parameters own = *parameters;

	own.n_positions = 1;
	own.is_folded = false;
	own.rank = 0;
	*watch = (struct window_watch){
		.early = (uint64_t)((double)parameters->idle_ns / 2e9 *
				    (double)parameters->ticks_per_second),
	};
	shift_windows_make(&watch->windows, &own);
}

void window_watch_add(struct window_watch *watch, uint32_t node, uint64_t arrival)
{
	(void)shift_windows_position(&watch->windows, arrival + watch->early);
	if (!watch->has_begun || watch->windows.number != watch->number) {
		watch->has_begun = true;
		watch->number = watch->windows.number;
		watch->node = node;
		watch->conflicts = false;
		counter_add(&watch->counters.windows, 1);
	}
	if (watch->node == node || watch->conflicts)
		return;
	watch->conflicts = true;
	counter_add(&watch->counters.conflicts, 1);
}
