// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim/topology.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_RATE UINT64_C(1000000)
#define MOST_RATE  UINT64_C(10000000000000)

bool sim_topology_begin(struct sim_topology *topology, uint32_t n_hosts, uint32_t n_switches,
			char *error)
{
	*topology = (struct sim_topology){ .n_hosts = n_hosts, .n_switches = n_switches };
	if (n_hosts < 1 || n_hosts > SIM_MAX_HOSTS) {
		snprintf(error, SIM_ERROR_SIZE, "%" PRIu32 " hosts: expected 1 to %u", n_hosts,
			 SIM_MAX_HOSTS);
		return false;
	}
	if (n_switches < 1 || n_switches > SIM_MAX_SWITCHES) {
		snprintf(error, SIM_ERROR_SIZE, "%" PRIu32 " switches: expected 1 to %u",
			 n_switches, SIM_MAX_SWITCHES);
		return false;
	}
	topology->level = calloc(n_switches, sizeof(*topology->level));
	if (topology->level == NULL)
		snprintf(error, SIM_ERROR_SIZE, "no memory for %" PRIu32 " switches", n_switches);
	return topology->level != NULL;
}

void sim_topology_free(struct sim_topology *topology)
{
	free(topology->links);
	free(topology->level);
	*topology = (struct sim_topology){ 0 };
}

static bool check_link(const struct sim_topology *topology, const struct sim_link *link,
		       char *error)
{
	const uint32_t n_nodes = topology->n_hosts + topology->n_switches;

	if (link->ends[0] >= n_nodes || link->ends[1] >= n_nodes || link->ends[0] == link->ends[1])
		snprintf(error, SIM_ERROR_SIZE,
			 "a link from node %" PRIu32 " to node %" PRIu32
			 ": expected two nodes below %" PRIu32,
			 link->ends[0], link->ends[1], n_nodes);
	else if (link->bits_per_second < LEAST_RATE || link->bits_per_second > MOST_RATE)
		snprintf(error, SIM_ERROR_SIZE,
			 "a link of %" PRIu64 " bits/s: expected 10^6 to 10^13",
			 link->bits_per_second);
	else if (link->delay > SIM_SECOND)
		snprintf(error, SIM_ERROR_SIZE,
			 "a link with a delay of %" PRIu64 " ps: expected at most 1 s",
			 link->delay);
	else if (!(link->loss >= 0 && link->loss <= 1))
		snprintf(error, SIM_ERROR_SIZE, "a link that loses a share of %g: expected 0 to 1",
			 link->loss);
	else
		return true;
	return false;
}

bool sim_topology_add(struct sim_topology *topology, const struct sim_link *link, char *error)
{
	if (!check_link(topology, link, error))
		return false;
	if (topology->n_links == topology->room) {
		const uint32_t room = topology->room + topology->room / 2 + 64;
		struct sim_link *links = realloc(topology->links, room * sizeof(*links));

		if (links == NULL) {
			snprintf(error, SIM_ERROR_SIZE, "no memory for %" PRIu32 " links", room);
			return false;
		}
		topology->links = links;
		topology->room = room;
	}
	topology->links[topology->n_links++] = *link;
	return true;
}

// Adds `parallel` links.
static bool join(struct sim_topology *topology, uint32_t one, uint32_t other, uint32_t parallel,
		 struct sim_links links, char *error)
{
	const struct sim_link link = { .ends = { one, other },
				       .bits_per_second = links.bits_per_second,
				       .delay = links.delay };

	for (uint32_t i = 0; i < parallel; i++) {
		if (!sim_topology_add(topology, &link, error))
			return false;
	}
	return true;
}

// Joins host h to the switch h / down.
static bool join_hosts(struct sim_topology *topology, uint32_t down, struct sim_links links,
		       char *error)
{
	for (uint32_t host = 0; host < topology->n_hosts; host++) {
		if (!join(topology, host, topology->n_hosts + host / down, 1, links, error))
			return false;
	}
	return true;
}

// A number that a topology is made of.
struct part {
	const char *name;
	uint32_t value;
};

static bool check_parts(const struct part *parts, unsigned n_parts, char *error)
{
	for (unsigned i = 0; i < n_parts; i++) {
		if (parts[i].value < 1 || parts[i].value > SIM_MAX_RADIX) {
			snprintf(error, SIM_ERROR_SIZE, "%s is %" PRIu32 ": expected 1 to %u",
				 parts[i].name, parts[i].value, SIM_MAX_RADIX);
			return false;
		}
	}
	return true;
}

// n_hosts of those for which there is room; 0: all.
static bool count_hosts(uint32_t *n_hosts, uint64_t room, char *error)
{
	if (*n_hosts > room || room > SIM_MAX_HOSTS) {
		snprintf(error, SIM_ERROR_SIZE,
			 "%" PRIu32 " hosts at leaves for %" PRIu64
			 ": expected at most that, and %u",
			 *n_hosts, room, SIM_MAX_HOSTS);
		return false;
	}
	if (*n_hosts == 0)
		*n_hosts = (uint32_t)room;
	return true;
}

bool sim_topology_switch(struct sim_topology *topology, uint32_t n_hosts, struct sim_links links,
			 char *error)
{
	return sim_topology_begin(topology, n_hosts, 1, error) &&
	       check_parts(&(struct part){ "hosts", n_hosts }, 1, error) &&
	       join_hosts(topology, n_hosts, links, error);
}

