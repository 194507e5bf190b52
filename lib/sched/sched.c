// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sched/sched_internal.h"

static void advance_clock(struct sched *sched, uint64_t now)
{
	if (now > sched->now)
		sched->now = now;
}

static bool is_registered(const struct sched *sched, uint32_t builder)
{
	return builder < sched->parameters.n_builders &&
	       (sched->builders[builder].blocks & SCHED_BLOCK_ABSENT) == 0;
}

// --- slots and events in flight ---

// Marks a free slot of the builder as granted and returns it. The builder has a free slot.
static uint32_t take_slot(struct sched_builder *builder)
{
	uint32_t slot = builder->first_free;

	builder->slots[slot].state = SCHED_SLOT_GRANTED;
	builder->first_free = builder->slots[slot].next_free;
	builder->free--;
	return slot;
}

// Returns the blocks of a builder after a change of its events in flight or its free slots.
static uint32_t blocks_now(const struct sched *sched, const struct sched_builder *builder)
{
	uint32_t blocks = builder->blocks;

	blocks &= ~(uint32_t)(SCHED_BLOCKS_PACE | SCHED_BLOCK_CREDIT);
	return blocks | (builder->free == 0 ? SCHED_BLOCK_CREDIT : 0) | pace_blocks(sched, builder);
}

void sched_update_shared(struct sched *sched, const struct sched_builder *builder)
{
	uint32_t round = builder->blocks & SCHED_BLOCK_ROUND;

	for (struct sched_builder *other = builder->next_on_link; other != builder;
	     other = other->next_on_link) {
		uint32_t blocks = blocks_now(sched, other) & ~(uint32_t)SCHED_BLOCK_ROUND;

		candidates_update(sched, other, blocks | round);
	}
}

// Appends an event to the builder's list of events in flight; its slot is in the state granted.
static void join(struct sched *sched, struct sched_builder *builder, uint64_t event, uint32_t slot)
{
	struct sched_event *place = events_place(sched, event);
	uint32_t index = event & sched->events.mask;

	place->builder = (uint32_t)(builder - sched->builders);
	place->slot = slot;
	place->generation = builder->slots[slot].generation;
	place->bytes = pace_estimate(builder);
	place->is_sized = builder->sized;
	place->granted_ns = sched->now;
	place->next = SCHED_NONE;
	place->previous = builder->newest;
	if (builder->newest != SCHED_NONE)
		sched->events.places[builder->newest].next = index;
	else
		builder->oldest = index;
	builder->newest = index;
	holding_take(&builder->holding, sched->now);
	builder->granted++;
	builder->in_flight += place->bytes;
	builder->link->granted++;
	builder->link->in_flight += place->bytes;
}

// Removes an event from its builder's list of events in flight; its slot becomes used.
static void part(struct sched *sched, uint64_t event)
{
	const struct sched_event *place = events_place(sched, event);
	struct sched_builder *builder = &sched->builders[place->builder];

	if (place->previous != SCHED_NONE)
		sched->events.places[place->previous].next = place->next;
	else
		builder->oldest = place->next;
	if (place->next != SCHED_NONE)
		sched->events.places[place->next].previous = place->previous;
	else
		builder->newest = place->previous;
	builder->granted--;
	builder->in_flight -= place->bytes;
	builder->link->granted--;
	builder->link->in_flight -= place->bytes;
	builder->slots[place->slot].state = SCHED_SLOT_USED;
	rounds_leave(sched, place->round);
	candidates_update(sched, builder, blocks_now(sched, builder));
	sched_update_others(sched, builder);
}

// Ends a builder's session: its events in flight wait again, and its slots become unknown.
static void purge(struct sched *sched, struct sched_builder *builder)
{
	while (builder->oldest != SCHED_NONE) {
		uint64_t event = events_at(sched, builder->oldest);

		part(sched, event);
		events_again(sched, event);
		sched->counters.requeued++;
	}
	for (uint32_t i = 0; i < builder->n_slots; i++)
		builder->slots[i].state = SCHED_SLOT_UNKNOWN;
	sched->counters.purged_credits += builder->free;
	builder->free = 0;
	builder->first_free = SCHED_NONE;
	builder->n_slots = 0;
	candidates_update(sched, builder, blocks_now(sched, builder) | SCHED_BLOCK_ABSENT);
}

// --- builders ---

