// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "network.h"

#include <math.h>
#include <string.h>

void network_init(struct network *network)
{
	memset(network, 0, sizeof(*network));
	network->parameters = sim_fabric_defaults();
	network->parameters.overhead = 0;
	network->random = random_fork(1, 2);
}

static void deliver(void *context, uint32_t host, const struct sim_packet *packet)
{
	struct network *network = context;
	const uint64_t now = sim_now(network->engine);

	network->packets[host]++;
	network->from[packet->source]++;
	network->packets_of[packet->priority]++;
	network->time_of[packet->priority] += (double)(now - packet->sent);
	network->marked += packet->marked;
	network->hops = packet->hops;
	network->links += packet->hops;
	network->overtaken += packet->user < network->newest[packet->source];
	if (packet->user > network->newest[packet->source])
		network->newest[packet->source] = packet->user;
	network->last = now;
	network->digest = random_mix(network->digest + now) +
			  random_mix(packet->source + ((uint64_t)packet->destination << 32));
}

static void dropped(void *context, const struct sim_packet *packet, uint32_t port,
		    enum sim_cause cause)
{
	struct network *network = context;

	(void)packet;
	(void)port;
	(void)cause;
	network->dropped++;
}

static bool send_next(struct network *network, uint32_t host)
{
	struct network_host *what = &network->hosts[host];
	uint32_t destination = what->destination;
	struct random before = network->random;

	if (destination == SIM_MAX_HOSTS)
		destination = (uint32_t)(random_next(&network->random) % network->topology.n_hosts);
	if (sim_send(network->fabric, &(struct sim_packet){ .user = network->sent[host],
							    .source = host,
							    .destination = destination,
							    .flow = host,
							    .bytes = what->bytes,
							    .priority = what->priority,
							    .may_mark = what->may_mark }) !=
	    SIM_SENT) {
		network->random = before; // a packet that was refused is drawn again
		return false;
	}
	network->sent[host]++;
	if (what->left != NETWORK_FOREVER)
		what->left--;
	return true;
}

static void room(void *context, uint32_t host, unsigned priority)
{
	struct network *network = context;

	(void)priority;
	while (network->hosts[host].left > 0 && send_next(network, host))
		;
}

static void schedule_next(struct network *network, uint32_t host)
{
	const double wait =
	    -log(1 - random_uniform(&network->random)) * network->hosts[host].interval;

	sim_at(network->engine, sim_now(network->engine) + (uint64_t)wait, network->arrival, host,
	       0);
}

static void arrive(void *context, uint32_t host, uint32_t data)
{
	struct network *network = context;

	(void)data;
	send_next(network, host);
	if (network->hosts[host].left > 0)
		schedule_next(network, host);
}

static void deadlock(void *context)
{
	struct network *network = context;

	network->is_deadlocked = true;
	sim_stop(network->engine);
}

bool network_begin(struct network *network)
{
	static const struct sim_host_operations operations = {
		.deliver = deliver, .room = room, .dropped = dropped, .deadlock = deadlock
	};

	network->engine = sim_engine_create(1u << 22);
	if (network->engine == NULL)
		return false;
	network->arrival = sim_engine_handler(network->engine, arrive, network);
	network->fabric =
	    sim_fabric_create(network->engine, &network->topology, &network->parameters,
			      &operations, network, network->error);
	return network->fabric != NULL;
}

bool network_begin_switch(struct network *network, uint32_t n_hosts, uint64_t cable)
{
	return sim_topology_switch(&network->topology, n_hosts,
				   (struct sim_links){ 100 * GBIT, cable }, network->error) &&
	       network_begin(network);
}

void network_end(struct network *network)
{
	sim_fabric_destroy(network->fabric);
	sim_engine_destroy(network->engine);
	sim_topology_free(&network->topology);
}

void network_send(struct network *network, uint32_t host, struct network_host what)
{
	network->hosts[host] = what;
	if (what.interval > 0)
		schedule_next(network, host);
	else
		room(network, host, what.priority);
}

bool network_send_one(struct network *network, uint32_t source, uint32_t destination,
		      uint32_t bytes)
{
	return sim_send(network->fabric,
			&(struct sim_packet){ .source = source,
					      .destination = destination,
					      .flow = source * NETWORK_HOSTS + destination,
					      .bytes = bytes }) == SIM_SENT;
}

double network_mean_time(const struct network *network, unsigned priority)
{
	return network->time_of[priority] / (double)network->packets_of[priority];
}

struct sim_port network_switches(const struct network *network)
{
	struct sim_port sum = { 0 };

	for (uint32_t i = 0; i < sim_n_ports(network->fabric); i++) {
		const struct sim_port port = sim_port_view(network->fabric, i);

		if (port.node < network->topology.n_hosts)
			continue;
		sum.packets += port.packets;
		sum.waited += port.waited;
		sum.marked += port.marked;
		if (port.input_peak > sum.input_peak)
			sum.input_peak = port.input_peak;
		for (unsigned cause = 0; cause < SIM_N_CAUSES; cause++)
			sum.drops[cause] += port.drops[cause];
	}
	return sum;
}
