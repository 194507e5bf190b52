// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of the fabric share.
//
// A link has a port at each end. A port transmits: packets wait for it in queues. What arrives at
// its end of the link is counted in the inputs of the same number, until it has left the switch.
#pragma once

#include "base/random.h"
#include "sim/fabric.h"
#include "sim/routes.h"

#define SIM_NONE           UINT32_MAX
#define SIM_FRACTION_BITS  16u // of times per byte
#define SIM_CUT_THROUGH_AT 64u // bytes that have arrived when a packet is forwarded

// What a port is sending; bytes 0: a pause frame.
struct sim_sending {
	uint32_t bytes;
	uint32_t from;
	uint32_t priority;
};

// A large part of a simulation's time is spent waiting for memory. Therefore records begin at cache
// lines, and a port has what each packet needs in its first line and the counters in its second
// one.
#define SIM_CACHE_LINE 64u

struct sim_sender {
	// Time per byte, ps, SIM_FRACTION_BITS of fraction; 0: the link is down.
	_Alignas(SIM_CACHE_LINE) uint64_t byte_time;
	uint64_t delay; // ps, of the cable, and of what follows it
	double loss;
	uint32_t peer;
	uint32_t node, peer_node;
	uint32_t link;
	struct sim_sending sending;
	bool is_sending;
	bool peer_is_switch;
	uint8_t backlog;     // bitmap: priorities with packets in the queues of the port
	uint8_t paused;      // bitmap
	uint8_t starved;     // bitmap: priorities that wait for credits, or were refused last
	uint8_t turn;        // priority that comes next; behind the last one is the first one
	uint8_t pauses_due;  // bitmap: priorities for which a pause frame is to be sent
	uint8_t holds;       // bitmap: priorities whose peer is to be paused
	uint8_t storms;      // bitmap, of holds: whatever there is in the buffer
	uint8_t room_wanted; // bitmap, of a host: priorities of which a packet was refused
	bool may_burst;
	bool has_crossbar; // of an input-queued switch: packets wait there
	_Alignas(SIM_CACHE_LINE) uint64_t packets;
	uint64_t bytes, busy, waited, paused_time, pauses, marked;
	uint64_t cable;                           // ps
	uint16_t host_quanta[SIM_MAX_PRIORITIES]; // of the pause frame due, of a host
	uint64_t drops[SIM_N_CAUSES];
	uint64_t even; // time at which a link without bursts would be free
};

// Packets that wait for a port, per priority. The input-queued kinds have their lists elsewhere,
// and here only bytes.
struct sim_queue {
	_Alignas(SIM_CACHE_LINE / 2) uint32_t first;
	uint32_t last;
	uint64_t bytes; // with the packet that is being sent
	uint64_t peak;
};

// What flow control knows per port and priority. `input` is about packets that came in; the rest
// about those that go out.
struct sim_flow {
	_Alignas(SIM_CACHE_LINE) uint64_t input;
	uint64_t input_peak;
	uint64_t repeat_at;    // of the pause that the peer is sent
	uint64_t paused_until; // by the peer
	uint64_t paused_since;
	uint64_t credits; // bytes
	uint32_t lacks;   // size of the packet for which there are too few
	uint64_t room;    // with a shared buffer: the input up to which the headroom lasts
};

// What priorities have sent through a port, with SIM_WEIGHTED, in bytes / weight * SIM_SHARE_UNIT.
#define SIM_SHARE_UNIT UINT64_C(65536)
struct sim_share {
	uint64_t now;
	uint64_t ends[SIM_MAX_PRIORITIES];
};

// What the receiver at the other end of a port's link refused, with SIM_RETRY.
struct sim_retries {
	uint64_t refused, repeated; // packets
};

// The shared buffer of a switch.
struct sim_shared {
	uint64_t used, peak; // bytes
};

struct sim_crossbar; // of a switch; crossbar.c

enum sim_kind {
	SIM_ARRIVES,
	SIM_DELIVERS,
	SIM_PORT_SENT,
	SIM_PAUSES,
	SIM_PAUSE_ENDS,
	SIM_REPEATS_PAUSE,
	SIM_CREDIT,
	SIM_COPY_FREED,
	SIM_REPEATS,
	SIM_ARBITRATES,
	SIM_LOOKS_FOR_DEADLOCK,
	SIM_N_KINDS
};

