// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void model_break(struct model *model, enum model_invariant invariant, const char *format, ...)
{
	va_list arguments;

	if (model->broken != MODEL_HOLDS)
		return;
	model->broken = invariant;
	va_start(arguments, format);
	vsnprintf(model->message, sizeof(model->message), format, arguments);
	va_end(arguments);
}

struct model_event *model_event(struct model *model, uint64_t event)
{
	return &model->events[event - model->first];
}

static uint32_t rule_distance(const struct model *model)
{
	const struct sched_parameters *parameters = &model->parameters;
	uint32_t others = 0;

	if (parameters->mode == SCHED_STATIC || parameters->distance != SCHED_DISTANCE_AUTO)
		return parameters->mode == SCHED_STATIC ? 0 : parameters->distance;
	for (uint32_t i = 1; i < parameters->n_builders; i++) {
		bool first = true;

		for (uint32_t j = 0; j < i; j++)
			first &= model->builder_parameters[j].group !=
				 model->builder_parameters[i].group;
		others += first;
	}
	return others < parameters->n_sources ? others : parameters->n_sources;
}

static uint32_t positions_of_a_round(const struct sched_parameters *parameters)
{
	uint32_t ports = 0, n_ports;

	if (parameters->shaping == SCHED_ALL_AT_ONCE)
		return 1;
	for (uint32_t i = 0; i < parameters->n_builders; i++)
		ports |= 1u << parameters->builders[i].port;
	n_ports = (uint32_t)__builtin_popcount(ports);
	return n_ports > parameters->n_sources ? n_ports : parameters->n_sources;
}

uint32_t model_static_builder(const struct model *model, uint64_t event)
{
	uint32_t n = model->parameters.n_builders;

	for (uint32_t i = 0; i < n; i++)
		if (!model->builders[(event + i) % n].excluded)
			return (uint32_t)((event + i) % n);
	return SCHED_MAX_BUILDERS;
}

void model_begin(struct model *model, uint64_t released)
{
	const struct sched_parameters *parameters = &model->parameters;

	model->released = released;
	model->frontier = released;
	model->paused = false;
	model->distance = rule_distance(model);
	model->n_positions = positions_of_a_round(parameters);
	model->n_groups_used = 0;
	model->waits_since = SCHED_NEVER;
	model->may_wait_since = SCHED_NEVER;
	model->round_open = false;
	memset(model->taken, 0, sizeof(model->taken));
	model->round_outstanding = 0;
	model->credits = 0;
	model->purged = 0;
	model->grants = 0;
	model->adopted = 0;
	model->parted = 0;
	for (uint64_t i = released - model->first; i < MODEL_EVENTS; i++)
		model->events[i] = (struct model_event){ 0 };
	for (uint32_t i = 0; i < parameters->n_builders; i++)
		model->builders[i] = (struct model_builder){
			.group = model->builder_parameters[i].group,
			.mean_16 = 16 * (uint64_t)parameters->event_bytes,
		};
	memset(model->ports, 0, sizeof(model->ports));
	for (uint32_t i = 0; i < parameters->n_sources; i++) {
		model->announced[i] = released;
		model->source_excluded[i] = false;
	}
}

void model_time(struct model *model, uint64_t now)
{
	if (now > model->now)
		model->now = now;
}

// An event is not in flight any more; its slot is used.
static void part(struct model *model, struct model_event *event)
{
	struct model_builder *builder = &model->builders[event->builder];

	builder->granted--;
	builder->in_flight -= event->bytes;
	builder->slots[event->slot].state = MODEL_USED;
	model->parted++;
	if (model->round_open && event->round == model->round)
		model->round_outstanding--;
}

static void purge(struct model *model, uint32_t index)
{
	struct model_builder *builder = &model->builders[index];

	for (uint64_t i = model->released - model->first; i < MODEL_EVENTS; i++) {
		struct model_event *event = &model->events[i];

		if (event->state == MODEL_OPEN && event->builder == index) {
			part(model, event);
			event->state = MODEL_WAITS;
		}
	}
	model->purged += builder->free;
	builder->free = 0;
	builder->registered = false;
	memset(builder->slots, 0, sizeof(builder->slots));
}

enum sched_result model_register(struct model *model, uint32_t index, uint64_t session,
				 uint32_t n_slots)
{
	struct model_builder *builder;

	if (index >= model->parameters.n_builders || n_slots == 0 ||
	    n_slots > model->builder_parameters[index].slots)
		return SCHED_UNKNOWN;
	builder = &model->builders[index];
	if (builder->registered && builder->session == session)
		return SCHED_DUPLICATE;
	if (builder->registered)
		purge(model, index);
	builder->registered = true;
	builder->session = session;
	builder->n_slots = n_slots;
	return SCHED_OK;
}

void model_exclude(struct model *model, uint32_t index, bool excluded)
{
	if (index >= model->parameters.n_builders)
		return;
	model->builders[index].excluded = excluded;
	if (excluded && model->builders[index].registered)
		purge(model, index);
}

