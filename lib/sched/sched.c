// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sched/sched_internal.h"

void sched_advance_clock(struct sched *sched, uint64_t now)
{
	if (now > sched->now)
		sched->now = now;
}

bool sched_is_registered(const struct sched *sched, uint32_t builder)
{
	return builder < sched->parameters.n_builders &&
	       (sched->builders[builder].blocks & SCHED_BLOCK_ABSENT) == 0;
}

uint32_t sched_events_block(const struct sched *sched, const struct sched_builder *builder)
{
	uint32_t credits = sched->parameters.credits;

	return credits > 0 && builder->granted >= credits ? SCHED_BLOCK_EVENTS : 0;
}

void sched_part(struct sched *sched, uint64_t event)
{
	const struct sched_event *place = events_place(sched, event);
	struct sched_builder *builder = &sched->builders[place->builder];
	uint32_t over = SCHED_BLOCK_EVENTS | SCHED_BLOCK_WINDOW;

	credits_part(sched, builder, event);
	rounds_leave(sched, place->round);
	candidates_block(sched, builder,
			 (builder->blocks & ~over) | sched_events_block(sched, builder) |
			     pace_window(builder));
}

void sched_join(struct sched *sched, struct sched_builder *builder, uint64_t event, uint32_t slot)
{
	struct sched_event *place = events_place(sched, event);

	place->builder = (uint32_t)(builder - sched->builders);
	place->slot = slot;
	place->generation = builder->slots[slot].generation;
	place->bytes = pace_estimate(builder);
	place->granted_ns = sched->now;
	credits_join(sched, builder, event);
}

static void purge(struct sched *sched, struct sched_builder *builder)
{
	while (builder->oldest != SCHED_NONE) {
		uint64_t event = events_at(sched, builder->oldest);

		sched_part(sched, event);
		events_again(sched, event);
		sched->counters.requeued++;
	}
	credits_purge(sched, builder);
	builder->n_slots = 0;
	candidates_block(sched, builder, builder->blocks | SCHED_BLOCK_ABSENT);
}

enum sched_result sched_register(struct sched *sched, uint32_t index, uint64_t session,
				 uint32_t n_slots, uint64_t now)
{
	struct sched_builder *builder;

	sched_advance_clock(sched, now);
	if (index >= sched->parameters.n_builders)
		return SCHED_UNKNOWN;
	builder = &sched->builders[index];
	if (n_slots == 0 || n_slots > builder->most_slots)
		return SCHED_UNKNOWN;
	if (sched_is_registered(sched, index)) {
		if (session == builder->session)
			return SCHED_DUPLICATE;
		purge(sched, builder);
	}
	builder->session = session;
	builder->n_slots = n_slots;
	sched->counters.registrations++;
	candidates_block(sched, builder, builder->blocks & ~(uint32_t)SCHED_BLOCK_ABSENT);
	return SCHED_OK;
}

void sched_exclude(struct sched *sched, uint32_t index, uint64_t now)
{
	struct sched_builder *builder;

	sched_advance_clock(sched, now);
	if (index >= sched->parameters.n_builders)
		return;
	builder = &sched->builders[index];
	bitmap_clear(&sched->candidates.included, index);
	candidates_block(sched, builder, builder->blocks | SCHED_BLOCK_EXCLUDED);
	if (sched_is_registered(sched, index))
		purge(sched, builder);
}

void sched_include(struct sched *sched, uint32_t index, uint64_t now)
{
	struct sched_builder *builder;

	sched_advance_clock(sched, now);
	if (index >= sched->parameters.n_builders)
		return;
	builder = &sched->builders[index];
	bitmap_set(&sched->candidates.included, index);
	candidates_block(sched, builder, builder->blocks & ~(uint32_t)SCHED_BLOCK_EXCLUDED);
}