enum sched_result sched_register(struct sched *sched, uint32_t index, uint64_t session,
				 uint32_t n_slots, uint64_t now)
{
	struct sched_builder *builder;

	advance_clock(sched, now);
	if (index >= sched->parameters.n_builders)
		return SCHED_UNKNOWN;
	builder = &sched->builders[index];
	if (n_slots == 0 || n_slots > builder->most_slots)
		return SCHED_UNKNOWN;
	if (is_registered(sched, index)) {
		if (session == builder->session)
			return SCHED_DUPLICATE;
		purge(sched, builder);
	}
	builder->session = session;
	builder->n_slots = n_slots;
	holding_begin(&builder->holding, sched->now);
	sched->counters.registrations++;
	candidates_update(sched, builder, builder->blocks & ~(uint32_t)SCHED_BLOCK_ABSENT);
	return SCHED_OK;
}

// Sets a block of a builder, or clears it.
static void set_block(struct sched *sched, uint32_t index, uint32_t block, bool is_set,
		      uint64_t now)
{
	struct sched_builder *builder;

	advance_clock(sched, now);
	if (index >= sched->parameters.n_builders)
		return;
	builder = &sched->builders[index];
	candidates_update(sched, builder,
			  is_set ? builder->blocks | block : builder->blocks & ~block);
}

void sched_exclude(struct sched *sched, uint32_t index, uint64_t now)
{
	set_block(sched, index, SCHED_BLOCK_EXCLUDED, true, now);
	if (is_registered(sched, index))
		purge(sched, &sched->builders[index]);
}

void sched_include(struct sched *sched, uint32_t index, uint64_t now)
{
	set_block(sched, index, SCHED_BLOCK_EXCLUDED, false, now);
}

void sched_suspend(struct sched *sched, uint32_t index, bool suspended, uint64_t now)
{
	set_block(sched, index, SCHED_BLOCK_SUSPENDED, suspended, now);
}

static enum sched_result take_credit(struct sched *sched, struct sched_builder *builder,
				     uint32_t index, uint32_t generation)
{
	struct sched_slot *slot;

	if (index >= builder->n_slots)
		return SCHED_UNKNOWN;
	slot = &builder->slots[index];
	if (slot->state != SCHED_SLOT_UNKNOWN) {
		if (generation == slot->generation)
			return SCHED_DUPLICATE;
		if (slot->state != SCHED_SLOT_USED || (int32_t)(generation - slot->generation) < 0)
			return SCHED_STALE;
		holding_free(&builder->holding, sched->now);
	}
	slot->state = SCHED_SLOT_FREE;
	slot->generation = generation;
	slot->next_free = builder->first_free;
	builder->first_free = index;
	builder->free++;
	candidates_update(sched, builder, builder->blocks & ~(uint32_t)SCHED_BLOCK_CREDIT);
	return SCHED_OK;
}

enum sched_result sched_credit(struct sched *sched, uint32_t builder, uint32_t slot,
			       uint32_t generation, uint64_t now)
{
	enum sched_result result = SCHED_UNKNOWN;

	advance_clock(sched, now);
	if (is_registered(sched, builder))
		result = take_credit(sched, &sched->builders[builder], slot, generation);
	sched->counters.credits[result]++;
	return result;
}

void sched_port_state(struct sched *sched, uint32_t builder, const struct sched_port *port,
		      uint64_t now)
{
	advance_clock(sched, now);
	if (builder < sched->parameters.n_builders)
		pace_port_state(sched, &sched->builders[builder], port);
}

// --- sources ---

// Sets the key of a source in the ranking: the event below which it has announced all events, or
// RANKING_OUT for an excluded source.
static void rank_source(struct sched *sched, uint32_t source, uint64_t key)
{
	ranking_put(&sched->sources, source, key);
	if (ranking_least(&sched->sources) != RANKING_OUT)
		events_announced(sched, ranking_least(&sched->sources));
}

static enum sched_result announce(struct sched *sched, uint32_t source, uint64_t up_to)
{
	if (source >= sched->parameters.n_sources || up_to > INT64_MAX)
		return SCHED_UNKNOWN;
	if (up_to == sched->announced[source])
		return SCHED_DUPLICATE;
	if (up_to < sched->announced[source])
		return SCHED_STALE;
	sched->announced[source] = up_to;
	if (ranking_key(&sched->sources, source) != RANKING_OUT)
		rank_source(sched, source, up_to);
	return SCHED_OK;
}

enum sched_result sched_announce(struct sched *sched, uint32_t source, uint64_t up_to, uint64_t now)
{
	enum sched_result result;

	advance_clock(sched, now);
	result = announce(sched, source, up_to);
	sched->counters.announcements[result]++;
	return result;
}

void sched_exclude_source(struct sched *sched, uint32_t source, uint64_t now)
{
	advance_clock(sched, now);
	if (source < sched->parameters.n_sources)
		rank_source(sched, source, RANKING_OUT);
}

