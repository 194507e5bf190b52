// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/roce_slots.h"

#include <stdlib.h>
#include <string.h>

#define LINE      64u
#define SETTLE_NS 1000000000u // ns after the last admission, when all admitted events are opened
#define STEP_NS   10000000u   // ns; most time counted per call: the process may have been stopped
#define GRANT_NS  100000000u  // ns to wait for a grant
#define OPEN_NS   5000000u    // ns until an admitted event is opened and has its slot
#define FAR       65536u      // events from the newest; beyond it the number may be wrong
#define FAR_MOST  64u         // so many far messages in a row: the numbers are right

// The admissions of a builder. An event is in flight from its admission (counted in `admitted`)
// until the builder opens it.
struct admitted {
	_Atomic uint64_t newest;   // index + 1 of the newest admitted event; 0: none
	_Atomic uint64_t admitted; // events
	_Atomic int64_t settled;   // opened - admitted when no event was in flight
	_Atomic uint64_t looked;   // ns; time of the last request for room
	_Atomic uint64_t waited;   // ns since the last admission
	_Atomic uint64_t far; // index + 1 of the last admitted event that is far from the newest
	_Atomic uint32_t far_messages; // messages of far events in a row
	atomic_bool ended;
	// Only where events are granted
	_Atomic uint64_t *known;   // index + 1 of events that have a slot or were admitted
	_Atomic uint64_t early_at; // ns; start of the interval of `early`
	_Atomic uint32_t early;    // events admitted without a grant in this interval
} __attribute__((aligned(LINE)));

struct roce_slots {
	roce_slots_query query;
	void *context;
	struct admitted *of;
	unsigned n_builders;
	uint64_t mask; // of `known`; 0: events are not granted
};

struct roce_slots *roce_slots_create(unsigned n_builders, roce_slots_query query, void *context)
{
	size_t size = (n_builders > 0 ? n_builders : 1) * sizeof(struct admitted);
	struct roce_slots *slots = calloc(1, sizeof(*slots));

	if (slots == NULL)
		return NULL;
	slots->query = query;
	slots->context = context;
	slots->n_builders = n_builders;
	slots->of = aligned_alloc(LINE, size);
	if (slots->of == NULL) {
		free(slots);
		return NULL;
	}
	memset(slots->of, 0, size);
	return slots;
}

void roce_slots_destroy(struct roce_slots *slots)
{
	if (slots == NULL)
		return;
	for (unsigned i = 0; i < slots->n_builders; i++)
		free(slots->of[i].known);
	free(slots->of);
	free(slots);
}

bool roce_slots_granted(struct roce_slots *slots, uint32_t events)
{
	slots->mask = events - 1;
	for (unsigned i = 0; i < slots->n_builders; i++) {
		slots->of[i].known = calloc(events, sizeof(*slots->of[i].known));
		if (slots->of[i].known == NULL)
			return false;
	}
	return true;
}

void roce_slots_expect(struct roce_slots *slots, unsigned builder, uint64_t index)
{
	atomic_store_explicit(&slots->of[builder].known[index & slots->mask], index + 1,
			      memory_order_relaxed);
}

// Updates and returns the time in ns since the last admission.
static uint64_t wait(struct admitted *of, uint64_t now)
{
	uint64_t step = now - atomic_load_explicit(&of->looked, memory_order_relaxed);
	uint64_t waited = atomic_load_explicit(&of->waited, memory_order_relaxed) +
			  (step < STEP_NS ? step : STEP_NS);

	atomic_store_explicit(&of->looked, now, memory_order_relaxed);
	atomic_store_explicit(&of->waited, waited, memory_order_relaxed);
	return waited;
}

static bool has_room(struct roce_slots *slots, unsigned builder, uint64_t now)
{
	struct admitted *of = &slots->of[builder];
	const struct roce_slots_state state = slots->query(slots->context, builder);
	int64_t ahead =
	    (int64_t)(atomic_load_explicit(&of->admitted, memory_order_relaxed) - state.opened);
	int64_t in_flight = ahead + atomic_load_explicit(&of->settled, memory_order_relaxed);

	// Negative: the builder opened events that were not the newest when they arrived.
	if (wait(of, now) > SETTLE_NS || in_flight < 0) {
		atomic_store_explicit(&of->settled, -ahead, memory_order_relaxed);
		in_flight = 0;
	}
	return (int64_t)state.free > in_flight;
}