enum sched_result model_credit(struct model *model, uint32_t index, uint32_t number,
			       uint32_t generation)
{
	struct model_builder *builder;
	struct model_slot *slot;

	if (index >= model->parameters.n_builders || !model->builders[index].registered ||
	    number >= model->builders[index].n_slots)
		return SCHED_UNKNOWN;
	builder = &model->builders[index];
	slot = &builder->slots[number];
	if (slot->state != MODEL_UNKNOWN && slot->generation == generation)
		return SCHED_DUPLICATE;
	if (slot->state == MODEL_FREE || slot->state == MODEL_GRANTED ||
	    (slot->state == MODEL_USED && (int32_t)(generation - slot->generation) < 0))
		return SCHED_STALE;
	slot->state = MODEL_FREE;
	slot->generation = generation;
	builder->free++;
	model->credits++;
	return SCHED_OK;
}

static void raise_frontier(struct model *model)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < model->parameters.n_sources; i++) {
		if (!model->source_excluded[i] && model->announced[i] < least)
			least = model->announced[i];
	}
	if (least != UINT64_MAX && least > model->frontier)
		model->frontier = least;
}

enum sched_result model_announce(struct model *model, uint32_t source, uint64_t up_to)
{
	if (source >= model->parameters.n_sources)
		return SCHED_UNKNOWN;
	if (up_to == model->announced[source])
		return SCHED_DUPLICATE;
	if (up_to < model->announced[source])
		return SCHED_STALE;
	model->announced[source] = up_to;
	raise_frontier(model);
	return SCHED_OK;
}

void model_exclude_source(struct model *model, uint32_t source, bool excluded)
{
	if (source >= model->parameters.n_sources)
		return;
	model->source_excluded[source] = excluded;
	raise_frontier(model);
}

static void release(struct model *model)
{
	while (model->events[model->released - model->first].state == MODEL_FINISHED)
		model->released++;
}

static enum sched_result adopt_open(struct model *model, uint64_t number, uint32_t index,
				    uint32_t slot, uint32_t generation, uint32_t attempt)
{
	struct model_builder *builder = &model->builders[index];
	struct model_event *event = model_event(model, number);

	if (event->state == MODEL_OPEN && event->builder == index && event->slot == slot &&
	    event->generation == generation && event->attempt == attempt)
		return SCHED_DUPLICATE;
	if (event->state == MODEL_FINISHED || builder->slots[slot].state != MODEL_UNKNOWN ||
	    attempt < event->attempt || (event->state == MODEL_OPEN && attempt == event->attempt))
		return SCHED_STALE;
	if (event->state == MODEL_OPEN)
		part(model, event);
	*event = (struct model_event){
		.state = MODEL_OPEN,
		.builder = index,
		.slot = slot,
		.generation = generation,
		.attempt = attempt,
		.round = UINT64_MAX,
		.bytes = builder->mean_16 / 16,
		.sized = builder->sized,
	};
	builder->slots[slot] = (struct model_slot){ MODEL_GRANTED, generation };
	builder->granted++;
	builder->in_flight += event->bytes;
	model->adopted++;
	if (number >= model->frontier)
		model->frontier = number + 1;
	return SCHED_OK;
}

enum sched_result model_adopt(struct model *model, uint64_t number, uint32_t index, uint32_t slot,
			      uint32_t generation, uint32_t attempt, enum sched_adopted what)
{
	struct model_event *event = model_event(model, number);

	if (index >= model->parameters.n_builders || !model->builders[index].registered)
		return SCHED_UNKNOWN;
	if (number < model->released)
		return what == SCHED_ADOPT_BUILT ? SCHED_DUPLICATE : SCHED_STALE;
	if (number - model->released >= model->parameters.unfinished)
		return SCHED_UNKNOWN;
	if (what == SCHED_ADOPT_OPEN)
		return slot < model->builders[index].n_slots
			   ? adopt_open(model, number, index, slot, generation, attempt)
			   : SCHED_UNKNOWN;
	if (event->state == MODEL_FINISHED)
		return SCHED_DUPLICATE;
	if (event->state == MODEL_OPEN)
		part(model, event);
	event->state = MODEL_FINISHED;
	if (number >= model->frontier)
		model->frontier = number + 1;
	release(model);
	return SCHED_OK;
}

static void built(struct model_builder *builder, uint64_t bytes)
{
	if (!builder->sized && bytes > 0)
		builder->mean_16 = 16 * bytes;
	else
		builder->mean_16 += bytes - builder->mean_16 / 16;
	builder->sized |= bytes > 0;
}

