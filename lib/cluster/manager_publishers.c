// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which builder has published an event, for the results of the system.
#include <stdlib.h>

#include "cluster/manager_internal.h"

bool manager_make_publishers(struct cluster_manager *manager)
{
	const struct cluster_manager_parameters *p = &manager->parameters;

	if (p->remembered == 0)
		return true;
	manager->n_publishers = cluster_unfinished(p->cluster.source_buffer);
	while (manager->n_publishers < 2 * (uint64_t)p->remembered)
		manager->n_publishers *= 2;
	manager->publishers = calloc(manager->n_publishers, sizeof(*manager->publishers));
	return manager->publishers != NULL;
}

void manager_remember(struct cluster_manager *manager, uint64_t event, unsigned builder)
{
	if (manager->publishers != NULL)
		manager->publishers[event & (manager->n_publishers - 1)] =
		    (event + 1) << 16 | builder;
}

uint16_t cluster_manager_publisher(const struct cluster_manager *manager, uint64_t event)
{
	const uint64_t found = manager->publishers != NULL
				   ? manager->publishers[event & (manager->n_publishers - 1)]
				   : 0;

	return found >> 16 == ((event + 1) & (UINT64_MAX >> 16)) ? (uint16_t)found : CTRL_NOT_KNOWN;
}

bool cluster_manager_knows_events(const struct cluster_manager *manager)
{
	return manager_is_ready(manager);
}

bool cluster_manager_resumed(const struct cluster_manager *manager)
{
	return manager->resumed;
}

uint64_t cluster_manager_first(const struct cluster_manager *manager)
{
	return manager->first_event;
}

uint64_t cluster_manager_released(const struct cluster_manager *manager)
{
	return sched_released(manager->sched);
}
