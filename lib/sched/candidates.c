// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The choice of the builder for the next grant, by policy and group rule. A builder without blocks
// is ready. A group is recent if one of its builders got one of the last `distance` grants, else
// fresh. The ready builders of a group are in the group's selector. A group with ready builders is
// in the selector of fresh groups or, if it is recent, in the set recent_ready, at the number of
// its last grant.
//
// Instructions per grant, with 4, 64 and 1024 builders (valgrind, tests/perf/sched_cost):
//
//                                            these sets      plain scans
//   round-robin                              377  376  366   546  415   373
//   round-robin, one builder with credits    376  376  381   390  871  8562
//   occupancy                                437  492  544   443  801  6570
//   weighted                                 427  475  491   415  831  7554
//
// Since builders of a port share its link, a grant takes 30 to 40 instructions more. Since a change
// in a ranking does not end early, a grant by occupancy or weight takes 7, 20 and 39 fewer.
//
// For this reason sets and rankings are used. Only the strict turn and the static mode scan the
// builders: they skip only builders that are not live.
#include "sched/sched_internal.h"

#define RING (SET_SIZE - 1) // mask for the number of a grant in `used` and recent_ready

static bool is_recent(const struct sched_candidates *candidates, const struct sched_group *group)
{
	return group->last != 0 && candidates->grants - group->last < candidates->distance;
}

static void rank_builder(struct sched *sched, struct sched_group *group,
			 struct sched_builder *builder)
{
	bool by_slots = sched->parameters.policy == SCHED_OCCUPANCY;

	builder->ranked = builder->free;
	selector_enter(sched->candidates.policy, &group->selector, builder->rank,
		       by_slots ? builder->free : builder->weight);
}

// Puts a group into the sets to which it belongs. It is called when the number of the group's ready
// builders, their ranking, or the group's being recent has changed. A single group is in no set.
static void place_group(struct sched *sched, const struct sched_group *group)
{
	struct sched_candidates *candidates = &sched->candidates;
	bool recent = is_recent(candidates, group), ready = group->n_ready > 0;
	uint32_t index = (uint32_t)(group - candidates->groups);

	if (candidates->n_groups == 1)
		return;
	if (recent && ready)
		set_add(&candidates->recent_ready, (uint32_t)group->last & RING);
	else if (recent)
		set_remove(&candidates->recent_ready, (uint32_t)group->last & RING);
	if (ready && !recent)
		selector_enter(candidates->policy, &candidates->fresh, index,
			       sched->parameters.policy == SCHED_OCCUPANCY
				   ? selector_most_free(&group->selector)
				   : group->weight);
	else if (set_has(candidates->fresh.in, index))
		selector_leave(candidates->policy, &candidates->fresh, index);
}

static bool has_credit(uint32_t blocks)
{
	return (blocks & (SCHED_BLOCKS_LIFE | SCHED_BLOCK_CREDIT)) == 0;
}

static bool is_held(uint32_t blocks)
{
	return blocks == SCHED_BLOCK_ROUND;
}

static void count(struct sched_candidates *candidates, struct sched_group *group,
		  enum candidates_kind kind, int change)
{
	bool had = group->n[kind] > 0;

	group->n[kind] += (uint32_t)change;
	candidates->n[kind] += (uint32_t)change;
	if (!is_recent(candidates, group))
		candidates->n_fresh[kind] += (uint32_t)((group->n[kind] > 0) - had);
}

// The builder's blocks, which were `before`, have changed in its life or its credits. Returns 1 if
// it is live now, and was not; -1 for the reverse.
static int change_credit(struct sched_candidates *candidates, struct sched_group *group,
			 const struct sched_builder *builder, uint32_t before)
{
	const uint32_t blocks = builder->blocks;
	const int live = ((blocks & SCHED_BLOCKS_LIFE) == 0) - ((before & SCHED_BLOCKS_LIFE) == 0);
	const int credit = has_credit(blocks) - has_credit(before);

	group->weight += (uint32_t)(live * (int)builder->weight);
	if (credit != 0)
		count(candidates, group, CANDIDATES_CREDIT, credit);
	return live;
}

