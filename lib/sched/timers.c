// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A binary heap of the builders that wait for their token buckets.
#include "sched/sched_internal.h"

void timers_layout(struct sched *sched, struct carver *carver)
{
	sched->timers.heap =
	    carve(carver, sched->parameters.n_builders, sizeof(*sched->timers.heap));
}

void timers_add(struct sched *sched, uint32_t builder)
{
	struct sched_timers *timers = &sched->timers;
	uint32_t i = timers->n++;

	while (i > 0) {
		uint32_t parent = timers->heap[(i - 1) / 2];

		if (sched->builders[parent].next_ns <= sched->builders[builder].next_ns)
			break;
		timers->heap[i] = parent;
		i = (i - 1) / 2;
	}
	timers->heap[i] = builder;
}

uint32_t timers_expired(struct sched *sched)
{
	struct sched_timers *timers = &sched->timers;
	const struct sched_builder *builders = sched->builders;
	uint32_t first, last, i = 0;

	if (timers->n == 0 || builders[timers->heap[0]].next_ns > sched->now)
		return SCHED_NONE;
	first = timers->heap[0];
	last = timers->heap[--timers->n];
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= timers->n)
			break;
		if (child + 1 < timers->n && builders[timers->heap[child + 1]].next_ns <
						 builders[timers->heap[child]].next_ns)
			child++;
		if (builders[last].next_ns <= builders[timers->heap[child]].next_ns)
			break;
		timers->heap[i] = timers->heap[child];
		i = child;
	}
	timers->heap[i] = last;
	return first;
}
