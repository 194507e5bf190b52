// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/roce_slots.h"

#include <stdlib.h>
#include <string.h>

#define LINE      64u
#define SETTLE_NS 1000000000u // after which no event is on its way any more
#define STEP_NS   10000000u   // that one look counts at most: the process may have stood still
#define GRANT_NS  100000000u  // that a grant is waited for
#define OPEN_NS   5000000u    // after which an event that was let in has its slot
#define FAR       65536u      // events from the newest: the number may be wrong
#define FAR_MOST  64u         // messages in a row that are as far: it is not

// Of a builder. An event is on its way from its being counted in `admitted` to its being opened.
struct admitted {
	_Atomic uint64_t newest;   // index + 1 of an event let in, 0: none
	_Atomic uint64_t admitted; // events
	_Atomic int64_t settled;   // opened - admitted when all had arrived
	_Atomic uint64_t looked;   // ns: last time that it was asked for room
	_Atomic uint64_t waited;   // ns since one was let in
	_Atomic uint64_t far; // index + 1 of the event far from the newest that was let in last
	_Atomic uint32_t far_ones; // messages of such events in a row
	atomic_bool ended;
	// Where events are granted
	_Atomic uint64_t *known;   // index + 1 of events that have a slot, or were let in
	_Atomic uint64_t early_at; // ns: since then ...
	_Atomic uint32_t early;    // ... so many were let in without a grant
} __attribute__((aligned(LINE)));

struct roce_slots {
	roce_slots_ask ask;
	void *context;
	struct admitted *of;
	unsigned n_builders;
	uint64_t mask; // of `known`; 0: events are not granted
};

struct roce_slots *roce_slots_create(unsigned n_builders, roce_slots_ask ask, void *context)
{
	size_t size = (n_builders > 0 ? n_builders : 1) * sizeof(struct admitted);
	struct roce_slots *slots = calloc(1, sizeof(*slots));

	if (slots == NULL)
		return NULL;
	slots->ask = ask;
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

// How long none has been let in.
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
	const struct roce_slots_of told = slots->ask(slots->context, builder);
	int64_t ahead =
	    (int64_t)(atomic_load_explicit(&of->admitted, memory_order_relaxed) - told.opened);
	int64_t on_their_way = ahead + atomic_load_explicit(&of->settled, memory_order_relaxed);

	// Fewer than none: some were opened that had not been the newest.
	if (wait(of, now) > SETTLE_NS || on_their_way < 0) {
		atomic_store_explicit(&of->settled, -ahead, memory_order_relaxed);
		on_their_way = 0;
	}
	return (int64_t)told.free > on_their_way;
}

// An event is counted by the one port that makes it the newest.
static void let_in(struct admitted *of, uint64_t newest, uint64_t index)
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

// An event whose grant has not come yet. Those that were let in a moment ago may not be counted as
// opened yet.
static bool admit_early(struct roce_slots *slots, unsigned builder, uint64_t index, uint64_t now)
{
	struct admitted *of = &slots->of[builder];
	uint32_t early = atomic_load_explicit(&of->early, memory_order_relaxed);

	if (now - atomic_load_explicit(&of->early_at, memory_order_relaxed) > OPEN_NS) {
		atomic_store_explicit(&of->early_at, now, memory_order_relaxed);
		early = 0;
	}
	if (wait(of, now) <= GRANT_NS && slots->ask(slots->context, builder).free <= early)
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

// A message of an event that is far from the others. It needs a slot of its own.
static bool admit_far(struct roce_slots *slots, unsigned builder, uint64_t index, bool always,
		      uint64_t now)
{
	struct admitted *of = &slots->of[builder];
	bool there = atomic_load_explicit(&of->far, memory_order_relaxed) == index + 1;

	if (!there && !has_room(slots, builder, now) && !always)
		return false;
	if (atomic_fetch_add_explicit(&of->far_ones, 1, memory_order_relaxed) + 1 >= FAR_MOST)
		atomic_store_explicit(&of->newest, index + 1, memory_order_relaxed);
	if (!there) {
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
	if (atomic_load_explicit(&of->far_ones, memory_order_relaxed) != 0)
		atomic_store_explicit(&of->far_ones, 0, memory_order_relaxed);
	if (index < newest)
		return true;
	if (!has_room(slots, builder, now) && !always)
		return false;
	let_in(of, newest, index);
	return true;
}

void roce_slots_end(struct roce_slots *slots, unsigned builder)
{
	struct admitted *of = &slots->of[builder];

	if (!atomic_load_explicit(&of->ended, memory_order_relaxed) &&
	    !atomic_exchange_explicit(&of->ended, true, memory_order_relaxed))
		atomic_fetch_add_explicit(&of->admitted, 1, memory_order_relaxed);
}
