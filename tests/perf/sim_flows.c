// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Flows over a fat tree of 3 levels with 100 Gb/s and PFC, for the comparison with another
// simulator: htsim.py. All parameters are as there: each packet has 4096 bytes of data and 64 of
// headers, nothing is between packets; the receiver acknowledges each packet by one of 64 bytes,
// which leaves its host before data; a flow is complete when the acknowledgement of its last
// packet arrives. Data and acknowledgements wait in the same queues of switches, and a pause
// stops both. Cables take 1 us; a switch pauses a port above 15 * 4096 bytes and lets it continue
// below 12 * 4096 bytes.
//
//   sim_flows [--cpu N] [--seed N] --arity K FLOWS
//
// K: ports of each switch, so that there are K^3 / 4 hosts. FLOWS: a file with one line
// "SOURCE->DESTINATION id N start 0 size BYTES" per flow; lines of another form are ignored.
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "perf_tool.h"
#include "sim/fabric.h"

#define LINK        UINT64_C(100000000000)
#define CABLE       (1000 * SIM_NANOSECOND)
#define PAYLOAD     4096u
#define HEADERS     64u
#define XOFF        (15u * PAYLOAD)
#define XON         (12u * PAYLOAD - 1)
#define PS_PER_US   1e6
#define MAX_PACKETS (1u << 22)
#define N_KINDS     2u

// A flow between two hosts. Its acknowledgements are a flow of their own, which may take another
// path.
struct flow {
	uint32_t source, destination;
	uint32_t to_send, to_confirm; // packets
	uint32_t to_acknowledge;      // packets that have arrived
	uint64_t end;                 // ps
	struct flow *next_at_source;
	struct flow *next_to_acknowledge;
};

struct host {
	struct flow *sends;         // list
	struct flow *first, **last; // queue of flows to be acknowledged
};

struct run {
	struct sim_engine *engine;
	struct sim_fabric *fabric;
	struct host *hosts;
	struct flow *flows;
	uint32_t n_flows;
};

enum { DATA, ACKNOWLEDGEMENT };

static bool send_one(struct run *run, const struct flow *flow, unsigned what)
{
	const uint32_t number = (uint32_t)(flow - run->flows);
	const bool is_data = what == DATA;
	const struct sim_packet packet = {
		.user = number * N_KINDS + what,
		.source = is_data ? flow->source : flow->destination,
		.destination = is_data ? flow->destination : flow->source,
		.flow = number * N_KINDS + what,
		.bytes = is_data ? PAYLOAD + HEADERS : HEADERS,
	};
	const enum sim_sent sent = sim_send(run->fabric, &packet);

	if (sent == SIM_NOT_A_PACKET)
		perf_fail("too many packets are underway");
	return sent == SIM_SENT;
}

static void append(struct host *host, struct flow *flow)
{
	flow->next_to_acknowledge = NULL;
	*host->last = flow;
	host->last = &flow->next_to_acknowledge;
}

// Sends what a host has, until its interface is busy.
static void push(void *context, uint32_t number, unsigned priority)
{
	struct run *run = context;
	struct host *host = &run->hosts[number];

	(void)priority;
	while (host->first != NULL) {
		struct flow *flow = host->first;

		if (!send_one(run, flow, ACKNOWLEDGEMENT))
			return;
		host->first = flow->next_to_acknowledge;
		if (host->first == NULL)
			host->last = &host->first;
		if (--flow->to_acknowledge > 0)
			append(host, flow);
	}
	for (struct flow *flow = host->sends; flow != NULL; flow = flow->next_at_source)
		for (; flow->to_send > 0; flow->to_send--)
			if (!send_one(run, flow, DATA))
				return;
}

static void deliver(void *context, uint32_t host, const struct sim_packet *packet)
{
	struct run *run = context;
	struct flow *flow = &run->flows[packet->user / N_KINDS];

	if (packet->user % N_KINDS == DATA) {
		if (flow->to_acknowledge++ == 0)
			append(&run->hosts[host], flow);
		push(run, host, 0);
	} else if (--flow->to_confirm == 0) {
		flow->end = sim_now(run->engine);
	}
}

static void dropped(void *context, const struct sim_packet *packet, uint32_t port,
		    enum sim_cause cause)
{
	(void)context;
	(void)packet;
	(void)port;
	(void)cause;
	perf_fail("a packet was lost");
}

