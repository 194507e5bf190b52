// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the nodes of a system must be to each other. Each of these returns 0, or -1 with the message
// written.
#pragma once

#include "config/internal.h"

// Which node stands for a source, by index into sources.ids: its number + 1, or 0 for none.
struct config_owners {
	uint16_t nodes[EVB_MAX_SOURCES];
};

// Checks the event manager, with what the file says for all nodes.
int config_check_event_manager(struct config_reader *reader, const struct config *config);

// Adds a node that is checked by itself to what is known of all.
int config_cluster_add(struct config_reader *reader, const struct config *node,
		       struct cluster_system *cluster, struct config_owners *owners);

// Checks the system when all nodes were added.
int config_check_cluster(struct config_reader *reader, const struct config_sources *sources,
			 const struct cluster_system *cluster, const struct config_owners *owners);
