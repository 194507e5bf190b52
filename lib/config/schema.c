// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The JSON Schema (draft 2020-12) of the key table.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

#define PATTERN_SIZE      256
#define PATTERN_COUNT     "([0-9]+|0[xX][0-9A-Fa-f]+)"
#define PATTERN_OCTET     "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#define PATTERN_IPV4      PATTERN_OCTET "(\\." PATTERN_OCTET "){3}"
#define PATTERN_IPV6      "[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*" // also matches some invalid addresses
#define PATTERN_MAC       "^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$"
#define PATTERN_PRINTABLE "^[^\\u0000-\\u001f\\u007f]*$"

// cJSON's functions accept NULL, which others return if memory ran out. Parts of the schema are
// missing then; nothing worse happens.

static cJSON *schema_of_object(const struct config_object *object);

static cJSON *typed(const char *type)
{
	cJSON *schema = cJSON_CreateObject();

	cJSON_AddStringToObject(schema, "type", type);
	return schema;
}

static cJSON *string_of(const char *pattern)
{
	cJSON *schema = typed("string");

	cJSON_AddStringToObject(schema, "pattern", pattern);
	return schema;
}

static cJSON *any_of(cJSON *one, cJSON *other)
{
	cJSON *schema = cJSON_CreateObject();
	cJSON *choices = cJSON_AddArrayToObject(schema, "anyOf");

	cJSON_AddItemToArray(choices, one);
	cJSON_AddItemToArray(choices, other);
	return schema;
}

// Adds the number as text, because cJSON prints at most 15 digits of large numbers.
static void add_bound(cJSON *schema, const char *name, int64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, value);
	cJSON_AddRawToObject(schema, name, digits);
}

static int64_t exact(uint64_t value)
{
	return (int64_t)(value < CONFIG_EXACT_MAXIMUM ? value : CONFIG_EXACT_MAXIMUM);
}

static cJSON *number(const char *type, int64_t minimum, uint64_t maximum)
{
	cJSON *schema = typed(type);

	add_bound(schema, "minimum", minimum);
	add_bound(schema, "maximum", exact(maximum));
	return schema;
}

static cJSON *powers_of_two(const struct config_key *key)
{
	cJSON *schema = cJSON_CreateObject();
	cJSON *powers = cJSON_AddArrayToObject(schema, "enum");

	for (uint64_t power = key->minimum; power <= key->maximum; power *= 2)
		cJSON_AddItemToArray(powers, cJSON_CreateNumber((double)power));
	return schema;
}

static cJSON *quantity_text(enum units_kind kind)
{
	const char *const *suffixes = units_suffixes(kind);
	char pattern[PATTERN_SIZE];

	if (kind == UNITS_COUNT)
		return string_of("^" PATTERN_COUNT "$");
	snprintf(pattern, sizeof(pattern), "^[0-9]+(\\.[0-9]+)?( ?(%s", suffixes[0]);
	for (unsigned i = 1; suffixes[i]; i++) {
		size_t length = strlen(pattern);
		snprintf(pattern + length, sizeof(pattern) - length, "|%s", suffixes[i]);
	}
	strcat(pattern, "))?$");
	return string_of(pattern);
}

static cJSON *automatic(void)
{
	cJSON *schema = cJSON_CreateObject();

	cJSON_AddStringToObject(schema, "const", "auto");
	return schema;
}

static cJSON *schema_of_number(const struct config_key *key)
{
	const char *type = key->type == CONFIG_TYPE_WHOLE ? "integer" : "number";
	cJSON *plain = key->power_of_two ? powers_of_two(key)
					 : number(type, exact(key->minimum), key->maximum);

	if (key->type == CONFIG_TYPE_REAL && key->units == UNITS_COUNT)
		return plain;
	cJSON *written = any_of(plain, quantity_text(key->units));
	if (key->or_auto)
		cJSON_InsertItemInArray(cJSON_GetObjectItem(written, "anyOf"), 0, automatic());
	return written;
}

static cJSON *schema_of_word(const struct config_key *key)
{
	cJSON *schema = cJSON_CreateObject();
	cJSON *words = cJSON_AddArrayToObject(schema, "enum");

	for (unsigned i = 0; key->words[i]; i++)
		cJSON_AddItemToArray(words, cJSON_CreateString(key->words[i]));
	return schema;
}

