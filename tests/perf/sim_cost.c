// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What a simulated packet costs: a permutation over 128 hosts of a full Clos network of 2 levels,
// 100 Gb/s, 500 ns per cable, packets of 4096 bytes, PFC at 15 and 12 packets, output-queued
// switches. And what an event of the engine costs alone: the hold model, in which each event that
// is handled schedules another one.
//
//   sim_cost [--cpu N] [--packets N] [--events N]
//
// --packets: per host; --events: of the hold model, for each number of pending events.
#include <getopt.h>
#include <stdlib.h>

#include "base/random.h"
#include "perf_tool.h"
#include "sim/fabric.h"

#define HOSTS  128u
#define PACKET 4096u
#define GBIT   UINT64_C(1000000000)

struct load {
	struct sim_engine *engine;
	struct sim_fabric *fabric;
	uint32_t destination[HOSTS];
	uint64_t left[HOSTS];
	uint64_t delivered;
	struct random random;
	unsigned handler;
	uint64_t holds;
};

static uint64_t cpu_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void deliver(void *context, uint32_t host, const struct sim_packet *packet)
{
	struct load *load = context;

	(void)host;
	(void)packet;
	load->delivered++;
}

static void room(void *context, uint32_t host, unsigned priority)
{
	struct load *load = context;
	const struct sim_packet packet = { .source = host,
					   .destination = load->destination[host],
					   .flow = host,
					   .bytes = PACKET };

	(void)priority;
	while (load->left[host] > 0 && sim_send(load->fabric, &packet) == SIM_SENT)
		load->left[host]--;
}

// A permutation without fixed points (Sattolo 1986).
static void permute(struct load *load)
{
	for (uint32_t i = 0; i < HOSTS; i++)
		load->destination[i] = i;
	for (uint32_t i = HOSTS - 1; i > 0; i--) {
		const uint32_t j = (uint32_t)(random_next(&load->random) % i);
		const uint32_t other = load->destination[i];

		load->destination[i] = load->destination[j];
		load->destination[j] = other;
	}
}

static cJSON *run_permutation(const char *name, enum sim_choice choice, uint64_t packets)
{
	static const struct sim_host_operations operations = { .deliver = deliver, .room = room };
	const struct sim_links links = { 100 * GBIT, 500 * SIM_NANOSECOND };
	const struct sim_clos2 clos = { .leaves = 16,
					.spines = 8,
					.down = 8,
					.parallel = 1,
					.host_links = links,
					.spine_links = links };
	struct sim_fabric_parameters parameters = sim_fabric_defaults();
	struct load load = { .engine = sim_engine_create(1u << 20), .random = random_fork(1, 1) };
	cJSON *result = cJSON_CreateObject();
	struct sim_topology topology;
	char error[SIM_ERROR_SIZE];
	uint64_t began;
	double seconds;

	parameters.choice = choice;
	parameters.xoff = 15 * PACKET;
	parameters.xon = 12 * PACKET;
	if (load.engine == NULL || !sim_topology_clos2(&topology, &clos, error))
		perf_fail("no engine or topology");
	load.fabric =
	    sim_fabric_create(load.engine, &topology, &parameters, &operations, &load, error);
	if (load.fabric == NULL)
		perf_fail("%s", error);
	cJSON_AddNumberToObject(
	    result, "idle_bytes",
	    (double)(sim_fabric_memory(load.fabric) + sim_engine_memory(load.engine)) / HOSTS);
	permute(&load);
	began = cpu_now_ns();
	for (uint32_t host = 0; host < HOSTS; host++) {
		load.left[host] = packets;
		room(&load, host, 0);
	}
	if (!sim_run(load.engine, SIM_NEVER))
		perf_fail("%s", sim_engine_error(load.engine));
	seconds = (double)(cpu_now_ns() - began) / 1e9;
	if (load.delivered != HOSTS * packets)
		perf_fail("not all packets arrived");
	cJSON_AddStringToObject(result, "name", name);
	cJSON_AddNumberToObject(result, "hops_per_second",
				(double)sim_totals(load.fabric).hops / seconds);
	cJSON_AddNumberToObject(result, "events_per_second",
				(double)sim_handled(load.engine) / seconds);
	cJSON_AddNumberToObject(result, "slowdown",
				seconds * (double)SIM_SECOND / (double)sim_now(load.engine));
	cJSON_AddNumberToObject(
	    result, "busy_bytes",
	    (double)(sim_fabric_memory(load.fabric) + sim_engine_memory(load.engine)) / HOSTS);
	sim_fabric_destroy(load.fabric);
	sim_engine_destroy(load.engine);
	sim_topology_free(&topology);
	return result;
}

// Times as those of packets: some transmissions and cables, and a rare timer.
static void hold(void *context, uint32_t index, uint32_t data)
{
	struct load *load = context;
	const uint64_t random = random_next(&load->random);
	const uint64_t wait = random % 64 == 0  ? random >> 37
			      : random % 2 == 0 ? 328000 + (random >> 52)
						: 500000;

	(void)data;
	if (load->holds-- == 0)
		sim_stop(load->engine);
	sim_at(load->engine, sim_now(load->engine) + wait, load->handler, index, 0);
}

static cJSON *run_hold(uint32_t pending, uint64_t events)
{
	struct load load = { .engine = sim_engine_create(1u << 20), .random = random_fork(2, 1) };
	cJSON *result = cJSON_CreateObject();
	uint64_t began;

	if (load.engine == NULL)
		perf_fail("no engine");
	load.handler = sim_engine_handler(load.engine, hold, &load);
	for (uint32_t i = 0; i < pending; i++)
		sim_at(load.engine, random_next(&load.random) % 1000000, load.handler, i, 0);
	load.holds = events;
	began = cpu_now_ns();
	if (!sim_run(load.engine, SIM_NEVER))
		perf_fail("%s", sim_engine_error(load.engine));
	cJSON_AddNumberToObject(result, "pending", pending);
	cJSON_AddNumberToObject(result, "event_ns",
				(double)(cpu_now_ns() - began) / (double)events);
	sim_engine_destroy(load.engine);
	return result;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "packets", required_argument, NULL, 'p' },
		{ "events", required_argument, NULL, 'e' },
		{ NULL, 0, NULL, 0 },
	};
	static const char *const choices[] = { [SIM_BY_DESTINATION] = "by destination",
					       [SIM_ECMP] = "ECMP",
					       [SIM_RANDOM] = "random",
					       [SIM_ADAPTIVE] = "adaptive" };
	static const uint32_t pending[] = { 500, 5000, 50000 };
	cJSON *result = cJSON_CreateObject(), *permutations = cJSON_CreateArray();
	cJSON *holds = cJSON_CreateArray();
	uint64_t packets = 4880, events = 5000000;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin(perf_parse_list("cpu", optarg).values[0]);
		else if (option == 'p')
			packets = (uint64_t)perf_parse_number("packets", optarg, 1);
		else if (option == 'e')
			events = (uint64_t)perf_parse_number("events", optarg, 1);
		else
			return 1;
	}
	for (unsigned i = SIM_BY_DESTINATION; i <= SIM_ADAPTIVE; i++)
		cJSON_AddItemToArray(permutations,
				     run_permutation(choices[i], (enum sim_choice)i, packets));
	for (unsigned i = 0; i < sizeof(pending) / sizeof(pending[0]); i++)
		cJSON_AddItemToArray(holds, run_hold(pending[i], events));
	cJSON_AddItemToObject(result, "permutations", permutations);
	cJSON_AddItemToObject(result, "holds", holds);
	perf_print(result);
	return 0;
}
