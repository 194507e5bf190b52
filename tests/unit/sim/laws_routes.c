// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Routes: which ways packets take, and whether buffers can wait for each other.
#include "laws.h"

#include <stdlib.h>

#define BYTES 1250u

static const struct sim_links links = { 100 * GBIT, 10000 };

// Each host sends one packet at a time to the host that is `phase` further: on a full tree with
// routes by destination no packet ever waits in a switch (Zahavi, Johnson, Kerbyson, Lang,
// "Optimized InfiniBand fat-tree routing for shift all-to-all communication patterns", 2010).
static bool shift(struct network *network, char message[LAW_MESSAGE])
{
	const uint32_t n = network->topology.n_hosts;
	bool holds = true;

	for (uint32_t phase = 1; holds && phase < n; phase++) {
		for (uint32_t host = 0; host < n; host++)
			network_send_one(network, host, (host + phase) % n, BYTES);
		holds = sim_run(network->engine, SIM_NEVER);
	}
	return holds &&
	       law_equal("packets", sim_totals(network->fabric).delivered, (uint64_t)n * (n - 1),
			 message) &&
	       law_equal("time waited in switches", network_switches(network).waited, 0, message);
}

static bool shifts(char message[LAW_MESSAGE])
{
	static struct network network;
	const struct sim_clos2 two = { .leaves = 8,
				       .spines = 4,
				       .down = 4,
				       .parallel = 1,
				       .host_links = links,
				       .spine_links = links };
	const struct sim_clos2 parallel = { .leaves = 4,
					    .spines = 2,
					    .down = 4,
					    .parallel = 2,
					    .host_links = links,
					    .spine_links = links };
	const struct sim_clos3 three = { .pods = 4,
					 .leaves = 2,
					 .middles = 2,
					 .spines = 4,
					 .down = 2,
					 .parallel_middle = 1,
					 .parallel_spine = 1,
					 .host_links = links,
					 .middle_links = links,
					 .spine_links = links };
	bool holds = true;

	for (unsigned i = 0; holds && i < 3; i++) {
		network_init(&network);
		network.parameters.choice = SIM_BY_DESTINATION;
		holds = (i == 0   ? sim_topology_clos2(&network.topology, &two, network.error)
			 : i == 1 ? sim_topology_clos2(&network.topology, &parallel, network.error)
				  : sim_topology_clos3(&network.topology, &three, network.error)) &&
			network_begin(&network) && shift(&network, message);
		network_end(&network);
	}
	return holds;
}

static uint32_t around(uint32_t from, uint32_t to, uint32_t size)
{
	const uint32_t ahead = (to + size - from) % size;

	return ahead <= size - ahead ? ahead : size - ahead;
}

// On a torus in dimension order a packet passes the links of its two hosts, and per dimension the
// shorter way around.
static bool torus(char message[LAW_MESSAGE])
{
	static struct network network;
	const struct sim_torus shape = { .n_dimensions = 3,
					 .size = { 5, 4, 2 },
					 .hosts = 1,
					 .host_links = links,
					 .torus_links = links };
	bool holds;

	network_init(&network);
	network.parameters.paths = SIM_DIMENSION_ORDER;
	holds =
	    sim_topology_torus(&network.topology, &shape, network.error) && network_begin(&network);
	for (uint32_t i = 0; holds && i < 40 * 40; i++) {
		const uint32_t from = i / 40, to = i % 40;
		const uint64_t hops = 2 + around(from % 5, to % 5, 5) +
				      around(from / 5 % 4, to / 5 % 4, 4) +
				      around(from / 20, to / 20, 2);

		holds = network_send_one(&network, from, to, BYTES) &&
			sim_run(network.engine, (i + 1) * 100 * 1000 * SIM_NANOSECOND) &&
			law_equal("links passed", network.hops, hops, message);
	}
	network_end(&network);
	return holds;
}

// A ring of 5 switches with 2 hosts each, which all send to the switch after the next: by the
// shortest paths all go around in one direction.
static bool begin_ring(struct network *network, enum sim_paths paths,
		       enum sim_flow_control flow_control, enum sim_switch_kind kind)
{
	const struct sim_torus ring = { .n_dimensions = 1,
					.size = { 5 },
					.hosts = 2,
					.host_links = links,
					.torus_links = links };
	bool ok;

