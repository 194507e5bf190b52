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
#define MEMORY    16384u      // events of a builder that are remembered, a power of two

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
	_Atomic uint64_t *known; // index + 1 of events that have a slot or were admitted; or NULL
	// Only where events are granted
	_Atomic uint64_t early_at; // ns; start of the interval of `early`
	_Atomic uint32_t early;    // events admitted without a grant in this interval
} __attribute__((aligned(LINE)));

struct roce_slots {
	roce_slots_query query;
	void *context;
	struct admitted *of;
	unsigned n_builders;
	uint64_t mask; // of `known`
	bool granted;
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

static bool make_known(struct roce_slots *slots, uint32_t events)
{
	slots->mask = events - 1;
	for (unsigned i = 0; i < slots->n_builders; i++) {
		slots->of[i].known = calloc(events, sizeof(*slots->of[i].known));
		if (slots->of[i].known == NULL)
			return false;
	}
	return true;
}

bool roce_slots_remember(struct roce_slots *slots)
{
	return make_known(slots, MEMORY);
}

bool roce_slots_granted(struct roce_slots *slots, uint32_t events)
{
	slots->granted = true;
	return make_known(slots, events);
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

static void count_admitted(struct admitted *of)
{
	atomic_fetch_add_explicit(&of->admitted, 1, memory_order_relaxed);
	atomic_store_explicit(&of->waited, 0, memory_order_relaxed);
}

// Makes an event the newest one if it is later. True for the port that succeeds.
static bool make_newest(struct admitted *of, uint64_t newest, uint64_t index)
{
	while (newest <= index)
		if (atomic_compare_exchange_weak_explicit(&of->newest, &newest, index + 1,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return true;
	return false;
}

// Whether the event was admitted, or its place is that of a later event.
static bool is_known(uint64_t place, uint64_t index)
{
	return place - (index + 1) < FAR;
}

// Admits an event that has no slot yet. Only the port that takes its place counts it.
static enum roce_slots_verdict admit_once(struct roce_slots *slots, unsigned builder,
					  uint64_t index, bool always, uint64_t now)
{
	struct admitted *of = &slots->of[builder];
	_Atomic uint64_t *at = &of->known[index & slots->mask];
	uint64_t place = atomic_load_explicit(at, memory_order_relaxed);
	uint64_t newest = atomic_load_explicit(&of->newest, memory_order_relaxed);

	if (is_known(place, index))
		return ROCE_SLOTS_ADMITTED;
	if (!has_room(slots, builder, now) && !always)
		return index < newest ? ROCE_SLOTS_PASSED : ROCE_SLOTS_WAIT;
	if (atomic_compare_exchange_strong_explicit(at, &place, index + 1, memory_order_relaxed,
						    memory_order_relaxed))
		count_admitted(of);
	(void)make_newest(of, newest, index);
	return ROCE_SLOTS_ADMITTED;
}

// The same where events are not remembered.
static enum roce_slots_verdict admit_newest(struct roce_slots *slots, unsigned builder,
					    uint64_t index, bool always, uint64_t now)
{
	struct admitted *of = &slots->of[builder];
	uint64_t newest = atomic_load_explicit(&of->newest, memory_order_relaxed);

	if (index < newest)
		return ROCE_SLOTS_ADMITTED;
	if (!has_room(slots, builder, now) && !always)
		return ROCE_SLOTS_WAIT;
	if (make_newest(of, newest, index))
		count_admitted(of);
	return ROCE_SLOTS_ADMITTED;
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

static enum roce_slots_verdict admitted_or_wait(bool admitted)
{
	return admitted ? ROCE_SLOTS_ADMITTED : ROCE_SLOTS_WAIT;
}

static enum roce_slots_verdict admit_granted(struct roce_slots *slots, unsigned builder,
					     uint64_t index, bool always, uint64_t now)
{
	const uint64_t known = atomic_load_explicit(&slots->of[builder].known[index & slots->mask],
						    memory_order_relaxed);

	return admitted_or_wait(known == index + 1 || admit_early(slots, builder, index, now) ||
				always);
}

enum roce_slots_verdict roce_slots_admit(struct roce_slots *slots, unsigned builder, uint64_t index,
					 bool always, uint64_t now)
{
	struct admitted *of = &slots->of[builder];
	uint64_t newest = atomic_load_explicit(&of->newest, memory_order_relaxed);

	if (slots->granted)
		return admit_granted(slots, builder, index, always, now);
	if (is_far(newest, index))
		return admitted_or_wait(admit_far(slots, builder, index, always, now));
	if (atomic_load_explicit(&of->far_messages, memory_order_relaxed) != 0)
		atomic_store_explicit(&of->far_messages, 0, memory_order_relaxed);
	return of->known != NULL ? admit_once(slots, builder, index, always, now)
				 : admit_newest(slots, builder, index, always, now);
}

void roce_slots_end(struct roce_slots *slots, unsigned builder)
{
	struct admitted *of = &slots->of[builder];

	if (!atomic_load_explicit(&of->ended, memory_order_relaxed) &&
	    !atomic_exchange_explicit(&of->ended, true, memory_order_relaxed))
		atomic_fetch_add_explicit(&of->admitted, 1, memory_order_relaxed);
}
