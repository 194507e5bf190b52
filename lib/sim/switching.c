// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What happens to a packet that arrives: it is delivered, dropped, or put into the queue of the
// port by which it goes on.
#include "sim/fabric_internal.h"

void sim_free_packet(struct sim_fabric *fabric, uint32_t packet)
{
	fabric->packets[packet].next = fabric->first_free;
	fabric->packets[packet].bytes = 0; // tells those that exist from those that are free
	fabric->first_free = packet;
	fabric->totals.underway--;
}

void sim_drop(struct sim_fabric *fabric, uint32_t number, uint32_t port, enum sim_cause cause)
{
	const struct sim_packet packet = fabric->packets[number];
	const struct sim_tracer *tracer = fabric->parameters.tracer;

	if (tracer != NULL)
		tracer->dropped(tracer->context, port, cause);
	fabric->ports[port].drops[cause]++;
	fabric->totals.dropped[cause]++;
	sim_free_packet(fabric, number);
	if (fabric->operations.dropped != NULL)
		fabric->operations.dropped(fabric->context, &packet, port, cause);
}

static void deliver(struct sim_fabric *fabric, uint32_t number)
{
	const struct sim_packet packet = fabric->packets[number];

	fabric->totals.delivered++;
	sim_free_packet(fabric, number);
	if (packet.destination == fabric->observed)
		fabric->observer.packet(fabric->observer.context, &packet, false);
	fabric->operations.deliver(fabric->context, packet.destination, &packet);
}

void sim_delivers(void *fabric, uint32_t number, uint32_t data)
{
	(void)data;
	deliver(fabric, number);
}

// After a delay of its own, and behind what the host has received before.
static void deliver_later(struct sim_fabric *fabric, uint32_t number)
{
	uint64_t *last = &fabric->delivered[fabric->packets[number].destination];
	const uint64_t at =
	    *fabric->now +
	    sim_law_draw(&fabric->parameters.host_law, &fabric->random) * SIM_NANOSECOND;

	if (at > *last)
		*last = at;
	sim_at(fabric->engine, *last, fabric->handlers[SIM_DELIVERS], number, 0);
}

// The port with the fewest bytes. Of equal ones, those after `turn` come first.
static uint32_t shortest(struct sim_fabric *fabric, const uint32_t *ports, uint32_t count,
			 uint32_t turn, unsigned priority)
{
	uint64_t least = UINT64_MAX;
	uint32_t best = ports[0];

	for (uint32_t i = 0, at = turn; i < count; i++, at = at + 1 < count ? at + 1 : 0) {
		const uint64_t bytes = sim_queue_at(fabric, ports[at], priority)->bytes;

		if (bytes < least) {
			least = bytes;
			best = ports[at];
		}
	}
	return best;
}

// The port by which a switch forwards the packet.
static uint32_t route(struct sim_fabric *fabric, uint32_t node, const struct sim_packet *packet)
{
	const struct sim_routes *routes = &fabric->routes;
	const uint32_t at = node - fabric->n_hosts;
	const uint32_t leaf = routes->leaf_of_host[packet->destination];
	const struct sim_port_set *set;
	const uint32_t *ports;

	if (routes->leaf_of_switch[at] == leaf)
		return routes->port_to_host[packet->destination];
	set = &routes->sets[routes->set_of[(size_t)at * routes->n_leaves + leaf]];
	ports = routes->ports + set->first;
	if (set->count == 1)
		return ports[0];
	switch (fabric->parameters.choice) {
	case SIM_BY_DESTINATION:
		return ports[packet->destination / set->divisor % set->count];
	case SIM_ECMP:
		return ports[random_scale(
		    random_mix(packet->flow + ((uint64_t)(at + 1) << 32) + fabric->parameters.seed),
		    set->count)];
	case SIM_RANDOM:
		return ports[random_below(&fabric->random, set->count)];
	default:
		return shortest(fabric, ports, set->count,
				random_below(&fabric->random, set->count), packet->priority);
	}
}

