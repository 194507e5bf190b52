// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Lists of source ids: single ones, ranges, and those of a source map.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

#define N_IDS 65536

struct id_set {
	bool has[N_IDS];
	unsigned n_ids;
};

static const struct config_key id_key = {
	.type = CONFIG_TYPE_WHOLE,
	.units = UNITS_COUNT,
	.maximum = N_IDS - 1,
	.width = sizeof(uint16_t),
};

static int read_id(struct config_reader *reader, const cJSON *item, uint16_t *id)
{
	if (!cJSON_IsNumber(item) && !cJSON_IsString(item))
		return config_fail_type(reader, "a source id or a range \"FIRST-LAST\"", item);
	return config_read_value(reader, &id_key, item, id);
}

static int add_id(struct config_reader *reader, struct id_set *set, unsigned id)
{
	if (set->has[id])
		return config_fail(reader, "source id %u (0x%x) is given twice", id, id);
	set->has[id] = true;
	set->n_ids++;
	return 0;
}

// Reads one end of a range.
static int read_end(struct config_reader *reader, const char *text, size_t length, uint16_t *id)
{
	char digits[16];

	if (length >= sizeof(digits))
		return config_fail(reader, "%s is not a range of source ids", quote(text).text);
	memcpy(digits, text, length);
	digits[length] = '\0';
	cJSON item = { .type = cJSON_String, .valuestring = digits };
	return read_id(reader, &item, id);
}

static int read_range(struct config_reader *reader, const char *text, const char *hyphen,
		      struct id_set *set)
{
	uint16_t first, last;

	if (read_end(reader, text, (size_t)(hyphen - text), &first) ||
	    read_end(reader, hyphen + 1, strlen(hyphen + 1), &last))
		return -1;
	if (last < first)
		return config_fail(reader, "range %s ends before it begins", quote(text).text);
	for (unsigned id = first; id <= last; id++)
		if (add_id(reader, set, id))
			return -1;
	return 0;
}

static int read_list(struct config_reader *reader, const cJSON *list, struct id_set *set)
{
	unsigned index = 0;
	const cJSON *item;

	if (!cJSON_IsArray(list))
		return config_fail_type(reader, "a list of source ids", list);
	cJSON_ArrayForEach(item, list)
	{
		const char *hyphen = cJSON_IsString(item) ? strchr(item->valuestring, '-') : NULL;
		size_t length = config_path_index(reader, index++);
		uint16_t id;
		if (hyphen) {
			if (read_range(reader, item->valuestring, hyphen, set))
				return -1;
		} else if (read_id(reader, item, &id) || add_id(reader, set, id)) {
			return -1;
		}
		config_path_leave(reader, length);
	}
	return 0;
}

static int read_map_sources(struct config_reader *reader, const cJSON *map, struct id_set *set)
{
	const cJSON *sources = cJSON_GetObjectItemCaseSensitive(map, "sources");
	unsigned index = 0;
	const cJSON *source;

	config_path_key(reader, "sources");
	if (!cJSON_IsArray(sources))
		return config_fail(reader, "a list is expected here");
	size_t list_length = strlen(reader->path);
	cJSON_ArrayForEach(source, sources)
	{
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(source, "id");
		uint16_t id;
		config_path_index(reader, index++);
		config_path_key(reader, "id");
		if (!item)
			return config_fail(reader, "required, but missing");
		if (read_id(reader, item, &id) || add_id(reader, set, id))
			return -1;
		config_path_leave(reader, list_length);
	}
	return 0;
}

static int read_map(struct config_reader *reader, const char *path, struct id_set *set)
{
	char error[CONFIG_ERROR_SIZE];
	struct config_reader map_reader = { .file = path, .error = error };
	int result = -1;
	size_t length;

	char *text = config_read_file(&map_reader, path, &length);
	cJSON *map = text ? config_read_json(&map_reader, text, length) : NULL;
	if (map)
		result = read_map_sources(&map_reader, map, set);
	cJSON_Delete(map);
	free(text);
	return result ? config_fail(reader, "%s", error) : 0;
}

static int store_ids(struct config_reader *reader, const struct config_key *key,
		     const struct id_set *set, void *base)
{
	uint16_t *ids = (uint16_t *)((char *)base + key->offset);
	unsigned n_ids = 0;

	if (set->n_ids > key->maximum)
		return config_fail(reader, "%u source ids, at most %u are possible", set->n_ids,
				   (unsigned)key->maximum);
	for (unsigned id = 0; id < N_IDS; id++)
		if (set->has[id])
			ids[n_ids++] = (uint16_t)id;
	memcpy((char *)base + key->count, &n_ids, sizeof(n_ids));
	return 0;
}

static int store_ranges(struct config_reader *reader, const struct config_key *key,
			const struct id_set *set, void *base)
{
	struct source_id_range *ranges = (struct source_id_range *)((char *)base + key->offset);
	unsigned n = 0;

	for (unsigned id = 0; id < N_IDS; id++) {
		if (!set->has[id])
			continue;
		if (id == 0 || !set->has[id - 1]) {
			if (n == key->maximum)
				return config_fail(reader,
						   "more than %u separate ranges of source ids", n);
			ranges[n++].first = (uint16_t)id;
		}
		ranges[n - 1].last = (uint16_t)id;
	}
	memcpy((char *)base + key->count, &n, sizeof(n));
	return 0;
}

static int store_expected(struct config_reader *reader, const struct id_set *set,
			  struct config_sources *sources)
{
	for (unsigned i = 0; i < sources->n_ids; i++) {
		sources->expected[i] = set->has[sources->ids[i]];
		sources->n_expected += sources->expected[i];
	}
	if (sources->n_expected == set->n_ids)
		return 0;
	for (unsigned id = 0, i = 0; id < N_IDS; id++) {
		if (i < sources->n_ids && sources->ids[i] == id)
			i++;
		else if (set->has[id])
			return config_fail(reader, "source id %u (0x%x) is not in sources.ids", id,
					   id);
	}
	return 0;
}

static int read_set(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		    struct id_set *set, void *base)
{
	struct config_source_map map = { "" };

	if (key->type == CONFIG_TYPE_OWN_IDS && cJSON_IsObject(item)) {
		if (config_read_object(reader, key->object, item, &map))
			return -1;
		config_path_key(reader, "source_map");
		if (read_map(reader, map.path, set))
			return -1;
	} else if (read_list(reader, item, set)) {
		return -1;
	}
	if (set->n_ids == 0)
		return config_fail(reader, "at least one source id is needed");
	if (key->type == CONFIG_TYPE_EXPECTED)
		return store_expected(reader, set, base);
	if (key->type == CONFIG_TYPE_ID_RANGES)
		return store_ranges(reader, key, set, base);
	return store_ids(reader, key, set, base);
}

int config_read_ids(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		    void *base)
{
	size_t length = strlen(reader->path);
	struct id_set *set = calloc(1, sizeof(*set));

	if (!set)
		return config_fail(reader, "out of memory");
	int result = read_set(reader, key, item, set, base);
	free(set);
	if (result == 0)
		config_path_leave(reader, length);
	return result;
}