struct sim_fabric {
	struct sim_engine *engine;
	const uint64_t *now; // ps
	struct sim_packet *packets;
	struct sim_sender *ports;
	struct sim_queue *queues;       // by sim_place()
	struct sim_flow *flows;         // same
	struct sim_crossbar *crossbars; // per switch; NULL: output-queued
	struct sim_routes routes;
	struct sim_fabric_parameters parameters;
	struct random random;
	unsigned handlers[SIM_N_KINDS];
	uint32_t first_free; // packet
	uint32_t used;       // of `packets`
	uint32_t n_hosts, n_switches, n_ports, n_links;
	uint32_t *link_ports; // a port of each link
	uint64_t *delivered; // [n_hosts]: time of the last delivery, ps; NULL: hosts have one delay
	uint32_t *first_port; // of each node, and the end
	struct sim_totals totals;
	struct sim_host_operations operations;
	void *context;
	uint32_t observed; // host; SIM_NONE: nobody observes
	struct sim_observer observer;
	// What is compared for each packet and hop. A buffer that is shared makes the limits 0, so
	// that what is only done for it costs the others nothing.
	uint64_t queue_limit;      // bytes above which a queue may have no room
	uint64_t input_limit;      // same, of an input with PFC
	uint64_t watched;          // bytes of an input above which it may have to pause its sender
	bool may_lose;             // a link may lose packets at random, or has lost them
	bool gives_back;           // what leaves a switch is credited, or leaves the shared buffer
	struct sim_shared *shared; // [n_switches]; NULL: none
	uint64_t alpha;            // 2^-16
	struct sim_share *shares;  // [n_ports]; NULL: not weighted
	struct sim_retries *retries; // [n_ports]; NULL: not SIM_RETRY
	uint32_t n_blocked;          // ports and priorities that are paused or starved
	bool looks_for_deadlock, has_deadlock;
	size_t memory;
};

static inline uint64_t sim_wire_time(const struct sim_fabric *fabric, const struct sim_sender *port,
				     uint32_t bytes)
{
	return ((bytes + fabric->parameters.overhead) * port->byte_time +
		(1u << (SIM_FRACTION_BITS - 1))) >>
	       SIM_FRACTION_BITS;
}

// Where arrays have what belongs to a port, or a number of a port within its switch, and a
// priority.
static inline uint32_t sim_place(const struct sim_fabric *fabric, uint32_t port, unsigned priority)
{
	return port * fabric->parameters.n_priorities + priority;
}

static inline struct sim_queue *sim_queue_at(const struct sim_fabric *fabric, uint32_t port,
					     unsigned priority)
{
	return &fabric->queues[sim_place(fabric, port, priority)];
}

static inline struct sim_flow *sim_flow_at(const struct sim_fabric *fabric, uint32_t port,
					   unsigned priority)
{
	return &fabric->flows[sim_place(fabric, port, priority)];
}

static inline bool sim_is_lossless(const struct sim_fabric *fabric, unsigned priority)
{
	return fabric->parameters.flow_control != SIM_NO_FLOW_CONTROL &&
	       (fabric->parameters.lossless >> priority & 1) != 0;
}

// Whether the sender has a copy of each packet until the receiver has responded.
static inline bool sim_has_copies(const struct sim_fabric *fabric, uint32_t port, unsigned priority)
{
	return fabric->retries != NULL && fabric->ports[port].peer_is_switch &&
	       sim_is_lossless(fabric, priority);
}

// shares.c: counts what the port has sent last, before something else is sent.
void sim_share_count(struct sim_fabric *fabric, uint32_t port);
// A priority of those in the bitmap (not 0) that has had the least of its share.
unsigned sim_share_next(struct sim_fabric *fabric, uint32_t port, unsigned bitmap);

// A priority of those in the bitmap (not 0) that a port serves next.
static inline unsigned sim_next_priority(struct sim_fabric *fabric, uint32_t port, unsigned bitmap)
{
	unsigned later;

	if (fabric->parameters.arbitration == SIM_STRICT_PRIORITY)
		return 31 - (unsigned)__builtin_clz(bitmap);
	if (fabric->parameters.arbitration == SIM_WEIGHTED)
		return sim_share_next(fabric, port, bitmap);
	later = bitmap & ~((1u << fabric->ports[port].turn) - 1);
	return (unsigned)__builtin_ctz(later != 0 ? later : bitmap);
}

// switching.c
void sim_arrives(void *fabric, uint32_t packet, uint32_t node);
void sim_delivers(void *fabric, uint32_t packet, uint32_t data);
// Gives up a packet that is in no queue.
void sim_drop(struct sim_fabric *fabric, uint32_t packet, uint32_t port, enum sim_cause cause);
void sim_free_packet(struct sim_fabric *fabric, uint32_t packet);

// transmit.c
void sim_port_sent(void *fabric, uint32_t port, uint32_t data);
// Begins to send what is due at a port that is idle.
void sim_send_next(struct sim_fabric *fabric, uint32_t port);

// The same, if it is idle, its link is up and something may be due.
static inline void sim_start(struct sim_fabric *fabric, uint32_t port)
{
	const struct sim_sender *sender = &fabric->ports[port];

	if (!sender->is_sending && sender->byte_time != 0 &&
	    ((sender->backlog & ~sender->paused) | sender->pauses_due | sender->has_crossbar) != 0)
		sim_send_next(fabric, port);
}

