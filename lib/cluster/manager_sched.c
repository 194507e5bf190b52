// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Creates the scheduler from the manager's parameters and the system.
#include "cluster/manager_internal.h"

#include <stdio.h>
#include <stdlib.h>

// The longest delay of the manager that costs no rate: after the delay the missed grants are sent
// at once. The events stay in the sources until they may be sent, so no link is overloaded.
#define BURST_NS 5000000u

// The builder's congestion group, renumbered so that the groups in use have the numbers from 0
// without gaps.
static uint32_t dense_group(const struct cluster_system *cluster, unsigned builder)
{
	uint32_t group = 0;

	for (unsigned i = 0; i < builder; i++) {
		bool first = true;

		if (cluster->builders[i].group == cluster->builders[builder].group)
			return dense_group(cluster, i);
		for (unsigned j = 0; j < i && first; j++)
			first = cluster->builders[j].group != cluster->builders[i].group;
		group += first;
	}
	return group;
}

static uint32_t smallest_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

struct sched *manager_make_sched(const struct cluster_manager *manager, uint64_t first_event,
				 char *error)
{
	const struct cluster_parameters *shared = &manager->parameters.cluster;
	const struct cluster_system *cluster = manager->cluster;
	struct sched_parameters parameters = manager->parameters.sched;
	struct sched_builder_parameters *builders = calloc(cluster->n_builders, sizeof(*builders));
	struct sched *sched = NULL;
	char cause[SCHED_ERROR_SIZE] = "out of memory";

	for (unsigned i = 0; builders != NULL && i < cluster->n_builders; i++) {
		const struct cluster_system_builder *builder = &cluster->builders[i];

		builders[i] = (struct sched_builder_parameters){
			.slots = builder->slots,
			.group = dense_group(cluster, i),
			.weight = smallest_of(builder->weight, SCHED_MAX_WEIGHT),
			.link_rate = cluster->nodes[builder->node].link_rate / 8,
			.window = manager->parameters.window,
		};
	}
	parameters.mode = shared->mode;
	parameters.shaping = shared->shaping;
	parameters.parallel_sends = shared->parallel_sends;
	parameters.burst_ns = BURST_NS;
	parameters.builders = builders;
	parameters.n_builders = cluster->n_builders;
	// In static mode no node may have a source; the scheduler needs at least one.
	parameters.n_sources = manager->readouts.n > 0 ? manager->readouts.n : 1;
	parameters.first_event = first_event;
	parameters.unfinished = cluster_unfinished(shared->source_buffer);
	if (builders == NULL || sched_create(&sched, &parameters, cause) != 0)
		snprintf(error, CLUSTER_ERROR_SIZE, "event manager: %.230s", cause);
	free(builders);
	return sched;
}
