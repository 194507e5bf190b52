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

static void give(unsigned from, const struct ctrl_run_command *command)
{
	uint8_t bytes[CTRL_RUN_COMMAND_SIZE];
	struct ctrl_record record;

	assert_int_equal(
	    ctrl_record_at(bytes, ctrl_put_run_command(bytes, sizeof(bytes), command), &record),
	    WIRE_OK);
	cluster_node_record(farm.nodes[1].node, from, &record, farm.now);
}

static void give_member(enum ctrl_type type, uint64_t hash)
{
	const struct ctrl_member member = {
		.config_hash = hash,
		.node = 1,
		.subject = CTRL_SUBJECT_NODE,
		.reason = CTRL_REASON_OPERATOR,
	};
	uint8_t bytes[CTRL_MEMBER_SIZE];
	struct ctrl_record record;

	assert_int_equal(
	    ctrl_record_at(bytes, ctrl_put_member(bytes, sizeof(bytes), type, &member), &record),
	    WIRE_OK);
	cluster_node_record(farm.nodes[1].node, farm.manager, &record, farm.now);
}

static struct cluster_node_view view_of_node(void)
{
	struct cluster_node_view view;

	cluster_node_view(farm.nodes[1].node, &view);
	return view;
}

static void start_by_hand(void)
{
	open_by_hand("push");
	assert_true(farm_await(&farm, CTRL_READY, SECOND));
	assert_true(farm_command(&farm, CLUSTER_START, 0));
	assert_true(farm_await(&farm, CTRL_RUNNING, SECOND));
	farm_run(&farm, SECOND / 10);
	assert_int_equal(view_of_node().state, CTRL_RUNNING);
}

// A manager that does not know that the run drains may order a pause first.
static void drain__only_goes_on(void **state)
{
	static const enum ctrl_command commands[] = { CTRL_START, CTRL_PAUSE, CTRL_RESUME };
	struct ctrl_run_command command = { .command = CTRL_DRAIN, .event = 100000 };

	(void)state;
	start_by_hand();
	command.config_hash = farm.configs[1]->cluster.hash;
	command.run = view_of_node().run;
	give(farm.manager, &command);
	assert_int_equal(view_of_node().state, CTRL_DRAINING);
	for (unsigned i = 0; i < 3; i++) {
		command.command = commands[i];
		give(farm.manager, &command);
		assert_int_equal(view_of_node().state, CTRL_DRAINING);
	}
	command.command = CTRL_STOP;
	give(farm.manager, &command);
	assert_int_equal(view_of_node().state, CTRL_STOPPED);
	farm_close(&farm);
}

// A command of another run, another configuration or another node than the manager has no effect,
// and what is wrong with it is reported.
static void commands__of_another_run_configuration_or_node(void **state)
{
	uint32_t run;
	uint64_t hash;
	struct {
		unsigned from;
		struct ctrl_run_command command;
		const char *why;
	} commands[6];

	(void)state;
	start_by_hand();
	run = view_of_node().run;
	hash = farm.configs[1]->cluster.hash;
	for (unsigned i = 0; i < 6; i++) {
		commands[i].from = farm.manager;
		commands[i].command = (struct ctrl_run_command){ .config_hash = hash,
								 .run = run,
								 .command = CTRL_STOP };
		commands[i].why = "another run";
	}
	commands[0].from = 2;
	commands[0].why = "not from the event manager";
	commands[1].command.config_hash = hash + 1;
	commands[1].why = "another configuration";
	commands[2].command.run = run + 1;
	commands[3].command.run = 0;
	commands[4].command.command = CTRL_START;
	commands[4].command.run = run + 1;
	commands[5].command.command = CTRL_PAUSE;
	commands[5].command.config_hash = 0;
	commands[5].why = "another configuration";
	for (unsigned i = 0; i < 6; i++) {
		struct cluster_node_view view;

		give(commands[i].from, &commands[i].command);
		view = view_of_node();
		assert_int_equal(view.state, CTRL_RUNNING);
		assert_int_equal(view.run, run);
		assert_int_equal(view.refused.n, i + 1);
		assert_int_equal(view.refused.from, commands[i].from);
		assert_int_equal(view.refused.run, commands[i].command.run);
		assert_string_equal(view.refused.why, commands[i].why);
	}
	give_member(CTRL_EXCLUDE, hash + 1);
	assert_int_equal(view_of_node().refused.n, 7);
	assert_false(view_of_node().excluded);
	assert_int_equal(view_of_node().obeyed.command, CTRL_START);
	farm_run(&farm, SECOND);
	farm_finish(&farm);
	assert_int_equal(view_of_node().obeyed.command, CTRL_STOP);
	assert_int_equal(view_of_node().obeyed.from, farm.manager);
	assert_int_equal(view_of_node().refused.n, 7);
	close_whole();
}

