// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What hosts call, and what can be seen of ports.
#include "sim/fabric_internal.h"

// SIM_NONE: as many packets as may be are underway.
static uint32_t take_packet(struct sim_fabric *fabric)
{
	const uint32_t packet = fabric->first_free;

	if (packet != SIM_NONE) {
		fabric->first_free = fabric->packets[packet].next;
		return packet;
	}
	return fabric->used < fabric->parameters.max_packets ? fabric->used++ : SIM_NONE;
}

static bool is_valid(const struct sim_fabric *fabric, const struct sim_packet *packet)
{
	return packet->source < fabric->n_hosts && packet->destination < fabric->n_hosts &&
	       packet->bytes >= 1 && packet->bytes <= SIM_MAX_PACKET_BYTES &&
	       packet->priority < fabric->parameters.n_priorities &&
	       (fabric->parameters.flow_control < SIM_CREDITS ||
		!sim_is_lossless(fabric, packet->priority) ||
		packet->bytes <= fabric->parameters.input_buffer);
}

enum sim_sent sim_send(struct sim_fabric *fabric, const struct sim_packet *packet)
{
	uint32_t number;
	uint64_t queued;
	struct sim_packet *copy;

	if (!is_valid(fabric, packet))
		return SIM_NOT_A_PACKET;
	queued = sim_queue_at(fabric, packet->source, packet->priority)->bytes;
	if (queued != 0 && queued >= fabric->parameters.host_queue) {
		fabric->ports[packet->source].room_wanted |= (uint8_t)(1u << packet->priority);
		return SIM_FULL;
	}
	number = take_packet(fabric);
	if (number == SIM_NONE)
		return SIM_NOT_A_PACKET;
	copy = &fabric->packets[number];
	// Field by field: hosts have just stored the fields, and a processor cannot load several of
	// them at once, as a copy of the whole packet does, until they are in the cache.
	copy->user = packet->user;
	copy->source = packet->source;
	copy->destination = packet->destination;
	copy->flow = packet->flow;
	copy->bytes = packet->bytes;
	copy->priority = packet->priority;
	copy->may_mark = packet->may_mark;
	copy->marked = false;
	copy->refused = false;
	copy->hops = 0;
	copy->sent = *fabric->now;
	copy->tail = 0;
	copy->port = packet->source;
	copy->from = SIM_NONE;
	fabric->totals.sent++;
	fabric->totals.underway++;
	sim_enqueue(fabric, number);
	return SIM_SENT;
}

void sim_host_pause(struct sim_fabric *fabric, uint32_t host, uint8_t priorities,
		    const uint16_t quanta[SIM_MAX_PRIORITIES])
{
	struct sim_sender *port = &fabric->ports[host];

	for (unsigned i = 0; i < fabric->parameters.n_priorities; i++) {
		if ((priorities >> i & 1) != 0)
			port->host_quanta[i] = quanta[i];
	}
	port->pauses_due |= priorities;
	sim_start(fabric, host);
}

void sim_observe(struct sim_fabric *fabric, const struct sim_observer *observer)
{
	fabric->observer = *observer;
	fabric->observed = observer->host;
}

uint64_t sim_port_time(const struct sim_fabric *fabric, uint32_t port, uint32_t bytes)
{
	return sim_wire_time(fabric, &fabric->ports[port], bytes);
}

uint32_t sim_n_ports(const struct sim_fabric *fabric)
{
	return fabric->n_ports;
}

struct sim_port sim_port_view(const struct sim_fabric *fabric, uint32_t number)
{
	const struct sim_sender *port = &fabric->ports[number];
	struct sim_port view = { .node = port->node,
				 .peer = port->peer,
				 .link = port->link,
				 .packets = port->packets,
				 .bytes = port->bytes,
				 .busy = port->busy,
				 .paused = port->paused_time,
				 .pauses = port->pauses,
				 .waited = port->waited,
				 .marked = port->marked,
				 .priorities_paused = port->paused };

	if (fabric->retries != NULL) {
		view.refused = fabric->retries[number].refused;
		view.repeated = fabric->retries[number].repeated;
	}
	for (unsigned i = 0; i < SIM_N_CAUSES; i++)
		view.drops[i] = port->drops[i];
	for (unsigned i = 0; i < fabric->parameters.n_priorities; i++) {
		const struct sim_queue *queue = sim_queue_at(fabric, number, i);
		const struct sim_flow *flow = sim_flow_at(fabric, number, i);

		view.queued += queue->bytes;
		if (queue->peak > view.queue_peak)
			view.queue_peak = queue->peak;
		view.input += flow->input;
		if (flow->input_peak > view.input_peak)
			view.input_peak = flow->input_peak;
		if (((port->paused | port->starved) >> i & 1) != 0)
			view.paused += *fabric->now - flow->paused_since;
	}
	return view;
}

struct sim_totals sim_totals(const struct sim_fabric *fabric)
{
	return fabric->totals;
}
