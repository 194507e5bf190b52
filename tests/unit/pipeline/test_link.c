// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "testbed.h"

#include "pipeline/link.h"

#define DEPTH 64u

static struct rte_mempool *pool;

static void take(struct rte_mbuf **mbufs, unsigned n)
{
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, mbufs, n), 0);
}

static void link__keeps_order_and_holds_its_depth(void **state)
{
	struct link *link = link_create("rx.a", "builder.b", DEPTH, true, 0);
	struct rte_mbuf *in[DEPTH + 2], *out[DEPTH + 2];

	(void)state;
	assert_non_null(link);
	assert_string_equal(link->producer, "rx.a");
	assert_string_equal(link->consumer, "builder.b");
	assert_int_equal(link->depth, DEPTH);
	assert_true(link->lossless);
	take(in, DEPTH + 2);
	for (unsigned round = 0; round < 3; round++) {
		assert_true(link_room(link, DEPTH));
		assert_int_equal(link_enqueue(link, in, DEPTH + 2), DEPTH);
		assert_int_equal(link_enqueue(link, in + DEPTH, 1), 0);
		assert_int_equal(link_dequeue(link, out, 10), 10);
		assert_int_equal(link_dequeue(link, out + 10, DEPTH), DEPTH - 10);
		assert_int_equal(link_dequeue(link, out, DEPTH), 0);
		assert_memory_equal(in, out, DEPTH * sizeof(in[0]));
	}
	assert_int_equal(counter_read(&link->counters.enqueued), 3 * DEPTH);
	rte_pktmbuf_free_bulk(in, DEPTH + 2);
	link_destroy(link);
}

static void link__counts_polls_without_room(void **state)
{
	struct link *link = link_create("a", "b", DEPTH, true, 0);
	struct rte_mbuf *mbufs[DEPTH];

	(void)state;
	take(mbufs, DEPTH);
	assert_int_equal(link_enqueue(link, mbufs, DEPTH - 32), DEPTH - 32);
	assert_true(link_room(link, 32));
	assert_int_equal(counter_read(&link->counters.full), 0);
	assert_false(link_room(link, 33));
	assert_false(link_room(link, 33));
	assert_int_equal(counter_read(&link->counters.full), 2);
	assert_int_equal(link_enqueue(link, mbufs + 32, 32), 32);
	assert_false(link_room(link, 1));
	assert_int_equal(counter_read(&link->counters.full), 3);
	link_destroy(link);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

static void link__remembers_its_highest_filling(void **state)
{
	struct link *link = link_create("a", "b", DEPTH, false, 0);
	struct rte_mbuf *mbufs[10], *out[10];

	(void)state;
	assert_false(link->lossless);
	take(mbufs, 10);
	link_enqueue(link, mbufs, 7);
	link_dequeue(link, out, 5);
	link_enqueue(link, mbufs + 7, 3);
	assert_int_equal(counter_read(&link->counters.highest), 7);
	link_enqueue(link, out, 5);
	assert_int_equal(counter_read(&link->counters.highest), 10);
	link_destroy(link);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

static void link__destroyed_frees_what_is_left(void **state)
{
	struct link *link = link_create("a", "b", DEPTH, false, 0);
	struct rte_mbuf *mbufs[DEPTH];

	(void)state;
	take(mbufs, DEPTH);
	assert_int_equal(link_enqueue(link, mbufs, DEPTH), DEPTH);
	assert_int_equal(rte_mempool_in_use_count(pool), DEPTH);
	link_destroy(link);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	link_destroy(NULL);
}

static void link__refused_when_too_large(void **state)
{
	(void)state;
	assert_null(link_create("a", "b", 1u << 30, true, 0));
}

static int start(void **state)
{
	if (testbed_start(state) != 0)
		return -1;
	pool = testbed_pool("link", 255, 128);
	return 0;
}

static int stop(void **state)
{
	rte_mempool_free(pool);
	return testbed_stop(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(link__keeps_order_and_holds_its_depth),
		cmocka_unit_test(link__counts_polls_without_room),
		cmocka_unit_test(link__remembers_its_highest_filling),
		cmocka_unit_test(link__destroyed_frees_what_is_left),
		cmocka_unit_test(link__refused_when_too_large),
	};

	return cmocka_run_group_tests_name("link", tests, start, stop);
}
