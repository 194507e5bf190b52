// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The builder role, fed with segments in mbufs through two links.
#include "role_bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "packet/bundle.h"
#include "wire/mep.h"

static void poll__places_payloads_from_any_number_of_buffers(void **state)
{
	static const uint32_t pieces[] = { 1024, 562, 561, 300, 63, 62, 61, 31, 10, 1 };
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		feed(&bench, 0, 2 * i, 0, 200, 300, pieces[i]);
		feed(&bench, 0, 2 * i, 0, 0, 200, pieces[i]);
		feed(&bench, 0, 2 * i, 1, 0, 500, pieces[i]);
		assert_int_equal(role_bench_poll(&bench), 3);
		assert_int_equal(rte_mempool_in_use_count(bench.pool), 0);
		take_complete(&bench, 2 * i);
	}
	assert_int_equal(counters(&bench)->placed, 30);
	role_bench_close(&bench);
}

static void poll__serves_the_links_in_turn(void **state)
{
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
	for (unsigned i = 0; i < 50; i++)
		feed(&bench, 0, 0, 0, i, 1, 1024);
	for (unsigned i = 0; i < 40; i++)
		feed(&bench, 1, 0, 1, i, 1, 1024);
	assert_int_equal(role_bench_poll(&bench), 32);
	assert_int_equal(role_bench_poll(&bench), 32);
	assert_int_equal(rte_ring_count(bench.links[0]->ring), 50 - 32);
	assert_int_equal(rte_ring_count(bench.links[1]->ring), 40 - 32);
	assert_int_equal(role_bench_poll(&bench), 18);
	assert_int_equal(role_bench_poll(&bench), 8);
	assert_int_equal(role_bench_poll(&bench), 0);
	assert_false(bench.role->backpressured);
	assert_int_equal(counters(&bench)->placed, 90);
	role_bench_close(&bench);
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
	role_bench_poll(bench);
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
	role_bench_open_for(&bench, "", true);
	for (uint64_t id = 0; id < 6; id += 2) {
		feed(&bench, 0, id, 0, 0, SIZE, 1024);
		feed(&bench, 1, 4 - id, 1, 0, SIZE, 1024);
	}
	for (unsigned i = 0; i < 10; i++)
		role_bench_poll(&bench);
	// One event of SLOTS may be open without a grant.
	assert_int_equal(counters(&bench)->events_opened, 1);
	assert_int_equal(counters(&bench)->segments, 1);
	assert_true(bench.role->backpressured);
	for (uint64_t id = 0; id < 6; id += 2)
		tell(&bench, MESSAGE_EXPECT, id, 0);
	for (unsigned i = 0; i < 4; i++)
		role_bench_poll(&bench);
	assert_int_equal(counters(&bench)->placed, 6);
	assert_int_equal(counters(&bench)->drops[SEGMENT_NO_SLOT], 0);
	role_bench_poll(&bench);
	publish(&bench, 3);
	role_bench_close(&bench);
}

// The mailboxes of a builder with one slot have 16 places.
static void granted__messages_are_served_while_one_response_fits(void **state)
{
	const struct message other = { .kind = MESSAGE_FREED };
	struct role_bench bench;
	struct message got;

	(void)state;
	role_bench_open_for(&bench, "", true);
	while (mailbox_room(&bench.mail[1]) > 1)
		assert_true(mailbox_put(&bench.mail[1], &other));
	tell(&bench, MESSAGE_PUBLISH, 0, 0); // is not held: refused
	tell(&bench, MESSAGE_PUBLISH, 2, 0);
	role_bench_poll(&bench);
	assert_int_equal(mailbox_room(&bench.mail[1]), 0);
	role_bench_poll(&bench);
	while (mailbox_take(&bench.mail[1], &got, 1) == 1 && got.kind == MESSAGE_FREED)
		;
	assert_int_equal(got.kind, MESSAGE_REFUSED);
	assert_int_equal(got.event, 0);
	assert_true(mailbox_is_empty(&bench.mail[1]));
	role_bench_poll(&bench);
	assert_int_equal(mailbox_take(&bench.mail[1], &got, 1), 1);
	assert_int_equal(got.kind, MESSAGE_REFUSED);
	assert_int_equal(got.event, 1);
	role_bench_close(&bench);
}