bool sim_topology_clos2(struct sim_topology *topology, const struct sim_clos2 *clos, char *error)
{
	const struct part parts[] = { { "leaves", clos->leaves },
				      { "spines", clos->spines },
				      { "down", clos->down },
				      { "parallel", clos->parallel } };
	uint32_t n_hosts = clos->n_hosts;

	*topology = (struct sim_topology){ 0 };
	if (!check_parts(parts, sizeof(parts) / sizeof(parts[0]), error) ||
	    !count_hosts(&n_hosts, (uint64_t)clos->leaves * clos->down, error) ||
	    !sim_topology_begin(topology, n_hosts, clos->leaves + clos->spines, error) ||
	    !join_hosts(topology, clos->down, clos->host_links, error))
		return false;
	memset(topology->level + clos->leaves, 1, clos->spines);
	for (uint32_t leaf = 0; leaf < clos->leaves; leaf++) {
		for (uint32_t spine = 0; spine < clos->spines; spine++) {
			if (!join(topology, n_hosts + leaf, n_hosts + clos->leaves + spine,
				  clos->parallel, clos->spine_links, error))
				return false;
		}
	}
	return true;
}

// Joins the switches of one pod to each other, and to the spines.
static bool join_pod(struct sim_topology *topology, const struct sim_clos3 *clos, uint32_t pod,
		     char *error)
{
	const uint32_t leaves = topology->n_hosts + pod * clos->leaves;
	const uint32_t middles =
	    topology->n_hosts + clos->pods * clos->leaves + pod * clos->middles;
	const uint32_t spines = topology->n_hosts + clos->pods * (clos->leaves + clos->middles);
	const uint32_t each = clos->spines / clos->middles;

	for (uint32_t i = 0; i < clos->leaves * clos->middles; i++) {
		if (!join(topology, leaves + i / clos->middles, middles + i % clos->middles,
			  clos->parallel_middle, clos->middle_links, error))
			return false;
	}
	for (uint32_t i = 0; i < clos->spines; i++) {
		if (!join(topology, middles + i / each, spines + i, clos->parallel_spine,
			  clos->spine_links, error))
			return false;
	}
	return true;
}

bool sim_topology_clos3(struct sim_topology *topology, const struct sim_clos3 *clos, char *error)
{
	const struct part parts[] = { { "pods", clos->pods },
				      { "leaves", clos->leaves },
				      { "middles", clos->middles },
				      { "spines", clos->spines },
				      { "down", clos->down },
				      { "parallel_middle", clos->parallel_middle },
				      { "parallel_spine", clos->parallel_spine } };
	uint32_t n_hosts = clos->n_hosts;

	*topology = (struct sim_topology){ 0 };
	if (!check_parts(parts, sizeof(parts) / sizeof(parts[0]), error) ||
	    !count_hosts(&n_hosts, (uint64_t)clos->pods * clos->leaves * clos->down, error))
		return false;
	if (clos->spines % clos->middles != 0) {
		snprintf(error, SIM_ERROR_SIZE,
			 "%" PRIu32 " spines and %" PRIu32
			 " middles: expected a multiple of the middles",
			 clos->spines, clos->middles);
		return false;
	}
	if (!sim_topology_begin(topology, n_hosts,
				clos->pods * (clos->leaves + clos->middles) + clos->spines,
				error) ||
	    !join_hosts(topology, clos->down, clos->host_links, error))
		return false;
	memset(topology->level + clos->pods * clos->leaves, 1, clos->pods * clos->middles);
	memset(topology->level + clos->pods * (clos->leaves + clos->middles), 2, clos->spines);
	for (uint32_t pod = 0; pod < clos->pods; pod++) {
		if (!join_pod(topology, clos, pod, error))
			return false;
	}
	return true;
}

// Joins the switch to its next one in each dimension.
static bool join_point(struct sim_topology *topology, const struct sim_torus *torus, uint32_t point,
		       char *error)
{
	uint32_t stride = 1;

	for (uint32_t i = 0; i < torus->n_dimensions; i++) {
		const uint32_t size = torus->size[i], at = point / stride % size;
		const uint32_t next = at + 1 < size ? point + stride : point - at * stride;

		if ((size > 2 || at + 1 < size) &&
		    !join(topology, topology->n_hosts + point, topology->n_hosts + next, 1,
			  torus->torus_links, error))
			return false;
		stride *= size;
	}
	return true;
}

bool sim_topology_torus(struct sim_topology *topology, const struct sim_torus *torus, char *error)
{
	const struct part hosts = { "hosts", torus->hosts };
	uint32_t n_hosts = 0;
	uint64_t points = 1;

	*topology = (struct sim_topology){ 0 };
	if (torus->n_dimensions < 1 || torus->n_dimensions > SIM_MAX_DIMENSIONS) {
		snprintf(error, SIM_ERROR_SIZE,
			 "a torus of %" PRIu32 " dimensions: expected 1 to %u", torus->n_dimensions,
			 SIM_MAX_DIMENSIONS);
		return false;
	}
	for (uint32_t i = 0; i < torus->n_dimensions; i++) {
		const struct part size = { "a size of the torus", torus->size[i] };

		if (!check_parts(&size, 1, error))
			return false;
		points *= torus->size[i];
	}
	if (!check_parts(&hosts, 1, error) ||
	    !count_hosts(&n_hosts, points * torus->hosts, error) ||
	    !sim_topology_begin(topology, n_hosts, (uint32_t)points, error) ||
	    !join_hosts(topology, torus->hosts, torus->host_links, error))
		return false;
	topology->n_dimensions = torus->n_dimensions;
	memcpy(topology->size, torus->size, sizeof(topology->size));
	for (uint32_t point = 0; point < points; point++) {
		if (!join_point(topology, torus, point, error))
			return false;
	}
	return true;
}
