// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The decisions of consumers, from the event rings.
#include "appliance/account.h"

#include <string.h>

static void add_decisions(struct account_decisions *sum, const struct evring *ring,
			  const struct evring_decisions *counts, unsigned group)
{
	struct evring_group_state state;

	sum->accepted += counter_read(&counts->accepted);
	sum->rejected += counter_read(&counts->rejected);
	sum->undecided += counter_read(&counts->undecided);
	for (unsigned i = 0; i < EVRING_N_LINES; i++)
		sum->lines[i] += counter_read(&counts->lines[i]);
	histogram_merge(&sum->time, &counts->time);
	// Read after the counters, so that it is not below their sum.
	sum->published += evring_published(ring);
	if (evring_group(ring, group, &state) && state.members > sum->members)
		sum->members = state.members; // a consumer is a member in the ring of each builder
}

bool account_take_decisions(const struct appliance *appliance, unsigned index,
			    struct account_decisions *decisions)
{
	struct evring_group_state state;

	memset(decisions, 0, sizeof(*decisions));
	for (unsigned i = 0; i < appliance->config->n_builders; i++) {
		const struct evring *ring = appliance->rings[i];
		unsigned group;
		const struct evring_decisions *counts =
		    ring != NULL ? evring_decisions(ring, index, &group) : NULL;

		if (counts == NULL || !evring_group(ring, group, &state))
			return false;
		decisions->group = config_group(appliance->config, state.name);
		add_decisions(decisions, ring, counts, group);
	}
	decisions->held =
	    decisions->published - decisions->accepted - decisions->rejected - decisions->undecided;
	return decisions->group != NULL;
}
