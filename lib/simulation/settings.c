// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The section `fabric` as JSON, with the values of absent keys, written as people write them.
#include <string.h>

#include "config/keys.h"
#include "simulation/internal.h"

// A member of 1, 2, 4 or 8 bytes. The processors that evb runs on are little-endian.
static uint64_t whole_at(const char *member, size_t width)
{
	uint64_t value = 0;

	memcpy(&value, member, width);
	return value;
}

static cJSON *quantity(const struct config_key *key, const char *member)
{
	const uint64_t value = whole_at(member, key->width);
	char text[UNITS_TEXT_SIZE];

	if (key->or_auto && value == key->automatic)
		return cJSON_CreateString("auto");
	units_format(key->units, value, text);
	return cJSON_CreateString(text);
}

static cJSON *real(const char *member)
{
	double value;

	memcpy(&value, member, sizeof(value));
	return cJSON_CreateNumber(value);
}

static bool is_present(const struct config_key *key, const char *structure)
{
	if (key->presence != 0)
		return whole_at(structure + key->presence, sizeof(bool)) != 0;
	if (key->type == CONFIG_TYPE_NAMES)
		return whole_at(structure + key->count, sizeof(unsigned)) > 0;
	return (key->type != CONFIG_TYPE_NAME && key->type != CONFIG_TYPE_TEXT) ||
	       structure[key->offset] != '\0';
}

static cJSON *values_of(const struct config_object *object, const char *structure);

// The values of a list, or its names.
static cJSON *elements_of(const struct config_key *key, const char *structure)
{
	const char *element = structure + key->offset;
	cJSON *list = cJSON_CreateArray();
	unsigned n;

	memcpy(&n, structure + key->count, sizeof(n));
	for (; n > 0; n--, element += key->width)
		cJSON_AddItemToArray(list, key->type == CONFIG_TYPE_LIST
					       ? values_of(key->object, element)
					       : cJSON_CreateString(element));
	return list;
}

static cJSON *values_of(const struct config_object *object, const char *structure)
{
	cJSON *values = cJSON_CreateObject();

	for (unsigned i = 0; i < object->n_keys; i++) {
		const struct config_key *key = &object->keys[i];
		const char *member = structure + key->offset;
		cJSON *value = NULL;

		if (!is_present(key, structure))
			continue;
		if (key->type == CONFIG_TYPE_WHOLE)
			value = quantity(key, member);
		else if (key->type == CONFIG_TYPE_REAL)
			value = real(member);
		else if (key->type == CONFIG_TYPE_WORD)
			value = cJSON_CreateString(key->words[whole_at(member, key->width)]);
		else if (key->type == CONFIG_TYPE_NAME || key->type == CONFIG_TYPE_TEXT)
			value = cJSON_CreateString(member);
		else if (key->type == CONFIG_TYPE_OBJECT)
			value = values_of(key->object, member);
		else if (key->type == CONFIG_TYPE_LIST || key->type == CONFIG_TYPE_NAMES)
			value = elements_of(key, structure);
		if (value != NULL)
			cJSON_AddItemToObject(values, key->name, value);
	}
	return values;
}

cJSON *simulation_settings(const struct config_fabric *fabric)
{
	return values_of(&config_fabric_object, (const char *)fabric);
}
