// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The largest system: 1024 nodes with 4096 sources.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "crowd.h"

static void build_all(unsigned n_nodes, enum sched_mode mode, uint64_t events, uint64_t restart)
{
	const struct crowd_options options = {
		.n_nodes = n_nodes,
		.n_sources = EVB_MAX_SOURCES / EVB_MAX_NODES * n_nodes,
		.mode = mode,
		.source_buffer = 256,
		.events = events,
		.restart = restart,
	};
	struct crowd crowd;

	assert_true(crowd_open(&crowd, &options));
	crowd_run(&crowd, 100000);
	if (crowd.broken[0] != '\0')
		fail_msg("%u nodes: %s", n_nodes, crowd.broken);
	assert_int_equal(crowd.restarted, restart > 0);
	crowd_close(&crowd);
}

static void few_nodes__push_and_pull(void **state)
{
	(void)state;
	build_all(2, SCHED_PUSH, 1000, 0);
	build_all(4, SCHED_PUSH, 3000, 1000);
	build_all(66, SCHED_PULL, 1000, 500);
}

static void most_nodes__push(void **state)
{
	(void)state;
	build_all(EVB_MAX_NODES, SCHED_PUSH, 1500, 0);
}

static void most_nodes__pull(void **state)
{
	(void)state;
	build_all(EVB_MAX_NODES, SCHED_PULL, 500, 0);
}

static void most_nodes__another_manager(void **state)
{
	(void)state;
	build_all(EVB_MAX_NODES, SCHED_PUSH, 1000, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_nodes__push_and_pull),
		cmocka_unit_test(most_nodes__push),
		cmocka_unit_test(most_nodes__pull),
		cmocka_unit_test(most_nodes__another_manager),
	};

	return cmocka_run_group_tests_name("crowd", tests, NULL, NULL);
}
