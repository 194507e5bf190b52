// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A simulated fabric: hosts, links and switches that move packets in simulated time. A packet is a
// record without content; a caller that has real frames keeps them, and puts their number into
// `user`.
//
// The path of a packet: sim_send() puts it into the transmit queue of its host; it passes switches;
// at the end the fabric calls either deliver() or dropped(), exactly once per packet that
// sim_send() accepted, unless the simulation ends before.
//
// Ports are numbered from 0 in the order of nodes, and within a node in the order of its links in
// the topology. A port is the transmitting side of one end of a link, with the queues in front of
// it; the port of host h has the number h. Port p sends to the node of its peer.
//
// Threads: one, that of the engine.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/engine.h"
#include "sim/law.h"
#include "sim/route_table.h"
#include "sim/topology.h"
#include "sim/tracer.h"

#define SIM_MAX_PRIORITIES   8u
#define SIM_MAX_PACKET_BYTES 65535u
#define SIM_MAX_PACKETS      (1u << 26)
#define SIM_MAX_BURST        (UINT64_C(1) << 24)
#define SIM_MAX_SHARED       (UINT64_C(1) << 34)
#define SIM_MAX_ALPHA        64
#define SIM_QUANTUM_BITS     512u // unit of pause times (IEEE 802.3, annex 31B)

struct sim_fabric;

// 64 bytes. The sender fills in the first block; sim_send() copies the record.
struct sim_packet {
	uint64_t user;   // free for the sender
	uint32_t source; // host
	uint32_t destination;
	uint32_t flow;    // packets of one flow take one path with SIM_ECMP
	uint32_t bytes;   // of the frame, 1 to SIM_MAX_PACKET_BYTES; see also `overhead`
	uint8_t priority; // below the number of priorities
	bool may_mark;    // ECN-capable: RED marks it
	// The fabric fills in:
	bool marked : 1;  // congestion experienced
	bool refused : 1; // internal, with SIM_RETRY: by the switch that it is sent to
	uint8_t hops;     // links passed
	uint32_t next;    // internal
	uint64_t sent;    // time of sim_send()
	// Internal:
	uint64_t queued; // time at which it was put into the queue where it is
	uint64_t tail;   // time at which its last bit arrives where its first bit is
	uint32_t port;   // that it waits for, or has been sent by
	uint32_t from;   // port at whose end it comes in, or has come in
};

enum sim_switch_kind {
	SIM_OUTPUT_QUEUED,         // a packet that has arrived is in the queue of its output port
	SIM_VIRTUAL_OUTPUT_QUEUED, // each input port has a queue per output port
	SIM_INPUT_FIFO,            // each input port has one queue: its head blocks all behind
};

enum sim_forwarding {
	SIM_STORE_AND_FORWARD, // a packet is forwarded when its last bit has arrived
	SIM_CUT_THROUGH,       // when its first 64 bytes have arrived
};

enum sim_arbitration {
	SIM_ROUND_ROBIN,     // priorities in turn, one packet each
	SIM_STRICT_PRIORITY, // the highest number first
	SIM_WEIGHTED, // shares of the bytes in proportion to weights, while there are packets
};

enum sim_flow_control {
	SIM_NO_FLOW_CONTROL, // packets that find no room are dropped
	SIM_PFC,             // IEEE 802.1Qbb: a switch pauses the sender of a link, per priority
	SIM_CREDITS,         // as InfiniBand: a sender knows the room of the receiver's buffer
	SIM_RETRY, // as SCI: a receiver without room refuses a packet, and it is sent again
};

// Between which ports a switch has the choice.
enum sim_paths {
	SIM_SHORTEST,
	// Up the levels, or the tree of distances from switch 0 if there are none, then down: no
	// cycle of buffers can arise (up*/down*, Schroeder et al., Autonet, 1991).
	SIM_UP_DOWN,
	SIM_DIMENSION_ORDER, // of a torus: first x, then y, then z, each in the shorter direction
};

