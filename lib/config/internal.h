// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Declarations that the files of lib/config share. Internal to lib/config.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "base/quote.h"
#include "config/config.h"
#include "config/keys.h"

#define CONFIG_FILE_MAXIMUM (16u << 20) // bytes

// Largest whole number that a JSON number, read as a double, holds without losing digits.
#define CONFIG_EXACT_MAXIMUM ((1ULL << 53) - 1)

// The place that the parser has reached. Messages contain it.
struct config_reader {
	const char *file;
	char *error; // CONFIG_ERROR_SIZE
	char path[192];
	const cJSON *node;                    // the node that is being read or checked; NULL: none
	unsigned node_index;                  // index of this node in the list of nodes
	const char *node_name;                // empty until the name was read
	const struct config_visitor *visitor; // NULL: none
};

// Each of the first two appends one step to the path. config_path_leave() removes the step; its
// argument is the value that they returned.
size_t config_path_key(struct config_reader *reader, const char *key);
size_t config_path_index(struct config_reader *reader, unsigned index);
void config_path_leave(struct config_reader *reader, size_t length);

// Writes the message "FILE: PATH: TEXT" and returns -1, so that callers can return the result.
__attribute__((format(printf, 2, 3))) int config_fail(struct config_reader *reader,
						      const char *format, ...);

// As config_fail(), with the text "expected WHAT, found ...", which names the type of the item.
int config_fail_type(struct config_reader *reader, const char *expected, const cJSON *item);

// Reads a whole file of at most CONFIG_FILE_MAXIMUM bytes. The caller frees the text.
char *config_read_file(struct config_reader *reader, const char *path, size_t *length);

// Parses JSON. Returns NULL after config_fail(); the message of a syntax error has line and column.
// The caller deletes the tree.
cJSON *config_read_json(struct config_reader *reader, const char *text, size_t length);

// Writes the lines in which the first n elements of a list begin; the list is a member of the root
// object of a text that config_read_json() has parsed.
void config_list_lines(const char *text, size_t length, const char *list, unsigned *lines,
		       unsigned n);

// Parses the text as JSON; a text that is not JSON becomes a string. Returns NULL if memory ran
// out, or if the text begins like a list, an object or a string but is not valid JSON.
cJSON *config_read_bare(const char *text);

// Applies an override, "path=value", to the tree.
int config_override(struct config_reader *reader, cJSON *root, const char *text);

// Reads all keys of an object into the struct at base. json NULL: all keys are absent.
int config_read_object(struct config_reader *reader, const struct config_object *object,
		       const cJSON *json, void *base);

// Sorts the members of an object by key: items[i] is the member with the name of object->keys[i],
// or NULL if the key is absent.
int config_match_keys(struct config_reader *reader, const struct config_object *object,
		      const cJSON *json, const cJSON *items[CONFIG_KEYS_MAXIMUM]);

// Reads one key. item NULL: the key is absent.
int config_read_key(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		    void *base);

// Reads the elements of a list, in order, and stores their number in the key's `count`.
typedef int (*config_element_reader)(struct config_reader *reader, const struct config_key *key,
				     const cJSON *element, void *elements, unsigned index);
int config_read_elements(struct config_reader *reader, const struct config_key *key,
			 const cJSON *json, config_element_reader read_element, void *base);

// Reads a value that is neither an object nor a list of objects.
int config_read_value(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		      void *base);

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
// Finds the nodes that faults name.
int config_resolve_faults(struct config_reader *reader, struct config_fabric *fabric,
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