static void give_record(unsigned from, const uint8_t *bytes, size_t size)
{
	struct ctrl_record record;

	assert_int_equal(ctrl_record_at(bytes, size, &record), WIRE_OK);
	cluster_node_record(farm.nodes[1].node, from, &record, farm.now);
}

static void give_request(uint32_t run)
{
	const struct ctrl_request request = {
		.grant = { .node = 2, .event = 5, .n_positions = 1, .run = run },
	};
	uint8_t bytes[CTRL_REQUEST_SIZE(0)];

	give_record(2, bytes, ctrl_put_request(bytes, sizeof(bytes), &request));
}

static void give_progress(uint32_t run)
{
	const struct ctrl_progress progress = { .step = CTRL_STEP_WITHDRAW, .run = run };
	uint8_t bytes[CTRL_PROGRESS_SIZE];

	give_record(farm.manager, bytes, ctrl_put_progress(bytes, sizeof(bytes), &progress));
}

static void give_offer(uint32_t run)
{
	const struct ctrl_block block = { .length = 64 };
	const struct ctrl_offer offer = { .run = run, .n = 1 };
	uint8_t bytes[CTRL_OFFER_SIZE(1)];

	give_record(2, bytes, ctrl_put_offer(bytes, sizeof(bytes), &offer, &block));
}

// What other nodes request, offer and report in another run has no effect and is counted.
static void records__of_another_run(void **state)
{
	void (*const give_it[])(uint32_t run) = { give_request, give_progress, give_offer };
	struct cluster_node_view before;
	uint32_t run;

	(void)state;
	start_by_hand();
	before = view_of_node();
	run = before.run;
	for (unsigned i = 0; i < 3; i++) {
		give_it[i](run + 1);
		give_it[i](0);
		assert_int_equal(view_of_node().sends, before.sends);
		assert_int_equal(view_of_node().unknown, before.unknown);
		assert_int_equal(view_of_node().other_run, 2 * (i + 1));
	}
	give_it[0](run);
	assert_true(view_of_node().sends + view_of_node().unknown > before.sends + before.unknown);
	assert_int_equal(view_of_node().other_run, 6);
	farm_run(&farm, SECOND);
	farm_finish(&farm);
	close_whole();
}

static void give_manager(unsigned from, const uint8_t *bytes, size_t size)
{
	struct ctrl_record record;

	assert_int_equal(ctrl_record_at(bytes, size, &record), WIRE_OK);
	cluster_manager_record(farm.nodes[farm.manager].manager, from, &record, farm.now);
}

static struct ctrl_welcome sent_welcome;

static void keep_welcome(void *context, unsigned to, const void *record, size_t size)
{
	struct ctrl_record checked;

	(void)context;
	(void)to;
	if (ctrl_record_at(record, size, &checked) == WIRE_OK)
		(void)ctrl_get_welcome(&checked, &sent_welcome);
}

// A refused process learns nothing of the system with which it could take a node's place.
static void welcome__tells_a_refused_node_nothing(void **state)
{
	const struct ctrl_register other = { .config_hash = 1, .name = "n1" };
	struct cluster_transport wire;
	struct farm_node *manager;
	uint8_t bytes[CTRL_REGISTER_SIZE];

	(void)state;
	start_by_hand();
	manager = &farm.nodes[farm.manager];
	wire = manager->wire;
	manager->wire.send = keep_welcome;
	give_manager(1, bytes, ctrl_put_register(bytes, sizeof(bytes), &other));
	manager->wire = wire;
	assert_int_equal(sent_welcome.verdict, CTRL_REFUSED_CONFIG);
	assert_int_equal(sent_welcome.config_hash, 0);
	assert_int_equal(sent_welcome.run, 0);
	farm_finish(&farm);
	close_whole();
}

