// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fabric_files/graph_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error_line.h"
#include "base/quote.h"
#include "config/reader.h"

#define NONE FABRIC_GRAPH_NONE

_Static_assert(FABRIC_GRAPH_ERROR == CONFIG_ERROR_SIZE, "");

int fabric_file_fail(char *error, const char *path, unsigned line, const char *format, ...)
{
	char what[300], place[16] = "";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	if (line > 0)
		snprintf(place, sizeof(place), "%u:", line);
	return error_line(error, FABRIC_GRAPH_ERROR, "%.200s:%s %s", path, place, what);
}

// --- nodes and links ---

struct key {
	char text[FABRIC_GRAPH_NAME_SIZE]; // first, as a search has only a text
	uint32_t node;
};

static int compare_keys(const void *one, const void *other)
{
	return strcmp(one, other);
}

uint32_t graph_draft_find(const struct graph_draft *draft, const char *key)
{
	void *const *found = tfind(key, &draft->index, compare_keys);

	return found != NULL ? ((const struct key *)*found)->node : NONE;
}

uint32_t graph_draft_add_node(struct graph_draft *draft, const char *key, unsigned line)
{
	struct key *entry = calloc(1, sizeof(*entry));

	if (draft->n_nodes >= SIM_MAX_HOSTS + SIM_MAX_SWITCHES) {
		graph_fail(draft, line, "more than %u hosts and switches",
			   SIM_MAX_HOSTS + SIM_MAX_SWITCHES);
		free(entry);
		return NONE;
	}
	if (entry == NULL ||
	    !array_reserve(&draft->nodes, &draft->nodes_room, draft->n_nodes + 1,
			   sizeof(*draft->nodes)) ||
	    (snprintf(entry->text, sizeof(entry->text), "%s", key) >= 0 &&
	     tsearch(entry, &draft->index, compare_keys) == NULL)) {
		graph_fail(draft, line, "out of memory");
		free(entry);
		return NONE;
	}
	entry->node = draft->n_nodes;
	draft->nodes[draft->n_nodes] = (struct graph_node){ .line = line };
	memcpy(draft->nodes[draft->n_nodes].key, entry->text, sizeof(entry->text));
	return draft->n_nodes++;
}

int graph_draft_add_link(struct graph_draft *draft, const struct graph_link *link)
{
	if (!array_reserve(&draft->links, &draft->links_room, draft->n_links + 1,
			   sizeof(*draft->links)))
		return graph_fail(draft, link->line, "out of memory");
	draft->links[draft->n_links++] = *link;
	return 0;
}

static void free_draft(struct graph_draft *draft)
{
	tdestroy(draft->index, free);
	free(draft->nodes);
	free(draft->links);
}

// --- checks ---

static int check_link(const struct graph_draft *draft, const struct graph_link *link)
{
	const struct graph_node *one = &draft->nodes[link->nodes[0]];
	const struct graph_node *other = &draft->nodes[link->nodes[1]];

	if (one == other)
		return graph_fail(draft, link->line, "a link from %s to itself",
				  quote(one->name).text);
	if (one->is_host && other->is_host)
		return graph_fail(
		    draft, link->line,
		    "a link between the hosts %s and %s: a host is joined to a switch",
		    quote(one->name).text, quote(other->name).text);
	for (unsigned i = 0; i < 2; i++) {
		struct graph_node *node = &draft->nodes[link->nodes[i]];

		if (++node->n_links > (node->is_host ? 1 : SIM_MAX_RADIX))
			return graph_fail(
			    draft, link->line, "%s has more than %u link%s: %s has no more",
			    quote(node->name).text, node->is_host ? 1 : SIM_MAX_RADIX,
			    node->is_host ? "" : "s", node->is_host ? "a host" : "a switch");
	}
	return 0;
}

// A port of a node, and the link that names it.
struct place {
	uint32_t node, port;
	unsigned line;
};