	network_init(network);
	network->parameters.paths = paths;
	network->parameters.kind = kind;
	network->parameters.flow_control = flow_control;
	network->parameters.xoff = 10 * BYTES;
	network->parameters.xon = 8 * BYTES;
	network->parameters.headroom = 10 * BYTES;
	network->parameters.input_buffer = 10 * BYTES;
	network->parameters.queue = 10 * BYTES;
	network->parameters.deadlock_interval = 100 * 1000 * SIM_NANOSECOND;
	ok =
	    sim_topology_torus(&network->topology, &ring, network->error) && network_begin(network);
	for (uint32_t host = 0; ok && host < 10; host++)
		network_send(network, host,
			     (struct network_host){
				 .left = 2000, .destination = (host + 4) % 10, .bytes = BYTES });
	return ok && sim_run(network->engine, SIM_SECOND / 100);
}

// The cycle that is named has each of the 5 switches once, in the order of the ring, and a port of
// each that leads to the next.
static bool check_cycle(const struct network *network, char message[LAW_MESSAGE])
{
	struct sim_wait cycle[8];
	const uint32_t length = sim_deadlock(network->fabric, cycle, 8);

	if (!law_equal("ports that wait for each other", length, 5, message))
		return false;
	for (uint32_t i = 0; i < length; i++) {
		const struct sim_port port = sim_port_view(network->fabric, cycle[i].port);
		const struct sim_port next =
		    sim_port_view(network->fabric, cycle[(i + 1) % 5].port);

		if (!law_equal("next switch of the cycle", next.node, 10 + (port.node - 10 + 1) % 5,
			       message) ||
		    !law_equal("switch at the other end",
			       sim_port_view(network->fabric, port.peer).node, next.node, message))
			return false;
	}
	return true;
}

// Lossless buffers that wait for each other in a cycle stand still (Dally, Seitz 1987).
static bool cycles(char message[LAW_MESSAGE])
{
	static struct network network;

	for (unsigned i = 0; i < 9; i++) {
		bool holds = begin_ring(&network, SIM_SHORTEST, SIM_PFC + i % 3, i / 3) &&
			     law_equal("deadlock", network.is_deadlocked, true, message) &&
			     check_cycle(&network, message);

		network_end(&network);
		if (!holds)
			return false;
	}
	return true;
}

// Up and down no cycle exists: all arrives. Without flow control, packets are lost instead.
static bool no_cycles(char message[LAW_MESSAGE])
{
	static struct network network;

	for (unsigned i = 0; i < 10; i++) {
		const bool loses = i == 9;
		bool holds = begin_ring(&network, loses ? SIM_SHORTEST : SIM_UP_DOWN,
					loses ? SIM_NO_FLOW_CONTROL : SIM_PFC + i % 3, i / 3 % 3) &&
			     law_equal("deadlock", network.is_deadlocked, false, message) &&
			     law_equal("packets in all",
				       sim_totals(network.fabric).delivered + network.dropped,
				       10 * 2000, message) &&
			     law_equal("packets are lost", network.dropped > 0, loses, message);

		network_end(&network);
		if (!holds)
			return false;
	}
	return true;
}

// Spread over u equal ways, packets of many flows by their hash, and packets at random or to the
// shortest queue, use each way for 1 / u of the packets; one flow uses one way by its hash.
static bool spread(char message[LAW_MESSAGE])
{
	static struct network network;
	const struct sim_clos2 clos = { .leaves = 2,
					.spines = 4,
					.down = 4,
					.parallel = 1,
					.host_links = links,
					.spine_links = links };
	bool holds = true;

	for (unsigned i = 0; holds && i < 4; i++) {
		uint64_t used = 0;

		network_init(&network);
		network.parameters.choice = i == 3 ? SIM_ECMP : SIM_ECMP + i;
		network.parameters.host_queue = UINT64_MAX;
		holds = sim_topology_clos2(&network.topology, &clos, network.error) &&
			network_begin(&network);
		for (uint32_t j = 0; holds && j < 40000; j++)
			holds = sim_send(network.fabric,
					 &(struct sim_packet){ .source = j % 4,
							       .destination = 4 + j % 4,
							       .flow = i == 3 ? 7 : j,
							       .bytes = BYTES }) == SIM_SENT;
		holds = holds && sim_run(network.engine, SIM_NEVER);
		for (uint32_t spine = 0; holds && spine < 4; spine++) {
			const uint64_t packets =
			    sim_port_view(network.fabric, 8 + 4 + spine).packets;

			used += packets != 0;
			if (i < 3)
				holds = law_near("packets over one spine", (double)packets, 10000,
						 0.03, message);
		}
		holds = holds && law_equal("spines used", used, i == 3 ? 1 : 4, message);
		network_end(&network);
	}
	return holds;
}

