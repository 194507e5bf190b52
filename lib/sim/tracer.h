// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sees what happens in a simulation, for a time line of it, and changes nothing. The functions are
// called when it happens; they must not call the simulation. Times are ps.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sim_message;

struct sim_tracer {
	// A message has arrived, or has lost a packet and the others have arrived. `number`: in the
	// order in which messages were sent.
	void (*message)(void *context, const struct sim_message *message, uint64_t number,
			uint64_t begun, bool is_lost);
	// An event is complete at a host, or a round of incast. kind `system`: it is published at a
	// builder of the node of this number; `begun` is its announcement.
	void (*event)(void *context, uint32_t host, uint64_t begun);
	// A port is paused or out of credits from now on, or is not any more.
	void (*blocked)(void *context, uint32_t port, bool is_blocked);
	// A packet was lost at a port; cause: enum sim_cause.
	void (*dropped)(void *context, uint32_t port, unsigned cause);
	void *context;
};
