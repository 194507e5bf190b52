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
#define FABRIC_GRAPH_NAME_SIZE 72
#define FABRIC_GRAPH_NONE      UINT32_MAX
#define FABRIC_GRAPH_ERROR     512 // bytes, as CONFIG_ERROR_SIZE

struct fabric_graph_name {
	char text[FABRIC_GRAPH_NAME_SIZE];
};

// The numbers that the file gives to the ports at the ends of a link; 0: none.
struct fabric_graph_ports {
	uint32_t ends[2];
};

struct fabric_graph {
	// Hosts in the order of the file: of the list `hosts`, or of the records Ca. Switches in
	// the order in which they appear.
	struct sim_topology topology;
	uint32_t n_nodes;                 // of the topology, hosts and switches
	struct fabric_graph_name *names;  // of the nodes of the topology, all different
	struct fabric_graph_name *ids;    // same; of InfiniBand: S-GUID, H-GUID; otherwise empty
	struct fabric_graph_ports *ports; // of the links of the topology
};

// For the files of this folder: writes "FILE:LINE: TEXT" into error[FABRIC_GRAPH_ERROR] and returns
// -1. line 0: without a line.
__attribute__((format(printf, 4, 5))) int fabric_file_fail(char *error, const char *path,
							   unsigned line, const char *format, ...);

// Reads the text of a file, which messages call `name`; `links` holds for links without a rate or a
// delay. Returns 0, or -1 with one line in error[FABRIC_GRAPH_ERROR]: "NAME:LINE: what is wrong".
// Free the graph in both cases.
int fabric_graph_parse(struct fabric_graph *graph, const char *text, size_t length,
		       const char *name, struct sim_links links, char *error);

void fabric_graph_free(struct fabric_graph *graph);

// The node of the topology that has this name or id; FABRIC_GRAPH_NONE: there is none.
uint32_t fabric_graph_find(const struct fabric_graph *graph, const char *name);