void candidates_update(struct sched *sched, struct sched_builder *builder, uint32_t blocks)
{
	struct sched_candidates *candidates = &sched->candidates;
	struct sched_group *group = &candidates->groups[builder->group];
	uint32_t before = builder->blocks;
	int live = 0, held, ready;

	if (before == blocks) {
		if (blocks == 0 && builder->free != builder->ranked &&
		    sched->parameters.policy == SCHED_OCCUPANCY) {
			rank_builder(sched, group, builder);
			place_group(sched, group);
		}
		return;
	}
	held = is_held(blocks) - is_held(before);
	ready = (blocks == 0) - (before == 0);
	builder->blocks = blocks;
	if (((before ^ blocks) & (SCHED_BLOCKS_LIFE | SCHED_BLOCK_CREDIT)) != 0)
		live = change_credit(candidates, group, builder, before);
	if (held != 0)
		count(candidates, group, CANDIDATES_HELD, held);
	if (blocks == 0)
		rank_builder(sched, group, builder);
	else if (before == 0)
		selector_leave(candidates->policy, &group->selector, builder->rank);
	group->n_ready += (uint32_t)ready;
	if (blocks == 0 || before == 0 || live != 0)
		place_group(sched, group);
}

// A group becomes fresh (change 1) or recent (change -1): updates the numbers of fresh groups.
static void freshness_changed(struct sched_candidates *candidates, const struct sched_group *group,
			      int change)
{
	for (unsigned kind = 0; kind < CANDIDATES_KINDS; kind++)
		candidates->n_fresh[kind] += (uint32_t)(group->n[kind] > 0 ? change : 0);
}

