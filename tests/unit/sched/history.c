// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "history.h"

#include <string.h>

#include "base/random.h"

#define AHEAD       150u // events that sources announce beyond the oldest unfinished one
#define MOST_CLAIMS 64u
#define MOST_GRANTS 64u

// What a builder that was given up still believes to build.
struct claim {
	uint64_t event;
	uint32_t builder, slot, generation, attempt;
};

struct history {
	struct model *model;
	struct sched_parameters *parameters;
	struct random random;
	uint32_t generations[MODEL_BUILDERS][MODEL_SLOTS]; // the last ones that builders used
	uint64_t next_session;
	uint64_t end; // no event from here on
	struct claim claims[MOST_CLAIMS];
	uint32_t n_claims;
	uint64_t now;
};

// Below n, which is not 0.
static uint32_t below(struct history *history, uint64_t n)
{
	return (uint32_t)(random_next(&history->random) % n);
}

static bool chance(struct history *history, double probability)
{
	return random_uniform(&history->random) < probability;
}

static uint32_t any_builder(struct history *history)
{
	return below(history, history->parameters->n_builders);
}

static uint32_t any_source(struct history *history)
{
	return below(history, history->parameters->n_sources);
}

static void expect(struct history *history, enum sched_result got, enum sched_result expected,
		   enum model_invariant invariant, const char *what)
{
	if (got != expected)
		model_break(history->model, invariant, "%s is answered with %d; expected %d", what,
			    (int)got, (int)expected);
}

static void draw_builders(struct history *history)
{
	struct model *model = history->model;
	uint32_t n = 1 + below(history, MODEL_BUILDERS), groups = 1 + below(history, n < 5 ? n : 5);
	bool rates = chance(history, 0.3), windows = chance(history, 0.3);
	uint32_t ports = chance(history, 0.5) ? n : 1 + below(history, n);

	for (uint32_t i = 0; i < n; i++) {
		model->builder_parameters[i] = (struct sched_builder_parameters){
			.slots = 1 + below(history, MODEL_SLOTS),
			.group = i < groups ? 7 * i : 7 * below(history, groups),
			.weight = 1 + below(history, 4),
			.port = i % ports,
			.link_rate = rates ? UINT64_C(1000000000) * (1 + below(history, 9)) : 0,
			.window = windows ? 800 + below(history, 4000) : 0,
		};
		model->builder_parameters[i].link_rate =
		    model->builder_parameters[i % ports].link_rate;
		model->builder_parameters[i].window = model->builder_parameters[i % ports].window;
		for (uint32_t slot = 0; slot < MODEL_SLOTS; slot++)
			history->generations[i][slot] = 0u - below(history, 20);
	}
	history->parameters->n_builders = n;
	if (chance(history, 0.5))
		history->parameters->distance = below(history, groups);
}

static void draw_parameters(struct history *history, enum sched_policy policy)
{
	struct sched_parameters *parameters = history->parameters;

	*parameters = sched_defaults();
	draw_builders(history);
	parameters->policy = policy;
	parameters->builders = history->model->builder_parameters;
	parameters->n_sources = 1 + below(history, MODEL_SOURCES);
	parameters->mode = chance(history, 0.125) ? SCHED_STATIC : SCHED_PUSH;
	parameters->shaping = below(history, 4);
	parameters->strict =
	    policy == SCHED_ROUND_ROBIN && parameters->mode != SCHED_STATIC && chance(history, 0.3);
	parameters->barrier = parameters->shaping != SCHED_ALL_AT_ONCE &&
			      parameters->shaping != SCHED_TIMED_SHIFT && chance(history, 0.25);
	parameters->credits = chance(history, 0.3) ? 1 + below(history, 3) : 0;
	parameters->relax_after_ns = chance(history, 0.25) ? 0 : below(history, 3000);
	parameters->send_window_ns = 1 + below(history, 100);
	parameters->idle_window_ns = below(history, 20);
	parameters->phase_share = chance(history, 0.5) ? 1 : 0.5;
	parameters->burst_ns = below(history, 5000);
	parameters->event_bytes = 1000;
	parameters->cut_ns = below(history, 2000);
	parameters->recover_ns = 1 + below(history, 2000);
	parameters->queue = 1 + below(history, 200);
	parameters->unfinished = 8u << below(history, 4);
	parameters->first_event = chance(history, 0.5) ? 0 : random_next(&history->random) >> 2;
	parameters->seed = random_next(&history->random);
}

