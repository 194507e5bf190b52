// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// When a readout gets the order to send an event: node "a" has one readout and is the manager, node
// "b" requests events of it that the readout has announced, or has not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/node.h"
#include "config/config.h"

#define A      0u
#define B      1u
#define RUN    1u
#define BUFFER 8u // events.source_buffer
#define ORDERS 128u

struct readout {
	struct config *config;
	struct cluster_node *node;
	uint64_t now;
	uint64_t orders[ORDERS]; // events
	unsigned n_orders;
	uint64_t released;
	bool throttled, full;
};

static struct readout readout;

static void send_nothing(void *context, unsigned to, const void *record, size_t size)
{
	(void)context;
	(void)to;
	(void)record;
	(void)size;
}

static bool to_readout(void *context, unsigned index, const struct message *message)
{
	(void)context;
	assert_int_equal(index, 0);
	if (readout.full)
		return false;
	if (message->kind == MESSAGE_SEND) {
		assert_true(readout.n_orders < ORDERS);
		readout.orders[readout.n_orders++] = message->event;
	}
	if (message->kind == MESSAGE_THROTTLE)
		readout.throttled = message->state != 0;
	if (message->kind == MESSAGE_RELEASE)
		readout.released = message->event;
	return true;
}

static void take(unsigned from, const uint8_t *bytes, size_t size)
{
	struct ctrl_record record;

	assert_int_equal(ctrl_record_at(bytes, size, &record), WIRE_OK);
	cluster_node_record(readout.node, from, &record, readout.now);
	cluster_node_poll(readout.node, readout.now);
}

static void command(enum ctrl_command what, uint64_t event)
{
	const struct ctrl_run_command record = { .config_hash = readout.config->cluster.hash,
						 .run = RUN,
						 .event = event,
						 .command = (uint16_t)what };
	uint8_t bytes[CTRL_RUN_COMMAND_SIZE];

	take(A, bytes, ctrl_put_run_command(bytes, sizeof(bytes), &record));
}

static void request(uint64_t event)
{
	const struct ctrl_request record = {
		.grant = { .event = event, .run = RUN, .node = B, .n_positions = 1, .attempt = 1 },
	};
	uint8_t bytes[CTRL_REQUEST_SIZE(0)];

	take(B, bytes, ctrl_put_request(bytes, sizeof(bytes), &record));
}

static void release(uint64_t event)
{
	const struct ctrl_release record = { .event = event, .run = RUN };
	uint8_t bytes[CTRL_RELEASE_SIZE];

	take(A, bytes, ctrl_put_release(bytes, sizeof(bytes), &record));
}

static void throttle(bool throttled)
{
	const struct ctrl_throttle record = { .run = RUN,
					      .share = throttled ? 0 : CTRL_FULL_SHARE };
	uint8_t bytes[CTRL_THROTTLE_SIZE];

	take(A, bytes, ctrl_put_throttle(bytes, sizeof(bytes), &record));
}

static void announce(uint64_t end, unsigned flags)
{
	const struct message message = {
		.kind = MESSAGE_ANNOUNCE, .event = end, .run = RUN, .flags = (uint16_t)flags
	};

	cluster_node_readout_message(readout.node, 0, &message, readout.now);
	cluster_node_poll(readout.node, readout.now);
}

static void open_readout(uint64_t start, bool resumes)
{
	static const char text[] =
	    "{\"name\": \"pair\", \"sources\": {\"ids\": [7]}, \"event_manager\": {\"mode\": "
	    "\"pull\", \"source_buffer\": 8}, \"nodes\": [{\"name\": \"a\", \"manager\": true, "
	    "\"ports\": [{\"name\": \"p\", \"profile\": \"ring\", \"address\": \"10.0.0.1/24\"}], "
	    "\"generators\": [{\"name\": \"g\", \"port\": \"p\"}]}, {\"name\": \"b\", \"ports\": "
	    "[{\"name\": \"p\", \"profile\": \"ring\", \"address\": \"10.0.0.2/24\"}], "
	    "\"builders\": [{\"name\": \"b0\"}]}]}";
	struct cluster_node_parameters parameters = {
		.n_readouts = 1,
		.resumes = resumes,
		.transport = { .send = send_nothing },
		.to_readout = to_readout,
	};
	char error[CONFIG_ERROR_SIZE];

	memset(&readout, 0, sizeof(readout));
	if (config_parse(&readout.config, text, strlen(text), "pair", "a", NULL, 0, error) != 0)
		fail_msg("%s", error);
	parameters.cluster = config_cluster_parameters(readout.config);
	assert_int_equal(parameters.cluster.source_buffer, BUFFER);
	readout.node = cluster_node_create(&parameters);
	assert_non_null(readout.node);
	command(CTRL_START, start);
}

