// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_members.h"
#include "evring_decision.h"
#include "evring_lock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char name_characters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

bool evring_name_is_valid(const char *name)
{
	const size_t length = strnlen(name, EVRING_NAME_SIZE);

	return length > 0 && length < EVRING_NAME_SIZE && strspn(name, name_characters) == length;
}

unsigned evring_group_members(const struct evring_view *view, unsigned group)
{
	unsigned members = 0;

	for (unsigned i = 0; i < EVRING_MAX_MEMBERS; i++) {
		const uint32_t word =
		    atomic_load_explicit(&view->header->members[i].word, memory_order_acquire);

		members += evring_member_used(word) && evring_member_group(word) == group;
	}
	return members;
}

// Changes every claim of one member from CLAIMED to RETURNED, or to IDLE if the member has decided
// about the event: for a member that can no longer claim or release, which is the caller itself, or
// a dead member whose lock the caller holds. Therefore no other process changes these words; the
// compare-and-swap only prevents further damage to a ring that is damaged already. Returns the
// number of claims that became RETURNED.
static uint64_t give_up_claims(struct evring_view *view, unsigned group, unsigned member,
			       unsigned generation)
{
	const uint64_t holder =
	    evring_claim_holder(evring_claim_word(EVRING_CLAIMED, 0, member, generation));
	struct evring_decider *decider = evring_decider_of(view, group);
	uint64_t returned = 0, released = 0;

	for (uint32_t slot = 0; slot < view->n_slots; slot++) {
		_Atomic uint64_t *claim = &view->descriptors[slot].claims[group];
		uint64_t word = atomic_load_explicit(claim, memory_order_acquire);
		const uint64_t sequence = evring_claim_sequence(word);
		uint64_t new_word = evring_claim_word(EVRING_RETURNED, sequence, 0, 0);
		bool decided, changed;

		if (evring_claim_holder(word) != holder)
			continue;
		decided = decider != NULL && evring_is_decided(view, decider, slot, sequence);
		if (decided) {
			evring_pass_on(view, decider, slot, sequence);
			new_word = 0;
		}
		changed = atomic_compare_exchange_strong_explicit(
		    claim, &word, new_word, memory_order_acq_rel, memory_order_relaxed);
		returned += changed && !decided;
		released += changed && decided;
	}
	atomic_fetch_add_explicit(&view->header->groups[group].released, released,
				  memory_order_release);
	return returned;
}

// The caller holds the lock of the entry, so the process that used it is dead.
static void bury(struct evring_view *view, unsigned member, uint32_t word)
{
	const unsigned group = evring_member_group(word) % EVRING_MAX_GROUPS;
	struct evring_group_area *area = &view->header->groups[group];
	const uint64_t regained =
	    give_up_claims(view, group, member, evring_member_generation(word));

	atomic_fetch_add_explicit(&area->regained, regained, memory_order_relaxed);
	// Also when no claim was found: the member may have died between its last release and the
	// counting of that release, or as a reaper before it counted.
	atomic_fetch_add_explicit(&area->returns, 1, memory_order_release);
	atomic_fetch_add_explicit(&view->header->deaths, 1, memory_order_relaxed);
	atomic_store_explicit(&view->header->members[member].word,
			      evring_member_word(0, evring_member_generation(word), false),
			      memory_order_release);
}

unsigned evring_bury_members(struct evring_view *view, int self)
{
	unsigned dead = 0;

	for (unsigned i = 0; i < EVRING_MAX_MEMBERS; i++) {
		_Atomic uint32_t *entry = &view->header->members[i].word;
		uint32_t word;

		if ((int)i == self ||
		    !evring_member_used(atomic_load_explicit(entry, memory_order_acquire)) ||
		    evring_lock_take(view->members, EVRING_LOCK_MEMBER(i)) != 0)
			continue;
		// Read again: the member may have left, or been buried, before the lock was taken.
		word = atomic_load_explicit(entry, memory_order_acquire);
		if (evring_member_used(word)) {
			bury(view, i, word);
			dead++;
		}
		evring_lock_drop(view->members, EVRING_LOCK_MEMBER(i));
	}
	return dead;
}

static int find_group(const struct evring_view *view, const char *name)
{
	for (int g = 0; g < EVRING_MAX_GROUPS; g++) {
		const struct evring_group_area *group = &view->header->groups[g];

		if (atomic_load_explicit(&group->use, memory_order_acquire) == EVRING_GROUP_USED &&
		    strncmp(group->name, name, EVRING_NAME_SIZE) == 0)
			return g;
	}
	return -1;
}