// Static mode: the time from the end of the sources to the end of the run.
static uint64_t run_statically(bool cut)
{
	const struct farm_options options = {
		.seed = 3, .n_readouts = 2, .n_builders = 2, .mode = "static", .events = 200
	};
	uint64_t ended;

	farm_open(&farm, &options);
	assert_true(farm_await(&farm, CTRL_RUNNING, SECOND));
	farm_run(&farm, 100 * MS);
	if (cut)
		farm_cut(&farm, 1, true, false);
	farm_run(&farm, 50 * MS);
	farm_heal(&farm);
	assert_true(farm_await(&farm, CTRL_DRAINING, 5 * SECOND));
	ended = farm.now;
	assert_true(farm_await(&farm, CTRL_STOPPED, 20 * SECOND));
	return farm.now - ended;
}

static void static_run__ends_when_all_is_built(void **state)
{
	(void)state;
	assert_in_range(run_statically(false), 100 * MS, 500 * MS); // some heartbeats
	assert_int_equal(farm.n_published, 200);
	assert_int_equal(farm.n_incomplete, 0);
	close_whole();
}

// Events that lack data are open for 3 s, of which the manager waits two deadlines of 1 s.
static void static_run__waits_for_events_that_are_open(void **state)
{
	(void)state;
	assert_in_range(run_statically(true), 1990 * MS, 2100 * MS);
	assert_true(farm.n_published < 200);
	farm_close(&farm);
}

// A builder node that never ends its report does not fill the manager's memory.
static void report__without_an_end_is_cut_off(void **state)
{
	enum { REPORTED = 48, RECORDS = 100 };
	struct ctrl_held held[REPORTED];
	const struct cluster_system *system;
	struct ctrl_register again = { .name = "n3" };
	struct ctrl_adopt adopt = { .n = REPORTED };
	uint8_t bytes[CTRL_ADOPT_SIZE(REPORTED)];
	uint64_t most, before;
	unsigned from;

	(void)state;
	start_by_hand();
	system = &farm.configs[farm.manager]->cluster;
	from = system->builders[0].node;
	again.config_hash = system->hash;
	again.run = adopt.run = view_of_node().run;
	give_manager(from, bytes, ctrl_put_register(bytes, sizeof(bytes), &again));
	for (unsigned i = 0; i < REPORTED; i++)
		held[i] = (struct ctrl_held){ .holding = CTRL_HOLDS_OPEN };
	before = farm_view(&farm).stale;
	for (unsigned i = 0; i < RECORDS; i++)
		give_manager(from, bytes, ctrl_put_adopt(bytes, sizeof(bytes), &adopt, held));
	most = system->builders[0].slots +
	       cluster_finished(config_cluster_parameters(farm.configs[from]).source_buffer);
	assert_int_equal(farm_view(&farm).stale - before, REPORTED * RECORDS - most);
	farm_close(&farm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start__waits_for_the_command),
		cmocka_unit_test(start__needs_all_nodes_that_are_not_excluded),
		cmocka_unit_test(commands__are_refused_in_the_wrong_state),
		cmocka_unit_test(stop__is_at_once),
		cmocka_unit_test(configuration__has_to_be_the_same),
		cmocka_unit_test(drain__only_goes_on),
		cmocka_unit_test(commands__of_another_run_configuration_or_node),
		cmocka_unit_test(records__of_another_run),
		cmocka_unit_test(welcome__tells_a_refused_node_nothing),
		cmocka_unit_test(static_run__ends_when_all_is_built),
		cmocka_unit_test(static_run__waits_for_events_that_are_open),
		cmocka_unit_test(report__without_an_end_is_cut_off),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