static void end_manager(struct history *history)
{
	struct model *model = history->model;
	const struct sched_counters *counters = sched_counters(model->sched);

	for (unsigned i = 0; i < MODEL_COUNTERS; i++)
		model->counted[i] += ((const uint64_t *)counters)[i];
	sched_destroy(model->sched);
}

static void begin_manager(struct history *history, uint64_t released)
{
	struct model *model = history->model;
	char error[SCHED_ERROR_SIZE];

	history->parameters->first_event = released;
	if (sched_create(&model->sched, history->parameters, error) != 0)
		model_break(model, MODEL_TOKENS, "%s", error);
	else
		model_begin(model, released);
}

// Both are told the time, by a message of no consequence.
static void tell_time(struct history *history)
{
	struct model *model = history->model;
	struct sched_port port = { 0 };

	sched_port_state(model->sched, history->parameters->n_builders, &port, history->now);
	model_time(model, history->now);
}

static void step_time(struct history *history)
{
	if (chance(history, 0.001))
		history->now += 100000000;
	else if (chance(history, 0.001))
		history->now -= history->now < 5000 ? history->now : 5000;
	else
		history->now += below(history, 300);
	tell_time(history);
}

static void announce(struct history *history)
{
	struct model *model = history->model;
	uint32_t source = any_source(history);
	uint64_t up_to = model->announced[source] + below(history, 6);

	if (chance(history, 0.02))
		up_to = model->announced[source] - below(history, 3);
	if (chance(history, 0.01))
		source = history->parameters->n_sources + below(history, 3);
	if (up_to > model->released + AHEAD || up_to > history->end)
		return;
	expect(history, sched_announce(model->sched, source, up_to, history->now),
	       model_announce(model, source, up_to), MODEL_EVENT_ORDER, "an announcement");
}

static void credit(struct history *history)
{
	struct model *model = history->model;
	uint32_t builder = any_builder(history), slot = below(history, MODEL_SLOTS);
	uint32_t *generation = &history->generations[builder][slot], sent;
	enum model_slot_state state = model->builders[builder].slots[slot].state;

	// A builder frees a slot that it has not, or is done with; else it says again what it said,
	// or a credit of long ago comes, or one that has overtaken its event's end.
	if (state == MODEL_UNKNOWN || state == MODEL_USED)
		sent = *generation + (chance(history, 0.9) ? 1 : 0);
	else
		sent = *generation + below(history, 4) - 2;
	if (chance(history, 0.01))
		slot += MODEL_SLOTS;
	if (chance(history, 0.01))
		builder = history->parameters->n_builders;
	switch (model_credit(model, builder, slot, sent)) {
	case SCHED_OK:
		*generation = sent;
		expect(history, sched_credit(model->sched, builder, slot, sent, history->now),
		       SCHED_OK, MODEL_TOKENS, "a credit");
		break;
	case SCHED_DUPLICATE:
		expect(history, sched_credit(model->sched, builder, slot, sent, history->now),
		       SCHED_DUPLICATE, MODEL_SLOT_ONCE, "a credit");
		break;
	case SCHED_STALE:
		expect(history, sched_credit(model->sched, builder, slot, sent, history->now),
		       SCHED_STALE, MODEL_SLOT_ONCE, "a credit");
		break;
	default:
		expect(history, sched_credit(model->sched, builder, slot, sent, history->now),
		       SCHED_UNKNOWN, MODEL_TOKENS, "a credit");
	}
}

