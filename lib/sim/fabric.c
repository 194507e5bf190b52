// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim/fabric.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/fabric_internal.h"

struct sim_fabric_parameters sim_fabric_defaults(void)
{
	return (struct sim_fabric_parameters){
		.kind = SIM_OUTPUT_QUEUED,
		.forwarding = SIM_STORE_AND_FORWARD,
		.arbitration = SIM_STRICT_PRIORITY,
		.flow_control = SIM_PFC,
		.paths = SIM_SHORTEST,
		.choice = SIM_ECMP,
		.n_priorities = 1,
		.overhead = 20,
		.host_queue = 20000,
		.xoff = 100000,
		.xon = 80000,
		.headroom = 100000,
		.pause_quanta = 65535,
		.pause_bytes = 64,
		.lossless = 1,
		.input_buffer = 65536,
		.alpha = 1,
		.max_packets = 1u << 20,
	};
}

static const char *check_red(const struct sim_fabric_parameters *p)
{
	if (p->red_high != 0 && p->red_low >= p->red_high)
		return "red_low is not below red_high";
	if (!(p->red_share >= 0 && p->red_share <= 1))
		return "red_share is not from 0 to 1";
	return NULL;
}

static const char *check_shares(const struct sim_fabric_parameters *p)
{
	for (unsigned i = 0; p->arbitration == SIM_WEIGHTED && i < p->n_priorities; i++)
		if (p->weights[i] == 0)
			return "a weight is 0: expected 1 to 255";
	if (p->shared_buffer == 0)
		return NULL;
	if (p->shared_buffer > SIM_MAX_SHARED)
		return "shared_buffer is above 16 GiB";
	if (!(p->alpha > 0 && p->alpha <= SIM_MAX_ALPHA))
		return "alpha is not above 0 and at most 64";
	return p->flow_control == SIM_CREDITS || p->flow_control == SIM_RETRY
		   ? "shared_buffer is not for credits and retry"
		   : NULL;
}

static const char *check_flow_control(const struct sim_fabric_parameters *p)
{
	if (p->flow_control == SIM_NO_FLOW_CONTROL)
		return NULL;
	if (p->flow_control == SIM_PFC && p->xon > p->xoff)
		return "xon is above xoff";
	if (p->pause_quanta == 0)
		return "pause_quanta is 0: expected 1 to 65535";
	if (p->pause_bytes == 0)
		return "pause_bytes is 0: expected 64, the size of a pause frame";
	if ((p->flow_control == SIM_CREDITS || p->flow_control == SIM_RETRY) &&
	    p->input_buffer == 0)
		return "input_buffer is 0: expected at least one packet";
	return NULL;
}

// The fault of the parameters, and the expected value; NULL: there is none.
static const char *check(const struct sim_fabric_parameters *p, const struct sim_topology *topology)
{
	if (p->kind > SIM_INPUT_FIFO || p->forwarding > SIM_CUT_THROUGH ||
	    p->arbitration > SIM_WEIGHTED || p->flow_control > SIM_RETRY ||
	    p->paths > SIM_DIMENSION_ORDER || p->choice > SIM_ADAPTIVE)
		return "an unknown kind of switch, flow control or routing";
	if (p->n_priorities < 1 || p->n_priorities > SIM_MAX_PRIORITIES)
		return "n_priorities is not from 1 to 8";
	if (p->max_packets < 1 || p->max_packets > SIM_MAX_PACKETS)
		return "max_packets is not from 1 to 67108864";
	if (p->overhead > SIM_MAX_PACKET_BYTES)
		return "overhead is above 65535 bytes";
	if (p->burst > SIM_MAX_BURST)
		return "burst is above 16 MiB";
	if (p->switch_delay > SIM_SECOND || p->host_delay > SIM_SECOND ||
	    p->pause_response > SIM_SECOND || p->retry_time > SIM_SECOND)
		return "a delay is above 1 s";
	if (p->paths == SIM_DIMENSION_ORDER && topology->n_dimensions == 0)
		return "paths in dimension order: expected a torus";
	if (check_shares(p) != NULL)
		return check_shares(p);
	return check_red(p) != NULL ? check_red(p) : check_flow_control(p);
}

