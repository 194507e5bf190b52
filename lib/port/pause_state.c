// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/pause_state.h"

#define NS_PER_SECOND 1000000000u
#define SLOWEST_LINK  1000000u // bits/s, so that the ticks of a quantum fit in 32.32 bits
#define FEWEST_TICKS  1000u    // ticks/s
#define LEAST_QUANTA  2u       // so that half the pause time is not 0

_Static_assert(sizeof(((struct pause_state *)0)->paused_until) == PAUSE_CACHE_LINE,
	       "the deadlines have a cache line of their own");

static uint64_t load(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

static void set(_Atomic uint64_t *value, uint64_t to)
{
	atomic_store_explicit(value, to, memory_order_relaxed);
}

// Adds to a counter that only one lcore writes.
static void add_own(_Atomic uint64_t *value, uint64_t n)
{
	set(value, load(value) + n);
}

static void add_shared(_Atomic uint64_t *value)
{
	atomic_fetch_add_explicit(value, 1, memory_order_relaxed);
}

const char *pause_parameters_problem(const struct pause_parameters *parameters)
{
	if (parameters->high_water >= PAUSE_FULL)
		return "the high-water mark must be below 100 %, or nothing is ever held";
	if (parameters->low_water == 0)
		return "the low-water mark must be above 0 %, or nothing is ever let go";
	if (parameters->low_water >= parameters->high_water)
		return "the low-water mark must be below the high-water mark";
	if (parameters->quanta < LEAST_QUANTA)
		return "a pause time of less than 2 quanta cannot be renewed in time";
	if (parameters->ticks_per_second < FEWEST_TICKS)
		return "the tick counter's rate is below 1 kHz";
	return NULL;
}

void pause_state_init(struct pause_state *state, const struct pause_parameters *parameters)
{
	memset(state, 0, sizeof(*state));
	state->parameters = *parameters;
	pause_state_set_rate(state, parameters->bits_per_second);
}

void pause_state_set_rate(struct pause_state *state, uint64_t bits_per_second)
{
	uint64_t rate = bits_per_second != 0 ? bits_per_second : PAUSE_RATE_ASSUMED;
	unsigned __int128 bit_ticks = (unsigned __int128)state->parameters.ticks_per_second << 32;

	if (rate < SLOWEST_LINK)
		rate = SLOWEST_LINK;
	set(&state->quantum_ticks, (uint64_t)(bit_ticks * PFC_QUANTUM_BITS / rate));
}

// Rounds up, so that 1 quantum is at least one tick on any machine.
static uint64_t quanta_to_ticks(const struct pause_state *state, uint16_t quanta)
{
	unsigned __int128 ticks = (unsigned __int128)load(&state->quantum_ticks) * quanta;

	return (uint64_t)((ticks + UINT32_MAX) >> 32);
}

uint64_t pause_share_scale(uint64_t capacity)
{
	return (uint64_t)(((unsigned __int128)PAUSE_FULL << 32) / capacity);
}

// A frame that names the priority alone.
static struct pfc_frame frame_of(const struct pause_parameters *p, uint16_t quanta)
{
	struct pfc_frame frame = { .priorities = (uint8_t)(1u << p->priority) };

	frame.quanta[p->priority] = quanta;
	return frame;
}

bool pause_state_due(const struct pause_state *state, uint64_t now, struct pfc_frame *frame)
{
	const struct pause_parameters *p = &state->parameters;
	const struct pause_sender *sender = &state->sender;

	if (sender->holding && sender->occupancy < p->low_water) {
		*frame = frame_of(p, 0);
		return true;
	}
	if (sender->holding ? now < sender->renew_at : sender->occupancy <= p->high_water)
		return false;
	*frame = frame_of(p, p->quanta);
	return true;
}

bool pause_state_release(const struct pause_state *state, struct pfc_frame *frame)
{
	*frame = frame_of(&state->parameters, 0);
	return state->sender.holding;
}

void pause_state_sent(struct pause_state *state, uint64_t now, const struct pfc_frame *frame)
{
	struct pause_sender *sender = &state->sender;
	struct pause_tallies *tallies = &state->tallies;
	uint16_t quanta = frame->quanta[state->parameters.priority];
	uint64_t ticks = quanta_to_ticks(state, quanta);

	pause_state_account(state, now);
	if (quanta == 0) {
		add_own(&tallies->xon_sent, 1);
		sender->holding = false;
		set(&sender->pausing_until, 0);
		return;
	}
	add_own(&tallies->xoff_sent, 1);
	if (sender->holding && now >= load(&sender->pausing_until))
		add_own(&tallies->lapsed, 1);
	sender->holding = true;
	sender->renew_at = now + ticks / 2;
	set(&sender->pausing_until, now + ticks);
}

void pause_state_received(struct pause_state *state, uint64_t now, const struct pfc_frame *frame)
{
	unsigned priority = state->parameters.priority;
	uint16_t quanta = frame->quanta[priority];

	if (frame->is_pause || (frame->priorities >> priority & 1) == 0) {
		add_shared(&state->ignored);
		return;
	}
	add_shared(quanta != 0 ? &state->tallies.xoff_received : &state->tallies.xon_received);
	set(&state->paused_until[priority], quanta != 0 ? now + quanta_to_ticks(state, quanta) : 0);
}

// The part of the time from `since` to `now` that is before the deadline.
static uint64_t part_before(uint64_t deadline, uint64_t since, uint64_t now)
{
	uint64_t end = deadline < now ? deadline : now;

	return end > since ? end - since : 0;
}

void pause_state_account(struct pause_state *state, uint64_t now)
{
	struct pause_sender *sender = &state->sender;
	uint64_t since = state->accounted_at;

	if (now < since)
		return;
	add_own(&state->tallies.paused_ticks, part_before(sender->paused_until, since, now));
	add_own(&state->tallies.pausing_ticks,
		part_before(load(&sender->pausing_until), since, now));
	sender->paused_until = load(&state->paused_until[state->parameters.priority]);
	state->accounted_at = now;
}

static uint64_t to_ns(const struct pause_state *state, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * NS_PER_SECOND /
			  state->parameters.ticks_per_second);
}

void pause_state_counters(const struct pause_state *state, unsigned priority,
			  struct pause_counters *counters)
{
	const struct pause_tallies *tallies = &state->tallies;

	*counters = (struct pause_counters){ 0 };
	if (priority != state->parameters.priority)
		return;
	*counters = (struct pause_counters){
		.xoff_sent = load(&tallies->xoff_sent),
		.xon_sent = load(&tallies->xon_sent),
		.xoff_received = load(&tallies->xoff_received),
		.xon_received = load(&tallies->xon_received),
		.paused_ns = to_ns(state, load(&tallies->paused_ticks)),
		.pausing_ns = to_ns(state, load(&tallies->pausing_ticks)),
		.lapsed = load(&tallies->lapsed),
	};
}
