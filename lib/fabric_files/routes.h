// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Routes that a file gives, for fabric.routes: {"routes": [{"switch": NAME, "to": {HOST: HOP,
// ...}},
// ...]}. HOST is a name, or "*" for all hosts without a member of their own. HOP is the name of a
// neighbour of the switch, the number of one of its ports, or a list of these.
#pragma once

#include "fabric_files/graph.h"
#include "sim/route_table.h"

// Reads the text of a file, which messages call `name`: the routes of a topology. `graph` has its
// names and ports; without names, hosts and switches are "host 0", "switch 0", ... Returns 0, or -1
// with one line in error[FABRIC_GRAPH_ERROR]: "NAME:LINE: what is wrong"; each host can be reached
// from all switches with hosts, and there is no loop. Free the table in both cases.
int fabric_routes_parse(struct sim_route_table *table, const char *text, size_t length,
			const char *name, const struct sim_topology *topology,
			const struct fabric_graph *graph, char *error);