// Returns how many grants there were.
static unsigned poll(struct history *history, unsigned max)
{
	struct model *model = history->model;
	struct sched_grant grants[MOST_GRANTS];
	unsigned n = sched_poll(model->sched, history->now, grants, max);

	for (unsigned i = 0; i < n && model->broken == MODEL_HOLDS; i++)
		model_grant(model, &grants[i]);
	if (n < max && model->broken == MODEL_HOLDS)
		model_short_poll(model);
	return n;
}

// Time passes, and no message arrives. The model judges each poll that ends early.
static void let_time_pass(struct history *history)
{
	struct model *model = history->model;

	for (unsigned i = 0; i < 4; i++) {
		while (poll(history, MOST_GRANTS) == MOST_GRANTS && model->broken == MODEL_HOLDS)
			;
		history->now = model->now + 1 + below(history, i < 3 ? 3000 : 10000000);
		tell_time(history);
	}
	poll(history, MOST_GRANTS);
}

// An open event of a builder, or any event if it has none.
static uint64_t event_of(struct history *history, uint32_t builder)
{
	const struct model *model = history->model;
	uint32_t n = history->parameters->unfinished, first = below(history, n);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t event = model->released + (first + i) % n;

		if (model->events[event - model->first].state == MODEL_OPEN &&
		    model->events[event - model->first].builder == builder)
			return event;
	}
	return model->released + first;
}

static void done(struct history *history)
{
	struct model *model = history->model;
	uint32_t builder = any_builder(history);
	uint64_t number = event_of(history, builder), bytes = 500 + below(history, 1000);
	struct model_event event = *model_event(model, number);
	enum sched_outcome outcome = chance(history, 0.9) ? SCHED_COMPLETE : 1 + below(history, 2);
	enum sched_result expected;

	if (chance(history, 0.03))
		number += below(history, 100);
	if (chance(history, 0.03) && number > model->first)
		number--;
	if (chance(history, 0.02))
		event.attempt--;
	if (chance(history, 0.02))
		event.generation--;
	if (chance(history, 0.02))
		event.slot++;
	if (chance(history, 0.02))
		builder = (builder + 1) % (history->parameters->n_builders + 1);
	expected = model_done(model, builder, number, event.slot, event.generation, event.attempt,
			      outcome, bytes);
	expect(history,
	       sched_done(model->sched, builder, number, event.slot, event.generation,
			  event.attempt, outcome, bytes, history->now),
	       expected, MODEL_EVENT_ORDER, "the end of an event");
}

static void remember_claims(struct history *history, uint32_t builder)
{
	const struct model *model = history->model;

	for (uint32_t i = 0; i < history->parameters->unfinished; i++) {
		uint64_t number = model->released + i;
		const struct model_event *event = &model->events[number - model->first];

		if (event->state == MODEL_OPEN && event->builder == builder &&
		    history->n_claims < MOST_CLAIMS)
			history->claims[history->n_claims++] =
			    (struct claim){ number, builder, event->slot, event->generation,
					    event->attempt };
	}
}

static void register_builder(struct history *history, uint32_t builder)
{
	struct model *model = history->model;
	uint64_t session = ++history->next_session;
	uint32_t n_slots = 1 + below(history, MODEL_SLOTS);

	if (chance(history, 0.1))
		session = model->builders[builder].session;
	remember_claims(history, builder);
	expect(history, sched_register(model->sched, builder, session, n_slots, history->now),
	       model_register(model, builder, session, n_slots), MODEL_TOKENS, "a registration");
}

// Or includes it again.
static void exclude_builder(struct history *history, uint32_t builder)
{
	struct model *model = history->model;
	bool excluded = !model->builders[builder].excluded;

	remember_claims(history, builder);
	if (excluded)
		sched_exclude(model->sched, builder, history->now);
	else
		sched_include(model->sched, builder, history->now);
	model_exclude(model, builder, excluded);
	if (!excluded)
		register_builder(history, builder);
}

