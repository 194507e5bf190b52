// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The builder role, fed with segments in mbufs through two links.
#include "testbed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "builder/builder_role.h"
#include "evring/evb_reader.h"
#include "packet/mailbox.h"
#include "packet/segment_mbuf.h"
#include "wire/mep.h"

#define SLOTS   4u
#define HEADERS 62u  // bytes in front of the payload
#define SIZE    500u // of each source's block

struct role_bench {
	struct config *config;
	struct source_table *sources;
	struct evring *ring;
	struct evb_reader *reader;
	struct link *links[2];
	struct rte_mempool *pool;
	struct role *role;
	struct mailbox mail[2]; // to and from the event manager's side, where events are granted
	uint64_t now;
};

static void open_ring(struct role_bench *bench)
{
	static const char *const group = "main";
	struct evring_parameters parameters = {
		.name = "role",
		.directory = testbed_directory(),
		.n_builders = 1,
		.slots = SLOTS,
		.slot_size = 4096,
		.groups = &group,
		.n_groups = 1,
	};
	struct evb_reader_options options = { .directory = testbed_directory() };
	char error[EVRING_ERROR_SIZE];

	if (evring_create(&bench->ring, &parameters, error) != 0)
		fail_msg("%s", error);
	assert_int_equal(evb_reader_open(&bench->reader, "role", &options), 0);
}

// `events`: keys of the configuration's events.
static void open_bench_for(struct role_bench *bench, const char *events, bool granted)
{
	char text[512];
	struct builder_parameters parameters;

	memset(bench, 0, sizeof(*bench));
	snprintf(text, sizeof(text),
		 "{\"ports\": [{\"name\": \"p\", \"profile\": \"ring\"}],"
		 "\"sources\": {\"ids\": [10, 20], \"packing\": 2, \"payload\": \"opaque\"},"
		 "\"builders\": [{\"name\": \"b\", \"slots\": 4, \"slot_size\": 4096}],"
		 "\"events\": {\"deadline\": \"10ms\"%s}}",
		 events);
	bench->config = testbed_config(text);
	bench->sources = calloc(1, sizeof(*bench->sources));
	assert_non_null(bench->sources);
	source_table_make(bench->sources, bench->config->sources.ids,
			  bench->config->sources.expected, bench->config->sources.n_ids);
	open_ring(bench);
	for (unsigned i = 0; i < 2; i++)
		bench->links[i] = link_create("rx", "builder.b", 256, true, 0);
	bench->pool = testbed_pool("builder", 4095, 1024);
	parameters = (struct builder_parameters){
		.name = "builder.b",
		.packing = bench->config->sources.packing,
		.payload = bench->config->sources.payload,
		.on_incomplete = bench->config->events.on_incomplete,
		.on_no_slot = bench->config->events.on_no_slot,
		.deadline_ns = bench->config->events.deadline_ns,
		.spare = 1,
		.ring = bench->ring,
		.sources = bench->sources,
		.links = bench->links,
		.n_links = 2,
	};
	if (granted) {
		assert_true(mailbox_make(&bench->mail[0], "to", 64, 0));
		assert_true(mailbox_make(&bench->mail[1], "from", 64, 0));
		parameters.from_control = &bench->mail[0];
		parameters.to_control = &bench->mail[1];
	}
	bench->role = builder_role_create(&parameters);
	assert_non_null(bench->role);
	assert_string_equal(bench->role->name, "builder.b");
	bench->now = rte_rdtsc();
}

static void open_bench(struct role_bench *bench, const char *events)
{
	open_bench_for(bench, events, false);
}

static void close_bench(struct role_bench *bench)
{
	bench->role->operations->fini(bench->role);
	for (unsigned i = 0; i < 2; i++)
		mailbox_free(&bench->mail[i]);
	for (unsigned i = 0; i < 2; i++)
		link_destroy(bench->links[i]);
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 0);
	rte_mempool_free(bench->pool);
	evb_reader_close(bench->reader);
	evring_destroy(bench->ring);
	free(bench->sources);
	config_free(bench->config);
}

