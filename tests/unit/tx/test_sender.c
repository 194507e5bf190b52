// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "testbed.h"

#include <string.h>

#include <rte_ethdev.h>

#include "tx/sender.h"

#define DEPTH   256u // of the port
#define SIZE    100u // bytes of a packet, of which the first 4 say which it is
#define HEADERS 10u  // bytes that are not corrupted

struct sender_bench {
	struct config *config;
	struct testbed_port wire;
	struct rte_mempool *pool, *copies;
	struct sender sender __rte_cache_aligned;
	uint32_t made;
};

static void open_bench(struct sender_bench *bench, const struct faults *faults, uint32_t n_copies)
{
	memset(bench, 0, sizeof(*bench));
	bench->config = testbed_config("{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\", "
				       "\"rx_descriptors\": 256}], \"sources\": {\"ids\": [1]},"
				       "\"builders\": [{\"name\": \"b\"}]}");
	testbed_open_port(&bench->wire, &bench->config->ports[0], 1, 1);
	bench->pool = testbed_pool("sender", 4095, 256);
	bench->copies = testbed_pool("copies", n_copies, 256);
	sender_init(&bench->sender, bench->wire.port.id, 0, bench->copies, faults, 1);
}

static void close_bench(struct sender_bench *bench)
{
	sender_fini(&bench->sender);
	port_close(&bench->wire.port);
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 0);
	assert_int_equal(rte_mempool_in_use_count(bench->copies), 0);
	rte_mempool_free(bench->pool);
	rte_mempool_free(bench->copies);
	config_free(bench->config);
}

static uint8_t pattern(uint32_t serial, uint32_t at)
{
	return (uint8_t)(serial * 31 + at);
}

static void put_one(struct sender_bench *bench, bool exact, uint32_t piece)
{
	struct frame frame = { .length = SIZE };

	for (uint32_t i = 0; i < SIZE; i++)
		frame.bytes[i] = pattern(bench->made, i);
	memcpy(frame.bytes, &bench->made, sizeof(bench->made));
	bench->made++;
	assert_true(sender_room(&bench->sender, 1));
	sender_put(&bench->sender, frame_to_mbuf(&frame, bench->pool, piece), HEADERS, exact);
}

static void put(struct sender_bench *bench, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put_one(bench, false, SIZE);
}

// Flushes, and takes what has arrived; fills in the serial number and the wrong bits of each.
struct arrival {
	uint32_t serial;
	unsigned wrong_bits;
	bool headers_are_right;
};

static unsigned collect(struct sender_bench *bench, struct arrival *arrivals)
{
	struct rte_mbuf *mbufs[DEPTH];
	uint8_t copy[SIZE];
	unsigned n;

	while (sender_flush(&bench->sender) > 0)
		;
	n = rte_eth_rx_burst(bench->wire.port.id, 0, mbufs, DEPTH);
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *bytes = rte_pktmbuf_read(mbufs[i], 0, SIZE, copy);
		struct arrival *arrival = &arrivals[i];

		assert_int_equal(rte_pktmbuf_pkt_len(mbufs[i]), SIZE);
		memcpy(&arrival->serial, bytes, sizeof(arrival->serial));
		arrival->wrong_bits = 0;
		arrival->headers_are_right = true;
		for (uint32_t at = sizeof(arrival->serial); at < SIZE; at++) {
			uint8_t wrong = bytes[at] ^ pattern(arrival->serial, at);

			arrival->wrong_bits += (unsigned)__builtin_popcount(wrong);
			arrival->headers_are_right &= at >= HEADERS || wrong == 0;
		}
	}
	rte_pktmbuf_free_bulk(mbufs, n);
	return n;
}

static void put__without_faults_keeps_all_in_order(void **state)
{
	struct arrival arrivals[DEPTH];
	struct sender_bench bench;

	(void)state;
	open_bench(&bench, NULL, 63);
	put(&bench, 100);
	assert_int_equal(collect(&bench, arrivals), 100);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(arrivals[i].serial, i);
		assert_int_equal(arrivals[i].wrong_bits, 0);
	}
	assert_int_equal(bench.sender.counters.packets, 100);
	assert_int_equal(bench.sender.counters.bytes, 100 * SIZE);
	assert_int_equal(bench.sender.counters.lost + bench.sender.counters.duplicated +
			     bench.sender.counters.corrupted + bench.sender.counters.reordered,
			 0);
	close_bench(&bench);
}