// Three hosts of a leaf with 2 ways up that all send to the other leaf, whose last place is empty:
// they get 2 links together, 2 thirds of a link each.
static bool oversubscription(char message[LAW_MESSAGE])
{
	static struct network network;
	const struct sim_clos2 clos = { .leaves = 2,
					.spines = 2,
					.down = 4,
					.parallel = 1,
					.n_hosts = 7,
					.host_links = links,
					.spine_links = links };
	const uint64_t run = 20000; // packets of a link
	bool holds;

	network_init(&network);
	network.parameters.choice = SIM_ADAPTIVE;
	network.parameters.xoff = 10 * BYTES;
	network.parameters.xon = 8 * BYTES;
	holds =
	    sim_topology_clos2(&network.topology, &clos, network.error) && network_begin(&network);
	for (uint32_t host = 0; holds && host < 3; host++)
		network_send(&network, host,
			     (struct network_host){ .left = NETWORK_FOREVER,
						    .destination = 4 + host,
						    .bytes = BYTES });
	holds = holds && sim_run(network.engine, run * sim_port_time(network.fabric, 0, BYTES));
	for (uint32_t host = 4; holds && host < 7; host++)
		holds = law_near("packets of a host", (double)network.packets[host],
				 2 * (double)run / 3, 0.01, message);
	network_end(&network);
	return holds;
}

// Random routes, losses and marks: the same seed gives the same deliveries at the same times.
static bool run_random(struct network *network, uint64_t seed)
{
	const struct sim_clos2 clos = { .leaves = 4,
					.spines = 2,
					.down = 4,
					.parallel = 1,
					.host_links = links,
					.spine_links = links };
	bool ok;

	network_init(network);
	network->parameters.choice = SIM_RANDOM;
	network->parameters.seed = seed;
	network->parameters.flow_control = SIM_NO_FLOW_CONTROL;
	network->parameters.queue = 20 * BYTES;
	network->parameters.red_low = 2 * BYTES;
	network->parameters.red_high = 10 * BYTES;
	network->parameters.red_share = 0.5;
	ok =
	    sim_topology_clos2(&network->topology, &clos, network->error) && network_begin(network);
	for (uint32_t host = 0; ok && host < 16; host++)
		network_send(network, host,
			     (struct network_host){ .left = 1000,
						    .destination = SIM_MAX_HOSTS,
						    .bytes = BYTES,
						    .may_mark = host % 2 == 0 });
	return ok && sim_run(network->engine, SIM_NEVER);
}

static bool seeds(char message[LAW_MESSAGE])
{
	static struct network network;
	uint64_t digest;
	bool holds = run_random(&network, 1);

	digest = network.digest;
	network_end(&network);
	holds = holds && run_random(&network, 1) &&
		law_equal("deliveries with the same seed", network.digest, digest, message);
	network_end(&network);
	if (!holds)
		return false;
	holds = run_random(&network, 2) && law_equal("deliveries with another seed differ",
						     network.digest != digest, true, message);
	network_end(&network);
	return holds;
}

const struct law laws_of_routes[] = {
	{ "cycles", cycles }, { "no cycles", no_cycles }, { "oversubscription", oversubscription },
	{ "seeds", seeds },   { "shift", shifts },        { "spread", spread },
	{ "torus", torus },
};
const size_t n_laws_of_routes = sizeof(laws_of_routes) / sizeof(laws_of_routes[0]);
