// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which builders can be granted. Of each builder its blocks are known; of each group how many of
// its builders are live, have a credit, are held by the round, and are ready. The ready builders of
// a group are in its selector. A group with ready builders is in the selector of fresh groups, or,
// if it was used within the last `distance` grants, in the bitmap of recent ones, in the order of
// their last grants.
#include "sched/sched_internal.h"

static bool is_recent(const struct sched_candidates *candidates, const struct sched_group *group)
{
	return group->last != 0 && candidates->grants - group->last < candidates->distance;
}

static uint32_t builder_key(const struct sched *sched, const struct sched_builder *builder)
{
	return sched->parameters.policy == SCHED_OCCUPANCY ? builder->free : builder->weight;
}

static uint32_t group_key(const struct sched *sched, const struct sched_group *group)
{
	return sched->parameters.policy == SCHED_OCCUPANCY ? policy_occupancy_top(&group->selector)
							   : group->weight;
}

// With a single group there is no choice, and no rule.
static bool has_choice(const struct sched_candidates *candidates)
{
	return candidates->n_groups > 1;
}

// A group, not recent, has ready builders.
static void enter_fresh(struct sched *sched, struct sched_group *group)
{
	struct sched_candidates *candidates = &sched->candidates;

	candidates->n_fresh++;
	if (has_choice(candidates))
		candidates->policy->enter(&candidates->fresh,
					  (uint32_t)(group - candidates->groups),
					  group_key(sched, group));
}

static void leave_fresh(struct sched *sched, const struct sched_group *group)
{
	struct sched_candidates *candidates = &sched->candidates;

	candidates->n_fresh--;
	if (has_choice(candidates))
		candidates->policy->leave(&candidates->fresh,
					  (uint32_t)(group - candidates->groups));
}

// The key of a group with ready builders may have changed.
static void rekey_group(struct sched *sched, const struct sched_group *group)
{
	struct sched_candidates *candidates = &sched->candidates;

	if (has_choice(candidates) && !is_recent(candidates, group))
		candidates->policy->rekey(&candidates->fresh,
					  (uint32_t)(group - candidates->groups),
					  group_key(sched, group));
}

static void live_changed(struct sched *sched, struct sched_group *group,
			 const struct sched_builder *builder, bool live)
{
	struct sched_candidates *candidates = &sched->candidates;
	uint32_t index = (uint32_t)(group - candidates->groups);

	if (live) {
		bitmap_set(&group->live, builder->item);
		bitmap_set(&candidates->live, index);
		group->n_live++;
		group->weight += builder->weight;
	} else {
		bitmap_clear(&group->live, builder->item);
		group->weight -= builder->weight;
		if (--group->n_live == 0)
			bitmap_clear(&candidates->live, index);
	}
	// Without live builders its last ready one is about to leave.
	if (group->n_ready > 0 && group->n_live > 0)
		rekey_group(sched, group);
}

static void credit_changed(struct sched *sched, struct sched_group *group, bool credit)
{
	struct sched_candidates *candidates = &sched->candidates;
	bool fresh = !is_recent(candidates, group);

	if (credit) {
		candidates->n_credit++;
		if (group->n_credit++ == 0 && fresh)
			candidates->n_fresh_credit++;
	} else {
		candidates->n_credit--;
		if (--group->n_credit == 0 && fresh)
			candidates->n_fresh_credit--;
	}
}

static void held_changed(struct sched *sched, struct sched_group *group, bool held)
{
	struct sched_candidates *candidates = &sched->candidates;
	bool fresh = !is_recent(candidates, group);

	if (held) {
		candidates->n_held++;
		if (group->n_held++ == 0 && fresh)
			candidates->n_fresh_held++;
	} else {
		candidates->n_held--;
		if (--group->n_held == 0 && fresh)
			candidates->n_fresh_held--;
	}
}

static void ready_changed(struct sched *sched, struct sched_group *group,
			  const struct sched_builder *builder, bool ready)
{
	struct sched_candidates *candidates = &sched->candidates;
	bool recent = is_recent(candidates, group);

	if (ready) {
		candidates->policy->enter(&group->selector, builder->item,
					  builder_key(sched, builder));
		if (group->n_ready++ > 0)
			rekey_group(sched, group);
		else if (recent)
			bitmap_set(&candidates->recent_ready,
				   (uint32_t)group->last & candidates->used_mask);
		else
			enter_fresh(sched, group);
	} else {
		candidates->policy->leave(&group->selector, builder->item);
		if (--group->n_ready > 0)
			rekey_group(sched, group);
		else if (recent)
			bitmap_clear(&candidates->recent_ready,
				     (uint32_t)group->last & candidates->used_mask);
		else
			leave_fresh(sched, group);
	}
}

