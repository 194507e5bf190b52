// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "several_runs.h"

#include "stories.h"

// A manager that has just started obeys when it knows all nodes.
static void end_run(struct farm *farm, enum cluster_command command, unsigned run)
{
	const uint64_t limit = farm->now + 5 * SECOND;

	while (farm_view(farm).run != run || !farm_command(farm, command, 0)) {
		if (farm->now > limit) {
			farm_broken(farm, "run %u does not end", run);
			return;
		}
		farm_run(farm, 5 * MS);
	}
}

void run_follows_run(struct farm *farm)
{
	for (unsigned run = 1; run < farm->options.runs; run++) {
		const uint64_t limit = farm->now + 60 * SECOND;
		unsigned node = other_builder(farm);

		if (run == 2)
			farm_restart(farm, farm->manager);
		if (run == 3)
			farm_cut(farm, node, true, true); // the next manager tells it of the end
		end_run(farm, run % 2 != 0 ? CLUSTER_STOP : CLUSTER_DRAIN, run);
		if (run == 2 && farm_await(farm, CTRL_STOPPED, 30 * SECOND)) {
			farm_run(farm, farm_below(farm, 100 * MS));
			farm_restart(farm, node);
		}
		if (run == 4 && farm_await(farm, CTRL_STOPPED, 30 * SECOND)) {
			farm_run(farm, farm_below(farm, 100 * MS));
			farm_restart(farm, farm->manager);
		}
		farm_run(farm, run == 3 ? SECOND : 0);
		farm_heal(farm);
		while (farm->now < limit &&
		       (farm_view(farm).run != run + 1 || farm_view(farm).state != CTRL_RUNNING))
			farm_run(farm, 5 * MS);
		if (farm_view(farm).run != run + 1)
			farm_broken(farm, "run %u does not start, but %u, state %d", run + 1,
				    farm_view(farm).run, (int)farm_view(farm).state);
		farm_run(farm, farm_below(farm, 300 * MS));
	}
}
