// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A network as a file describes it: hosts, switches, and the links between them. The file is either
// JSON, {"hosts": [NAME, ...], "links": [{"from": NAME, "to": NAME, ...}, ...]}, or what
// ibnetdiscover (infiniband-diags) prints. `evb sim` and `evb check` read it for fabric.graph.
//
// Threads: a graph belongs to one thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sim/topology.h"

// Bytes with the closing 0: the description of an InfiniBand node has at most 64, and can be
// followed by the number of a port.
#define CONFIG_GRAPH_NAME_SIZE 72
#define CONFIG_GRAPH_NONE      UINT32_MAX
#define CONFIG_GRAPH_ERROR     512 // bytes, as CONFIG_ERROR_SIZE

struct config_graph_name {
	char text[CONFIG_GRAPH_NAME_SIZE];
};

// The numbers that the file gives to the ports at the ends of a link; 0: none.
struct config_graph_ports {
	uint32_t ends[2];
};

struct config_graph {
	// Hosts in the order of the file: of the list `hosts`, or of the records Ca. Switches in
	// the order in which they appear.
	struct sim_topology topology;
	uint32_t n_nodes;                 // of the topology, hosts and switches
	struct config_graph_name *names;  // of the nodes of the topology, all different
	struct config_graph_name *ids;    // same; of InfiniBand: S-GUID, H-GUID; otherwise empty
	struct config_graph_ports *ports; // of the links of the topology
};

// Reads a file; `links` holds for links without a rate or a delay. Returns 0, or -1 with one line
// in error[CONFIG_GRAPH_ERROR]: "FILE:LINE: what is wrong". Free the graph in both cases.
int config_graph_read(struct config_graph *graph, const char *path, struct sim_links links,
		      char *error);

// The same, from text in memory; `name` stands for the file in messages.
int config_graph_parse(struct config_graph *graph, const char *text, size_t length,
		       const char *name, struct sim_links links, char *error);

void config_graph_free(struct config_graph *graph);

// The node of the topology that has this name or id; CONFIG_GRAPH_NONE: there is none.
uint32_t config_graph_find(const struct config_graph *graph, const char *name);