static void *allocate(struct sim_fabric *fabric, size_t count, size_t size)
{
	const size_t lines = count * size / SIM_CACHE_LINE + 1;
	void *memory = aligned_alloc(SIM_CACHE_LINE, lines * SIM_CACHE_LINE);

	fabric->memory += count * size;
	return memory != NULL ? memset(memory, 0, lines * SIM_CACHE_LINE) : NULL;
}

static uint64_t byte_time(uint64_t bits_per_second)
{
	if (bits_per_second == 0)
		return 0;
	return ((8 * SIM_SECOND << SIM_FRACTION_BITS) + bits_per_second / 2) / bits_per_second;
}

// Gives each end of each link its port. `next` is the next free port of each node.
static void join_ports(struct sim_fabric *fabric, const struct sim_topology *topology,
		       uint32_t *next)
{
	for (uint32_t i = 0; i < topology->n_links; i++) {
		const struct sim_link *link = &topology->links[i];
		const uint32_t ends[2] = { next[link->ends[0]]++, next[link->ends[1]]++ };

		fabric->link_ports[i] = ends[0];
		for (unsigned side = 0; side < 2; side++) {
			const bool to_switch = link->ends[!side] >= fabric->n_hosts;

			fabric->ports[ends[side]] = (struct sim_sender){
				.byte_time = byte_time(link->bits_per_second),
				.cable = link->delay,
				.delay = link->delay + (to_switch ? fabric->parameters.switch_delay
								  : fabric->parameters.host_delay),
				.peer = ends[!side],
				.node = link->ends[side],
				.peer_node = link->ends[!side],
				.link = i,
				.peer_is_switch = to_switch,
				.may_burst = fabric->parameters.burst != 0 &&
					     link->ends[side] >= fabric->n_hosts,
				.has_crossbar = fabric->parameters.kind != SIM_OUTPUT_QUEUED &&
						link->ends[side] >= fabric->n_hosts,
				.loss = link->loss,
			};
		}
		fabric->may_lose = fabric->may_lose || link->loss > 0;
	}
}

// Counts the ports of each node. False: a host has not one link.
static bool count_ports(struct sim_fabric *fabric, const struct sim_topology *topology, char *error)
{
	const uint32_t n_nodes = fabric->n_hosts + fabric->n_switches;
	uint32_t *first = fabric->first_port;

	for (uint32_t i = 0; i < topology->n_links; i++) {
		first[topology->links[i].ends[0] + 1]++;
		first[topology->links[i].ends[1] + 1]++;
	}
	for (uint32_t node = 0; node < n_nodes; node++) {
		if (node < fabric->n_hosts ? first[node + 1] != 1
					   : first[node + 1] > SIM_MAX_RADIX) {
			snprintf(error, SIM_ERROR_SIZE,
				 "node %" PRIu32 " has %" PRIu32
				 " links: expected 1 of a host, at most %u of a switch",
				 node, first[node + 1], SIM_MAX_RADIX);
			return false;
		}
		first[node + 1] += first[node];
	}
	return true;
}

static bool make_routes(struct sim_fabric *fabric, const struct sim_topology *topology, char *error)
{
	const struct sim_route_table *table = fabric->parameters.table;
	uint32_t *peer_node = malloc((fabric->n_ports + 1) * sizeof(*peer_node));
	uint32_t(*link_ports)[2] = malloc((topology->n_links + 1) * sizeof(*link_ports));
	const struct sim_graph graph = { .n_hosts = fabric->n_hosts,
					 .n_switches = fabric->n_switches,
					 .first_port = fabric->first_port,
					 .peer_node = peer_node,
					 .link_ports = (const uint32_t(*)[2])link_ports };
	bool ok = peer_node != NULL && link_ports != NULL;

	snprintf(error, SIM_ERROR_SIZE, "no memory for the routes");
	for (uint32_t i = 0; ok && i < fabric->n_ports; i++)
		peer_node[i] = fabric->ports[fabric->ports[i].peer].node;
	for (uint32_t i = 0; ok && i < topology->n_links; i++) {
		link_ports[i][0] = fabric->link_ports[i];
		link_ports[i][1] = fabric->ports[fabric->link_ports[i]].peer;
	}
	if (ok && table != NULL)
		ok = sim_routes_take(&fabric->routes, topology, &graph, table, error);
	else if (ok)
		ok = sim_routes_make(&fabric->routes, topology, &graph, fabric->parameters.paths,
				     error);
	fabric->memory += fabric->routes.memory;
	free(peer_node);
	free(link_ports);
	return ok;
}

