// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How fast a readout sends. The rate of a grant is this node's share of the builder's link, were
// all nodes to send to that builder at once. They do where there is nothing for another builder;
// where there is something for several, the order of the linear shift spreads them, and so each may
// go faster by as much. What waits here tells how many builders that are, since grants go to all
// nodes alike. So the sum of what comes to a builder stays at its link's rate, without a word
// between the nodes.
//
// What waits is not always spread evenly: after a pause of one builder many events for the others
// come first, and then those for all. Therefore each builder has a lane, a bucket of this node's
// share of its link: the next event for it begins when the lane has room again, however fast the
// one before was sent.
//
// By the clock (timed shift) one node at a time sends to a builder, and grants say the link's rate.
//
// Pure: time is ticks that the caller gives, as the pacer's. Threads: one, the readout's.
#pragma once

#include "config/config.h"
#include "pacing/pacer.h"

struct readout_pace {
	struct pacer pacer;
	struct pacer *lanes; // by builder
	uint32_t *waiting;   // grants, by builder
	unsigned n_waiting;  // builders with some
	unsigned n_builders, most_fan, self;
	unsigned n_sources, n_of_node; // of the readout, and of all readouts of the node
	const struct config_cluster_builder *builders;
	bool paces, timed;
	uint64_t burst_ns;
	uint32_t least_burst; // bytes

	// The event under way
	unsigned builder;
	uint64_t rate;  // as granted, bytes a second, 0: any
	unsigned fan;   // builders that the pacer's rate was made for
	bool held;      // its lane has had no room yet
	uint64_t began; // when it had
	uint64_t bytes; // sent since
};

// Of a node's readout with so many sources (>= 1), which sends packets up to `mtu`. False if memory
// ran out.
bool readout_pace_make(struct readout_pace *pace, const struct config *config, unsigned n_sources,
		       uint32_t mtu, uint64_t ticks_per_second, uint64_t now);
void readout_pace_free(struct readout_pace *pace);

// A grant waits.
void readout_pace_add(struct readout_pace *pace, unsigned builder);

// A grant that waited is sent from now on.
void readout_pace_begin(struct readout_pace *pace, unsigned builder, uint64_t rate, uint64_t now);

// Nothing waits any more.
void readout_pace_clear(struct readout_pace *pace);

// To be called after grants were added: the event under way may be sent faster, or not as fast.
void readout_pace_adapt(struct readout_pace *pace, uint64_t now);

static inline bool readout_pace_ready(struct readout_pace *pace, uint64_t now)
{
	if (pace->held) {
		if (!pacer_ready(&pace->lanes[pace->builder], now))
			return false;
		pace->held = false;
		pace->began = now;
	}
	return pacer_ready(&pace->pacer, now);
}

// A packet leaves, of so many bytes on the wire.
static inline void readout_pace_take(struct readout_pace *pace, uint32_t bytes, uint64_t now)
{
	pace->bytes += bytes;
	(void)pacer_take(&pace->pacer, bytes, now);
}
