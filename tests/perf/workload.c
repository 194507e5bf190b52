// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Fixed workloads whose instructions instructions.py counts: segments that go through the rx and
// builder roles of the program, and MFPs that are validated. What is counted lies in functions
// called measured_*. Payloads are as short as 64 bytes, so that the copy counts for little.
//
//   workload NAME
//
// Prints one JSON object: how many units each measured function did. Exits with 1 if what it did is
// not right.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "base/random.h"
#include "builder/builder_role.h"
#include "config/config.h"
#include "frames.h"
#include "perf_tool.h"
#include "port/eal.h"
#include "port/port.h"
#include "rx/rx_role.h"
#include "wire/mfp.h"

#define PAYLOAD       64u // bytes of a segment
#define MFP_OVERHEAD  28u // of an MFP with one fragment
#define SLOTS         8u
#define MEASURED      16384u // segments, about
#define HOUSEKEEP     256u   // loops between two housekeepings
#define LOOP_CYCLES   10000u // of a burst, about as long as without valgrind
#define POOL_MBUFS    1023u
#define POOL_CACHE    256u
#define N_FRAGMENTS   1000u
#define FRAGMENT_SIZE 200u
#define N_VALIDATIONS 50u

struct workload {
	const char *name;
	unsigned sources;
	unsigned segments; // of a block
	bool shuffled;     // the segments of an event come in any order
};

static const struct workload workloads[] = {
	{ "whole_blocks", 40, 1, false },
	{ "in_order", 40, 8, false },
	{ "shuffled", 40, 8, true },
	{ "many_sources", 1238, 2, false },
};

struct bench {
	const struct workload *workload;
	struct config *config;
	struct source_table sources;
	struct admission admission;
	struct port port;
	struct profile profile;
	struct evring *ring;
	char directory[64];
	struct link *link;
	struct role *rx, *builder;
	uint8_t **blocks;
	uint32_t length; // of each block
	uint32_t *order; // segments of an event: source * segments + segment
	unsigned n_order;
	uint64_t event;
	unsigned loops;
	uint64_t now;             // TSC, simulated
	uint64_t n_rx, n_builder; // units measured
};

// The assembly, a remark, keeps the calls from becoming jumps, whose instructions would be
// another's, and the compiler from making one function of those that are alike.
__attribute__((noinline)) static unsigned measured_rx(struct role *role, uint64_t now)
{
	unsigned n = role->operations->poll(role, now);

	__asm__ volatile("# rx" ::: "memory");
	return n;
}

__attribute__((noinline)) static unsigned measured_builder(struct role *role, uint64_t now)
{
	unsigned n = role->operations->poll(role, now);

	__asm__ volatile("# builder" ::: "memory");
	return n;
}

__attribute__((noinline)) static enum wire_error measured_validation(const uint8_t *bytes,
								     size_t length, struct mfp *mfp)
{
	enum wire_error error = mfp_decode(bytes, length, mfp);

	__asm__ volatile("# validation" ::: "memory");
	return error;
}

static void make_config(struct bench *bench)
{
	const struct workload *w = bench->workload;
	unsigned long slot = 4096ul * (1 + w->sources * (w->segments * PAYLOAD + 16) / 4096 + 2);
	char text[1024], error[CONFIG_ERROR_SIZE];

	snprintf(
	    text, sizeof(text),
	    "{\"name\": \"workload-%d\", \"ports\": [{\"name\": \"wire\", \"profile\": \"ring\", "
	    "\"mtu\": 1500}], \"sources\": {\"ids\": [\"1-%u\"]}, "
	    "\"builders\": [{\"name\": \"b\", \"slots\": %u, \"slot_size\": %lu}], "
	    "\"events\": {\"deadline\": \"1h\"}, \"event_ring\": {\"directory\": \"%s\"}}",
	    getpid(), w->sources, SLOTS, slot, bench->directory);
	if (config_parse(&bench->config, text, strlen(text), "workload", NULL, NULL, 0, error) != 0)
		perf_fail("%s", error);
	source_table_make(&bench->sources, bench->config->sources.ids,
			  bench->config->sources.expected, bench->config->sources.n_ids);
}

static void start_eal(const struct bench *bench)
{
	uint32_t cpu = (uint32_t)sched_getcpu();
	const struct eal_parameters parameters = {
		.name = bench->config->name,
		.cpus = &cpu,
		.n_cpus = 1,
		.memory = 32 << 20,
		.kind = MEMORY_SHM,
	};
	char error[EAL_ERROR_SIZE];
	struct eal_state state;

	if (eal_start(&parameters, &state, error) != 0)
		perf_fail("%s", error);
}