enum sched_result sched_credit(struct sched *sched, uint32_t builder, uint32_t slot,
			       uint32_t generation, uint64_t now)
{
	enum sched_result result = SCHED_UNKNOWN;

	sched_advance_clock(sched, now);
	if (sched_is_registered(sched, builder))
		result = credits_take(sched, &sched->builders[builder], slot, generation);
	sched->counters.credits[result]++;
	return result;
}

// Some sources have announced more, or fewer sources need to.
static void sources_changed(struct sched *sched)
{
	uint64_t least = sources_least(sched);

	if (least != SCHED_NEVER)
		events_announced(sched, least);
}

enum sched_result sched_announce(struct sched *sched, uint32_t source, uint64_t up_to, uint64_t now)
{
	enum sched_result result;

	sched_advance_clock(sched, now);
	result = sources_announce(sched, source, up_to);
	sched->counters.announcements[result]++;
	if (result == SCHED_OK)
		sources_changed(sched);
	return result;
}

void sched_exclude_source(struct sched *sched, uint32_t source, uint64_t now)
{
	sched_advance_clock(sched, now);
	sources_exclude(sched, source, true);
	sources_changed(sched);
}

void sched_include_source(struct sched *sched, uint32_t source, uint64_t now)
{
	sched_advance_clock(sched, now);
	sources_exclude(sched, source, false);
	sources_changed(sched);
}

static void grant(struct sched *sched, uint64_t event, struct sched_builder *builder,
		  struct sched_grant *out)
{
	struct sched_event *place = events_place(sched, event);
	uint32_t index = (uint32_t)(builder - sched->builders), blocks;

	events_take(sched, event);
	sched_join(sched, builder, event, credits_grant(sched, builder));
	blocks = builder->blocks | sched_events_block(sched, builder) |
		 pace_granted(sched, builder, place->bytes);
	if (rounds_take(sched, index, out))
		blocks |= SCHED_BLOCK_ROUND;
	candidates_block(sched, builder, blocks);
	out->relaxed = candidates_used(sched, builder->group);
	out->event = event;
	out->rate_bytes_per_second = builder->rate;
	out->builder = index;
	out->slot = place->slot;
	out->generation = place->generation;
	out->attempt = place->attempt;
	out->parallel_sends = sched->parameters.parallel_sends;
	place->round = out->round;
	builder->grants++;
	sched->counters.grants++;
	sched->counters.regrants += out->attempt > 1;
	sched->counters.relaxed += out->relaxed > 0;
	sched->counters.relaxed_steps += out->relaxed;
}

static void count_stall(struct sched *sched, enum candidates_verdict verdict)
{
	if (verdict == CANDIDATES_NEXT_ROUND)
		sched->counters.stalls_round++;
	else if (verdict == CANDIDATES_WAIT)
		sched->counters.stalls_group++;
	else if (verdict == CANDIDATES_BLOCKED)
		sched->counters.stalls_blocked++;
	else
		sched->counters.stalls_no_credit++;
}

// The builder for an event, after the rounds that it takes to begin.
static enum candidates_verdict choose(struct sched *sched, uint64_t event,
				      struct sched_builder **builder)
{
	enum candidates_verdict verdict;

	if (!rounds_ready(sched))
		return CANDIDATES_NEXT_ROUND;
	verdict = candidates_choose(sched, event, builder);
	if (verdict == CANDIDATES_NEXT_ROUND && rounds_advance(sched))
		verdict = candidates_choose(sched, event, builder);
	return verdict;
}

unsigned sched_poll(struct sched *sched, uint64_t now, struct sched_grant *grants, unsigned max)
{
	unsigned n = 0;

	sched_advance_clock(sched, now);
	for (uint32_t expired = timers_expired(sched); expired != SCHED_NONE;
	     expired = timers_expired(sched))
		candidates_block(sched, &sched->builders[expired],
				 sched->builders[expired].blocks & ~(uint32_t)SCHED_BLOCK_RATE);
	sched->more = false;
	if (sched->paused)
		return 0;
	while (n < max) {
		struct sched_builder *builder;
		enum candidates_verdict verdict;
		uint64_t event = events_next(sched);

		if (event == SCHED_NEVER) {
			sched->counters.stalls_window += events_waiting(sched) > 0;
			return n;
		}
		verdict = choose(sched, event, &builder);
		if (verdict != CANDIDATES_FOUND) {
			count_stall(sched, verdict);
			return n;
		}
		grant(sched, event, builder, &grants[n++]);
	}
	sched->more = true;
	return n;
}

