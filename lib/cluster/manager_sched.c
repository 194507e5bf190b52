// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// From the configuration to a scheduler.
#include "cluster/manager_internal.h"

#include <stdio.h>
#include <stdlib.h>

// How late the manager may come without a loss of rate. What is granted meanwhile lies in sources
// until they may send it, so this loads no link.
#define BURST_NS 5000000u

// The congestion groups that builders name, numbered from 0 without gaps.
static uint32_t dense_group(const struct config_cluster *cluster, unsigned builder)
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

static struct sched_parameters translate(const struct config *config)
{
	static const enum sched_mode modes[] = {
		[CONFIG_MODE_STATIC] = SCHED_STATIC,
		[CONFIG_MODE_PUSH] = SCHED_PUSH,
		[CONFIG_MODE_PULL] = SCHED_PULL,
	};
	static const enum sched_policy policies[] = {
		[CONFIG_POLICY_ROUND_ROBIN] = SCHED_ROUND_ROBIN,
		[CONFIG_POLICY_OCCUPANCY] = SCHED_OCCUPANCY,
		[CONFIG_POLICY_WEIGHTED] = SCHED_WEIGHTED,
		[CONFIG_POLICY_RANDOM] = SCHED_RANDOM,
	};
	static const enum sched_shaping shapings[] = {
		[CONFIG_SHAPING_NONE] = SCHED_ALL_AT_ONCE,
		[CONFIG_SHAPING_LINEAR_SHIFT] = SCHED_LINEAR_SHIFT,
		[CONFIG_SHAPING_TIMED_SHIFT] = SCHED_TIMED_SHIFT,
		[CONFIG_SHAPING_CREDIT_WINDOW] = SCHED_CREDIT_WINDOW,
	};
	const struct config_event_manager *in = &config->event_manager;
	struct sched_parameters out = sched_defaults();

	out.mode = modes[in->mode];
	out.policy = policies[in->policy];
	out.shaping = shapings[in->shaping];
	out.strict = in->strict;
	out.barrier = in->barrier;
	out.distance = in->distance == CONFIG_AUTO ? SCHED_DISTANCE_AUTO : in->distance;
	out.relax_after_ns = in->relax_after_ns;
	out.parallel_sends = in->parallel_sends;
	out.credits = in->credits;
	out.send_window_ns = in->send_window_ns;
	out.idle_window_ns = in->idle_window_ns;
	out.target_utilisation = in->target_utilisation;
	out.queue = in->queue;
	out.burst_ns = BURST_NS;
	out.throttle_level = (uint32_t)in->throttle_level;
	return out;
}

struct sched *manager_make_sched(const struct cluster_manager *manager, uint64_t first_event,
				 char *error)
{
	const struct config *config = manager->parameters.config;
	const struct config_cluster *cluster = manager->cluster;
	struct sched_parameters parameters = translate(config);
	struct sched_builder_parameters *builders = calloc(cluster->n_builders, sizeof(*builders));
	struct sched *sched = NULL;
	char cause[SCHED_ERROR_SIZE] = "out of memory";

	for (unsigned i = 0; builders != NULL && i < cluster->n_builders; i++) {
		const struct config_cluster_builder *builder = &cluster->builders[i];

		builders[i] = (struct sched_builder_parameters){
			.slots = builder->slots,
			.group = dense_group(cluster, i),
			.weight = smallest_of(builder->weight, SCHED_MAX_WEIGHT),
			.link_rate = cluster->nodes[builder->node].link_rate / 8,
			.window = config->event_manager.window,
		};
	}
	parameters.builders = builders;
	parameters.n_builders = cluster->n_builders;
	parameters.n_sources = manager->readouts.n > 0 ? manager->readouts.n : 1; // static
	parameters.first_event = first_event;
	parameters.unfinished = cluster_unfinished(config);
	if (builders == NULL || sched_create(&sched, &parameters, cause) != 0)
		snprintf(error, CLUSTER_ERROR_SIZE, "event manager: %.230s", cause);
	free(builders);
	return sched;
}
