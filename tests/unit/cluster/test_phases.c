// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The barrier between phases: what readouts report, and what they are told of the others.
#include "farm.h"

#define FIRST    1u // node that reads, of READOUTS
#define READOUTS 3u

static struct farm farm;

static struct sim_readout *readout_of(unsigned node)
{
	return &farm.nodes[node].readouts[0];
}

static void report(unsigned node, uint32_t phase)
{
	const struct message message = { .kind = MESSAGE_PHASE,
					 .event = phase,
					 .state = readout_of(node)->session };

	cluster_node_readout_message(farm.nodes[node].node, 0, &message, farm.now);
	farm_run(&farm, 50 * MS);
}

static void assert_limit(unsigned node, uint32_t phase)
{
	assert_true(readout_of(node)->has_limit);
	assert_int_equal(readout_of(node)->limit, phase);
}

static void assert_limits(uint32_t phase)
{
	for (unsigned i = FIRST; i < FIRST + READOUTS; i++)
		assert_limit(i, phase);
}

// All readouts, on the nodes from `first` on, have got grants.
static void begin_with(const struct farm_options *options, unsigned first)
{
	farm_open(&farm, options);
	assert_true(farm_await(&farm, CTRL_RUNNING, SECOND));
	farm_run(&farm, SECOND);
	for (unsigned i = first; i < first + READOUTS; i++) {
		assert_true(readout_of(i)->session > 0);
		assert_false(readout_of(i)->has_limit);
	}
}

static void begin(void)
{
	const struct farm_options options = {
		.seed = 5, .n_readouts = READOUTS, .n_builders = 2, .phase_barrier = 1
	};

	begin_with(&options, FIRST);
}

static void end(void)
{
	farm_finish(&farm);
	farm_close(&farm);
	farm_expect_whole(&farm);
}

static void limit__is_the_least_that_nodes_have_reached(void **state)
{
	(void)state;
	begin();
	report(1, 7);
	report(2, 9);
	assert_false(readout_of(1)->has_limit);
	report(3, 8);
	assert_limits(7);
	report(1, 10);
	assert_limits(8);
	report(2, UINT32_MAX); // behind: numbers go round
	assert_limits(UINT32_MAX);
	report(2, 12);
	assert_limits(8);
	end();
}

static void lost_node__does_not_hold_the_others(void **state)
{
	(void)state;
	begin();
	for (unsigned i = FIRST; i < FIRST + READOUTS; i++)
		report(i, 20 + i);
	assert_limits(21);
	farm_kill(&farm, 1);
	farm_run(&farm, 3 * SECOND);
	assert_limit(2, 22);
	assert_limit(3, 22);
	farm_start(&farm, 1);
	farm_run(&farm, 3 * SECOND);
	report(2, 40);
	assert_limits(23); // and the new process knows it
	report(1, 30);
	report(3, 40);
	assert_limits(30);
	end();
}

// The records of both directions reach the node of the manager: its own report is no limit, and the
// limit is no report of this node.
static void manager_that_reads__tells_its_reports_from_limits(void **state)
{
	const struct farm_options options = { .seed = 5, .n_folded = READOUTS, .phase_barrier = 1 };

	(void)state;
	begin_with(&options, 0);
	report(0, 7);
	assert_false(readout_of(0)->has_limit);
	report(1, 3);
	report(2, 4);
	for (unsigned i = 0; i < READOUTS; i++)
		assert_limit(i, 3);
	report(1, 6);
	report(2, 6);
	for (unsigned i = 0; i < READOUTS; i++)
		assert_limit(i, 6);
	report(1, 9);
	report(2, 9);
	for (unsigned i = 0; i < READOUTS; i++)
		assert_limit(i, 7);
	report(0, 8);
	for (unsigned i = 0; i < READOUTS; i++)
		assert_limit(i, 8);
	end();
}

// The numbers of the next manager are others.
static void next_manager__is_told_anew(void **state)
{
	uint16_t before;

	(void)state;
	begin();
	for (unsigned i = FIRST; i < FIRST + READOUTS; i++)
		report(i, 1000);
	assert_limits(1000);
	before = readout_of(1)->session;
	farm_restart(&farm, 0);
	farm_run(&farm, 5 * SECOND);
	for (unsigned i = FIRST; i < FIRST + READOUTS; i++) {
		assert_true(readout_of(i)->session > before);
		readout_of(i)->session--;
		report(i, 1001);
		readout_of(i)->session++;
	}
	assert_limits(1000);
	for (unsigned i = FIRST; i < FIRST + READOUTS; i++)
		report(i, 2 + i);
	assert_limits(3);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limit__is_the_least_that_nodes_have_reached),
		cmocka_unit_test(lost_node__does_not_hold_the_others),
		cmocka_unit_test(manager_that_reads__tells_its_reports_from_limits),
		cmocka_unit_test(next_manager__is_told_anew),
	};

	return cmocka_run_group_tests_name("phases", tests, NULL, NULL);
}
