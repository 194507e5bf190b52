// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the store of a port costs beside a builder: both take the same segments from a link, put the
// blocks together and give their memory back, in turn in one process.
//
//   boards_cost [--cpu N] [--mtu BYTES] [--block BYTES] [--sources N] [--size BYTES]
//               [--seconds S]
//
//   builder  the builder role: segments to published events, whose slots are free at once
//   store    the store: segments to blocks that are ready, whose events are released at once
//
// Packets are received as from a wire: payloads lie in the mbufs of a pool of --size bytes, and
// slots and store have as much memory, so with more than the caches hold, the data come from memory
// and go to memory. Only the polls count, in CPU time of the thread. What a readout does besides,
// sending, is not in it.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_malloc.h>

#include "builder/builder_role.h"
#include "frames.h"
#include "packet/segment_mbuf.h"
#include "perf_tool.h"
#include "port/port.h"
#include "store/port_store.h"
#include "wire/mfp.h"

#define LINK_DEPTH  4096u
#define BATCH       512u // segments that are in the link when polls begin to count
#define HOUSEKEEP   64u  // batches
#define FRAGMENT    200u // bytes
#define DEADLINE_NS 1000000000000u

enum side { BUILDER, STORE, SIDES };

struct bench {
	uint32_t block, segment; // bytes
	unsigned n_sources, n_segments;
	uint32_t packing;
	uint64_t size;
	double seconds;
	struct source_table *sources;
	struct rte_mempool *pool;
	uint8_t *mfp;
	uint32_t length;
	struct link *links[SIDES];
	struct evring *ring;
	struct role *builder;
	struct block_store *store;
	uint64_t place[SIDES]; // the next segment: of an event, a source
	uint64_t segments[SIDES];
	uint64_t counted[SIDES], ns[SIDES]; // without the warm-up
	uint64_t batches;
	cJSON *result;
};

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// --- packets ---

// The payload of an mbuf has data of another packet, which do not matter behind the head of an MFP.
static struct rte_mbuf *make_packet(struct bench *bench, uint64_t place)
{
	uint64_t event = place / ((uint64_t)bench->n_sources * bench->n_segments);
	unsigned in_event = (unsigned)(place % ((uint64_t)bench->n_sources * bench->n_segments));
	unsigned source = in_event / bench->n_segments, number = in_event % bench->n_segments;
	uint32_t offset = number * bench->segment;
	uint32_t size = RTE_MIN(bench->segment, bench->length - offset);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(bench->pool);
	uint8_t *bytes;

	if (mbuf == NULL)
		perf_fail("packets are not freed");
	bytes = (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)(FRAME_HEADERS + size));
	*mbuf_segment(mbuf) = (struct segment){
		.event_id = event * bench->packing,
		.event_index = event,
		.offset = offset,
		.size = size,
		.length = bench->length,
		.payload = FRAME_HEADERS,
		.source = (uint16_t)source,
	};
	if (offset < mfp_data_offset(bench->packing))
		memcpy(bytes + FRAME_HEADERS, bench->mfp + offset, size);
	if (offset == 0) {
		mfp_patch_event_id(bytes + FRAME_HEADERS, event * bench->packing);
		store_le16(bytes + FRAME_HEADERS + 16, bench->sources->ids[source]);
	}
	return mbuf;
}

static void fill_link(struct bench *bench, enum side side)
{
	for (unsigned i = 0; i < BATCH; i++) {
		struct rte_mbuf *mbuf = make_packet(bench, bench->place[side]++);

		if (link_enqueue(bench->links[side], &mbuf, 1) != 1)
			perf_fail("the link is full");
	}
}

// --- what is measured ---

static unsigned poll_store(struct bench *bench)
{
	unsigned before = rte_ring_count(bench->links[STORE]->ring);

	block_store_poll(bench->store, rte_rdtsc());
	block_store_release(bench->store, bench->store->ready);
	return before - rte_ring_count(bench->links[STORE]->ring);
}

