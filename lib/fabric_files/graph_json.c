// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A graph as JSON. Names in `links` that are not in `hosts` are switches.
#include "fabric_files/graph_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/key_macros.h"
#include "config/reader.h"
#include "fabric_files/list_lines.h"

struct json_link {
	char from[FABRIC_GRAPH_NAME_SIZE], to[FABRIC_GRAPH_NAME_SIZE];
	uint32_t from_port, to_port;
	uint64_t rate, delay_ns;
	bool has_delay;
};

// clang-format off

static const struct config_key link_keys[] = {
	{ .name = "from", .type = CONFIG_TYPE_TEXT, RANGE(1, FABRIC_GRAPH_NAME_SIZE - 1),
	  FIELD(json_link, from), .required = true },
	{ .name = "to", .type = CONFIG_TYPE_TEXT, RANGE(1, FABRIC_GRAPH_NAME_SIZE - 1),
	  FIELD(json_link, to), .required = true },
	{ .name = "from_port", WHOLE(COUNT), RANGE(1, UINT16_MAX), FIELD(json_link, from_port) },
	{ .name = "to_port", WHOLE(COUNT), RANGE(1, UINT16_MAX), FIELD(json_link, to_port) },
	{ .name = "rate", WHOLE(BIT_RATE), RANGE(1000000, 10000000000000ULL),
	  FIELD(json_link, rate) },
	{ .name = "delay", WHOLE(TIME), RANGE(0, SECOND), FIELD(json_link, delay_ns),
	  .presence = offsetof(struct json_link, has_delay) },
};
static OBJECT(link_object, link_keys);

static const struct config_key name_key = { .type = CONFIG_TYPE_TEXT,
	RANGE(1, FABRIC_GRAPH_NAME_SIZE - 1), .width = FABRIC_GRAPH_NAME_SIZE };

enum { SCHEMA, HOSTS, LINKS };
static const struct config_key root_keys[] = {
	[SCHEMA] = { .name = "$schema" },
	[HOSTS] = { .name = "hosts" },
	[LINKS] = { .name = "links" },
};
static OBJECT(root_object, root_keys);

// clang-format on

// --- the file ---

struct json_graph {
	struct graph_draft *draft;
	struct config_reader reader;
	char cause[CONFIG_ERROR_SIZE];
};

// The reader's message is "FILE: PATH: WHAT".
static int fail_at(struct json_graph *json, unsigned line)
{
	return graph_fail(json->draft, line, "%s",
			  json->cause + strnlen(json->draft->path, 250) + 2);
}

static int read_host(struct json_graph *json, const cJSON *item, unsigned line)
{
	struct graph_draft *draft = json->draft;
	char name[FABRIC_GRAPH_NAME_SIZE];
	uint32_t node;

	if (config_read_value(&json->reader, &name_key, item, name) != 0)
		return fail_at(json, line);
	if (graph_draft_find(draft, name) != FABRIC_GRAPH_NONE)
		return graph_fail(draft, line, "the host %s is given twice", quote(name).text);
	node = graph_draft_add_node(draft, name, line);
	if (node == FABRIC_GRAPH_NONE)
		return -1;
	memcpy(draft->nodes[node].name, name, sizeof(name));
	draft->nodes[node].is_host = true;
	return 0;
}

// The node of this name; one that is not known yet is a switch.
static int find_end(struct graph_draft *draft, const char *name, unsigned line, uint32_t *node)
{
	*node = graph_draft_find(draft, name);
	if (*node != FABRIC_GRAPH_NONE)
		return 0;
	*node = graph_draft_add_node(draft, name, line);
	if (*node == FABRIC_GRAPH_NONE)
		return -1;
	snprintf(draft->nodes[*node].name, FABRIC_GRAPH_NAME_SIZE, "%s", name);
	return 0;
}

static int read_link(struct json_graph *json, const cJSON *item, unsigned line)
{
	struct json_link from = { 0 };
	struct graph_link link = { .line = line };

	if (config_read_object(&json->reader, &link_object, item, &from) != 0)
		return fail_at(json, line);
	if (find_end(json->draft, from.from, line, &link.nodes[0]) != 0 ||
	    find_end(json->draft, from.to, line, &link.nodes[1]) != 0)
		return -1;
	link.ports[0] = from.from_port;
	link.ports[1] = from.to_port;
	link.rate = from.rate;
	link.delay_ns = from.delay_ns;
	link.has_delay = from.has_delay;
	return graph_draft_add_link(json->draft, &link);
}

static int read_list(struct json_graph *json, const char *text, size_t length, const cJSON *list,
		     const char *name,
		     int (*read)(struct json_graph *json, const cJSON *item, unsigned line))
{
	unsigned *lines, i = 0;
	const cJSON *item;
	int result = 0;

	if (!cJSON_IsArray(list))
		return graph_fail(json->draft, 0, "%s: a list is expected here", name);
	lines = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*lines));
	if (lines == NULL)
		return graph_fail(json->draft, 0, "out of memory");
	json_list_lines(text, length, name, lines, (unsigned)cJSON_GetArraySize(list));
	cJSON_ArrayForEach(item, list)
	{
		json->reader.path[0] = '\0';
		config_path_key(&json->reader, name);
		config_path_index(&json->reader, i);
		result = read(json, item, lines[i++]);
		if (result != 0)
			break;
	}
	free(lines);
	return result;
}

// A switch with one link joins nothing: its name is wrong, or there is a host less in the list.
static int check_switches(const struct graph_draft *draft)
{
	uint32_t *n_links = calloc((size_t)draft->n_nodes + 1, sizeof(*n_links));
	int result = 0;

	if (n_links == NULL)
		return graph_fail(draft, 0, "out of memory");
	for (uint32_t i = 0; i < draft->n_links; i++)
		for (unsigned end = 0; end < 2; end++)
			n_links[draft->links[i].nodes[end]]++;
	for (uint32_t i = 0; i < draft->n_nodes && result == 0; i++)
		if (!draft->nodes[i].is_host && n_links[i] == 1)
			result = graph_fail(draft, draft->nodes[i].line,
					    "%s has one link and is not in the list of hosts",
					    quote(draft->nodes[i].name).text);
	free(n_links);
	return result;
}

static int read_root(struct json_graph *json, const cJSON *root, const char *text, size_t length)
{
	const cJSON *items[CONFIG_KEYS_MAXIMUM];

	if (config_match_keys(&json->reader, &root_object, root, items) != 0)
		return fail_at(json, 0);
	if (items[HOSTS] == NULL || items[LINKS] == NULL)
		return graph_fail(json->draft, 0, "%s: required, but missing",
				  items[HOSTS] == NULL ? "hosts" : "links");
	if (read_list(json, text, length, items[HOSTS], "hosts", read_host) != 0 ||
	    read_list(json, text, length, items[LINKS], "links", read_link) != 0)
		return -1;
	return check_switches(json->draft);
}

int graph_read_json(struct graph_draft *draft, const char *text, size_t length)
{
	struct json_graph json = { .draft = draft };
	cJSON *root;
	int result;

	json.reader = (struct config_reader){ .file = draft->path, .error = draft->error };
	root = config_read_json(&json.reader, text, length);
	if (root == NULL)
		return -1;
	json.reader.error = json.cause;
	result = read_root(&json, root, text, length);
	cJSON_Delete(root);
	return result;
}
