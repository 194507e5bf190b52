// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Memory of the candidates: the groups that builders name, or a single one if there is no rule.
#include "sched/sched_internal.h"

static const struct policy *const policies[] = {
	[SCHED_ROUND_ROBIN] = &policy_round_robin,
	[SCHED_OCCUPANCY] = &policy_occupancy,
	[SCHED_WEIGHTED] = &policy_weighted,
	[SCHED_RANDOM] = &policy_random,
};

// Dense index of each group that is named; returns how many there are.
static uint32_t index_groups(const struct sched_parameters *parameters,
			     const struct sched_builder_parameters *builders, uint32_t *indices)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SCHED_MAX_BUILDERS; i++)
		indices[i] = SCHED_NONE;
	for (uint32_t i = 0; i < parameters->n_builders; i++) {
		if (indices[builders[i].group] == SCHED_NONE)
			indices[builders[i].group] = n++;
	}
	return n;
}

static uint32_t rule_distance(const struct sched_parameters *parameters, uint32_t n_groups)
{
	if (parameters->mode == SCHED_STATIC)
		return 0;
	if (parameters->distance != SCHED_DISTANCE_AUTO)
		return parameters->distance;
	return n_groups - 1 < parameters->n_sources ? n_groups - 1 : parameters->n_sources;
}

static void layout_group(struct sched *sched, struct carver *carver, struct sched_group *group,
			 uint32_t n_items, uint32_t most_slots, uint64_t seed)
{
	const struct policy *policy = sched->candidates.policy;

	group->selector.n_items = n_items;
	group->builders = carve(carver, n_items, sizeof(*group->builders));
	bitmap_layout(&group->live, carver, n_items);
	policy->layout(&group->selector, carver, most_slots);
	if (carver->memory != NULL)
		policy->start(&group->selector, seed);
}

void candidates_layout(struct sched *sched, struct carver *carver,
		       const struct sched_builder_parameters *builders)
{
	const struct sched_parameters *parameters = &sched->parameters;
	struct sched_candidates *candidates = &sched->candidates;
	struct sched_group measured = { 0 };
	uint32_t indices[SCHED_MAX_BUILDERS], n_items[SCHED_MAX_BUILDERS] = { 0 };
	uint32_t most_slots[SCHED_MAX_BUILDERS] = { 0 }, most = 0, n_used = 1;

	candidates->policy = policies[parameters->policy];
	candidates->n_groups = index_groups(parameters, builders, indices);
	candidates->distance = rule_distance(parameters, candidates->n_groups);
	candidates->waits_since = SCHED_NEVER;
	if (candidates->distance == 0)
		candidates->n_groups = 1;
	for (uint32_t i = 0; i < parameters->n_builders; i++) {
		uint32_t group = candidates->distance > 0 ? indices[builders[i].group] : 0;

		if (carver->memory != NULL) {
			sched->builders[i].group = group;
			sched->builders[i].item = n_items[group];
			sched->builders[i].weight = builders[i].weight;
			sched->builders[i].blocks = SCHED_BLOCK_ABSENT | SCHED_BLOCK_CREDIT;
		}
		n_items[group]++;
		if (builders[i].slots > most_slots[group])
			most_slots[group] = builders[i].slots;
		if (builders[i].slots > most)
			most = builders[i].slots;
	}

	candidates->groups = carve(carver, candidates->n_groups, sizeof(*candidates->groups));
	for (uint32_t i = 0; i < candidates->n_groups; i++)
		layout_group(sched, carver,
			     carver->memory != NULL ? &candidates->groups[i] : &measured,
			     n_items[i], most_slots[i], parameters->seed + i + 1);
	candidates->fresh.n_items = candidates->n_groups;
	candidates->policy->layout(&candidates->fresh, carver, most);
	bitmap_layout(&candidates->live, carver, candidates->n_groups);
	while (n_used <= candidates->distance)
		n_used *= 2;
	candidates->used = carve(carver, n_used, sizeof(*candidates->used));
	candidates->used_mask = n_used - 1;
	bitmap_layout(&candidates->recent_ready, carver, n_used);
	bitmap_layout(&candidates->included, carver, parameters->n_builders);
	if (carver->memory == NULL)
		return;
	candidates->policy->start(&candidates->fresh, parameters->seed);
	for (uint32_t i = 0; i < parameters->n_builders; i++) {
		const struct sched_builder *builder = &sched->builders[i];

		candidates->groups[builder->group].builders[builder->item] = i;
		bitmap_set(&candidates->included, i);
	}
}
