// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The core of libevb-sender over a wire of the test, at a time of the test. In a system, the test
// is the event manager: it has a control endpoint and writes the records itself.
#include "../producer/ring_bench.h"

#include <errno.h>
#include <string.h>

#include "config/config.h"
#include "readout/segment_head.h"
#include "sender/sender_core.h"
#include "store/ring_store.h"
#include "wire/ejfat.h"
#include "wire/mfp.h"

#define MTU       1500u
#define LENGTH    3000u            // bytes of a block, several segments
#define STEP      UINT64_C(100000) // ns between two polls
#define MS        UINT64_C(1000000)
#define SECOND    UINT64_C(1000000000)
#define RECEIVERS 2u
#define EVENTS    64u // that a test sends at most
#define RUN       77u
#define MANAGER   0u

struct block {
	uint8_t bytes[LENGTH];
	uint32_t received;
	unsigned receiver;
};

static struct {
	struct ring_bench bench;
	struct config *config; // of a system
	struct block_store *store;
	struct evb_producer *producer;
	struct sender_core *core;
	uint64_t now;

	// The wire
	bool open;
	struct block blocks[EVENTS][RING_SOURCES];
	uint64_t n_segments, n_bytes; // n_bytes: on the link
	unsigned ends[RECEIVERS];     // end-of-run blocks

	// The event manager
	struct control_endpoint *manager;
	enum ctrl_verdict verdict;
	uint64_t announced;
	bool registered, ended, left;
} test;

static const uint16_t ids[RING_SOURCES] = { 7, 0x1001, 0xfffe };

static const char system_text[] =
    "{\"name\": \"s\", \"sources\": {\"ids\": [7, 4097, 65534], \"packing\": 1,"
    " \"payload\": \"opaque\"}, \"events\": {\"deadline\": \"1s\"},"
    " \"event_manager\": {\"mode\": \"push\"}, \"nodes\": ["
    "{\"name\": \"m\", \"manager\": true, \"ports\": [{\"name\": \"w\", \"profile\": \"ring\","
    " \"address\": \"10.0.0.1/24\"}], \"builders\": [{\"name\": \"b0\"}, {\"name\": \"b1\"}]},"
    "{\"name\": \"r\", \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"mtu\": 1500,"
    " \"address\": \"10.0.0.2/24\"}],"
    " \"generators\": [{\"name\": \"g\", \"port\": \"w\", \"kind\": \"producer\"}]}]}";

// --- the wire ---

static void take_segment(const struct sender_segment *segment)
{
	uint8_t bytes[MTU];
	const uint32_t size = segment->head_size + segment->payload_size;
	struct ejfat_segment at;
	struct block *block;
	unsigned source = 0;

	assert_true(size <= MTU - 28);
	memcpy(bytes, segment->head, segment->head_size);
	if (segment->payload_size > 0)
		memcpy(bytes + segment->head_size, segment->payload, segment->payload_size);
	assert_int_equal(ejfat_segment_decode(bytes, size, size, &at), WIRE_OK);
	test.n_segments++;
	test.n_bytes += size + 28 + 14 + 24; // IPv4, UDP; Ethernet; preamble, FCS, gap
	if (at.re.event_number == MFP_END_OF_RUN) {
		test.ends[segment->receiver]++;
		return;
	}
	while (ids[source] != at.re.data_id)
		assert_true(++source < RING_SOURCES);
	assert_int_equal(source, segment->source);
	assert_int_equal(at.re.length, LENGTH);
	assert_true(at.re.event_number < EVENTS);
	block = &test.blocks[at.re.event_number][source];
	memcpy(block->bytes + at.re.offset, bytes + at.payload_offset, at.payload_size);
	block->received += at.payload_size;
	block->receiver = segment->receiver;
}

static unsigned send_segments(void *context, const struct sender_segment *segments, unsigned n)
{
	(void)context;
	for (unsigned i = 0; i < n && test.open; i++)
		take_segment(&segments[i]);
	return test.open ? n : 0;
}

static bool send_frame(void *context, unsigned node, const uint8_t *bytes, size_t size)
{
	(void)context;
	assert_int_equal(node, MANAGER);
	assert_int_equal(control_receive(test.manager, bytes, size, test.now), WIRE_OK);
	return true;
}

// --- the event manager ---

static void send_record(const void *bytes, size_t size)
{
	assert_true(control_send(test.manager, 1, bytes, size));
}

