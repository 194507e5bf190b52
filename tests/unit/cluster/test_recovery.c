// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How long a system takes until it goes on after the death of a process: no longer than the time
// after which a node counts as silent (200 ms), unless data is lost, which costs one deadline.
#include "farm.h"

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 20u
#else
#define SEEDS 150u
#endif
#define KILLS 4u
#define MORE  10u // events after which the system goes on

static struct farm farm;

static void open_running(uint64_t seed, uint64_t deadline)
{
	const struct farm_options options = { .seed = seed,
					      .n_readouts = 2,
					      .n_builders = 2,
					      .mode = seed % 2 == 0 ? "push" : "pull",
					      .on_source_silent = "pause",
					      .loss = 0.03 * (double)(seed % 4),
					      .deadline = deadline,
					      .rate = 200,
					      .resumes = true };

	farm_open(&farm, &options);
	assert_true(farm_await(&farm, CTRL_RUNNING, 5 * SECOND));
	farm_run(&farm, 300 * MS);
}

// Runs until all nodes take part and events are released; returns the time, at most 60 s.
static uint64_t recover(void)
{
	const uint64_t begin = farm.now;
	uint64_t mark = UINT64_MAX;

	for (; farm.now < begin + 60 * SECOND; farm_run(&farm, 5 * MS)) {
		const struct cluster_manager_view view = farm_view(&farm);

		if (view.n_registered < farm.n_nodes || view.in_doubt > 0)
			continue;
		if (mark == UINT64_MAX)
			mark = view.released;
		if (view.released >= mark + MORE)
			break;
	}
	return farm.now - begin;
}

static void killed_process__holds_nobody_up(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		open_running(seed, 30 * SECOND);
		for (unsigned i = 0; i < KILLS; i++) {
			const unsigned node = (unsigned)farm_below(&farm, farm.n_nodes);
			uint64_t took;

			farm_kill(&farm, node);
			farm_run(&farm, MS + farm_below(&farm, 300 * MS));
			farm_start(&farm, node);
			took = recover();
			if (took > 500 * MS)
				fail_msg("seed %ju: %ju ms after a kill of node %u",
					 (uintmax_t)seed, (uintmax_t)(took / MS), node);
		}
		farm_close(&farm);
		farm_expect_whole(&farm);
	}
}

// Packets that are lost, and not the death of a process, make a recovery as long as a deadline.
static void lost_data__costs_one_deadline(void **state)
{
	(void)state;
	open_running(4, 30 * SECOND);
	farm_cut(&farm, 3, false, true); // a builder node
	farm_run(&farm, 50 * MS);
	farm_heal(&farm);
	assert_in_range(recover(), 29 * SECOND, 31 * SECOND);
	farm_close(&farm);
	farm_expect_whole(&farm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_process__holds_nobody_up),
		cmocka_unit_test(lost_data__costs_one_deadline),
	};

	return cmocka_run_group_tests_name("recovery", tests, NULL, NULL);
}
