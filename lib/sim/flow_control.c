// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Links that lose nothing. PFC (IEEE 802.1Qbb): the receiver of a link pauses the sender, per
// priority, for a time; it repeats the pause while it lasts, and ends it early. A pause frame waits
// for the end of the packet that is being sent in its direction. Credits: the sender counts the
// free bytes of the receiver's buffer. The third discipline, retry, is in retry.c.
#include "sim/fabric_internal.h"

static void trace(const struct sim_fabric *fabric, uint32_t port, bool is_blocked)
{
	const struct sim_tracer *tracer = fabric->parameters.tracer;

	if (tracer != NULL)
		tracer->blocked(tracer->context, port, is_blocked);
}

// A port and priority can send no more: from now on a deadlock is looked for.
static void block(struct sim_fabric *fabric, uint32_t port, unsigned priority)
{
	const uint64_t now = *fabric->now;

	sim_flow_at(fabric, port, priority)->paused_since = now;
	fabric->n_blocked++;
	trace(fabric, port, true);
	if (fabric->looks_for_deadlock || fabric->parameters.deadlock_interval == 0)
		return;
	fabric->looks_for_deadlock = true;
	sim_at(fabric->engine, now + fabric->parameters.deadlock_interval,
	       fabric->handlers[SIM_LOOKS_FOR_DEADLOCK], 0, 0);
}

static void unblock(struct sim_fabric *fabric, uint32_t port, unsigned priority)
{
	fabric->ports[port].paused_time +=
	    *fabric->now - sim_flow_at(fabric, port, priority)->paused_since;
	fabric->n_blocked--;
	trace(fabric, port, false);
}

// An input may be above its threshold. Inlined it would slow down all that are not.
__attribute__((noinline)) static void watch(struct sim_fabric *fabric, uint32_t number,
					    unsigned priority, uint32_t bytes)
{
	struct sim_sender *port = &fabric->ports[number];
	struct sim_flow *flow = sim_flow_at(fabric, number, priority);
	const uint8_t bit = (uint8_t)(1u << priority);

	if (fabric->shared != NULL)
		sim_shared_enter(fabric, number, bytes);
	if (fabric->parameters.flow_control != SIM_PFC || (port->holds & bit) != 0 ||
	    !sim_is_lossless(fabric, priority) || flow->input <= sim_xoff(fabric, number))
		return;
	flow->room = flow->input + fabric->parameters.headroom;
	port->holds |= bit;
	port->pauses_due |= bit;
	sim_start(fabric, number);
}

void sim_input(struct sim_fabric *fabric, uint32_t number, unsigned priority, uint32_t bytes)
{
	struct sim_flow *flow = sim_flow_at(fabric, number, priority);

	flow->input += bytes;
	if (flow->input > flow->input_peak)
		flow->input_peak = flow->input;
	if (flow->input > fabric->watched)
		watch(fabric, number, priority, bytes);
}

static void give_back(struct sim_fabric *fabric, uint32_t number, unsigned priority, uint32_t bytes)
{
	if (fabric->shared != NULL)
		sim_shared_leave(fabric, number, bytes);
	sim_return_credit(fabric, number, priority, bytes);
}

void sim_output(struct sim_fabric *fabric, uint32_t number, unsigned priority, uint32_t bytes)
{
	struct sim_sender *port = &fabric->ports[number];
	struct sim_flow *flow = sim_flow_at(fabric, number, priority);
	const uint8_t bit = (uint8_t)(1u << priority);

	flow->input -= bytes;
	if (fabric->gives_back)
		give_back(fabric, number, priority, bytes);
	if ((port->holds & bit) == 0 || (port->storms & bit) != 0 ||
	    flow->input > sim_xon(fabric, number))
		return;
	port->holds &= (uint8_t)~bit;
	port->pauses_due |= bit;
	sim_start(fabric, number);
}

uint64_t sim_pause_time(const struct sim_sender *port, unsigned quanta)
{
	return quanta * port->byte_time * (SIM_QUANTUM_BITS / 8) >> SIM_FRACTION_BITS;
}

void sim_send_pause(struct sim_fabric *fabric, uint32_t number)
{
	struct sim_sender *port = &fabric->ports[number];
	const bool is_host = port->node < fabric->n_hosts;
	const uint64_t now = *fabric->now;
	const uint64_t end = now + sim_wire_time(fabric, port, fabric->parameters.pause_bytes);

	for (unsigned priority = 0; priority < fabric->parameters.n_priorities; priority++) {
		const bool holds = (port->holds >> priority & 1) != 0;
		unsigned quanta = holds ? fabric->parameters.pause_quanta : 0;

		if ((port->pauses_due >> priority & 1) == 0)
			continue;
		if (is_host)
			quanta = port->host_quanta[priority];
		sim_at(fabric->engine, end + port->cable + fabric->parameters.pause_response,
		       fabric->handlers[SIM_PAUSES], port->peer, priority << 16 | quanta);
		if (is_host || quanta == 0)
			continue;
		sim_flow_at(fabric, number, priority)->repeat_at =
		    end + sim_pause_time(port, quanta) / 2;
		sim_at(fabric->engine, sim_flow_at(fabric, number, priority)->repeat_at,
		       fabric->handlers[SIM_REPEATS_PAUSE], number, priority);
	}
	if (fabric->shares != NULL)
		sim_share_count(fabric, number);
	if (number == fabric->observed)
		fabric->observer.pause(fabric->observer.context, port->pauses_due,
				       port->host_quanta, true);
	port->pauses_due = 0;
	port->sending = (struct sim_sending){ .from = SIM_NONE };
	port->is_sending = true;
	port->busy += end - now;
	fabric->totals.pauses += !is_host;
	sim_at(fabric->engine, end, fabric->handlers[SIM_PORT_SENT], number, 0);
}

