// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the operator commands, and what is refused.
#include "farm.h"

#include <string.h>

static struct farm farm;

static void open_by_hand(const char *mode)
{
	const struct farm_options options = {
		.seed = 1, .n_readouts = 2, .n_builders = 2, .mode = mode, .by_hand = true
	};

	farm_open(&farm, &options);
}

static void assert_refused(enum cluster_command command, unsigned node, const char *why)
{
	char error[CLUSTER_ERROR_SIZE];

	assert_int_equal(cluster_manager_command(farm.nodes[farm.manager].manager, command, node,
						 farm.now, error),
			 -1);
	assert_string_equal(error, why);
}

static void close_whole(void)
{
	farm_close(&farm);
	farm_expect_whole(&farm);
}

static void start__waits_for_the_command(void **state)
{
	(void)state;
	open_by_hand("push");
	assert_true(farm_await(&farm, CTRL_READY, SECOND));
	farm_run(&farm, SECOND);
	assert_int_equal(farm_view(&farm).state, CTRL_READY);
	for (unsigned i = 0; i < farm.n_nodes; i++)
		assert_int_equal(farm.nodes[i].state, CTRL_READY);
	assert_true(farm_command(&farm, CLUSTER_START, 0));
	assert_true(farm_await(&farm, CTRL_RUNNING, SECOND));
	farm_run(&farm, SECOND);
	assert_true(farm.n_published > 100);
	assert_refused(CLUSTER_START, 0, "a run is there already: resume it, or drain it first");
	farm_finish(&farm);
	close_whole();
}

static void start__needs_all_nodes_that_are_not_excluded(void **state)
{
	(void)state;
	open_by_hand("pull");
	farm_kill(&farm, 3);
	farm_run(&farm, SECOND);
	assert_int_equal(farm_view(&farm).state, CTRL_CONFIGURED);
	assert_refused(CLUSTER_START, 0, "not all nodes are there: start them, or exclude them");
	assert_true(farm_command(&farm, CLUSTER_EXCLUDE, 3));
	assert_true(farm_await(&farm, CTRL_READY, 10 * SECOND));
	assert_true(farm_command(&farm, CLUSTER_START, 0));
	assert_true(farm_await(&farm, CTRL_RUNNING, SECOND));
	farm_run(&farm, SECOND);
	assert_true(farm_command(&farm, CLUSTER_INCLUDE, 3));
	farm_start(&farm, 3);
	farm_run(&farm, SECOND);
	assert_int_equal(farm.nodes[3].state, CTRL_RUNNING);
	farm_finish(&farm);
	close_whole();
}

static void commands__are_refused_in_the_wrong_state(void **state)
{
	(void)state;
	open_by_hand("push");
	assert_refused(CLUSTER_PAUSE, 0, "the nodes are not all known yet: try again");
	assert_true(farm_await(&farm, CTRL_READY, SECOND));
	assert_refused(CLUSTER_PAUSE, 0, "no run is going on");
	assert_refused(CLUSTER_RESUME, 0, "the run is not paused");
	assert_refused(CLUSTER_DRAIN, 0, "no run is going on");
	assert_refused(CLUSTER_EXCLUDE, farm.n_nodes, "there is no such node");
	assert_refused(CLUSTER_INCLUDE, 1, "it is not excluded");
	assert_true(farm_command(&farm, CLUSTER_EXCLUDE, 1));
	assert_refused(CLUSTER_EXCLUDE, 1, "it is excluded already");
	close_whole();
}

// What is not published by then is given up, and its slots come back.
static void stop__is_at_once(void **state)
{
	static const char *const modes[] = { "push", "pull" };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		open_by_hand(modes[i]);
		assert_true(farm_await(&farm, CTRL_READY, SECOND));
		assert_true(farm_command(&farm, CLUSTER_START, 0));
		farm_run(&farm, SECOND);
		assert_true(farm_command(&farm, CLUSTER_STOP, 0));
		assert_int_equal(farm_view(&farm).state, CTRL_STOPPED);
		farm_run(&farm, 5 * SECOND);
		truth_end(&farm);
		close_whole();
	}
}

static void configuration__has_to_be_the_same(void **state)
{
	const struct farm_options options = { .seed = 1, .n_folded = 2 };
	struct farm_options other = options;
	struct config *const *configs;
	const char *why = NULL;

	(void)state;
	other.source_buffer = 32;
	farm_open(&farm, &other);
	configs = farm.configs;
	farm_close(&farm);
	farm_open(&farm, &options);
	farm_kill(&farm, 1);
	farm.configs = configs;
	farm_start(&farm, 1);
	farm_run(&farm, SECOND);
	assert_true(cluster_node_ended(farm.nodes[1].node, &why));
	assert_string_equal(why,
			    "the event manager refuses this node: its configuration is not the "
			    "manager's");
	assert_int_equal(farm_view(&farm).state, CTRL_CONFIGURED);
	close_whole();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start__waits_for_the_command),
		cmocka_unit_test(start__needs_all_nodes_that_are_not_excluded),
		cmocka_unit_test(commands__are_refused_in_the_wrong_state),
		cmocka_unit_test(stop__is_at_once),
		cmocka_unit_test(configuration__has_to_be_the_same),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
