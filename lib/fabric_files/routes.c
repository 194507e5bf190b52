// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fabric_files/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/reader.h"
#include "fabric_files/list_lines.h"

#define NONE FABRIC_GRAPH_NONE

// A name of a node.
struct known {
	struct fabric_graph_name name;
	uint32_t node;
};

struct routes {
	const char *path;
	char *error;
	struct sim_route_table *table;
	const struct sim_topology *topology;
	const struct fabric_graph_ports *ports; // NULL: links have no numbers of ports
	struct known *known;                    // by name
	size_t n_known;
	uint32_t *first; // [n_switches + 1]: of the links of each switch
	uint32_t *links;
	uint32_t *found; // [2 * n_links]: different links of the present entry
	uint32_t n_found;
	bool *is_given; // [n_switches]
	unsigned line;  // of the present switch
	uint32_t at;    // the present switch
};

#define fail(routes, ...) \
	fabric_file_fail((routes)->error, (routes)->path, (routes)->line, __VA_ARGS__)

// --- names ---

static int compare_known(const void *one, const void *other)
{
	return strcmp(((const struct known *)one)->name.text,
		      ((const struct known *)other)->name.text);
}

static uint32_t find(const struct routes *routes, const char *name)
{
	struct known key = { .node = 0 };
	const struct known *found;

	if (strlen(name) >= sizeof(key.name.text))
		return NONE;
	snprintf(key.name.text, sizeof(key.name.text), "%s", name);
	found = bsearch(&key, routes->known, routes->n_known, sizeof(key), compare_known);
	return found != NULL ? found->node : NONE;
}

static struct fabric_graph_name name_of(const struct routes *routes, uint32_t node)
{
	for (size_t i = 0; i < routes->n_known; i++)
		if (routes->known[i].node == node)
			return routes->known[i].name;
	return (struct fabric_graph_name){ "" };
}

static bool make_names(struct routes *routes, const struct fabric_graph *graph)
{
	const uint32_t n_hosts = routes->topology->n_hosts;
	const uint32_t n = n_hosts + routes->topology->n_switches;

	routes->known = calloc(2 * (size_t)n, sizeof(*routes->known));
	for (uint32_t i = 0; routes->known != NULL && i < n; i++) {
		struct known *known = &routes->known[routes->n_known++];

		known->node = i;
		if (graph->names != NULL)
			known->name = graph->names[i];
		else
			snprintf(known->name.text, sizeof(known->name.text), "%s %" PRIu32,
				 i < n_hosts ? "host" : "switch", i < n_hosts ? i : i - n_hosts);
		if (graph->ids != NULL && graph->ids[i].text[0] != '\0' &&
		    strcmp(graph->ids[i].text, known->name.text) != 0)
			routes->known[routes->n_known++] = (struct known){ graph->ids[i], i };
	}
	if (routes->known != NULL)
		qsort(routes->known, routes->n_known, sizeof(*routes->known), compare_known);
	return routes->known != NULL;
}

// The links of each switch.
static bool make_links(struct routes *routes)
{
	const struct sim_topology *topology = routes->topology;
	const uint32_t n_hosts = topology->n_hosts, n = topology->n_switches;
	uint32_t *next = calloc((size_t)n + 1, sizeof(*next));

	routes->first = calloc((size_t)n + 1, sizeof(*routes->first));
	routes->links = calloc(2 * (size_t)topology->n_links, sizeof(*routes->links));
	routes->found = calloc(2 * (size_t)topology->n_links, sizeof(*routes->found));
	routes->is_given = calloc(n, sizeof(*routes->is_given));
	if (next == NULL || routes->first == NULL || routes->links == NULL ||
	    routes->found == NULL || routes->is_given == NULL) {
		free(next);
		return false;
	}
	for (uint32_t i = 0; i < 2 * topology->n_links; i++) {
		const uint32_t node = topology->links[i / 2].ends[i % 2];

		if (node >= n_hosts)
			routes->first[node - n_hosts + 1]++;
	}
	for (uint32_t at = 0; at < n; at++) {
		routes->first[at + 1] += routes->first[at];
		next[at] = routes->first[at];
	}
	for (uint32_t i = 0; i < 2 * topology->n_links; i++) {
		const uint32_t node = topology->links[i / 2].ends[i % 2];

		if (node >= n_hosts)
			routes->links[next[node - n_hosts]++] = i / 2;
	}
	free(next);
	return true;
}