static void put__loses(void **state)
{
	struct faults faults = { .loss = 1 };
	struct arrival arrivals[DEPTH];
	struct sender_bench bench;
	unsigned sent = 0;

	(void)state;
	open_bench(&bench, &faults, 63);
	put(&bench, 100);
	assert_int_equal(collect(&bench, arrivals), 0);
	assert_int_equal(bench.sender.counters.lost, 100);
	bench.sender.faults.loss = 0.25;
	for (unsigned i = 0; i < 10; i++) {
		put(&bench, 100);
		sent += collect(&bench, arrivals);
	}
	assert_int_equal(sent + bench.sender.counters.lost, 1100);
	assert_in_range(sent, 700, 800);
	close_bench(&bench);
}

static void put__duplicates(void **state)
{
	struct faults faults = { .duplicate = 1 };
	struct arrival arrivals[DEPTH];
	struct sender_bench bench;

	(void)state;
	open_bench(&bench, &faults, 127);
	for (unsigned i = 0; i < 50; i++)
		put_one(&bench, false, 30);
	assert_int_equal(collect(&bench, arrivals), 100);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(arrivals[i].serial, i / 2);
		assert_int_equal(arrivals[i].wrong_bits, 0);
	}
	assert_int_equal(bench.sender.counters.duplicated, 50);
	close_bench(&bench);
}

static void put__without_buffers_for_copies_makes_no_faults(void **state)
{
	struct faults faults = { .duplicate = 1, .corrupt = 1 };
	struct arrival arrivals[DEPTH];
	struct rte_mbuf *held[63];
	struct sender_bench bench;

	(void)state;
	open_bench(&bench, &faults, 63);
	assert_int_equal(rte_pktmbuf_alloc_bulk(bench.copies, held, 63), 0);
	put(&bench, 20);
	assert_int_equal(collect(&bench, arrivals), 20);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(arrivals[i].serial, i);
		assert_int_equal(arrivals[i].wrong_bits, 0);
	}
	assert_int_equal(bench.sender.counters.duplicated, 0);
	assert_int_equal(bench.sender.counters.corrupted, 0);
	rte_pktmbuf_free_bulk(held, 63);
	close_bench(&bench);
}

static void put__corrupts_one_bit_of_the_payload(void **state)
{
	struct faults faults = { .corrupt = 1 };
	struct arrival arrivals[DEPTH];
	struct sender_bench bench;

	(void)state;
	open_bench(&bench, &faults, 127);
	for (unsigned i = 0; i < 100; i++)
		put_one(&bench, false, i % 2 == 0 ? SIZE : 7);
	assert_int_equal(collect(&bench, arrivals), 100);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(arrivals[i].serial, i);
		assert_int_equal(arrivals[i].wrong_bits, 1);
		assert_true(arrivals[i].headers_are_right);
	}
	assert_int_equal(bench.sender.counters.corrupted, 100);
	close_bench(&bench);
}

static void put__leaves_packets_without_payload_alone(void **state)
{
	struct faults faults = { .corrupt = 1 };
	struct frame frame = { .length = HEADERS };
	struct sender_bench bench;

	(void)state;
	open_bench(&bench, &faults, 127);
	sender_put(&bench.sender, frame_to_mbuf(&frame, bench.pool, SIZE), HEADERS, false);
	assert_int_equal(bench.sender.counters.corrupted, 0);
	assert_int_equal(bench.sender.n_out, 1);
	close_bench(&bench);
}

static void put__exact_suffers_no_fault(void **state)
{
	struct faults faults = { .loss = 1, .corrupt = 1, .duplicate = 1, .reorder_window = 64 };
	struct arrival arrivals[DEPTH];
	struct sender_bench bench;

	(void)state;
	open_bench(&bench, &faults, 127);
	for (unsigned i = 0; i < 50; i++)
		put_one(&bench, true, SIZE);
	assert_int_equal(collect(&bench, arrivals), 50);
	for (unsigned i = 0; i < 50; i++) {
		assert_int_equal(arrivals[i].serial, i);
		assert_int_equal(arrivals[i].wrong_bits, 0);
	}
	close_bench(&bench);
}

