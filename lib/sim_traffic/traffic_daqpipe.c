// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// DAQPIPE's traffic. A builder requests its fragments (pull), or a readout unit sends those that
// are assigned (push), in the order of the shift. With the barrier all hosts take the same step at
// the same time: host x exchanges with host x + step, and the next step begins when nothing is in
// flight. The barrier itself costs no messages.
//
// A host that sends to itself needs no network: such messages arrive at once.
#include <stdlib.h>

#include "sim_traffic/traffic_internal.h"

#define MANAGER       0u
#define CONTROL_BYTES 64u

enum kind {
	DATA,
	CREDIT,     // builder to manager: its slot is free
	ASSIGNMENT, // manager to builder (pull), or to all readout units (push)
	REQUEST,    // builder to readout unit
};

// A slot of a builder, and the event in it.
struct event {
	uint64_t begun;               // ps
	uint32_t requested, received; // fragments
	uint32_t in_flight;
	bool is_active;
};

// What a readout unit may send to one builder (push): slots in the order of their assignments.
struct waiting {
	uint16_t first, n;
};

struct daqpipe {
	struct sim_traffic base;
	uint32_t n_hosts, credits;
	struct event *events;    // by builder and slot
	uint32_t *order;         // pull with random shift: by builder, slot and step
	struct waiting *waiting; // push: by readout unit and builder
	uint16_t *slots;         // push: rings of `credits` slots for each struct waiting
	uint32_t *sending;       // push: messages of each readout unit that have not left yet
	uint32_t *last;          // push: builder to which each readout unit sent last
	uint64_t in_flight;      // with the barrier: fragments in flight
	uint32_t step;           // with the barrier: host x exchanges with host x + step
	bool is_stepping;
};

static void arrive(struct daqpipe *daqpipe, const struct sim_message *message);

static bool has_barrier(const struct daqpipe *daqpipe)
{
	return daqpipe->base.parameters.settings.shift == SIM_SHIFT_BARRIER;
}

static struct event *event_of(struct daqpipe *daqpipe, uint32_t builder, uint16_t slot)
{
	return &daqpipe->events[(size_t)builder * daqpipe->credits + slot];
}

static void send(struct daqpipe *daqpipe, enum kind kind, uint32_t from, uint32_t to,
		 uint32_t about, uint16_t slot)
{
	const struct sim_message message = {
		.from = from,
		.to = to,
		.bytes = kind == DATA ? daqpipe->base.parameters.settings.message : CONTROL_BYTES,
		.about = about,
		.slot = slot,
		.kind = (uint8_t)kind,
	};

	if (from == to)
		arrive(daqpipe, &message);
	else
		traffic_send(&daqpipe->base, &message);
}

// --- pull ---

static void shuffle(struct daqpipe *daqpipe, uint32_t *order)
{
	for (uint32_t i = 0; i < daqpipe->n_hosts; i++) {
		const uint32_t j = random_below(&daqpipe->base.random, i + 1);
		order[i] = order[j];
		order[j] = i;
	}
}

static uint32_t readout_unit(struct daqpipe *daqpipe, uint32_t builder, uint16_t slot,
			     uint32_t step)
{
	if (daqpipe->order != NULL)
		return daqpipe
		    ->order[((size_t)builder * daqpipe->credits + slot) * daqpipe->n_hosts + step];
	return (builder + 1 + step) % daqpipe->n_hosts;
}

static void request_some(struct daqpipe *daqpipe, uint32_t builder, uint16_t slot)
{
	struct event *event = event_of(daqpipe, builder, slot);

	while (event->is_active && event->requested < daqpipe->n_hosts &&
	       event->in_flight < daqpipe->base.parameters.settings.parallel_sends) {
		const uint32_t unit = readout_unit(daqpipe, builder, slot, event->requested);

		event->requested++;
		event->in_flight++;
		send(daqpipe, REQUEST, builder, unit, 0, slot);
	}
}

// --- push ---

static bool send_to(struct daqpipe *daqpipe, uint32_t unit, uint32_t builder)
{
	const size_t place = (size_t)unit * daqpipe->n_hosts + builder;
	struct waiting *waiting = &daqpipe->waiting[place];
	uint16_t slot;

	if (waiting->n == 0)
		return false;
	slot = daqpipe->slots[place * daqpipe->credits + waiting->first];
	waiting->first = (uint16_t)((waiting->first + 1u) % daqpipe->credits);
	waiting->n--;
	daqpipe->last[unit] = builder;
	if (unit != builder)
		daqpipe->sending[unit]++;
	send(daqpipe, DATA, unit, builder, 0, slot);
	return true;
}

