// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Ports: their queues, which packet goes next, and the time that it takes.
#include "sim/fabric_internal.h"

static void append(struct sim_fabric *fabric, uint32_t number)
{
	struct sim_packet *packet = &fabric->packets[number];
	struct sim_queue *queue = sim_queue_at(fabric, packet->port, packet->priority);
	struct sim_sender *port = &fabric->ports[packet->port];

	packet->queued = *fabric->now;
	if (port->has_crossbar) {
		sim_crossbar_enqueue(fabric, number);
		return;
	}
	packet->next = SIM_NONE;
	if ((port->backlog >> packet->priority & 1) != 0)
		fabric->packets[queue->last].next = number;
	else
		queue->first = number;
	queue->last = number;
	port->backlog |= (uint8_t)(1u << packet->priority);
	sim_start(fabric, packet->port);
}

void sim_enqueue(struct sim_fabric *fabric, uint32_t number)
{
	const struct sim_packet *packet = &fabric->packets[number];
	struct sim_queue *queue = sim_queue_at(fabric, packet->port, packet->priority);

	queue->bytes += packet->bytes;
	if (queue->bytes > queue->peak)
		queue->peak = queue->bytes;
	append(fabric, number);
}

void sim_repeats(void *fabric, uint32_t number, uint32_t data)
{
	(void)data;
	append(fabric, number);
}

// Takes the packet that goes next from the queues of a port, where that is output-queued.
static uint32_t take(struct sim_fabric *fabric, uint32_t number, unsigned allowed)
{
	struct sim_sender *port = &fabric->ports[number];

	for (allowed &= port->backlog; allowed != 0;) {
		const unsigned priority = sim_next_priority(fabric, number, allowed);
		struct sim_queue *queue = sim_queue_at(fabric, number, priority);
		const uint32_t packet = queue->first;

		if (sim_may_send(fabric, number, priority, fabric->packets[packet].bytes)) {
			queue->first = fabric->packets[packet].next;
			if (queue->first == SIM_NONE)
				port->backlog &= (uint8_t) ~(1u << priority);
			return packet;
		}
		allowed &= ~(1u << priority);
	}
	return SIM_NONE;
}

// When a port whose token bucket lets it be ahead of its rate can send the next packet.
static uint64_t end_of_burst(const struct sim_fabric *fabric, struct sim_sender *port,
			     uint32_t bytes)
{
	const uint64_t now = *fabric->now;
	const uint64_t ahead = fabric->parameters.burst * port->byte_time >> SIM_FRACTION_BITS;

	port->even = (port->even > now ? port->even : now) + sim_wire_time(fabric, port, bytes);
	return port->even > now + ahead ? port->even - ahead : now;
}

static void count_repeat(struct sim_fabric *fabric, uint32_t number,
			 const struct sim_packet *packet)
{
	fabric->retries[number].repeated += packet->refused;
	fabric->totals.repeated += packet->refused;
}

_Static_assert(SIM_MAX_HOSTS + SIM_MAX_SWITCHES <= SIM_MAX_DATA, "nodes fit into an event");

// Sends a packet that has left its queue.
static void transmit(struct sim_fabric *fabric, uint32_t number, uint32_t packet_number)
{
	const uint64_t now = *fabric->now;
	struct sim_sender *port = &fabric->ports[number];
	struct sim_packet *packet = &fabric->packets[packet_number];
	uint64_t end = port->may_burst ? end_of_burst(fabric, port, packet->bytes)
				       : now + sim_wire_time(fabric, port, packet->bytes);
	uint64_t arrives;

	// Cut-through: a faster link waits for the last bit.
	if (end < packet->tail)
		end = packet->tail;
	arrives = end;
	if (fabric->parameters.forwarding == SIM_CUT_THROUGH && port->peer_is_switch &&
	    packet->bytes > SIM_CUT_THROUGH_AT)
		arrives = now + sim_wire_time(fabric, port, SIM_CUT_THROUGH_AT);
	packet->tail = end + port->delay;
	port->sending = (struct sim_sending){ packet->bytes, packet->from, packet->priority };
	if (sim_has_copies(fabric, number, packet->priority))
		count_repeat(fabric, number, packet);
	else
		packet->from = port->peer;
	port->is_sending = true;
	port->turn = packet->priority + 1;
	port->packets++;
	port->bytes += packet->bytes;
	port->busy += end - now;
	port->waited += now - packet->queued;
	fabric->totals.hops++;
	if (number == fabric->observed)
		fabric->observer.packet(fabric->observer.context, packet, true);
	packet->hops++;
	sim_take_credit(fabric, number, packet->priority, packet->bytes);
	sim_at(fabric->engine, end, fabric->handlers[SIM_PORT_SENT], number, 0);
	sim_at(fabric->engine, arrives + port->delay, fabric->handlers[SIM_ARRIVES], packet_number,
	       port->peer_node);
}

void sim_send_next(struct sim_fabric *fabric, uint32_t number)
{
	const struct sim_sender *port = &fabric->ports[number];
	uint32_t packet;

	if (port->pauses_due != 0) {
		sim_send_pause(fabric, number);
		return;
	}
	if (port->has_crossbar)
		packet = sim_crossbar_take(fabric, number, (uint8_t)~port->paused);
	else
		packet = take(fabric, number, (uint8_t)~port->paused);
	if (packet != SIM_NONE)
		transmit(fabric, number, packet);
}

void sim_tell_room(struct sim_fabric *fabric, uint32_t host, unsigned priority)
{
	const uint64_t bytes = sim_queue_at(fabric, host, priority)->bytes;
	struct sim_sender *port = &fabric->ports[host];

	if ((port->room_wanted >> priority & 1) == 0 ||
	    (bytes != 0 && bytes >= fabric->parameters.host_queue))
		return;
	port->room_wanted &= (uint8_t) ~(1u << priority);
	if (fabric->operations.room != NULL)
		fabric->operations.room(fabric->context, host, priority);
}

void sim_port_sent(void *context, uint32_t number, uint32_t data)
{
	struct sim_fabric *fabric = context;
	struct sim_sender *port = &fabric->ports[number];
	const struct sim_sending sent = port->sending;
	const bool is_forwarded = sent.bytes != 0 && sent.from != SIM_NONE;
	const bool is_done = sent.bytes != 0 && !sim_has_copies(fabric, number, sent.priority);

	(void)data;
	// The packet that goes next has waited: it is fetched while the last one is accounted for.
	__builtin_prefetch(&fabric->packets[sim_queue_at(fabric, number, sent.priority)->first], 1);
	port->is_sending = false;
	if (is_done)
		sim_queue_at(fabric, number, sent.priority)->bytes -= sent.bytes;
	if (is_done && is_forwarded)
		sim_output(fabric, sent.from, sent.priority, sent.bytes);
	if (is_forwarded && fabric->crossbars != NULL)
		sim_crossbar_release(fabric, sent.from);
	else
		sim_start(fabric, number);
	if (is_done && !is_forwarded)
		sim_tell_room(fabric, number, sent.priority);
}
