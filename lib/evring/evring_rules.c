// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_rules.h"
#include "evring_decision.h"

#include <errno.h>
#include <string.h>

#include "base/counter.h"

// The member number of the appliance, which no member has.
#define APPLIANCE 255u

static int find(const struct evring_parameters *parameters, const char *name)
{
	for (unsigned i = 0; i < parameters->n_groups; i++)
		if (strcmp(parameters->groups[i], name) == 0)
			return (int)i;
	return -1;
}

static int check_after(const struct evring_parameters *parameters, unsigned group, char *error)
{
	const struct evring_group_rules *rules = &parameters->rules[group];
	const int after = find(parameters, rules->after);

	if (after < 0)
		return evring_error(-EINVAL, error, "group %s: there is no group %s",
				    parameters->groups[group], rules->after);
	if (!parameters->rules[after].decides)
		return evring_error(-EINVAL, error, "group %s: group %s does not decide",
				    parameters->groups[group], rules->after);
	if (rules->decides)
		return evring_error(-EINVAL, error,
				    "group %s: a group that decides cannot come after another one",
				    parameters->groups[group]);
	return 0;
}

int evring_rules_check(const struct evring_parameters *parameters, char *error)
{
	unsigned n_deciders = 0;
	int rc = 0;

	if (parameters->rules == NULL)
		return 0;
	for (unsigned i = 0; i < parameters->n_groups && rc == 0; i++) {
		n_deciders += parameters->rules[i].decides;
		if (parameters->rules[i].after != NULL)
			rc = check_after(parameters, i, error);
	}
	if (rc == 0 && n_deciders > EVRING_MAX_DECIDERS)
		rc = evring_error(-EINVAL, error, "%u groups that decide are more than %d",
				  n_deciders, EVRING_MAX_DECIDERS);
	return rc;
}

static void enter_decider(struct evring_header *header, unsigned group, bool undecided_rejects)
{
	struct evring_decider *decider = &header->deciders[header->n_deciders++];

	decider->group = group;
	decider->undecided_rejects = undecided_rejects;
	atomic_store(&decider->logged, header->queue_size);
	header->groups[group].decider = header->n_deciders;
}

// All groups are new, so that a group's number is its index in the parameters.
uint32_t evring_rules_enter(const struct evring_view *view,
			    const struct evring_parameters *parameters)
{
	struct evring_header *header = view->header;
	const struct evring_group_rules *rules = parameters->rules;
	uint32_t waiting = 0;

	for (unsigned i = 0; rules != NULL && i < parameters->n_groups; i++)
		if (rules[i].decides)
			enter_decider(header, i, rules[i].undecided_rejects);
	for (unsigned i = 0; rules != NULL && i < parameters->n_groups; i++) {
		struct evring_group_area *group = &header->groups[i];
		struct evring_decider *decider;

		if (rules[i].after == NULL)
			continue;
		group->after = header->groups[find(parameters, rules[i].after)].decider;
		atomic_store(&group->cursor, header->queue_size);
		decider = evring_decider_before(view, i);
		decider->on_accept |= 1u << i;
		decider->on_reject |= rules[i].rejected_too ? 1u << i : 0;
		waiting |= 1u << i;
	}
	return waiting;
}

static void count(struct evring_decisions *counts, const struct evring_decision *decision,
		  const struct evring_event *event, uint64_t word)
{
	counter_add((word & EVRING_DECIDED_ACCEPT) != 0 ? &counts->accepted : &counts->rejected, 1);
	for (uint64_t lines = decision->lines; lines != 0; lines &= lines - 1)
		counter_add(&counts->lines[__builtin_ctzll(lines)], 1);
	if (decision->decided_ns >= event->complete_ns)
		histogram_add(&counts->time, decision->decided_ns - event->complete_ns);
}

// Counts what a member did with an event. The number comes from memory that members write.
static void count_member(struct evring_decisions *counts, uint64_t word)
{
	const unsigned number = word >> 16 & 0xff;
	struct evring_member_decisions *member = &counts->members[number % EVRING_MAX_MEMBERS];

	if (number >= EVRING_MAX_MEMBERS)
		return; // the appliance decided at the end of the run
	if ((word & EVRING_DECIDED_BY_RELEASE) != 0)
		counter_add(&member->undecided, 1);
	else
		counter_add(
		    (word & EVRING_DECIDED_ACCEPT) != 0 ? &member->accepted : &member->rejected, 1);
}

void evring_tally_add(struct evring_tally *tally, const struct evring_view *view, uint32_t slot)
{
	const struct evring_descriptor *descriptor = &view->descriptors[slot];
	const unsigned n = view->header->n_deciders;
	uint64_t sequence;

	if (n == 0)
		return;
	sequence = atomic_load_explicit(&descriptor->filled, memory_order_relaxed) - 1;
	for (unsigned d = 0; d < n && d < EVRING_MAX_DECIDERS; d++) {
		const struct evring_decision *decision = &descriptor->decisions[d];
		const uint64_t word = atomic_load_explicit(&decision->word, memory_order_acquire);

		if (evring_decision_is(word, sequence))
			count_member(&tally->deciders[d], word);
		if (evring_decision_is(word, sequence) && (word & EVRING_DECIDED_BY_RELEASE) == 0)
			count(&tally->deciders[d], decision, &descriptor->event, word);
		else
			counter_add(&tally->deciders[d].undecided, 1);
	}
}

uint64_t evring_rules_undecided(const struct evring_view *view)
{
	uint64_t undecided = 0;

	for (unsigned g = 0; g < EVRING_MAX_GROUPS; g++)
		for (uint32_t slot = 0; evring_decider_of(view, g) != NULL && slot < view->n_slots;
		     slot++)
			undecided += atomic_load_explicit(&view->descriptors[slot].claims[g],
							  memory_order_acquire) != EVRING_IDLE;
	return undecided;
}

// Claims the event for the appliance, so that no member gets it, and decides.
static bool settle_slot(const struct evring_view *view, struct evring_decider *decider,
			unsigned group, uint32_t slot)
{
	_Atomic uint64_t *claim = &view->descriptors[slot].claims[group];
	uint64_t word = atomic_load_explicit(claim, memory_order_acquire);
	const enum evring_claim state = evring_claim_state(word);
	const uint64_t sequence = evring_claim_sequence(word);

	if ((state != EVRING_READY && state != EVRING_RETURNED) ||
	    !atomic_compare_exchange_strong_explicit(
		claim, &word, evring_claim_word(EVRING_CLAIMED, sequence, APPLIANCE, 0),
		memory_order_acq_rel, memory_order_relaxed))
		return false;
	evring_decide_undecided(view, decider, slot, sequence, APPLIANCE);
	atomic_store_explicit(claim, 0, memory_order_release);
	return true;
}

void evring_rules_settle(const struct evring_view *view)
{
	for (unsigned g = 0; g < EVRING_MAX_GROUPS; g++) {
		struct evring_decider *decider = evring_decider_of(view, g);
		uint64_t settled = 0;

		for (uint32_t slot = 0; decider != NULL && slot < view->n_slots; slot++)
			settled += settle_slot(view, decider, g, slot);
		// As for events that members claim and release.
		atomic_fetch_add_explicit(&view->header->groups[g].delivered, settled,
					  memory_order_relaxed);
		atomic_fetch_add_explicit(&view->header->groups[g].released, settled,
					  memory_order_release);
	}
}
