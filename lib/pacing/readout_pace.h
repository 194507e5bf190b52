// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rate at which a readout sends.
//
// The rate of a grant is the share that this node has of the builder's link if all nodes send to
// that link at once. They do so where they have events for one link only. Where they have events
// for several links, the order of the linear shift spreads the nodes over the links, and each node
// may send faster by the number of links. All nodes receive the same grants, so the grants that
// wait here state that number, and the rates of all nodes add up to the rate of the builders' link
// without messages between the nodes. A node never sends faster than a link. The builders of one
// node share a link.
//
// The grants that wait are not always spread evenly: after a pause of one builder, many events for
// the other builders come first, and then those for all. Therefore each link has a flow, a token
// bucket with this node's share of the link: the next event for a builder of the link begins when
// the bucket has room again, however fast the previous event was sent.
//
// In mode pull a builder requests its events from a limited number of nodes at a time. If these are
// fewer than all nodes, each of them has a larger share of the link.
//
// With timed shift, one node at a time sends over a link, and the rate of a grant is that of the
// link.
//
// Pure: the caller passes the time, in ticks (pacer.h). Threads: one, the readout's.
#pragma once

#include "pacing/pacer.h"

struct readout_pace_parameters {
	unsigned n_builders;     // of the system
	unsigned n_sources;      // of this readout, >= 1
	unsigned node_sources;   // of all readouts of this node
	unsigned system_sources; // of all nodes
	unsigned n_at_once;      // nodes that send over a link at one time, at most; 0: all
	bool paced;              // false: rates of grants are ignored
	bool timed;              // timed shift
	uint64_t sleep_ns;       // longest sleep of the lcore; 0: it never sleeps
	uint32_t mtu;            // bytes; at least two packets may leave at once
	uint64_t ticks_per_second;
};

struct readout_flow; // over one link

struct readout_pace {
	struct readout_pace_parameters parameters;
	struct pacer pacer;
	struct readout_flow *flows; // [n_builders], by the first builder of the link
	unsigned n_waiting;         // links with grants that wait
	unsigned own;      // shares that this node has of each link; 1 if all nodes may send
	unsigned most_fan; // links of which this node's shares make up a whole link
	uint64_t burst_ns;

	// The current event
	struct readout_flow *flow; // of its builder's link; NULL: no event yet
	uint64_t rate;             // as granted, bytes/s; 0: unlimited
	unsigned fan;              // shares that the rate of the pacer is made for
	bool held;                 // the bucket of its flow has had no room yet
	uint64_t began;            // ticks when the bucket had room
	uint64_t bytes;            // sent since
};

struct readout_flow {
	struct pacer pacer;
	uint32_t waiting; // grants
	bool is_local;
	unsigned link; // of the builder with this index: the index of the link's flow
};

// Bytes that readout_pace_make() allocates.
uint64_t readout_pace_memory(unsigned n_builders);

// False if memory ran out.
bool readout_pace_make(struct readout_pace *pace, const struct readout_pace_parameters *parameters,
		       uint64_t now);
void readout_pace_free(struct readout_pace *pace);

// Declares that a builder shares the link of `first`, the first builder of that link. Without this
// call each builder has a link of its own.
void readout_pace_set_link(struct readout_pace *pace, unsigned builder, unsigned first);

// Declares a builder of this node: its data crosses no link and is not paced.
void readout_pace_set_local(struct readout_pace *pace, unsigned builder);

// A grant waits.
void readout_pace_add(struct readout_pace *pace, unsigned builder);

// A grant that waited is sent from now on. rate: bytes/s, 0: unlimited.
void readout_pace_begin(struct readout_pace *pace, unsigned builder, uint64_t rate, uint64_t now);

// No grant waits any more.
void readout_pace_clear(struct readout_pace *pace);

// To be called after grants were added: adapts the rate of the current event.
void readout_pace_adapt(struct readout_pace *pace, uint64_t now);

// Whether a packet may leave now.
static inline bool readout_pace_ready(struct readout_pace *pace, uint64_t now)
{
	if (pace->held) {
		if (!pacer_ready(&pace->flow->pacer, now))
			return false;
		pace->held = false;
		pace->began = now;
	}
	return pacer_ready(&pace->pacer, now);
}

// The first time at which a packet may leave, if no grant is added before: for callers that do not
// poll.
static inline uint64_t readout_pace_ready_at(const struct readout_pace *pace)
{
	return pacer_ready_at(pace->held ? &pace->flow->pacer : &pace->pacer);
}

// A packet of so many bytes on the wire leaves.
static inline void readout_pace_take(struct readout_pace *pace, uint32_t bytes, uint64_t now)
{
	pace->bytes += bytes;
	(void)pacer_take(&pace->pacer, bytes, now);
}

// Timed shift: the window of the current event began at this time. The packets that were not sent
// before it are not made up for: they would wait in the port, and leave after the window.
static inline void readout_pace_begin_window(struct readout_pace *pace, uint64_t at)
{
	pacer_empty(&pace->pacer, at);
}
