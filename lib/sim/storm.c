// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Pause storms: a port pauses its peer without end, because of a fault and not because its buffer
// is full. The pauses spread from there, so that it is the first ones that are worth knowing.
#include "sim/fabric_internal.h"

void sim_port_storm(struct sim_fabric *fabric, uint32_t number, uint8_t priorities, bool pauses)
{
	struct sim_sender *port = &fabric->ports[number];
	uint8_t changed;

	if (pauses) {
		changed = (uint8_t)(priorities & ~port->holds);
		port->storms |= priorities;
		for (unsigned i = 0; i < fabric->parameters.n_priorities; i++)
			if ((changed >> i & 1) != 0)
				sim_flow_at(fabric, number, i)->room =
				    sim_flow_at(fabric, number, i)->input +
				    fabric->parameters.headroom;
		port->holds |= priorities;
	} else {
		changed = priorities & port->storms;
		port->storms &= (uint8_t)~priorities;
		for (unsigned i = 0; i < fabric->parameters.n_priorities; i++)
			if (sim_flow_at(fabric, number, i)->input > sim_xon(fabric, number))
				changed &= (uint8_t) ~(1u << i);
		port->holds &= (uint8_t)~changed;
	}
	port->pauses_due |= changed;
	sim_start(fabric, number);
}

static bool is_storm(const struct sim_fabric *fabric, uint32_t number, unsigned priority)
{
	const struct sim_sender *port = &fabric->ports[number];
	const uint64_t frame = sim_pause_time(port, fabric->parameters.pause_quanta);

	if ((port->paused >> priority & 1) == 0 ||
	    *fabric->now - sim_flow_at(fabric, number, priority)->paused_since <= 2 * frame)
		return false;
	return !port->peer_is_switch ||
	       sim_flow_at(fabric, port->peer, priority)->input <= sim_xon(fabric, port->peer);
}

uint32_t sim_storms(const struct sim_fabric *fabric, struct sim_storm *storms, uint32_t room)
{
	uint32_t n = 0;

	for (uint32_t port = 0; port < fabric->n_ports; port++)
		for (unsigned i = 0; i < fabric->parameters.n_priorities && n < room; i++)
			if (is_storm(fabric, port, i))
				storms[n++] = (struct sim_storm){
					.port = port,
					.since = sim_flow_at(fabric, port, i)->paused_since,
				};
	return n;
}
