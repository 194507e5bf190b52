// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Nodes that share their source: the manager gives each event of each of them an index.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cluster/manager.h"
#include "cluster/node.h"
#include "config/config.h"
#include "wire/ctrl.h"

#define MS      1000000u
#define BUFFER  16u
#define TOKENS  8u
#define ENDLESS UINT64_MAX

enum { BUILDER, ONE, TWO, N_NODES };

static const char text[] =
    "{\"name\": \"s\", \"sources\": {\"ids\": [1], \"payload\": \"opaque\", \"packing\": 1},"
    " \"event_manager\": {\"source_buffer\": 16}, \"nodes\": ["
    "{\"name\": \"b\", \"manager\": true, \"builders\": [{\"name\": \"b0\", \"slots\": 8}],"
    " \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"address\": \"10.0.0.1/24\"}]},"
    "{\"name\": \"e1\", \"generators\": [{\"name\": \"g\", \"port\": \"w\", \"kind\": "
    "\"event_ring\", \"event_ring\": {\"appliance\": \"a1\"}}],"
    " \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"address\": \"10.0.0.2/24\"}]},"
    "{\"name\": \"e2\", \"generators\": [{\"name\": \"g\", \"port\": \"w\", \"kind\": "
    "\"event_ring\", \"event_ring\": {\"appliance\": \"a2\"}}],"
    " \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"address\": \"10.0.0.3/24\"}]}]}";

static struct config *config;
static struct cluster_manager *manager;
static uint64_t now;
static struct ctrl_announce assigned[N_NODES]; // the last one that each node got
static unsigned n_assigned[N_NODES];
static uint64_t granted; // events, to the builder's node
static uint64_t drained; // end of the run, as commanded
static struct ctrl_grant first_grant;
static struct ctrl_progress unpublished[N_NODES];
static unsigned n_unpublished[N_NODES];
static uint64_t released;        // as node ONE knows it
static uint64_t released_before; // when it got the last `unpublished`

static void send_record(void *context, unsigned node, const void *bytes, size_t size)
{
	struct ctrl_run_command command;
	struct ctrl_progress progress;
	struct ctrl_release release;
	struct ctrl_record record;

	(void)context;
	assert_int_equal(ctrl_record_at(bytes, size, &record), WIRE_OK);
	if (record.type == CTRL_GRANT && node == BUILDER && granted == 0)
		assert_int_equal(ctrl_get_grant(&record, &first_grant), WIRE_OK);
	if (record.type == CTRL_RELEASE && node == ONE &&
	    ctrl_get_release(&record, &release) == WIRE_OK)
		released = release.event;
	if (record.type == CTRL_PROGRESS && ctrl_get_progress(&record, &progress) == WIRE_OK &&
	    progress.step == CTRL_STEP_UNPUBLISHED) {
		unpublished[node] = progress;
		n_unpublished[node]++;
		released_before = released;
	}
	if (record.type == CTRL_ANNOUNCE) {
		assert_int_equal(ctrl_get_announce(&record, &assigned[node]), WIRE_OK);
		n_assigned[node]++;
	}
	granted += record.type == CTRL_GRANT && node == BUILDER;
	if (record.type == CTRL_RUN_COMMAND && ctrl_get_run_command(&record, &command) == WIRE_OK &&
	    command.command == CTRL_DRAIN)
		drained = command.event;
}

static size_t room(void *context, unsigned node, size_t largest)
{
	(void)context;
	(void)node;
	(void)largest;
	return 65536;
}

static void give(unsigned from, const uint8_t *bytes, size_t size)
{
	struct ctrl_record record;

	assert_int_equal(ctrl_record_at(bytes, size, &record), WIRE_OK);
	cluster_manager_record(manager, from, &record, now);
}

static void poll_some(void)
{
	for (unsigned i = 0; i < 10; i++)
		cluster_manager_poll(manager, now += MS);
}

static void give_register(unsigned node, uint32_t run)
{
	struct ctrl_register record = {
		.config_hash = config->cluster.hash,
		.run = run,
		.known_from = ENDLESS,
	};
	uint8_t bytes[CTRL_REGISTER_SIZE];

	give(node, bytes, ctrl_put_register(bytes, sizeof(bytes), &record));
}

