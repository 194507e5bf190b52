// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "source_bench.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "wire/mdf.h"
#include "wire/mfp.h"

static const struct source_counters *counters(const struct source_bench *bench)
{
	return source_role_counters(bench->role);
}

static void assert_events(const struct source_bench *bench, unsigned n_events)
{
	for (uint16_t id = 1; id <= 4; id++) {
		for (unsigned event = 0; event < n_events; event++)
			source_assert_block(bench, event, id);
		source_assert_end(bench, id);
	}
	assert_int_equal(bench->n_blocks, 4 * n_events + 4);
	assert_int_equal(counters(bench)->events, n_events);
	assert_int_equal(counters(bench)->blocks, 4 * n_events);
	// Without the end-of-run packets.
	assert_int_equal(counters(bench)->segments, bench->n_packets - 4);
	assert_int_equal(source_role_sender_counters(bench->role)->packets, bench->n_packets);
}

static void events__as_udp(void **state)
{
	struct source_bench bench;

	(void)state;
	source_open(&bench, ", \"events\": 50, \"first_event\": 1000", "");
	source_run(&bench);
	assert_events(&bench, 50);
	// MTU 300 and the Ethernet header.
	assert_int_equal(bench.longest, 314);
	// 20 + 4 + 8 + 3 * 100 = 332 bytes in segments of 300 - 28 - 20 = 252.
	assert_int_equal(counters(&bench)->segments, 50 * 4 * 2);
	assert_int_equal(counters(&bench)->payload_bytes, 50 * 4 * 332);
	source_close(&bench);
}

static void events__over_several_ports_and_a_load_balancer(void **state)
{
	struct source_bench bench;

	(void)state;
	source_open(&bench, ", \"events\": 10, \"load_balancer_header\": true",
		    ", \"transport\": {\"udp_port\": 20000, \"udp_ports\": 3}");
	source_run(&bench);
	assert_events(&bench, 10);
	assert_int_equal(bench.longest, 314);
	source_close(&bench);
}

static void events__as_ethernet_frames(void **state)
{
	struct source_bench bench;

	(void)state;
	source_open(&bench, ", \"events\": 10, \"load_balancer_header\": true",
		    ", \"transport\": {\"kind\": \"eth\"}");
	source_run(&bench);
	assert_events(&bench, 10);
	assert_int_equal(bench.longest, 314);
	source_close(&bench);
}

static void events__near_the_last_event_id(void **state)
{
	struct source_bench bench;

	(void)state;
	source_open(&bench, ", \"events\": 2, \"first_event\": \"18446744073709551600\"", "");
	source_run(&bench);
	assert_events(&bench, 2);
	source_close(&bench);
}

static void odin__names_its_events(void **state)
{
	struct source_bench bench;

	(void)state;
	source_open(&bench,
		    ", \"events\": 5, \"first_event\": 600, \"ids\": [1, 2]"
		    ", \"size\": {\"law\": \"lhcb\"}",
		    "");
	assert_int_equal(bench.set->odin_source, 0);
	source_run(&bench);
	for (unsigned event = 0; event < 5; event++) {
		const struct received_block *block = source_find(&bench, 600 + 3 * event, 1);
		struct mfp_fragment fragment;
		unsigned index = 0, n = 0;
		size_t offset = 0;
		struct mfp mfp;

		assert_non_null(block);
		assert_int_equal(mfp_decode(block->bytes, block->have, &mfp), WIRE_OK);
		while (mfp_next_fragment(&mfp, &index, &offset, &fragment)) {
			assert_int_equal(fragment.type, MFP_TYPE_ODIN);
			assert_int_equal(load_le64(fragment.payload + 32), 600 + 3 * event + n++);
		}
		assert_int_equal(n, 3);
	}
	source_close(&bench);
}

static void rate__sets_when_events_start(void **state)
{
	struct source_bench bench;
	uint64_t start;
	double period;

	(void)state;
	source_open(&bench, ", \"rate\": 1000", "");
	period = (double)rte_get_tsc_hz() / 1000;
	start = bench.now = 5000000;
	role_poll(bench.role, bench.now);
	assert_int_equal(counters(&bench)->events, 1);
	for (unsigned n = 1; n < 20; n++) {
		bench.now = start + (uint64_t)(n * period) - 10;
		role_poll(bench.role, bench.now);
		assert_int_equal(counters(&bench)->events, n);
		bench.now += 20;
		role_poll(bench.role, bench.now);
		assert_int_equal(counters(&bench)->events, n + 1);
		source_receive(&bench);
	}
	source_close(&bench);
}

static void silent_source__never_sends(void **state)
{
	struct source_bench bench;

	(void)state;
	for (uint16_t silent = 1; silent <= 4; silent++) {
		char faults[64];

		snprintf(faults, sizeof(faults),
			 ", \"events\": 7, \"faults\": {\"silent_source\": %u}", silent);
		source_open(&bench, faults, "");
		source_run(&bench);
		assert_int_equal(bench.n_blocks, 3 * 7 + 3);
		for (uint16_t id = 1; id <= 4; id++) {
			if (id == silent)
				continue;
			for (unsigned event = 0; event < 7; event++)
				source_assert_block(&bench, event, id);
			source_assert_end(&bench, id);
		}
		assert_int_equal(counters(&bench)->events, 7);
		source_close(&bench);
	}
}

