// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The steps of a decision in shared memory (evring_layout.h, "Decisions"). Used by members of
// deciding groups and by the appliance. Each function is safe against the death of its caller at
// any instruction.
#pragma once

#include "evring_view.h"

// The decider that a group is, or comes after; NULL: none. Also for a damaged header.
struct evring_decider *evring_decider_of(const struct evring_view *view, unsigned group);
struct evring_decider *evring_decider_before(const struct evring_view *view, unsigned group);

// Index of a decider of this view.
unsigned evring_decider_index(const struct evring_view *view, const struct evring_decider *decider);

// Whether the event in the slot, with this sequence, is decided.
bool evring_is_decided(const struct evring_view *view, const struct evring_decider *decider,
		       uint32_t slot, uint64_t sequence);

// Decides an event that the caller holds in the deciding group (its claim word is CLAIMED by
// `member`), and passes it on. flags: EVRING_DECIDED_ACCEPT, EVRING_DECIDED_BY_RELEASE.
struct evring_verdict {
	uint64_t lines;
	uint64_t decided_ns;
	uint32_t tag;
	unsigned flags;
};
void evring_decide(const struct evring_view *view, struct evring_decider *decider, uint32_t slot,
		   uint64_t sequence, unsigned member, const struct evring_verdict *verdict);

// Decides as the configuration says about events that are released undecided.
void evring_decide_undecided(const struct evring_view *view, struct evring_decider *decider,
			     uint32_t slot, uint64_t sequence, unsigned member);

// Passes a decided event on to the groups after. May be repeated.
void evring_pass_on(const struct evring_view *view, struct evring_decider *decider, uint32_t slot,
		    uint64_t sequence);
