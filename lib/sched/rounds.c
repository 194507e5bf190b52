// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Rounds. A round has n_positions positions and the same number of phases. Each port has one of the
// positions, the same in each round: the order in which builders of ports become ready, as after a
// pause, does not change the order in which nodes send to them. As events and credits arrive,
// builders get the positions of their ports. A round ends when all its positions are used, or
// earlier if only builders of ports that already have a position could get a grant.
#include "sched/sched_internal.h"

static bool may_begin(const struct sched *sched)
{
	return !sched->parameters.barrier || sched->rounds.outstanding == 0;
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
	return true;
}

bool rounds_ready(struct sched *sched)
{
	const struct sched_rounds *rounds = &sched->rounds;

	if (!rounds->used)
		return true;
	if (rounds->open && rounds->position < rounds->n_positions)
		return true;
	return rounds_advance(sched);
}

uint32_t rounds_take(struct sched *sched, uint32_t builder, struct sched_grant *grant)
{
	struct sched_rounds *rounds = &sched->rounds;

	grant->n_positions = rounds->n_positions;
	if (!rounds->used) {
		grant->round = sched->counters.grants;
		grant->position = 0;
		return 0;
	}
	if (rounds->position == 0)
		rounds->number = sched->counters.rounds++;
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
