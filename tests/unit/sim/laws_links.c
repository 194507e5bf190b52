// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Links that lose nothing: pauses, credits, and receivers that refuse.
#include "laws.h"

#define BYTES 1250u
#define S     UINT64_C(100000) // ps, of 1250 bytes at 100 Gb/s
#define BYTE  UINT64_C(80)     // ps

#define CABLE    UINT64_C(1000000)
#define RESPONSE UINT64_C(200000)

#define RETRY_CABLE   UINT64_C(150000)
#define RETRY_PACKETS UINT64_C(10000)

static void pause_by(struct network *network, uint32_t host, uint16_t quanta)
{
	const uint16_t all[SIM_MAX_PRIORITIES] = { quanta };

	sim_host_pause(network->fabric, host, 1, all);
}

// Host 0 sends to host 2, which has paused the switch. With `reverse`, the switch begins to send a
// packet to host 0 just before it has to pause host 0.
static bool overrun(struct network *network, uint64_t headroom, bool reverse)
{
	const uint64_t begin = 10 * CABLE;
	// The 11th packet crosses the threshold of 10 packets.
	const uint64_t crosses = begin + 11 * S + CABLE;
	bool ok;

	network_init(network);
	network->parameters.xoff = 10 * BYTES;
	network->parameters.xon = 5 * BYTES;
	network->parameters.headroom = headroom;
	network->parameters.pause_response = RESPONSE;
	ok = network_begin_switch(network, 3, CABLE);
	if (!ok)
		return false;
	pause_by(network, 2, 65535);
	ok = sim_run(network->engine, begin);
	network_send(network, 0,
		     (struct network_host){ .left = 1000, .destination = 2, .bytes = BYTES });
	ok = ok && sim_run(network->engine, crosses - 1000 - S - CABLE) &&
	     (!reverse || network_send_one(network, 1, 0, BYTES)) &&
	     sim_run(network->engine, begin + 300 * 1000 * SIM_NANOSECOND);
	return ok;
}

// The headroom of PFC (IEEE 802.1Qbb-2011, annex O): after the threshold is crossed, the pause
// waits for a packet in its direction, of which 1000 ps have passed here, is sent in 64 bytes,
// crosses the cable, and the sender responds; then it ends its packet. What it has begun until then
// arrives one cable later, so that the packets of a time D + cable come, rounded up, beside that
// which crossed the threshold. One byte less of room loses one packet.
static bool headroom_with(bool reverse, char message[LAW_MESSAGE])
{
	static struct network network;
	const uint64_t d = (reverse ? S - 1000 : 0) + 64 * BYTE + CABLE + RESPONSE;
	const uint64_t needed = (1 + (d + CABLE + S - 1) / S) * BYTES;
	bool holds = overrun(&network, needed, reverse) &&
		     law_equal("lost with the headroom needed", network.dropped, 0, message) &&
		     law_equal("highest use of the buffer", network_switches(&network).input_peak,
			       10 * BYTES + needed, message);

	network_end(&network);
	if (!holds)
		return false;
	holds = overrun(&network, needed - 1, reverse) &&
		law_equal("lost with a byte less",
			  network_switches(&network).drops[SIM_DROP_HEADROOM], 1, message);
	network_end(&network);
	return holds;
}

static bool headroom(char message[LAW_MESSAGE])
{
	return headroom_with(false, message) && headroom_with(true, message);
}

// A pause of q quanta ends q * 512 bit times after it has arrived, if it is not repeated.
static bool pause_time(char message[LAW_MESSAGE])
{
	static struct network network;
	const uint64_t quanta = 4000;
	bool holds;

	network_init(&network);
	network.parameters.pause_response = RESPONSE;
	holds = network_begin_switch(&network, 3, CABLE);
	if (holds)
		pause_by(&network, 2, (uint16_t)quanta);
	holds =
	    holds && sim_run(network.engine, 10 * CABLE) &&
	    network_send_one(&network, 0, 2, BYTES) && sim_run(network.engine, SIM_NEVER) &&
	    law_equal("time of the packet", network.last,
		      64 * BYTE + CABLE + RESPONSE + quanta * 64 * BYTE + S + CABLE, message) &&
	    law_equal("time paused",
		      sim_port_view(network.fabric, sim_port_view(network.fabric, 2).peer).paused,
		      quanta * 64 * BYTE, message);
	network_end(&network);
	return holds;
}

