// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A tournament: each node holds the least of the two below, excluded sources count as infinite.
#include "sched/sched_internal.h"

void sources_layout(struct sched *sched, struct carver *carver)
{
	struct sched_sources *sources = &sched->sources;

	sources->n = sched->parameters.n_sources;
	sources->leaves = 1;
	while (sources->leaves < sources->n)
		sources->leaves *= 2;
	sources->announced = carve(carver, sources->n, sizeof(*sources->announced));
	sources->least = carve(carver, 2 * (size_t)sources->leaves, sizeof(*sources->least));
	sources->excluded = carve(carver, sources->n, sizeof(*sources->excluded));
	if (carver->memory == NULL)
		return;
	for (uint32_t i = 0; i < sources->leaves; i++) {
		if (i < sources->n)
			sources->announced[i] = sched->parameters.first_event;
		sources->least[sources->leaves + i] =
		    i < sources->n ? sched->parameters.first_event : SCHED_NEVER;
	}
	for (uint32_t i = sources->leaves; i-- > 1;) {
		uint64_t left = sources->least[2 * i], right = sources->least[2 * i + 1];

		sources->least[i] = left < right ? left : right;
	}
}

static void set_leaf(struct sched_sources *sources, uint32_t source, uint64_t value)
{
	uint32_t i = sources->leaves + source;

	sources->least[i] = value;
	while (i > 1) {
		uint64_t other = sources->least[i ^ 1];

		if (other < value)
			value = other;
		i /= 2;
		if (sources->least[i] == value)
			return;
		sources->least[i] = value;
	}
}

uint64_t sources_least(const struct sched *sched)
{
	return sched->sources.least[1];
}

enum sched_result sources_announce(struct sched *sched, uint32_t source, uint64_t up_to)
{
	struct sched_sources *sources = &sched->sources;

	if (source >= sources->n || up_to > INT64_MAX)
		return SCHED_UNKNOWN;
	if (up_to == sources->announced[source])
		return SCHED_DUPLICATE;
	if (up_to < sources->announced[source])
		return SCHED_STALE;
	sources->announced[source] = up_to;
	if (!sources->excluded[source])
		set_leaf(sources, source, up_to);
	return SCHED_OK;
}

void sources_exclude(struct sched *sched, uint32_t source, bool excluded)
{
	struct sched_sources *sources = &sched->sources;

	if (source >= sources->n)
		return;
	sources->excluded[source] = excluded;
	set_leaf(sources, source, excluded ? SCHED_NEVER : sources->announced[source]);
}
