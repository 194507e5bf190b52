// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Shares of priorities, and buffers that all queues of a switch share.
#include "laws.h"

#define BYTES 1250u
#define S     UINT64_C(100000) // ps, of 1250 bytes at 100 Gb/s

static void flood(struct network *network, uint32_t from, uint32_t to)
{
	network_send(
	    network, from,
	    (struct network_host){ .left = NETWORK_FOREVER, .destination = to, .bytes = BYTES });
}

// Two priorities with weights 1 and 3 that always have packets, of different sizes: the bytes that
// they send are as 1 to 3. A priority that has sent nothing for a time does not make up for it.
static bool weighted_shares(char message[LAW_MESSAGE])
{
	static struct network network;
	bool holds;

	network_init(&network);
	network.parameters.n_priorities = 2;
	network.parameters.arbitration = SIM_WEIGHTED;
	network.parameters.weights[0] = 1;
	network.parameters.weights[1] = 3;
	network.parameters.flow_control = SIM_NO_FLOW_CONTROL;
	network.parameters.queue = 10 * BYTES;
	holds = network_begin_switch(&network, 3, 0);
	if (holds)
		flood(&network, 1, 0);
	holds = holds && sim_run(network.engine, 1002 * S) &&
		law_near("packets alone", (double)network.packets_of[0], 1000, 0.002, message);
	network.packets_of[0] = 0;
	if (holds)
		network_send(&network, 2,
			     (struct network_host){
				 .left = NETWORK_FOREVER, .bytes = BYTES / 2, .priority = 1 });
	holds =
	    holds && sim_run(network.engine, 3002 * S) &&
	    law_near("packets of priority 0", (double)network.packets_of[0], 500, 0.01, message) &&
	    law_near("packets of priority 1", (double)network.packets_of[1], 3000, 0.01, message);
	network_end(&network);
	return holds;
}

// Packets in the queue in front of a host.
static double queue_of(const struct network *network, uint32_t host)
{
	const uint32_t port = sim_port_view(network->fabric, host).peer;

	return (double)sim_port_view(network->fabric, port).queue_peak / BYTES;
}

// With dynamic thresholds, n queues that overflow have alpha * B / (1 + n * alpha) bytes each
// (Choudhury, Hahne 1998).
static bool thresholds(double alpha, unsigned n, char message[LAW_MESSAGE])
{
	static struct network network;
	const double buffer = 200;
	bool holds;

	network_init(&network);
	network.parameters.flow_control = SIM_NO_FLOW_CONTROL;
	network.parameters.shared_buffer = (uint64_t)buffer * BYTES;
	network.parameters.alpha = alpha;
	holds = network_begin_switch(&network, 3 * n, 0);
	for (uint32_t i = 0; holds && i < n; i++) {
		flood(&network, 3 * i + 1, 3 * i);
		flood(&network, 3 * i + 2, 3 * i);
	}
	holds = holds && sim_run(network.engine, 5000 * S);
	for (uint32_t i = 0; holds && i < n; i++)
		holds = law_near("packets of a queue", queue_of(&network, 3 * i),
				 alpha * buffer / (1 + n * alpha), 0.05, message) &&
			law_near("packets received", (double)network.packets[3 * i], 5000, 0.01,
				 message);
	holds = holds && law_near("bytes of the buffer", (double)sim_shared_peak(network.fabric),
				  n * alpha * buffer * BYTES / (1 + n * alpha), 0.05, message);
	network_end(&network);
	return holds;
}

static bool dynamic_thresholds(char message[LAW_MESSAGE])
{
	return thresholds(1, 1, message) && thresholds(1, 3, message) &&
	       thresholds(0.25, 1, message) && thresholds(2, 2, message);
}

// The same of inputs that pause: nothing is lost, and the link stays busy. An input has more while
// the others have less than their thresholds.
static bool shared_pauses(char message[LAW_MESSAGE])
{
	static struct network network;
	const unsigned n = 4;
	bool holds;

	network_init(&network);
	network.parameters.shared_buffer = 200 * BYTES;
	network.parameters.alpha = 1;
	network.parameters.xoff = 20 * BYTES; // ends a pause 10 packets below the threshold
	network.parameters.xon = 10 * BYTES;
	network.parameters.headroom = 4 * BYTES;
	holds = network_begin_switch(&network, n + 1, 0);
	for (uint32_t i = 0; holds && i < n; i++)
		flood(&network, i + 1, 0);
	holds = holds && sim_run(network.engine, 5000 * S) &&
		law_equal("packets lost", network.dropped, 0, message) &&
		law_near("packets received", (double)network.packets[0], 5000, 0.01, message);
	for (uint32_t i = 0; holds && i < n; i++) {
		const uint32_t port = sim_port_view(network.fabric, i + 1).peer;

		holds = law_near("bytes of an input",
				 (double)sim_port_view(network.fabric, port).input_peak / BYTES,
				 200.0 / (1 + n), 0.2, message);
	}
	network_end(&network);
	return holds;
}

const struct law laws_of_buffers[] = {
	{ "dynamic thresholds", dynamic_thresholds },
	{ "shared pauses", shared_pauses },
	{ "weighted shares", weighted_shares },
};
const size_t n_laws_of_buffers = sizeof(laws_of_buffers) / sizeof(laws_of_buffers[0]);
