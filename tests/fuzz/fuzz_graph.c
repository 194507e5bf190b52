// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <string.h>

#include "fuzz.h"

#include "fabric_files/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sim_links links = { UINT64_C(100000000000), 170 };
	char error[FABRIC_GRAPH_ERROR] = "";
	struct fabric_graph graph;
	const int result =
	    fabric_graph_parse(&graph, (const char *)data, size, "fuzz", links, error);

	// An error is one printable line; without one each host has one link, with a switch.
	if ((result == 0) != (error[0] == '\0') || strchr(error, '\n'))
		abort();
	for (uint32_t i = 0, hosts = 0; result == 0 && i < graph.topology.n_links; i++) {
		const uint32_t *ends = graph.topology.links[i].ends, n = graph.topology.n_hosts;

		hosts += (ends[0] < n) + (ends[1] < n);
		if ((ends[0] < n && ends[1] < n) || hosts > n ||
		    (i + 1 == graph.topology.n_links && hosts != n))
			abort();
	}
	fabric_graph_free(&graph);
	return 0;
}
