// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sched/phases.h"

#include <stdlib.h>

bool sched_phases_make(struct sched_phases *phases, uint32_t n)
{
	*phases = (struct sched_phases){ .n = n };
	phases->nodes = calloc(n + 1, sizeof(*phases->nodes));
	return phases->nodes != NULL;
}

void sched_phases_free(struct sched_phases *phases)
{
	free(phases->nodes);
}

void sched_phases_set_part(struct sched_phases *phases, uint32_t node, bool takes_part)
{
	phases->nodes[node] = (struct sched_phases_node){ .is_out = !takes_part };
	phases->is_due = true;
}

void sched_phases_reach(struct sched_phases *phases, uint32_t node, uint32_t phase)
{
	phases->nodes[node].reached = phase;
	phases->nodes[node].has_reached = true;
	phases->is_due = true;
}

bool sched_phases_least(struct sched_phases *phases, uint32_t *least)
{
	bool any = false;

	phases->is_due = false;
	for (uint32_t i = 0; i < phases->n; i++) {
		const struct sched_phases_node *node = &phases->nodes[i];

		if (node->is_out)
			continue;
		if (!node->has_reached && !phases->has_begun)
			return false;
		if (!node->has_reached)
			continue;
		if (!any || (int32_t)(node->reached - *least) < 0)
			*least = node->reached;
		any = true;
	}
	phases->has_begun |= any;
	return any;
}
