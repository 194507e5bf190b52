// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A graph as ibnetdiscover prints it (infiniband-diags, "Topology file format"): a record per
// switch and channel adapter, and in it a line per port with a cable:
//
//   Switch  36 "S-0002c9020046c588"              # "leaf 1" base port 0 lid 2 lmc 0
//   [1]     "H-0002c90300293e1e"[1](2c90300293e1f)         # "ru0 HCA-1" lid 6 4xQDR
//   Ca      1 "H-0002c90300293e1e"               # "ru0 HCA-1"
//   [1](2c90300293e1f)  "S-0002c9020046c588"[1]  # lid 6 lmc 0 "leaf 1" lid 2 4xQDR
//
// Each port of an adapter that has a cable is a host. Other lines are comments.
#include "fabric_files/graph_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"

#define NONE         FABRIC_GRAPH_NONE
#define ID_SIZE      32
#define LINE_SIZE    512
#define MEGABIT      UINT64_C(1000000)
#define MOST_NUMBER  100000u
#define NO_HOST_TEXT "\"Mellanox Technologies Aggregation Node\"" // part of a switch

// Megabits per second of one of the link's parallel pairs (1x), without the line code (InfiniBand
// Architecture, volume 2).
static const struct speed {
	const char *name;
	uint64_t megabits;
} speeds[] = {
	{ "SDR", 2000 },  { "DDR", 4000 },  { "QDR", 8000 },   { "FDR10", 10000 }, { "FDR", 13636 },
	{ "EDR", 25000 }, { "HDR", 50000 }, { "NDR", 100000 }, { "XDR", 200000 },
};

// The record that the present line belongs to.
struct record {
	char id[ID_SIZE];
	char name[FABRIC_GRAPH_NAME_SIZE];
	bool is_host;
	uint32_t first_node; // of a host: of its ports
};

struct ibnet {
	struct graph_draft *draft;
	struct record record; // id empty: none
	bool makes_links;     // in the second pass; the first one finds the nodes
	unsigned line;
};

// A line of a port: [PORT]... "ID"[PEER]... # ...
struct port_line {
	uint32_t port, peer_port;
	char peer[ID_SIZE];
	uint64_t rate; // 0: not stated
};

// --- parts of a line ---

// Reads "[NUMBER]" and returns what follows; NULL: there is none.
static const char *read_port(const char *at, uint32_t *port)
{
	char *end;
	unsigned long number;

	if (at[0] != '[' || !isdigit((unsigned char)at[1]))
		return NULL;
	number = strtoul(at + 1, &end, 10);
	if (*end != ']' || number > MOST_NUMBER)
		return NULL;
	*port = (uint32_t)number;
	return end + 1;
}

// Reads a text in quotation marks into to[size], cut if it is too long, and returns what follows.
static const char *read_quoted(const char *at, char *to, size_t size)
{
	const char *begin = strchr(at, '"'), *end = begin != NULL ? strchr(begin + 1, '"') : NULL;
	size_t n = 0;

	if (end == NULL)
		return NULL;
	for (const char *c = begin + 1; c < end && n + 1 < size; c++)
		to[n++] = (char)(isprint((unsigned char)*c) ? *c : '?');
	to[n] = '\0';
	return end + 1;
}

// The rate as width and speed, "4xEDR", behind the last quotation mark.
static uint64_t read_rate(const char *text)
{
	const char *at = strrchr(text, '"');
	char name[16];
	unsigned width;

	for (at = at != NULL ? at : text; *at != '\0'; at++) {
		if (!isspace((unsigned char)at[0]) || !isdigit((unsigned char)at[1]) ||
		    sscanf(at + 1, "%2ux%15[A-Z0-9]", &width, name) != 2)
			continue;
		for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
			if (strcmp(name, speeds[i].name) == 0)
				return width * speeds[i].megabits * MEGABIT;
	}
	return 0;
}

static bool read_port_line(const char *text, struct port_line *line)
{
	const char *at = read_port(text, &line->port);

	at = at != NULL ? read_quoted(at, line->peer, sizeof(line->peer)) : NULL;
	at = at != NULL ? read_port(at, &line->peer_port) : NULL;
	if (at == NULL || line->port == 0 || line->peer_port == 0)
		return false;
	line->rate = read_rate(at);
	return true;
}

// --- nodes ---

// Hosts are ports of adapters, switches are whole.
static void make_key(char key[FABRIC_GRAPH_NAME_SIZE], const char *id, uint32_t port)
{
	if (id[0] == 'S')
		snprintf(key, FABRIC_GRAPH_NAME_SIZE, "%s", id);
	else
		snprintf(key, FABRIC_GRAPH_NAME_SIZE, "%s:%" PRIu32, id, port);
}