// A switch that holds its sender repeats the pause before it ends. While host 2 pauses for ever,
// host 0 sends the 11 packets of which the last crosses the threshold, and one that it begins while
// the pause frame is sent, however short the time of one pause is.
static bool pause_repeated(char message[LAW_MESSAGE])
{
	static struct network network;
	bool holds;

	network_init(&network);
	network.parameters.pause_quanta = 500; // 2.56 us
	network.parameters.xoff = 10 * BYTES;
	network.parameters.xon = 5 * BYTES;
	holds = network_begin_switch(&network, 3, 0);
	for (unsigned i = 0; holds && i < 10; i++) {
		pause_by(&network, 2, 65535); // 335 us
		if (i == 0)
			network_send(&network, 0,
				     (struct network_host){
					 .left = 1000, .destination = 2, .bytes = BYTES });
		holds = sim_run(network.engine, (i + 1) * 300 * 1000 * SIM_NANOSECOND);
	}
	holds = holds && law_equal("packets of the paused host",
				   sim_port_view(network.fabric, 0).packets, 12, message);
	network_end(&network);
	return holds;
}

// A buffer for k packets, and credits that come back when a packet has left the next switch: k
// packets per round trip of 2 S and 2 cables, while that is less than the link.
static bool credits(char message[LAW_MESSAGE])
{
	static struct network network;
	const uint64_t k = 8, round_trip = 2 * S + 2 * CABLE;
	bool holds;

	network_init(&network);
	network.parameters.flow_control = SIM_CREDITS;
	network.parameters.input_buffer = k * BYTES;
	holds = network_begin_switch(&network, 3, CABLE);
	if (holds)
		network_send(&network, 0,
			     (struct network_host){
				 .left = NETWORK_FOREVER, .destination = 2, .bytes = BYTES });
	holds = holds && sim_run(network.engine, 1000 * round_trip) &&
		law_near("packets per round trip", (double)network.packets[2] / 1000, (double)k,
			 0.002, message) &&
		law_equal("packets lost", network.dropped, 0, message) &&
		law_equal("packets in the buffer at most",
			  network_switches(&network).input_peak <= k * BYTES, true, message);
	network_end(&network);
	return holds;
}

// Congestion with lossless links loses nothing, and all packets arrive, for each kind of switch.
static bool lossless(char message[LAW_MESSAGE])
{
	static struct network network;
	const struct sim_links links = { 100 * GBIT, 100000 };
	const struct sim_clos2 clos = { .leaves = 4,
					.spines = 2,
					.down = 4,
					.parallel = 1,
					.host_links = links,
					.spine_links = links };

	for (unsigned i = 0; i < 18; i++) {
		bool holds;

		network_init(&network);
		network.parameters.kind = i % 3;
		network.parameters.forwarding = i / 9;
		network.parameters.flow_control = SIM_PFC + i / 3 % 3;
		network.parameters.retry_time = 3 * S;
		network.parameters.xoff = 10 * BYTES;
		network.parameters.xon = 8 * BYTES;
		network.parameters.headroom = 10 * BYTES;
		network.parameters.input_buffer = 10 * BYTES;
		network.parameters.choice = SIM_RANDOM;
		holds = sim_topology_clos2(&network.topology, &clos, network.error) &&
			network_begin(&network);
		for (uint32_t host = 0; holds && host < 16; host++)
			network_send(&network, host,
				     (struct network_host){ .left = 1000,
							    .destination = SIM_MAX_HOSTS,
							    .bytes = BYTES });
		holds =
		    holds && sim_run(network.engine, SIM_NEVER) &&
		    law_equal("packets that arrive", sim_totals(network.fabric).delivered,
			      16 * 1000, message) &&
		    law_equal("packets underway", sim_totals(network.fabric).underway, 0,
			      message) &&
		    law_equal("bytes in the buffers", sim_port_view(network.fabric, 20).input, 0,
			      message) &&
		    law_equal("packets that were refused", sim_totals(network.fabric).refused > 0,
			      network.parameters.flow_control == SIM_RETRY, message) &&
		    law_equal("packets that were sent again", sim_totals(network.fabric).repeated,
			      sim_totals(network.fabric).refused, message) &&
		    law_equal("transmissions of packets that were accepted",
			      sim_totals(network.fabric).hops - sim_totals(network.fabric).refused,
			      network.links, message);
		network_end(&network);
		if (!holds)
			return false;
	}
	return true;
}

