// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim/law.h"

#include <math.h>
#include <stdlib.h>

bool sim_times_add(struct sim_times *times, uint64_t ns, double weight)
{
	if (times->n == times->room) {
		const uint32_t room = times->room + times->room / 2 + 64;
		uint64_t *more_ns = realloc(times->ns, room * sizeof(*more_ns));
		double *more_shares;

		if (more_ns == NULL)
			return false;
		times->ns = more_ns;
		more_shares = realloc(times->shares, room * sizeof(*more_shares));
		if (more_shares == NULL)
			return false;
		times->shares = more_shares;
		times->room = room;
	}
	times->ns[times->n] = ns;
	times->shares[times->n++] = weight;
	return true;
}

void sim_times_finish(struct sim_times *times)
{
	double sum = 0, below = 0;

	for (uint32_t i = 0; i < times->n; i++)
		sum += times->shares[i];
	for (uint32_t i = 0; i < times->n; i++) {
		times->mean_ns += (double)times->ns[i] * times->shares[i] / sum;
		below += times->shares[i] / sum;
		times->shares[i] = below;
	}
}

void sim_times_free(struct sim_times *times)
{
	free(times->ns);
	free(times->shares);
	*times = (struct sim_times){ 0 };
}

// The first time whose share is above a random number; rounding can leave the last one below 1.
static uint64_t draw_time(const struct sim_times *times, struct random *random)
{
	const double share = random_uniform(random);
	uint32_t first = 0, last = times->n - 1;

	while (first < last) {
		const uint32_t middle = first + (last - first) / 2;

		if (times->shares[middle] > share)
			last = middle;
		else
			first = middle + 1;
	}
	return times->ns[first];
}

uint64_t sim_law_draw(const struct sim_law *law, struct random *random)
{
	uint64_t ns;

	if (law->kind == SIM_LAW_HISTOGRAM) {
		ns = draw_time(law->times, random);
		if (law->mean_ns == 0 || law->times->mean_ns <= 0)
			return ns;
		return (uint64_t)((double)ns * ((double)law->mean_ns / law->times->mean_ns) + 0.5);
	}
	if (law->kind == SIM_LAW_FIXED || law->mean_ns == 0)
		return law->mean_ns;
	return (uint64_t)((double)law->mean_ns * -log(1 - random_uniform(random)));
}