static void run_batch(struct bench *bench, enum side side)
{
	uint64_t start;
	unsigned n;

	fill_link(bench, side);
	start = cpu_ns();
	do {
		n = side == STORE ? poll_store(bench)
				  : bench->builder->operations->poll(bench->builder, rte_rdtsc());
	} while (n > 0);
	if (bench->batches % HOUSEKEEP == 0 && side == STORE)
		block_store_housekeep(bench->store);
	else if (bench->batches % HOUSEKEEP == 0)
		bench->builder->operations->housekeep(bench->builder, rte_rdtsc());
	bench->ns[side] += cpu_ns() - start;
	bench->segments[side] += BATCH;
	bench->counted[side] += BATCH;
}

// --- the two ---

static void make_memory(struct bench *bench)
{
	uint32_t headers = FRAME_HEADERS + bench->segment;
	uint32_t mbufs = (uint32_t)RTE_MAX(bench->size / (headers + 256), 4u * BATCH);

	bench->pool = port_pool_create("boards_cost", mbufs, 0, headers, SOCKET_ID_ANY);
	if (bench->pool == NULL)
		perf_fail("no memory for %u packets", mbufs);
	port_pool_touch(bench->pool);
	for (unsigned i = 0; i < SIDES; i++) {
		bench->links[i] = link_create("rx", "role", LINK_DEPTH, true, SOCKET_ID_ANY);
		if (bench->links[i] == NULL)
			perf_fail("no memory for a link");
	}
}

static void make_builder(struct bench *bench)
{
	uint64_t slot =
	    RTE_ALIGN_CEIL((uint64_t)bench->n_sources * (bench->length + 64) + 4096, 4096);
	char name[32], error[EVRING_ERROR_SIZE];
	const struct evring_parameters ring = {
		.name = name,
		.memory = EVRING_AUTO,
		.n_builders = 1,
		.slots = (uint32_t)RTE_MAX(bench->size / slot, 8u),
		.slot_size = slot,
	};
	struct builder_parameters builder = {
		.name = "builder",
		.sources = bench->sources,
		.links = &bench->links[BUILDER],
		.n_links = 1,
		.packing = bench->packing,
		.deadline_ns = DEADLINE_NS,
		.guarded = true,
	};

	snprintf(name, sizeof(name), "boards-%d", getpid());
	if (evring_create(&bench->ring, &ring, error) != 0)
		perf_fail("%s", error);
	builder.ring = bench->ring;
	bench->builder = builder_role_create(&builder);
	if (bench->builder == NULL)
		perf_fail("no memory for the builder");
}

static void make_store(struct bench *bench)
{
	const struct port_store_parameters parameters = {
		.assembly = {
			.ids = bench->sources->ids,
			.n_sources = bench->n_sources,
			.packing = bench->packing,
			.max_block = bench->length,
			.size = bench->size,
			.mfps = true,
			.deadline = UINT64_MAX >> 8,
		},
		.sources = bench->sources,
		.numa_node = SOCKET_ID_ANY,
	};

	bench->store = port_store_create(&parameters);
	if (bench->store == NULL)
		perf_fail("no memory for the store");
	port_store_connect(bench->store, bench->links[STORE]);
	block_store_begin(bench->store, 0);
}

static void close_all(struct bench *bench)
{
	bench->builder->operations->fini(bench->builder);
	port_store_flush(bench->store);
	for (unsigned i = 0; i < SIDES; i++)
		link_destroy(bench->links[i]);
	block_store_destroy(bench->store);
	evring_destroy(bench->ring);
	rte_mempool_free(bench->pool);
	free(bench->mfp);
}

// Nothing was refused, and what both made is the same.
static void check(const struct bench *bench)
{
	const struct assembly_counters *built =
	    assembly_counters(builder_role_assembly(bench->builder));
	const struct block_assembly_counters *stored = port_store_counters(bench->store);

	if (built->placed != bench->segments[BUILDER] || stored->placed != bench->segments[STORE] ||
	    built->blocks_malformed > 0 || stored->malformed > 0 ||
	    built->blocks_whole != stored->blocks)
		perf_fail(
		    "%llu of %llu segments were placed by the builder, %llu of %llu by the "
		    "store",
		    (unsigned long long)built->placed, (unsigned long long)bench->segments[BUILDER],
		    (unsigned long long)stored->placed, (unsigned long long)bench->segments[STORE]);
}

