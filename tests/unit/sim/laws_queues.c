// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Queueing theory. S is the time that a packet takes on a link.
#include "laws.h"

#define BYTES 1250u
#define S     100000.0 // ps, of 1250 bytes at 100 Gb/s

// 64 hosts with links that are 100 times as fast as that of host 64, to which they all send.
static bool begin_funnel(struct network *network)
{
	char *error = network->error;

	network->parameters.flow_control = SIM_NO_FLOW_CONTROL;
	network->parameters.host_queue = UINT64_MAX;
	if (!sim_topology_begin(&network->topology, 65, 1, error))
		return false;
	for (uint32_t host = 0; host < 65; host++) {
		const struct sim_link link = { .ends = { host, 65 },
					       .bits_per_second =
						   host < 64 ? 10000 * GBIT : 100 * GBIT };

		if (!sim_topology_add(&network->topology, &link, error))
			return false;
	}
	return network_begin(network);
}

// Mean wait in an M/D/1 queue: load * S / (2 (1 - load)) (Pollaczek 1930, Khinchine 1932). The
// sum of many independent streams is a Poisson process.
static bool md1(char message[LAW_MESSAGE])
{
	static struct network network;
	const double load = 0.7;
	bool holds;
	struct sim_port port;

	network_init(&network);
	holds = begin_funnel(&network);
	for (uint32_t host = 0; holds && host < 64; host++)
		network_send(&network, host,
			     (struct network_host){ .left = NETWORK_FOREVER,
						    .destination = 64,
						    .bytes = BYTES,
						    .interval = S * 64 / load });
	holds = holds && sim_run(network.engine, (uint64_t)(3e6 * S));
	if (holds) {
		port = sim_port_view(network.fabric, sim_port_view(network.fabric, 64).peer);
		holds = law_near("wait in S", (double)port.waited / (double)port.packets / S,
				 load / (2 * (1 - load)), 0.01, message);
	}
	network_end(&network);
	return holds;
}

// A D/D/1 queue in which n packets arrive at once, in periods in which they can be served: they
// wait 0, S, ... (n - 1) S, thus (n - 1) S / 2 on average.
static bool dd1(char message[LAW_MESSAGE])
{
	static struct network network;
	bool holds;
	struct sim_port port;

	network_init(&network);
	holds = begin_funnel(&network);
	for (unsigned period = 0; holds && period < 100; period++) {
		for (uint32_t host = 0; host < 10; host++)
			network_send_one(&network, host, 64, BYTES);
		holds = sim_run(network.engine, (period + 1) * (uint64_t)(10 * S));
	}
	if (holds) {
		port = sim_port_view(network.fabric, sim_port_view(network.fabric, 64).peer);
		holds = law_near("wait in S", (double)port.waited / (double)port.packets / S,
				 (10 - 1) / 2.0, 1e-9, message);
	}
	network_end(&network);
	return holds;
}

// Of 10 packets that arrive at once, a token bucket of 4 lets 4 pass; the next one begins to wait
// for its tokens, and number i leaves (i - 4) S after that. In each period the bucket is full
// again.
static bool burst(char message[LAW_MESSAGE])
{
	static struct network network;
	bool holds;
	struct sim_port port;

	network_init(&network);
	network.parameters.burst = 4 * BYTES;
	holds = begin_funnel(&network);
	for (unsigned period = 0; holds && period < 100; period++) {
		for (uint32_t host = 0; host < 10; host++)
			network_send_one(&network, host, 64, BYTES);
		holds = sim_run(network.engine, (period + 1) * (uint64_t)(10 * S));
	}
	if (holds) {
		port = sim_port_view(network.fabric, sim_port_view(network.fabric, 64).peer);
		holds = law_near("wait in S", (double)port.waited / (double)port.packets / S,
				 (1 + 2 + 3 + 4 + 5) / 10.0, 1e-9, message);
	}
	network_end(&network);
	return holds;
}

// Two priorities of a link, without preemption: W_high = R / (1 - load_high) and
// W_low = R / ((1 - load_high) (1 - load)), with R = load * S / 2 (Cobham 1954).
static bool priorities(char message[LAW_MESSAGE])
{
	static struct network network;
	const double high = 0.3, low = 0.4, r = (high + low) / 2;
	const struct sim_links links = { 100 * GBIT, 0 };
	bool holds;

	network_init(&network);
	network.parameters.n_priorities = 2;
	network.parameters.flow_control = SIM_NO_FLOW_CONTROL;
	network.parameters.host_queue = UINT64_MAX;
	network.parameters.arbitration = SIM_STRICT_PRIORITY;
	// Each priority has a host of its own; what they share is the way to host 64.
	holds = sim_topology_begin(&network.topology, 65, 1, network.error);
	for (uint32_t host = 0; holds && host < 65; host++)
		holds =
		    sim_topology_add(&network.topology,
				     &(struct sim_link){ .ends = { host, 65 },
							 .bits_per_second = (host < 64 ? 100 : 1) *
									    links.bits_per_second },
				     network.error);
	holds = holds && network_begin(&network);
	for (uint32_t host = 0; holds && host < 64; host++)
		network_send(
		    &network, host,
		    (struct network_host){ .left = NETWORK_FOREVER,
					   .destination = 64,
					   .bytes = BYTES,
					   .priority = host < 32,
					   .interval = S * 32 / (host < 32 ? high : low) });
	holds = holds && sim_run(network.engine, (uint64_t)(3e6 * S));
	holds =
	    holds &&
	    law_near("wait of the high priority in S", network_mean_time(&network, 1) / S - 1.01,
		     r / (1 - high), 0.01, message) &&
	    law_near("wait of the low priority in S", network_mean_time(&network, 0) / S - 1.01,
		     r / ((1 - high) * (1 - high - low)), 0.02, message);
	network_end(&network);
	return holds;
}

// n hosts send m packets each to one at the same time. The output link begins when the first packet
// has arrived, and is never idle: S + cable + n m S + cable, to the picosecond. PFC does not change
// that, as each input buffer holds packets when the queue has room again.
static bool incast_with(enum sim_flow_control flow_control, char message[LAW_MESSAGE])
{
	static struct network network;
	const uint64_t cable = 50000, n = 20, m = 200;
	bool holds;

	network_init(&network);
	network.parameters.flow_control = flow_control;
	network.parameters.xoff = 20 * BYTES;
	network.parameters.xon = 15 * BYTES;
	network.parameters.headroom = 10 * BYTES;
	network.parameters.input_buffer = 20 * BYTES;
	holds = network_begin_switch(&network, (uint32_t)n + 1, cable);
	for (uint32_t host = 1; holds && host <= n; host++)
		network_send(&network, host, (struct network_host){ .left = m, .bytes = BYTES });
	holds = holds && sim_run(network.engine, SIM_NEVER) &&
		law_equal("packets", network.packets[0], n * m, message) &&
		law_equal("completion time", network.last, (uint64_t)S * (n * m + 1) + 2 * cable,
			  message);
	network_end(&network);
	return holds;
}

static bool incast(char message[LAW_MESSAGE])
{
	return incast_with(SIM_NO_FLOW_CONTROL, message) && incast_with(SIM_PFC, message) &&
	       incast_with(SIM_CREDITS, message);
}

const struct law laws_of_queues[] = {
	{ "D/D/1", dd1 },     { "burst", burst },           { "M/D/1", md1 },
	{ "incast", incast }, { "priorities", priorities },
};
const size_t n_laws_of_queues = sizeof(laws_of_queues) / sizeof(laws_of_queues[0]);
