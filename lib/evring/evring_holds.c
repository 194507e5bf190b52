// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_holds.h"

#include <string.h>

// The member of each group with its oldest claimed event, and all members with one.
struct holders {
	unsigned oldest[EVRING_MAX_GROUPS];
	uint64_t members[EVRING_MAX_GROUPS]; // bit m: member m
};

static_assert(EVRING_MAX_MEMBERS <= 64, "members are bits of a word");

static unsigned member_of(uint64_t word)
{
	return (unsigned)(word >> 16 & 0xff) % EVRING_MAX_MEMBERS;
}

// Sequences are compared modulo 2^40.
static bool is_before(uint64_t a, uint64_t b)
{
	return ((b - a) & EVRING_SEQUENCE_MASK) <= EVRING_SEQUENCE_MASK / 2;
}

static void add_claim(struct evring_hold *hold, struct holders *holders, unsigned group,
		      uint64_t word)
{
	const enum evring_claim state = evring_claim_state(word);
	const uint64_t sequence = evring_claim_sequence(word);

	if (state == EVRING_IDLE || state == EVRING_WAITING)
		return;
	hold->slots++;
	if (state != EVRING_CLAIMED)
		return;
	if (hold->claimed++ == 0 || is_before(sequence, hold->oldest)) {
		hold->oldest = sequence;
		holders->oldest[group] = member_of(word);
	}
	holders->members[group] |= UINT64_C(1) << member_of(word);
}

void evring_view_holds(const struct evring_view *view, struct evring_hold holds[EVRING_MAX_GROUPS])
{
	struct holders holders = { 0 };

	memset(holds, 0, EVRING_MAX_GROUPS * sizeof(holds[0]));
	for (uint32_t slot = 0; slot < view->n_slots; slot++)
		for (unsigned g = 0; g < EVRING_MAX_GROUPS; g++)
			add_claim(&holds[g], &holders, g,
				  atomic_load_explicit(&view->descriptors[slot].claims[g],
						       memory_order_relaxed));
	for (unsigned g = 0; g < EVRING_MAX_GROUPS; g++) {
		holds[g].members = (uint32_t)__builtin_popcountll(holders.members[g]);
		if (holds[g].claimed > 0)
			holds[g].pid = __atomic_load_n(
			    &view->header->members[holders.oldest[g]].pid, __ATOMIC_RELAXED);
	}
}