static bool has_credit(uint32_t blocks)
{
	return (blocks & (SCHED_BLOCKS_LIFE | SCHED_BLOCK_CREDIT)) == 0;
}

void candidates_block(struct sched *sched, struct sched_builder *builder, uint32_t blocks)
{
	struct sched_group *group = &sched->candidates.groups[builder->group];
	uint32_t before = builder->blocks;

	if (before == blocks)
		return;
	builder->blocks = blocks;
	if (((before & SCHED_BLOCKS_LIFE) == 0) != ((blocks & SCHED_BLOCKS_LIFE) == 0))
		live_changed(sched, group, builder, (blocks & SCHED_BLOCKS_LIFE) == 0);
	if (has_credit(before) != has_credit(blocks))
		credit_changed(sched, group, has_credit(blocks));
	if ((before == SCHED_BLOCK_ROUND) != (blocks == SCHED_BLOCK_ROUND))
		held_changed(sched, group, blocks == SCHED_BLOCK_ROUND);
	if ((before == 0) != (blocks == 0))
		ready_changed(sched, group, builder, blocks == 0);
}

void candidates_free_changed(struct sched *sched, struct sched_builder *builder)
{
	struct sched_candidates *candidates = &sched->candidates;
	struct sched_group *group = &candidates->groups[builder->group];
	uint32_t blocks = builder->blocks & ~(uint32_t)SCHED_BLOCK_CREDIT;

	if (builder->free == 0)
		blocks |= SCHED_BLOCK_CREDIT;
	if (blocks != builder->blocks) {
		candidates_block(sched, builder, blocks);
	} else if (blocks == 0) {
		candidates->policy->rekey(&group->selector, builder->item,
					  builder_key(sched, builder));
		rekey_group(sched, group);
	}
}

// A recent group becomes fresh, or the other way round.
static void freshness_changed(struct sched *sched, struct sched_group *group, bool fresh)
{
	struct sched_candidates *candidates = &sched->candidates;
	uint32_t place = (uint32_t)group->last & candidates->used_mask;

	if (fresh) {
		candidates->n_fresh_credit += group->n_credit > 0;
		candidates->n_fresh_held += group->n_held > 0;
		if (group->n_ready > 0) {
			bitmap_clear(&candidates->recent_ready, place);
			enter_fresh(sched, group);
		}
	} else {
		candidates->n_fresh_credit -= group->n_credit > 0;
		candidates->n_fresh_held -= group->n_held > 0;
		if (group->n_ready > 0)
			leave_fresh(sched, group);
	}
}

uint32_t candidates_used(struct sched *sched, uint32_t index)
{
	struct sched_candidates *candidates = &sched->candidates;
	struct sched_group *group = &candidates->groups[index];
	uint32_t distance = candidates->distance, mask = candidates->used_mask;
	uint64_t number = candidates->grants + 1;
	uint32_t steps = 0;

	if (distance == 0) {
		candidates->waits_since = SCHED_NEVER;
		candidates->grants = number;
		return 0;
	}
	if (is_recent(candidates, group)) {
		steps = distance + 1 - (uint32_t)(number - group->last);
		bitmap_clear(&candidates->recent_ready, (uint32_t)group->last & mask);
	} else {
		freshness_changed(sched, group, false);
	}
	// The rule waits once, not again for each grant, while a group is blocked.
	if (steps == 0 || sched->parameters.strict)
		candidates->waits_since = SCHED_NEVER;
	candidates->grants = number;
	group->last = number;
	candidates->used[number & mask] = index;
	if (group->n_ready > 0)
		bitmap_set(&candidates->recent_ready, (uint32_t)number & mask);
	if (number > distance) {
		group = &candidates->groups[candidates->used[(number - distance) & mask]];
		if (group->last == number - distance)
			freshness_changed(sched, group, true);
	}
	return steps;
}

static bool has_waited(struct sched *sched)
{
	struct sched_candidates *candidates = &sched->candidates;

	if (candidates->waits_since == SCHED_NEVER)
		candidates->waits_since = sched->now;
	return sched->now - candidates->waits_since >= sched->parameters.relax_after_ns;
}

