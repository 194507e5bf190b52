// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The model's judgement of grants, and of polls that made none.
#include "model.h"

#define BUCKET_TOLERANCE 2 // ns, of rounding

static bool uses_rounds(const struct model *model)
{
	return model->parameters.shaping == SCHED_LINEAR_SHIFT ||
	       model->parameters.shaping == SCHED_RANDOM_ORDER;
}

static bool has_credit(const struct model_builder *builder)
{
	return builder->registered && !builder->excluded && builder->free > 0;
}

static struct model_port *port_of(struct model *model, uint32_t builder)
{
	return &model->ports[model->builder_parameters[builder].port];
}

// Whether the window of a builder's port allows its next event.
static bool has_window(const struct model *model, uint32_t index)
{
	const struct sched_builder_parameters *parameters = model->builder_parameters;
	uint64_t in_flight = model->builders[index].mean_16 / 16;
	uint32_t granted = 0;

	for (uint32_t i = 0; i < model->parameters.n_builders; i++) {
		if (parameters[i].port != parameters[index].port)
			continue;
		in_flight += model->builders[i].in_flight;
		granted += model->builders[i].granted;
	}
	return parameters[index].window == 0 || granted == 0 ||
	       in_flight <= parameters[index].window;
}

// Whether a builder can be granted, its round aside. `slack`: its rate must allow it by that much.
static bool is_able(const struct model *model, uint32_t index, double slack)
{
	const struct sched_builder_parameters *parameters = &model->builder_parameters[index];
	const struct model_builder *builder = &model->builders[index];

	return has_credit(builder) && !builder->paused &&
	       (model->parameters.credits == 0 || builder->granted < model->parameters.credits) &&
	       has_window(model, index) &&
	       (parameters->link_rate == 0 ||
		(double)model->now >= model->ports[parameters->port].next_ns + slack);
}

// How many grants ago a group was used last; 0: not within the distance.
static uint32_t used_ago(const struct model *model, uint32_t group)
{
	for (uint32_t i = 0; i < model->n_groups_used && i < model->distance; i++) {
		if (model->groups[i] == group)
			return i + 1;
	}
	return 0;
}

static uint64_t lowest_waiting(const struct model *model)
{
	uint64_t end = model->released + model->parameters.unfinished;

	for (uint64_t i = model->released; i < model->frontier && i < end; i++) {
		if (model->events[i - model->first].state == MODEL_WAITS)
			return i;
	}
	return SCHED_NEVER;
}

// What builders could do at this moment.
struct outlook {
	bool any;           // some builder is able
	bool now_fresh;     // in this round, of a group that the rule allows
	bool now_recent;    // in this round, of another group
	bool later;         // once this round has ended
	bool later_fresh;   // once this round has ended, of a group that the rule allows
	bool fresh_credit;  // a group that the rule allows has a credit
	uint32_t oldest;    // of now_recent, by group: most grants ago
	uint32_t most_free; // of now_fresh
};

static bool round_is_closed(const struct model *model)
{
	for (uint32_t i = 0; i < model->n_positions; i++) {
		if (!model->taken[i])
			return false;
	}
	return true;
}

static struct outlook look(const struct model *model, double slack)
{
	bool closed = uses_rounds(model) && model->round_open && round_is_closed(model);
	struct outlook outlook = { 0 };

	for (uint32_t i = 0; i < model->parameters.n_builders; i++) {
		const struct model_builder *builder = &model->builders[i];
		uint32_t ago = used_ago(model, builder->group);
		const struct model_port *port = &model->ports[model->builder_parameters[i].port];
		bool now = !closed && !(model->round_open && port->in_round);

		outlook.fresh_credit |= has_credit(builder) && ago == 0;
		if (!is_able(model, i, slack))
			continue;
		outlook.any = true;
		outlook.now_fresh |= now && ago == 0;
		outlook.now_recent |= now && ago > 0;
		outlook.later |= !now;
		outlook.later_fresh |= !now && ago == 0;
		if (now && ago > outlook.oldest)
			outlook.oldest = ago;
		if (now && ago == 0 && builder->free > outlook.most_free)
			outlook.most_free = builder->free;
	}
	return outlook;
}

