// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/roce_parts.h"

#include <stdio.h>

#include <rte_errno.h>

#include "transport/roce_port.h"

static int make_endpoint(struct appliance *appliance, unsigned index, char *error)
{
	struct port *port = &appliance->ports[index];
	struct roce_port_parameters parameters = {
		.config = appliance->config,
		.port = port->config,
		.mac = port->mac,
		.sources = &appliance->sources,
		.rings = (const struct evring *const *)appliance->rings,
		.n_builders = appliance->config->n_builders,
		.numa_node = port->numa_node,
	};
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "roce%u", index);
	appliance->roce_pools[index] =
	    port_pool_create(name, appliance->plan->ports[index].roce_mbufs, PLAN_POOL_CACHE,
			     ROCE_PORT_BUFFER, port->numa_node);
	if (appliance->roce_pools[index] == NULL) {
		snprintf(error, APPLIANCE_ERROR_SIZE,
			 "ports[%u]: no memory for the pool of %u RoCE answers (%s)", index,
			 appliance->plan->ports[index].roce_mbufs, rte_strerror(rte_errno));
		return -1;
	}
	parameters.pool = appliance->roce_pools[index];
	appliance->roce_ports[index] = roce_port_create(&parameters, error);
	return appliance->roce_ports[index] != NULL ? 0 : -1;
}

int roce_parts_make(struct appliance *appliance, char *error)
{
	if (appliance->config->transport.kind != CONFIG_TRANSPORT_ROCE)
		return 0;
	for (unsigned i = 0; i < appliance->config->n_ports; i++)
		if (make_endpoint(appliance, i, error) != 0)
			return -1;
	return 0;
}

void roce_ports_free(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->config->n_ports; i++)
		roce_port_destroy(appliance->roce_ports[i]);
}

void roce_pools_free(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->config->n_ports; i++)
		rte_mempool_free(appliance->roce_pools[i]);
}