static void give_announce(unsigned node, uint64_t begin, uint64_t end, uint16_t flags)
{
	const struct ctrl_announce record = {
		.begin = begin,
		.end = end,
		.run = 1,
		.first_source = 1,
		.last_source = 1,
		.flags = flags,
	};
	uint8_t bytes[CTRL_ANNOUNCE_SIZE];

	give(node, bytes, ctrl_put_announce(bytes, sizeof(bytes), &record));
}

static void give_state(unsigned node)
{
	const struct ctrl_run_report record = {
		.config_hash = config->cluster.hash,
		.run = 1,
		.state = CTRL_RUNNING,
	};
	uint8_t bytes[CTRL_RUN_REPORT_SIZE];

	give(node, bytes, ctrl_put_run_report(bytes, sizeof(bytes), &record));
}

// The builder holds nothing, and all of its tokens are free.
static void give_tokens(void)
{
	const struct ctrl_adopt adopt = { .run = 1, .flags = CTRL_LAST };
	const struct ctrl_builder builder = { .slots = TOKENS, .slot_size = 4096 };
	const struct ctrl_credit_list list = { .n = TOKENS };
	struct ctrl_credit credits[TOKENS];
	uint8_t bytes[256];

	give(BUILDER, bytes, ctrl_put_builder(bytes, sizeof(bytes), &builder));
	give(BUILDER, bytes, ctrl_put_adopt(bytes, sizeof(bytes), &adopt, NULL));
	for (uint32_t i = 0; i < TOKENS; i++)
		credits[i] = (struct ctrl_credit){ .slot = i, .generation = 1 };
	give(BUILDER, bytes, ctrl_put_credit_list(bytes, sizeof(bytes), &list, credits));
}

static void make_manager(void)
{
	struct cluster_manager_parameters parameters = config_manager_parameters(config);

	parameters.transport = (struct cluster_transport){ .send = send_record, .room = room };
	manager = cluster_manager_create(&parameters);
	assert_non_null(manager);
	memset(assigned, 0, sizeof(assigned));
	memset(n_assigned, 0, sizeof(n_assigned));
	memset(n_unpublished, 0, sizeof(n_unpublished));
	granted = drained = released = 0;
	now = MS;
}

static int set_up(void **state)
{
	char error[CONFIG_ERROR_SIZE];

	(void)state;
	if (config_parse(&config, text, strlen(text), "x.json", "b", NULL, 0, error))
		fail_msg("%s", error);
	assert_true(config->cluster.shares_source);
	make_manager();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cluster_manager_destroy(manager);
	config_free(config);
	return 0;
}

static void start_run(void)
{
	for (unsigned i = 0; i < N_NODES; i++)
		give_register(i, 0);
	poll_some();
	give_tokens();
	poll_some();
}

static void assert_assigned(unsigned node, unsigned n, uint64_t begin, uint64_t end)
{
	assert_int_equal(n_assigned[node], n);
	assert_int_equal(assigned[node].begin, begin);
	assert_int_equal(assigned[node].end, end);
	assert_int_equal(assigned[node].flags, CTRL_ASSIGNED);
	assert_int_equal(assigned[node].run, 1);
}

static void indices__are_given_in_the_order_of_announcements(void **state)
{
	(void)state;
	start_run();
	give_announce(ONE, 0, 3, 0);
	assert_assigned(ONE, 1, 0, 3);
	give_announce(TWO, 0, 2, 0);
	assert_assigned(TWO, 1, 3, 5);
	give_announce(ONE, 0, 4, 0); // it has not received its indices yet
	assert_assigned(ONE, 2, 5, 6);
	give_announce(ONE, 4, 4, 0);
	assert_int_equal(n_assigned[ONE], 2);
	poll_some();
	assert_int_equal(granted, 6); // a node without events stops nobody
}

static void node__that_is_new_has_no_indices(void **state)
{
	(void)state;
	start_run();
	give_announce(ONE, 0, 3, 0);
	cluster_manager_event(manager, ONE, CONTROL_RESTARTED, now);
	give_register(ONE, 0);
	give_announce(ONE, 0, 2, 0);
	assert_assigned(ONE, 2, 3, 5);
	// The same process, in another session: it has received those of its first event only.
	cluster_manager_event(manager, ONE, CONTROL_RESTARTED, now);
	give_register(ONE, 1);
	give_announce(ONE, 4, 4, CTRL_ASSIGNED);
	give_announce(ONE, 1, 2, 0);
	assert_assigned(ONE, 3, 5, 6);
}

