// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What a producer ring costs: a producer reserves, fills by memcpy() and commits; an appliance
// takes and releases.
//
//   producer_cost [--cpus N[,N]] [--blocks BYTES,...] [--size BYTES] [--seconds S]
//
//   copy  memcpy() alone into the ring's memory, block by block in the same order: the bound
//   one   producer and appliance in turn on one CPU
//   two   the producer on the first CPU, the appliance on the second. Only if two CPUs are given.
//
// The rates of copy and one are per second of CPU time of their thread, so that other processes on
// the CPU only matter through the caches; those of two are per second of the clock.
//
// --size: bytes of the ring, and of the memory from which blocks are copied in turn. With more than
// the caches hold, the data come from memory and go to memory, as those of a board's driver.
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf_tool.h"
#include "producer/evb_producer.h"
#include "producer/producer_ring.h"

#define SOURCE      1u
#define BURST       32u
#define RING_BLOCKS 65536u
#define CHECK       64u // blocks between two looks at the clock

struct bench {
	struct producer_ring *ring;
	struct evb_producer *producer;
	uint8_t *from; // `size` bytes
	uint64_t size, at;
	size_t block;
	uint64_t event_id;
	uint32_t consumer_cpu;
	_Atomic bool stop;
};

static double seconds = 0.3;

static struct perf_list default_blocks(void)
{
	return (struct perf_list){ .n = 5, .values = { 100, 1000, 10000, 100000, 200000 } };
}

static unsigned take(struct bench *bench)
{
	struct producer_block blocks[BURST];
	const unsigned n = producer_ring_take(bench->ring, blocks, BURST);

	for (unsigned i = 0; i < n; i++) {
		if (blocks[i].length != bench->block)
			perf_fail("a block of %u bytes arrived", blocks[i].length);
		producer_ring_release(bench->ring, blocks[i].sequence);
	}
	return n;
}

static const uint8_t *next_source(struct bench *bench)
{
	const uint8_t *from = bench->from + bench->at;

	bench->at += bench->block;
	if (bench->at + bench->block > bench->size)
		bench->at = 0;
	return from;
}