static void free_all(struct routes *routes)
{
	free(routes->known);
	free(routes->first);
	free(routes->links);
	free(routes->found);
	free(routes->is_given);
}

// --- routes ---

static int add_link(struct routes *routes, const char *host, uint32_t link)
{
	for (uint32_t i = 0; i < routes->n_found; i++)
		if (routes->found[i] == link)
			return fail(routes, "to.%s: a neighbour or port is given twice",
				    quote_bare(host).text);
	routes->found[routes->n_found++] = link;
	return 0;
}

static int add_neighbour(struct routes *routes, const char *host, const char *name)
{
	const struct sim_topology *topology = routes->topology;
	const uint32_t self = topology->n_hosts + routes->at, node = find(routes, name);
	const uint32_t before = routes->n_found;

	for (uint32_t i = routes->first[routes->at]; i < routes->first[routes->at + 1]; i++) {
		const uint32_t *ends = topology->links[routes->links[i]].ends;

		if (node != NONE && (ends[0] == self ? ends[1] : ends[0]) == node &&
		    add_link(routes, host, routes->links[i]) != 0)
			return -1;
	}
	if (routes->n_found > before)
		return 0;
	return fail(routes, "to.%s: the switch has no link with %s", quote_bare(host).text,
		    quote(name).text);
}

static int add_port(struct routes *routes, const char *host, double number)
{
	const struct sim_topology *topology = routes->topology;
	const uint32_t self = topology->n_hosts + routes->at;

	for (uint32_t i = routes->first[routes->at]; i < routes->first[routes->at + 1]; i++) {
		const uint32_t link = routes->links[i];
		const unsigned end = topology->links[link].ends[0] != self;

		if (routes->ports != NULL && routes->ports[link].ends[end] != 0 &&
		    routes->ports[link].ends[end] == number)
			return add_link(routes, host, link);
	}
	return fail(routes, "to.%s: the switch has no port %g with a link", quote_bare(host).text,
		    number);
}

static int add_next_hop(struct routes *routes, const char *host, const cJSON *next_hop)
{
	if (cJSON_IsString(next_hop))
		return add_neighbour(routes, host, next_hop->valuestring);
	if (cJSON_IsNumber(next_hop))
		return add_port(routes, host, next_hop->valuedouble);
	return fail(
	    routes,
	    "to.%s: expected the name of a neighbour, the number of a port, or a list of these",
	    quote_bare(host).text);
}

static int read_next_hops(struct routes *routes, const char *host, const cJSON *next_hops,
			  struct sim_route_entry *entry)
{
	const cJSON *next_hop;

	routes->n_found = 0;
	if (!cJSON_IsArray(next_hops)) {
		if (add_next_hop(routes, host, next_hops) != 0)
			return -1;
	} else {
		cJSON_ArrayForEach(next_hop, next_hops)
		{
			if (add_next_hop(routes, host, next_hop) != 0)
				return -1;
		}
	}
	if (routes->n_found == 0)
		return fail(routes, "to.%s: the list is empty", quote_bare(host).text);
	if (!sim_route_table_add(routes->table, routes->found, routes->n_found, entry))
		return fail(routes, "out of memory");
	return 0;
}

// --- switches ---

static int read_host(struct routes *routes, const cJSON *next_hops,
		     struct sim_route_entry *standard)
{
	struct sim_route_entry *entry = standard;

	if (strcmp(next_hops->string, "*") != 0) {
		const uint32_t host = find(routes, next_hops->string);

		if (host >= routes->topology->n_hosts)
			return fail(routes, "to: there is no host %s",
				    quote(next_hops->string).text);
		entry = sim_route_table_entry(routes->table, routes->at, host);
	}
	if (entry->count > 0)
		return fail(routes, "to.%s: is given twice", quote_bare(next_hops->string).text);
	return read_next_hops(routes, next_hops->string, next_hops, entry);
}

