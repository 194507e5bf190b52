// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_TEXT    400u
#define CAPACITY     (1u << 24)
#define LINK         UINT64_C(10000000000)
#define CABLE_PS     UINT64_C(50000) // 10 m
#define MS           UINT64_C(1000000)
#define MANAGER_LINK UINT64_C(100000000000)

static unsigned n_nodes_of(const struct bench_options *o)
{
	return 1 + o->n_readouts + (o->folded ? 0 : o->n_builders);
}

static bool builds(const struct bench_options *o, unsigned node)
{
	return node > 0 && (o->folded || node > o->n_readouts);
}

static uint64_t link_of(const struct bench_options *o, unsigned node)
{
	if (node == 0 && o->link > MANAGER_LINK)
		return o->link;
	if (node == 0)
		return MANAGER_LINK;
	return builds(o, node) ? o->link : o->other_link;
}

static char *put_node(char *to, const struct bench_options *o, unsigned i)
{
	to +=
	    sprintf(to,
		    "%s{\"name\": \"n%u\", \"manager\": %s, \"ports\": [{\"name\": \"w\", "
		    "\"profile\": \"ring\", \"mtu\": %u, \"address\": \"10.0.%u.%u/16\"",
		    i > 0 ? ", " : "", i, i == 0 ? "true" : "false", o->mtu, i / 250, i % 250 + 1);
	if (!o->untold)
		to += sprintf(to, ", \"link_rate\": %ju", (uintmax_t)link_of(o, i));
	to += sprintf(to, "}]");
	if (i > 0 && i <= o->n_readouts)
		to +=
		    sprintf(to,
			    ", \"generators\": [{\"name\": \"g\", \"port\": \"w\", \"ids\": [%u], "
			    "\"size\": {\"mean\": %u}, \"events\": %ju, \"rate\": %g}]",
			    i, o->fragment, (uintmax_t)o->events, o->rate);
	if (builds(o, i))
		to += sprintf(to,
			      ", \"builders\": [{\"name\": \"b\", \"slots\": %u, \"slot_size\": "
			      "%ju}]",
			      o->slots,
			      (uintmax_t)((o->fragment + 64) * o->packing * o->n_readouts + 65536) /
				  4096 * 4096);
	return to + sprintf(to, "}");
}

static char *make_text(const struct bench_options *o)
{
	char *text = malloc(1024 + (size_t)NODE_TEXT * n_nodes_of(o)), *to = text;

	if (text == NULL)
		return NULL;
	to += sprintf(to,
		      "{\"name\": \"bench\", \"sources\": {\"ids\": [\"1-%u\"], \"packing\": %u}, "
		      "\"events\": {\"deadline\": \"%s\"}, \"idle\": {\"policy\": \"poll\"}, "
		      "\"event_manager\": {\"mode\": \"%s\", \"shaping\": \"%s\", "
		      "\"target_utilisation\": %g, \"parallel_sends\": %u, \"source_buffer\": %u, "
		      "\"heartbeat_timeout\": \"1s\", \"credits\": %u}, \"nodes\": [",
		      o->n_readouts, o->packing, o->deadline, o->mode, o->shaping, o->utilisation,
		      o->parallel_sends, o->source_buffer, o->credits);
	for (unsigned i = 0; i < n_nodes_of(o); i++)
		to = put_node(to, o, i);
	sprintf(to, "]}");
	return text;
}

static bool parse(struct bench *bench, const char *text, unsigned node, struct config **config)
{
	char name[16];

	snprintf(name, sizeof(name), "n%u", node);
	return config_parse(config, text, strlen(text), "bench.json", name, NULL, 0,
			    bench->error) == 0;
}