static void add_handlers(struct sim_fabric *fabric)
{
	static const sim_handler functions[SIM_N_KINDS] = {
		[SIM_ARRIVES] = sim_arrives,
		[SIM_DELIVERS] = sim_delivers,
		[SIM_PORT_SENT] = sim_port_sent,
		[SIM_PAUSES] = sim_pauses,
		[SIM_PAUSE_ENDS] = sim_pause_ends,
		[SIM_REPEATS_PAUSE] = sim_repeats_pause,
		[SIM_CREDIT] = sim_credit,
		[SIM_COPY_FREED] = sim_copy_freed,
		[SIM_REPEATS] = sim_repeats,
		[SIM_ARBITRATES] = sim_arbitrates,
		[SIM_LOOKS_FOR_DEADLOCK] = sim_looks_for_deadlock,
	};

	for (unsigned i = 0; i < SIM_N_KINDS; i++)
		fabric->handlers[i] = sim_engine_handler(fabric->engine, functions[i], fabric);
	sim_engine_touches(fabric->engine, fabric->handlers[SIM_ARRIVES], fabric->packets,
			   sizeof(*fabric->packets));
	sim_engine_touches(fabric->engine, fabric->handlers[SIM_PORT_SENT], fabric->ports,
			   sizeof(*fabric->ports));
}

// Allocates what some parameters need. False: no memory.
static bool allocate_options(struct sim_fabric *fabric)
{
	struct sim_fabric_parameters *p = &fabric->parameters;
	const bool is_weighted = p->arbitration == SIM_WEIGHTED,
		   is_retry = p->flow_control == SIM_RETRY;
	const bool has_law = p->host_law.kind != SIM_LAW_FIXED;

	if (is_weighted)
		fabric->shares = allocate(fabric, fabric->n_ports, sizeof(*fabric->shares));
	if (is_retry)
		fabric->retries = allocate(fabric, fabric->n_ports, sizeof(*fabric->retries));
	if (has_law) {
		p->host_delay = 0;
		fabric->delivered = allocate(fabric, fabric->n_hosts, sizeof(*fabric->delivered));
	}
	return sim_shared_create(fabric) && (!is_weighted || fabric->shares != NULL) &&
	       (!is_retry || fabric->retries != NULL) && (!has_law || fabric->delivered != NULL);
}

static size_t packets_size(const struct sim_fabric *fabric)
{
	return (size_t)fabric->parameters.max_packets * sizeof(*fabric->packets);
}

// Memory for packets, of which only the pages of packets that exist are used. malloc() would use
// all of it where the C library fills what it allocates (MALLOC_PERTURB_).
static void map_packets(struct sim_fabric *fabric)
{
	fabric->packets = mmap(NULL, packets_size(fabric), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fabric->packets == MAP_FAILED)
		fabric->packets = NULL;
}

// Allocates the memory of the fabric.
static bool allocate_all(struct sim_fabric *fabric, const struct sim_topology *topology,
			 char *error)
{
	const uint32_t n_nodes = fabric->n_hosts + fabric->n_switches;
	const size_t n_places = (size_t)fabric->n_ports * fabric->parameters.n_priorities;

	map_packets(fabric);
	fabric->first_port = allocate(fabric, n_nodes + 1, sizeof(*fabric->first_port));
	fabric->link_ports = allocate(fabric, topology->n_links, sizeof(*fabric->link_ports));
	fabric->ports = allocate(fabric, fabric->n_ports, sizeof(*fabric->ports));
	fabric->queues = allocate(fabric, n_places, sizeof(*fabric->queues));
	fabric->flows = allocate(fabric, n_places, sizeof(*fabric->flows));
	if (fabric->packets == NULL || fabric->first_port == NULL || fabric->link_ports == NULL ||
	    fabric->ports == NULL || fabric->queues == NULL || fabric->flows == NULL) {
		snprintf(error, SIM_ERROR_SIZE,
			 "no memory for a fabric of %" PRIu32 " nodes and %" PRIu32 " links",
			 n_nodes, topology->n_links);
		return false;
	}
	if (!allocate_options(fabric)) {
		snprintf(error, SIM_ERROR_SIZE, "no memory for %" PRIu32 " ports", fabric->n_ports);
		return false;
	}
	for (size_t i = 0; i < n_places; i++)
		fabric->flows[i].credits = fabric->parameters.input_buffer;
	return true;
}

