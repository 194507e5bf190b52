// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Declarations that the files of lib/config share. Internal to lib/config.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "config/reader.h"

// Parses the text as JSON; a text that is not JSON becomes a string. Returns NULL if memory ran
// out, or if the text begins like a list, an object or a string but is not valid JSON.
cJSON *config_read_bare(const char *text);

// Applies an override, "path=value", to the tree.
int config_override(struct config_reader *reader, cJSON *root, const char *text);

// Reads a list of source ids: CONFIG_TYPE_IDS, CONFIG_TYPE_OWN_IDS, CONFIG_TYPE_EXPECTED
// or CONFIG_TYPE_ID_RANGES.
int config_read_ids(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		    void *base);

// Checks the rules between keys: names that must exist, sums, keys that exclude each other.
// config_check() also sets the members that follow from other keys (groups of consumers).
int config_check(struct config_reader *reader, struct config *config);
// Replaces "auto" in ports and builders by values, as a part of config_check() (automatic.c).
int config_resolve(struct config_reader *reader, struct config *config);
int config_check_groups(struct config_reader *reader, struct config *config);
int config_check_roce(struct config_reader *reader, const struct config *config);

int config_check_fabric(struct config_reader *reader, const struct config_fabric *fabric);
// Finds the nodes that faults name, and checks what depends on the nodes.
int config_resolve_fabric(struct config_reader *reader, struct config_fabric *fabric,
			  const struct cluster_system *system);

// Checks what a port needs that receives RoCE, and that messages are MFPs.
int config_check_roce_port(struct config_reader *reader, const struct config *config,
			   unsigned port);

// Checks what generator i needs if it is of kind port.
int config_check_listen(struct config_reader *reader, const struct config *config, unsigned i);

// Checks the spill that generator i states.
int config_check_spill(struct config_reader *reader, const struct config *config, unsigned i);

// Whether an EtherType cannot be that of segments.
bool config_ether_type_is_taken(uint16_t ether_type);

void config_sort_ids(uint16_t *ids, unsigned n_ids);

// Finds an id in an ascending list. NULL if the list does not contain it.
const uint16_t *config_find_id(const uint16_t *ids, unsigned n_ids, uint16_t id);

// Each sets the path of the next message, PATH or LIST[INDEX].KEY, and returns the reader. While a
// node is checked, the path names the node's own key if the node has it, else the file's key.
struct config_reader *config_at(struct config_reader *reader, const char *path);
struct config_reader *config_at_element(struct config_reader *reader, const char *list,
					unsigned index, const char *key);

// Reads and checks all nodes of a system, and then the system as a whole. At the call *config has
// the keys that the file contains for all nodes; after it *config is that of the node `name`
// (config_load()).
int config_read_nodes(struct config_reader *reader, const cJSON *nodes, const char *name,
		      struct config *config);

// The hash is equal for all nodes that were started with the same configuration (hash.c).
// The hash of a text, not 0.
uint64_t config_hash_text(const char *text);

uint64_t config_hash(const cJSON *root, const struct config_sources *sources);

// --- nodes of a system ---

// What a system may have once only.
struct config_owners {
	// The node that has each source, by index into sources.ids: the node's number + 1; 0: none
	// yet.
	uint16_t nodes[EVB_MAX_SOURCES];
	void *addresses; // tree of the nodes in cluster.nodes, by address (tsearch())
};

// Checks the event manager. `config` has the keys that the file contains for all nodes.
int config_check_event_manager(struct config_reader *reader, const struct config *config);

// Adds a node to *cluster, and its sources and its address to *owners. The node has passed
// config_check().
int config_cluster_add(struct config_reader *reader, const struct config *node,
		       struct cluster_system *cluster, struct config_owners *owners);

// Finds the results of the system before any node is read, and adds them to common->cluster. `node`
// is room for reading.
int config_find_results(struct config_reader *reader, const cJSON *nodes, struct config *common,
			struct config *node);

// Adds to a node, before it is checked, the results that another node writes.
int config_add_results(struct config_reader *reader, struct config *node);

// Checks the system. To be called after all nodes were added.
// `system` has the keys that the file contains for all nodes, and the cluster.
int config_check_cluster(struct config_reader *reader, const struct config_sources *sources,
			 const struct config *system, const struct config_owners *owners);