uint64_t sched_wake(const struct sched *sched)
{
	const struct sched_timers *timers = &sched->timers;
	const struct sched_rounds *rounds = &sched->rounds;
	uint64_t since = sched->candidates.waits_since, wake = SCHED_NEVER, end;

	if (sched->paused || events_waiting(sched) == 0)
		return SCHED_NEVER;
	if (sched->more)
		return sched->now;
	if (timers->n > 0)
		wake = sched->builders[timers->heap[0]].next_ns;
	end = since + sched->parameters.relax_after_ns;
	if (since != SCHED_NEVER && end > sched->now && end < wake)
		wake = end;
	// A round that has members ends when it starts.
	if (rounds->phase_ns > 0 && rounds->n_members > 0 && rounds->starts_ns > sched->now &&
	    rounds->starts_ns < wake)
		wake = rounds->starts_ns;
	return wake;
}

static enum sched_result check_done(const struct sched *sched, uint32_t builder, uint64_t event,
				    uint32_t slot, uint32_t generation, uint32_t attempt)
{
	const struct sched_events *events = &sched->events;
	const struct sched_event *place;
	bool same;

	if (!sched_is_registered(sched, builder))
		return SCHED_UNKNOWN;
	if (event < events->released)
		return SCHED_DUPLICATE;
	if (event - events->released > events->mask)
		return SCHED_UNKNOWN;
	place = &events->places[event & events->mask];
	if (place->state == SCHED_EVENT_NEW)
		return SCHED_UNKNOWN;
	same = builder == place->builder && slot == place->slot &&
	       generation == place->generation && attempt == place->attempt;
	if (!same)
		return SCHED_STALE;
	return place->state == SCHED_EVENT_GRANTED ? SCHED_OK : SCHED_DUPLICATE;
}

enum sched_result sched_done(struct sched *sched, uint32_t builder, uint64_t event, uint32_t slot,
			     uint32_t generation, uint32_t attempt, enum sched_outcome outcome,
			     uint64_t bytes, uint64_t now)
{
	uint32_t most = sched->parameters.max_attempts;
	enum sched_result result;

	sched_advance_clock(sched, now);
	result = outcome < SCHED_N_OUTCOMES
		     ? check_done(sched, builder, event, slot, generation, attempt)
		     : SCHED_UNKNOWN;
	sched->counters.dones[result]++;
	if (result != SCHED_OK)
		return result;
	sched->counters.outcomes[outcome]++;
	if (outcome != SCHED_FAILED)
		pace_built(&sched->builders[builder], bytes);
	sched_part(sched, event);
	if (outcome != SCHED_FAILED) {
		events_finish(sched, event);
	} else if (most > 0 && attempt >= most) {
		events_finish(sched, event);
		sched->counters.given_up++;
	} else {
		events_again(sched, event);
	}
	return result;
}

void sched_port_state(struct sched *sched, uint32_t builder, const struct sched_port *port,
		      uint64_t now)
{
	sched_advance_clock(sched, now);
	if (builder < sched->parameters.n_builders)
		pace_port_state(sched, &sched->builders[builder], port);
}

void sched_set_paused(struct sched *sched, bool paused)
{
	sched->paused = paused;
}

uint32_t sched_static_builder(const struct sched *sched, uint64_t event)
{
	uint32_t first = (uint32_t)(event % sched->parameters.n_builders);
	uint32_t builder = bitmap_next_around(&sched->candidates.included, first);

	return builder != BITMAP_NONE ? builder : SCHED_MAX_BUILDERS;
}