static void add_rate(const struct bench *bench, enum side side, const char *name)
{
	double segments = (double)bench->counted[side] * 1e9 / (double)bench->ns[side];
	double blocks = segments / bench->n_segments;
	cJSON *one = cJSON_AddObjectToObject(bench->result, name);

	cJSON_AddNumberToObject(one, "segments_per_second", segments);
	cJSON_AddNumberToObject(one, "bytes_per_second", blocks * bench->length);
}

static void measure(struct bench *bench)
{
	uint64_t end;

	// All memory has been used once before the first batch counts.
	for (unsigned i = 0; i < 2 * bench->size / ((uint64_t)bench->segment * BATCH) + 2; i++)
		for (enum side side = 0; side < SIDES; side++)
			run_batch(bench, side);
	memset(bench->ns, 0, sizeof(bench->ns));
	memset(bench->counted, 0, sizeof(bench->counted));
	end = perf_now_ns() + (uint64_t)(bench->seconds * 1e9);
	for (; perf_now_ns() < end; bench->batches++)
		for (enum side side = 0; side < SIDES; side++)
			run_batch(bench, side);
	check(bench);
	cJSON_AddNumberToObject(bench->result, "block", bench->length);
	add_rate(bench, BUILDER, "builder");
	add_rate(bench, STORE, "store");
}

static int run(void *argument)
{
	struct bench *bench = argument;

	bench->packing = RTE_MAX(bench->block / (FRAGMENT + 3), 1u);
	bench->mfp = frame_make_mfp(1, bench->packing, FRAGMENT, &bench->length);
	bench->n_segments = (bench->length + bench->segment - 1) / bench->segment;
	make_memory(bench);
	make_builder(bench);
	make_store(bench);
	measure(bench);
	close_all(bench);
	return 0;
}

static void make_sources(struct bench *bench)
{
	static struct source_table table;
	static uint16_t ids[EVB_MAX_SOURCES];
	static bool expected[EVB_MAX_SOURCES];

	for (unsigned i = 0; i < bench->n_sources; i++) {
		ids[i] = (uint16_t)(1 + i);
		expected[i] = true;
	}
	source_table_make(&table, ids, expected, bench->n_sources);
	bench->sources = &table;
}

static void parse(int argc, char **argv, struct bench *bench, struct perf_list *cpus)
{
	static const struct option options[] = {
		{ "block", required_argument, NULL, 'b' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "mtu", required_argument, NULL, 'm' },
		{ "seconds", required_argument, NULL, 's' },
		{ "size", required_argument, NULL, 'z' },
		{ "sources", required_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'b')
			bench->block = (uint32_t)perf_parse_number("block", optarg, 1);
		else if (option == 'c')
			*cpus = perf_parse_list("cpu", optarg);
		else if (option == 'm')
			bench->segment = (uint32_t)perf_parse_number("mtu", optarg, 128) -
					 (FRAME_HEADERS - NET_ETH_SIZE);
		else if (option == 's')
			bench->seconds = perf_parse_number("seconds", optarg, 1e-3);
		else if (option == 'z')
			bench->size = (uint64_t)perf_parse_number("size", optarg, 1 << 20);
		else if (option == 'n')
			bench->n_sources = (unsigned)perf_parse_number("sources", optarg, 1);
		else
			perf_fail("usage: boards_cost [OPTION...]");
	}
	if (bench->n_sources > EVB_MAX_SOURCES)
		perf_fail("--sources: at most %u", EVB_MAX_SOURCES);
	cpus->n = 1;
}

int main(int argc, char **argv)
{
	static struct bench bench = {
		.block = 10000,
		.segment = 9000 - (FRAME_HEADERS - NET_ETH_SIZE),
		.n_sources = 40,
		.size = 256 << 20,
		.seconds = 0.3,
	};
	struct perf_list cpus = { .n = 1 };

	parse(argc, argv, &bench, &cpus);
	make_sources(&bench);
	bench.result = cJSON_CreateObject();
	cJSON_AddBoolToObject(bench.result, "hugepages", perf_start_eal(&cpus, 3 * bench.size));
	if (rte_eal_remote_launch(run, &bench, 1) != 0)
		perf_fail("no lcore");
	perf_wait_workers();
	perf_print(bench.result);
	return 0;
}