static uint8_t pattern(uint64_t event_id, unsigned source, uint32_t at)
{
	return (uint8_t)(event_id * 17 + source * 101 + at * 3 + at / 256);
}

// Puts a segment of a block into a link, its packet in pieces of at most `piece` bytes.
static void feed(struct role_bench *bench, unsigned link, uint64_t event_id, unsigned source,
		 uint32_t offset, uint32_t size, uint32_t piece)
{
	struct frame frame = { .length = HEADERS + size };
	struct rte_mbuf *mbuf;

	memset(frame.bytes, 0xEE, HEADERS);
	for (uint32_t i = 0; i < size; i++)
		frame.bytes[HEADERS + i] = pattern(event_id, source, offset + i);
	mbuf = frame_to_mbuf(&frame, bench->pool, piece);
	*mbuf_segment(mbuf) = (struct segment){
		.event_id = event_id,
		.event_index = event_id / 2,
		.arrival = bench->now,
		.offset = offset,
		.size = size,
		.length = SIZE,
		.payload = HEADERS,
		.source = (uint16_t)source,
	};
	assert_int_equal(link_enqueue(bench->links[link], &mbuf, 1), 1);
}

static void feed_block(struct role_bench *bench, uint64_t event_id, unsigned source)
{
	feed(bench, 0, event_id, source, 0, SIZE, 1024);
}

static void feed_event(struct role_bench *bench, uint64_t event_id)
{
	feed_block(bench, event_id, 0);
	feed_block(bench, event_id, 1);
}

static unsigned poll(struct role_bench *bench)
{
	bench->now++;
	return role_poll(bench->role, bench->now);
}

static const struct assembly_counters *counters(const struct role_bench *bench)
{
	return assembly_counters(builder_role_assembly(bench->role));
}

// The next event, which must be there.
static struct evb_event take(struct role_bench *bench, uint64_t event_id)
{
	struct evb_event event;

	assert_int_equal(evb_reader_next(bench->reader, &event, 0), 1);
	assert_int_equal(event.event_id, event_id);
	return event;
}

static void assert_block(const struct evb_event *event, unsigned source)
{
	const uint8_t *bytes;
	struct mep mep;
	size_t room;

	assert_int_equal(mep_decode(event->data, event->length, &mep), WIRE_OK);
	bytes = mep_mfp_bytes(&mep, source, &room);
	assert_int_equal(load_le32(bytes + 4), MFP_HEADER_SIZE + SIZE);
	for (uint32_t i = 0; i < SIZE; i++)
		if (bytes[MFP_HEADER_SIZE + i] != pattern(event->event_id, source, i))
			fail_msg("byte %u of source %u is wrong", i, source);
}

static void take_complete(struct role_bench *bench, uint64_t event_id)
{
	struct evb_event event = take(bench, event_id);

	assert_int_equal(event.flags, 0);
	assert_block(&event, 0);
	assert_block(&event, 1);
	assert_int_equal(evb_reader_release(bench->reader, &event), 0);
}

static void take_none(struct role_bench *bench)
{
	struct evb_event event;

	assert_int_equal(evb_reader_next(bench->reader, &event, 0), 0);
}

static void poll__places_payloads_from_any_number_of_buffers(void **state)
{
	static const uint32_t pieces[] = { 1024, 562, 561, 300, 63, 62, 61, 31, 10, 1 };
	struct role_bench bench;

	(void)state;
	open_bench(&bench, "");
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		feed(&bench, 0, 2 * i, 0, 200, 300, pieces[i]);
		feed(&bench, 0, 2 * i, 0, 0, 200, pieces[i]);
		feed(&bench, 0, 2 * i, 1, 0, 500, pieces[i]);
		assert_int_equal(poll(&bench), 3);
		assert_int_equal(rte_mempool_in_use_count(bench.pool), 0);
		take_complete(&bench, 2 * i);
	}
	assert_int_equal(counters(&bench)->placed, 30);
	close_bench(&bench);
}