// How it chooses.
enum sim_choice {
	SIM_BY_DESTINATION, // host number modulo ports: no conflicts in a shift on a full tree
	SIM_ECMP,           // by a hash of the flow
	SIM_RANDOM,         // per packet
	SIM_ADAPTIVE,       // the port with the fewest bytes queued; of equal ones, in turn
};

enum sim_cause {
	SIM_DROP_QUEUE,    // the queue, or the input buffer, is full
	SIM_DROP_HEADROOM, // more than the headroom arrived after a pause was due
	SIM_DROP_RED,      // RED chose a packet that may not be marked
	SIM_DROP_LINK,     // the link loses all
	SIM_DROP_RANDOM,   // lost at random on the link
	SIM_N_CAUSES
};

struct sim_fabric_parameters {
	enum sim_switch_kind kind;
	enum sim_forwarding forwarding;
	enum sim_arbitration arbitration;
	enum sim_flow_control flow_control;
	enum sim_paths paths;
	enum sim_choice choice;
	uint32_t n_priorities;               // 1 to SIM_MAX_PRIORITIES
	uint8_t weights[SIM_MAX_PRIORITIES]; // with SIM_WEIGHTED, each above 0
	uint64_t seed;
	uint32_t overhead;     // bytes on the wire per packet beside the frame: Ethernet 20
	uint64_t switch_delay; // ps, of forwarding
	uint64_t host_delay;   // ps from the last bit to deliver(): PCIe and software
	// Instead of host_delay, if it is not fixed; packets keep their order. Its times outlive
	// the fabric.
	struct sim_law host_law;
	// Bytes of frames per priority. A host accepts packets while its queue has fewer; one
	// always.
	uint64_t host_queue;
	// Bytes of frames that a queue of a switch holds: per output port and priority, or per
	// input port and priority of the input-queued kinds. 0: no limit.
	uint64_t queue;
	// Bytes of a buffer that all queues of a switch share, with dynamic thresholds (Choudhury,
	// Hahne 1998): each has at most alpha times the bytes that are free now. Without flow
	// control it limits output queues (inputs of the input-queued kinds) instead of `queue`.
	// With PFC a pause begins above this threshold instead of xoff, and ends xoff - xon bytes
	// below it, when a packet leaves; headroom is apart from the buffer, per pause. Only
	// without flow control and with PFC. 0: none.
	uint64_t shared_buffer;
	double alpha; // above 0, at most SIM_MAX_ALPHA

	// Bytes with the overhead that a port of a switch may be ahead of its link's rate: a token
	// bucket (as tc-tbf). Packets take no time while there are tokens; the first one without
	// waits for them. 0: packets leave evenly.
	uint64_t burst;

	// RED (Floyd, Jacobson 1993; as DCQCN uses it, on the present length): from `red_low` bytes
	// for one output port and priority of a switch on, packets are marked with a probability
	// that grows to red_share at red_high, and is 1 from there on. Packets that may not be
	// marked are dropped instead, except with a lossless priority. red_high 0: no RED.
	uint64_t red_low, red_high;
	double red_share;

	// PFC, per input port and priority of switches; bytes of frames. Above xoff it sends a
	// pause, at or below xon the end of the pause. xoff + headroom is the room there is.
	uint64_t xoff, xon, headroom;
	uint16_t pause_quanta;   // in each pause frame, 1 to 65535; repeated after half of the time
	uint64_t pause_response; // ps from the arrival of a pause frame until the sender obeys
	uint32_t pause_bytes;    // size of a pause frame: 64
	uint8_t lossless;        // bitmap of the priorities with flow control; the others drop

	// Credits and retry: size of a buffer per input port and priority of switches, bytes; at
	// least one packet.
	uint64_t input_buffer;