static void read_flows(struct run *run, const char *path, uint32_t n_hosts)
{
	FILE *file = fopen(path, "re");
	struct flow flow;
	uint64_t bytes;
	char line[256];

	if (file == NULL)
		perf_fail("%s cannot be opened", path);
	while (fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%" SCNu32 "->%" SCNu32 " id %*u start 0 size %" SCNu64,
			   &flow.source, &flow.destination, &bytes) != 3)
			continue;
		if (flow.source >= n_hosts || flow.destination >= n_hosts)
			perf_fail("%s: there are %" PRIu32 " hosts", path, n_hosts);
		flow.to_send = (uint32_t)((bytes + PAYLOAD - 1) / PAYLOAD);
		flow.to_confirm = flow.to_send;
		flow.to_acknowledge = 0;
		flow.end = SIM_NEVER;
		run->flows = realloc(run->flows, (run->n_flows + 1) * sizeof(flow));
		run->flows[run->n_flows++] = flow;
	}
	fclose(file);
}

static void connect(struct run *run, uint32_t n_hosts)
{
	run->hosts = calloc(n_hosts, sizeof(*run->hosts));
	for (uint32_t i = 0; i < n_hosts; i++)
		run->hosts[i].last = &run->hosts[i].first;
	for (uint32_t i = 0; i < run->n_flows; i++) {
		struct flow *flow = &run->flows[i];
		struct host *source = &run->hosts[flow->source];

		flow->next_at_source = source->sends;
		source->sends = flow;
	}
}

static uint32_t make_fabric(struct run *run, uint32_t arity, uint64_t seed)
{
	static const struct sim_host_operations operations = { .deliver = deliver,
							       .room = push,
							       .dropped = dropped };
	const struct sim_links links = { LINK, CABLE };
	const uint32_t half = arity / 2;
	const struct sim_clos3 clos = { .pods = arity,
					.leaves = half,
					.middles = half,
					.spines = half * half,
					.down = half,
					.parallel_middle = 1,
					.parallel_spine = 1,
					.host_links = links,
					.middle_links = links,
					.spine_links = links };
	struct sim_fabric_parameters parameters = sim_fabric_defaults();
	struct sim_topology topology;
	char error[SIM_ERROR_SIZE];
	uint32_t n_hosts;

	parameters.seed = seed;
	parameters.overhead = 0;
	parameters.host_queue = 1; // a host hands its interface one packet at a time
	parameters.xoff = XOFF;
	parameters.xon = XON;
	parameters.headroom = 1u << 20;
	parameters.max_packets = MAX_PACKETS;
	if (!sim_topology_clos3(&topology, &clos, error))
		perf_fail("%s", error);
	run->fabric =
	    sim_fabric_create(run->engine, &topology, &parameters, &operations, run, error);
	if (run->fabric == NULL)
		perf_fail("%s", error);
	n_hosts = topology.n_hosts;
	sim_topology_free(&topology);
	return n_hosts;
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void print(const struct run *run, double cpu)
{
	cJSON *result = cJSON_CreateObject();
	cJSON *ends = cJSON_AddArrayToObject(result, "ends_us");

	for (uint32_t i = 0; i < run->n_flows; i++) {
		if (run->flows[i].end == SIM_NEVER)
			perf_fail("flow %" PRIu32 " is not complete", i);
		cJSON_AddItemToArray(ends,
				     cJSON_CreateNumber((double)run->flows[i].end / PS_PER_US));
	}
	cJSON_AddNumberToObject(result, "hops", (double)sim_totals(run->fabric).hops);
	cJSON_AddNumberToObject(result, "cpu_s", cpu);
	perf_print(result);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "arity", required_argument, NULL, 'k' },
		{ NULL, 0, NULL, 0 },
	};
	struct run run = { .engine = sim_engine_create(1u << 22) };
	uint32_t arity = 8, n_hosts;
	uint64_t seed = 1;
	double begun;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin(perf_parse_list("cpu", optarg).values[0]);
		else if (option == 's')
			seed = (uint64_t)perf_parse_number("seed", optarg, 0);
		else if (option == 'k')
			arity = (uint32_t)perf_parse_number("arity", optarg, 2);
		else
			return 1;
	}
	if (optind + 1 != argc)
		perf_fail("expected one file of flows");
	n_hosts = make_fabric(&run, arity, seed);
	read_flows(&run, argv[optind], n_hosts);
	connect(&run, n_hosts);
	begun = cpu_seconds();
	for (uint32_t host = 0; host < n_hosts; host++)
		push(&run, host, 0);
	if (!sim_run(run.engine, SIM_NEVER))
		perf_fail("%s", sim_engine_error(run.engine));
	print(&run, cpu_seconds() - begun);
	sim_fabric_destroy(run.fabric);
	sim_engine_destroy(run.engine);
	free(run.hosts);
	free(run.flows);
	return 0;
}