enum sched_result model_done(struct model *model, uint32_t index, uint64_t number, uint32_t slot,
			     uint32_t generation, uint32_t attempt, enum sched_outcome outcome,
			     uint64_t bytes)
{
	struct model_event *event = model_event(model, number);
	bool same;

	if (index >= model->parameters.n_builders || !model->builders[index].registered)
		return SCHED_UNKNOWN;
	if (number < model->released)
		return SCHED_DUPLICATE;
	if (number - model->released >= model->parameters.unfinished ||
	    (event->state == MODEL_WAITS && event->attempt == 0))
		return SCHED_UNKNOWN;
	same = event->builder == index && event->slot == slot && event->generation == generation &&
	       event->attempt == attempt;
	if (!same)
		return SCHED_STALE;
	if (event->state != MODEL_OPEN)
		return SCHED_DUPLICATE;
	part(model, event);
	event->state = MODEL_WAITS;
	if (outcome != SCHED_FAILED) {
		if (!event->sized && bytes > event->bytes)
			model_take_rate(model, index, bytes - event->bytes);
		built(&model->builders[index], bytes);
		event->state = MODEL_FINISHED;
	}
	release(model);
	return SCHED_OK;
}

static uint64_t outstanding(const struct model *model)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < model->parameters.n_builders; i++)
		n += model->builders[i].granted;
	return n;
}

static uint64_t waiting(const struct model *model)
{
	uint64_t n = 0;

	for (uint64_t i = model->released; i < model->frontier; i++)
		n += model->events[i - model->first].state == MODEL_WAITS;
	return n;
}

// The views of builders, and that each slot is in one state.
static void compare_builders(struct model *model)
{
	uint64_t free = 0;

	for (uint32_t i = 0; i < model->parameters.n_builders; i++) {
		const struct model_builder *builder = &model->builders[i];
		uint32_t counts[4] = { 0 };
		struct sched_builder_view view;

		sched_view(model->sched, i, &view);
		for (uint32_t slot = 0; slot < builder->n_slots && builder->registered; slot++)
			counts[builder->slots[slot].state]++;
		free += view.free;
		if (view.registered != builder->registered || view.free != counts[MODEL_FREE] ||
		    view.granted != counts[MODEL_GRANTED] || builder->free != view.free ||
		    builder->granted != view.granted)
			model_break(model, MODEL_TOKENS,
				    "builder %u has %u free and %u granted slots; expected %u "
				    "and %u",
				    i, view.free, view.granted, counts[MODEL_FREE],
				    counts[MODEL_GRANTED]);
		if (view.in_flight_bytes != builder->in_flight ||
		    view.mean_bytes != builder->mean_16 / 16 || view.paused != builder->paused)
			model_break(model, MODEL_PACE,
				    "builder %u has %ju bytes in flight, not %ju", i,
				    (uintmax_t)view.in_flight_bytes, (uintmax_t)builder->in_flight);
	}
	if (model->credits != sched_counters(model->sched)->credits[SCHED_OK] ||
	    model->grants != sched_counters(model->sched)->grants ||
	    model->credits != model->grants + sched_counters(model->sched)->purged_credits + free)
		model_break(model, MODEL_TOKENS, "%ju credits, %ju grants, %ju purged, %ju free",
			    (uintmax_t)model->credits, (uintmax_t)model->grants,
			    (uintmax_t)sched_counters(model->sched)->purged_credits,
			    (uintmax_t)free);
}

void model_compare(struct model *model)
{
	const struct sched_counters *counters = sched_counters(model->sched);
	uint64_t left =
	    counters->grants + counters->adopted - counters->requeued - counters->superseded;

	for (unsigned i = 0; i < SCHED_N_OUTCOMES; i++)
		left -= counters->outcomes[i];
	compare_builders(model);
	if (sched_outstanding(model->sched) != outstanding(model) || left != outstanding(model) ||
	    model->grants + model->adopted - model->parted != outstanding(model))
		model_break(model, MODEL_QUIESCENT, "%ju events are outstanding, not %ju",
			    (uintmax_t)sched_outstanding(model->sched),
			    (uintmax_t)outstanding(model));
	if (sched_released(model->sched) != model->released ||
	    sched_announced(model->sched) != model->frontier ||
	    sched_waiting(model->sched) != waiting(model))
		model_break(model, MODEL_EVENT_ORDER,
			    "%ju released, %ju announced, %ju waiting; expected %ju, %ju, %ju",
			    (uintmax_t)sched_released(model->sched),
			    (uintmax_t)sched_announced(model->sched),
			    (uintmax_t)sched_waiting(model->sched), (uintmax_t)model->released,
			    (uintmax_t)model->frontier, (uintmax_t)waiting(model));
}

void model_quiescent(struct model *model)
{
	model_send_round(model);
	if (sched_outstanding(model->sched) != 0 || sched_waiting(model->sched) != 0 ||
	    sched_released(model->sched) != sched_announced(model->sched))
		model_break(model, MODEL_QUIESCENT,
			    "after the halt %ju events are outstanding, %ju wait",
			    (uintmax_t)sched_outstanding(model->sched),
			    (uintmax_t)sched_waiting(model->sched));
	for (uint32_t i = 0; i < model->parameters.n_sources; i++) {
		if (model->sent[i] != model->grants_ever)
			model_break(model, MODEL_QUIESCENT,
				    "source %u has sent %ju of %ju granted events", i,
				    (uintmax_t)model->sent[i], (uintmax_t)model->grants_ever);
	}
}