static void close_readout(void)
{
	cluster_node_destroy(readout.node);
	config_free(readout.config);
}

static void expect_orders(unsigned n, const uint64_t *events)
{
	assert_int_equal(readout.n_orders, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(readout.orders[i], events[i]);
}

static void order__waits_until_its_event_is_announced(void **state)
{
	(void)state;
	open_readout(0, false);
	announce(2, 0);
	request(5);
	request(1);
	request(3);
	expect_orders(1, (const uint64_t[]){ 1 });
	announce(4, 0);
	expect_orders(2, (const uint64_t[]){ 1, 3 });
	announce(6, 0);
	expect_orders(3, (const uint64_t[]){ 1, 3, 5 });
	close_readout();
}

static void order__of_an_event_that_does_not_come_is_given(void **state)
{
	(void)state;
	open_readout(0, false);
	request(5);
	request(9);
	release(6); // built without this node
	expect_orders(1, (const uint64_t[]){ 5 });
	announce(8, MESSAGE_LAST);
	expect_orders(2, (const uint64_t[]){ 5, 9 });
	close_readout();
}

// What an earlier process has announced, this one can send: at most source_buffer events.
static void order__for_a_readout_that_resumes_does_not_wait(void **state)
{
	(void)state;
	open_readout(100, true);
	request(100 + BUFFER - 1);
	request(100 + BUFFER);
	expect_orders(1, (const uint64_t[]){ 100 + BUFFER - 1 });
	announce(100 + BUFFER + 1, 0);
	expect_orders(2, (const uint64_t[]){ 100 + BUFFER - 1, 100 + BUFFER });
	close_readout();
}

// The manager may throttle because of the very events that wait for it.
static void readout__is_not_throttled_while_orders_wait(void **state)
{
	(void)state;
	open_readout(0, false);
	throttle(true);
	assert_true(readout.throttled);
	request(3);
	assert_false(readout.throttled);
	announce(4, 0);
	expect_orders(1, (const uint64_t[]){ 3 });
	cluster_node_poll(readout.node, readout.now);
	assert_true(readout.throttled);
	close_readout();
}

static void order__waits_for_room_in_the_mailbox_and_for_no_other_run(void **state)
{
	(void)state;
	open_readout(0, false);
	announce(2, 0);
	readout.full = true;
	request(1);
	request(4);
	announce(5, 0);
	readout.full = false;
	cluster_node_poll(readout.node, readout.now);
	expect_orders(2, (const uint64_t[]){ 1, 4 });
	request(7);
	command(CTRL_STOP, 0);
	release(9);
	expect_orders(2, (const uint64_t[]){ 1, 4 });
	close_readout();
}

static void orders__have_room_for_all_unfinished_events_twice(void **state)
{
	const unsigned room = 2 * cluster_unfinished(BUFFER);

	(void)state;
	open_readout(0, false);
	for (unsigned i = 0; i < room; i++)
		request(20);
	assert_int_equal(readout.n_orders, 0);
	announce(21, 0);
	assert_int_equal(readout.n_orders, room);
	close_readout();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order__waits_until_its_event_is_announced),
		cmocka_unit_test(order__of_an_event_that_does_not_come_is_given),
		cmocka_unit_test(order__for_a_readout_that_resumes_does_not_wait),
		cmocka_unit_test(readout__is_not_throttled_while_orders_wait),
		cmocka_unit_test(order__waits_for_room_in_the_mailbox_and_for_no_other_run),
		cmocka_unit_test(orders__have_room_for_all_unfinished_events_twice),
	};

	return cmocka_run_group_tests_name("orders", tests, NULL, NULL);
}