// Host 0 sends through a switch to host 1, whose link has a tenth of the rate. The switch has a
// buffer for `room` packets; host 0 waits for the response to the packet before, or is never
// without a packet that it may send.
static bool begin_slow_receiver(struct network *network, enum sim_flow_control flow_control,
				uint64_t room, uint64_t retry_time, bool waits)
{
	bool ok;

	network_init(network);
	network->parameters.flow_control = flow_control;
	network->parameters.input_buffer = room * BYTES;
	network->parameters.retry_time = retry_time;
	network->parameters.host_queue = waits ? 1 : 20 * BYTES;
	ok = sim_topology_begin(&network->topology, 2, 1, network->error);
	for (uint32_t host = 0; ok && host < 2; host++)
		ok = sim_topology_add(
		    &network->topology,
		    &(struct sim_link){ .ends = { host, 2 },
					.bits_per_second = host == 0 ? 100 * GBIT : 10 * GBIT,
					.delay = RETRY_CABLE },
		    network->error);
	ok = ok && network_begin(network);
	if (ok)
		network_send(network, 0,
			     (struct network_host){
				 .left = RETRY_PACKETS, .destination = 1, .bytes = BYTES });
	return ok;
}

// Counts of a fabric in which `refused` packets were refused, and nothing is underway.
static bool check_retries(const struct network *network, uint64_t refused,
			  char message[LAW_MESSAGE])
{
	const struct sim_totals totals = sim_totals(network->fabric);
	const struct sim_port port = sim_port_view(network->fabric, 0);

	return law_equal("packets that were not sent", network->hosts[0].left, 0, message) &&
	       law_equal("packets that arrive", network->packets[1], RETRY_PACKETS, message) &&
	       law_equal("packets that were refused", port.refused, refused, message) &&
	       law_equal("packets that were sent again", port.repeated, refused, message) &&
	       law_equal("packets sent", port.packets, RETRY_PACKETS + refused, message) &&
	       law_equal("all transmissions", totals.hops, 2 * RETRY_PACKETS + refused, message) &&
	       law_equal("bytes for the port", port.queued, 0, message) &&
	       law_equal("packets underway", totals.underway, 0, message);
}

// A receiver with room for one packet frees it after the time D of the slow link. The next packet
// comes S + cable after it was accepted, and again after each P = S + 2 cables + the retry time:
// n = (D - S - cable) / P times, rounded up, it is refused, and is accepted at S + cable + n P.
static bool retry(char message[LAW_MESSAGE])
{
	static const uint64_t times[] = { 0, 130000, 1000000 };
	static struct network network;
	const uint64_t first = S + RETRY_CABLE, d = 10 * S;

	for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		const uint64_t p = S + 2 * RETRY_CABLE + times[i];
		const uint64_t n = (d - first + p - 1) / p;
		const uint64_t end =
		    first + (RETRY_PACKETS - 1) * (first + n * p) + d + RETRY_CABLE;
		bool holds = begin_slow_receiver(&network, SIM_RETRY, 1, times[i], true) &&
			     sim_run(network.engine, end) &&
			     check_retries(&network, (RETRY_PACKETS - 1) * n, message) &&
			     law_equal("time of the last packet", network.last, end, message);

		network_end(&network);
		if (!holds)
			return false;
	}
	return true;
}

