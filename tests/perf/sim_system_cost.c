// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What a simulation costs against its number of nodes, and what it says of a system.
//
//   sim_system_cost [--cpu N] [--nodes N,...] [--mode MODE] [--fragment BYTES] [--ns NS]
//     N folded nodes with links of 100 Gb/s at one switch, and the manager.
//   sim_system_cost --file SYSTEM.json --queue BYTES --warmup SECONDS --seconds SECONDS
//                   [--others BITS_PER_SECOND] [--burst BYTES]
//     The system of a file at one switch with this queue and burst per port: the links of nodes
//     with builders have their link_rate, those of the others what --others states, without it 10
//     Gb/s. Rates are per second of simulated time.
#include <getopt.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"
#include "perf_tool.h"

#define LINK      UINT64_C(100000000000)
#define WIDE      UINT64_C(10000000000)
#define CAPACITY  (1u << 24)
#define PACKETS   (1u << 20)
#define NS_PER_S  1e9
#define PS_PER_S  1e12
#define WARMUP_NS 1000000u

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// --- cost ---

static cJSON *measure(const struct bench_options *options, uint64_t ns)
{
	cJSON *result = cJSON_CreateObject();
	const double begin = cpu_seconds();
	struct bench_rates rates;
	struct rusage usage;
	struct bench bench;
	uint64_t hops;
	double opened, started;

	if (!bench_open(&bench, options))
		perf_fail("%u nodes: %s", options->n_readouts, bench.error);
	opened = cpu_seconds();
	if (!bench_await(&bench, CTRL_RUNNING, (uint64_t)NS_PER_S) || !bench_run(&bench, WARMUP_NS))
		perf_fail("%u nodes: %s", options->n_readouts, bench.error);
	started = cpu_seconds();
	hops = sim_totals(bench.fabric).hops;
	if (!bench_measure(&bench, 0, ns, &rates))
		perf_fail("%u nodes: %s", options->n_readouts, bench.error);
	getrusage(RUSAGE_SELF, &usage);
	cJSON_AddNumberToObject(result, "nodes", options->n_readouts);
	cJSON_AddNumberToObject(result, "open_s", opened - begin);
	cJSON_AddNumberToObject(result, "slower",
				(cpu_seconds() - started) / ((double)ns / NS_PER_S));
	cJSON_AddNumberToObject(result, "hops",
				(double)(sim_totals(bench.fabric).hops - hops) /
				    (cpu_seconds() - started));
	cJSON_AddNumberToObject(result, "node_bytes",
				(double)usage.ru_maxrss * 1024 / (options->n_readouts + 1));
	cJSON_AddNumberToObject(result, "events", rates.complete);
	cJSON_AddNumberToObject(result, "lost", rates.lost);
	cJSON_AddNumberToObject(result, "link_share",
				rates.event_wire * 8 / (double)LINK / options->n_readouts);
	cJSON_AddNumberToObject(result, "control_share",
				rates.builder_control * 8 / (double)LINK / options->n_readouts);
	bench_close(&bench);
	return result;
}

// --- the system of a file ---

struct loaded {
	struct config *config;
	struct sim_generators generators;
	struct sim_topology topology;
};

static int visit_node(void *generators, const struct config *node, char *error)
{
	return sim_generators_add(generators, node, error);
}

static void load(struct loaded *loaded, const char *file)
{
	const struct config_visitor visitor = { visit_node, &loaded->generators };
	char error[CONFIG_ERROR_SIZE];

	if (config_load_system(&loaded->config, file, NULL, 0, &visitor, error) != 0)
		perf_fail("%s", error);
}

static void connect(struct loaded *loaded, uint64_t others)
{
	const struct cluster_system *system = &loaded->config->cluster;
	const struct sim_links links = { others, 0 };
	char error[SIM_ERROR_SIZE];

	if (!sim_topology_switch(&loaded->topology, system->n_nodes, links, error))
		perf_fail("%s", error);
	for (uint32_t i = 0; i < loaded->topology.n_links; i++) {
		struct sim_link *link = &loaded->topology.links[i];

		for (unsigned end = 0; end < 2; end++) {
			const uint32_t node = link->ends[end];

			if (node < system->n_nodes && system->nodes[node].n_builders > 0 &&
			    system->nodes[node].link_rate > 0)
				link->bits_per_second = system->nodes[node].link_rate;
		}
	}
}

// Sums over the nodes with builders.
static struct sim_node_view builders_of(const struct loaded *loaded,
					const struct sim_system *system, double *link_rate)
{
	struct sim_node_view sum = { 0 };

	*link_rate = 0;
	for (unsigned i = 0; i < loaded->config->cluster.n_nodes; i++) {
		const struct cluster_system_node *node = &loaded->config->cluster.nodes[i];
		struct sim_node_view view;

		if (node->n_builders == 0)
			continue;
		sim_system_node(system, i, &view);
		sum.complete += view.complete;
		sum.incomplete += view.incomplete;
		sum.event_wire += view.event_wire;
		sum.control_received_wire += view.control_received_wire;
		*link_rate += (double)node->link_rate / 8;
	}
	return sum;
}

static void run(struct sim_engine *engine, const struct sim_system *system, double seconds)
{
	char error[SIM_SYSTEM_ERROR_SIZE];

	if (!sim_run(engine, sim_now(engine) + (uint64_t)(seconds * PS_PER_S)))
		perf_fail("%s", sim_engine_error(engine));
	if (!sim_system_check(system, error))
		perf_fail("%s", error);
}