static uint32_t add_node(struct ibnet *ibnet, const char *key, const char *id)
{
	const struct record *record = &ibnet->record;
	struct graph_draft *draft = ibnet->draft;
	uint32_t node;

	if (graph_draft_find(draft, key) != NONE) {
		graph_fail(draft, ibnet->line, "%s is described twice", quote(key).text);
		return NONE;
	}
	node = graph_draft_add_node(draft, key, ibnet->line);
	if (node == NONE)
		return NONE;
	draft->nodes[node].is_host = record->is_host;
	snprintf(draft->nodes[node].name, FABRIC_GRAPH_NAME_SIZE, "%s",
		 record->name[0] != '\0' ? record->name : id);
	snprintf(draft->nodes[node].id, FABRIC_GRAPH_NAME_SIZE, "%s", id);
	return node;
}

// With a second port, the names of the hosts of an adapter have the number of the port.
static int add_host(struct ibnet *ibnet, uint32_t port)
{
	struct graph_draft *draft = ibnet->draft;
	const uint32_t first = ibnet->record.first_node;
	char key[FABRIC_GRAPH_NAME_SIZE];
	uint32_t node;

	make_key(key, ibnet->record.id, port);
	node = add_node(ibnet, key, ibnet->record.id);
	if (node == NONE)
		return -1;
	for (uint32_t i = node == first + 1 ? first : node; node > first && i <= node; i++) {
		struct graph_node *host = &draft->nodes[i];

		snprintf(host->id, sizeof(host->id), "%s", host->key);
		snprintf(host->name + strlen(host->name), sizeof(host->name) - strlen(host->name),
			 "%s", strrchr(host->key, ':'));
	}
	return 0;
}

// A line that begins with Switch, Ca or Rt. Routers are no part of the graph.
static int begin_record(struct ibnet *ibnet, const char *text)
{
	struct record *record = &ibnet->record;
	const char *at = read_quoted(text, record->id, sizeof(record->id));

	record->is_host = text[0] == 'C';
	record->first_node = ibnet->draft->n_nodes;
	record->name[0] = '\0';
	if (at == NULL || (text[0] == 'S' && record->id[0] != 'S') ||
	    (text[0] == 'C' && record->id[0] != 'H'))
		return graph_fail(ibnet->draft, ibnet->line,
				  "expected: Switch N \"S-GUID\", or Ca N \"H-GUID\"");
	if (text[0] == 'R' || strstr(at, NO_HOST_TEXT) != NULL) {
		record->id[0] = 'R';
		return 0;
	}
	// The longest description, so that the number of a port has room behind it.
	(void)read_quoted(at, record->name, 65);
	if (record->is_host || ibnet->makes_links)
		return 0;
	return add_node(ibnet, record->id, record->id) != NONE ? 0 : -1;
}

// --- links ---

static int add_link(struct ibnet *ibnet, const struct port_line *line)
{
	struct graph_draft *draft = ibnet->draft;
	struct graph_link link = { .ports = { line->port, line->peer_port },
				   .rate = line->rate,
				   .line = ibnet->line };
	char keys[2][FABRIC_GRAPH_NAME_SIZE];

	make_key(keys[0], ibnet->record.id, line->port);
	make_key(keys[1], line->peer, line->peer_port);
	for (unsigned i = 0; i < 2; i++) {
		link.nodes[i] = graph_draft_find(draft, keys[i]);
		if (link.nodes[i] == NONE)
			return graph_fail(draft, ibnet->line,
					  "%s has no record in this file that names this link",
					  quote(keys[i]).text);
	}
	// A cable between two ports of one switch carries nothing.
	return link.nodes[0] == link.nodes[1] ? 0 : graph_draft_add_link(draft, &link);
}

static int read_line(struct ibnet *ibnet, const char *text)
{
	struct port_line line;

	if (strncmp(text, "Switch", 6) == 0 || strncmp(text, "Ca\t", 3) == 0 ||
	    strncmp(text, "Ca ", 3) == 0 || strncmp(text, "Rt\t", 3) == 0 ||
	    strncmp(text, "Rt ", 3) == 0)
		return begin_record(ibnet, text);
	if (text[0] != '[')
		return 0;
	if (ibnet->record.id[0] == '\0')
		return graph_fail(ibnet->draft, ibnet->line,
				  "a port in front of the first Switch or Ca");
	if (!read_port_line(text, &line))
		return graph_fail(ibnet->draft, ibnet->line,
				  "expected: [PORT] \"S-GUID\"[PORT], or [PORT] \"H-GUID\"[PORT]");
	if (ibnet->record.id[0] == 'R' || line.peer[0] == 'R' || strstr(text, NO_HOST_TEXT) != NULL)
		return 0;
	if (ibnet->makes_links)
		return add_link(ibnet, &line);
	return ibnet->record.is_host ? add_host(ibnet, line.port) : 0;
}