// RED on the present length. True: the packet is to be marked, or dropped.
static bool is_chosen(struct sim_fabric *fabric, uint64_t length)
{
	const struct sim_fabric_parameters *p = &fabric->parameters;

	if (p->red_high == 0 || length < p->red_low)
		return false;
	return length >= p->red_high ||
	       random_uniform(&fabric->random) * (double)(p->red_high - p->red_low) <
		   p->red_share * (double)(length - p->red_low);
}

// Where a packet has no room; SIM_N_CAUSES: it has.
static enum sim_cause find_room(struct sim_fabric *fabric, const struct sim_packet *packet)
{
	const struct sim_fabric_parameters *p = &fabric->parameters;
	const struct sim_flow *input = sim_flow_at(fabric, packet->from, packet->priority);
	const struct sim_queue *queue = sim_queue_at(fabric, packet->port, packet->priority);
	const uint64_t used = p->kind == SIM_OUTPUT_QUEUED ? queue->bytes : input->input;

	if (sim_is_lossless(fabric, packet->priority)) {
		if (p->flow_control == SIM_PFC &&
		    input->input + packet->bytes > fabric->input_limit &&
		    !sim_shared_has_headroom(fabric, packet))
			return SIM_DROP_HEADROOM;
	} else if (used + packet->bytes > fabric->queue_limit &&
		   !sim_shared_has_room(fabric, packet, used)) {
		return SIM_DROP_QUEUE;
	}
	return SIM_N_CAUSES;
}

// Marks the packet if RED says so. True: it is to be dropped instead.
static bool apply_red(struct sim_fabric *fabric, struct sim_packet *packet)
{
	if (!is_chosen(fabric, sim_queue_at(fabric, packet->port, packet->priority)->bytes))
		return false;
	if (packet->may_mark) {
		packet->marked = true;
		fabric->ports[packet->port].marked++;
		return false;
	}
	return !sim_is_lossless(fabric, packet->priority);
}

static void enter_switch(struct sim_fabric *fabric, uint32_t number, uint32_t node)
{
	struct sim_packet *packet = &fabric->packets[number];
	const uint32_t input = packet->from;
	enum sim_cause cause;

	packet->port = route(fabric, node, packet);
	cause = find_room(fabric, packet);
	if (cause == SIM_N_CAUSES && apply_red(fabric, packet))
		cause = SIM_DROP_RED;
	if (cause != SIM_N_CAUSES) {
		sim_return_credit(fabric, input, packet->priority, packet->bytes);
		sim_drop(fabric, number, packet->port, cause);
		return;
	}
	sim_input(fabric, input, packet->priority, packet->bytes);
	sim_enqueue(fabric, number);
}

// Whether the link by which a packet came loses it.
static bool loses(struct sim_fabric *fabric, const struct sim_packet *packet)
{
	const double loss = fabric->ports[packet->port].loss;

	return loss > 0 && random_uniform(&fabric->random) < loss;
}

static void lose(struct sim_fabric *fabric, uint32_t number, bool is_switch)
{
	const struct sim_packet *packet = &fabric->packets[number];

	if (is_switch)
		sim_return_credit(fabric, packet->from, packet->priority, packet->bytes);
	sim_drop(fabric, number, packet->port,
		 fabric->ports[packet->port].loss < 1 ? SIM_DROP_RANDOM : SIM_DROP_LINK);
}

void sim_arrives(void *context, uint32_t number, uint32_t node)
{
	struct sim_fabric *fabric = context;
	struct sim_packet *packet = &fabric->packets[number];
	const bool is_switch = node >= fabric->n_hosts;
	const bool is_lost = fabric->may_lose && loses(fabric, packet);

	if (sim_has_copies(fabric, packet->port, packet->priority) &&
	    !sim_responds(fabric, number, is_lost))
		return;
	if (is_lost)
		lose(fabric, number, is_switch);
	else if (is_switch)
		enter_switch(fabric, number, node);
	else if (fabric->delivered != NULL)
		deliver_later(fabric, number);
	else
		deliver(fabric, number);
}
