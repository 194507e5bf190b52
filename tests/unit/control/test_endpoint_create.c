// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An endpoint without a network: what it refuses, and how it serves many peers.
#include "pair.h"

#include "control/endpoint_internal.h"

static bool never_emits(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	(void)context;
	(void)peer;
	(void)bytes;
	(void)size;
	return false;
}

static bool always_emits(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	(void)peer;
	(void)bytes;
	(void)size;
	++*(unsigned *)context;
	return true;
}

static void ignores_event(void *context, unsigned peer, enum control_event event)
{
	(void)context;
	(void)peer;
	(void)event;
}

static void ignores_record(void *context, unsigned peer, const struct ctrl_record *record)
{
	(void)context;
	(void)peer;
	(void)record;
}

static struct control_parameters alone(unsigned *n_emitted, const uint16_t *peers, unsigned n)
{
	struct control_parameters parameters = control_defaults();

	parameters.handlers = (struct control_handlers){
		.context = n_emitted,
		.deliver = ignores_record,
		.event = ignores_event,
		.emit = always_emits,
	};
	parameters.peers = peers;
	parameters.n_peers = n;
	parameters.node = 1023;
	parameters.session = 1;
	parameters.window = 2;
	return parameters;
}

static void poll__1023_peers(void **state)
{
	uint16_t peers[CTRL_MAX_NODES - 1];
	struct control_parameters parameters;
	struct control_endpoint *endpoint;
	unsigned n_emitted = 0;

	(void)state;
	for (unsigned i = 0; i < CTRL_MAX_NODES - 1; i++)
		peers[i] = (uint16_t)i;
	parameters = alone(&n_emitted, peers, CTRL_MAX_NODES - 1);
	endpoint = control_create(&parameters, NULL);
	assert_non_null(endpoint);
	for (uint64_t now = 0; now <= parameters.heartbeat_interval; now += 50 * US)
		control_poll(endpoint, now);
	assert_in_range(n_emitted, 1023, 1024); // one each, at different times; the first twice
	control_destroy(endpoint);
}

static void poll__says_when_it_is_due(void **state)
{
	static const uint16_t peers[] = { 1, 2, 3, 4 };
	unsigned n_emitted = 0;
	struct control_parameters parameters = alone(&n_emitted, peers, 4);
	struct control_endpoint *endpoint = control_create(&parameters, NULL);

	(void)state;
	assert_non_null(endpoint);
	assert_int_equal(endpoint->earliest, 0);
	assert_int_equal(control_poll(endpoint, 0), 4);
	// From the second one on the heartbeats are spread over the interval.
	for (unsigned i = 4; i < 12; i++) {
		assert_int_equal(endpoint->earliest, i * 25 * MS);
		assert_int_equal(control_poll(endpoint, i * 25 * MS), 1);
		assert_int_equal(control_poll(endpoint, i * 25 * MS + 24 * MS), 0);
	}
	control_destroy(endpoint);
}

static void poll__goes_on_where_it_was_refused(void **state)
{
	static const uint16_t peers[] = { 1, 2, 3 };
	unsigned n_emitted = 0;
	struct control_parameters parameters = alone(&n_emitted, peers, 3);
	struct control_endpoint *endpoint;

	(void)state;
	parameters.handlers.emit = never_emits;
	endpoint = control_create(&parameters, NULL);
	assert_non_null(endpoint);
	assert_int_equal(control_poll(endpoint, SECOND), 0);
	assert_true(endpoint->earliest <= SECOND);
	assert_int_equal(control_counters(endpoint, 1)->frames_sent, 0);
	control_destroy(endpoint);
}

// Sends one frame, then refuses one.
static bool emits_every_other(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	(void)peer;
	(void)bytes;
	(void)size;
	return ++*(unsigned *)context % 2 == 1;
}

static void poll__no_peer_starves(void **state)
{
	static const uint16_t peers[] = { 1, 2, 3 };
	unsigned n_asked = 0;
	struct control_parameters parameters = alone(&n_asked, peers, 3);
	struct control_endpoint *endpoint;

	(void)state;
	parameters.handlers.emit = emits_every_other;
	endpoint = control_create(&parameters, NULL);
	assert_non_null(endpoint);
	// All heartbeats are due each time, and one goes out.
	for (unsigned i = 1; i <= 30; i++)
		assert_int_equal(control_poll(endpoint, i * SECOND), 1);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(control_counters(endpoint, peers[i])->frames_sent, 10);
	control_destroy(endpoint);
}

static void expect_refused(const struct control_parameters *parameters, const char *reason)
{
	const char *given = NULL;

	assert_null(control_create(parameters, &given));
	assert_non_null(given);
	assert_non_null(strstr(given, reason));
}

static void create__refuses_with_a_reason(void **state)
{
	static const uint16_t peers[] = { 1, 2, 1 }, itself[] = { 1023 }, beyond[] = { 1024 };
	unsigned n_emitted = 0;
	const struct control_parameters good = alone(&n_emitted, peers, 2);
	struct control_parameters bad;

	(void)state;
#define EXPECT_REFUSED(field, value, reason)  \
	do {                                  \
		bad = good;                   \
		bad.field = (value);          \
		expect_refused(&bad, reason); \
	} while (0)
	EXPECT_REFUSED(handlers.emit, NULL, "handler");
	EXPECT_REFUSED(handlers.event, NULL, "handler");
	EXPECT_REFUSED(handlers.deliver, NULL, "handler");
	EXPECT_REFUSED(window, 0, "window");
	EXPECT_REFUSED(window, 65, "window");
	EXPECT_REFUSED(frame_size, 1227, "frame_size");
	EXPECT_REFUSED(frame_size, 65485, "frame_size");
	EXPECT_REFUSED(queue_size, 1024, "queue_size");
	EXPECT_REFUSED(queue_size, 3 * 1024, "queue_size");
	EXPECT_REFUSED(session, 0, "session");
	EXPECT_REFUSED(heartbeat_interval, 0, "heartbeat");
	EXPECT_REFUSED(heartbeat_timeout, 100 * MS, "heartbeat");
	EXPECT_REFUSED(rto_min, 200 * US, "rto_min");
	EXPECT_REFUSED(rto_max, 1 * MS, "rto_max");
	EXPECT_REFUSED(n_peers, 3, "named twice");
	EXPECT_REFUSED(n_peers, 1024, "n_peers");
	EXPECT_REFUSED(peers, NULL, "n_peers");
	EXPECT_REFUSED(node, 1024, "node");
	bad = alone(&n_emitted, itself, 1);
	expect_refused(&bad, "itself");
	bad = alone(&n_emitted, beyond, 1);
	expect_refused(&bad, "node number");
#undef EXPECT_REFUSED
	control_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poll__1023_peers),
		cmocka_unit_test(poll__says_when_it_is_due),
		cmocka_unit_test(poll__goes_on_where_it_was_refused),
		cmocka_unit_test(poll__no_peer_starves),
		cmocka_unit_test(create__refuses_with_a_reason),
	};

	return cmocka_run_group_tests_name("endpoint_create", tests, NULL, NULL);
}