uint32_t candidates_used(struct sched *sched, uint32_t index)
{
	struct sched_candidates *candidates = &sched->candidates;
	struct sched_group *group = &candidates->groups[index];
	uint32_t distance = candidates->distance, steps = 0;
	uint64_t number = candidates->grants + 1;

	if (distance == 0) {
		candidates->waits_since = SCHED_NEVER;
		candidates->grants = number;
		return 0;
	}
	if (is_recent(candidates, group)) {
		steps = distance + 1 - (uint32_t)(number - group->last);
		set_remove(&candidates->recent_ready, (uint32_t)group->last & RING);
	} else {
		freshness_changed(candidates, group, -1);
	}
	// While a fresh group is blocked, the rule waits only once, and not again for each grant.
	if (steps == 0 || sched->parameters.strict)
		candidates->waits_since = SCHED_NEVER;
	candidates->grants = number;
	group->last = number;
	candidates->used[number & RING] = (uint16_t)index;
	place_group(sched, group);
	if (number > distance) {
		group = &candidates->groups[candidates->used[(number - distance) & RING]];
		if (group->last == number - distance) {
			set_remove(&candidates->recent_ready, (uint32_t)group->last & RING);
			freshness_changed(candidates, group, 1);
			place_group(sched, group);
		}
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

// Returns the next member of a selector, by the policy, and ends its turn.
static uint32_t take_turn(struct sched *sched, struct selector *selector)
{
	const struct policy *policy = sched->candidates.policy;
	uint32_t item = policy->next(selector);

	if (sched->parameters.policy == SCHED_ROUND_ROBIN)
		sched->counters.skips +=
		    item - selector->cursor +
		    (item < selector->cursor ? selector->end - selector->first : 0);
	selector_passed(policy, selector, item);
	return item;
}

// The recent group with ready builders whose last grant is the oldest.
static uint32_t oldest_recent(const struct sched_candidates *candidates)
{
	uint32_t oldest = (uint32_t)candidates->grants + 1 - candidates->distance;

	return candidates
	    ->used[set_next_around(&candidates->recent_ready, oldest & RING, 0, SET_SIZE)];
}

// The time at which a builder's next turn on its link begins. A builder that had no credits for
// some time gets at most one turn more than the others.
static uint64_t turn_begins(const struct sched_builder *builder)
{
	uint64_t now = builder->link->turn_now;

	return now > builder->turn_at + builder->turn ? now - builder->turn : builder->turn_at;
}

// Of the ready builders of a group that share the port of `first`, returns the one whose turn on
// the link is next, and ends this turn. While the rate of the port allows only some grants, the
// policy would choose the same builder each time that the rate allows the next grant.
static struct sched_builder *turn_on_link(struct sched_builder *first)
{
	struct sched_builder *next = first->next_on_link, *chosen = first;
	uint64_t begins;

	for (; next != first; next = next->next_on_link)
		if (next->blocks == 0 && next->group == first->group &&
		    turn_begins(next) < turn_begins(chosen))
			chosen = next;
	begins = turn_begins(chosen);
	chosen->turn_at = begins + chosen->turn;
	if (begins > chosen->link->turn_now)
		chosen->link->turn_now = begins;
	return chosen;
}

static enum candidates_verdict choose_by_policy(struct sched *sched, struct sched_builder **builder)
{
	struct sched_candidates *candidates = &sched->candidates;
	struct sched_group *group = candidates->groups;
	bool recent_ready = !set_is_empty(&candidates->recent_ready);

	if (candidates->n_groups == 1 && group->n_ready > 0) {
		// There is only one group, and it has ready builders.
	} else if (!set_is_empty(&candidates->fresh_ready)) {
		group += take_turn(sched, &candidates->fresh);
	} else if (candidates->n_fresh[CANDIDATES_HELD] > 0) {
		return CANDIDATES_NEXT_ROUND;
	} else if (recent_ready || candidates->n[CANDIDATES_HELD] > 0) {
		if (candidates->n_fresh[CANDIDATES_CREDIT] > 0 && !has_waited(sched))
			return CANDIDATES_WAIT;
		if (candidates->n_fresh[CANDIDATES_CREDIT] == 0 && !sched->parameters.strict)
			candidates->waits_since = SCHED_NEVER;
		if (!recent_ready)
			return CANDIDATES_NEXT_ROUND;
		group += oldest_recent(candidates);
		selector_passed(candidates->policy, &candidates->fresh,
				(uint32_t)(group - candidates->groups));
	} else {
		return candidates->n[CANDIDATES_CREDIT] > 0 ? CANDIDATES_BLOCKED
							    : CANDIDATES_NO_CREDIT;
	}
	*builder = &sched->builders[candidates->by_rank[take_turn(sched, &group->selector)]];
	if (sched_shares_link(*builder) && (sched->parameters.policy == SCHED_ROUND_ROBIN ||
					    sched->parameters.policy == SCHED_WEIGHTED))
		*builder = turn_on_link(*builder);
	return CANDIDATES_FOUND;
}

static bool is_live(const struct sched_builder *builder)
{
	return (builder->blocks & SCHED_BLOCKS_LIFE) == 0;
}

// The first live builder of a group from the cursor on; NULL if there is none.
static struct sched_builder *builder_in_turn(struct sched *sched, const struct sched_group *group)
{
	const struct selector *selector = &group->selector;

	for (uint32_t i = 0, rank = selector->cursor; i < selector->end - selector->first; i++) {
		uint32_t index = sched->candidates.by_rank[rank];

		if (is_live(&sched->builders[index]))
			return &sched->builders[index];
		rank = rank + 1 < selector->end ? rank + 1 : selector->first;
	}
	return NULL;
}

// The live builder whose turn it is; NULL if no builder is live.
static struct sched_builder *turn_of(struct sched *sched)
{
	const struct sched_candidates *candidates = &sched->candidates;
	struct sched_builder *builder = NULL;

	for (uint32_t i = 0; builder == NULL && i < candidates->n_groups; i++) {
		uint32_t group = (candidates->fresh.cursor + i) % candidates->n_groups;

		builder = builder_in_turn(sched, &candidates->groups[group]);
	}
	return builder;
}

// Chooses the live builder whose turn it is. Another builder is chosen only after the turn has
// lasted for relax_after_ns.
static enum candidates_verdict choose_strictly(struct sched *sched, struct sched_builder **builder)
{
	struct sched_candidates *candidates = &sched->candidates;
	struct sched_builder *turn = turn_of(sched);
	enum candidates_verdict verdict;
	struct sched_group *group;

	if (turn == NULL)
		return CANDIDATES_NO_CREDIT;
	group = &candidates->groups[turn->group];
	if (is_held(turn->blocks))
		return CANDIDATES_NEXT_ROUND;
	if (turn->blocks == 0 &&
	    (!is_recent(candidates, group) || candidates->n_fresh[CANDIDATES_CREDIT] == 0)) {
		if (candidates->n_groups > 1)
			selector_passed(candidates->policy, &candidates->fresh, turn->group);
		selector_passed(candidates->policy, &group->selector, turn->rank);
		*builder = turn;
		return CANDIDATES_FOUND;
	}
	if (!has_waited(sched))
		return candidates->n[CANDIDATES_CREDIT] > 0 ? CANDIDATES_WAIT
							    : CANDIDATES_NO_CREDIT;
	verdict = choose_by_policy(sched, builder);
	sched->counters.strict_timeouts += verdict == CANDIDATES_FOUND;
	return verdict;
}

// The static mode: chooses the builder with the number event mod n_builders, or the next builder
// that is not excluded.
static enum candidates_verdict choose_by_formula(struct sched *sched, uint64_t event,
						 struct sched_builder **builder)
{
	uint32_t n = sched->parameters.n_builders, index = (uint32_t)(event % n), i = 0;

	while (i < n && (sched->builders[index].blocks & SCHED_BLOCK_EXCLUDED) != 0) {
		index = index + 1 < n ? index + 1 : 0;
		i++;
	}
	*builder = &sched->builders[index];
	if ((*builder)->blocks == 0)
		return CANDIDATES_FOUND;
	if (is_held((*builder)->blocks))
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