// Sends the next fragment in the order of the shift. Returns false if there is none.
static bool send_one(struct daqpipe *daqpipe, uint32_t unit)
{
	uint32_t first = daqpipe->last[unit] + 1;

	if (daqpipe->base.parameters.settings.shift == SIM_SHIFT_RANDOM)
		first = random_below(&daqpipe->base.random, daqpipe->n_hosts);
	for (uint32_t i = 0; i < daqpipe->n_hosts; i++)
		if (send_to(daqpipe, unit, (first + i) % daqpipe->n_hosts))
			return true;
	return false;
}

static void send_some(struct daqpipe *daqpipe, uint32_t unit)
{
	while (daqpipe->sending[unit] < daqpipe->base.parameters.settings.parallel_sends)
		if (!send_one(daqpipe, unit))
			return;
}

// --- the barrier ---

// Lets each event request a fragment of builder + step, or each readout unit send what there is for
// unit + step.
static void take_step(struct daqpipe *daqpipe)
{
	for (uint32_t host = 0; host < daqpipe->n_hosts; host++) {
		const uint32_t other = (host + daqpipe->step) % daqpipe->n_hosts;

		if (daqpipe->waiting != NULL) {
			while (daqpipe->waiting[(size_t)host * daqpipe->n_hosts + other].n > 0) {
				daqpipe->in_flight++;
				send_to(daqpipe, host, other);
			}
			continue;
		}
		for (uint16_t slot = 0; slot < daqpipe->credits; slot++) {
			struct event *event = event_of(daqpipe, host, slot);
			if (!event->is_active || event->requested == daqpipe->n_hosts)
				continue;
			event->requested++;
			daqpipe->in_flight++;
			send(daqpipe, REQUEST, host, other, 0, slot);
		}
	}
}

// Takes steps until something is in flight, or nothing is left to do in a whole round.
static void step_on(struct daqpipe *daqpipe)
{
	if (daqpipe->is_stepping)
		return;
	daqpipe->is_stepping = true;
	for (uint32_t i = 0; i < daqpipe->n_hosts && daqpipe->in_flight == 0; i++) {
		daqpipe->step = (daqpipe->step + 1) % daqpipe->n_hosts;
		take_step(daqpipe);
	}
	daqpipe->is_stepping = false;
}

// --- messages ---

static void take_credit(struct daqpipe *daqpipe, const struct sim_message *credit)
{
	const bool is_push = daqpipe->base.parameters.settings.mode == SIM_PUSH;
	const uint32_t builder = credit->from;

	daqpipe->base.account.begun++;
	*event_of(daqpipe, builder, credit->slot) = (struct event){
		.begun = sim_now(daqpipe->base.parameters.engine),
		.is_active = is_push,
	};
	if (!is_push) {
		send(daqpipe, ASSIGNMENT, MANAGER, builder, builder, credit->slot);
		return;
	}
	for (uint32_t unit = 0; unit < daqpipe->n_hosts; unit++)
		send(daqpipe, ASSIGNMENT, MANAGER, unit, builder, credit->slot);
}

static void take_assignment(struct daqpipe *daqpipe, const struct sim_message *assignment)
{
	const uint32_t builder = assignment->about;

	if (daqpipe->waiting != NULL) {
		const size_t place = (size_t)assignment->to * daqpipe->n_hosts + builder;
		struct waiting *waiting = &daqpipe->waiting[place];

		daqpipe->slots[place * daqpipe->credits +
			       (waiting->first + waiting->n) % daqpipe->credits] = assignment->slot;
		waiting->n++;
		if (!has_barrier(daqpipe))
			send_some(daqpipe, assignment->to);
	} else {
		event_of(daqpipe, builder, assignment->slot)->is_active = true;
		if (daqpipe->order != NULL)
			shuffle(daqpipe, &daqpipe->order[((size_t)builder * daqpipe->credits +
							  assignment->slot) *
							 daqpipe->n_hosts]);
		if (!has_barrier(daqpipe))
			request_some(daqpipe, builder, assignment->slot);
	}
	if (has_barrier(daqpipe))
		step_on(daqpipe);
}