static bool next_round_may_begin(const struct model *model)
{
	return !model->parameters.barrier || model->round_outstanding == 0;
}

static bool has_waited(const struct model *model, uint64_t since)
{
	return since != SCHED_NEVER && model->now - since >= model->parameters.relax_after_ns;
}

// What holds up the next event, if builders that are able by `slack` are. A wait begins, unless it
// has, if the group rule or a turn holds up.
enum holdup {
	NOTHING_WAITS,
	NO_BUILDER,
	ROUND_NOT_OVER,
	GROUP_OR_TURN,
	NOTHING_HOLDS_UP,
};

static enum holdup holdup(const struct model *model, double slack, uint64_t *since)
{
	struct outlook outlook = look(model, slack);
	bool stuck = uses_rounds(model) && model->round_open && !next_round_may_begin(model);

	if (lowest_waiting(model) == SCHED_NEVER || model->paused)
		return NOTHING_WAITS;
	if (!outlook.any)
		return NO_BUILDER;
	if (stuck && (round_is_closed(model) || (!outlook.now_fresh && outlook.later_fresh)))
		return ROUND_NOT_OVER;
	// The turn may be that of a builder that has a position.
	if (stuck && model->parameters.strict && outlook.later)
		return ROUND_NOT_OVER;
	if (model->parameters.strict ||
	    (!outlook.now_fresh && !outlook.later_fresh && outlook.fresh_credit)) {
		if (*since == SCHED_NEVER)
			*since = model->now;
		if (!has_waited(model, *since))
			return GROUP_OR_TURN;
	}
	if (stuck && !outlook.now_fresh && !outlook.now_recent)
		return ROUND_NOT_OVER;
	return NOTHING_HOLDS_UP;
}

// Whether a wait ends because no group is waited for: only builders of recent groups are able.
static bool ends_wait(const struct model *model, double slack)
{
	struct outlook outlook = look(model, slack);

	return !model->parameters.strict && outlook.any && !outlook.now_fresh &&
	       !outlook.later_fresh && !outlook.fresh_credit;
}

// The static mode.
static bool formula_holds_up(const struct model *model)
{
	uint32_t builder = model_static_builder(model, lowest_waiting(model));

	if (!is_able(model, builder, BUCKET_TOLERANCE))
		return true;
	if (!uses_rounds(model) || !model->round_open || next_round_may_begin(model))
		return false;
	return model->ports[model->builder_parameters[builder].port].in_round ||
	       round_is_closed(model);
}

void model_short_poll(struct model *model)
{
	if (ends_wait(model, -BUCKET_TOLERANCE) || ends_wait(model, BUCKET_TOLERANCE))
		model->waits_since = SCHED_NEVER;
	holdup(model, -BUCKET_TOLERANCE, &model->may_wait_since);
	if (holdup(model, BUCKET_TOLERANCE, &model->waits_since) != NOTHING_HOLDS_UP ||
	    (model->parameters.mode == SCHED_STATIC && formula_holds_up(model)))
		return;
	model_break(model, MODEL_NO_STALL, "event %ju waits although a builder is able",
		    (uintmax_t)lowest_waiting(model));
}

