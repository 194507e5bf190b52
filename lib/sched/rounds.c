// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A round has n_positions positions and as many phases. Positions are taken one after the other, by
// distinct builders, as events and credits come; a round ends when it is full, or earlier if only
// builders that have a position could be granted. On the clock a round begins at a multiple of the
// phase's length; it takes positions until then, and the next one is prepared once it has begun.
#include "sched/sched_internal.h"

void rounds_layout(struct sched *sched, struct carver *carver)
{
	const struct sched_parameters *parameters = &sched->parameters;
	struct sched_rounds *rounds = &sched->rounds;

	rounds->used = parameters->shaping != SCHED_ALL_AT_ONCE;
	rounds->n_positions = 1;
	if (rounds->used)
		rounds->n_positions = parameters->n_builders > parameters->n_sources
					  ? parameters->n_builders
					  : parameters->n_sources;
	if (parameters->shaping == SCHED_TIMED_SHIFT)
		rounds->phase_ns = parameters->send_window_ns + parameters->idle_window_ns;
	rounds->members = carve(carver, rounds->n_positions, sizeof(*rounds->members));
}

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

		candidates_block(sched, builder, builder->blocks & ~(uint32_t)SCHED_BLOCK_ROUND);
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

bool rounds_take(struct sched *sched, uint32_t builder, struct sched_grant *grant)
{
	struct sched_rounds *rounds = &sched->rounds;

	grant->n_positions = rounds->n_positions;
	grant->starts_ns = sched->now;
	if (!rounds->used) {
		grant->round = sched->counters.grants;
		grant->position = 0;
		return false;
	}
	if (rounds->position == 0) {
		rounds->number = sched->counters.rounds++;
		rounds->ends_ns = rounds->starts_ns + rounds->n_positions * rounds->phase_ns;
	}
	if (rounds->phase_ns > 0)
		grant->starts_ns = rounds->starts_ns;
	grant->round = rounds->number;
	grant->position = rounds->position;
	rounds->position++;
	rounds->outstanding++;
	rounds->members[rounds->n_members++] = builder;
	return true;
}

void rounds_leave(struct sched *sched, uint64_t round)
{
	struct sched_rounds *rounds = &sched->rounds;

	if (rounds->used && rounds->open && round == rounds->number && rounds->outstanding > 0)
		rounds->outstanding--;
}