static bool build(struct sim_fabric *fabric, const struct sim_topology *topology, char *error)
{
	const uint32_t n_nodes = fabric->n_hosts + fabric->n_switches;
	uint32_t *next;

	if (!allocate_all(fabric, topology, error) || !count_ports(fabric, topology, error))
		return false;
	next = malloc(n_nodes * sizeof(*next));
	if (next != NULL) {
		memcpy(next, fabric->first_port, n_nodes * sizeof(*next));
		join_ports(fabric, topology, next);
		free(next);
	}
	if (next == NULL ||
	    (fabric->parameters.kind != SIM_OUTPUT_QUEUED && !sim_crossbars_create(fabric))) {
		snprintf(error, SIM_ERROR_SIZE, "no memory for %" PRIu32 " switches",
			 fabric->n_switches);
		return false;
	}
	return make_routes(fabric, topology, error);
}

struct sim_fabric *sim_fabric_create(struct sim_engine *engine, const struct sim_topology *topology,
				     const struct sim_fabric_parameters *parameters,
				     const struct sim_host_operations *operations, void *context,
				     char *error)
{
	const char *problem = check(parameters, topology);
	struct sim_fabric *fabric;

	if (problem != NULL) {
		snprintf(error, SIM_ERROR_SIZE, "%s", problem);
		return NULL;
	}
	fabric = calloc(1, sizeof(*fabric));
	if (fabric == NULL) {
		snprintf(error, SIM_ERROR_SIZE, "no memory for a fabric");
		return NULL;
	}
	fabric->engine = engine;
	fabric->now = sim_clock(engine);
	fabric->parameters = *parameters;
	fabric->operations = *operations;
	fabric->observed = SIM_NONE;
	fabric->context = context;
	fabric->random = random_fork(parameters->seed, 1);
	fabric->first_free = SIM_NONE;
	fabric->n_hosts = topology->n_hosts;
	fabric->n_switches = topology->n_switches;
	fabric->n_ports = 2 * topology->n_links;
	fabric->n_links = topology->n_links;
	fabric->memory = sizeof(*fabric);
	if (!build(fabric, topology, error)) {
		sim_fabric_destroy(fabric);
		return NULL;
	}
	fabric->parameters.table = NULL;
	add_handlers(fabric);
	return fabric;
}

void sim_fabric_destroy(struct sim_fabric *fabric)
{
	if (fabric == NULL)
		return;
	sim_crossbars_destroy(fabric);
	sim_routes_free(&fabric->routes);
	if (fabric->packets != NULL)
		(void)munmap(fabric->packets, packets_size(fabric));
	free(fabric->first_port);
	free(fabric->link_ports);
	free(fabric->delivered);
	free(fabric->shared);
	free(fabric->shares);
	free(fabric->retries);
	free(fabric->ports);
	free(fabric->queues);
	free(fabric->flows);
	free(fabric);
}

size_t sim_fabric_memory(const struct sim_fabric *fabric)
{
	return fabric->memory + fabric->used * sizeof(*fabric->packets);
}

void sim_link_rate(struct sim_fabric *fabric, uint32_t link, uint64_t bits_per_second)
{
	const uint32_t one = fabric->link_ports[link], other = fabric->ports[one].peer;

	fabric->ports[one].byte_time = byte_time(bits_per_second);
	fabric->ports[other].byte_time = byte_time(bits_per_second);
	sim_start(fabric, one);
	sim_start(fabric, other);
}

void sim_link_loss(struct sim_fabric *fabric, uint32_t link, double loss)
{
	const uint32_t one = fabric->link_ports[link];

	fabric->may_lose = fabric->may_lose || loss > 0;
	fabric->ports[one].loss = loss;
	fabric->ports[fabric->ports[one].peer].loss = loss;
}