static void exclude_source(struct history *history)
{
	struct model *model = history->model;
	uint32_t source = any_source(history);
	bool excluded = !model->source_excluded[source];

	if (excluded)
		sched_exclude_source(model->sched, source, history->now);
	else
		sched_include_source(model->sched, source, history->now);
	model_exclude_source(model, source, excluded);
}

static void report_port(struct history *history)
{
	struct model *model = history->model;
	uint32_t builder = any_builder(history);
	struct sched_port port = {
		.paused = chance(history, 0.2),
		.paused_share = chance(history, 0.5) ? random_uniform(&history->random) : 0,
		.occupancy = random_uniform(&history->random),
		.marks = below(history, 2),
	};

	sched_port_state(model->sched, builder, &port, history->now);
	model->builders[builder].paused = port.paused;
}

static void toggle_pause(struct history *history)
{
	struct model *model = history->model;

	model->paused = !model->paused;
	sched_set_paused(model->sched, model->paused);
}

static void adopt(struct history *history, uint64_t event, const struct claim *claim,
		  enum sched_adopted what)
{
	struct model *model = history->model;
	enum sched_result expected = model_adopt(model, event, claim->builder, claim->slot,
						 claim->generation, claim->attempt, what);

	expect(history,
	       sched_adopt(model->sched, event, claim->builder, claim->slot, claim->generation,
			   claim->attempt, what, history->now),
	       expected, MODEL_EVENT_ORDER, "an adoption");
	// Also a message that is sent twice.
	expect(history,
	       sched_adopt(model->sched, event, claim->builder, claim->slot, claim->generation,
			   claim->attempt, what, history->now),
	       model_adopt(model, event, claim->builder, claim->slot, claim->generation,
			   claim->attempt, what),
	       MODEL_EVENT_ORDER, "a repeated adoption");
}

// The manager before had granted the event again, to a builder that reports later.
static void adopt_later_attempt(struct history *history, const struct claim *claim)
{
	struct claim later = *claim;

	later.builder = any_builder(history);
	later.slot = below(history, history->model->builder_parameters[later.builder].slots);
	later.attempt++;
	adopt(history, later.event, &later, SCHED_ADOPT_OPEN);
}

// The manager is replaced by one that knows nothing but what was released, some time ago. Builders
// that were registered come back and tell of their events, others tell of what was taken from them.
static void restart_manager(struct history *history)
{
	struct model *model = history->model;
	static struct model_event events[MODEL_EVENTS];
	bool registered[MODEL_BUILDERS];
	uint64_t announced[MODEL_SOURCES];
	uint64_t released = model->released, oldest = history->parameters->first_event;
	uint32_t n_builders = history->parameters->n_builders, n = history->parameters->unfinished;
	uint32_t teller = n_builders;

	memcpy(events, model->events, sizeof(events));
	memcpy(announced, model->announced, sizeof(announced));
	for (uint32_t i = 0; i < n_builders; i++) {
		registered[i] = model->builders[i].registered;
		if (registered[i])
			teller = i;
	}
	if (teller < n_builders && chance(history, 0.5) && released - oldest > 4)
		released -= below(history, 4);
	model_send_round(model);
	end_manager(history);
	begin_manager(history, released);
	history->now = model->now;
	tell_time(history);
	sched_set_paused(model->sched, true);
	model->paused = true;
	for (uint32_t i = 0; i < n_builders; i++) {
		uint64_t session = ++history->next_session;
		uint32_t slots = model->builder_parameters[i].slots;

		if (registered[i])
			expect(history,
			       sched_register(model->sched, i, session, slots, history->now),
			       model_register(model, i, session, slots), MODEL_TOKENS,
			       "a registration");
	}
	for (uint32_t i = 0; i < history->n_claims && chance(history, 0.5); i++) {
		const struct claim *claim = &history->claims[i];

		if (claim->event - model->first < MODEL_EVENTS)
			adopt(history, claim->event, claim, SCHED_ADOPT_OPEN);
	}
	for (uint64_t event = released; event < released + n + 4; event++) {
		const struct model_event *was = &events[event - model->first];
		struct claim claim = { event, was->builder, was->slot, was->generation,
				       was->attempt };

		if (was->state == MODEL_OPEN) {
			adopt(history, event, &claim, SCHED_ADOPT_OPEN);
			if (chance(history, 0.1))
				adopt_later_attempt(history, &claim);
		} else if (was->state == MODEL_FINISHED) {
			claim.builder = teller;
			adopt(history, event, &claim, SCHED_ADOPT_BUILT);
		}
	}
	history->n_claims = 0;
	for (uint32_t i = 0; i < history->parameters->n_sources; i++)
		expect(history, sched_announce(model->sched, i, announced[i], history->now),
		       model_announce(model, i, announced[i]), MODEL_EVENT_ORDER,
		       "an announcement");
	toggle_pause(history);
}

