// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The tables of all configuration keys, in keys*.c. An entry defines a key's name, its type and
// range, and the member of struct config that receives its value. The parser, the JSON Schema and
// the reference page are derived from these tables.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "config/config.h"

enum config_type {
	CONFIG_TYPE_BOOLEAN,
	CONFIG_TYPE_WHOLE,        // unsigned number of 1, 2, 4 or 8 bytes, see units
	CONFIG_TYPE_REAL,         // double, see units
	CONFIG_TYPE_WORD,         // one of `words`; its index is stored as an enum
	CONFIG_TYPE_NAME,         // [A-Za-z0-9_-]+
	CONFIG_TYPE_TEXT,         // without control characters
	CONFIG_TYPE_IPV4,         // "10.0.0.1"; if `prefix` is not 0: "10.0.0.1/24"
	CONFIG_TYPE_IPV6,         // "fd00::1", 16 bytes
	CONFIG_TYPE_IP,           // IPv4 or IPv6, 16 bytes: IPv4 as ::ffff:a.b.c.d
	CONFIG_TYPE_MAC,          // "02:00:00:00:00:01"
	CONFIG_TYPE_IDS,          // list of source ids and ranges of them
	CONFIG_TYPE_OWN_IDS,      // as CONFIG_TYPE_IDS, or an object that names a source map
	CONFIG_TYPE_EXPECTED,     // as CONFIG_TYPE_IDS, each of them in sources.ids
	CONFIG_TYPE_ID_RANGES,    // as CONFIG_TYPE_IDS, stored as struct source_id_range
	CONFIG_TYPE_ADDRESSES,    // list of struct source_address, as text
	CONFIG_TYPE_NAMES,        // list of names
	CONFIG_TYPE_ROLES,        // list of names of roles, which may contain points
	CONFIG_TYPE_OPTIONS,      // object of names and values
	CONFIG_TYPE_OBJECT,       // object with the keys of `object`
	CONFIG_TYPE_LIST,         // list of such objects
	CONFIG_TYPE_LIST_OR_AUTO, // list of such objects, or the word "auto"
	CONFIG_TYPE_NODES,        // list of such objects, which nodes.c reads
	CONFIG_TYPE_IGNORED,      // string that evb ignores (editors use it)
};

struct config_object;

struct config_key {
	const char *name;
	const char *help; // one or two sentences
	enum config_type type;
	enum units_kind units;
	bool required;
	const char *unless; // the key is not required if the object has this other key
	const char *needs;  // the key is allowed only if the object has this other key
	bool power_of_two;
	bool or_auto;       // the word "auto" is allowed instead of a whole number
	uint64_t automatic; // the value that is stored for "auto"
	bool is_local;      // nodes of one system may have different values
	bool between_runs;  // it and all in it may change between two runs (config_check_change())
	bool as_root;       // key of a node: replaces the file's key of this name for the node
	bool is_partial;    // object of a node: its keys replace those of the file's only port
	// Value of an absent key, written as in an override: JSON or a bare string. NULL: the
	// member stays zero.
	const char *standard;
	uint64_t minimum; // of a number; of characters in a name or text; of elements in a list
	uint64_t maximum;
	size_t offset;            // of the member in the struct of the object
	size_t width;             // bytes of the member, or of one element
	size_t count;             // offset of the member n_...; 0: none
	size_t presence;          // offset of the member has_...; 0: none
	size_t prefix;            // offset of the prefix length of an IPv4 address; 0: none
	const char *const *words; // the last one is NULL
	const struct config_object *object;
};

struct config_object {
	const struct config_key *keys;
	unsigned n_keys; // at most CONFIG_KEYS_MAXIMUM
};

#define CONFIG_KEYS_MAXIMUM 48

// The object that is allowed instead of a list of ids (CONFIG_TYPE_OWN_IDS).
struct config_source_map {
	char path[EVB_PATH_SIZE];
};

extern const struct config_object config_root;
extern const struct config_object config_node_object;
extern const struct config_object config_port_object;
extern const struct config_object config_transport_object;
extern const struct config_object config_generator_object;
extern const struct config_object config_event_manager_object;
extern const struct config_object config_roce_object;
extern const struct config_object config_fabric_object;