static void open_port(struct bench *bench)
{
	const struct port_parameters parameters = {
		.config = &bench->config->ports[0],
		.profile = &bench->profile,
		.n_rx_queues = 1,
		.n_tx_queues = 1,
		.pool_mbufs = POOL_MBUFS,
		.pool_cache = POOL_CACHE,
	};
	char error[PORT_ERROR_SIZE];

	if (profile_load(&bench->profile, parameters.config, error) != 0 ||
	    port_open(&bench->port, &parameters, error) != 0)
		perf_fail("%s", error);
}

static void make_ring(struct bench *bench)
{
	const struct evring_parameters parameters = {
		.name = bench->config->name,
		.directory = bench->directory,
		.memory = EVRING_SHM,
		.n_builders = 1,
		.slots = bench->config->builders[0].slots,
		.slot_size = bench->config->builders[0].slot_size,
	};
	char error[EVRING_ERROR_SIZE];

	if (evring_create(&bench->ring, &parameters, error) != 0)
		perf_fail("%s", error);
}

static void make_roles(struct bench *bench)
{
	const struct rx_parameters rx = {
		.name = "rx",
		.port_id = bench->port.id,
		.reply_queue = -1,
		.verify_checksums = bench->config->ports[0].verify_checksums,
		.addresses = { .mac = { { 2, 0, 0, 0, 0, 2 } },
			       .has_ip4 = true,
			       .ip4 = 0x0a000002 },
		.own_only = true,
		.udp_port = bench->config->transport.udp_port,
		.udp_ports = bench->config->transport.udp_ports,
		.packing = bench->config->sources.packing,
		.sources = &bench->sources,
		.admission = &bench->admission,
		.links = &bench->link,
		.n_builders = 1,
	};
	const struct builder_parameters builder = {
		.name = "builder",
		.packing = bench->config->sources.packing,
		.payload = bench->config->sources.payload,
		.on_incomplete = bench->config->events.on_incomplete,
		.on_no_slot = bench->config->events.on_no_slot,
		.deadline_ns = bench->config->events.deadline_ns,
		.guarded = true,
		.ring = bench->ring,
		.sources = &bench->sources,
		.links = &bench->link,
		.n_links = 1,
	};

	if (!admission_make(&bench->admission, &bench->sources, NULL, 0, UINT64_MAX >> 16))
		perf_fail("no memory for the admission of senders");
	bench->link = link_create("rx", "builder", bench->config->links.depth, true, 0);
	bench->rx = rx_role_create(&rx);
	bench->builder = builder_role_create(&builder);
	if (bench->link == NULL || bench->rx == NULL || bench->builder == NULL)
		perf_fail("no memory for the roles");
}

static void make_blocks(struct bench *bench)
{
	const struct workload *w = bench->workload;

	bench->n_order = w->sources * w->segments;
	bench->blocks = calloc(w->sources, sizeof(*bench->blocks));
	bench->order = calloc(bench->n_order, sizeof(*bench->order));
	if (bench->blocks == NULL || bench->order == NULL)
		perf_fail("out of memory");
	for (unsigned i = 0; i < w->sources; i++)
		bench->blocks[i] = frame_make_mfp(
		    (uint16_t)(1 + i), 1, w->segments * PAYLOAD - MFP_OVERHEAD, &bench->length);
	for (unsigned i = 0; i < bench->n_order; i++)
		bench->order[i] = i;
}

static void shuffle(struct bench *bench)
{
	struct random random = random_fork(1, bench->event);

	for (unsigned i = bench->n_order - 1; i > 0; i--) {
		unsigned other = (unsigned)(random_next(&random) % (i + 1));
		uint32_t kept = bench->order[i];

		bench->order[i] = bench->order[other];
		bench->order[other] = kept;
	}
}

static struct rte_mbuf *make_packet(struct bench *bench, uint32_t place)
{
	unsigned source = place / bench->workload->segments;
	const struct ejfat_re re = {
		.event_number = bench->event,
		.offset = place % bench->workload->segments * PAYLOAD,
		.length = bench->length,
		.data_id = (uint16_t)(1 + source),
	};
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(bench->port.pool);
	uint8_t *bytes;

	if (mbuf == NULL)
		perf_fail("packets are not freed");
	bytes = (uint8_t *)rte_pktmbuf_append(mbuf, FRAME_HEADERS + PAYLOAD);
	frame_headers(bytes, &re, PAYLOAD);
	memcpy(bytes + FRAME_HEADERS, bench->blocks[source] + re.offset, PAYLOAD);
	if (re.offset == 0)
		mfp_patch_event_id(bytes + FRAME_HEADERS, bench->event);
	return mbuf;
}