// Appends a packet to the queue of the port that it is for.
void sim_enqueue(struct sim_fabric *fabric, uint32_t packet);
// The same of one that was refused.
void sim_repeats(void *fabric, uint32_t packet, uint32_t data);
// The host may send again what it was refused, if its queue has room now.
void sim_tell_room(struct sim_fabric *fabric, uint32_t host, unsigned priority);

// retry.c: a packet whose sender has a copy is at a switch. The switch responds. True: the packet
// goes on, and its sender is done with it; false: it is the sender's again.
bool sim_responds(struct sim_fabric *fabric, uint32_t packet, bool is_lost);
void sim_copy_freed(void *fabric, uint32_t port, uint32_t data);

// flow_control.c
// A packet entered the switch through `port`, or has left it.
void sim_input(struct sim_fabric *fabric, uint32_t port, unsigned priority, uint32_t bytes);
void sim_output(struct sim_fabric *fabric, uint32_t port, unsigned priority, uint32_t bytes);
// shared.c: the shared buffers. Limits of a queue or an input of a switch, bytes.
bool sim_shared_create(struct sim_fabric *fabric);
uint64_t sim_shared_limit(const struct sim_fabric *fabric, uint32_t port);
// Whether a queue of `used` bytes has room for a packet.
bool sim_shared_has_room(const struct sim_fabric *fabric, const struct sim_packet *packet,
			 uint64_t used);
// The same of an input with PFC: false if its headroom is used up.
bool sim_shared_has_headroom(const struct sim_fabric *fabric, const struct sim_packet *packet);
void sim_shared_enter(struct sim_fabric *fabric, uint32_t port, uint32_t bytes);
void sim_shared_leave(struct sim_fabric *fabric, uint32_t port, uint32_t bytes);
// The bytes above which an input pauses its sender, and those at which the pause ends.
uint64_t sim_xoff(const struct sim_fabric *fabric, uint32_t port);
uint64_t sim_xon(const struct sim_fabric *fabric, uint32_t port);

// With credits: the bytes that came in through `port` need no buffer any more.
void sim_return_credit(struct sim_fabric *fabric, uint32_t port, unsigned priority, uint32_t bytes);
// The time of a pause of so many quanta, ps, at the present rate of the port.
uint64_t sim_pause_time(const struct sim_sender *port, unsigned quanta);
// Sends the pause frame that is due at an idle port.
void sim_send_pause(struct sim_fabric *fabric, uint32_t port);
// A port lacks room at the receiver for a packet of so many bytes, or does not any more.
void sim_starves(struct sim_fabric *fabric, uint32_t port, unsigned priority, uint32_t bytes);
void sim_starves_no_more(struct sim_fabric *fabric, uint32_t port, unsigned priority);
void sim_pauses(void *fabric, uint32_t port, uint32_t data);
void sim_pause_ends(void *fabric, uint32_t port, uint32_t data);
void sim_repeats_pause(void *fabric, uint32_t port, uint32_t data);
void sim_credit(void *fabric, uint32_t port, uint32_t data);

static inline bool sim_uses_credits(const struct sim_fabric *fabric, uint32_t port,
				    unsigned priority)
{
	return fabric->parameters.flow_control == SIM_CREDITS &&
	       fabric->ports[port].peer_is_switch && sim_is_lossless(fabric, priority);
}

// Whether the next buffer has room for a packet.
static inline bool sim_may_send(struct sim_fabric *fabric, uint32_t port, unsigned priority,
				uint32_t bytes)
{
	if (!sim_uses_credits(fabric, port, priority) ||
	    sim_flow_at(fabric, port, priority)->credits >= bytes)
		return true;
	sim_starves(fabric, port, priority, bytes);
	return false;
}

static inline void sim_take_credit(struct sim_fabric *fabric, uint32_t port, unsigned priority,
				   uint32_t bytes)
{
	if (sim_uses_credits(fabric, port, priority))
		sim_flow_at(fabric, port, priority)->credits -= bytes;
}

// deadlock.c
void sim_looks_for_deadlock(void *fabric, uint32_t index, uint32_t data);

// crossbar.c, for the input-queued kinds.
bool sim_crossbars_create(struct sim_fabric *fabric);
void sim_crossbars_destroy(struct sim_fabric *fabric);
void sim_crossbar_enqueue(struct sim_fabric *fabric, uint32_t packet);
// Takes a packet for an idle port; SIM_NONE: there is none that may go. `allowed`: priorities.
uint32_t sim_crossbar_take(struct sim_fabric *fabric, uint32_t port, unsigned allowed);
// A packet has left: its input port may serve another output port.
void sim_crossbar_release(struct sim_fabric *fabric, uint32_t input);
void sim_arbitrates(void *fabric, uint32_t crossbar, uint32_t data);
// Adds to stuck[] the bytes that wait for blocked ports; see deadlock.c.
void sim_crossbar_stuck(const struct sim_fabric *fabric, const uint8_t *blocked, uint64_t *stuck,
			uint32_t *next);