// With room for 4 packets the slow link never waits: a packet per D leaves. What remains of the
// time of the host, which needs S + cable for a packet that is accepted, are refusals of P each.
static bool retry_load(char message[LAW_MESSAGE])
{
	static struct network network;
	const uint64_t first = S + RETRY_CABLE, d = 10 * S, p = S + 2 * RETRY_CABLE + 130000;
	const uint64_t end = first + RETRY_PACKETS * d + RETRY_CABLE;
	bool holds =
	    begin_slow_receiver(&network, SIM_RETRY, 4, 130000, true) &&
	    sim_run(network.engine, end) &&
	    law_equal("time of the last packet", network.last, end, message) &&
	    check_retries(&network, sim_totals(network.fabric).refused, message) &&
	    law_near("packets that were refused", (double)sim_totals(network.fabric).refused,
		     (double)RETRY_PACKETS * (double)(d - first) / (double)p, 0.01, message);

	network_end(&network);
	return holds;
}

// A packet that was refused is overtaken by others of its host, which credits do not let happen.
static bool retry_order(char message[LAW_MESSAGE])
{
	static struct network network;

	for (unsigned i = 0; i < 2; i++) {
		const enum sim_flow_control flow_control = i == 0 ? SIM_CREDITS : SIM_RETRY;
		bool holds = begin_slow_receiver(&network, flow_control, 4, 10 * S, false) &&
			     sim_run(network.engine, (RETRY_PACKETS + 1000) * 10 * S) &&
			     check_retries(&network, sim_totals(network.fabric).refused, message) &&
			     law_equal("packets are overtaken", network.overtaken > 0,
				       flow_control == SIM_RETRY, message);

		network_end(&network);
		if (!holds)
			return false;
	}
	return true;
}

// A switch has room for k packets, and the copy of each until the next switch has responded, a long
// cable there and back: k packets per S + 2 cables, and up to S until the host sends one again.
static bool retry_copies(char message[LAW_MESSAGE])
{
	static struct network network;
	const uint64_t k = 8, run = 100000;
	const struct sim_link chain[] = {
		{ .ends = { 0, 2 }, .bits_per_second = 100 * GBIT },
		{ .ends = { 2, 3 }, .bits_per_second = 100 * GBIT, .delay = 10 * S },
		{ .ends = { 3, 1 }, .bits_per_second = 100 * GBIT },
	};
	bool holds;

	network_init(&network);
	network.parameters.flow_control = SIM_RETRY;
	network.parameters.input_buffer = k * BYTES;
	network.parameters.host_queue = 20 * BYTES;
	holds = sim_topology_begin(&network.topology, 2, 2, network.error);
	for (unsigned i = 0; holds && i < 3; i++)
		holds = sim_topology_add(&network.topology, &chain[i], network.error);
	holds = holds && network_begin(&network);
	if (holds)
		network_send(&network, 0,
			     (struct network_host){
				 .left = NETWORK_FOREVER, .destination = 1, .bytes = BYTES });
	holds = holds && sim_run(network.engine, run * S) &&
		law_near("packets", (double)network.packets[1], (double)(run * k) / 21.5, 0.03,
			 message);
	network_end(&network);
	return holds;
}

// A link that loses a share p lets (1 - p) of the packets through.
static bool random_loss(char message[LAW_MESSAGE])
{
	static struct network network;
	bool holds;

	network_init(&network);
	holds = sim_topology_begin(&network.topology, 2, 1, network.error);
	for (uint32_t host = 0; holds && host < 2; host++)
		holds = sim_topology_add(&network.topology,
					 &(struct sim_link){ .ends = { host, 2 },
							     .bits_per_second = 100 * GBIT,
							     .loss = host == 0 ? 0.1 : 0 },
					 network.error);
	holds = holds && network_begin(&network);
	if (holds)
		network_send(
		    &network, 0,
		    (struct network_host){ .left = 100000, .destination = 1, .bytes = BYTES });
	holds = holds && sim_run(network.engine, SIM_NEVER) &&
		law_near("packets lost", (double)network.dropped, 10000, 0.02, message) &&
		law_equal("packets in all", network.dropped + network.packets[1], 100000, message);
	network_end(&network);
	return holds;
}

const struct law laws_of_links[] = {
	{ "credits", credits },       { "headroom", headroom },
	{ "lossless", lossless },     { "pause repeated", pause_repeated },
	{ "pause time", pause_time }, { "random loss", random_loss },
	{ "retry", retry },           { "retry copies", retry_copies },
	{ "retry load", retry_load }, { "retry order", retry_order },
};
const size_t n_laws_of_links = sizeof(laws_of_links) / sizeof(laws_of_links[0]);
