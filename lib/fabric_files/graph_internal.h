// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A graph while it is read: graph.c (checks, and the result), graph_json.c and graph_ibnet.c (the
// two kinds of files).
#pragma once

#include <stdbool.h>

#include "fabric_files/graph.h"

struct graph_node {
	char key[FABRIC_GRAPH_NAME_SIZE]; // by which links name it
	char name[FABRIC_GRAPH_NAME_SIZE];
	char id[FABRIC_GRAPH_NAME_SIZE];
	bool is_host;
	unsigned line;    // where it appears first
	uint32_t n_links; // from the checks on, as all below
	uint32_t number;  // in the topology
};

struct graph_link {
	uint32_t nodes[2];
	uint32_t ports[2]; // 0: not given
	uint64_t rate;     // bits/s; 0: not given
	uint64_t delay_ns;
	bool has_delay;
	unsigned line;
};

struct graph_draft {
	const char *path;
	char *error; // FABRIC_GRAPH_ERROR
	struct graph_node *nodes;
	uint32_t n_nodes;
	size_t nodes_room;
	struct graph_link *links;
	uint32_t n_links;
	size_t links_room;
	void *index; // tree of keys (tsearch())
};

#define graph_fail(draft, line, ...) \
	fabric_file_fail((draft)->error, (draft)->path, line, __VA_ARGS__)

// The number of the node with this key; FABRIC_GRAPH_NONE: there is none.
uint32_t graph_draft_find(const struct graph_draft *draft, const char *key);
// Adds a node with a new key, its name and id still empty. FABRIC_GRAPH_NONE after graph_fail().
uint32_t graph_draft_add_node(struct graph_draft *draft, const char *key, unsigned line);
int graph_draft_add_link(struct graph_draft *draft, const struct graph_link *link);

// Each reads one kind of file into the draft.
int graph_read_json(struct graph_draft *draft, const char *text, size_t length);
int graph_read_ibnet(struct graph_draft *draft, const char *text, size_t length);