// Lets the roles have what is on the port.
static void loop(struct bench *bench, bool measured)
{
	bench->now += LOOP_CYCLES;
	if (measured) {
		bench->n_rx += measured_rx(bench->rx, bench->now);
		bench->n_builder += measured_builder(bench->builder, bench->now);
	} else {
		(void)bench->rx->operations->poll(bench->rx, bench->now);
		(void)bench->builder->operations->poll(bench->builder, bench->now);
	}
	if (++bench->loops % HOUSEKEEP == 0)
		bench->builder->operations->housekeep(bench->builder, bench->now);
}

static void run_event(struct bench *bench, bool measured)
{
	if (bench->workload->shuffled)
		shuffle(bench);
	for (unsigned i = 0; i < bench->n_order; i++) {
		struct rte_mbuf *mbuf = make_packet(bench, bench->order[i]);

		if (rte_eth_tx_burst(bench->port.id, 0, &mbuf, 1) != 1)
			perf_fail("the ring port is full");
		if ((i + 1) % ROLE_BURST == 0 || i + 1 == bench->n_order)
			loop(bench, measured);
	}
	bench->event++;
}

static void check(const struct bench *bench)
{
	const struct assembly_counters *counters =
	    assembly_counters(builder_role_assembly(bench->builder));

	if (counters->events_complete != bench->event ||
	    counters->placed != bench->event * bench->n_order || counters->blocks_malformed > 0)
		perf_fail("%s: %llu of %llu events complete, %llu of %llu segments placed",
			  bench->workload->name, (unsigned long long)counters->events_complete,
			  (unsigned long long)bench->event, (unsigned long long)counters->placed,
			  (unsigned long long)(bench->event * bench->n_order));
}

static void close_bench(struct bench *bench)
{
	bench->builder->operations->fini(bench->builder);
	bench->rx->operations->fini(bench->rx);
	admission_free(&bench->admission);
	link_destroy(bench->link);
	evring_destroy(bench->ring);
	port_close(&bench->port);
	eal_stop();
	for (unsigned i = 0; i < bench->workload->sources; i++)
		free(bench->blocks[i]);
	free(bench->blocks);
	free(bench->order);
	config_free(bench->config);
	if (rmdir(bench->directory) != 0)
		perf_fail("%s is not empty", bench->directory);
}

static void run_workload(const struct workload *workload, cJSON *result)
{
	static struct bench bench;
	const char *parent = getenv("TMPDIR");
	unsigned n_events;

	bench.workload = workload;
	snprintf(bench.directory, sizeof(bench.directory), "%s/workload.XXXXXX",
		 parent != NULL && strlen(parent) < 40 ? parent : "/tmp");
	if (mkdtemp(bench.directory) == NULL)
		perf_fail("no temporary folder");
	make_config(&bench);
	start_eal(&bench);
	open_port(&bench);
	make_ring(&bench);
	make_roles(&bench);
	make_blocks(&bench);
	n_events = 1 + MEASURED / bench.n_order;
	// Every slot has been used, and every function called, before the first one counts.
	for (unsigned i = 0; i < 2 * SLOTS; i++)
		run_event(&bench, false);
	for (unsigned i = 0; i < n_events; i++)
		run_event(&bench, true);
	check(&bench);
	cJSON_AddNumberToObject(result, "measured_rx", (double)bench.n_rx);
	cJSON_AddNumberToObject(result, "measured_builder", (double)bench.n_builder);
	close_bench(&bench);
}

static void run_validation(cJSON *result)
{
	uint32_t length;
	uint8_t *bytes = frame_make_mfp(1, N_FRAGMENTS, FRAGMENT_SIZE, &length);
	struct mfp mfp;

	if (mfp_decode(bytes, length, &mfp) != WIRE_OK)
		perf_fail("an MFP is not valid");
	for (unsigned i = 0; i < N_VALIDATIONS; i++)
		if (measured_validation(bytes, length, &mfp) != WIRE_OK)
			perf_fail("an MFP is not valid");
	cJSON_AddNumberToObject(result, "measured_validation", N_VALIDATIONS * N_FRAGMENTS);
	free(bytes);
}

int main(int argc, char **argv)
{
	cJSON *result = cJSON_CreateObject();

	if (argc == 2 && strcmp(argv[1], "validation") == 0) {
		run_validation(result);
		perf_print(result);
		return 0;
	}
	for (unsigned i = 0; argc == 2 && i < RTE_DIM(workloads); i++) {
		if (strcmp(argv[1], workloads[i].name) != 0)
			continue;
		run_workload(&workloads[i], result);
		perf_print(result);
		return 0;
	}
	fprintf(stderr, "usage: workload NAME; the names are validation");
	for (unsigned i = 0; i < RTE_DIM(workloads); i++)
		fprintf(stderr, ", %s", workloads[i].name);
	fputc('\n', stderr);
	return 1;
}
