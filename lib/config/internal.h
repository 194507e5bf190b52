// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of lib/config share and nobody else needs.
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

// Where the parser stands; carried along for messages.
struct config_reader {
	const char *file;
	char *error; // CONFIG_ERROR_SIZE
	char path[192];
	const cJSON *node;     // that is being read or checked, NULL: none
	unsigned node_index;   // in the list of nodes
	const char *node_name; // empty until it is known
};

// Each goes one step down and returns what config_path_leave() takes to come back.
size_t config_path_key(struct config_reader *reader, const char *key);
size_t config_path_index(struct config_reader *reader, unsigned index);
void config_path_leave(struct config_reader *reader, size_t length);

// Writes "FILE: PATH: what" and returns -1, so that callers can return it.
__attribute__((format(printf, 2, 3))) int config_fail(struct config_reader *reader,
						      const char *format, ...);

// "expected WHAT, found ..." from the type of the item.
int config_fail_type(struct config_reader *reader, const char *expected, const cJSON *item);

// Reads a whole file of at most CONFIG_FILE_MAXIMUM bytes. The caller frees the text.
char *config_read_file(struct config_reader *reader, const char *path, size_t *length);

// Parses JSON; a syntax error is told with line and column. The caller deletes the tree.
cJSON *config_read_json(struct config_reader *reader, const char *text, size_t length);

// JSON, or a bare string if it is none. NULL if it looks like JSON (begins as a list, an object or
// a string does) but is broken, or memory ran out.
cJSON *config_read_bare(const char *text);

// Applies "path=value" to the tree.
int config_override(struct config_reader *reader, cJSON *root, const char *text);

// Reads an object by its keys into the struct at base; json NULL: all keys are absent.
int config_read_object(struct config_reader *reader, const struct config_object *object,
		       const cJSON *json, void *base);

// Sorts the members of an object by key: items[i] is that of object->keys[i], NULL if it is absent.
int config_match_keys(struct config_reader *reader, const struct config_object *object,
		      const cJSON *json, const cJSON *items[CONFIG_KEYS_MAXIMUM]);

// Reads one key, given (item) or absent (NULL).
int config_read_key(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		    void *base);

// Reads the elements of a list, in order, and stores their number.
typedef int (*config_element_reader)(struct config_reader *reader, const struct config_key *key,
				     const cJSON *element, void *elements, unsigned index);
int config_read_elements(struct config_reader *reader, const struct config_key *key,
			 const cJSON *json, config_element_reader read_element, void *base);

// Reads a value that is neither an object nor a list of objects.
int config_read_value(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		      void *base);

// Reads a list of source ids, of any of the three types.
int config_read_ids(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		    void *base);

// What lies between keys: names that must exist, sums, what excludes what. Completes what follows
// from other keys (the groups of writers).
int config_check(struct config_reader *reader, struct config *config);
int config_check_roce(struct config_reader *reader, const struct config *config);

// Where an id lies in an ascending list; NULL if it is not there.
const uint16_t *config_find_id(const uint16_t *ids, unsigned n_ids, uint16_t id);

// Each sets the place that a message is about, PATH or LIST[INDEX].KEY, and returns the reader.
// While a node is checked these are its own keys where it has them, else those of the file.
struct config_reader *config_at(struct config_reader *reader, const char *path);
struct config_reader *config_at_element(struct config_reader *reader, const char *list,
					unsigned index, const char *key);

// Goes through the nodes of a system: reads and checks each on top of what the file says for all,
// which is in *config, and the system as a whole. *config becomes that of the node called `name`.
int config_read_nodes(struct config_reader *reader, const cJSON *nodes, const char *name,
		      struct config *config);

// The same for all nodes of a system, however the file is laid out.
uint64_t config_hash(const cJSON *root, const struct config_sources *sources);