	// Retry (IEEE 1596-1992): ps from the response that refuses a packet until it is in the
	// queue of its sender again, behind the packets that are there. Others may overtake it. A
	// port has a copy of a packet until the receiver has responded, in the same buffer as
	// before. A response arrives a cable after the last bit of the packet, and takes no time of
	// the link. What a link loses is not sent again. Hosts refuse nothing.
	uint64_t retry_time;

	// While a port is paused, out of credits or refused, a deadlock is looked for in this
	// interval, ps.
	uint64_t deadlock_interval; // 0: never

	uint32_t max_packets; // in the fabric at a time, 1 to SIM_MAX_PACKETS

	// Routes, instead of `paths`; they have passed sim_route_table_check(). Used at the
	// creation only. NULL: none.
	const struct sim_route_table *table;

	const struct sim_tracer *tracer; // outlives the fabric; NULL: none
};

// Output queues, store and forward, strict priority, PFC for priority 0 of 1, shortest paths by
// ECMP, 100 kB of headroom. Zeros for delays and limits.
struct sim_fabric_parameters sim_fabric_defaults(void);

// What a fabric calls, with `context` of sim_fabric_create(). Each may be NULL but deliver(). They
// may call any function of the engine and of the fabric but sim_fabric_destroy().
struct sim_host_operations {
	// The last bit of a packet has arrived at its destination, and host_delay has passed. The
	// record is valid until the call returns.
	void (*deliver)(void *context, uint32_t host, const struct sim_packet *packet);
	// sim_send() refused a packet of this priority before; now one would be accepted.
	void (*room)(void *context, uint32_t host, unsigned priority);
	// The switch has paused the host, or the pause has ended: bitmap of the priorities that
	// are paused now.
	void (*paused)(void *context, uint32_t host, uint8_t priorities);
	// A packet was lost at (in front of) this port.
	void (*dropped)(void *context, const struct sim_packet *packet, uint32_t port,
			enum sim_cause cause);
	// Buffers wait for each other in a cycle, or have done so; sim_deadlock() names them.
	// Called once; the simulation goes on.
	void (*deadlock)(void *context);
};

// Checks the parameters. The topology is copied. NULL: an error, one line in error[SIM_ERROR_SIZE].
struct sim_fabric *sim_fabric_create(struct sim_engine *engine, const struct sim_topology *topology,
				     const struct sim_fabric_parameters *parameters,
				     const struct sim_host_operations *operations, void *context,
				     char *error);
void sim_fabric_destroy(struct sim_fabric *fabric);

enum sim_sent {
	SIM_SENT,
	SIM_FULL,        // the transmit queue: room() will be called
	SIM_NOT_A_PACKET // its host, priority or size is out of range, or max_packets are underway
};

// Sends packet->source's packet now.
enum sim_sent sim_send(struct sim_fabric *fabric, const struct sim_packet *packet);

// The host sends its switch a PFC frame: for each priority of the bitmap `priorities`, the pause
// lasts quanta[priority] * SIM_QUANTUM_BITS bit times; 0 ends it. The frame waits for the end of
// the packet that the host is sending.
void sim_host_pause(struct sim_fabric *fabric, uint32_t host, uint8_t priorities,
		    const uint16_t quanta[SIM_MAX_PRIORITIES]);

// The rate of both directions of a link from now on (a packet that is being sent is not changed).
// 0: the link is down; packets wait in front of it.
void sim_link_rate(struct sim_fabric *fabric, uint32_t link, uint64_t bits_per_second);

// The share of the packets that both directions of a link lose from now on, 0 to 1. Pause frames
// are not lost.
void sim_link_loss(struct sim_fabric *fabric, uint32_t link, double loss);

// With PFC. A port of a switch pauses the other end of its link, for the priorities of the bitmap,
// whether its buffer is full or not, until the function is called again with `pauses` false.
void sim_port_storm(struct sim_fabric *fabric, uint32_t port, uint8_t priorities, bool pauses);

// A pause that no full buffer explains.
struct sim_storm {
	uint32_t port;  // that is paused
	uint64_t since; // ps
};