// Makes an event the newest one. Only the port that succeeds counts it.
static void admit_newest(struct admitted *of, uint64_t newest, uint64_t index)
{
	while (newest <= index) {
		if (!atomic_compare_exchange_weak_explicit(&of->newest, &newest, index + 1,
							   memory_order_relaxed,
							   memory_order_relaxed))
			continue;
		atomic_fetch_add_explicit(&of->admitted, 1, memory_order_relaxed);
		atomic_store_explicit(&of->waited, 0, memory_order_relaxed);
		return;
	}
}

// Admits an event before its grant arrives. The free slots may still include those of events
// admitted a moment ago, so these are subtracted.
static bool admit_early(struct roce_slots *slots, unsigned builder, uint64_t index, uint64_t now)
{
	struct admitted *of = &slots->of[builder];
	uint32_t early = atomic_load_explicit(&of->early, memory_order_relaxed);

	if (now - atomic_load_explicit(&of->early_at, memory_order_relaxed) > OPEN_NS) {
		atomic_store_explicit(&of->early_at, now, memory_order_relaxed);
		early = 0;
	}
	if (wait(of, now) <= GRANT_NS && slots->query(slots->context, builder).free <= early)
		return false;
	atomic_store_explicit(&of->early, early + 1, memory_order_relaxed);
	atomic_store_explicit(&of->waited, 0, memory_order_relaxed);
	roce_slots_expect(slots, builder, index);
	return true;
}

static bool is_far(uint64_t newest, uint64_t index)
{
	return newest != 0 && (index > newest ? index - newest : newest - index) > FAR;
}

// Admits a message of an event that is far from the newest. The event needs a slot of its own.
static bool admit_far(struct roce_slots *slots, unsigned builder, uint64_t index, bool always,
		      uint64_t now)
{
	struct admitted *of = &slots->of[builder];
	bool is_admitted = atomic_load_explicit(&of->far, memory_order_relaxed) == index + 1;

	if (!is_admitted && !has_room(slots, builder, now) && !always)
		return false;
	if (atomic_fetch_add_explicit(&of->far_messages, 1, memory_order_relaxed) + 1 >= FAR_MOST)
		atomic_store_explicit(&of->newest, index + 1, memory_order_relaxed);
	if (!is_admitted) {
		atomic_store_explicit(&of->far, index + 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&of->admitted, 1, memory_order_relaxed);
	}
	return true;
}

bool roce_slots_admit(struct roce_slots *slots, unsigned builder, uint64_t index, bool always,
		      uint64_t now)
{
	struct admitted *of = &slots->of[builder];
	uint64_t newest = atomic_load_explicit(&of->newest, memory_order_relaxed);

	if (of->known != NULL)
		return atomic_load_explicit(&of->known[index & slots->mask],
					    memory_order_relaxed) == index + 1 ||
		       admit_early(slots, builder, index, now) || always;
	if (is_far(newest, index))
		return admit_far(slots, builder, index, always, now);
	if (atomic_load_explicit(&of->far_messages, memory_order_relaxed) != 0)
		atomic_store_explicit(&of->far_messages, 0, memory_order_relaxed);
	if (index < newest)
		return true;
	if (!has_room(slots, builder, now) && !always)
		return false;
	admit_newest(of, newest, index);
	return true;
}

void roce_slots_end(struct roce_slots *slots, unsigned builder)
{
	struct admitted *of = &slots->of[builder];

	if (!atomic_load_explicit(&of->ended, memory_order_relaxed) &&
	    !atomic_exchange_explicit(&of->ended, true, memory_order_relaxed))
		atomic_fetch_add_explicit(&of->admitted, 1, memory_order_relaxed);
}