static void rare_step(struct history *history)
{
	uint32_t which = below(history, 1000), builder = any_builder(history);

	if (which < 10)
		restart_manager(history);
	else if (which < 60)
		exclude_builder(history, builder);
	else if (which < 120)
		register_builder(history, builder);
	else if (which < 160)
		exclude_source(history);
	else if (which < 200)
		toggle_pause(history);
	else if (which < 300)
		let_time_pass(history);
	else if (which < 600)
		report_port(history);
	else if (history->model->builders[builder].excluded)
		exclude_builder(history, builder);
	else if (!history->model->builders[builder].registered)
		register_builder(history, builder);
}

static void step(struct history *history)
{
	uint32_t which = below(history, 100);

	step_time(history);
	if (history->model->paused && chance(history, 0.05))
		toggle_pause(history);
	if (which < 20)
		announce(history);
	else if (which < 48)
		credit(history);
	else if (which < 70)
		poll(history, 1 + below(history, 8));
	else if (which < 95)
		done(history);
	else
		rare_step(history);
	if (history->model->broken == MODEL_HOLDS)
		model_compare(history->model);
}

// Everything is made well again; what waits is granted and built, until nothing is left.
static void halt(struct history *history)
{
	struct model *model = history->model;

	if (model->paused)
		toggle_pause(history);
	for (uint32_t i = 0; i < history->parameters->n_builders; i++) {
		struct sched_port port = { 0 };

		sched_port_state(model->sched, i, &port, history->now);
		model->builders[i].paused = false;
		sched_include(model->sched, i, history->now);
		model_exclude(model, i, false);
		while (!model->builders[i].registered && model->broken == MODEL_HOLDS)
			register_builder(history, i);
	}
	for (unsigned i = 0; i < 100000 && model->broken == MODEL_HOLDS &&
			     sched_waiting(model->sched) + sched_outstanding(model->sched) > 0;
	     i++) {
		history->now += 1000;
		tell_time(history);
		credit(history);
		poll(history, MOST_GRANTS);
		done(history);
	}
	if (model->broken == MODEL_HOLDS)
		model_compare(model);
	if (model->broken == MODEL_HOLDS)
		model_quiescent(model);
}

void history_run(struct model *model, uint64_t seed, enum sched_policy policy, uint64_t steps)
{
	struct history history = { .model = model, .parameters = &model->parameters };

	memset(model, 0, sizeof(*model));
	history.random = random_fork(seed, policy);
	draw_parameters(&history, policy);
	history.now = 1000000 + below(&history, 1000000);
	model->now = history.now;
	model->first = model->parameters.first_event;
	history.end = model->first + MODEL_EVENTS - 2 * AHEAD;
	begin_manager(&history, model->first);
	for (uint32_t i = 0; i < model->parameters.n_builders; i++)
		register_builder(&history, i);
	for (uint64_t i = 0; i < steps && model->broken == MODEL_HOLDS; i++)
		step(&history);
	if (model->broken == MODEL_HOLDS)
		halt(&history);
	end_manager(&history);
}
