// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What a hop over a link costs: a single-producer single-consumer ring of pointers, as between two
// roles.
//
//   ring_hop [--cpus N[,N]] [--seconds S]
//
//   one   one lcore puts in and takes out, in bursts of 32 and one by one: ns a pointer
//   two   one lcore puts in, another takes out: ns a pointer, and the time that one pointer takes
//         to the other side, half of there and back. Only if two CPUs are given.
#include <getopt.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "perf_tool.h"
#include "pipeline/role.h"

#define DEPTH       4096u
#define CHECK       1024u // rounds between two looks at the clock
#define CHECK_CALLS 64u   // the same, of those that wait for an answer

struct hop {
	struct rte_ring *there, *back;
	unsigned burst;
	uint64_t end_ns;
	uint64_t moved;
	uint64_t ns;
	atomic_bool stop;
};

static struct hop hop;
static double seconds = 0.3;

static int run_one(void *argument)
{
	void *pointers[ROLE_BURST];
	uint64_t start = perf_now_ns();

	(void)argument;
	memset(pointers, 0, sizeof(pointers));
	for (unsigned round = 1;; round++) {
		rte_ring_sp_enqueue_bulk(hop.there, pointers, hop.burst, NULL);
		hop.moved += rte_ring_sc_dequeue_bulk(hop.there, pointers, hop.burst, NULL);
		if (round % CHECK == 0 && perf_now_ns() >= hop.end_ns)
			break;
	}
	hop.ns = perf_now_ns() - start;
	return 0;
}

static int run_producer(void *argument)
{
	void *pointers[ROLE_BURST];

	(void)argument;
	memset(pointers, 0, sizeof(pointers));
	while (!atomic_load_explicit(&hop.stop, memory_order_relaxed))
		if (rte_ring_sp_enqueue_bulk(hop.there, pointers, hop.burst, NULL) == 0)
			rte_pause();
	return 0;
}

static int run_consumer(void *argument)
{
	void *pointers[ROLE_BURST];
	uint64_t start = perf_now_ns();

	(void)argument;
	for (unsigned round = 1;; round++) {
		unsigned n = rte_ring_sc_dequeue_burst(hop.there, pointers, hop.burst, NULL);

		hop.moved += n;
		if (n == 0)
			rte_pause();
		if (round % CHECK == 0 && perf_now_ns() >= hop.end_ns)
			break;
	}
	hop.ns = perf_now_ns() - start;
	atomic_store(&hop.stop, true);
	return 0;
}

static int run_echo(void *argument)
{
	void *pointer;

	(void)argument;
	while (!atomic_load_explicit(&hop.stop, memory_order_relaxed))
		if (rte_ring_sc_dequeue(hop.there, &pointer) == 0)
			rte_ring_sp_enqueue(hop.back,
					    pointer); // never full: one pointer is under way
		else
			rte_pause();
	return 0;
}

static int run_caller(void *argument)
{
	uint64_t start = perf_now_ns();
	void *pointer = &hop;

	(void)argument;
	for (unsigned round = 1; round % CHECK_CALLS != 0 || perf_now_ns() < hop.end_ns; round++) {
		rte_ring_sp_enqueue(hop.there, pointer);
		while (rte_ring_sc_dequeue(hop.back, &pointer) != 0)
			rte_pause();
		hop.moved += 2;
	}
	hop.ns = perf_now_ns() - start;
	atomic_store(&hop.stop, true);
	return 0;
}

// ns a pointer. `second` may be NULL: only one lcore runs.
static double measure(unsigned burst, lcore_function_t *first, lcore_function_t *second)
{
	void *pointer;

	while (rte_ring_sc_dequeue(hop.there, &pointer) == 0 ||
	       rte_ring_sc_dequeue(hop.back, &pointer) == 0)
		;
	hop.burst = burst;
	hop.moved = 0;
	hop.end_ns = perf_now_ns() + (uint64_t)(seconds * 1e9);
	atomic_store(&hop.stop, false);
	if (rte_eal_remote_launch(first, NULL, 1) != 0 ||
	    (second != NULL && rte_eal_remote_launch(second, NULL, 2) != 0))
		perf_fail("an lcore does not start");
	perf_wait_workers();
	if (hop.moved == 0)
		perf_fail("nothing went over the ring");
	return (double)hop.ns / (double)hop.moved;
}

static struct rte_ring *make_ring(const char *name)
{
	struct rte_ring *ring =
	    rte_ring_create(name, DEPTH, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);

	if (ring == NULL)
		perf_fail("no memory for a ring");
	return ring;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpus", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	struct perf_list cpus = { .n = 1 };
	cJSON *result = cJSON_CreateObject(), *one, *two;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			cpus = perf_parse_list("cpus", optarg);
		else if (option == 's')
			seconds = perf_parse_number("seconds", optarg, 1e-3);
		else
			return 1;
	}
	cJSON_AddBoolToObject(result, "hugepages", perf_start_eal(&cpus, 1 << 20));
	hop.there = make_ring("there");
	hop.back = make_ring("back");
	one = cJSON_AddObjectToObject(result, "one");
	cJSON_AddNumberToObject(one, "burst_32_ns", measure(ROLE_BURST, run_one, NULL));
	cJSON_AddNumberToObject(one, "single_ns", measure(1, run_one, NULL));
	if (cpus.n >= 2) {
		two = cJSON_AddObjectToObject(result, "two");
		cJSON_AddNumberToObject(two, "burst_32_ns",
					measure(ROLE_BURST, run_consumer, run_producer));
		cJSON_AddNumberToObject(two, "one_way_ns", measure(1, run_caller, run_echo));
	}
	perf_print(result);
	return 0;
}