static void add_share(cJSON *result, const char *name, uint64_t before, uint64_t after, double all)
{
	cJSON_AddNumberToObject(result, name, (double)(after - before) / all);
}

// Of the ports of the switch, bytes.
struct ports {
	uint64_t queue, burst;
};

static cJSON *simulate(const char *file, struct ports ports, uint64_t others, double warmup,
		       double seconds)
{
	struct sim_fabric_parameters parameters = sim_fabric_defaults();
	struct sim_engine *engine = sim_engine_create(CAPACITY);
	struct sim_packets lost_before, lost_after;
	struct sim_node_view before, after;
	struct sim_system_parameters system_parameters;
	cJSON *result = cJSON_CreateObject();
	struct sim_system *system;
	struct sim_fabric *fabric;
	char error[SIM_SYSTEM_ERROR_SIZE];
	struct loaded loaded = { 0 };
	double link_rate;

	load(&loaded, file);
	connect(&loaded, others);
	system_parameters = sim_system_configured(loaded.config);
	system_parameters.engine = engine;
	system_parameters.generators = loaded.generators.list;
	system_parameters.n_generators = loaded.generators.n;
	system_parameters.consumer.n_workers = 1;
	system = sim_system_create(&system_parameters, error);
	if (engine == NULL || system == NULL)
		perf_fail("%s", engine == NULL ? "out of memory" : error);
	parameters.flow_control = SIM_NO_FLOW_CONTROL;
	parameters.lossless = 0;
	parameters.queue = ports.queue;
	parameters.burst = ports.burst;
	parameters.host_queue = 2 * CLUSTER_MTU_MOST;
	parameters.max_packets = PACKETS;
	fabric = sim_fabric_create(engine, &loaded.topology, &parameters, &sim_system_operations,
				   system, error);
	if (fabric == NULL)
		perf_fail("%s", error);
	sim_system_start(system, fabric);
	run(engine, system, warmup);
	before = builders_of(&loaded, system, &link_rate);
	sim_system_packets(system, &lost_before);
	run(engine, system, seconds);
	after = builders_of(&loaded, system, &link_rate);
	sim_system_packets(system, &lost_after);
	add_share(result, "complete", before.complete, after.complete, seconds);
	add_share(result, "incomplete", before.incomplete, after.incomplete, seconds);
	add_share(result, "dropped", lost_before.data_lost + lost_before.control_lost,
		  lost_after.data_lost + lost_after.control_lost, seconds);
	add_share(result, "wire_share", before.event_wire, after.event_wire, seconds * link_rate);
	add_share(result, "control_share", before.control_received_wire,
		  after.control_received_wire, seconds * link_rate);
	sim_fabric_destroy(fabric);
	sim_system_destroy(system);
	sim_topology_free(&loaded.topology);
	sim_generators_free(&loaded.generators);
	sim_engine_destroy(engine);
	config_free(loaded.config);
	return result;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "mode", required_argument, NULL, 'm' },
		{ "fragment", required_argument, NULL, 'f' },
		{ "ns", required_argument, NULL, 't' },
		{ "file", required_argument, NULL, 'F' },
		{ "queue", required_argument, NULL, 'q' },
		{ "burst", required_argument, NULL, 'b' },
		{ "others", required_argument, NULL, 'o' },
		{ "warmup", required_argument, NULL, 'w' },
		{ "seconds", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	struct bench_options bench = { .folded = true,
				       .link = LINK,
				       .fragment = 200,
				       .packing = 100,
				       .source_buffer = 2048,
				       .mode = "push" };
	struct perf_list nodes = { { 8, 64 }, 2 };
	const char *file = NULL;
	double others = WIDE, warmup = 1, seconds = 1;
	struct ports ports = { 0 };
	uint64_t ns = 2000000;
	cJSON *result, *cases;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin(perf_parse_list("cpu", optarg).values[0]);
		else if (option == 'n')
			nodes = perf_parse_list("nodes", optarg);
		else if (option == 'm')
			bench.mode = optarg;
		else if (option == 'f')
			bench.fragment = (unsigned)perf_parse_number("fragment", optarg, 1);
		else if (option == 't')
			ns = (uint64_t)perf_parse_number("ns", optarg, 1);
		else if (option == 'F')
			file = optarg;
		else if (option == 'q')
			ports.queue = (uint64_t)perf_parse_number("queue", optarg, 0);
		else if (option == 'b')
			ports.burst = (uint64_t)perf_parse_number("burst", optarg, 0);
		else if (option == 'o')
			others = perf_parse_number("others", optarg, 1000000);
		else if (option == 'w')
			warmup = perf_parse_number("warmup", optarg, 0);
		else if (option == 's')
			seconds = perf_parse_number("seconds", optarg, 0);
		else
			return 1;
	}
	if (file != NULL) {
		perf_print(simulate(file, ports, (uint64_t)others, warmup, seconds));
		return 0;
	}
	result = cJSON_CreateObject();
	cases = cJSON_AddArrayToObject(result, "cases");
	for (unsigned i = 0; i < nodes.n; i++) {
		bench.n_readouts = nodes.values[i];
		cJSON_AddItemToArray(cases, measure(&bench, ns));
	}
	perf_print(result);
	return 0;
}
