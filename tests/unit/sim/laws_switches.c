// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Switches: how their kinds, their forwarding and their limits differ.
#include "laws.h"

#define BYTES 1250u
#define S     UINT64_C(100000) // ps, of 1250 bytes at 100 Gb/s

// Share of the time for which the outputs are busy if all inputs always have packets, for outputs
// drawn at random. Input buffers are kept full by more packets than they take.
static bool saturate(struct network *network, enum sim_switch_kind kind, uint32_t n_ports,
		     uint64_t slots, double *share)
{
	uint64_t before;
	bool ok;

	network_init(network);
	network->parameters.kind = kind;
	network->parameters.flow_control = SIM_NO_FLOW_CONTROL;
	network->parameters.queue = 40 * n_ports * BYTES;
	ok = network_begin_switch(network, n_ports, 0);
	for (uint32_t host = 0; ok && host < n_ports; host++)
		network_send(network, host,
			     (struct network_host){ .left = NETWORK_FOREVER,
						    .destination = SIM_MAX_HOSTS,
						    .bytes = BYTES });
	ok = ok && sim_run(network->engine, slots / 4 * S);
	before = ok ? network_switches(network).packets : 0;
	ok = ok && sim_run(network->engine, (slots / 4 + slots) * S);
	if (ok)
		*share = (double)(network_switches(network).packets - before) /
			 (double)(slots * n_ports);
	network_end(network);
	return ok;
}

// The head of a FIFO blocks what is behind it: 2 - sqrt(2) = 0.586 for many ports, 0.75 for two
// (Karol, Hluchyj, Morgan, "Input versus output queueing on a space-division packet switch", 1987).
static bool head_of_line(char message[LAW_MESSAGE])
{
	static struct network network;
	double many = 0, two = 0;

	return saturate(&network, SIM_INPUT_FIFO, 64, 8000, &many) &&
	       law_near("saturation of 64 ports", many, 2 - sqrt(2), 0.01, message) &&
	       saturate(&network, SIM_INPUT_FIFO, 2, 200000, &two) &&
	       law_near("saturation of 2 ports", two, 0.75, 0.01, message);
}

// Virtual output queues do not block: an output is idle only if no idle input has a packet for it.
static bool no_head_of_line(char message[LAW_MESSAGE])
{
	static struct network network;
	double share = 0;

	return saturate(&network, SIM_VIRTUAL_OUTPUT_QUEUED, 16, 10000, &share) &&
	       law_near("saturation with virtual output queues", share, 1, 0.01, message) &&
	       saturate(&network, SIM_OUTPUT_QUEUED, 16, 10000, &share) &&
	       law_near("saturation with output queues", share, 1, 0.01, message);
}

// Inputs in turn: of n that always have packets for one output, each gets one n-th of it.
static bool round_robin(char message[LAW_MESSAGE])
{
	static struct network network;
	bool holds;

	network_init(&network);
	network.parameters.kind = SIM_VIRTUAL_OUTPUT_QUEUED;
	network.parameters.flow_control = SIM_NO_FLOW_CONTROL;
	network.parameters.queue = 10 * BYTES;
	holds = network_begin_switch(&network, 8, 0);
	for (uint32_t host = 1; holds && host < 8; host++)
		network_send(&network, host,
			     (struct network_host){ .left = NETWORK_FOREVER, .bytes = BYTES });
	holds = holds && sim_run(network.engine, 7002 * S);
	for (uint32_t host = 1; holds && host < 8; host++)
		holds = law_near("packets of an input", (double)network.from[host], 1000, 0.002,
				 message);
	network_end(&network);
	return holds;
}

// Priorities in turn, one packet each: two that always have packets get half of the link each.
static bool round_robin_of_priorities(char message[LAW_MESSAGE])
{
	static struct network network;
	bool holds;

	network_init(&network);
	network.parameters.n_priorities = 2;
	network.parameters.arbitration = SIM_ROUND_ROBIN;
	network.parameters.flow_control = SIM_NO_FLOW_CONTROL;
	network.parameters.queue = 10 * BYTES;
	holds = network_begin_switch(&network, 3, 0);
	for (uint32_t host = 1; holds && host < 3; host++)
		network_send(&network, host,
			     (struct network_host){
				 .left = NETWORK_FOREVER, .bytes = BYTES, .priority = host == 2 });
	holds =
	    holds && sim_run(network.engine, 2002 * S) &&
	    law_near("packets of priority 0", (double)network.packets_of[0], 1000, 0.002,
		     message) &&
	    law_near("packets of priority 1", (double)network.packets_of[1], 1000, 0.002, message);
	network_end(&network);
	return holds;
}