static void welcome(void)
{
	struct ctrl_welcome record = { .verdict = test.verdict, .text = "go away" };
	uint8_t bytes[CTRL_WELCOME_SIZE];

	record.config_hash = test.verdict == CTRL_ACCEPTED ? test.config->cluster.hash : 0;
	test.registered = true;
	send_record(bytes, ctrl_put_welcome(bytes, sizeof(bytes), &record));
}

static void command(enum ctrl_command what, uint64_t event)
{
	const struct ctrl_run_command record = {
		.command = (uint8_t)what,
		.run = RUN,
		.config_hash = test.config->cluster.hash,
		.event = event,
	};
	uint8_t bytes[CTRL_RUN_COMMAND_SIZE];

	send_record(bytes, ctrl_put_run_command(bytes, sizeof(bytes), &record));
}

static void grant(uint64_t event, unsigned builder)
{
	const struct ctrl_grant record = {
		.builder = (uint16_t)builder, .event = event, .n_positions = 1, .run = RUN
	};
	uint8_t bytes[CTRL_GRANT_SIZE];

	send_record(bytes, ctrl_put_grant(bytes, sizeof(bytes), &record));
}

static void release(uint64_t event)
{
	const struct ctrl_release record = { .event = event, .run = RUN };
	uint8_t bytes[CTRL_RELEASE_SIZE];

	send_record(bytes, ctrl_put_release(bytes, sizeof(bytes), &record));
}

static void deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct ctrl_announce announce;

	(void)context;
	(void)peer;
	if (record->type == CTRL_REGISTER)
		welcome();
	test.left |= record->type == CTRL_BYE;
	if (record->type != CTRL_ANNOUNCE)
		return;
	assert_int_equal(ctrl_get_announce(record, &announce), WIRE_OK);
	test.announced = announce.end;
	test.ended = (announce.flags & CTRL_END_OF_RUN) != 0;
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	(void)context;
	(void)peer;
	(void)event;
}

static bool emit(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	(void)context;
	assert_int_equal(peer, 1);
	sender_core_receive(test.core, 0x0a000001, bytes, size, test.now);
	return true;
}

static void make_manager(void)
{
	struct control_parameters parameters = control_defaults();
	const uint16_t peer = 1;

	parameters.handlers =
	    (struct control_handlers){ NULL, deliver, on_event, emit, NULL, NULL };
	parameters.peers = &peer;
	parameters.n_peers = 1;
	parameters.epoch = 1;
	parameters.session = 5;
	parameters.now = test.now;
	test.manager = control_create(&parameters, NULL);
	assert_non_null(test.manager);
}

// --- the bench ---

static void open_core(bool is_node, uint64_t rate)
{
	const struct ring_store_parameters ring = {
		.ring = {
			.appliance = BENCH_NAME,
			.name = RING_NAME,
			.directory = test.bench.files.directory,
			.size = RING_SIZE,
			.blocks = 64,
			.max_block = RING_LARGEST,
			.sources = ids,
			.n_sources = RING_SOURCES,
		},
		.packing = 1,
		.mfps = !is_node,
		.deadline_cycles = SECOND,
	};
	struct sender_core_parameters parameters = {
		.wire = { NULL, send_frame, send_segments },
		.readout = {
			.n_builders = RECEIVERS,
			.n_nodes = 2,
			.is_static = !is_node,
			.source_buffer = 1024,
			.pace = { .n_sources = 1, .node_sources = 1, .system_sources = 1 },
		},
		.mfps = ring.mfps,
		.mtu = MTU,
		.rate = rate,
		.is_node = is_node,
	};
	char error[EVRING_ERROR_SIZE];
	const char *reason;

	test.store = parameters.readout.store = ring_store_create(&ring, error);
	assert_non_null(test.store);
	test.producer = ring_producer(&test.bench, false);
	if (is_node) {
		parameters.cluster = config_cluster_parameters(test.config);
		parameters.heartbeat_ns = 100 * MS;
		parameters.heartbeat_timeout_ns = SECOND;
		make_manager();
	}
	test.core = sender_core_create(&parameters, test.now, &reason);
	assert_non_null(test.core);
}

static int set_up(void **state)
{
	char error[CONFIG_ERROR_SIZE];

	(void)state;
	memset(&test, 0, sizeof(test));
	test.now = SECOND;
	test.open = true;
	bench_make_directory(&test.bench.files);
	if (config_parse(&test.config, system_text, strlen(system_text), "x", "r", NULL, 0,
			 error) != 0)
		fail_msg("%s", error);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sender_core_destroy(test.core);
	control_destroy(test.manager);
	(void)evb_producer_finish(test.producer);
	evb_producer_close(test.producer);
	block_store_destroy(test.store);
	bench_remove_directory(&test.bench.files);
	config_free(test.config);
	return 0;
}

