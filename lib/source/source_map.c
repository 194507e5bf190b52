// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/source_map.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"
#include "source/file_bytes.h"

#define NOTE "a fragment of type 92 and size 0 stands for a bank that the event does not have"

static int by_id(const void *left, const void *right)
{
	const struct source_map_entry *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static int refuse(char *error, const char *name, const char *what)
{
	return error_line(error, SOURCE_ERROR_SIZE, "%s: %s", name, what);
}

// Reads the integer `key`, 0..maximum.
static int read_number(const cJSON *object, const char *key, unsigned maximum, unsigned *value)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= maximum))
		return -1;
	*value = (unsigned)item->valuedouble;
	return *value == item->valuedouble ? 0 : -1;
}

static int read_entry(const cJSON *item, struct source_map_entry *entry)
{
	unsigned id, bank_type, bank_source_id, version;

	if (read_number(item, "id", UINT16_MAX, &id) ||
	    read_number(item, "bank_type", UINT8_MAX, &bank_type) ||
	    read_number(item, "bank_source_id", UINT16_MAX, &bank_source_id) ||
	    read_number(item, "version", UINT8_MAX, &version))
		return -1;
	*entry = (struct source_map_entry){
		.id = (uint16_t)id,
		.bank_source_id = (uint16_t)bank_source_id,
		.bank_type = (uint8_t)bank_type,
		.version = (uint8_t)version,
	};
	return 0;
}

static int read_entries(struct source_map *map, const cJSON *sources, const char *name, char *error)
{
	const cJSON *item;

	map->entries = calloc((size_t)cJSON_GetArraySize(sources) + 1, sizeof(*map->entries));
	if (!map->entries)
		return refuse(error, name, "out of memory");
	cJSON_ArrayForEach(item, sources)
	{
		if (read_entry(item, &map->entries[map->n_entries]))
			return error_line(
			    error, SOURCE_ERROR_SIZE,
			    "%s: sources[%u]: id, bank_source_id (0..65535), bank_type and "
			    "version (0..255) are expected",
			    name, map->n_entries);
		map->n_entries++;
	}
	qsort(map->entries, map->n_entries, sizeof(*map->entries), by_id);
	for (unsigned i = 1; i < map->n_entries; i++) {
		if (map->entries[i].id == map->entries[i - 1].id)
			return error_line(error, SOURCE_ERROR_SIZE,
					  "%s: sources: id %u is there twice", name,
					  map->entries[i].id);
	}
	return 0;
}

static int read_map(struct source_map *map, const cJSON *root, const char *name, char *error)
{
	const cJSON *source = cJSON_GetObjectItemCaseSensitive(root, "source");
	const cJSON *sources = cJSON_GetObjectItemCaseSensitive(root, "sources");

	if (!cJSON_IsObject(root))
		return refuse(error, name, "it is not a JSON object");
	if (!cJSON_IsString(source) || strlen(source->valuestring) >= sizeof(map->source))
		return refuse(error, name, "source: the name of a file is expected");
	if (!cJSON_IsArray(sources))
		return refuse(error, name, "sources: an array is expected");
	snprintf(map->source, sizeof(map->source), "%s", source->valuestring);
	return read_entries(map, sources, name, error);
}

int source_map_parse(struct source_map **map, const char *text, size_t length, const char *name,
		     char *error)
{
	cJSON *root = cJSON_ParseWithLength(text, length);
	struct source_map *made = calloc(1, sizeof(*made));
	int result;

	if (!made)
		result = refuse(error, name, "out of memory");
	else if (!root)
		result = refuse(error, name, "it is not valid JSON");
	else
		result = read_map(made, root, name, error);
	cJSON_Delete(root);
	if (result)
		source_map_free(made);
	else
		*map = made;
	return result;
}

int source_map_load(struct source_map **map, const char *path, char *error)
{
	uint8_t *bytes;
	size_t size;
	int result;

	if (file_bytes_read(path, &bytes, &size, error))
		return -1;
	result = source_map_parse(map, (const char *)bytes, size, path, error);
	free(bytes);
	return result;
}

const struct source_map_entry *source_map_find(const struct source_map *map, uint16_t id)
{
	const struct source_map_entry key = { .id = id };

	return bsearch(&key, map->entries, map->n_entries, sizeof(key), by_id);
}

static bool add_entry(cJSON *sources, const struct source_map_entry *entry)
{
	cJSON *item = cJSON_CreateObject();

	if (!cJSON_AddItemToArray(sources, item)) {
		cJSON_Delete(item);
		return false;
	}
	return cJSON_AddNumberToObject(item, "id", entry->id) &&
	       cJSON_AddNumberToObject(item, "bank_type", entry->bank_type) &&
	       cJSON_AddNumberToObject(item, "bank_source_id", entry->bank_source_id) &&
	       cJSON_AddNumberToObject(item, "version", entry->version);
}

// The caller frees the text. NULL if memory ran out.
static char *print_map(const struct source_map *map)
{
	cJSON *root = cJSON_CreateObject();
	char *text = NULL;
	cJSON *sources;
	bool whole = cJSON_AddStringToObject(root, "source", map->source) &&
		     cJSON_AddStringToObject(root, "note", NOTE);

	sources = cJSON_AddArrayToObject(root, "sources");
	for (unsigned i = 0; whole && i < map->n_entries; i++)
		whole = sources && add_entry(sources, &map->entries[i]);
	if (whole)
		text = cJSON_Print(root);
	cJSON_Delete(root);
	return text;
}

int source_map_save(const struct source_map *map, const char *path, char *error)
{
	char *text = print_map(map);
	FILE *file;
	int failed;

	if (!text)
		return refuse(error, path, "out of memory");
	file = fopen(path, "w");
	if (!file) {
		free(text);
		return refuse(error, path, strerror(errno));
	}
	failed = fputs(text, file) < 0 || fputc('\n', file) < 0;
	failed |= fclose(file);
	free(text);
	return failed ? refuse(error, path, strerror(errno)) : 0;
}

void source_map_free(struct source_map *map)
{
	if (!map)
		return;
	free(map->entries);
	free(map);
}