// Nor does it wait for ever: what was on its way to a builder that died is granted to no other.
static void granted__data_without_a_grant_is_dropped(void **state)
{
	struct role_bench bench;
	struct message refused;

	(void)state;
	role_bench_open_for(&bench, "", true);
	for (uint64_t id = 0; id < 6; id += 2)
		feed_block(&bench, id, 0);
	role_bench_poll(&bench);
	assert_int_equal(counters(&bench)->segments, 1);
	bench.now += rte_get_tsc_hz() / 20;
	role_bench_poll(&bench);
	assert_int_equal(counters(&bench)->segments, 1);
	bench.now += rte_get_tsc_hz() / 10;
	role_bench_poll(&bench);
	assert_int_equal(counters(&bench)->drops[SEGMENT_NO_SLOT], 2);
	// A grant that comes later is refused: the data has to be sent again.
	tell(&bench, MESSAGE_EXPECT, 2, 0);
	role_bench_poll(&bench);
	assert_int_equal(mailbox_take(&bench.mail[1], &refused, 1), 1);
	assert_int_equal(refused.kind, MESSAGE_REFUSED);
	assert_int_equal(refused.event, 1);
	// What is granted after that is built as ever.
	tell(&bench, MESSAGE_EXPECT, 100, 0);
	feed_event(&bench, 100);
	role_bench_poll(&bench);
	role_bench_poll(&bench);
	publish(&bench, 1);
	role_bench_close(&bench);
}

// A granted event that others have overtaken is not closed to make room for what was not granted.
static void granted__overtaken_event_stays_open(void **state)
{
	struct role_bench bench;

	(void)state;
	role_bench_open_for(&bench, "", true);
	for (uint64_t id = 0; id < 2 * SLOTS; id += 2)
		tell(&bench, MESSAGE_EXPECT, id, 0);
	feed_block(&bench, 0, 0);
	feed_event(&bench, 2);
	feed_block(&bench, 4, 0);
	feed_block(&bench, 6, 0);
	role_bench_poll(&bench);
	assert_int_equal(assembly_free_slots(builder_role_assembly(bench.role)), 0);
	feed_block(&bench, 100, 0);
	role_bench_poll(&bench);
	assert_int_equal(counters(&bench)->events_overtaken, 0);
	assert_int_equal(counters(&bench)->events_incomplete, 0);
	feed(&bench, 1, 0, 1, 0, SIZE, 1024);
	for (unsigned i = 0; i < 3; i++)
		role_bench_poll(&bench);
	publish(&bench, 2);
	role_bench_close(&bench);
}

static void housekeeping__closes_overdue_events(void **state)
{
	uint64_t deadline = rte_get_tsc_hz() / 100;
	struct role_bench bench;
	struct evb_event event;

	(void)state;
	role_bench_open(&bench, "");
	feed_block(&bench, 0, 1);
	role_bench_poll(&bench);
	bench.role->operations->housekeep(bench.role, bench.now + deadline / 2);
	take_none(&bench);
	// The role measures its ticks; the rate that DPDK states may be a little lower.
	bench.role->operations->housekeep(bench.role, bench.now + 2 * deadline);
	event = take(&bench, 0);
	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE);
	assert_int_equal(event.n_missing, 1);
	assert_block(&event, 1);
	role_bench_close(&bench);
}

// A released slot is worth a grant, so it is reported soon, and not only by the housekeeping.
static void granted__released_slots_are_reported_soon(void **state)
{
	struct role_bench bench;
	struct message freed;

	(void)state;
	role_bench_open_for(&bench, "", true);
	for (uint64_t id = 0; id < 6; id += 2) {
		tell(&bench, MESSAGE_EXPECT, id, 0);
		feed_event(&bench, id);
	}
	while (role_bench_poll(&bench) > 0)
		;
	publish(&bench, 3);
	for (unsigned n = 0, polls = 0; n < 3; polls++) {
		assert_in_range(polls, 0, 16);
		role_bench_poll(&bench);
		for (; mailbox_take(&bench.mail[1], &freed, 1) == 1; n++) {
			assert_int_equal(freed.kind, MESSAGE_FREED);
			assert_int_equal(freed.event, n);
		}
	}
	role_bench_close(&bench);
}