static void poll__serves_the_links_in_turn(void **state)
{
	struct role_bench bench;

	(void)state;
	open_bench(&bench, "");
	for (unsigned i = 0; i < 50; i++)
		feed(&bench, 0, 0, 0, i, 1, 1024);
	for (unsigned i = 0; i < 40; i++)
		feed(&bench, 1, 0, 1, i, 1, 1024);
	assert_int_equal(poll(&bench), 32);
	assert_int_equal(poll(&bench), 32);
	assert_int_equal(rte_ring_count(bench.links[0]->ring), 50 - 32);
	assert_int_equal(rte_ring_count(bench.links[1]->ring), 40 - 32);
	assert_int_equal(poll(&bench), 18);
	assert_int_equal(poll(&bench), 8);
	assert_int_equal(poll(&bench), 0);
	assert_false(bench.role->backpressured);
	assert_int_equal(counters(&bench)->placed, 90);
	close_bench(&bench);
}

static void no_slot__waits_for_the_consumer(void **state)
{
	struct evb_event event;
	struct role_bench bench;

	(void)state;
	open_bench(&bench, "");
	for (uint64_t id = 0; id < 2 * SLOTS; id += 2)
		feed_event(&bench, id);
	feed_event(&bench, 100);
	feed_event(&bench, 102);
	for (unsigned i = 0; i < 10; i++)
		poll(&bench);
	assert_true(bench.role->backpressured);
	assert_int_equal(poll(&bench), 0);
	assert_int_equal(counters(&bench)->events_complete, SLOTS);
	assert_int_equal(counters(&bench)->segments, 2 * SLOTS);
	assert_int_equal(counters(&bench)->drops[SEGMENT_NO_SLOT], 0);
	event = take(&bench, 0);
	assert_int_equal(poll(&bench), 0);
	assert_int_equal(evb_reader_release(bench.reader, &event), 0);
	for (unsigned i = 0; i < 3; i++)
		poll(&bench);
	assert_int_equal(counters(&bench)->events_complete, SLOTS + 1);
	for (uint64_t id = 2; id < 2 * SLOTS; id += 2)
		take_complete(&bench, id);
	for (unsigned i = 0; i < 3; i++)
		poll(&bench);
	take_complete(&bench, 100);
	take_complete(&bench, 102);
	assert_false(bench.role->backpressured);
	close_bench(&bench);
}

// 10 ms of waiting and more do not bring the deadline of 10 ms near.
static void no_slot__stops_the_clock_of_deadlines(void **state)
{
	uint64_t deadline = rte_get_tsc_hz() / 100;
	struct evb_event events[3];
	struct role_bench bench;

	(void)state;
	open_bench(&bench, "");
	for (uint64_t id = 0; id < 6; id += 2)
		feed_event(&bench, id);
	feed_block(&bench, 6, 0);
	feed_block(&bench, 8, 0);
	for (unsigned i = 0; i < 10; i++)
		poll(&bench);
	assert_true(bench.role->backpressured);
	for (unsigned i = 0; i < 10; i++) {
		bench.now += deadline;
		role_poll(bench.role, bench.now);
		assert_true(bench.role->backpressured);
		bench.role->operations->housekeep(bench.role, bench.now);
	}
	for (unsigned i = 0; i < 3; i++)
		events[i] = take(&bench, 2 * i);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(evb_reader_release(bench.reader, &events[i]), 0);
	role_poll(bench.role, bench.now); // the wait is over
	bench.role->operations->housekeep(bench.role, bench.now);
	assert_int_equal(counters(&bench)->events_incomplete, 0);
	bench.now += deadline / 2;
	bench.role->operations->housekeep(bench.role, bench.now);
	assert_int_equal(counters(&bench)->events_incomplete, 0);
	bench.now += deadline;
	bench.role->operations->housekeep(bench.role, bench.now);
	assert_int_equal(counters(&bench)->events_incomplete, 2);
	close_bench(&bench);
}