void model_send_round(struct model *model)
{
	uint32_t n = model->n_positions, sources = model->parameters.n_sources;

	if (!model->round_open)
		return;
	for (uint32_t phase = 0; phase < n; phase++) {
		bool busy[MODEL_BUILDERS] = { false };

		for (uint32_t source = 0; source < sources; source++) {
			uint32_t position = (source + phase) % n, port;

			if (!model->taken[position])
				continue;
			port = model->builder_parameters[model->positions[position]].port;
			model->sent[source]++;
			if (busy[port])
				model_break(model, MODEL_NO_CONFLICT,
					    "round %ju, phase %u: two sources send to port %u",
					    (uintmax_t)model->round, phase, port);
			busy[port] = true;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		model->taken[i] = false;
	for (uint32_t i = 0; i < MODEL_BUILDERS; i++)
		model->ports[i].in_round = false;
}

// A grant opens a new round: the one before had to be over.
static void next_round(struct model *model, const struct sched_grant *grant)
{
	struct outlook outlook = look(model, BUCKET_TOLERANCE);

	if (model->round_open) {
		if (!next_round_may_begin(model) || grant->round != model->round + 1)
			model_break(model, MODEL_NO_CONFLICT, "round %ju begins too early",
				    (uintmax_t)grant->round);
		if (model->parameters.mode != SCHED_STATIC && !model->parameters.strict &&
		    outlook.now_fresh)
			model_break(model, MODEL_NO_CONFLICT, "round %ju ends too early",
				    (uintmax_t)model->round);
	}
	model_send_round(model);
	model->round_open = true;
	model->round = grant->round;
	model->round_outstanding = 0;
}

static void check_round(struct model *model, const struct sched_grant *grant)
{
	if (!uses_rounds(model)) {
		for (uint32_t i = 0; i < model->parameters.n_sources; i++)
			model->sent[i]++;
		return;
	}
	if (!model->round_open || grant->round != model->round)
		next_round(model, grant);
	if (grant->n_positions != model->n_positions || grant->position >= model->n_positions ||
	    model->taken[grant->position]) {
		model_break(model, MODEL_NO_CONFLICT, "position %u of round %ju is not to be had",
			    grant->position, (uintmax_t)grant->round);
		return;
	}
	if (port_of(model, grant->builder)->in_round)
		model_break(model, MODEL_NO_CONFLICT,
			    "the port of builder %u has two positions in round %ju", grant->builder,
			    (uintmax_t)grant->round);
}

static void take_position(struct model *model, const struct sched_grant *grant)
{
	if (!uses_rounds(model) || grant->position >= model->n_positions)
		return;
	model->taken[grant->position] = true;
	model->positions[grant->position] = grant->builder;
	port_of(model, grant->builder)->in_round = true;
	model->round_outstanding++;
}

static void check_groups(struct model *model, const struct sched_grant *grant)
{
	struct outlook outlook = look(model, BUCKET_TOLERANCE);
	uint32_t ago = used_ago(model, model->builders[grant->builder].group);
	uint32_t relaxed = ago > 0 ? model->distance + 1 - ago : 0;

	if (grant->relaxed != relaxed)
		model_break(model, MODEL_GROUPS, "group used %u grants ago; relaxed by %u, not %u",
			    ago, grant->relaxed, relaxed);
	if (relaxed == 0 || model->parameters.strict)
		return;
	if (outlook.now_fresh || outlook.later_fresh || outlook.oldest > ago)
		model_break(model, MODEL_GROUPS, "the group rule yields without need");
	if (outlook.fresh_credit && model->parameters.relax_after_ns > 0 &&
	    !has_waited(model, model->may_wait_since))
		model_break(model, MODEL_GROUPS, "the group rule yields too early");
}

static void check_policy(struct model *model, const struct sched_grant *grant)
{
	struct outlook outlook = look(model, 0);
	uint32_t able = 0;

	if (model->parameters.mode == SCHED_STATIC) {
		if (grant->builder != model_static_builder(model, grant->event))
			model_break(model, MODEL_POLICY, "event %ju is not for builder %u",
				    (uintmax_t)grant->event, grant->builder);
		return;
	}
	for (uint32_t i = 0; i < model->parameters.n_builders; i++)
		able += model->builder_parameters[i].link_rate > 0;
	// Where rates are limited, rounding leaves open who was able at this nanosecond.
	if (model->parameters.policy == SCHED_OCCUPANCY && able == 0 && grant->relaxed == 0 &&
	    model->builders[grant->builder].free != outlook.most_free)
		model_break(model, MODEL_POLICY, "builder %u has %u free slots, another has %u",
			    grant->builder, model->builders[grant->builder].free,
			    outlook.most_free);
}

static void check_slot(struct model *model, const struct sched_grant *grant)
{
	const struct model_builder *builder = &model->builders[grant->builder];
	const struct model_slot *slot = &builder->slots[grant->slot];

	if (!builder->registered || builder->excluded || grant->slot >= builder->n_slots ||
	    slot->state != MODEL_FREE || slot->generation != grant->generation)
		model_break(model, MODEL_SLOT_ONCE, "slot %u of builder %u is granted, not free",
			    grant->slot, grant->builder);
	else if (!is_able(model, grant->builder, -BUCKET_TOLERANCE))
		model_break(model, MODEL_PACE, "builder %u is granted but not able",
			    grant->builder);
}

static void check_event(struct model *model, const struct sched_grant *grant)
{
	uint64_t expected = lowest_waiting(model);

	if (grant->event != expected) {
		model_break(model, MODEL_EVENT_ORDER, "event %ju is granted before %ju",
			    (uintmax_t)grant->event, (uintmax_t)expected);
		return;
	}
	if (grant->attempt != model_event(model, grant->event)->attempt + 1)
		model_break(model, MODEL_EVENT_ORDER, "event %ju is granted in attempt %u again",
			    (uintmax_t)grant->event, grant->attempt);
}

void model_take_rate(struct model *model, uint32_t index, uint64_t bytes)
{
	const struct sched_parameters *parameters = &model->parameters;
	struct model_port *port = port_of(model, index);
	struct sched_builder_view view;
	double rate, earliest = (double)model->now - (double)parameters->burst_ns;

	sched_view(model->sched, index, &view);
	rate = (double)model->builder_parameters[index].link_rate * parameters->target_utilisation *
	       view.rate_share;
	if (rate == 0)
		return;
	if (parameters->shaping == SCHED_TIMED_SHIFT)
		rate *= parameters->phase_share * (double)parameters->send_window_ns /
			(double)(parameters->send_window_ns + parameters->idle_window_ns);
	if (port->next_ns < earliest)
		port->next_ns = earliest;
	port->next_ns += (double)bytes / rate * 1e9;
}

void model_grant(struct model *model, const struct sched_grant *grant)
{
	struct model_builder *builder = &model->builders[grant->builder];
	struct model_event *event;
	bool fresh_credit;

	if (model->paused || grant->builder >= model->parameters.n_builders) {
		model_break(model, MODEL_EVENT_ORDER, "a grant that cannot be");
		return;
	}
	check_event(model, grant);
	check_slot(model, grant);
	check_round(model, grant);
	check_groups(model, grant);
	check_policy(model, grant);
	if (model->broken != MODEL_HOLDS)
		return;
	fresh_credit = look(model, 0).fresh_credit;
	event = model_event(model, grant->event);
	*event = (struct model_event){
		.state = MODEL_OPEN,
		.builder = grant->builder,
		.slot = grant->slot,
		.generation = grant->generation,
		.attempt = grant->attempt,
		.round = grant->round,
		.bytes = builder->mean_16 / 16,
		.sized = builder->sized,
	};
	take_position(model, grant);
	model_take_rate(model, grant->builder, event->bytes);
	builder->slots[grant->slot].state = MODEL_GRANTED;
	builder->free--;
	builder->granted++;
	builder->in_flight += event->bytes;
	model->grants++;
	model->grants_ever++;
	if (grant->relaxed == 0 || model->parameters.strict || !fresh_credit) {
		model->waits_since = SCHED_NEVER;
		model->may_wait_since = SCHED_NEVER;
	}
	for (uint32_t i = MODEL_BUILDERS - 1; i > 0; i--)
		model->groups[i] = model->groups[i - 1];
	model->groups[0] = builder->group;
	if (model->n_groups_used < MODEL_BUILDERS)
		model->n_groups_used++;
}