static int read_lines(struct ibnet *ibnet, const char *text, size_t length)
{
	const char *end = text + length;
	char line[LINE_SIZE];

	ibnet->record = (struct record){ 0 };
	ibnet->line = 0;
	while (text < end) {
		const char *next = memchr(text, '\n', (size_t)(end - text));
		size_t size = (size_t)((next != NULL ? next : end) - text);

		ibnet->line++;
		if (size >= sizeof(line))
			return graph_fail(ibnet->draft, ibnet->line, "is longer than %u bytes",
					  LINE_SIZE - 1);
		memcpy(line, text, size);
		line[size] = '\0';
		if (strlen(line) < size)
			return graph_fail(ibnet->draft, ibnet->line, "has a null character");
		if (read_line(ibnet, line) != 0)
			return -1;
		text += size + 1;
	}
	return 0;
}

// --- links that the file has twice ---

// The ends of a link in one order.
static void order_ends(const struct graph_link *link, uint64_t ends[2])
{
	const uint64_t one = (uint64_t)link->nodes[0] << 32 | link->ports[0];
	const uint64_t other = (uint64_t)link->nodes[1] << 32 | link->ports[1];

	ends[0] = one < other ? one : other;
	ends[1] = one < other ? other : one;
}

static int compare_links(const void *one, const void *other)
{
	const struct graph_link *a = one, *b = other;
	uint64_t ends[2][2];

	order_ends(a, ends[0]);
	order_ends(b, ends[1]);
	for (unsigned i = 0; i < 2; i++)
		if (ends[0][i] != ends[1][i])
			return ends[0][i] < ends[1][i] ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

static int compare_lines(const void *one, const void *other)
{
	const struct graph_link *a = one, *b = other;

	return a->line < b->line ? -1 : a->line > b->line;
}

// Each link stands in the records of both of its ends: the first one counts.
static void merge_links(struct graph_draft *draft)
{
	uint32_t n = 0;

	if (draft->n_links == 0)
		return;
	qsort(draft->links, draft->n_links, sizeof(*draft->links), compare_links);
	for (uint32_t i = 0; i < draft->n_links; i++) {
		uint64_t ends[2][2] = { { 0 } };

		order_ends(&draft->links[i], ends[0]);
		if (n > 0)
			order_ends(&draft->links[n - 1], ends[1]);
		if (n == 0 || memcmp(ends[0], ends[1], sizeof(ends[0])) != 0)
			draft->links[n++] = draft->links[i];
	}
	draft->n_links = n;
	qsort(draft->links, n, sizeof(*draft->links), compare_lines);
}

static int compare_names(const void *one, const void *other)
{
	const struct graph_node *const *a = one, *const *b = other;

	return strcmp((*a)->name, (*b)->name);
}

// Nodes of the same description are named by their ids.
static int separate_names(struct graph_draft *draft)
{
	struct graph_node **sorted = malloc(((size_t)draft->n_nodes + 1) * sizeof(*sorted));

	if (sorted == NULL)
		return graph_fail(draft, 0, "out of memory");
	for (uint32_t i = 0; i < draft->n_nodes; i++)
		sorted[i] = &draft->nodes[i];
	qsort(sorted, draft->n_nodes, sizeof(*sorted), compare_names);
	for (uint32_t i = 0, end; i < draft->n_nodes; i = end) {
		for (end = i + 1; end < draft->n_nodes; end++)
			if (compare_names(&sorted[i], &sorted[end]) != 0)
				break;
		for (uint32_t j = i; end - i > 1 && j < end; j++)
			memcpy(sorted[j]->name, sorted[j]->id, sizeof(sorted[j]->id));
	}
	free(sorted);
	return 0;
}

int graph_read_ibnet(struct graph_draft *draft, const char *text, size_t length)
{
	struct ibnet ibnet = { .draft = draft };

	if (read_lines(&ibnet, text, length) != 0)
		return -1;
	if (draft->n_nodes == 0)
		return graph_fail(draft, 0, "is neither JSON nor the output of ibnetdiscover");
	ibnet.makes_links = true;
	if (read_lines(&ibnet, text, length) != 0)
		return -1;
	merge_links(draft);
	return separate_names(draft);
}