static int make_group(struct evring_view *view, const char *name, bool persistent)
{
	struct evring_group_area *group;
	int g = 0;

	while (g < EVRING_MAX_GROUPS &&
	       atomic_load_explicit(&view->header->groups[g].use, memory_order_acquire) !=
		   EVRING_GROUP_FREE)
		g++;
	if (g == EVRING_MAX_GROUPS)
		return -ENOSPC;

	group = &view->header->groups[g];
	memset(group->name, 0, sizeof(group->name));
	memcpy(group->name, name, strnlen(name, EVRING_NAME_SIZE - 1));
	group->persistent = persistent;
	// The sum of `released` and `returns` must never return to an earlier value: an unchanged
	// sum means to the builder that nothing was released.
	atomic_fetch_add(&group->returns, atomic_exchange(&group->released, 0));
	atomic_store(&group->delivered, 0);
	atomic_store(&group->regained, 0);
	// Events up to here were published without this group.
	atomic_store(&group->cursor, atomic_load(&view->header->head));
	atomic_store_explicit(&group->use, EVRING_GROUP_USED, memory_order_release);
	return g;
}

int evring_group_enter(struct evring_view *view, const char *name, bool persistent)
{
	int g = find_group(view, name);

	if (g < 0)
		g = make_group(view, name, persistent);
	// Also for an existing group: its maker may have died before this line.
	if (g >= 0)
		atomic_fetch_or(&view->header->active_groups, 1u << g);
	return g;
}

// Takes a free entry of the table of members. The lock is taken before the entry is marked as used,
// so that a used entry without a lock always belongs to a dead member.
static int enter_member(struct evring_view *view, unsigned group,
			struct evring_membership *membership)
{
	for (unsigned i = 0; i < EVRING_MAX_MEMBERS; i++) {
		struct evring_member_area *entry = &view->header->members[i];
		uint32_t word;
		unsigned generation;

		if (evring_member_used(atomic_load_explicit(&entry->word, memory_order_acquire)) ||
		    evring_lock_take(view->members, EVRING_LOCK_MEMBER(i)) != 0)
			continue;
		word = atomic_load_explicit(&entry->word, memory_order_acquire);
		if (evring_member_used(word)) {
			evring_lock_drop(view->members, EVRING_LOCK_MEMBER(i));
			continue;
		}
		generation = (evring_member_generation(word) + 1) & EVRING_GENERATION_MASK;
		entry->pid = (uint32_t)getpid();
		atomic_store_explicit(&entry->word, evring_member_word(group, generation, true),
				      memory_order_release);
		*membership = (struct evring_membership){ group, i, generation };
		return 0;
	}
	return -ENOSPC;
}

int evring_join(struct evring_view *view, const char *group, struct evring_membership *membership,
		char *error)
{
	int rc = evring_lock_wait(view->members, EVRING_LOCK_TABLE);

	if (rc != 0)
		return evring_error(rc == -EAGAIN ? -EBUSY : rc, error,
				    "the table of groups is held by another process: %s",
				    strerror(-rc));
	(void)evring_bury_members(view, -1); // frees entries; their number does not matter
	rc = evring_group_enter(view, group, false);
	if (rc < 0) {
		evring_error(rc, error, "no room for group %s: there are %d already", group,
			     EVRING_MAX_GROUPS);
	} else {
		rc = enter_member(view, (unsigned)rc, membership);
		if (rc != 0)
			evring_error(rc, error, "no room for a reader: there are %d already",
				     EVRING_MAX_MEMBERS);
	}
	evring_lock_drop(view->members, EVRING_LOCK_TABLE);
	return rc;
}

void evring_leave(struct evring_view *view, const struct evring_membership *membership)
{
	struct evring_group_area *group = &view->header->groups[membership->group];

	(void)give_up_claims(view, membership->group, membership->member, membership->generation);
	atomic_fetch_add_explicit(&group->returns, 1, memory_order_release);
	atomic_store_explicit(&view->header->members[membership->member].word,
			      evring_member_word(0, membership->generation, false),
			      memory_order_release);
	evring_lock_drop(view->members, EVRING_LOCK_MEMBER(membership->member));
}

static void dissolve(struct evring_view *view, unsigned g)
{
	struct evring_group_area *group = &view->header->groups[g];

	atomic_fetch_and(&view->header->active_groups, ~(1u << g));
	// Pairs with the fence in mark_ready() of evring.c: either the builder sees, after it
	// has written READY, that the group is gone, and clears the word itself; or this function
	// sees the word and clears it.
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t slot = 0; slot < view->n_slots; slot++)
		atomic_store_explicit(&view->descriptors[slot].claims[g], 0, memory_order_release);
	atomic_fetch_add_explicit(&group->returns, 1, memory_order_release);
	atomic_store_explicit(&group->use, EVRING_GROUP_FREE, memory_order_release);
}

void evring_dissolve_groups(struct evring_view *view)
{
	// A reader may be joining: then the next call dissolves the group.
	if (evring_lock_take(view->members, EVRING_LOCK_TABLE) != 0)
		return;
	for (unsigned g = 0; g < EVRING_MAX_GROUPS; g++) {
		struct evring_group_area *group = &view->header->groups[g];

		if (atomic_load_explicit(&group->use, memory_order_acquire) == EVRING_GROUP_USED &&
		    !group->persistent && evring_group_members(view, g) == 0)
			dissolve(view, g);
	}
	evring_lock_drop(view->members, EVRING_LOCK_TABLE);
}