static cJSON *name(const char *alphabet, uint64_t maximum)
{
	char pattern[PATTERN_SIZE];

	snprintf(pattern, sizeof(pattern), "^[%s]{1,%u}$", alphabet, (unsigned)maximum);
	return string_of(pattern);
}

static cJSON *text(uint64_t minimum, uint64_t maximum)
{
	cJSON *schema = string_of(PATTERN_PRINTABLE);

	if (minimum)
		cJSON_AddNumberToObject(schema, "minLength", (double)minimum);
	cJSON_AddNumberToObject(schema, "maxLength", (double)maximum);
	return schema;
}

static cJSON *list_of(cJSON *items, const struct config_key *key)
{
	cJSON *schema = typed("array");

	cJSON_AddItemToObject(schema, "items", items);
	if (key->minimum)
		cJSON_AddNumberToObject(schema, "minItems", (double)key->minimum);
	return schema;
}

static cJSON *limited_list_of(cJSON *items, const struct config_key *key)
{
	cJSON *schema = list_of(items, key);

	cJSON_AddNumberToObject(schema, "maxItems", (double)key->maximum);
	return schema;
}

static cJSON *schema_of_names(const struct config_key *key)
{
	const char *alphabet = key->type == CONFIG_TYPE_ROLES ? "A-Za-z0-9_.-" : "A-Za-z0-9_-";
	cJSON *schema = limited_list_of(name(alphabet, EVB_NAME_SIZE - 1), key);

	cJSON_AddTrueToObject(schema, "uniqueItems");
	return schema;
}

static cJSON *schema_of_ids(const struct config_key *key)
{
	cJSON *id = any_of(number("integer", 0, UINT16_MAX),
			   string_of("^" PATTERN_COUNT "(-" PATTERN_COUNT ")?$"));
	cJSON *ids = list_of(id, key);

	if (key->type != CONFIG_TYPE_OWN_IDS)
		return ids;
	return any_of(ids, schema_of_object(key->object));
}

static cJSON *schema_of_options(const struct config_key *key)
{
	cJSON *schema = typed("object");
	cJSON *whole = number("integer", -(int64_t)CONFIG_EXACT_MAXIMUM, CONFIG_EXACT_MAXIMUM);

	cJSON_AddNumberToObject(schema, "maxProperties", (double)key->maximum);
	cJSON_AddItemToObject(schema, "propertyNames", name("A-Za-z0-9_-", EVB_NAME_SIZE - 1));
	cJSON_AddItemToObject(schema, "additionalProperties",
			      any_of(text(0, EVB_PATH_SIZE - 1), whole));
	return schema;
}

static cJSON *schema_of_list_or_auto(const struct config_key *key)
{
	return any_of(automatic(), limited_list_of(schema_of_object(key->object), key));
}

static cJSON *schema_of_value(const struct config_key *key)
{
	switch (key->type) {
	case CONFIG_TYPE_BOOLEAN:
		return typed("boolean");
	case CONFIG_TYPE_WHOLE:
	case CONFIG_TYPE_REAL:
		return schema_of_number(key);
	case CONFIG_TYPE_WORD:
		return schema_of_word(key);
	case CONFIG_TYPE_NAME:
		return name("A-Za-z0-9_-", key->maximum);
	case CONFIG_TYPE_TEXT:
		return text(key->minimum, key->maximum);
	case CONFIG_TYPE_IPV4:
		return string_of(key->prefix ? "^" PATTERN_IPV4 "(/(3[0-2]|[12]?[0-9]))?$"
					     : "^" PATTERN_IPV4 "$");
	case CONFIG_TYPE_IPV6:
		return string_of("^" PATTERN_IPV6 "$");
	case CONFIG_TYPE_IP:
		return string_of("^(" PATTERN_IPV4 "|" PATTERN_IPV6 ")$");
	case CONFIG_TYPE_MAC:
		return string_of(PATTERN_MAC);
	case CONFIG_TYPE_IDS:
	case CONFIG_TYPE_OWN_IDS:
	case CONFIG_TYPE_EXPECTED:
		return schema_of_ids(key);
	case CONFIG_TYPE_NAMES:
	case CONFIG_TYPE_ROLES:
		return schema_of_names(key);
	case CONFIG_TYPE_OPTIONS:
		return schema_of_options(key);
	case CONFIG_TYPE_OBJECT:
		return schema_of_object(key->object);
	case CONFIG_TYPE_LIST:
	case CONFIG_TYPE_NODES:
		return limited_list_of(schema_of_object(key->object), key);
	case CONFIG_TYPE_LIST_OR_AUTO:
		return schema_of_list_or_auto(key);
	case CONFIG_TYPE_IGNORED:
		break;
	}
	return typed("string");
}