// With PFC. Writes at most `room` of the pauses that have lasted for longer than two pause frames,
// by hosts, or by switches whose buffer for the link is at or below xon. Returns their number.
uint32_t sim_storms(const struct sim_fabric *fabric, struct sim_storm *storms, uint32_t room);

// Sees the frames of one host, and changes nothing. The functions must not call the fabric.
struct sim_observer {
	uint32_t host;
	// The host begins to send a packet, or has received one, which deliver() gets next.
	void (*packet)(void *context, const struct sim_packet *packet, bool is_sent);
	// The host begins to send a PFC frame, or obeys one, with the times of some priorities.
	void (*pause)(void *context, uint8_t priorities, const uint16_t quanta[SIM_MAX_PRIORITIES],
		      bool is_sent);
	void *context;
};

// From now on, one observer; it is copied.
void sim_observe(struct sim_fabric *fabric, const struct sim_observer *observer);

// Time that `bytes` of a frame and the overhead take on the link of a port, ps.
uint64_t sim_port_time(const struct sim_fabric *fabric, uint32_t port, uint32_t bytes);

struct sim_port {
	uint32_t node;    // whose port it is; see sim_topology
	uint32_t peer;    // port at the other end of the link
	uint32_t link;    // number in the topology
	uint64_t packets; // sent
	uint64_t bytes;   // sent, of frames
	uint64_t busy;    // ps during which it sent
	// ps, all priorities added; with credits, those that waited for some; with retry, from a
	// refusal until the receiver accepts a packet
	uint64_t paused;
	uint64_t pauses;   // pause frames received that began a pause
	uint64_t waited;   // ps that all packets sent waited here before their first bit left
	uint64_t marked;   // packets
	uint64_t refused;  // packets that the receiver refused, each time counted
	uint64_t repeated; // packets that were sent again
	uint64_t drops[SIM_N_CAUSES];
	// bytes for this port now, all priorities, with the packet being sent; with retry, with
	// those that the receiver has not accepted yet
	uint64_t queued;
	uint64_t queue_peak; // highest `queued` of one priority
	uint64_t input; // bytes that came in at this end of the link and are still in the switch
	uint64_t input_peak;       // highest `input` of one priority
	uint8_t priorities_paused; // bitmap, now
};

uint32_t sim_n_ports(const struct sim_fabric *fabric);
struct sim_port sim_port_view(const struct sim_fabric *fabric, uint32_t port);

// A step of a deadlock: `port` waits for the buffer at the other end of its link, in which packets
// of the priority wait for the port of the next step.
struct sim_wait {
	uint32_t port;
	uint32_t priority;
};

// Looks for a set of buffers of which none can ever be emptied, as each waits for another, and
// writes one cycle of them. Returns its length, at most `room`; 0: there is none.
uint32_t sim_deadlock(const struct sim_fabric *fabric, struct sim_wait *cycle, uint32_t room);

// The same of buffers that could wait for each other, by the routes, whatever is sent. The priority
// is 0.
uint32_t sim_dependency_cycle(const struct sim_fabric *fabric, struct sim_wait *cycle,
			      uint32_t room);

struct sim_totals {
	uint64_t sent, delivered;
	uint64_t dropped[SIM_N_CAUSES];
	uint64_t hops;     // transmissions of packets over links, those that were refused included
	uint64_t refused;  // packets, with SIM_RETRY, each time counted
	uint64_t repeated; // packets that were sent again
	uint64_t pauses;   // pause frames sent by switches, ends of pauses included
	uint64_t underway; // packets in the fabric now
};
struct sim_totals sim_totals(const struct sim_fabric *fabric);

// The most bytes that the buffer of one switch has had, with shared_buffer; headroom included.
uint64_t sim_shared_peak(const struct sim_fabric *fabric);

size_t sim_fabric_memory(const struct sim_fabric *fabric); // bytes
