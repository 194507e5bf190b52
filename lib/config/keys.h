// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The tables of all configuration keys, in keys*.c: the one place that says of each key what
// it is called, what it holds and where that goes in struct config. The parser, the JSON Schema and
// the reference page are made from them.
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
	CONFIG_TYPE_WORD,         // one of words; stored as an enum of that index
	CONFIG_TYPE_NAME,         // [A-Za-z0-9_-]+
	CONFIG_TYPE_TEXT,         // without control characters
	CONFIG_TYPE_IPV4,         // "10.0.0.1", with "/24" where .prefix is given
	CONFIG_TYPE_IPV6,         // "fd00::1", 16 bytes
	CONFIG_TYPE_IP,           // either, 16 bytes: IPv4 as ::ffff:a.b.c.d
	CONFIG_TYPE_MAC,          // "02:00:00:00:00:01"
	CONFIG_TYPE_IDS,          // list of source ids and ranges of them
	CONFIG_TYPE_OWN_IDS,      // the same, or an object that names a source map
	CONFIG_TYPE_EXPECTED,     // ids among sources.ids
	CONFIG_TYPE_NAMES,        // list of names
	CONFIG_TYPE_ROLES,        // list of names of roles, which have points in them
	CONFIG_TYPE_OPTIONS,      // object of names and values
	CONFIG_TYPE_OBJECT,       // see object
	CONFIG_TYPE_LIST,         // list of objects
	CONFIG_TYPE_LIST_OR_AUTO, // the same, or the word "auto"
	CONFIG_TYPE_NODES,        // the same, read by nodes.c
	CONFIG_TYPE_IGNORED,      // a string for editors
};

struct config_object;

struct config_key {
	const char *name;
	const char *help; // one sentence or two
	enum config_type type;
	enum units_kind units;
	bool required;
	const char *unless; // this key of the same object: it is not required then
	const char *needs;  // this key of the same object: only together with it
	bool power_of_two;
	bool or_auto;       // "auto" may stand in the place of a whole number
	uint64_t automatic; // what is stored then
	bool is_local;      // nodes of one system need not agree on it
	bool as_root;       // of a node: the key of this name of the file, for the node alone
	// What stands for an absent key, written as in an override: JSON or a bare string. NULL:
	// the memory stays zero.
	const char *standard;
	uint64_t minimum; // of a number; of characters in a name or text; of elements in a list
	uint64_t maximum;
	size_t offset;            // in the struct of the object
	size_t width;             // bytes of the field, or of one element
	size_t count;             // offset of n_...; 0: none
	size_t presence;          // offset of has_...; 0: none
	size_t prefix;            // offset of the prefix length of an IPv4 address; 0: none
	const char *const *words; // ended by NULL
	const struct config_object *object;
};

struct config_object {
	const struct config_key *keys;
	unsigned n_keys; // at most CONFIG_KEYS_MAXIMUM
};

#define CONFIG_KEYS_MAXIMUM 32

// The object that may stand in the place of a list of ids.
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