// The generators of the other nodes differ from that of node 1 by their source only.
static bool copy_generators(struct bench *bench)
{
	struct sim_generators *generators = &bench->generators;
	const unsigned n = bench->options.n_readouts;
	struct sim_generator *list = realloc(generators->list, n * sizeof(*list));

	if (list == NULL)
		return false;
	generators->list = list;
	for (unsigned i = 1; i < n; i++) {
		struct source_sizes *sizes = &list[i].sizes;

		list[i] = list[0];
		list[i].node = 1 + i;
		sizes->ids = malloc(sizeof(*sizes->ids));
		sizes->sizes = malloc(sizes->n_cycle * sizeof(*sizes->sizes));
		generators->n++;
		if (sizes->ids == NULL || sizes->sizes == NULL)
			return false;
		sizes->ids[0] = (uint16_t)(1 + i);
		memcpy(sizes->sizes, list[0].sizes.sizes, sizes->n_cycle * sizeof(*sizes->sizes));
	}
	return true;
}

static bool load(struct bench *bench)
{
	char *text = make_text(&bench->options);
	struct config *first = NULL;
	bool done = text != NULL && parse(bench, text, 0, &bench->config) &&
		    parse(bench, text, 1, &first) &&
		    sim_generators_add(&bench->generators, first, bench->error) == 0;

	config_free(first);
	free(text);
	return done && copy_generators(bench);
}

// --- the fabric ---

static bool make_topology(struct bench *bench)
{
	const struct bench_options *o = &bench->options;
	const unsigned n = n_nodes_of(o);
	const struct sim_links links = { o->link, CABLE_PS };
	const struct sim_clos2 clos = {
		.leaves = o->down > 0 ? (n + o->down - 1) / o->down : 0,
		.spines = o->down,
		.down = o->down,
		.parallel = 1,
		.n_hosts = n,
		.host_links = links,
		.spine_links = links,
	};

	if (!(o->down > 0 ? sim_topology_clos2(&bench->topology, &clos, bench->error)
			  : sim_topology_switch(&bench->topology, n, links, bench->error)))
		return false;
	for (uint32_t i = 0; i < bench->topology.n_links; i++) {
		struct sim_link *link = &bench->topology.links[i];

		for (unsigned end = 0; end < 2; end++)
			if (link->ends[end] < n)
				link->bits_per_second = link_of(o, link->ends[end]);
		link->loss = o->loss;
	}
	return true;
}

static bool make_fabric(struct bench *bench)
{
	const struct bench_options *o = &bench->options;
	struct sim_fabric_parameters parameters = sim_fabric_defaults();

	parameters.n_priorities = 2;
	parameters.flow_control = o->pfc ? SIM_PFC : SIM_NO_FLOW_CONTROL;
	parameters.lossless = o->pfc ? 1 : 0;
	parameters.xoff = 100000;
	parameters.xon = 80000;
	parameters.headroom = 100000;
	parameters.queue = o->queue;
	parameters.host_queue = 2 * 9100;
	parameters.seed = o->seed;
	parameters.max_packets = 1u << 22;
	bench->fabric = sim_fabric_create(bench->engine, &bench->topology, &parameters,
					  &sim_system_operations, bench->system, bench->error);
	return bench->fabric != NULL;
}

static bool make_system(struct bench *bench)
{
	struct sim_system_parameters parameters = sim_system_configured(bench->config);

	parameters.engine = bench->engine;
	parameters.generators = bench->generators.list;
	parameters.n_generators = bench->generators.n;
	parameters.consumer = bench->options.consumer;
	parameters.costs = bench->options.costs;
	parameters.sleep_ns = parameters.pace.sleep_ns = bench->options.sleep_us * UINT64_C(1000);
	parameters.data_priority = 0;
	parameters.control_priority = 1;
	parameters.seed = bench->options.seed;
	bench->system = sim_system_create(&parameters, bench->error);
	return bench->system != NULL;
}

