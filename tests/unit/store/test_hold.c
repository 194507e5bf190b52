// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Packets hold the memory of the block that they point into, until they are freed.
#include "testbed.h"

#include <string.h>

#include "tx/block_packets.h"
#include "wire/mfp.h"

#define MTU   500u
#define BLOCK 2000u

static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };
static const uint16_t id = 0x1001;

struct fake {
	struct block_store store;
	struct block_hold hold;
	uint8_t bytes[BLOCK];
	bool is_temporary;
};

static struct store_block find(struct block_store *store, uint64_t event, unsigned source)
{
	struct fake *fake = (struct fake *)store;

	(void)event;
	(void)source;
	return (struct store_block){
		.bytes = fake->bytes,
		.size = BLOCK,
		.is_temporary = fake->is_temporary,
		.hold = &fake->hold,
	};
}

static const struct block_store_operations operations = { .find = find };

struct bench {
	struct fake fake;
	struct rte_mempool *headers, *payloads;
	struct block_packets packets;
};

static void bench_open(struct bench *bench)
{
	memset(bench, 0, sizeof(*bench));
	bench->fake.store = (struct block_store){
		.operations = &operations, .ids = &id, .n_sources = 1, .packing = 1
	};
	bench->headers = testbed_pool("headers", 63, 1024);
	bench->payloads = testbed_pool("payloads", 63, 0);
	block_packets_init(&bench->packets, &(struct block_packets_parameters){
						.store = &bench->fake.store,
						.mac = mac,
						.mtu = MTU,
						.mfps = true,
						.udp_ports = 1,
						.headers = bench->headers,
						.payloads = bench->payloads,
					    });
}

static void bench_close(struct bench *bench)
{
	assert_int_equal(rte_mempool_in_use_count(bench->headers), 0);
	assert_int_equal(rte_mempool_in_use_count(bench->payloads), 0);
	rte_mempool_free(bench->headers);
	rte_mempool_free(bench->payloads);
}

static unsigned make_all(struct bench *bench, struct rte_mbuf **mbufs)
{
	const struct packet_destination to = { .address = 1 };
	struct packet_segment at = { 0 };
	unsigned n = 0;

	while (at.offset < BLOCK) {
		struct store_block block = block_packets_find(&bench->packets, &at);
		uint32_t size = RTE_MIN(BLOCK - at.offset, bench->packets.segment_size);

		mbufs[n] = block_packets_make(&bench->packets, &at, &block, size, &to);
		assert_non_null(mbufs[n++]);
		at.offset += size;
	}
	return n;
}

static void packets__hold_the_memory_until_the_last_is_freed(void **state)
{
	struct rte_mbuf *mbufs[16];
	struct bench bench;
	unsigned n;

	(void)state;
	bench_open(&bench);
	n = make_all(&bench, mbufs);
	assert_true(n > 3);
	for (unsigned i = 0; i < n; i++) {
		assert_false(block_hold_is_free(&bench.fake.hold));
		rte_pktmbuf_free(mbufs[i]);
	}
	assert_true(block_hold_is_free(&bench.fake.hold));
	assert_int_equal(bench.fake.hold.taken, n);
	bench_close(&bench);
}

static void packets__that_copy_do_not_hold(void **state)
{
	struct rte_mbuf *mbufs[16];
	struct bench bench;
	unsigned n;

	(void)state;
	bench_open(&bench);
	bench.fake.is_temporary = true;
	n = make_all(&bench, mbufs);
	assert_true(block_hold_is_free(&bench.fake.hold));
	rte_pktmbuf_free_bulk(mbufs, n);
	assert_int_equal(bench.fake.hold.taken, 0);
	bench_close(&bench);
}

static void packets__that_cannot_be_made_do_not_hold(void **state)
{
	const struct packet_destination to = { .address = 1 };
	const struct packet_segment at = { .offset = 100 };
	struct rte_mbuf *taken[64];
	struct store_block block;
	struct bench bench;

	(void)state;
	bench_open(&bench);
	block = block_packets_find(&bench.packets, &at);
	assert_int_equal(rte_pktmbuf_alloc_bulk(bench.payloads, taken, 63), 0);
	assert_null(block_packets_make(&bench.packets, &at, &block, 100, &to));
	assert_true(block_hold_is_free(&bench.fake.hold));
	rte_pktmbuf_free_bulk(taken, 63);
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets__hold_the_memory_until_the_last_is_freed),
		cmocka_unit_test(packets__that_copy_do_not_hold),
		cmocka_unit_test(packets__that_cannot_be_made_do_not_hold),
	};

	return cmocka_run_group_tests_name("hold", tests, testbed_start, testbed_stop);
}