void sched_include_source(struct sched *sched, uint32_t source, uint64_t now)
{
	advance_clock(sched, now);
	if (source < sched->parameters.n_sources)
		rank_source(sched, source, sched->announced[source]);
}

// --- grants ---

static void grant(struct sched *sched, uint64_t event, struct sched_builder *builder,
		  struct sched_grant *out)
{
	struct sched_event *place = events_place(sched, event);
	uint32_t index = (uint32_t)(builder - sched->builders), round;

	events_take(sched, event);
	join(sched, builder, event, take_slot(builder));
	pace_granted(sched, builder, place->bytes);
	round = rounds_take(sched, index, out);
	candidates_update(sched, builder, round | blocks_now(sched, builder));
	sched_update_others(sched, builder);
	out->relaxed = candidates_used(sched, builder->group);
	out->event = event;
	out->rate_bytes_per_second = builder->link->rate;
	out->bytes = place->bytes;
	out->builder = index;
	out->slot = place->slot;
	out->generation = place->generation;
	out->attempt = place->attempt;
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

// Chooses the builder for an event. Begins the next round if that is necessary and possible.
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

	advance_clock(sched, now);
	pace_refill(sched);
	while (n < max && !sched->paused) {
		struct sched_builder *builder;
		enum candidates_verdict verdict;
		uint64_t event = events_next(sched);

		if (event == SCHED_NEVER) {
			sched->counters.stalls_window += events_waiting(sched) > 0;
			break;
		}
		verdict = choose(sched, event, &builder);
		if (verdict != CANDIDATES_FOUND) {
			count_stall(sched, verdict);
			break;
		}
		grant(sched, event, builder, &grants[n++]);
	}
	return n;
}

void sched_set_paused(struct sched *sched, bool paused)
{
	sched->paused = paused;
}

static enum sched_result check_done(struct sched *sched, uint32_t builder, uint64_t event,
				    uint32_t slot, uint32_t generation, uint32_t attempt)
{
	const struct sched_event *place = events_place(sched, event);
	bool same = builder == place->builder && slot == place->slot &&
		    generation == place->generation && attempt == place->attempt;

	if (!is_registered(sched, builder))
		return SCHED_UNKNOWN;
	if (event < sched->events.released)
		return SCHED_DUPLICATE;
	if (event - sched->events.released > sched->events.mask || place->state == SCHED_EVENT_NEW)
		return SCHED_UNKNOWN;
	if (!same)
		return SCHED_STALE;
	return place->state == SCHED_EVENT_GRANTED ? SCHED_OK : SCHED_DUPLICATE;
}

enum sched_result sched_done(struct sched *sched, uint32_t builder, uint64_t event, uint32_t slot,
			     uint32_t generation, uint32_t attempt, enum sched_outcome outcome,
			     uint64_t bytes, uint64_t now)
{
	enum sched_result result;

	advance_clock(sched, now);
	result = outcome < SCHED_N_OUTCOMES
		     ? check_done(sched, builder, event, slot, generation, attempt)
		     : SCHED_UNKNOWN;
	sched->counters.dones[result]++;
	if (result != SCHED_OK)
		return result;
	sched->counters.outcomes[outcome]++;
	if (outcome != SCHED_FAILED)
		pace_built(sched, &sched->builders[builder], events_place(sched, event), bytes);
	part(sched, event);
	if (outcome == SCHED_FAILED)
		events_again(sched, event);
	else
		events_finish(sched, event);
	return result;
}

// --- takeover from another manager ---

// The adopted grant of an event is replaced by another builder's claim.
static void supersede(struct sched *sched, uint64_t event)
{
	part(sched, event);
	sched->counters.superseded++;
}

static enum sched_result adopt_built(struct sched *sched, uint64_t event)
{
	const struct sched_event *place = events_place(sched, event);

	if (place->state == SCHED_EVENT_FINISHED)
		return SCHED_DUPLICATE;
	if (place->state == SCHED_EVENT_GRANTED)
		supersede(sched, event);
	events_finish(sched, event);
	sched->counters.adopted_built++;
	return SCHED_OK;
}

