// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// From the configuration to a topology.
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "fabric_files/routes.h"
#include "fabric_files/times.h"
#include "simulation/internal.h"

static struct sim_links links_of(const struct config_fabric *fabric)
{
	return (struct sim_links){
		.bits_per_second = fabric->link_rate,
		.delay = fabric->link_delay_ns * SIM_NANOSECOND,
	};
}

// Hosts that there are: those asked for, else the nodes, else the room.
static bool choose_hosts(const struct config_fabric *fabric, uint32_t n_nodes, uint64_t room,
			 uint32_t *n_hosts, char *error)
{
	*n_hosts = fabric->hosts != 0 ? fabric->hosts : n_nodes;
	if (*n_hosts == 0)
		*n_hosts = (uint32_t)(room < SIM_MAX_HOSTS ? room : SIM_MAX_HOSTS);
	if (*n_hosts >= 2 && *n_hosts <= room)
		return true;
	snprintf(error, SIM_ERROR_SIZE,
		 "fabric.hosts: %u, and the topology has room for 2 to %llu: change arity",
		 *n_hosts, (unsigned long long)room);
	return false;
}

// Leaves of `arity` hosts and uplinks to as many switches; half of the ports of each switch above
// lead down, so that all have the same number of ports.
static bool make_clos(const struct config_fabric *fabric, uint32_t n_nodes,
		      struct sim_topology *topology, char *error)
{
	const uint32_t arity = fabric->arity;
	const uint32_t uplinks = (uint32_t)lround(arity / fabric->oversubscription);
	const uint64_t per_pod = (uint64_t)arity * (fabric->levels == 3 ? arity : 1);
	const struct sim_links links = links_of(fabric);
	uint32_t n_hosts, pods;

	if (fabs(uplinks * fabric->oversubscription - arity) > 1e-6 || uplinks == 0) {
		snprintf(error, SIM_ERROR_SIZE,
			 "fabric.oversubscription: %g does not divide %u hosts of a leaf evenly",
			 fabric->oversubscription, arity);
		return false;
	}
	if (!choose_hosts(fabric, n_nodes, 2 * arity * per_pod, &n_hosts, error))
		return false;
	pods = (uint32_t)((n_hosts + per_pod - 1) / per_pod);
	if (fabric->levels == 3) {
		const struct sim_clos3 clos = {
			.pods = pods,
			.leaves = arity,
			.middles = uplinks,
			.spines = uplinks * arity,
			.down = arity,
			.parallel_middle = 1,
			.parallel_spine = 1,
			.n_hosts = n_hosts,
			.host_links = links,
			.middle_links = links,
			.spine_links = links,
		};
		return sim_topology_clos3(topology, &clos, error);
	}
	const struct sim_clos2 clos = {
		.leaves = pods,
		.spines = uplinks,
		.down = arity,
		.parallel = 1,
		.n_hosts = n_hosts,
		.host_links = links,
		.spine_links = links,
	};
	return sim_topology_clos2(topology, &clos, error);
}

static bool make_torus(const struct config_fabric *fabric, uint32_t n_nodes,
		       struct sim_topology *topology, char *error)
{
	const uint64_t n_switches = (uint64_t)fabric->columns * fabric->rows * fabric->planes;
	const struct sim_torus torus = {
		.n_dimensions = SIM_MAX_DIMENSIONS,
		.size = { fabric->columns, fabric->rows, fabric->planes },
		.hosts = fabric->arity,
		.host_links = links_of(fabric),
		.torus_links = links_of(fabric),
	};
	uint32_t n_hosts;

	if (!choose_hosts(fabric, n_nodes, n_switches * fabric->arity, &n_hosts, error))
		return false;
	if (n_hosts == n_switches * fabric->arity)
		return sim_topology_torus(topology, &torus, error);
	snprintf(error, SIM_ERROR_SIZE,
		 "fabric.hosts: %u, and a torus of %llu switches with %u hosts each is always full",
		 n_hosts, (unsigned long long)n_switches, fabric->arity);
	return false;
}

static bool make_switch(const struct config_fabric *fabric, uint32_t n_nodes,
			struct sim_topology *topology, char *error)
{
	const uint32_t n_hosts = fabric->hosts != 0 ? fabric->hosts : n_nodes;

	return sim_topology_switch(topology, n_hosts != 0 ? n_hosts : fabric->arity,
				   links_of(fabric), error);
}

// --- a graph of a file ---

const char *const simulation_files[] = { "fabric.graph", "fabric.routes", "fabric.host_delay_times",
					 "fabric.traffic.consumer_times", NULL };

void simulation_find_file(const char *configuration, const char *name, char path[PATH_MAX])
{
	const char *slash = configuration != NULL ? strrchr(configuration, '/') : NULL;

	if (name[0] == '/' || slash == NULL)
		snprintf(path, PATH_MAX, "%s", name);
	else
		snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - configuration), configuration,
			 name);
}

// Reads the file that a key names. Returns its text, which the caller frees, or NULL with one line
// in error.
static char *read_file(const struct simulation_parameters *parameters, const char *key,
		       const char *name, char path[PATH_MAX], size_t *length, char *error)
{
	char cause[TEXT_FILE_ERROR], *text;

	simulation_find_file(parameters->path, name, path);
	text = text_file_read(path, length, cause);
	if (text == NULL)
		snprintf(error, SIM_ERROR_SIZE, "%s: %.320s: %s", key, path, cause);
	return text;
}