static void run(uint64_t duration)
{
	for (const uint64_t end = test.now + duration; test.now < end; test.now += STEP) {
		(void)sender_core_poll(test.core, test.now);
		if (test.manager != NULL)
			(void)control_poll(test.manager, test.now);
	}
}

static void put(uint64_t event)
{
	for (unsigned i = 0; i < RING_SOURCES; i++)
		assert_int_equal(ring_put(test.producer, ids[i], event, LENGTH), 0);
}

// All blocks of the event came to the receiver, as they were put. mfps: the id of the event stands
// where MFPs have it.
static void assert_event(uint64_t event, unsigned receiver, bool mfps)
{
	for (unsigned i = 0; i < RING_SOURCES; i++) {
		struct block *block = &test.blocks[event][i];
		uint8_t expected[LENGTH];

		ring_fill(expected, LENGTH, ids[i], event);
		if (mfps)
			mfp_patch_event_id(expected, event);
		assert_int_equal(block->received, LENGTH);
		assert_int_equal(block->receiver, receiver);
		assert_memory_equal(block->bytes, expected, LENGTH);
	}
}

static bool ended(void)
{
	const char *why;

	return sender_core_ended(test.core, &why);
}

static struct sender_core_view view(void)
{
	struct sender_core_view now;

	sender_core_view(test.core, &now);
	return now;
}

// --- to receivers ---

static void alone__events_go_to_the_receivers_in_turn(void **state)
{
	(void)state;
	open_core(false, 0);
	for (uint64_t event = 5; event < 9; event++)
		put(event);
	assert_int_equal(evb_producer_finish(test.producer), 0);
	run(10 * MS);
	for (uint64_t event = 5; event < 9; event++)
		assert_event(event, event % RECEIVERS, true);
	assert_true(ended());
	assert_int_equal(test.ends[0], RING_SOURCES);
	assert_int_equal(test.ends[1], RING_SOURCES);
	assert_int_equal(view().readout.events, 4);
	assert_int_equal(view().released, 9);
}

static void alone__nothing_to_send(void **state)
{
	(void)state;
	open_core(false, 0);
	run(10 * MS);
	assert_false(ended());
	assert_int_equal(evb_producer_finish(test.producer), 0);
	run(10 * MS);
	assert_true(ended());
}

// At 10 MB/s, 60 kB take 6 ms.
static void alone__rate(void **state)
{
	const uint64_t rate = 10000000, start = test.now;

	(void)state;
	open_core(false, rate);
	for (uint64_t event = 0; event < 6; event++)
		put(event);
	while (view().readout.events < 6) {
		run(STEP);
		assert_true(test.n_bytes <= (test.now - start) * rate / SECOND + 4 * MTU);
		assert_true(test.now - start < 20 * MS);
	}
	assert_true(test.n_bytes > 6 * RING_SOURCES * LENGTH);
}

// What the wire does not take waits, in its memory.
static void alone__a_wire_that_takes_nothing(void **state)
{
	uint64_t event = 6;

	(void)state;
	open_core(false, 0);
	test.open = false;
	for (uint64_t i = 0; i < 6; i++)
		put(i);
	while (ring_put(test.producer, ids[0], event++, LENGTH) == 0)
		run(STEP);
	run(10 * MS);
	assert_int_equal(ring_put(test.producer, ids[0], event, LENGTH), -EAGAIN);
	assert_int_equal(test.n_segments, 0);
	test.open = true;
	run(10 * MS);
	for (uint64_t i = 0; i < 6; i++)
		assert_event(i, i % RECEIVERS, true);
}

// --- as a node ---

static void start(void)
{
	open_core(true, 0);
	run(200 * MS);
	assert_true(test.registered);
	command(CTRL_START, 0);
	run(10 * MS);
	assert_int_equal(view().run, RUN);
}

