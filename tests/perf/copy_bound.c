// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The bound of the data path: how fast this machine copies blocks of a given size from memory that
// is in no cache to memory that is in no cache, and nothing else.
//
//   copy_bound --block SIZE[,SIZE...] [--cpus N[,N...]] [--seconds S] [--size BYTES]
//
// Blocks come from `size` bytes and go to as many, which have no gaps, like slots. Orders:
// `random`, from blocks that lie like payloads in mbufs, each in an element of its own; and
// `forward`, one after the other without gaps, which the prefetchers of processors are made for.
// Kernels: the C library's memcpy, rte_memcpy as evb is built with it, and, on x86, `stream`,
// stores that bypass the caches. Given several CPUs, all copy at the same time, each in its share
// of the memory, and the sum is told.
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <getopt.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_memcpy.h>

#include "base/random.h"
#include "perf_tool.h"
#include "wire/wire.h"

#define MIB           (1024u * 1024u)
#define ELEMENT_EXTRA 320u // of an mbuf: its head, private area and headroom
#define LEAST_BLOCKS  16u

typedef void (*kernel)(uint8_t *to, const uint8_t *from, size_t size);

static void copy_memcpy(uint8_t *to, const uint8_t *from, size_t size)
{
	memcpy(to, from, size);
}

static void copy_rte_memcpy(uint8_t *to, const uint8_t *from, size_t size)
{
	rte_memcpy(to, from, size);
}

#ifdef __SSE2__
static void copy_stream(uint8_t *to, const uint8_t *from, size_t size)
{
	size_t i = (16 - ((uintptr_t)to & 15)) & 15;

	if (i > size)
		i = size;
	memcpy(to, from, i);
	for (; i + 16 <= size; i += 16)
		_mm_stream_si128((void *)(to + i), _mm_loadu_si128((const void *)(from + i)));
	memcpy(to + i, from + i, size - i);
	_mm_sfence();
}
#endif

static const struct {
	const char *name;
	kernel copy;
} kernels[] = {
	{ "memcpy", copy_memcpy },
	{ "rte_memcpy", copy_rte_memcpy },
#ifdef __SSE2__
	{ "stream", copy_stream },
#endif
};

struct worker {
	uint8_t *from, *to;
	uint32_t *from_order, *to_order;
	uint64_t size; // bytes of each
	uint32_t block, stride, n_blocks;
	kernel copy;
	uint64_t copied; // bytes
	uint64_t ns;
	bool wrong; // a copy is not like its original
};

static struct worker workers[PERF_LIST_MOST];
static double seconds = 0.3;
static atomic_uint n_ready;
static unsigned n_workers;

static void make_order(uint32_t *order, uint32_t n, bool shuffled, uint64_t seed)
{
	struct random random = random_fork(seed, n);

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n - 1; shuffled && i > 0; i--) {
		uint32_t other = (uint32_t)(random_next(&random) % (i + 1)), kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
}

static void set_block(struct worker *worker, uint32_t block, bool in_elements)
{
	worker->block = block;
	worker->stride = block;
	if (in_elements)
		worker->stride = (uint32_t)round_up(block + ELEMENT_EXTRA, RTE_CACHE_LINE_SIZE);
	worker->n_blocks = (uint32_t)(worker->size / worker->stride);
	if (worker->n_blocks < LEAST_BLOCKS)
		perf_fail("blocks of %u bytes do not fit %u times in the memory", block,
			  LEAST_BLOCKS);
}

static const uint8_t *source_of(const struct worker *worker, uint32_t i)
{
	return worker->from + (uint64_t)worker->from_order[i] * worker->stride;
}

static uint8_t *place_of(const struct worker *worker, uint32_t i)
{
	return worker->to + (uint64_t)worker->to_order[i] * worker->block;
}

static int work(void *argument)
{
	struct worker *worker = argument;
	uint32_t burst = 1 + MIB / worker->block, i = 0;
	uint64_t start, end;

	atomic_fetch_add(&n_ready, 1);
	while (atomic_load(&n_ready) < n_workers)
		rte_pause();
	start = perf_now_ns();
	end = start + (uint64_t)(seconds * 1e9);
	worker->copied = 0;
	do {
		for (uint32_t n = 0; n < burst; n++) {
			worker->copy(place_of(worker, i), source_of(worker, i), worker->block);
			if (++i == worker->n_blocks)
				i = 0;
		}
		worker->copied += (uint64_t)burst * worker->block;
	} while (perf_now_ns() < end);
	worker->ns = perf_now_ns() - start;
	i = i > 0 ? i - 1 : worker->n_blocks - 1;
	worker->wrong = memcmp(place_of(worker, i), source_of(worker, i), worker->block) != 0;
	return 0;
}