static int read_switch(struct routes *routes, const cJSON *element)
{
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(element, "switch");
	const cJSON *to = cJSON_GetObjectItemCaseSensitive(element, "to"), *next_hops;
	struct sim_route_entry standard = { 0 };
	uint32_t node;

	if (!cJSON_IsObject(element) || !cJSON_IsString(name) || !cJSON_IsObject(to) ||
	    cJSON_GetArraySize(element) != 2)
		return fail(routes, "expected {\"switch\": NAME, \"to\": {HOST: NEIGHBOUR, ...}}");
	node = find(routes, name->valuestring);
	if (node == NONE || node < routes->topology->n_hosts)
		return fail(routes, "there is no switch %s", quote(name->valuestring).text);
	routes->at = node - routes->topology->n_hosts;
	if (routes->is_given[routes->at])
		return fail(routes, "the switch %s is given twice", quote(name->valuestring).text);
	routes->is_given[routes->at] = true;
	cJSON_ArrayForEach(next_hops, to)
	{
		if (read_host(routes, next_hops, &standard) != 0)
			return -1;
	}
	for (uint32_t host = 0; host < routes->topology->n_hosts; host++) {
		struct sim_route_entry *entry =
		    sim_route_table_entry(routes->table, routes->at, host);

		if (entry->count == 0)
			*entry = standard;
	}
	return 0;
}

static int fail_check(struct routes *routes, const struct sim_route_fault *fault)
{
	const uint32_t n_hosts = routes->topology->n_hosts;
	const struct fabric_graph_name at = name_of(routes, n_hosts + fault->at);
	const struct fabric_graph_name host = name_of(routes, fault->host);
	char loop[160] = "";

	if (fault->host >= n_hosts)
		return fail(routes, "out of memory");
	if (fault->kind == SIM_ROUTE_MISSING)
		return fail(routes, "the switch %s gets packets for the host %s and has no route",
			    quote(at.text).text, quote(host.text).text);
	if (fault->kind == SIM_ROUTE_ASTRAY)
		return fail(routes, "the switch %s sends packets for the host %s to another host",
			    quote(at.text).text, quote(host.text).text);
	for (uint32_t i = 0; i < fault->n_loop; i++)
		snprintf(loop + strlen(loop), sizeof(loop) - strlen(loop), "%s, ",
			 quote_bare(name_of(routes, n_hosts + fault->loop[i]).text).text);
	return fail(routes, "packets for the host %s go round in a loop: %s%s",
		    quote(host.text).text, loop, quote_bare(at.text).text);
}

static int read_all(struct routes *routes, const cJSON *root, const char *text, size_t length)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "routes"), *element;
	struct sim_route_fault fault;
	unsigned *lines, i = 0;
	int result = 0;

	if (!cJSON_IsObject(root) || !cJSON_IsArray(list) || cJSON_GetArraySize(root) != 1)
		return fail(routes, "expected {\"routes\": [...]}");
	lines = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*lines));
	if (lines == NULL)
		return fail(routes, "out of memory");
	json_list_lines(text, length, "routes", lines, (unsigned)cJSON_GetArraySize(list));
	cJSON_ArrayForEach(element, list)
	{
		routes->line = lines[i++];
		result = read_switch(routes, element);
		if (result != 0)
			break;
	}
	free(lines);
	if (result != 0)
		return -1;
	routes->line = 0;
	if (sim_route_table_check(routes->table, routes->topology, &fault))
		return 0;
	return fail_check(routes, &fault);
}

int fabric_routes_parse(struct sim_route_table *table, const char *text, size_t length,
			const char *name, const struct sim_topology *topology,
			const struct fabric_graph *graph, char *error)
{
	struct routes routes = { .path = name,
				 .error = error,
				 .table = table,
				 .topology = topology,
				 .ports = graph->ports };
	struct config_reader reader = { .file = name, .error = error };
	cJSON *root;
	int result;

	*table = (struct sim_route_table){ 0 };
	root = config_read_json(&reader, text, length);
	if (root == NULL)
		return -1;
	if (!make_names(&routes, graph) || !make_links(&routes) ||
	    !sim_route_table_make(table, topology))
		result = fail(&routes, "out of memory");
	else
		result = read_all(&routes, root, text, length);
	free_all(&routes);
	cJSON_Delete(root);
	return result;
}