static void set_defaults(struct bench_options *o)
{
	o->mode = o->mode != NULL ? o->mode : "push";
	o->shaping = o->shaping != NULL ? o->shaping : "linear-shift";
	o->deadline = o->deadline != NULL ? o->deadline : "500ms";
	o->utilisation = o->utilisation > 0 ? o->utilisation : 0.9;
	o->packing = o->packing > 0 ? o->packing : 1;
	o->mtu = o->mtu > 0 ? o->mtu : 9000;
	o->slots = o->slots > 0 ? o->slots : 16;
	o->source_buffer = o->source_buffer > 0 ? o->source_buffer : 256;
	o->link = o->link > 0 ? o->link : LINK;
	o->other_link = o->other_link > 0 ? o->other_link : o->link;
	o->parallel_sends = o->parallel_sends > 0 ? o->parallel_sends : o->n_readouts;
	o->consumer.n_workers += o->consumer.n_workers == 0;
}

bool bench_open(struct bench *bench, const struct bench_options *options)
{
	*bench = (struct bench){ .options = *options, .engine = sim_engine_create(CAPACITY) };
	set_defaults(&bench->options);
	if (bench->engine == NULL || !load(bench) || !make_topology(bench) || !make_system(bench) ||
	    !make_fabric(bench))
		return false;
	sim_system_start(bench->system, bench->fabric);
	return true;
}

void bench_close(struct bench *bench)
{
	sim_fabric_destroy(bench->fabric);
	sim_system_destroy(bench->system);
	sim_topology_free(&bench->topology);
	sim_engine_destroy(bench->engine);
	sim_generators_free(&bench->generators);
	config_free(bench->config);
}

// --- runs ---

bool bench_run(struct bench *bench, uint64_t ns)
{
	if (!sim_run(bench->engine, sim_now(bench->engine) + ns * SIM_NANOSECOND)) {
		snprintf(bench->error, sizeof(bench->error), "%s", sim_engine_error(bench->engine));
		return false;
	}
	return sim_system_check(bench->system, bench->error);
}

bool bench_await(struct bench *bench, enum ctrl_run_state state, uint64_t limit)
{
	struct cluster_manager_view view = { 0 };

	for (uint64_t passed = 0; passed < limit; passed += MS) {
		sim_system_manager(bench->system, &view);
		if (view.state == state)
			return true;
		if (!bench_run(bench, MS))
			return false;
	}
	snprintf(bench->error, sizeof(bench->error),
		 "state %d: announced %ju, outstanding %ju, waiting %ju", (int)view.state,
		 (uintmax_t)view.announced, (uintmax_t)view.outstanding, (uintmax_t)view.waiting);
	return false;
}

static uint64_t control_of_builders(const struct bench *bench)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n_nodes_of(&bench->options); i++) {
		struct sim_node_view view;

		if (!builds(&bench->options, i))
			continue;
		sim_system_node(bench->system, i, &view);
		bytes += view.control_received_wire;
	}
	return bytes;
}

bool bench_measure(struct bench *bench, uint64_t warmup, uint64_t time, struct bench_rates *rates)
{
	const double seconds = (double)time * 1e-9;
	struct sim_node_view before, after;
	struct sim_packets packets_before, packets_after;
	uint64_t control;

	if (!bench_await(bench, CTRL_RUNNING, 2000 * MS) || !bench_run(bench, warmup))
		return false;
	sim_system_total(bench->system, &before);
	sim_system_packets(bench->system, &packets_before);
	control = control_of_builders(bench);
	if (!bench_run(bench, time))
		return false;
	sim_system_total(bench->system, &after);
	sim_system_packets(bench->system, &packets_after);
	*rates = (struct bench_rates){
		.complete = (double)(after.complete - before.complete) / seconds,
		.incomplete = (double)(after.incomplete - before.incomplete) / seconds,
		.goodput = (double)(after.payload - before.payload) / seconds,
		.event_wire = (double)(after.event_wire - before.event_wire) / seconds,
		.control_wire =
		    (double)(after.control_received_wire - before.control_received_wire) / seconds,
		.builder_control = (double)(control_of_builders(bench) - control) / seconds,
		.lost = (double)(packets_after.data_lost - packets_before.data_lost) / seconds,
	};
	return true;
}