static void manager__that_is_new_gives_no_index_twice(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_NODES; i++)
		give_register(i, 1);
	give_state(BUILDER);
	for (unsigned i = ONE; i <= TWO; i++) {
		give_announce(i, 20 + i, 20 + i, CTRL_ASSIGNED);
		give_announce(i, 10, 12, 0);
		give_state(i);
	}
	poll_some();
	assert_int_equal(n_assigned[ONE] + n_assigned[TWO], 0); // the builder has to report first
	give_tokens();
	poll_some();
	assert_assigned(ONE, 1, 20 + TWO, 22 + TWO);
	assert_assigned(TWO, 1, 22 + TWO, 24 + TWO);
	assert_int_equal(granted, TOKENS); // of those from 0 on that an earlier manager assigned
}

static void manager__leaves_out_what_missing_nodes_may_have(void **state)
{
	(void)state;
	give_register(BUILDER, 1);
	give_state(BUILDER);
	give_register(ONE, 1);
	give_announce(ONE, 5, 5, CTRL_ASSIGNED);
	give_announce(ONE, 5, 6, 0);
	give_state(ONE);
	poll_some();
	now += CLUSTER_SETTLE_NS;
	poll_some();
	give_tokens();
	poll_some();
	assert_assigned(ONE, 1, 2 * BUFFER, 2 * BUFFER + 1);
}

static void run__ends_when_all_have_ended(void **state)
{
	(void)state;
	start_run();
	give_announce(ONE, 0, 3, CTRL_END_OF_RUN);
	poll_some();
	assert_int_equal(drained, 0);
	give_announce(TWO, 0, 2, CTRL_END_OF_RUN);
	poll_some();
	assert_int_equal(drained, 5);
	give_announce(TWO, 0, 9, 0);
	poll_some();
	assert_assigned(TWO, 1, 3, 5); // no indices any more
}

static void run__waits_for_a_node_that_is_gone(void **state)
{
	char error[CLUSTER_ERROR_SIZE];

	(void)state;
	start_run();
	give_announce(ONE, 0, 3, 0);
	give_announce(TWO, 0, 2, 0);
	cluster_manager_event(manager, TWO, CONTROL_LOST, now);
	give_announce(ONE, 3, 3, CTRL_END_OF_RUN);
	poll_some();
	assert_int_equal(drained, 0);
	assert_int_equal(cluster_manager_command(manager, CLUSTER_EXCLUDE, TWO, now, error), 0);
	poll_some();
	assert_int_equal(drained, 5);
}

static void give_done(enum ctrl_outcome outcome)
{
	const struct ctrl_done done = {
		.event = first_grant.event,
		.slot = first_grant.slot,
		.generation = first_grant.generation,
		.attempt = first_grant.attempt,
		.run = 1,
		.outcome = (uint8_t)outcome,
	};
	uint8_t bytes[256];

	give(BUILDER, bytes, ctrl_put_done(bytes, sizeof(bytes), &done));
	poll_some();
}

// The node that has it may send it as another event, and has to know before the release.
static void discarded__event_is_told_to_all_that_send_built_ones(void **state)
{
	(void)state;
	start_run();
	give_announce(ONE, 0, 1, 0);
	poll_some();
	assert_int_equal(granted, 1);
	cluster_manager_event(manager, TWO, CONTROL_LOST,
			      now); // it gets the record when it is back
	give_done(CTRL_DISCARDED);
	for (unsigned i = ONE; i <= TWO; i++) {
		assert_int_equal(n_unpublished[i], 1);
		assert_int_equal(unpublished[i].event, 0);
		assert_int_equal(unpublished[i].run, 1);
		assert_int_equal(unpublished[i].flags, 0);
	}
	assert_int_equal(n_unpublished[BUILDER], 0);
	assert_int_equal(released_before, 0);
	assert_int_equal(released, 1);
}

