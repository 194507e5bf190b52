// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How a file becomes values: its text, the JSON in it, and the keys of an object by a table
// (keys.h). For lib/config, and for rooms with files of their own that a configuration names.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "base/quote.h"
#include "config/config.h"
#include "config/keys.h"

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

// Reads a whole file (base/text_file.h). Returns NULL after config_fail(). The caller frees the
// text.
char *config_read_file(struct config_reader *reader, const char *path, size_t *length);

// Parses JSON. Returns NULL after config_fail(); the message of a syntax error has line and column.
// The caller deletes the tree.
cJSON *config_read_json(struct config_reader *reader, const char *text, size_t length);

// Reads all keys of an object into the struct at base, but not those of a node that replace keys of
// the file. json NULL: all keys are absent.
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