// Feeds events of source `only`, or complete ones (2), for some deadlines. A consumer holds the
// next `hold` of them for ever, and releases the others. Returns the number of released events.
static unsigned consume(struct role_bench *bench, unsigned only, unsigned deadlines, unsigned hold,
			uint64_t *id)
{
	const uint64_t tick = rte_get_tsc_hz() / 1000; // a tenth of a deadline
	struct evb_event event;
	unsigned n = 0;

	for (unsigned i = 0; i < 10 * deadlines; i++) {
		while (rte_ring_count(bench->links[0]->ring) < 32) {
			if (only != 1)
				feed_block(bench, *id, 0);
			if (only != 0)
				feed_block(bench, *id, 1);
			*id += 2;
		}
		bench->now += tick;
		for (unsigned j = 0; j < 4; j++)
			role_poll(bench->role, bench->now + j);
		bench->role->operations->housekeep(bench->role, bench->now + 4);
		while (evb_reader_next(bench->reader, &event, 0) == 1) {
			if (hold > 0) {
				hold--;
				continue;
			}
			assert_int_equal(evb_reader_release(bench->reader, &event), 0);
			n++;
		}
	}
	return n;
}

// Consumers that stop for ever with all slots but one, and a source that is silent: the events of
// the other source go on, one per free slot and deadline.
static void no_slot__stopped_consumers_and_silent_sources_stop_nobody(void **state)
{
	(void)state;
	for (unsigned held = 0; held < SLOTS; held++)
		for (unsigned only = 0; only < 3; only++) {
			struct role_bench bench;
			uint64_t id = 0;

			open_bench(&bench, "");
			assert_true(consume(&bench, 0, 120, 0, &id) > 300);
			(void)consume(&bench, only, 20, held, &id);
			assert_in_range(consume(&bench, only, 40, 0, &id),
					40 * (SLOTS - held) * 8 / 10, 100000);
			while (poll(&bench) > 0)
				;
			close_bench(&bench);
		}
}

static void no_slot__drops_where_configured(void **state)
{
	struct role_bench bench;

	(void)state;
	open_bench(&bench, ", \"on_no_slot\": \"drop\"");
	for (uint64_t id = 0; id < 2 * SLOTS + 4; id += 2)
		feed_event(&bench, id);
	for (unsigned i = 0; i < 3; i++)
		poll(&bench);
	assert_false(bench.role->backpressured);
	assert_int_equal(counters(&bench)->events_complete, SLOTS);
	assert_int_equal(counters(&bench)->segments, 2 * SLOTS + 4);
	assert_int_equal(counters(&bench)->drops[SEGMENT_NO_SLOT], 4);
	assert_int_equal(rte_mempool_in_use_count(bench.pool), 0);
	for (uint64_t id = 0; id < 2 * SLOTS; id += 2)
		take_complete(&bench, id);
	feed_event(&bench, 50);
	poll(&bench);
	poll(&bench);
	take_complete(&bench, 50);
	close_bench(&bench);
}

// All slots are with open events, and no link brings what they miss: waiting would not help.
static void no_slot__does_not_wait_for_nobody(void **state)
{
	struct role_bench bench;

	(void)state;
	open_bench(&bench, "");
	for (uint64_t id = 0; id < 2 * SLOTS; id += 2)
		feed_block(&bench, id, 0);
	feed_block(&bench, 100, 0);
	feed(&bench, 1, 102, 0, 0, SIZE, 1024);
	assert_int_equal(poll(&bench), SLOTS);
	assert_int_equal(poll(&bench), 1);
	assert_int_equal(counters(&bench)->drops[SEGMENT_NO_SLOT], 1);
	assert_int_equal(counters(&bench)->placed, SLOTS);
	close_bench(&bench);
}

