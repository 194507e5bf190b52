// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reads a JSON tree as the key tables define it.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "config/internal.h"

__attribute__((format(printf, 2, 3))) static size_t path_append(struct config_reader *reader,
								const char *format, ...)
{
	size_t length = strlen(reader->path);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reader->path + length, sizeof(reader->path) - length, format, arguments);
	va_end(arguments);
	return length;
}

size_t config_path_key(struct config_reader *reader, const char *key)
{
	return path_append(reader, "%s%s", reader->path[0] ? "." : "",
			   key[0] ? quote_bare(key).text : "\"\"");
}

size_t config_path_index(struct config_reader *reader, unsigned index)
{
	return path_append(reader, "[%u]", index);
}

void config_path_leave(struct config_reader *reader, size_t length)
{
	reader->path[length] = '\0';
}

// Writes "node NAME: " if a node is being checked and the path names a key of the whole file.
static void name_node(const struct config_reader *reader, char text[EVB_NAME_SIZE + 8])
{
	text[0] = '\0';
	if (reader->node && reader->node_name[0] && strncmp(reader->path, "nodes[", 6) != 0)
		snprintf(text, EVB_NAME_SIZE + 8, "node %s: ", reader->node_name);
}

int config_fail(struct config_reader *reader, const char *format, ...)
{
	char node[EVB_NAME_SIZE + 8];
	char what[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	name_node(reader, node);
	int length = snprintf(reader->error, CONFIG_ERROR_SIZE, "%.250s: %s%s%s%s", reader->file,
			      node, reader->path, reader->path[0] ? ": " : "", what);
	if (length >= CONFIG_ERROR_SIZE)
		strcpy(reader->error + CONFIG_ERROR_SIZE - sizeof("..."), "...");
	return -1;
}

static const char *type_name(const cJSON *item)
{
	if (cJSON_IsNull(item))
		return "null";
	if (cJSON_IsBool(item))
		return "a boolean";
	if (cJSON_IsNumber(item))
		return "a number";
	if (cJSON_IsString(item))
		return "a string";
	return cJSON_IsArray(item) ? "a list" : "an object";
}

int config_fail_type(struct config_reader *reader, const char *expected, const cJSON *item)
{
	return config_fail(reader, "expected %s, found %s", expected, type_name(item));
}

static int fail_unknown_key(struct config_reader *reader, const struct config_object *object,
			    const char *name)
{
	struct spelling_nearest nearest = { NULL, 0 };

	config_path_key(reader, name);
	for (unsigned i = 0; i < object->n_keys; i++)
		spelling_compare(&nearest, name, object->keys[i].name);
	if (!nearest.name)
		return config_fail(reader, "unknown key");
	return config_fail(reader, "unknown key, did you mean \"%s\"?", nearest.name);
}

static int find_key(const struct config_object *object, const char *name)
{
	for (unsigned i = 0; i < object->n_keys; i++)
		if (strcmp(object->keys[i].name, name) == 0)
			return (int)i;
	return -1;
}

int config_match_keys(struct config_reader *reader, const struct config_object *object,
		      const cJSON *json, const cJSON *items[CONFIG_KEYS_MAXIMUM])
{
	const cJSON *item;

	memset(items, 0, CONFIG_KEYS_MAXIMUM * sizeof(items[0]));
	cJSON_ArrayForEach(item, json)
	{
		int index = find_key(object, item->string);
		if (index < 0)
			return fail_unknown_key(reader, object, item->string);
		if (items[index]) {
			config_path_key(reader, item->string);
			return config_fail(reader, "key is given twice");
		}
		items[index] = item;
	}
	return 0;
}

int config_read_elements(struct config_reader *reader, const struct config_key *key,
			 const cJSON *json, config_element_reader read_element, void *base)
{
	char *at = (char *)base + key->offset;
	unsigned n_elements = 0;
	const cJSON *element;

	cJSON_ArrayForEach(element, json)
	{
		if (n_elements == key->maximum)
			return config_fail(reader, "more than %u elements", (unsigned)key->maximum);
		size_t length = config_path_index(reader, n_elements);
		if (read_element(reader, key, element, at, n_elements))
			return -1;
		config_path_leave(reader, length);
		n_elements++;
	}
	if (n_elements < key->minimum)
		return config_fail(reader, "at least one element is needed");
	memcpy((char *)base + key->count, &n_elements, sizeof(n_elements));
	return 0;
}

static int read_object_element(struct config_reader *reader, const struct config_key *key,
			       const cJSON *element, void *elements, unsigned index)
{
	return config_read_object(reader, key->object, element,
				  (char *)elements + index * key->width);
}

static int read_list(struct config_reader *reader, const struct config_key *key, const cJSON *json,
		     void *base)
{
	bool may_be_auto = key->type == CONFIG_TYPE_LIST_OR_AUTO;

	if (may_be_auto && cJSON_IsString(json) && strcmp(json->valuestring, "auto") == 0)
		return 0;
	if (!cJSON_IsArray(json))
		return config_fail_type(
		    reader, may_be_auto ? "\"auto\" or a list of objects" : "a list of objects",
		    json);
	return config_read_elements(reader, key, json, read_object_element, base);
}

static int read_present(struct config_reader *reader, const struct config_key *key,
			const cJSON *item, void *base)
{
	switch (key->type) {
	case CONFIG_TYPE_OBJECT:
		return config_read_object(reader, key->object, item, (char *)base + key->offset);
	case CONFIG_TYPE_LIST:
	case CONFIG_TYPE_LIST_OR_AUTO:
		return read_list(reader, key, item, base);
	case CONFIG_TYPE_NODES:
		return 0; // config_read_nodes() reads them
	default:
		return config_read_value(reader, key, item, base);
	}
}

static int read_standard(struct config_reader *reader, const struct config_key *key, void *base)
{
	cJSON *standard = config_read_bare(key->standard);

	if (!standard)
		return config_fail(reader, "out of memory");
	int result = read_present(reader, key, standard, base);
	cJSON_Delete(standard);
	return result;
}

int config_read_key(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		    void *base)
{
	if (item)
		return read_present(reader, key, item, base);
	if (key->type == CONFIG_TYPE_OBJECT)
		return config_read_object(reader, key->object, NULL, (char *)base + key->offset);
	return key->standard ? read_standard(reader, key, base) : 0;
}

// Checks that required keys are present, and that no key is present without the key that it needs.
static int check_presence(struct config_reader *reader, const struct config_object *object,
			  const struct config_key *key, const cJSON **items, bool is_present)
{
	if (is_present && key->needs && !items[find_key(object, key->needs)])
		return config_fail(reader, "is of use with %s only", key->needs);
	if (!is_present && key->required && !(key->unless && items[find_key(object, key->unless)]))
		return config_fail(reader, "required, but missing");
	return 0;
}

int config_read_object(struct config_reader *reader, const struct config_object *object,
		       const cJSON *json, void *base)
{
	const cJSON *items[CONFIG_KEYS_MAXIMUM];

	if (json && !cJSON_IsObject(json))
		return config_fail_type(reader, "an object", json);
	if (config_match_keys(reader, object, json, items))
		return -1;
	for (unsigned i = 0; i < object->n_keys; i++) {
		const struct config_key *key = &object->keys[i];
		if (key->as_root || key->is_partial)
			continue; // config_read_nodes() reads them
		size_t length = config_path_key(reader, key->name);
		if (check_presence(reader, object, key, items, items[i] != NULL) ||
		    config_read_key(reader, key, items[i], base))
			return -1;
		config_path_leave(reader, length);
	}
	return 0;
}
