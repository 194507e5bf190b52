// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What may change between two runs of one process: the keys with between_runs in the key tables.
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

static int refuse(struct config_reader *reader)
{
	return config_fail(reader, "cannot change between two runs: start the nodes again");
}

static const void *at(const void *base, size_t offset)
{
	return (const char *)base + offset;
}

static unsigned count_of(const struct config_key *key, const void *base)
{
	unsigned n = 1;

	if (key->count != 0)
		memcpy(&n, at(base, key->count), sizeof(n));
	// The only list whose elements are not the first ones: a flag for each known source.
	return key->type == CONFIG_TYPE_EXPECTED ? EVB_MAX_SOURCES : n;
}

// Whether a value that is neither an object nor a list of objects is the same in both.
static bool is_same(const struct config_key *key, const void *now, const void *next)
{
	if (key->presence != 0 &&
	    memcmp(at(now, key->presence), at(next, key->presence), sizeof(bool)) != 0)
		return false;
	if (key->prefix != 0 && memcmp(at(now, key->prefix), at(next, key->prefix), 1) != 0)
		return false;
	return memcmp(at(now, key->offset), at(next, key->offset),
		      key->width * count_of(key, now)) == 0;
}

static int compare_objects(struct config_reader *reader, const struct config_object *object,
			   const void *now, const void *next);

static int compare_elements(struct config_reader *reader, const struct config_key *key,
			    const void *now, const void *next)
{
	for (unsigned i = 0; i < count_of(key, now); i++) {
		const size_t offset = key->offset + i * key->width;
		const size_t length = config_path_index(reader, i);

		if (compare_objects(reader, key->object, at(now, offset), at(next, offset)))
			return -1;
		config_path_leave(reader, length);
	}
	return 0;
}

static int compare_nodes(struct config_reader *reader, const struct cluster_system *now,
			 const struct cluster_system *next)
{
	if (now->n_nodes != next->n_nodes)
		return refuse(reader);
	for (unsigned i = 0; i < now->n_nodes; i++)
		if (strcmp(now->nodes[i].name, next->nodes[i].name) != 0 ||
		    now->nodes[i].manager != next->nodes[i].manager)
			return refuse(reader);
	return 0;
}

// Of the nodes each one compares what it has itself.
static int compare_key(struct config_reader *reader, const struct config_key *key, const void *now,
		       const void *next)
{
	switch (key->type) {
	case CONFIG_TYPE_IGNORED:
		return 0;
	case CONFIG_TYPE_NODES:
		return compare_nodes(reader, &((const struct config *)now)->cluster,
				     &((const struct config *)next)->cluster);
	case CONFIG_TYPE_OBJECT:
		return compare_objects(reader, key->object, at(now, key->offset),
				       at(next, key->offset));
	default:
		break;
	}
	if (key->count != 0 && memcmp(at(now, key->count), at(next, key->count), sizeof(unsigned)))
		return refuse(reader);
	if (key->type == CONFIG_TYPE_LIST || key->type == CONFIG_TYPE_LIST_OR_AUTO)
		return compare_elements(reader, key, now, next);
	return is_same(key, now, next) ? 0 : refuse(reader);
}

static int compare_objects(struct config_reader *reader, const struct config_object *object,
			   const void *now, const void *next)
{
	for (unsigned i = 0; i < object->n_keys; i++) {
		const struct config_key *key = &object->keys[i];
		const size_t length = config_path_key(reader, key->name);

		if (!key->between_runs && compare_key(reader, key, now, next))
			return -1;
		config_path_leave(reader, length);
	}
	return 0;
}

int config_check_change(const struct config *now, const struct config *next, char *error)
{
	struct config_reader reader = { .file = next->path, .error = error };

	return compare_objects(&reader, &config_root, now, next);
}

void config_replace(struct config *config, struct config *next)
{
	free(config->cluster.nodes);
	free(config->cluster.builders);
	free(config->cluster.source_ids);
	*config = *next;
	free(next); // its arrays are those of `config` now
}