// A bundle with the blocks of both sources of these events, event ids 2 apart.
static void feed_bundle(struct role_bench *bench, uint64_t first, unsigned n_events)
{
	struct frame frame = { .length = HEADERS };
	struct rte_mbuf *mbuf;

	for (unsigned i = 0; i < 2 * n_events; i++) {
		const struct ejfat_re re = { .event_number = first + i / 2 * 2,
					     .length = SIZE,
					     .data_id = bench->sources->ids[i % 2],
					     .flags = i + 1 < 2 * n_events ? EJFAT_RE_MORE : 0 };

		if (i > 0) {
			ejfat_re_encode(frame.bytes + frame.length, &re);
			frame.length += EJFAT_RE_SIZE;
		}
		for (uint32_t j = 0; j < SIZE; j++)
			frame.bytes[frame.length + j] = pattern(re.event_number, i % 2, j);
		frame.length += SIZE;
	}
	mbuf = frame_to_mbuf(&frame, bench->pool, 1024);
	*mbuf_segment(mbuf) = (struct segment){
		.event_id = first,
		.event_index = first / 2,
		.size = SIZE,
		.length = SIZE,
		.payload = HEADERS,
		.flags = SEGMENT_MORE,
	};
	assert_int_equal(link_enqueue(bench->links[0], &mbuf, 1), 1);
}

// One whose block must wait for a slot is gone on with at this block.
static void bundle__blocks_are_placed_and_wait_in_turn(void **state)
{
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
	feed_bundle(&bench, 0, 3);
	feed_bundle(&bench, 6, 3);
	for (unsigned i = 0; i < 4; i++)
		role_bench_poll(&bench);
	assert_int_equal(counters(&bench)->events_complete, SLOTS);
	assert_true(bench.role->backpressured);
	for (unsigned i = 0; i < 6; i++) {
		take_complete(&bench, 2 * i);
		for (unsigned j = 0; j < 3; j++)
			role_bench_poll(&bench);
	}
	assert_int_equal(counters(&bench)->placed, 12);
	role_bench_close(&bench);
}

static void expect_awaited(struct role_bench *bench, bool awaits)
{
	const struct message message = { .kind = MESSAGE_AWAIT, .state = awaits };

	assert_true(mailbox_put(&bench->mail[0], &message));
	role_bench_poll(bench);
}

static void pass(struct role_bench *bench, uint64_t ticks)
{
	bench->now += ticks;
	role_poll(bench->role, bench->now);
	bench->role->operations->housekeep(bench->role, bench->now);
}

// An event gets one more deadline for what the source sends again.
static void awaited_source__stops_the_clock_of_deadlines(void **state)
{
	uint64_t deadline = rte_get_tsc_hz() / 100;
	struct role_bench bench;

	(void)state;
	for (unsigned granted = 0; granted < 2; granted++) {
		role_bench_open_for(&bench, "", granted);
		if (granted)
			tell(&bench, MESSAGE_EXPECT, 6, 0);
		feed_block(&bench, 6, 0);
		role_bench_poll(&bench);
		expect_awaited(&bench, true);
		for (unsigned i = 0; i < 10; i++)
			pass(&bench, deadline);
		expect_awaited(&bench, false);
		pass(&bench, deadline);
		assert_int_equal(assembly_open_events(builder_role_assembly(bench.role)), 1);
		// The role's own deadline may be a little longer, as in the test above.
		pass(&bench, 2 * deadline);
		assert_int_equal(assembly_open_events(builder_role_assembly(bench.role)), 0);
		role_bench_close(&bench);
	}
}

// The second source is on node 7.
static void absent_source__is_not_waited_for(void **state)
{
	const struct message absent = { .kind = MESSAGE_SOURCES, .node = 7, .event = UINT64_MAX };
	struct role_bench bench;
	struct message built;

	(void)state;
	role_bench_open_for(&bench, "", true);
	assert_true(mailbox_put(&bench.mail[0], &absent));
	tell(&bench, MESSAGE_EXPECT, 6, 0);
	role_bench_poll(&bench);
	feed_block(&bench, 6, 0);
	role_bench_poll(&bench);
	role_bench_poll(&bench);
	assert_int_equal(mailbox_take(&bench.mail[1], &built, 1), 1);
	assert_int_equal(built.kind, MESSAGE_BUILT);
	assert_int_equal(built.n_missing, 1);
	role_bench_close(&bench);
}