static bool set_roots(struct simulation_network *network, const struct config_fabric *fabric,
		      char *error)
{
	struct sim_topology *topology = &network->topology;
	uint32_t roots[CONFIG_MAX_ROOTS];

	for (unsigned i = 0; i < fabric->n_roots; i++) {
		const uint32_t node = fabric_graph_find(&network->graph, fabric->roots[i]);

		if (node == FABRIC_GRAPH_NONE || node < topology->n_hosts) {
			snprintf(error, SIM_ERROR_SIZE, "fabric.roots[%u]: %s has no switch \"%s\"",
				 i, fabric->graph, fabric->roots[i]);
			return false;
		}
		roots[i] = node - topology->n_hosts;
	}
	if (fabric->n_roots == 0 || sim_topology_set_roots(topology, roots, fabric->n_roots))
		return true;
	snprintf(error, SIM_ERROR_SIZE,
		 "fabric.roots: a switch is further than 255 links from all roots");
	return false;
}

static bool make_graph(struct simulation_network *network,
		       const struct simulation_parameters *parameters, char *error)
{
	const struct config_fabric *fabric = parameters->fabric;
	const bool is_system = fabric->traffic.kind == SIM_TRAFFIC_SYSTEM;
	char path[PATH_MAX], cause[FABRIC_GRAPH_ERROR], *text;
	size_t length;
	int result;

	text = read_file(parameters, "fabric.graph", fabric->graph, path, &length, error);
	if (text == NULL)
		return false;
	result = fabric_graph_parse(&network->graph, text, length, path, links_of(fabric), cause);
	free(text);
	if (result != 0) {
		snprintf(error, SIM_ERROR_SIZE, "fabric.graph: %.480s", cause);
		return false;
	}
	network->topology = network->graph.topology;
	network->graph.topology = (struct sim_topology){ 0 };
	if (is_system && network->topology.n_hosts < parameters->n_nodes) {
		snprintf(error, SIM_ERROR_SIZE,
			 "fabric.graph: %.200s has %u hosts, and the system has %u nodes",
			 fabric->graph, network->topology.n_hosts, parameters->n_nodes);
		return false;
	}
	return set_roots(network, fabric, error);
}

// --- networks ---

static bool make_topology(struct simulation_network *network,
			  const struct simulation_parameters *parameters, char *error)
{
	const struct config_fabric *fabric = parameters->fabric;

	switch (fabric->topology) {
	case CONFIG_TOPOLOGY_CLOS:
		return make_clos(fabric, parameters->n_nodes, &network->topology, error);
	case CONFIG_TOPOLOGY_TORUS:
		return make_torus(fabric, parameters->n_nodes, &network->topology, error);
	case CONFIG_TOPOLOGY_GRAPH:
		return make_graph(network, parameters, error);
	default:
		return make_switch(fabric, parameters->n_nodes, &network->topology, error);
	}
}

static bool make_routes(struct simulation_network *network,
			const struct simulation_parameters *parameters, char *error)
{
	char path[PATH_MAX], cause[FABRIC_GRAPH_ERROR], *text;
	size_t length;

	text = read_file(parameters, "fabric.routes", parameters->fabric->routes, path, &length,
			 error);
	if (text == NULL)
		return false;
	network->has_routes = fabric_routes_parse(&network->routes, text, length, path,
						  &network->topology, &network->graph, cause) == 0;
	free(text);
	if (!network->has_routes)
		snprintf(error, SIM_ERROR_SIZE, "fabric.routes: %.480s", cause);
	return network->has_routes;
}

static bool read_times(const struct simulation_parameters *parameters, const char *key,
		       const char *name, struct sim_times *times, char *error)
{
	char path[PATH_MAX], cause[FABRIC_TIMES_ERROR], *text;
	size_t length;
	int result;

	if (name[0] == '\0')
		return true;
	text = read_file(parameters, key, name, path, &length, error);
	if (text == NULL)
		return false;
	result = fabric_times_parse(times, text, length, path, cause);
	free(text);
	if (result != 0)
		snprintf(error, SIM_ERROR_SIZE, "%s: %.470s", key, cause);
	return result == 0;
}

bool simulation_network_make(struct simulation_network *network,
			     const struct simulation_parameters *parameters, char *error)
{
	*network = (struct simulation_network){ 0 };
	if (!make_topology(network, parameters, error))
		return false;
	for (uint32_t i = 0; i < network->topology.n_links; i++)
		network->topology.links[i].loss = parameters->fabric->loss;
	return (parameters->fabric->routes[0] == '\0' || make_routes(network, parameters, error)) &&
	       read_times(parameters, "fabric.host_delay_times",
			  parameters->fabric->host_delay_times, &network->host_times, error) &&
	       read_times(parameters, "fabric.traffic.consumer_times",
			  parameters->fabric->traffic.consumer_times, &network->consumer_times,
			  error);
}

void simulation_network_free(struct simulation_network *network)
{
	sim_topology_free(&network->topology);
	fabric_graph_free(&network->graph);
	sim_route_table_free(&network->routes);
	sim_times_free(&network->host_times);
	sim_times_free(&network->consumer_times);
}

bool simulation_check(const struct simulation_parameters *parameters, char *error)
{
	struct simulation_network network;
	const bool is_right = simulation_network_make(&network, parameters, error);

	simulation_network_free(&network);
	return is_right;
}