// Refers to the schema of the file's key of this name.
static cJSON *reference_to_root(const struct config_key *key)
{
	cJSON *schema = cJSON_CreateObject();
	char pointer[64];

	snprintf(pointer, sizeof(pointer), "#/properties/%s", key->name);
	cJSON_AddStringToObject(schema, "$ref", pointer);
	return schema;
}

static cJSON *schema_of_key(const struct config_key *key)
{
	if (key->as_root)
		return reference_to_root(key);
	cJSON *schema = schema_of_value(key);

	cJSON_AddStringToObject(schema, "description", key->help);
	if (key->standard)
		cJSON_AddItemToObject(schema, "default", config_read_bare(key->standard));
	return schema;
}

static cJSON *strings(const char *text)
{
	cJSON *list = cJSON_CreateArray();

	cJSON_AddItemToArray(list, cJSON_CreateString(text));
	return list;
}

static cJSON *requiring(const char *name)
{
	cJSON *schema = cJSON_CreateObject();

	cJSON_AddItemToObject(schema, "required", strings(name));
	return schema;
}

// Adds the relations between a key and another key of the same object.
static void describe_dependence(cJSON *schema, const struct config_key *key)
{
	if (key->required && key->unless) {
		cJSON *choices = cJSON_AddArrayToObject(schema, "anyOf");
		cJSON_AddItemToArray(choices, requiring(key->name));
		cJSON_AddItemToArray(choices, requiring(key->unless));
	}
	if (key->needs) {
		cJSON *dependent = cJSON_AddObjectToObject(schema, "dependentRequired");
		cJSON_AddItemToObject(dependent, key->name, strings(key->needs));
	}
}

static void describe_object(cJSON *schema, const struct config_object *object)
{
	cJSON_AddStringToObject(schema, "type", "object");
	cJSON *properties = cJSON_AddObjectToObject(schema, "properties");
	cJSON *required = cJSON_CreateArray();

	for (unsigned i = 0; i < object->n_keys; i++) {
		const struct config_key *key = &object->keys[i];
		cJSON_AddItemToObject(properties, key->name, schema_of_key(key));
		if (key->required && !key->unless)
			cJSON_AddItemToArray(required, cJSON_CreateString(key->name));
		describe_dependence(schema, key);
	}
	if (cJSON_GetArraySize(required))
		cJSON_AddItemToObject(schema, "required", required);
	else
		cJSON_Delete(required);
	cJSON_AddFalseToObject(schema, "additionalProperties");
}

static cJSON *schema_of_object(const struct config_object *object)
{
	cJSON *schema = cJSON_CreateObject();

	describe_object(schema, object);
	return schema;
}

// cJSON indents with tabs and writes a tab after each colon. JSON files usually have spaces.
static char *with_spaces(const char *printed)
{
	size_t n_tabs = 0;

	for (const char *from = printed; *from; from++)
		n_tabs += *from == '\t';
	char *spaced = malloc(strlen(printed) + 4 * n_tabs + 2);
	if (!spaced)
		return NULL;
	char *to = spaced;
	for (const char *from = printed; *from; from++) {
		if (*from != '\t')
			*to++ = *from;
		else if (from[-1] == ':')
			*to++ = ' ';
		else
			to = stpcpy(to, "    ");
	}
	strcpy(to, "\n");
	return spaced;
}

char *config_schema(void)
{
	cJSON *schema = cJSON_CreateObject();

	cJSON_AddStringToObject(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
	cJSON_AddStringToObject(schema, "title", "Configuration of an evb appliance");
	describe_object(schema, &config_root);
	char *printed = cJSON_Print(schema);
	char *spaced = printed ? with_spaces(printed) : NULL;
	cJSON_free(printed);
	cJSON_Delete(schema);
	return spaced;
}