static void end_of_run__is_told_after_the_housekeeping(void **state)
{
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
	feed_event(&bench, UINT64_MAX);
	role_bench_poll(&bench);
	role_bench_poll(&bench);
	assert_false(builder_role_end_of_run(bench.role));
	bench.role->operations->housekeep(bench.role, bench.now);
	assert_true(builder_role_end_of_run(bench.role));
	role_bench_close(&bench);
}

static void drain__empties_the_links_and_closes_what_is_open(void **state)
{
	struct evb_event event;
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
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
	role_bench_close(&bench);
}

static void drain__waits_for_consumers_that_hold_slots(void **state)
{
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
	for (uint64_t id = 0; id < 2 * SLOTS + 2; id += 2)
		feed_event(&bench, id);
	for (unsigned i = 0; i < 10; i++)
		assert_false(bench.role->operations->drain(bench.role, bench.now));
	for (uint64_t id = 0; id < 2 * SLOTS; id += 2)
		take_complete(&bench, id);
	for (unsigned i = 0; i < 10 && !bench.role->operations->drain(bench.role, bench.now); i++)
		;
	take_complete(&bench, 2 * SLOTS);
	role_bench_close(&bench);
}

static void assert_told_open(struct role_bench *bench, bool open)
{
	struct message messages[2];

	role_bench_poll(bench);
	bench->role->operations->housekeep(bench->role, bench->now);
	bench->role->operations->housekeep(bench->role, bench->now);
	assert_int_equal(mailbox_take(&bench->mail[1], messages, 2), 1);
	assert_int_equal(messages[0].kind, MESSAGE_OPEN);
	assert_int_equal(messages[0].state, open);
}

static void static_mode__it_is_told_whether_events_are_open(void **state)
{
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
	feed_block(&bench, 0, 0);
	assert_told_open(&bench, true);
	feed_block(&bench, 0, 1);
	assert_told_open(&bench, false);
	for (uint64_t id = 2; id < 2 * SLOTS + 2; id += 2) // consumers have all slots
		feed_event(&bench, id);
	role_bench_poll(&bench);
	assert_told_open(&bench, true);
	role_bench_close(&bench);
}

static void fini__frees_what_waits(void **state)
{
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
	for (uint64_t id = 0; id < 2 * SLOTS + 8; id += 2)
		feed_event(&bench, id);
	for (unsigned i = 0; i < 10; i++)
		role_bench_poll(&bench);
	assert_int_equal(rte_mempool_in_use_count(bench.pool), 8);
	role_bench_close(&bench);
}

static void create__refuses_links_out_of_range(void **state)
{
	static struct link *links[BUILDER_MAX_LINKS + 1];
	struct builder_parameters parameters;
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
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
	role_bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create__refuses_links_out_of_range),
		cmocka_unit_test(poll__places_payloads_from_any_number_of_buffers),
		cmocka_unit_test(poll__serves_the_links_in_turn),
		cmocka_unit_test(bundle__blocks_are_placed_and_wait_in_turn),
		cmocka_unit_test(granted__data_waits_for_its_grant),
		cmocka_unit_test(granted__messages_are_served_while_one_response_fits),
		cmocka_unit_test(granted__data_without_a_grant_is_dropped),
		cmocka_unit_test(granted__overtaken_event_stays_open),
		cmocka_unit_test(granted__released_slots_are_reported_soon),
		cmocka_unit_test(housekeeping__closes_overdue_events),
		cmocka_unit_test(awaited_source__stops_the_clock_of_deadlines),
		cmocka_unit_test(absent_source__is_not_waited_for),
		cmocka_unit_test(end_of_run__is_told_after_the_housekeeping),
		cmocka_unit_test(drain__empties_the_links_and_closes_what_is_open),
		cmocka_unit_test(drain__waits_for_consumers_that_hold_slots),
		cmocka_unit_test(static_mode__it_is_told_whether_events_are_open),
		cmocka_unit_test(fini__frees_what_waits),
	};

	return cmocka_run_group_tests_name("builder_role", tests, testbed_start, testbed_stop);
}
