// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Packets that the rx role of a node holds back while a link to a builder is full. The role goes on
// receiving, so that frames of the control protocol never wait behind data. Packets that may be
// segments wait here, as they were received and in their order, until all links have room.
//
// A hold that is full is not read for, so that the port's queue holds as much as it can, and holds
// the sender back if the port can do that. Where it cannot, control frames would wait there until
// the builder has gone through all data. So from rx_parameters.hold_patience on after the hold
// became full, and until it is empty, the role receives, and drops what does not fit, under the
// cause links_full. No handler has seen such packets, so RoCE repeats them.
//
// The role's lcore, after make.
#pragma once

#include "pipeline/link.h"
#include "rx/rx_role.h"

// How many packets wait is in rx_counters.held.
struct rx_hold {
	struct link *packets; // from the role to itself; NULL: the role holds nothing back
	uint64_t full_since;  // TSC; 0: it was not full since it was empty
	const struct rx_parameters *parameters;
	const struct rx_handler *handlers;
};

// `parameters` and `handlers`, of which there are parameters->n_handlers, outlive the hold. False
// if memory ran out. Control thread.
bool rx_hold_make(struct rx_hold *hold, const struct rx_parameters *parameters,
		  const struct rx_handler *handlers);
// Frees the packets, too. Control thread; the hold may be zeros.
void rx_hold_destroy(struct rx_hold *hold);

// Receives a burst while links are full, and keeps what may be segments. Returns the number of the
// other packets, which are not yet counted, in mbufs[ROLE_BURST].
unsigned rx_hold_receive(struct rx_hold *hold, struct rte_mbuf **mbufs, uint64_t now,
			 struct rx_counters *counters);

// Takes up to ROLE_BURST packets out, in the order of their arrival; they are not yet counted.
unsigned rx_hold_take(struct rx_hold *hold, struct rte_mbuf **mbufs, struct rx_counters *counters);

// Drops what is held, at the end of a run.
void rx_hold_drop(struct rx_hold *hold, struct rx_counters *counters);
