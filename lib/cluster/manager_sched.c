// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Derives the scheduler's parameters from those of the manager and the system.
#include <stdlib.h>

#include "cluster/manager_internal.h"

// The longest delay of the manager that costs no rate: after the delay the missed grants are sent
// at once. The events stay in the sources until they may be sent, so no link is overloaded.
#define BURST_NS 5000000u

struct member {
	uint32_t group;
	uint16_t builder;
};

static int by_group(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (int)a->builder - (int)b->builder;
}

// Writes the first builder of the congestion group of each builder to first[n_builders].
static void find_first(const struct cluster_system *cluster, uint16_t *first)
{
	struct member members[EVB_MAX_SYSTEM_BUILDERS] = { 0 };

	for (unsigned i = 0; i < cluster->n_builders; i++)
		members[i] = (struct member){ cluster->builders[i].group, (uint16_t)i };
	qsort(members, cluster->n_builders, sizeof(members[0]), by_group);
	for (unsigned i = 0; i < cluster->n_builders; i++) {
		const bool follows = i > 0 && members[i].group == members[i - 1].group;

		first[members[i].builder] =
		    follows ? first[members[i - 1].builder] : members[i].builder;
	}
}

// The rate of a link in bytes/s; 0: unknown. `reported`: what the builders have reported, by their
// number; NULL: nothing yet.
static uint64_t rate_of(const struct cluster_link *link, const struct manager_builder *reported)
{
	if (!link->is_reported || reported == NULL)
		return link->rate / 8;
	return manager_link_rate(reported[link->first_builder].link_mbps);
}

// Fills builders[EVB_MAX_SYSTEM_BUILDERS]. Their congestion groups are renumbered, so that the
// groups in use have the numbers from 0 without gaps.
static void make_builders(const struct cluster_manager_parameters *manager,
			  const struct manager_builder *reported,
			  struct sched_builder_parameters *builders)
{
	const struct cluster_system *cluster = manager->cluster.system;
	uint16_t first[EVB_MAX_SYSTEM_BUILDERS];
	uint32_t n_groups = 0;

	find_first(cluster, first);
	for (unsigned i = 0; i < cluster->n_builders; i++) {
		const struct cluster_system_builder *builder = &cluster->builders[i];
		const struct cluster_link link = cluster_link_of(cluster, i);

		builders[i] = (struct sched_builder_parameters){
			.slots = builder->slots,
			.group = first[i] < i ? builders[first[i]].group : n_groups++,
			.weight = builder->weight,
			.port = link.first_builder,
			.link_rate = rate_of(&link, reported),
			.window = manager->window,
		};
	}
}

static struct sched_parameters make_parameters(const struct cluster_manager_parameters *manager,
					       const struct manager_builder *reported,
					       struct sched_builder_parameters *builders)
{
	const struct cluster_parameters *shared = &manager->cluster;
	struct sched_parameters parameters = manager->sched;
	const unsigned n_readouts = cluster_readouts_below(shared->system, shared->system->n_nodes);

	make_builders(manager, reported, builders);
	parameters.mode = shared->mode;
	parameters.shaping = shared->shaping;
	parameters.phase_share = cluster_shift_of(shared->system).share;
	parameters.burst_ns = BURST_NS;
	parameters.builders = builders;
	parameters.n_builders = shared->system->n_builders;
	// In static mode no node may have a source; the scheduler needs at least one.
	// Readout nodes that share their source are one source to it.
	parameters.n_sources = n_readouts > 0 && !shared->system->shares_source ? n_readouts : 1;
	parameters.unfinished = cluster_unfinished(shared->source_buffer);
	return parameters;
}

int cluster_manager_check(const struct cluster_manager_parameters *manager, char *error)
{
	struct sched_builder_parameters builders[EVB_MAX_SYSTEM_BUILDERS];
	const struct sched_parameters parameters = make_parameters(manager, NULL, builders);

	return sched_check(&parameters, error);
}

uint64_t cluster_manager_sched_memory(const struct cluster_manager_parameters *manager)
{
	struct sched_builder_parameters builders[EVB_MAX_SYSTEM_BUILDERS];
	const struct sched_parameters parameters = make_parameters(manager, NULL, builders);

	return sched_memory(&parameters);
}

struct sched *manager_make_sched(const struct cluster_manager *manager, uint64_t first_event)
{
	struct sched_builder_parameters builders[EVB_MAX_SYSTEM_BUILDERS];
	struct sched_parameters parameters =
	    make_parameters(&manager->parameters, manager->builders, builders);
	char error[SCHED_ERROR_SIZE];
	struct sched *sched;

	parameters.first_event = first_event;
	return sched_create(&sched, &parameters, error) == 0 ? sched : NULL;
}