// Sources on two links that are further apart than there are slots: the one ahead is held back
// until the other has caught up, and nothing is lost.
static void no_slot__waits_for_the_other_link(void **state)
{
	struct role_bench bench;

	(void)state;
	open_bench(&bench, "");
	for (uint64_t id = 0; id < 2 * (SLOTS + 2); id += 2)
		feed_block(&bench, id, 0);
	assert_int_equal(poll(&bench), SLOTS);
	assert_int_equal(poll(&bench), 0);
	assert_true(bench.role->backpressured);
	for (uint64_t id = 0; id < 2 * (SLOTS + 2); id += 2) {
		feed(&bench, 1, id, 1, 0, SIZE, 1024);
		poll(&bench);
		poll(&bench);
		take_complete(&bench, id);
		poll(&bench);
	}
	assert_int_equal(counters(&bench)->segments, 2 * (SLOTS + 2));
	assert_int_equal(counters(&bench)->placed, 2 * (SLOTS + 2));
	assert_int_equal(counters(&bench)->events_complete, SLOTS + 2);
	close_bench(&bench);
}

// The slot that an overtaken event gives up is waited for: the new event is not lost.
static void no_slot__overtaken_event_makes_room(void **state)
{
	struct evb_event event;
	struct role_bench bench;

	(void)state;
	open_bench(&bench, "");
	feed_block(&bench, 0, 0);
	poll(&bench);
	feed_event(&bench, 2);
	poll(&bench);
	poll(&bench);
	take_complete(&bench, 2);
	for (uint64_t id = 4; id < 10; id += 2)
		feed_block(&bench, id, 0);
	poll(&bench);
	feed_block(&bench, 10, 0);
	assert_int_equal(poll(&bench), 0);
	assert_true(bench.role->backpressured);
	assert_int_equal(counters(&bench)->events_overtaken, 1);
	event = take(&bench, 0);
	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE);
	assert_block(&event, 0);
	assert_int_equal(evb_reader_release(bench.reader, &event), 0);
	assert_int_equal(poll(&bench), 1);
	assert_int_equal(counters(&bench)->drops[SEGMENT_NO_SLOT], 0);
	close_bench(&bench);
}

static void tell(struct role_bench *bench, enum message_kind kind, uint64_t event_id, uint32_t slot)
{
	const struct message message = { .kind = (uint16_t)kind,
					 .event = event_id / 2,
					 .slot = slot };

	assert_true(mailbox_put(&bench->mail[0], &message));
}

// What the builder says next is that it has built n events, which are then published.
static void publish(struct role_bench *bench, unsigned n)
{
	struct message built[SLOTS], published[SLOTS];

	assert_int_equal(mailbox_take(&bench->mail[1], built, SLOTS), n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(built[i].kind, MESSAGE_BUILT);
		assert_int_equal(built[i].flags, 0);
		tell(bench, MESSAGE_PUBLISH, built[i].event * 2, built[i].slot);
	}
	poll(bench);
	assert_int_equal(mailbox_take(&bench->mail[1], published, SLOTS), n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(published[i].kind, MESSAGE_PUBLISHED);
		assert_int_equal(published[i].event, built[i].event);
		take_complete(bench, built[i].event * 2);
	}
}

// Data may come before its grant; if it is more than may have a slot without, it waits on all
// links.
static void granted__data_waits_for_its_grant(void **state)
{
	struct role_bench bench;

	(void)state;
	open_bench_for(&bench, "", true);
	for (uint64_t id = 0; id < 6; id += 2) {
		feed(&bench, 0, id, 0, 0, SIZE, 1024);
		feed(&bench, 1, 4 - id, 1, 0, SIZE, 1024);
	}
	for (unsigned i = 0; i < 10; i++)
		poll(&bench);
	// One event of SLOTS may be open without a grant.
	assert_int_equal(counters(&bench)->events_opened, 1);
	assert_int_equal(counters(&bench)->segments, 1);
	assert_true(bench.role->backpressured);
	for (uint64_t id = 0; id < 6; id += 2)
		tell(&bench, MESSAGE_EXPECT, id, 0);
	for (unsigned i = 0; i < 4; i++)
		poll(&bench);
	assert_int_equal(counters(&bench)->placed, 6);
	assert_int_equal(counters(&bench)->drops[SEGMENT_NO_SLOT], 0);
	poll(&bench);
	publish(&bench, 3);
	close_bench(&bench);
}