// A chain of 4 switches between 2 hosts: 5 links, of which the last may be faster.
static bool cross_chain(struct network *network, enum sim_forwarding forwarding, uint64_t last_rate,
			uint64_t *time)
{
	bool ok;

	network_init(network);
	network->parameters.forwarding = forwarding;
	network->parameters.switch_delay = 300000;
	network->parameters.host_delay = 700000;
	ok = sim_topology_begin(&network->topology, 2, 4, network->error);
	for (uint32_t i = 0; ok && i < 5; i++) {
		const struct sim_link link = { .ends = { i == 0 ? 0 : i + 1, i == 4 ? 1 : i + 2 },
					       .bits_per_second = i == 4 ? last_rate : 100 * GBIT,
					       .delay = 10000 };

		ok = sim_topology_add(&network->topology, &link, network->error);
	}
	ok = ok && network_begin(network) && network_send_one(network, 0, 1, BYTES) &&
	     sim_run(network->engine, SIM_NEVER);
	*time = network->last;
	network_end(network);
	return ok;
}

// Over h links with cables of delay c and h - 1 switches of delay d, store and forward takes
// h (S + c) + (h - 1) d, cut-through S + h c + (h - 1) (d + 64 bytes); the host's delay follows.
// Where the last link is faster, it ends when the last bit has arrived.
static bool latency(char message[LAW_MESSAGE])
{
	static struct network network;
	uint64_t time = 0;

	return cross_chain(&network, SIM_STORE_AND_FORWARD, 100 * GBIT, &time) &&
	       law_equal("store and forward", time, 5 * (S + 10000) + 4 * 300000 + 700000,
			 message) &&
	       cross_chain(&network, SIM_CUT_THROUGH, 400 * GBIT, &time) &&
	       law_equal("cut-through to a faster link", time,
			 S + 5 * 10000 + 4 * 300000 + 3 * 64 * 80 + 700000, message) &&
	       cross_chain(&network, SIM_CUT_THROUGH, 100 * GBIT, &time) &&
	       law_equal("cut-through", time, S + 5 * 10000 + 4 * (300000 + 64 * 80) + 700000,
			 message);
}

// A host with a link r times as fast sends m packets towards a queue for k packets. Once this is
// full, each packet that leaves lets in one: k + floor((m - 1) / r) in total, where the queue
// counts the packet that is being sent.
static bool tail_drop(char message[LAW_MESSAGE])
{
	static struct network network;
	const uint64_t rates[2] = { 100 * GBIT, 27 * GBIT };
	const uint64_t m = 500, k = 30;
	bool holds;

	network_init(&network);
	network.parameters.flow_control = SIM_NO_FLOW_CONTROL;
	network.parameters.queue = k * BYTES;
	holds = sim_topology_begin(&network.topology, 2, 1, network.error);
	for (uint32_t host = 0; holds && host < 2; host++)
		holds = sim_topology_add(
		    &network.topology,
		    &(struct sim_link){ .ends = { host, 2 }, .bits_per_second = rates[host] },
		    network.error);
	holds = holds && network_begin(&network);
	if (holds)
		network_send(&network, 0,
			     (struct network_host){ .left = m, .destination = 1, .bytes = BYTES });
	holds =
	    holds && sim_run(network.engine, SIM_NEVER) &&
	    law_equal("packets that pass", network.packets[1], k + (m - 1) * 27 / 100, message) &&
	    law_equal("packets dropped", network.dropped, m - network.packets[1], message);
	network_end(&network);
	return holds;
}

// n packets that arrive at once find 0, 1, ... n - 1 packets in the queue. Of those that find i,
// RED marks the share (i BYTES - low) / (high - low) * red_share, 0 below low and 1 from high on.
static bool red(char message[LAW_MESSAGE])
{
	static struct network network;
	const unsigned n = 20, bursts = 20000;
	double expected = 0;
	bool holds;

	network_init(&network);
	network.parameters.flow_control = SIM_NO_FLOW_CONTROL;
	network.parameters.red_low = 5 * BYTES;
	network.parameters.red_high = 15 * BYTES;
	network.parameters.red_share = 0.2;
	for (unsigned i = 0; i < n; i++)
		expected += i >= 15 ? 1 : i > 5 ? (i - 5) / 10.0 * 0.2 : 0;
	holds = network_begin_switch(&network, n + 1, 0);
	for (unsigned burst = 0; holds && burst < bursts; burst++) {
		for (uint32_t host = 1; host <= n; host++)
			network_send(
			    &network, host,
			    (struct network_host){ .left = 1, .bytes = BYTES, .may_mark = true });
		holds = sim_run(network.engine, (burst + 1) * (n + 2) * S);
	}
	holds = holds && law_near("marks per burst", (double)network.marked / bursts, expected,
				  0.01, message);
	network_end(&network);
	return holds;
}

const struct law laws_of_switches[] = {
	{ "RED", red },
	{ "head of line", head_of_line },
	{ "latency", latency },
	{ "no head of line", no_head_of_line },
	{ "round robin", round_robin },
	{ "round robin of priorities", round_robin_of_priorities },
	{ "tail drop", tail_drop },
};
const size_t n_laws_of_switches = sizeof(laws_of_switches) / sizeof(laws_of_switches[0]);
