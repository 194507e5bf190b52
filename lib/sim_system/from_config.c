// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_system/from_config.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error_line.h"

static int add(struct sim_generators *generators, const struct config *config,
	       const struct config_generator *generator, char *error)
{
	const struct source_set_parameters set = config_source_set(config, generator);
	struct sim_generator *list =
	    realloc(generators->list, (generators->n + 1) * sizeof(*generators->list));
	struct sim_generator *added;
	char cause[SOURCE_ERROR_SIZE];

	if (list == NULL)
		return error_line(error, SIM_SYSTEM_ERROR_SIZE, "out of memory");
	generators->list = list;
	added = &list[generators->n];
	*added = (struct sim_generator){
		.node = config->cluster.self,
		.rate = generator->rate,
		.events = generator->events,
		.spill = config_production(generator),
	};
	if (source_set_sizes(&added->sizes, &set, cause) != 0)
		return error_line(error, SIM_SYSTEM_ERROR_SIZE, "node %s: %s",
				  config->cluster.nodes[config->cluster.self].name, cause);
	generators->n++;
	return 0;
}

int sim_generators_add(struct sim_generators *generators, const struct config *config, char *error)
{
	for (unsigned i = 0; i < config->n_generators; i++)
		if (add(generators, config, &config->generators[i], error) != 0)
			return -1;
	return 0;
}

void sim_generators_free(struct sim_generators *generators)
{
	for (unsigned i = 0; i < generators->n; i++)
		source_sizes_free(&generators->list[i].sizes);
	free(generators->list);
}

struct sim_system_parameters sim_system_configured(const struct config *config)
{
	const struct config_event_manager *manager = &config->event_manager;

	return (struct sim_system_parameters){
		.system = &config->cluster,
		.manager = config_manager_parameters(config),
		.heartbeat_ns = manager->heartbeat_ns,
		.heartbeat_timeout_ns = manager->heartbeat_timeout_ns,
		.sleep_ns = config->idle.policy == CONFIG_IDLE_ADAPTIVE ? config->idle.sleep_ns : 0,
		.windows = config_shift_windows(config),
		.pace = config_readout_pace(config),
		.on_incomplete = config->events.on_incomplete,
		.packing = config->sources.packing,
		.ethernet = config->transport.kind == CONFIG_TRANSPORT_ETH,
		.ether_type = config->transport.ether_type,
		.udp_port = config->transport.udp_port,
		.control_port = manager->control_port,
	};
}
