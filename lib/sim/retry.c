// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Links whose receivers refuse packets, as those of SCI (IEEE 1596-1992). A port of a host or
// switch has a copy of each packet until the switch at the other end of the link has responded. One
// that was refused is sent again after a time, so that others may overtake it.
//
// Until it is accepted, a packet belongs to its sender: `port` is the port that sends it, and
// `from` the input by which it has come into the sender, whose buffer holds the copy.
#include "sim/fabric_internal.h"

// Without the reservations for packets that were refused before, which SCI has.
static bool has_room(const struct sim_fabric *fabric, uint32_t input,
		     const struct sim_packet *packet)
{
	return sim_flow_at(fabric, input, packet->priority)->input + packet->bytes <=
	       fabric->parameters.input_buffer;
}

static void refuse(struct sim_fabric *fabric, uint32_t number, uint64_t responded)
{
	struct sim_packet *packet = &fabric->packets[number];

	packet->refused = true;
	packet->hops--; // counted when it was sent
	fabric->retries[packet->port].refused++;
	fabric->totals.refused++;
	sim_starves(fabric, packet->port, packet->priority, packet->bytes);
	sim_at(fabric->engine, responded + fabric->parameters.retry_time,
	       fabric->handlers[SIM_REPEATS], number, 0);
}

// The sender needs its copy, which came in through `from`, no more.
static void free_copy(struct sim_fabric *fabric, const struct sim_packet *packet, uint32_t from,
		      uint64_t responded)
{
	const uint32_t sender = packet->port;

	sim_queue_at(fabric, sender, packet->priority)->bytes -= packet->bytes;
	sim_starves_no_more(fabric, sender, packet->priority);
	if (from == SIM_NONE)
		sim_tell_room(fabric, sender, packet->priority);
	else
		sim_at(fabric->engine, responded, fabric->handlers[SIM_COPY_FREED], from,
		       (uint32_t)packet->priority << 16 | packet->bytes);
}

bool sim_responds(struct sim_fabric *fabric, uint32_t number, bool is_lost)
{
	struct sim_packet *packet = &fabric->packets[number];
	const struct sim_sender *port = &fabric->ports[packet->port];
	const uint64_t now = *fabric->now;
	const uint64_t responded = (packet->tail > now ? packet->tail : now) + port->cable;
	const uint32_t from = packet->from;

	if (!is_lost && !has_room(fabric, port->peer, packet)) {
		refuse(fabric, number, responded);
		return false;
	}
	packet->from = port->peer;
	packet->refused = false;
	free_copy(fabric, packet, from, responded);
	return true;
}

// The buffer of an input has room again: data is the priority, and 16 bits of bytes.
void sim_copy_freed(void *fabric, uint32_t input, uint32_t data)
{
	sim_output(fabric, input, data >> 16, data & 0xffff);
}