// Nor does it wait for ever: what was on its way to a builder that died is granted to no other.
static void granted__data_without_a_grant_is_dropped(void **state)
{
	struct role_bench bench;

	(void)state;
	open_bench_for(&bench, "", true);
	for (uint64_t id = 0; id < 6; id += 2)
		feed_block(&bench, id, 0);
	poll(&bench);
	assert_int_equal(counters(&bench)->segments, 1);
	bench.now += rte_get_tsc_hz() / 20;
	poll(&bench);
	assert_int_equal(counters(&bench)->segments, 1);
	bench.now += rte_get_tsc_hz() / 10;
	poll(&bench);
	assert_int_equal(counters(&bench)->drops[SEGMENT_NO_SLOT], 2);
	// What is granted after that is built as ever.
	tell(&bench, MESSAGE_EXPECT, 100, 0);
	feed_event(&bench, 100);
	poll(&bench);
	poll(&bench);
	publish(&bench, 1);
	close_bench(&bench);
}

// A granted event that others have overtaken is not closed to make room for what was not granted.
static void granted__overtaken_event_stays_open(void **state)
{
	struct role_bench bench;

	(void)state;
	open_bench_for(&bench, "", true);
	for (uint64_t id = 0; id < 2 * SLOTS; id += 2)
		tell(&bench, MESSAGE_EXPECT, id, 0);
	feed_block(&bench, 0, 0);
	feed_event(&bench, 2);
	feed_block(&bench, 4, 0);
	feed_block(&bench, 6, 0);
	poll(&bench);
	assert_int_equal(assembly_free_slots(builder_role_assembly(bench.role)), 0);
	feed_block(&bench, 100, 0);
	poll(&bench);
	assert_int_equal(counters(&bench)->events_overtaken, 0);
	assert_int_equal(counters(&bench)->events_incomplete, 0);
	feed(&bench, 1, 0, 1, 0, SIZE, 1024);
	for (unsigned i = 0; i < 3; i++)
		poll(&bench);
	publish(&bench, 2);
	close_bench(&bench);
}

static void housekeeping__closes_overdue_events(void **state)
{
	uint64_t deadline = rte_get_tsc_hz() / 100;
	struct role_bench bench;
	struct evb_event event;

	(void)state;
	open_bench(&bench, "");
	feed_block(&bench, 0, 1);
	poll(&bench);
	bench.role->operations->housekeep(bench.role, bench.now + deadline / 2);
	take_none(&bench);
	// The role measures its ticks; the rate that DPDK states may be a little lower.
	bench.role->operations->housekeep(bench.role, bench.now + 2 * deadline);
	event = take(&bench, 0);
	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE);
	assert_int_equal(event.n_missing, 1);
	assert_block(&event, 1);
	close_bench(&bench);
}

static void end_of_run__is_told_after_the_housekeeping(void **state)
{
	struct role_bench bench;

	(void)state;
	open_bench(&bench, "");
	feed_event(&bench, UINT64_MAX);
	poll(&bench);
	poll(&bench);
	assert_false(builder_role_end_of_run(bench.role));
	bench.role->operations->housekeep(bench.role, bench.now);
	assert_true(builder_role_end_of_run(bench.role));
	close_bench(&bench);
}

