// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rate of events that the links of a system carry, while all readouts have events.
//
// The event manager paces its grants to the builders of each link (sched/pace.c), and a readout
// does not send faster than its own link, or than that of a builder (pacing/readout_pace.h). In
// events/s:
//
//   grants = sum over the links of builders of   link * target * sending / wire
//   node   = link of the node / (sources of the node * block on the wire * remote builders /
//            builders)
//   rate   = the smallest of grants and of all nodes
//
// where `link` is a port's link_rate in bytes/s, `wire` the bytes of an event on the builder's link
// (system/on_wire.h), and `sending` the share of time in which a timed shift sends over a link. A
// builder whose link_rate is not set, or to which nothing comes over the link, is not paced. The
// sources of all nodes are taken to have blocks of the same size. Not for mode static, where nobody
// paces. Pure.
#pragma once

#include "system/on_wire.h"

struct event_rate_parameters {
	struct on_wire_parameters wire;
	double target; // event_manager.target_utilisation
	// Timed shift: send window / (send window + idle window) * cluster_shift.share; otherwise 1
	double sending;
	uint64_t block; // mean bytes of the block of a source
};

// Events (MEPs) per second; INFINITY: no link of a known rate limits them.
double event_rate(const struct event_rate_parameters *parameters);