static void node__sends_what_is_granted_and_holds_it(void **state)
{
	(void)state;
	start();
	for (uint64_t event = 0; event < 4; event++)
		put(event);
	run(10 * MS);
	assert_int_equal(test.announced, 4);
	assert_int_equal(test.n_segments, 0);
	grant(2, 1);
	run(10 * MS);
	assert_event(2, 1, false);
	assert_int_equal(view().readout.events, 1);
	// The builder died: another one gets the event.
	memset(test.blocks, 0, sizeof(test.blocks));
	grant(2, 0);
	run(10 * MS);
	assert_event(2, 0, false);
	assert_int_equal(view().released, 0);
	release(3);
	run(10 * MS);
	assert_int_equal(view().released, 3);
	grant(1, 0); // released
	grant(5, 0); // waits until it is announced
	run(10 * MS);
	assert_int_equal(view().readout.gone, 1);
	assert_int_equal(test.blocks[5][0].received, 0);
	put(4);
	put(5);
	run(10 * MS);
	assert_event(5, 0, false);
	assert_int_equal(view().readout.gone, 1);
}

static void node__memory_is_free_after_the_release(void **state)
{
	uint64_t event = 0;

	(void)state;
	start();
	while (ring_put(test.producer, ids[0], event, LENGTH) == 0 &&
	       ring_put(test.producer, ids[1], event, LENGTH) == 0 &&
	       ring_put(test.producer, ids[2], event, LENGTH) == 0)
		event++;
	run(10 * MS);
	assert_int_equal(test.announced, event);
	for (uint64_t i = 0; i < event; i++)
		grant(i, 0);
	run(10 * MS);
	assert_int_equal(ring_put(test.producer, ids[0], event + 1, LENGTH), -EAGAIN);
	release(event);
	run(10 * MS);
	assert_int_equal(ring_put(test.producer, ids[0], event + 1, LENGTH), 0);
}

static void node__the_run_ends(void **state)
{
	(void)state;
	start();
	put(0);
	assert_int_equal(evb_producer_finish(test.producer), 0);
	run(10 * MS);
	assert_int_equal(test.announced, 1);
	assert_true(test.ended);
	assert_false(ended());
	command(CTRL_STOP, 0);
	run(10 * MS);
	assert_true(ended());
}

static void node__is_refused(void **state)
{
	const char *why;

	(void)state;
	test.verdict = CTRL_REFUSED_CONFIG;
	open_core(true, 0);
	run(200 * MS);
	assert_true(sender_core_ended(test.core, &why));
	assert_string_equal(why, "the event manager refuses this node: go away");
}

static void node__leaves(void **state)
{
	(void)state;
	start();
	put(0);
	run(10 * MS);
	sender_core_leave(test.core);
	run(50 * MS);
	assert_true(test.left);
	assert_false(sender_core_left(test.core, test.now));
	run(100 * MS);
	assert_true(sender_core_left(test.core, test.now));
}

static void node__frames_of_strangers(void **state)
{
	const uint8_t bytes[CTRL_HEADER_SIZE] = { 0 };

	(void)state;
	start();
	sender_core_receive(test.core, 0x0a000063, bytes, sizeof(bytes), test.now);
	assert_int_equal(view().foreign, 1);
	sender_core_receive(test.core, 0x0a000001, bytes, sizeof(bytes), test.now);
	sender_core_receive(test.core, 0x0a000001, bytes, 0, test.now);
	assert_int_equal(view().malformed, 2);
}

// A load balancer leads to other receivers, for which reserved bits are 0.
static void head__says_that_a_block_was_sent_before(void **state)
{
	struct store_block block = { .size = LENGTH, .is_repeated = true };
	uint8_t bytes[EJFAT_LB_SIZE + EJFAT_RE_SIZE];
	struct ejfat_segment segment;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const bool load_balancer = i % 2 == 1;
		const uint32_t size = segment_head_size(load_balancer);

		block.is_repeated = i < 2;
		segment_head_write(bytes, load_balancer, 7, 0, segment_re(&block, 100, 7, 5));
		assert_int_equal(ejfat_segment_decode(bytes, size, size + 10, &segment), WIRE_OK);
		assert_int_equal(segment.re.flags, i == 0 ? EJFAT_RE_REPEATED : 0);
		assert_int_equal(segment.re.offset, 100);
		assert_int_equal(segment.re.length, LENGTH);
		assert_int_equal(segment.re.data_id, 5);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(alone__events_go_to_the_receivers_in_turn),
		TEST(alone__nothing_to_send),
		TEST(alone__rate),
		TEST(alone__a_wire_that_takes_nothing),
		TEST(node__sends_what_is_granted_and_holds_it),
		TEST(node__memory_is_free_after_the_release),
		TEST(node__the_run_ends),
		TEST(node__is_refused),
		TEST(node__leaves),
		TEST(node__frames_of_strangers),
		cmocka_unit_test(head__says_that_a_block_was_sent_before),
	};

	return cmocka_run_group_tests_name("sender core", tests, NULL, NULL);
}