// Returns false if the ring is full.
static bool put(struct bench *bench)
{
	void *block;
	const int rc = evb_producer_reserve(bench->producer, SOURCE, bench->block, &block);

	if (rc == -EAGAIN)
		return false;
	if (rc == 0)
		memcpy(block, next_source(bench), bench->block);
	if (rc != 0 ||
	    evb_producer_commit(bench->producer, bench->event_id++, bench->block, 0) != 0)
		perf_fail("%s", evb_producer_error(bench->producer));
	return true;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Blocks per second of a step that is repeated; a step returns how many blocks it moved.
static double measure(struct bench *bench, unsigned (*step)(struct bench *), clockid_t clock)
{
	const uint64_t begin = clock_ns(clock), end = begin + (uint64_t)(seconds * 1e9);
	uint64_t moved = 0, now = begin;

	while (now < end) {
		for (unsigned n = 0; n < CHECK && n * bench->block < (1u << 20); n++)
			moved += step(bench);
		now = clock_ns(clock);
	}
	return (double)moved * 1e9 / (double)(now - begin);
}

static unsigned copy_step(struct bench *bench)
{
	const struct producer_ring_memory memory = producer_ring_memory(bench->ring);
	// The same place in the ring: its data begin after the descriptors.
	uint8_t *to = (uint8_t *)memory.address + (memory.length - bench->size) + bench->at;

	memcpy(to, next_source(bench), bench->block);
	return 1;
}

static unsigned one_step(struct bench *bench)
{
	unsigned n = 0;

	while (n < BURST && put(bench))
		n++;
	(void)take(bench);
	producer_ring_housekeep(bench->ring);
	return n;
}

static unsigned two_step(struct bench *bench)
{
	return put(bench);
}

static void *consume(void *argument)
{
	struct bench *bench = argument;

	perf_pin(bench->consumer_cpu);
	while (!atomic_load_explicit(&bench->stop, memory_order_relaxed)) {
		if (take(bench) == 0)
			perf_relax();
		producer_ring_housekeep(bench->ring);
	}
	while (take(bench) > 0)
		;
	return NULL;
}

static double measure_two(struct bench *bench, uint32_t cpu)
{
	pthread_t thread;
	double rate;

	bench->consumer_cpu = cpu;
	atomic_store(&bench->stop, false);
	if (pthread_create(&thread, NULL, consume, bench) != 0)
		perf_fail("a thread does not start");
	rate = measure(bench, two_step, CLOCK_MONOTONIC);
	atomic_store(&bench->stop, true);
	pthread_join(thread, NULL);
	return rate;
}

static void add_rate(cJSON *object, const char *name, double blocks_per_second, size_t block)
{
	cJSON *one = cJSON_AddObjectToObject(object, name);

	cJSON_AddNumberToObject(one, "blocks_per_second", blocks_per_second);
	cJSON_AddNumberToObject(one, "bytes_per_second", blocks_per_second * (double)block);
}

static cJSON *measure_block(struct bench *bench, const struct perf_list *cpus)
{
	cJSON *result = cJSON_CreateObject();

	bench->at = 0;
	cJSON_AddNumberToObject(result, "block", (double)bench->block);
	add_rate(result, "copy", measure(bench, copy_step, CLOCK_THREAD_CPUTIME_ID), bench->block);
	add_rate(result, "one", measure(bench, one_step, CLOCK_THREAD_CPUTIME_ID), bench->block);
	while (take(bench) > 0)
		;
	if (cpus->n >= 2)
		add_rate(result, "two", measure_two(bench, cpus->values[1]), bench->block);
	return result;
}

static bool open_bench(struct bench *bench, const struct perf_list *blocks)
{
	static const uint16_t source = SOURCE;
	char name[EVRING_NAME_SIZE], error[EVRING_ERROR_SIZE];
	struct producer_ring_parameters parameters = {
		.appliance = name,
		.name = "bench",
		.size = bench->size,
		.blocks = RING_BLOCKS,
		.sources = &source,
		.n_sources = 1,
	};

	for (unsigned i = 0; i < blocks->n; i++)
		if (blocks->values[i] > parameters.max_block)
			parameters.max_block = blocks->values[i];
	snprintf(name, sizeof(name), "bench-%d", getpid());
	if (producer_ring_open(&bench->ring, &parameters, error) != 0)
		perf_fail("%s", error);
	if (evb_producer_open(&bench->producer, name, parameters.name, NULL) != 0)
		perf_fail("%s", evb_producer_error(bench->producer));
	bench->from = mmap(NULL, bench->size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (bench->from == MAP_FAILED)
		perf_fail("no memory for the blocks");
	memset(bench->from, 0x5a, bench->size);
	return producer_ring_memory(bench->ring).page_size > 4096;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpus", required_argument, NULL, 'c' },
		{ "blocks", required_argument, NULL, 'b' },
		{ "size", required_argument, NULL, 'z' },
		{ "seconds", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	struct perf_list cpus = { .n = 1 }, blocks = default_blocks();
	struct bench bench = { .size = 256 << 20 };
	cJSON *result = cJSON_CreateObject(), *list;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			cpus = perf_parse_list("cpus", optarg);
		else if (option == 'b')
			blocks = perf_parse_list("blocks", optarg);
		else if (option == 'z')
			bench.size = (uint64_t)perf_parse_number("size", optarg, 1 << 20);
		else if (option == 's')
			seconds = perf_parse_number("seconds", optarg, 1e-3);
		else
			return 1;
	}
	perf_pin(cpus.values[0]);
	cJSON_AddBoolToObject(result, "hugepages", open_bench(&bench, &blocks));
	list = cJSON_AddArrayToObject(result, "blocks");
	for (unsigned i = 0; i < blocks.n; i++) {
		bench.block = blocks.values[i];
		cJSON_AddItemToArray(list, measure_block(&bench, &cpus));
	}
	evb_producer_close(bench.producer);
	producer_ring_destroy(bench.ring);
	perf_print(result);
	return 0;
}