static void take_data(struct daqpipe *daqpipe, const struct sim_message *data)
{
	struct sim_traffic *base = &daqpipe->base;
	struct event *event = event_of(daqpipe, data->to, data->slot);

	event->received++;
	if (event->in_flight > 0)
		event->in_flight--;
	if (has_barrier(daqpipe))
		daqpipe->in_flight--;
	if (event->received == daqpipe->n_hosts) {
		traffic_trace(base, data->to, event->begun);
		base->account.complete++;
		histogram_add(&base->account.latency,
			      (sim_now(base->parameters.engine) - event->begun) / SIM_NANOSECOND);
		event->is_active = false;
		send(daqpipe, CREDIT, data->to, MANAGER, 0, data->slot);
	} else if (daqpipe->waiting == NULL && !has_barrier(daqpipe)) {
		request_some(daqpipe, data->to, data->slot);
	}
	if (has_barrier(daqpipe) && daqpipe->in_flight == 0)
		step_on(daqpipe);
}

static void arrive(struct daqpipe *daqpipe, const struct sim_message *message)
{
	switch ((enum kind)message->kind) {
	case DATA:
		take_data(daqpipe, message);
		break;
	case CREDIT:
		take_credit(daqpipe, message);
		break;
	case ASSIGNMENT:
		take_assignment(daqpipe, message);
		break;
	case REQUEST:
		send(daqpipe, DATA, message->to, message->from, 0, message->slot);
		break;
	}
}

static void delivered(struct sim_traffic *traffic, const struct sim_message *message)
{
	arrive((struct daqpipe *)traffic, message);
}

static void sent(struct sim_traffic *traffic, const struct sim_message *message)
{
	struct daqpipe *daqpipe = (struct daqpipe *)traffic;

	if (message->kind != DATA || daqpipe->waiting == NULL)
		return;
	daqpipe->sending[message->from]--;
	if (!has_barrier(daqpipe))
		send_some(daqpipe, message->from);
}

// --- begin and end ---

static bool make_room(struct daqpipe *daqpipe)
{
	const struct sim_traffic_settings *settings = &daqpipe->base.parameters.settings;
	const size_t n = daqpipe->n_hosts, n_events = n * daqpipe->credits;

	daqpipe->events = calloc(n_events, sizeof(daqpipe->events[0]));
	if (settings->mode == SIM_PULL) {
		if (settings->shift == SIM_SHIFT_RANDOM)
			daqpipe->order = calloc(n_events * n, sizeof(daqpipe->order[0]));
		return daqpipe->events != NULL &&
		       (daqpipe->order != NULL || settings->shift != SIM_SHIFT_RANDOM);
	}
	daqpipe->waiting = calloc(n * n, sizeof(daqpipe->waiting[0]));
	daqpipe->slots = calloc(n_events * n, sizeof(daqpipe->slots[0]));
	daqpipe->sending = calloc(n, sizeof(daqpipe->sending[0]));
	daqpipe->last = calloc(n, sizeof(daqpipe->last[0]));
	return daqpipe->events != NULL && daqpipe->waiting != NULL && daqpipe->slots != NULL &&
	       daqpipe->sending != NULL && daqpipe->last != NULL;
}

// Each builder announces its credits.
static void announce(void *context, uint32_t index, uint32_t data)
{
	struct daqpipe *daqpipe = context;

	(void)index;
	(void)data;
	for (uint32_t host = 0; host < daqpipe->n_hosts; host++)
		for (uint16_t slot = 0; slot < daqpipe->credits; slot++)
			send(daqpipe, CREDIT, host, MANAGER, 0, slot);
}

static bool start(struct sim_traffic *traffic)
{
	struct daqpipe *daqpipe = (struct daqpipe *)traffic;
	struct sim_engine *engine = traffic->parameters.engine;

	daqpipe->n_hosts = traffic->parameters.n_hosts;
	daqpipe->credits = traffic->parameters.settings.credits;
	if (!make_room(daqpipe))
		return false;
	for (uint32_t host = 0; daqpipe->last != NULL && host < daqpipe->n_hosts; host++)
		daqpipe->last[host] = host;
	sim_at(engine, sim_now(engine), sim_engine_handler(engine, announce, daqpipe), 0, 0);
	return true;
}

static void stop(struct sim_traffic *traffic)
{
	struct daqpipe *daqpipe = (struct daqpipe *)traffic;

	free(daqpipe->events);
	free(daqpipe->order);
	free(daqpipe->waiting);
	free(daqpipe->slots);
	free(daqpipe->sending);
	free(daqpipe->last);
}

const struct traffic_model traffic_daqpipe = {
	.size = sizeof(struct daqpipe),
	.start = start,
	.sent = sent,
	.delivered = delivered,
	.stop = stop,
};
