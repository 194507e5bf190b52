// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "silent_sources.h"

#include "stories.h"

void readout_and_manager_are_killed_and_back(struct farm *farm)
{
	for (unsigned i = 0; i < 3; i++) {
		unsigned node = some_readout(farm);

		farm_kill(farm, node);
		farm_run(farm, farm_below(farm, 100 * MS));
		farm_kill(farm, farm->manager);
		farm_run(farm, farm_below(farm, 600 * MS));
		farm_start(farm, node);
		farm_run(farm, farm_below(farm, 600 * MS));
		farm_start(farm, farm->manager);
		farm_run(farm, farm_below(farm, SECOND));
	}
}

void manager_dies_before_it_misses_a_readout(struct farm *farm)
{
	for (unsigned i = 0; i < 3; i++) {
		const unsigned node = some_readout(farm);

		farm_kill(farm, node);
		farm_run(farm, 150 * MS);
		farm_kill(farm, farm->manager);
		farm_run(farm, 400 * MS + farm_below(farm, 600 * MS));
		farm_start(farm, node);
		farm_run(farm, farm_below(farm, 600 * MS));
		farm_start(farm, farm->manager);
		farm_run(farm, SECOND);
	}
}

void readout_restarts_while_nobody_manages(struct farm *farm)
{
	for (unsigned i = 0; i < 3; i++) {
		farm_restart(farm, some_readout(farm));
		farm_kill(farm, farm->manager);
		farm_run(farm, 500 * MS + farm_below(farm, 500 * MS));
		farm_start(farm, farm->manager);
		farm_run(farm, SECOND);
	}
}
