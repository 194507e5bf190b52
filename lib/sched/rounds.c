// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Rounds. A round has n_positions positions and the same number of phases. Each port has one of the
// positions, the same in each round: the order in which builders of ports become ready, as after a
// pause, does not change the order in which nodes send to them. As events and credits arrive,
// builders get the positions of their ports. A round ends when all its positions are used, or
// earlier if only builders of ports that already have a position could get a grant. With the timed
// shift, phase 0 of a round begins at a multiple of the phase's length. The positions of the round
// are given before this time; after it, the positions of the next round are given.
#include "sched/sched_internal.h"

static bool may_begin(const struct sched *sched)
{
	const struct sched_rounds *rounds = &sched->rounds;

	if (sched->parameters.barrier && rounds->outstanding > 0)
		return false;
	return rounds->phase_ns == 0 || sched->now >= rounds->starts_ns;
}

bool rounds_advance(struct sched *sched)
{
	struct sched_rounds *rounds = &sched->rounds;

	if (rounds->open && !may_begin(sched))
		return false;
	if (rounds->position > 0)
		sched->counters.empty_positions += rounds->n_positions - rounds->position;
	for (uint32_t i = 0; i < rounds->n_members; i++) {
		struct sched_builder *builder = &sched->builders[rounds->members[i]];

		candidates_update(sched, builder, builder->blocks & ~(uint32_t)SCHED_BLOCK_ROUND);
		sched_update_others(sched, builder);
	}
	rounds->open = true;
	rounds->n_members = 0;
	rounds->position = 0;
	rounds->outstanding = 0;
	if (rounds->phase_ns > 0) {
		uint64_t earliest = sched->now > rounds->ends_ns ? sched->now : rounds->ends_ns;

		rounds->starts_ns =
		    (earliest + rounds->phase_ns - 1) / rounds->phase_ns * rounds->phase_ns;
	}
	return true;
}

bool rounds_ready(struct sched *sched)
{
	const struct sched_rounds *rounds = &sched->rounds;

	if (!rounds->used)
		return true;
	if (rounds->open && rounds->position < rounds->n_positions &&
	    (rounds->phase_ns == 0 || sched->now <= rounds->starts_ns))
		return true;
	return rounds_advance(sched);
}

uint32_t rounds_take(struct sched *sched, uint32_t builder, struct sched_grant *grant)
{
	struct sched_rounds *rounds = &sched->rounds;

	grant->n_positions = rounds->n_positions;
	grant->starts_ns = sched->now;
	if (!rounds->used) {
		grant->round = sched->counters.grants;
		grant->position = 0;
		return 0;
	}
	if (rounds->position == 0) {
		rounds->number = sched->counters.rounds++;
		rounds->ends_ns = rounds->starts_ns + rounds->n_positions * rounds->phase_ns;
	}
	if (rounds->phase_ns > 0)
		grant->starts_ns = rounds->starts_ns;
	grant->round = rounds->number;
	grant->position = (uint32_t)(sched->builders[builder].link - sched->links);
	rounds->position++;
	rounds->outstanding++;
	rounds->members[rounds->n_members++] = builder;
	return SCHED_BLOCK_ROUND;
}

void rounds_leave(struct sched *sched, uint64_t round)
{
	struct sched_rounds *rounds = &sched->rounds;

	if (rounds->used && rounds->open && round == rounds->number && rounds->outstanding > 0)
		rounds->outstanding--;
}