static enum sched_result adopt_open(struct sched *sched, uint64_t event,
				    struct sched_builder *builder, uint32_t slot,
				    uint32_t generation, uint32_t attempt)
{
	struct sched_event *place = events_place(sched, event);
	struct sched_slot *held = &builder->slots[slot];
	bool granted = place->state == SCHED_EVENT_GRANTED;

	if (granted && attempt == place->attempt && slot == place->slot &&
	    builder == &sched->builders[place->builder] && generation == place->generation)
		return SCHED_DUPLICATE;
	if (place->state == SCHED_EVENT_FINISHED || held->state != SCHED_SLOT_UNKNOWN ||
	    attempt < place->attempt || (attempt == place->attempt && granted))
		return SCHED_STALE;
	if (granted)
		supersede(sched, event);
	else
		events_adopt(sched, event);
	place->attempt = attempt;
	place->round = SCHED_NEVER;
	held->state = SCHED_SLOT_GRANTED;
	held->generation = generation;
	join(sched, builder, event, slot);
	candidates_update(sched, builder, blocks_now(sched, builder));
	sched_update_others(sched, builder);
	sched->counters.adopted++;
	return SCHED_OK;
}

enum sched_result sched_adopt(struct sched *sched, uint64_t event, uint32_t builder, uint32_t slot,
			      uint32_t generation, uint32_t attempt, enum sched_adopted what,
			      uint64_t now)
{
	advance_clock(sched, now);
	if (!is_registered(sched, builder) || event > INT64_MAX - 1)
		return SCHED_UNKNOWN;
	if (event < sched->events.released)
		return what == SCHED_ADOPT_BUILT ? SCHED_DUPLICATE : SCHED_STALE;
	if (event - sched->events.released > sched->events.mask)
		return SCHED_UNKNOWN;
	if (what == SCHED_ADOPT_BUILT)
		return adopt_built(sched, event);
	if (slot >= sched->builders[builder].n_slots)
		return SCHED_UNKNOWN;
	return adopt_open(sched, event, &sched->builders[builder], slot, generation, attempt);
}

// --- views ---

uint64_t sched_released(const struct sched *sched)
{
	return sched->events.released;
}

uint64_t sched_announced(const struct sched *sched)
{
	return sched->events.frontier;
}

bool sched_in_flight(const struct sched *sched, uint64_t event, uint32_t *builder, uint32_t *slot)
{
	const struct sched_event *place = &sched->events.places[event & sched->events.mask];

	if (event < sched->events.released || event - sched->events.released > sched->events.mask ||
	    place->state != SCHED_EVENT_GRANTED)
		return false;
	*builder = place->builder;
	*slot = place->slot;
	return true;
}

uint64_t sched_outstanding(const struct sched *sched)
{
	return sched->events.outstanding;
}

uint64_t sched_waiting(const struct sched *sched)
{
	return events_waiting(sched);
}

uint32_t sched_level(const struct sched *sched)
{
	return sched->events.level;
}

bool sched_throttled(const struct sched *sched)
{
	return sched->events.throttled;
}

const struct sched_counters *sched_counters(const struct sched *sched)
{
	return &sched->counters;
}

// The number of the builder's turns without a grant: turns in its group and, if it is the only
// builder of its group, turns of the group. Builders of one port may use each other's turns.
static uint64_t skips_of(const struct sched *sched, const struct sched_builder *builder)
{
	const struct sched_candidates *candidates = &sched->candidates;
	const struct selector *selector = &candidates->groups[builder->group].selector;
	uint64_t turns = selector_turns(selector, builder->rank);
	uint64_t skips = turns > builder->grants ? turns - builder->grants : 0;

	if (candidates->n_groups > 1 && selector->end - selector->first == 1)
		skips += selector_turns(&candidates->fresh, builder->group) - builder->grants;
	return skips;
}

void sched_view(const struct sched *sched, uint32_t index, struct sched_builder_view *view)
{
	const struct sched_builder *builder = &sched->builders[index];

	*view = (struct sched_builder_view){
		.registered = (builder->blocks & SCHED_BLOCK_ABSENT) == 0,
		.excluded = (builder->blocks & SCHED_BLOCK_EXCLUDED) != 0,
		.paused = (builder->blocks & SCHED_BLOCK_PAUSED) != 0,
		.session = builder->session,
		.slots = builder->n_slots,
		.free = builder->free,
		.granted = builder->granted,
		.in_flight_bytes = builder->in_flight,
		.window = builder->link->window,
		.rate = builder->link->rate,
		.rate_share = builder->link->share,
		.paused_share = builder->paused_share,
		.mean_bytes = pace_estimate(builder),
		.grants = builder->grants,
		.slot_ns = holding_mean(&builder->holding, sched->now),
		.oldest_event = SCHED_NEVER,
	};
	if (sched->parameters.policy == SCHED_ROUND_ROBIN && sched->parameters.mode != SCHED_STATIC)
		view->skips = skips_of(sched, builder);
	if (builder->oldest != SCHED_NONE) {
		view->oldest_event = events_at(sched, builder->oldest);
		view->oldest_since = sched->events.places[builder->oldest].granted_ns;
	}
}