// The next of a selector's items.
static uint32_t take_turn(struct sched *sched, struct selector *selector)
{
	uint64_t skips = selector->in_turn.skips;
	uint32_t item = sched->candidates.policy->choose(selector);

	if (sched->parameters.policy == SCHED_ROUND_ROBIN)
		sched->counters.skips += selector->in_turn.skips - skips;
	return item;
}

static enum candidates_verdict choose_by_policy(struct sched *sched, struct sched_builder **builder)
{
	struct sched_candidates *candidates = &sched->candidates;
	struct sched_group *group = candidates->groups;

	if (candidates->n_fresh > 0) {
		if (has_choice(candidates))
			group += take_turn(sched, &candidates->fresh);
	} else if (candidates->n_fresh_held > 0) {
		return CANDIDATES_NEXT_ROUND;
	} else if (!bitmap_empty(&candidates->recent_ready) || candidates->n_held > 0) {
		uint32_t oldest = (uint32_t)candidates->grants + 1 - candidates->distance;

		if (candidates->n_fresh_credit > 0 && !has_waited(sched))
			return CANDIDATES_WAIT;
		if (candidates->n_fresh_credit == 0 && !sched->parameters.strict)
			candidates->waits_since = SCHED_NEVER;
		if (bitmap_empty(&candidates->recent_ready))
			return CANDIDATES_NEXT_ROUND;
		oldest =
		    bitmap_next_around(&candidates->recent_ready, oldest & candidates->used_mask);
		group += candidates->used[oldest];
		candidates->policy->passed(&candidates->fresh, candidates->used[oldest]);
	} else {
		return candidates->n_credit > 0 ? CANDIDATES_BLOCKED : CANDIDATES_NO_CREDIT;
	}
	*builder = &sched->builders[group->builders[take_turn(sched, &group->selector)]];
	return CANDIDATES_FOUND;
}

// The live builder whose turn it is, and no other, until it has been waited for long enough.
static enum candidates_verdict choose_strictly(struct sched *sched, struct sched_builder **builder)
{
	struct sched_candidates *candidates = &sched->candidates;
	struct sched_group *group = candidates->groups;
	enum candidates_verdict verdict;
	uint32_t item;

	if (bitmap_empty(&candidates->live))
		return CANDIDATES_NO_CREDIT;
	if (has_choice(candidates))
		group += bitmap_next_around(&candidates->live, candidates->fresh.in_turn.cursor);
	item = bitmap_next_around(&group->live, group->selector.in_turn.cursor);
	*builder = &sched->builders[group->builders[item]];
	if ((*builder)->blocks == SCHED_BLOCK_ROUND)
		return CANDIDATES_NEXT_ROUND;
	if ((*builder)->blocks == 0 &&
	    (!is_recent(candidates, group) || candidates->n_fresh_credit == 0)) {
		if (has_choice(candidates))
			candidates->policy->passed(&candidates->fresh,
						   (uint32_t)(group - candidates->groups));
		candidates->policy->passed(&group->selector, item);
		return CANDIDATES_FOUND;
	}
	if (!has_waited(sched))
		return candidates->n_credit > 0 ? CANDIDATES_WAIT : CANDIDATES_NO_CREDIT;
	verdict = choose_by_policy(sched, builder);
	sched->counters.strict_timeouts += verdict == CANDIDATES_FOUND;
	return verdict;
}

static enum candidates_verdict choose_by_formula(struct sched *sched, uint64_t event,
						 struct sched_builder **builder)
{
	uint32_t index = sched_static_builder(sched, event);

	if (index == SCHED_MAX_BUILDERS)
		return CANDIDATES_NO_CREDIT;
	*builder = &sched->builders[index];
	if ((*builder)->blocks == 0)
		return CANDIDATES_FOUND;
	if ((*builder)->blocks == SCHED_BLOCK_ROUND)
		return CANDIDATES_NEXT_ROUND;
	return has_credit((*builder)->blocks) ? CANDIDATES_BLOCKED : CANDIDATES_NO_CREDIT;
}

enum candidates_verdict candidates_choose(struct sched *sched, uint64_t event,
					  struct sched_builder **builder)
{
	if (sched->parameters.mode == SCHED_STATIC)
		return choose_by_formula(sched, event, builder);
	if (sched->parameters.strict)
		return choose_strictly(sched, builder);
	return choose_by_policy(sched, builder);
}