static void drain__empties_the_links_and_closes_what_is_open(void **state)
{
	struct evb_event event;
	struct role_bench bench;

	(void)state;
	open_bench(&bench, "");
	feed_event(&bench, 0);
	feed_block(&bench, 2, 0);
	assert_false(bench.role->operations->drain(bench.role, bench.now));
	take_complete(&bench, 0);
	take_none(&bench);
	assert_true(bench.role->operations->drain(bench.role, bench.now));
	event = take(&bench, 2);
	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE | EVB_EVENT_FLUSHED);
	assert_block(&event, 0);
	assert_int_equal(evb_reader_release(bench.reader, &event), 0);
	assert_int_equal(evb_reader_next(bench.reader, &event, 0), -EPIPE);
	assert_int_equal(counters(&bench)->events_flushed, 1);
	close_bench(&bench);
}

static void drain__waits_for_consumers_that_hold_slots(void **state)
{
	struct role_bench bench;

	(void)state;
	open_bench(&bench, "");
	for (uint64_t id = 0; id < 2 * SLOTS + 2; id += 2)
		feed_event(&bench, id);
	for (unsigned i = 0; i < 10; i++)
		assert_false(bench.role->operations->drain(bench.role, bench.now));
	for (uint64_t id = 0; id < 2 * SLOTS; id += 2)
		take_complete(&bench, id);
	for (unsigned i = 0; i < 10 && !bench.role->operations->drain(bench.role, bench.now); i++)
		;
	take_complete(&bench, 2 * SLOTS);
	close_bench(&bench);
}

static void fini__frees_what_waits(void **state)
{
	struct role_bench bench;

	(void)state;
	open_bench(&bench, "");
	for (uint64_t id = 0; id < 2 * SLOTS + 8; id += 2)
		feed_event(&bench, id);
	for (unsigned i = 0; i < 10; i++)
		poll(&bench);
	assert_int_equal(rte_mempool_in_use_count(bench.pool), 8);
	close_bench(&bench);
}

static void create__refuses_links_out_of_range(void **state)
{
	static struct link *links[BUILDER_MAX_LINKS + 1];
	struct builder_parameters parameters;
	struct role_bench bench;

	(void)state;
	open_bench(&bench, "");
	for (unsigned i = 0; i < BUILDER_MAX_LINKS + 1; i++)
		links[i] = bench.links[0];
	parameters = (struct builder_parameters){
		.name = "builder.many",
		.packing = 2,
		.payload = PAYLOAD_OPAQUE,
		.deadline_ns = 10000000,
		.ring = bench.ring,
		.sources = bench.sources,
		.links = links,
	};
	assert_null(builder_role_create(&parameters));
	parameters.n_links = BUILDER_MAX_LINKS + 1;
	assert_null(builder_role_create(&parameters));
	close_bench(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create__refuses_links_out_of_range),
		cmocka_unit_test(poll__places_payloads_from_any_number_of_buffers),
		cmocka_unit_test(poll__serves_the_links_in_turn),
		cmocka_unit_test(no_slot__waits_for_the_consumer),
		cmocka_unit_test(no_slot__stops_the_clock_of_deadlines),
		cmocka_unit_test(no_slot__stopped_consumers_and_silent_sources_stop_nobody),
		cmocka_unit_test(no_slot__drops_where_configured),
		cmocka_unit_test(no_slot__does_not_wait_for_nobody),
		cmocka_unit_test(no_slot__waits_for_the_other_link),
		cmocka_unit_test(no_slot__overtaken_event_makes_room),
		cmocka_unit_test(granted__data_waits_for_its_grant),
		cmocka_unit_test(granted__data_without_a_grant_is_dropped),
		cmocka_unit_test(granted__overtaken_event_stays_open),
		cmocka_unit_test(housekeeping__closes_overdue_events),
		cmocka_unit_test(end_of_run__is_told_after_the_housekeeping),
		cmocka_unit_test(drain__empties_the_links_and_closes_what_is_open),
		cmocka_unit_test(drain__waits_for_consumers_that_hold_slots),
		cmocka_unit_test(fini__frees_what_waits),
	};

	return cmocka_run_group_tests_name("builder_role", tests, testbed_start, testbed_stop);
}
