// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "system/system.h"

#include <stdlib.h>

bool cluster_readouts_make(struct cluster_readouts *readouts, const struct cluster_system *system)
{
	const unsigned n = cluster_readouts_below(system, system->n_nodes);

	*readouts = (struct cluster_readouts){
		.of_node = calloc(system->n_nodes + n + 1, sizeof(*readouts->of_node)),
	};
	if (readouts->of_node == NULL)
		return false;
	readouts->nodes = readouts->of_node + system->n_nodes;
	for (unsigned i = 0; i < system->n_nodes; i++) {
		const bool sends = system->nodes[i].n_sources > 0;

		readouts->of_node[i] = sends ? (uint16_t)readouts->n : CLUSTER_NONE;
		if (sends)
			readouts->nodes[readouts->n++] = (uint16_t)i;
	}
	return true;
}

void cluster_readouts_free(struct cluster_readouts *readouts)
{
	free(readouts->of_node);
}