void sim_repeats_pause(void *context, uint32_t number, uint32_t priority)
{
	struct sim_fabric *fabric = context;
	struct sim_sender *port = &fabric->ports[number];

	// A pause that ended in the meantime, or is another one, is not repeated.
	if ((port->holds >> priority & 1) == 0 ||
	    sim_flow_at(fabric, number, priority)->repeat_at != *fabric->now)
		return;
	port->pauses_due |= (uint8_t)(1u << priority);
	sim_start(fabric, number);
}

static void tell_paused(struct sim_fabric *fabric, uint32_t number)
{
	if (number < fabric->n_hosts && fabric->operations.paused != NULL)
		fabric->operations.paused(fabric->context, number, fabric->ports[number].paused);
}

static void end_pause(struct sim_fabric *fabric, uint32_t number, unsigned priority)
{
	struct sim_sender *port = &fabric->ports[number];

	if ((port->paused >> priority & 1) == 0)
		return;
	port->paused &= (uint8_t) ~(1u << priority);
	unblock(fabric, number, priority);
	sim_start(fabric, number);
	tell_paused(fabric, number);
}

static void show_pause(const struct sim_fabric *fabric, unsigned priority, unsigned quanta)
{
	uint16_t all[SIM_MAX_PRIORITIES] = { 0 };

	all[priority] = (uint16_t)quanta;
	fabric->observer.pause(fabric->observer.context, (uint8_t)(1u << priority), all, false);
}

// The port has received a pause: data is the priority, and 16 bits of quanta.
void sim_pauses(void *context, uint32_t number, uint32_t data)
{
	struct sim_fabric *fabric = context;
	struct sim_sender *port = &fabric->ports[number];
	const unsigned priority = data >> 16, quanta = data & 0xffff;
	struct sim_flow *flow = sim_flow_at(fabric, number, priority);

	if (number == fabric->observed)
		show_pause(fabric, priority, quanta);
	if (quanta == 0) {
		end_pause(fabric, number, priority);
		return;
	}
	flow->paused_until = *fabric->now + sim_pause_time(port, quanta);
	sim_at(fabric->engine, flow->paused_until, fabric->handlers[SIM_PAUSE_ENDS], number,
	       priority);
	if ((port->paused >> priority & 1) != 0)
		return;
	port->paused |= (uint8_t)(1u << priority);
	port->pauses++;
	block(fabric, number, priority);
	tell_paused(fabric, number);
}

void sim_pause_ends(void *context, uint32_t number, uint32_t priority)
{
	struct sim_fabric *fabric = context;

	if (*fabric->now >= sim_flow_at(fabric, number, priority)->paused_until)
		end_pause(fabric, number, priority);
}

void sim_return_credit(struct sim_fabric *fabric, uint32_t number, unsigned priority,
		       uint32_t bytes)
{
	const struct sim_sender *port = &fabric->ports[number];

	if (sim_uses_credits(fabric, port->peer, priority))
		sim_at(fabric->engine, *fabric->now + port->cable, fabric->handlers[SIM_CREDIT],
		       port->peer, priority << 16 | bytes);
}

// The port has received credits: data is the priority, and 16 bits of bytes.
void sim_credit(void *context, uint32_t number, uint32_t data)
{
	struct sim_fabric *fabric = context;
	const struct sim_sender *port = &fabric->ports[number];
	const unsigned priority = data >> 16;
	struct sim_flow *flow = sim_flow_at(fabric, number, priority);

	flow->credits += data & 0xffff;
	if ((port->starved >> priority & 1) == 0 || flow->credits < flow->lacks)
		return;
	sim_starves_no_more(fabric, number, priority);
	sim_start(fabric, number);
}

void sim_starves(struct sim_fabric *fabric, uint32_t number, unsigned priority, uint32_t bytes)
{
	struct sim_sender *port = &fabric->ports[number];

	sim_flow_at(fabric, number, priority)->lacks = bytes;
	if ((port->starved >> priority & 1) != 0)
		return;
	port->starved |= (uint8_t)(1u << priority);
	block(fabric, number, priority);
}

void sim_starves_no_more(struct sim_fabric *fabric, uint32_t number, unsigned priority)
{
	struct sim_sender *port = &fabric->ports[number];

	if ((port->starved >> priority & 1) == 0)
		return;
	port->starved &= (uint8_t) ~(1u << priority);
	unblock(fabric, number, priority);
}
