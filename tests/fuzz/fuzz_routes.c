// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Routes of a square of switches with two hosts.
#include <string.h>

#include "fuzz.h"

#include "fabric_files/routes.h"

static const char square[] =
    "{\"hosts\": [\"a\", \"b\"], \"links\": [{\"from\": \"a\", \"to\": \"l1\"}, {\"from\": "
    "\"b\", \"to\": \"l2\"}, {\"from\": \"l1\", \"from_port\": 1, \"to\": \"s1\"}, {\"from\": "
    "\"l1\", \"from_port\": 2, \"to\": \"s2\"}, {\"from\": \"l2\", \"to\": \"s1\"}, {\"from\": "
    "\"l2\", \"to\": \"s2\"}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sim_links links = { UINT64_C(100000000000), 170 };
	char error[FABRIC_GRAPH_ERROR] = "";
	struct sim_route_table table;
	struct fabric_graph graph;
	int result;

	if (fabric_graph_parse(&graph, square, strlen(square), "square", links, error) != 0)
		abort();
	result = fabric_routes_parse(&table, (const char *)data, size, "fuzz", &graph.topology,
				     &graph, error);
	// An error is one line; without one each switch with a host has a route to the other host.
	if ((result == 0) != (error[0] == '\0') || strchr(error, '\n') ||
	    (result == 0 && (sim_route_table_entry(&table, 0, 1)->count == 0 ||
			     sim_route_table_entry(&table, 1, 0)->count == 0)))
		abort();
	sim_route_table_free(&table);
	fabric_graph_free(&graph);
	return 0;
}