static int compare_places(const void *one, const void *other)
{
	const struct place *a = one, *b = other;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

// No port has two links.
static int check_ports(const struct graph_draft *draft)
{
	struct place *places = malloc((2 * (size_t)draft->n_links + 1) * sizeof(*places));
	size_t n = 0;
	int result = 0;

	if (places == NULL)
		return graph_fail(draft, 0, "out of memory");
	for (uint32_t i = 0; i < draft->n_links; i++) {
		const struct graph_link *link = &draft->links[i];

		for (unsigned end = 0; end < 2; end++)
			if (link->ports[end] != 0)
				places[n++] = (struct place){ link->nodes[end], link->ports[end],
							      link->line };
	}
	qsort(places, n, sizeof(*places), compare_places);
	for (size_t i = 1; i < n && result == 0; i++)
		if (places[i].node == places[i - 1].node && places[i].port == places[i - 1].port)
			result = graph_fail(
			    draft, places[i].line,
			    "port %" PRIu32 " of %s has a link already, in line %u", places[i].port,
			    quote(draft->nodes[places[i].node].name).text, places[i - 1].line);
	free(places);
	return result;
}

static int check_nodes(const struct graph_draft *draft)
{
	uint32_t n_hosts = 0, n_switches = 0;

	for (uint32_t i = 0; i < draft->n_nodes; i++) {
		const struct graph_node *node = &draft->nodes[i];

		n_hosts += node->is_host;
		n_switches += !node->is_host;
		if (node->is_host && node->n_links == 0)
			return graph_fail(draft, node->line, "the host %s has no link",
					  quote(node->name).text);
	}
	if (n_hosts < 2 || n_hosts > SIM_MAX_HOSTS)
		return graph_fail(draft, 0, "has %" PRIu32 " hosts: expected 2 to %u", n_hosts,
				  SIM_MAX_HOSTS);
	if (n_switches > SIM_MAX_SWITCHES)
		return graph_fail(draft, 0, "has %" PRIu32 " switches: expected at most %u",
				  n_switches, SIM_MAX_SWITCHES);
	return 0;
}

// Nodes that a link joins get one root in the end.
static uint32_t root_of(uint32_t *parents, uint32_t node)
{
	while (parents[node] != node) {
		parents[node] = parents[parents[node]];
		node = parents[node];
	}
	return node;
}

static int check_connected(const struct graph_draft *draft)
{
	uint32_t *parents = malloc(((size_t)draft->n_nodes + 1) * sizeof(*parents));
	uint32_t first = NONE;
	int result = 0;

	if (parents == NULL)
		return graph_fail(draft, 0, "out of memory");
	for (uint32_t i = 0; i < draft->n_nodes; i++)
		parents[i] = i;
	for (uint32_t i = 0; i < draft->n_links; i++)
		parents[root_of(parents, draft->links[i].nodes[0])] =
		    root_of(parents, draft->links[i].nodes[1]);
	for (uint32_t i = 0; i < draft->n_nodes && result == 0; i++) {
		const struct graph_node *node = &draft->nodes[i];

		if (!node->is_host)
			continue;
		first = first == NONE ? i : first;
		if (root_of(parents, i) != root_of(parents, first))
			result = graph_fail(
			    draft, node->line, "no links lead from the host %s to the host %s",
			    quote(draft->nodes[first].name).text, quote(node->name).text);
	}
	free(parents);
	return result;
}

// --- the result ---

// Numbers the hosts, and the switches behind them.
static void number_nodes(struct graph_draft *draft, uint32_t *n_hosts, uint32_t *n_switches)
{
	*n_hosts = *n_switches = 0;
	for (uint32_t i = 0; i < draft->n_nodes; i++)
		if (draft->nodes[i].is_host)
			draft->nodes[i].number = (*n_hosts)++;
	for (uint32_t i = 0; i < draft->n_nodes; i++)
		if (!draft->nodes[i].is_host)
			draft->nodes[i].number = *n_hosts + (*n_switches)++;
}

static int add_links(const struct graph_draft *draft, struct sim_links links,
		     struct fabric_graph *graph)
{
	char cause[SIM_ERROR_SIZE];

	for (uint32_t i = 0; i < draft->n_links; i++) {
		const struct graph_link *from = &draft->links[i];
		const struct sim_link link = {
			.ends = { draft->nodes[from->nodes[0]].number,
				  draft->nodes[from->nodes[1]].number },
			.bits_per_second = from->rate != 0 ? from->rate : links.bits_per_second,
			.delay = from->has_delay ? from->delay_ns * SIM_NANOSECOND : links.delay,
		};

		if (!sim_topology_add(&graph->topology, &link, cause))
			return graph_fail(draft, from->line, "%s", cause);
		graph->ports[i] = (struct fabric_graph_ports){ { from->ports[0], from->ports[1] } };
	}
	return 0;
}

static int make_graph(struct graph_draft *draft, struct sim_links links, struct fabric_graph *graph)
{
	uint32_t n_hosts, n_switches;
	char cause[SIM_ERROR_SIZE];

	number_nodes(draft, &n_hosts, &n_switches);
	if (!sim_topology_begin(&graph->topology, n_hosts, n_switches, cause))
		return graph_fail(draft, 0, "%s", cause);
	graph->names = calloc(draft->n_nodes, sizeof(*graph->names));
	graph->ids = calloc(draft->n_nodes, sizeof(*graph->ids));
	graph->ports = calloc(draft->n_links, sizeof(*graph->ports));
	if (graph->names == NULL || graph->ids == NULL || graph->ports == NULL)
		return graph_fail(draft, 0, "out of memory");
	graph->n_nodes = draft->n_nodes;
	for (uint32_t i = 0; i < draft->n_nodes; i++) {
		const struct graph_node *node = &draft->nodes[i];

		memcpy(graph->names[node->number].text, node->name, sizeof(node->name));
		memcpy(graph->ids[node->number].text, node->id, sizeof(node->id));
	}
	if (add_links(draft, links, graph) != 0)
		return -1;
	sim_topology_find_levels(&graph->topology);
	return 0;
}

// Checks the draft, and makes the graph of it.
static int finish_draft(struct graph_draft *draft, struct sim_links links,
			struct fabric_graph *graph)
{
	for (uint32_t i = 0; i < draft->n_links; i++)
		if (check_link(draft, &draft->links[i]) != 0)
			return -1;
	if (check_nodes(draft) != 0 || check_ports(draft) != 0 || check_connected(draft) != 0)
		return -1;
	return make_graph(draft, links, graph);
}

// --- files ---

// JSON begins with an object.
static bool is_json(const char *text, size_t length)
{
	size_t i = 0;

	while (i < length && isspace((unsigned char)text[i]))
		i++;
	return i < length && text[i] == '{';
}

int fabric_graph_parse(struct fabric_graph *graph, const char *text, size_t length,
		       const char *name, struct sim_links links, char *error)
{
	struct graph_draft draft = { .path = name, .error = error };
	int result;

	*graph = (struct fabric_graph){ 0 };
	result = is_json(text, length) ? graph_read_json(&draft, text, length)
				       : graph_read_ibnet(&draft, text, length);
	if (result == 0)
		result = finish_draft(&draft, links, graph);
	free_draft(&draft);
	return result;
}

void fabric_graph_free(struct fabric_graph *graph)
{
	sim_topology_free(&graph->topology);
	free(graph->names);
	free(graph->ids);
	free(graph->ports);
	*graph = (struct fabric_graph){ 0 };
}

uint32_t fabric_graph_find(const struct fabric_graph *graph, const char *name)
{
	for (uint32_t i = 0; i < graph->n_nodes; i++)
		if (strcmp(graph->names[i].text, name) == 0 ||
		    (graph->ids[i].text[0] != '\0' && strcmp(graph->ids[i].text, name) == 0))
			return i;
	return NONE;
}