static void late_source__sends_later(void **state)
{
	uint64_t late_cycles = rte_get_tsc_hz() / 1000;
	struct source_bench bench;

	(void)state;
	source_open(&bench,
		    ", \"events\": 5, \"faults\": "
		    "{\"late_source\": 2, \"late_delay\": \"1ms\"}",
		    "");
	for (unsigned i = 0; i < 10; i++) {
		role_poll(bench.role, bench.now);
		source_receive(&bench);
	}
	assert_int_equal(bench.n_blocks, 3 * 5);
	assert_false(source_role_finished(bench.role));
	bench.now += late_cycles - 10;
	role_poll(bench.role, bench.now);
	source_receive(&bench);
	assert_int_equal(bench.n_blocks, 3 * 5);
	bench.now += 20;
	source_run(&bench);
	assert_events(&bench, 5);
	source_close(&bench);
}

static void drain__finishes_the_event_under_way(void **state)
{
	struct source_bench bench;
	uint64_t n;

	(void)state;
	source_open(&bench, ", \"size\": {\"mean\": 4000}", "");
	// One poll makes 32 packets: less than the 40 or so of one block.
	role_poll(bench.role, ++bench.now);
	source_receive(&bench);
	assert_int_equal(counters(&bench)->blocks, 0);
	for (n = 0; n < 1000 && !bench.role->operations->drain(bench.role, ++bench.now); n++)
		source_receive(&bench);
	source_receive(&bench);
	assert_true(n < 100);
	assert_true(source_role_finished(bench.role));
	assert_events(&bench, 1);
	source_close(&bench);
}

static void drain__before_the_first_event(void **state)
{
	struct source_bench bench;
	unsigned n = 0;

	(void)state;
	source_open(&bench, ", \"events\": 100", "");
	while (n++ < 100 && !bench.role->operations->drain(bench.role, ++bench.now))
		source_receive(&bench);
	source_receive(&bench);
	assert_events(&bench, 0);
	source_close(&bench);
}

static void port__full_holds_the_source_back(void **state)
{
	struct source_bench bench;

	(void)state;
	source_open(&bench, ", \"events\": 100", "");
	for (unsigned i = 0; i < 20; i++)
		role_poll(bench.role, ++bench.now);
	assert_true(bench.role->backpressured);
	assert_int_equal(role_poll(bench.role, ++bench.now), 0);
	// The ring, and what waits for it.
	assert_in_range(counters(&bench)->segments, 64, 64 + 4 * ROLE_BURST);
	source_run(&bench);
	assert_events(&bench, 100);
	source_close(&bench);
}

// A late source beside the others, each packet twice, into a full port.
static void port__full_with_all_that_one_step_can_make(void **state)
{
	struct source_bench bench;

	(void)state;
	source_open(&bench,
		    ", \"events\": 200, \"faults\": {\"late_source\": 1, "
		    "\"late_delay\": 1, \"duplicate\": 1}",
		    "");
	bench.tolerates_copies = true;
	for (unsigned i = 0; i < 200; i++) {
		struct rte_mbuf *mbuf;

		role_poll(bench.role, ++bench.now);
		// Odd numbers of free places.
		if (i % 3 == 0 && rte_eth_rx_burst(bench.wire.port.id, 0, &mbuf, 1) == 1)
			rte_pktmbuf_free(mbuf);
	}
	role_poll(bench.role, ++bench.now);
	assert_true(bench.role->backpressured);
	source_close(&bench);
}

static void buffers__that_are_missing_are_waited_for(void **state)
{
	struct rte_mbuf *held[2047];
	struct source_bench bench;

	(void)state;
	for (unsigned kind = 0; kind < 2; kind++) {
		struct rte_mempool *pool;

		source_open(&bench, ", \"events\": 20", "");
		pool = kind == 0 ? bench.headers : bench.payloads;
		assert_int_equal(rte_pktmbuf_alloc_bulk(pool, held, 2047), 0);
		for (unsigned i = 0; i < 5; i++)
			assert_int_equal(role_poll(bench.role, ++bench.now), 0);
		assert_int_equal(counters(&bench)->no_buffer, 5);
		assert_int_equal(counters(&bench)->segments, 0);
		rte_pktmbuf_free_bulk(held, 2047 - 3);
		assert_true(role_poll(bench.role, ++bench.now) > 0);
		source_run(&bench);
		assert_events(&bench, 20);
		rte_pktmbuf_free_bulk(held + 2044, 3);
		source_close(&bench);
	}
}

static void faults__do_not_befall_the_end_of_run(void **state)
{
	struct source_bench bench;

	(void)state;
	source_open(&bench, ", \"events\": 20, \"faults\": {\"loss\": 1}", "");
	source_run(&bench);
	assert_int_equal(bench.n_blocks, 4);
	for (uint16_t id = 1; id <= 4; id++)
		source_assert_end(&bench, id);
	assert_int_equal(source_role_sender_counters(bench.role)->lost, 20 * 4 * 2);
	source_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events__as_udp),
		cmocka_unit_test(events__over_several_ports_and_a_load_balancer),
		cmocka_unit_test(events__as_ethernet_frames),
		cmocka_unit_test(events__near_the_last_event_id),
		cmocka_unit_test(odin__names_its_events),
		cmocka_unit_test(rate__sets_when_events_start),
		cmocka_unit_test(silent_source__never_sends),
		cmocka_unit_test(late_source__sends_later),
		cmocka_unit_test(drain__finishes_the_event_under_way),
		cmocka_unit_test(drain__before_the_first_event),
		cmocka_unit_test(port__full_holds_the_source_back),
		cmocka_unit_test(port__full_with_all_that_one_step_can_make),
		cmocka_unit_test(buffers__that_are_missing_are_waited_for),
		cmocka_unit_test(faults__do_not_befall_the_end_of_run),
	};

	return cmocka_run_group_tests_name("source_role", tests, testbed_start, testbed_stop);
}