static void unbuilt__event_is_granted_again(void **state)
{
	(void)state;
	start_run();
	give_announce(ONE, 0, 1, 0);
	poll_some();
	give_done(CTRL_UNBUILT);
	assert_int_equal(n_unpublished[ONE], 0);
	assert_int_equal(released, 0);
	assert_int_equal(granted, 2);
}

// --- a node that sends built events ---

static struct message to_readout[8];
static unsigned n_to_readout, room_of_mailbox;

static bool put_to_readout(void *context, unsigned readout, const struct message *message)
{
	(void)context;
	(void)readout;
	if (n_to_readout == room_of_mailbox)
		return false;
	to_readout[n_to_readout++] = *message;
	return true;
}

static void give_node(struct cluster_node *node, const uint8_t *bytes, size_t size)
{
	struct ctrl_record record;

	assert_int_equal(ctrl_record_at(bytes, size, &record), WIRE_OK);
	cluster_node_record(node, BUILDER, &record, now);
}

static void start_node(struct cluster_node *node, uint64_t hash)
{
	const struct ctrl_welcome welcome = { .verdict = CTRL_ACCEPTED, .config_hash = hash };
	const struct ctrl_run_command start = { .command = CTRL_START,
						.run = 1,
						.config_hash = hash };
	uint8_t bytes[256];

	cluster_node_event(node, ONE, CONTROL_CONNECTED);
	cluster_node_event(node, BUILDER, CONTROL_CONNECTED);
	give_node(node, bytes, ctrl_put_welcome(bytes, sizeof(bytes), &welcome));
	give_node(node, bytes, ctrl_put_run_command(bytes, sizeof(bytes), &start));
	cluster_node_poll(node, now);
}

// What became of an event reaches the readout before its release, also if its mailbox was full.
static void node__tells_what_is_unpublished_before_the_release(void **state)
{
	const struct ctrl_progress progress = {
		.event = 7, .run = 1, .step = CTRL_STEP_UNPUBLISHED, .flags = CTRL_REPEATED
	};
	const struct ctrl_release release = { .event = 8, .run = 1 };
	struct cluster_node_parameters parameters = {
		.n_readouts = 1,
		.transport = { .send = send_record, .room = room },
		.to_readout = put_to_readout,
	};
	char error[CONFIG_ERROR_SIZE];
	struct cluster_node *node;
	struct config *own;
	uint8_t bytes[256];

	(void)state;
	if (config_parse(&own, text, strlen(text), "x.json", "e1", NULL, 0, error))
		fail_msg("%s", error);
	parameters.cluster = config_cluster_parameters(own);
	node = cluster_node_create(&parameters);
	assert_non_null(node);
	n_to_readout = 0;
	room_of_mailbox = 8;
	start_node(node, own->cluster.hash);
	room_of_mailbox = n_to_readout;
	give_node(node, bytes, ctrl_put_progress(bytes, sizeof(bytes), &progress));
	give_node(node, bytes, ctrl_put_release(bytes, sizeof(bytes), &release));
	cluster_node_poll(node, now);
	n_to_readout = 0;
	room_of_mailbox = 8;
	cluster_node_poll(node, now);
	assert_int_equal(n_to_readout, 2);
	assert_int_equal(to_readout[0].kind, MESSAGE_UNPUBLISHED);
	assert_int_equal(to_readout[0].event, 7);
	assert_int_equal(to_readout[0].flags, MESSAGE_REPEATED);
	assert_int_equal(to_readout[1].kind, MESSAGE_RELEASE);
	assert_int_equal(to_readout[1].event, 8);
	cluster_node_destroy(node);
	config_free(own);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(indices__are_given_in_the_order_of_announcements),
		TEST(node__that_is_new_has_no_indices),
		TEST(manager__that_is_new_gives_no_index_twice),
		TEST(manager__leaves_out_what_missing_nodes_may_have),
		TEST(discarded__event_is_told_to_all_that_send_built_ones),
		TEST(unbuilt__event_is_granted_again),
		TEST(node__tells_what_is_unpublished_before_the_release),
		TEST(run__ends_when_all_have_ended),
		TEST(run__waits_for_a_node_that_is_gone),
	};

	return cmocka_run_group_tests_name("shared", tests, NULL, NULL);
}