// Bytes a second of all workers together.
static double measure(kernel copy)
{
	double rate = 0;
	unsigned lcore, i = 0;

	atomic_store(&n_ready, 0);
	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		workers[i].copy = copy;
		if (rte_eal_remote_launch(work, &workers[i++], lcore) != 0)
			perf_fail("lcore %u does not start", lcore);
	}
	perf_wait_workers();
	for (i = 0; i < n_workers; i++) {
		if (workers[i].wrong)
			perf_fail("a copy differs from its original");
		rate += (double)workers[i].copied * 1e9 / (double)workers[i].ns;
	}
	return rate;
}

static void measure_block(cJSON *blocks, uint32_t block)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddItemToArray(blocks, object);
	cJSON_AddNumberToObject(object, "block", block);
	for (int shuffled = 1; shuffled >= 0; shuffled--) {
		cJSON *order = cJSON_AddObjectToObject(object, shuffled ? "random" : "forward");

		for (unsigned i = 0; i < n_workers; i++) {
			set_block(&workers[i], block, shuffled);
			make_order(workers[i].from_order, workers[i].n_blocks, shuffled, 1 + i);
			make_order(workers[i].to_order, workers[i].n_blocks, shuffled, 1000 + i);
		}
		for (unsigned i = 0; i < RTE_DIM(kernels); i++)
			cJSON_AddNumberToObject(order, kernels[i].name, measure(kernels[i].copy));
	}
}

static void make_worker(struct worker *worker, uint64_t size, uint32_t smallest_block)
{
	worker->size = size;
	worker->from = rte_malloc("copy_bound", size, RTE_CACHE_LINE_SIZE);
	worker->to = rte_malloc("copy_bound", size, RTE_CACHE_LINE_SIZE);
	set_block(worker, smallest_block, false);
	worker->from_order = malloc(worker->n_blocks * sizeof(*worker->from_order));
	worker->to_order = malloc(worker->n_blocks * sizeof(*worker->to_order));
	if (worker->from == NULL || worker->to == NULL || worker->from_order == NULL ||
	    worker->to_order == NULL)
		perf_fail("no memory for twice %llu bytes", (unsigned long long)size);
	// Written, so that every page is there and none is the kernel's page of zeros.
	for (uint64_t i = 0; i + sizeof(i) <= size; i += sizeof(i))
		store_le64(worker->from + i, random_mix(i));
	memset(worker->to, 0xA5, size);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "block", required_argument, NULL, 'b' },
		{ "cpus", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 's' },
		{ "size", required_argument, NULL, 'z' },
		{ NULL, 0, NULL, 0 },
	};
	struct perf_list blocks = { .values = { 8952 }, .n = 1 }, cpus = { .n = 1 };
	uint64_t size = 256 * MIB;
	uint32_t smallest = UINT32_MAX;
	cJSON *result = cJSON_CreateObject(), *list;
	bool hugepages;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'b')
			blocks = perf_parse_list("block", optarg);
		else if (option == 'c')
			cpus = perf_parse_list("cpus", optarg);
		else if (option == 's')
			seconds = perf_parse_number("seconds", optarg, 1e-3);
		else if (option == 'z')
			size = (uint64_t)perf_parse_number("size", optarg, MIB);
		else
			return 1;
	}
	for (unsigned i = 0; i < blocks.n; i++)
		smallest = RTE_MIN(smallest, RTE_MAX(blocks.values[i], 1u));
	hugepages = perf_start_eal(&cpus, 2 * size);
	n_workers = cpus.n;
	for (unsigned i = 0; i < n_workers; i++)
		make_worker(&workers[i], size / n_workers, smallest);
	cJSON_AddBoolToObject(result, "hugepages", hugepages);
	cJSON_AddNumberToObject(result, "cpus", cpus.n);
	list = cJSON_AddArrayToObject(result, "blocks");
	for (unsigned i = 0; i < blocks.n; i++)
		measure_block(list, RTE_MAX(blocks.values[i], 1u));
	perf_print(result);
	return 0;
}
