// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Checks of the rules between the nodes of a system. Each function returns 0, or -1 after it wrote
// the message with config_fail().
#pragma once

#include "config/internal.h"

// The node that has each source, by index into sources.ids: the node's number + 1; 0: none yet.
struct config_owners {
	uint16_t nodes[EVB_MAX_SOURCES];
};

// Checks the event manager. `config` has the keys that the file contains for all nodes.
int config_check_event_manager(struct config_reader *reader, const struct config *config);

// Adds a node to *cluster and its sources to *owners. The node has passed config_check().
int config_cluster_add(struct config_reader *reader, const struct config *node,
		       struct cluster_system *cluster, struct config_owners *owners);

// Checks the system. To be called after all nodes were added.
// `system` has the keys that the file contains for all nodes, and the cluster.
int config_check_cluster(struct config_reader *reader, const struct config_sources *sources,
			 const struct config *system, const struct config_owners *owners);
