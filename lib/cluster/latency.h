// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The latency of control: how long the steps of an event take in a system with an event manager.
// Both ends of a step are seen by one process, so that no clocks are compared. A step is counted
// once per event, ns:
//
//   announce -> grant          this header, `grant`: a node with readouts. From the ANNOUNCE of all
//                              readouts of the node to the order to send the event: its first GRANT
//                              (push) or REQUEST (pull). It contains the round trip between node
//                              and manager, the wait for the other nodes that send, and the wait
//                              for a credit.
//   grant -> first segment     assembly_latency.first_segment: a builder. See builder/assembly.h.
//   first segment -> complete  assembly_latency.complete
//   complete -> published      assembly_latency.published: the path through the mailboxes of the
//                              node; without permission to publish (cluster/manager.h) also the
//                              round trip between builder and manager
//   published -> released      assembly_latency.consumers
//   released -> credit         this header, `credit`: a node with builders. From the time at which
//                              the builder has found that all consumers have released the slot to
//                              the time at which the manager has its credit, plus the trip of the
//                              acknowledgement back to the node. What the manager delays its
//                              acknowledgement is not contained.
//
// In mode static there are no grants, and these steps are not measured.
#pragma once

#include "base/histogram.h"

// Writer: the thread of the control role. Any thread may read.
struct cluster_latency {
	struct histogram grant;
	// Not counted: credits whose session with the manager has ended before the acknowledgement.
	struct histogram credit;
};