static void put__shuffles_over_a_window(void **state)
{
	struct faults faults = { .reorder_window = 32 };
	struct arrival arrivals[DEPTH];
	struct sender_bench bench;
	bool seen[200] = { false };
	unsigned n = 0, reordered = 0;
	uint32_t highest = 0;

	(void)state;
	open_bench(&bench, &faults, 127);
	put(&bench, 32);
	assert_int_equal(collect(&bench, arrivals), 0); // all in the window
	for (unsigned i = 32; i < 200; i += 56) {
		put(&bench, 56);
		n += collect(&bench, arrivals + n);
	}
	assert_int_equal(n, 200 - 32);
	assert_true(sender_settle(&bench.sender));
	n += collect(&bench, arrivals + n);
	assert_int_equal(n, 200);
	for (unsigned i = 0; i < n; i++) {
		assert_false(seen[arrivals[i].serial]);
		seen[arrivals[i].serial] = true;
		// Never earlier than the window allows.
		assert_true(arrivals[i].serial <= i + 32);
		reordered += arrivals[i].serial < highest;
		highest = RTE_MAX(highest, arrivals[i].serial);
	}
	assert_int_equal(bench.sender.counters.reordered, reordered);
	assert_true(reordered > 100);
	close_bench(&bench);
}

static void put__takes_the_largest_window(void **state)
{
	struct faults faults = { .reorder_window = FAULTS_MAX_REORDER };
	struct arrival arrivals[DEPTH];
	struct sender_bench bench;
	unsigned n = 0;

	(void)state;
	open_bench(&bench, &faults, 127);
	for (unsigned i = 0; i < 1200; i += 100) {
		put(&bench, 100);
		n += collect(&bench, arrivals);
	}
	assert_int_equal(n, 1200 - FAULTS_MAX_REORDER);
	while (!sender_settle(&bench.sender))
		n += collect(&bench, arrivals);
	n += collect(&bench, arrivals);
	assert_int_equal(n, 1200);
	close_bench(&bench);
}

static void flush__keeps_what_the_port_does_not_take(void **state)
{
	struct arrival arrivals[DEPTH];
	struct sender_bench bench;

	(void)state;
	open_bench(&bench, NULL, 127);
	for (unsigned i = 0; i < DEPTH - 10; i += 41) { // 246 = 6 x 41
		put(&bench, 41);
		while (sender_flush(&bench.sender) > 0)
			;
	}
	put(&bench, 30);
	assert_int_equal(sender_flush(&bench.sender), 10);
	assert_int_equal(sender_flush(&bench.sender), 0);
	assert_int_equal(bench.sender.n_out, 20);
	assert_int_equal(bench.sender.counters.packets, DEPTH);
	assert_int_equal(bench.sender.counters.bytes, DEPTH * SIZE);
	assert_int_equal(collect(&bench, arrivals), DEPTH);
	for (unsigned i = 0; i < DEPTH; i++)
		assert_int_equal(arrivals[i].serial, i);
	assert_int_equal(collect(&bench, arrivals), 20);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(arrivals[i].serial, DEPTH + i);
	close_bench(&bench);
}

static void room__holds_two_for_each_packet(void **state)
{
	struct faults faults = { .duplicate = 1 };
	struct sender_bench bench;

	(void)state;
	open_bench(&bench, &faults, 255);
	assert_true(sender_room(&bench.sender, ROLE_BURST));
	while (sender_room(&bench.sender, 1))
		put(&bench, 1);
	assert_int_equal(bench.made, RTE_DIM(bench.sender.out) / 2);
	assert_int_equal(bench.sender.n_out, RTE_DIM(bench.sender.out));
	close_bench(&bench); // frees what was not sent
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put__without_faults_keeps_all_in_order),
		cmocka_unit_test(put__loses),
		cmocka_unit_test(put__duplicates),
		cmocka_unit_test(put__without_buffers_for_copies_makes_no_faults),
		cmocka_unit_test(put__corrupts_one_bit_of_the_payload),
		cmocka_unit_test(put__leaves_packets_without_payload_alone),
		cmocka_unit_test(put__exact_suffers_no_fault),
		cmocka_unit_test(put__shuffles_over_a_window),
		cmocka_unit_test(put__takes_the_largest_window),
		cmocka_unit_test(flush__keeps_what_the_port_does_not_take),
		cmocka_unit_test(room__holds_two_for_each_packet),
	};

	return cmocka_run_group_tests_name("sender", tests, testbed_start, testbed_stop);
}
