// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Deciding groups and groups after them, on the appliance's side.
#pragma once

#include "evring_view.h"

struct evring_tally {
	struct evring_decisions deciders[EVRING_MAX_DECIDERS];
};

// Checks the rules of the groups. Returns 0 or -EINVAL with one line in error[EVRING_ERROR_SIZE].
int evring_rules_check(const struct evring_parameters *parameters, char *error);

// Enters the rules of the groups, which are in the header already, before others see the file.
// Returns the groups that wait for a decision.
uint32_t evring_rules_enter(const struct evring_view *view,
			    const struct evring_parameters *parameters);

// Counts the decisions of an event whose slot has become free. Builder.
void evring_tally_add(struct evring_tally *tally, const struct evring_view *view, uint32_t slot);

// See evring_undecided() and evring_settle().
uint64_t evring_rules_undecided(const struct evring_view *view);
void evring_rules_settle(const struct evring_view *view);
