// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Nodes compare this hash to detect that they were started with different configurations. It covers
// the file with its overrides, except for the keys that concern one node alone (is_local in the key
// tables: memory, lcores, idle, links, event_ring, groups,
// writers, results, fabric, event_manager.key_file). It also covers
// the source ids, because they may come from a source map. The order of keys and the white space do
// not change the hash.
#include <string.h>

#include "config/internal.h"

#define FNV_OFFSET 0xcbf29ce484222325ULL
#define FNV_PRIME  0x100000001b3ULL

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t length)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ byte[i]) * FNV_PRIME;
	return hash;
}

uint64_t config_hash_text(const char *text)
{
	return add_bytes(FNV_OFFSET, text, strlen(text));
}

static bool is_local(const struct config_object *object, const char *name)
{
	for (unsigned i = 0; object && i < object->n_keys; i++)
		if (strcmp(object->keys[i].name, name) == 0)
			return object->keys[i].is_local;
	return false;
}

static uint64_t hash_value(const cJSON *item, const struct config_object *object);

// The description of a key's value; NULL if nothing in it is local.
static const struct config_object *object_of(const struct config_object *object, const char *name)
{
	if (object == &config_root && strcmp(name, "nodes") == 0)
		return &config_node_object;
	if (object == &config_root && strcmp(name, "event_manager") == 0)
		return &config_event_manager_object;
	return NULL;
}

// Whether nothing of an object but local keys is given: then it is as if it were not there.
static bool all_is_local(const cJSON *json, const struct config_object *object)
{
	const cJSON *item;

	if (!object || !cJSON_IsObject(json))
		return false;
	cJSON_ArrayForEach(item, json)
	{
		if (!is_local(object, item->string))
			return false;
	}
	return true;
}

// Members are added, because a sum does not depend on their order.
static uint64_t hash_members(const cJSON *json, const struct config_object *object)
{
	uint64_t sum = 0;
	const cJSON *item;

	cJSON_ArrayForEach(item, json)
	{
		if (is_local(object, item->string) ||
		    all_is_local(item, object_of(object, item->string)))
			continue;
		uint64_t value = hash_value(item, object_of(object, item->string));
		uint64_t name = add_bytes(FNV_OFFSET, item->string, strlen(item->string) + 1);
		sum += add_bytes(name, &value, sizeof(value));
	}
	return sum;
}

// `object` describes the keys of the item, or of each of its elements. NULL if none is local.
static uint64_t hash_value(const cJSON *item, const struct config_object *object)
{
	uint64_t hash = FNV_OFFSET, part;
	const cJSON *element;

	if (cJSON_IsObject(item)) {
		part = hash_members(item, object);
		hash = add_bytes(add_bytes(hash, "{", 1), &part, sizeof(part));
	} else if (cJSON_IsArray(item)) {
		hash = add_bytes(hash, "[", 1);
		cJSON_ArrayForEach(element, item)
		{
			part = hash_value(element, object);
			hash = add_bytes(hash, &part, sizeof(part));
		}
	} else if (cJSON_IsString(item)) {
		hash = add_bytes(add_bytes(hash, "\"", 1), item->valuestring,
				 strlen(item->valuestring));
	} else if (cJSON_IsNumber(item)) {
		hash = add_bytes(add_bytes(hash, "#", 1), &item->valuedouble,
				 sizeof(item->valuedouble));
	} else {
		hash = add_bytes(hash, cJSON_IsTrue(item) ? "t" : "f", 1);
	}
	return hash;
}

uint64_t config_hash(const cJSON *root, const struct config_sources *sources)
{
	uint64_t hash = hash_value(root, &config_root);

	return add_bytes(hash, sources->ids, sources->n_ids * sizeof(sources->ids[0]));
}
