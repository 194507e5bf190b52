// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_decision.h"

#include "base/tick_clock.h"

// A loop ends before that many tries in every ring but a damaged one: a failed try means that
// another process has entered its slot in the log meanwhile.
#define MOST_TRIES 100000u

static struct evring_decider *decider_at(const struct evring_view *view, uint32_t number)
{
	return number >= 1 && number <= EVRING_MAX_DECIDERS ? &view->header->deciders[number - 1]
							    : NULL;
}

struct evring_decider *evring_decider_of(const struct evring_view *view, unsigned group)
{
	return decider_at(view, view->header->groups[group].decider);
}

struct evring_decider *evring_decider_before(const struct evring_view *view, unsigned group)
{
	return decider_at(view, view->header->groups[group].after);
}

unsigned evring_decider_index(const struct evring_view *view, const struct evring_decider *decider)
{
	return (unsigned)(decider - view->header->deciders);
}

static struct evring_decision *decision_of(const struct evring_view *view,
					   const struct evring_decider *decider, uint32_t slot)
{
	return &view->descriptors[slot].decisions[evring_decider_index(view, decider)];
}

bool evring_is_decided(const struct evring_view *view, const struct evring_decider *decider,
		       uint32_t slot, uint64_t sequence)
{
	return evring_decision_is(
	    atomic_load_explicit(&decision_of(view, decider, slot)->word, memory_order_acquire),
	    sequence);
}

// Enters a slot in the decider's log. Several processes may do so at the same time: the entry is
// written by compare-and-swap, and a process that finds it written advances the number for the
// process that wrote it, which may be dead.
static void enter_in_log(const struct evring_view *view, struct evring_decider *decider,
			 uint32_t slot)
{
	_Atomic uint64_t *log = &view->logs[evring_decider_index(view, decider) * view->queue_size];
	bool entered = false;

	for (unsigned i = 0; i < MOST_TRIES && !entered; i++) {
		uint64_t number = atomic_load_explicit(&decider->logged, memory_order_acquire);
		_Atomic uint64_t *entry = &log[number & (view->queue_size - 1)];
		uint64_t old = atomic_load_explicit(entry, memory_order_acquire);

		// An entry of a later round must not be overwritten.
		if (atomic_load_explicit(&decider->logged, memory_order_acquire) != number)
			continue;
		if (!evring_entry_is(old, number))
			entered = atomic_compare_exchange_strong_explicit(
			    entry, &old, evring_entry(number, slot), memory_order_acq_rel,
			    memory_order_relaxed);
		if (entered || evring_entry_is(old, number))
			(void)atomic_compare_exchange_strong_explicit(
			    &decider->logged, &number, number + 1, memory_order_acq_rel,
			    memory_order_relaxed);
	}
}

void evring_pass_on(const struct evring_view *view, struct evring_decider *decider, uint32_t slot,
		    uint64_t sequence)
{
	const bool accepted =
	    (atomic_load_explicit(&decision_of(view, decider, slot)->word, memory_order_acquire) &
	     EVRING_DECIDED_ACCEPT) != 0;
	const uint32_t to = accepted ? decider->on_accept : decider->on_reject;
	const uint32_t after = decider->on_accept | decider->on_reject;
	const uint64_t ready = evring_claim_word(EVRING_READY, sequence, 0, 0);
	bool is_ready = false;

	for (unsigned g = 0; g < EVRING_MAX_GROUPS; g++) {
		_Atomic uint64_t *claim = &view->descriptors[slot].claims[g];
		uint64_t word = evring_claim_word(EVRING_WAITING, sequence, 0, 0);
		const bool gets = (to >> g & 1) != 0;

		if ((after >> g & 1) == 0)
			continue;
		// Release: the group's member reads the decision.
		if (atomic_compare_exchange_strong_explicit(
			claim, &word, gets ? ready : 0, memory_order_acq_rel, memory_order_relaxed))
			word = gets ? ready : 0;
		is_ready = is_ready || word == ready;
	}
	if (is_ready)
		enter_in_log(view, decider, slot);
}

void evring_decide(const struct evring_view *view, struct evring_decider *decider, uint32_t slot,
		   uint64_t sequence, unsigned member, const struct evring_verdict *verdict)
{
	struct evring_decision *decision = decision_of(view, decider, slot);

	decision->lines = verdict->lines;
	decision->tag = verdict->tag;
	decision->decided_ns = verdict->decided_ns;
	// Release: from here on the event is decided, and what stands above is valid.
	atomic_store_explicit(
	    &decision->word,
	    (sequence & EVRING_SEQUENCE_MASK) << 24 | (uint64_t)(member & 0xff) << 16 |
		EVRING_DECIDED |
		(verdict->flags & (EVRING_DECIDED_ACCEPT | EVRING_DECIDED_BY_RELEASE)),
	    memory_order_release);
	evring_pass_on(view, decider, slot, sequence);
}

void evring_decide_undecided(const struct evring_view *view, struct evring_decider *decider,
			     uint32_t slot, uint64_t sequence, unsigned member)
{
	struct evring_verdict verdict = {
		.decided_ns = tick_clock_monotonic_ns(),
		.flags = EVRING_DECIDED_BY_RELEASE,
	};

	if (!decider->undecided_rejects)
		verdict.flags |= EVRING_DECIDED_ACCEPT;
	evring_decide(view, decider, slot, sequence, member, &verdict);
}
