// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Writes the tables of all keys for docs/configuration.md.
#include <stdio.h>
#include <string.h>

#include "config/internal.h"

static void write_list(FILE *page, const char *what, const struct config_key *key)
{
	fprintf(page, "list of ");
	if (key->minimum)
		fprintf(page, "%llu to ", (unsigned long long)key->minimum);
	else
		fprintf(page, "up to ");
	fprintf(page, "%llu %s", (unsigned long long)key->maximum, what);
}

static void write_number(FILE *page, const struct config_key *key)
{
	bool is_real = key->type == CONFIG_TYPE_REAL && key->units == UNITS_COUNT;
	char minimum[UNITS_TEXT_SIZE], maximum[UNITS_TEXT_SIZE];

	units_format(key->units, key->minimum, minimum);
	units_format(key->units, key->maximum, maximum);
	fprintf(page, "%s%s%s..%s%s", key->or_auto ? "`auto`, or " : "", is_real ? "number " : "",
		minimum, maximum, key->power_of_two ? ", power of two" : "");
}

// Describes the values of a type, if the description does not depend on the key.
static const char *type_text(enum config_type type)
{
	static const char *const texts[] = {
		[CONFIG_TYPE_BOOLEAN] = "boolean",
		[CONFIG_TYPE_TEXT] = "string",
		[CONFIG_TYPE_IPV4] = "IPv4 address",
		[CONFIG_TYPE_IPV6] = "IPv6 address",
		[CONFIG_TYPE_IP] = "IPv4 or IPv6 address",
		[CONFIG_TYPE_MAC] = "Ethernet address",
		[CONFIG_TYPE_IDS] = "list of source ids",
		[CONFIG_TYPE_OWN_IDS] = "list of source ids",
		[CONFIG_TYPE_EXPECTED] = "list of source ids",
		[CONFIG_TYPE_OBJECT] = "object",
		[CONFIG_TYPE_IGNORED] = "string",
	};

	return (size_t)type < sizeof(texts) / sizeof(texts[0]) ? texts[type] : NULL;
}

static void write_value(FILE *page, const struct config_key *key)
{
	if (type_text(key->type) != NULL)
		fprintf(page, "%s%s", type_text(key->type), key->prefix ? " with prefix" : "");
	else if (key->type == CONFIG_TYPE_WHOLE || key->type == CONFIG_TYPE_REAL)
		write_number(page, key);
	else if (key->type == CONFIG_TYPE_WORD)
		for (unsigned i = 0; key->words[i]; i++)
			fprintf(page, "%s`%s`", i ? ", " : "", key->words[i]);
	else if (key->type == CONFIG_TYPE_NAME)
		fprintf(page, "name(%u)", (unsigned)key->maximum);
	else if (key->type == CONFIG_TYPE_OPTIONS)
		fprintf(page, "object of up to %u strings or whole numbers",
			(unsigned)key->maximum);
	else if (key->type == CONFIG_TYPE_NAMES || key->type == CONFIG_TYPE_ROLES)
		write_list(page, key->type == CONFIG_TYPE_NAMES ? "names" : "roles", key);
	else {
		fputs(key->type == CONFIG_TYPE_LIST_OR_AUTO ? "`auto`, or " : "", page);
		write_list(page, "objects", key);
	}
}

static void write_key(FILE *page, const struct config_key *key)
{
	fprintf(page, "| `%s` | ", key->name);
	write_value(page, key);
	if (key->required && key->unless)
		fprintf(page, ", required without `%s`", key->unless);
	else if (key->required)
		fputs(", required", page);
	else if (key->standard && key->standard[0])
		fprintf(page, " (`%s`)", key->standard);
	fprintf(page, " | %s |\n", key->help);
}

// Lists the keys of a node that replace those of the file.
static void write_own_keys(FILE *page, const struct config_object *object)
{
	const char *separator = "\nA node may replace";

	for (unsigned i = 0; i < object->n_keys; i++)
		if (object->keys[i].as_root) {
			fprintf(page, "%s `%s`", separator, object->keys[i].name);
			separator = ",";
		}
	fputs(separator[0] == ',' ? " of the file.\n" : "", page);
}

static void write_object(FILE *page, const struct config_object *object, const char *path)
{
	char nested[96];

	if (path[0])
		fprintf(page, "\n## `%s`\n", path);
	else
		fputs("## The file\n", page);
	fputs("\n| key | value (default) | meaning |\n|---|---|---|\n", page);
	for (unsigned i = 0; i < object->n_keys; i++)
		if (!object->keys[i].as_root)
			write_key(page, &object->keys[i]);
	write_own_keys(page, object);
	for (unsigned i = 0; i < object->n_keys; i++) {
		const struct config_key *key = &object->keys[i];
		if (!key->object || key->type == CONFIG_TYPE_OWN_IDS || key->as_root)
			continue;
		snprintf(nested, sizeof(nested), "%s%s%s%s", path, path[0] ? "." : "", key->name,
			 key->type == CONFIG_TYPE_OBJECT ? "" : "[]");
		write_object(page, key->object, nested);
	}
}

char *config_reference(void)
{
	char *text = NULL;
	size_t length;
	FILE *page = open_memstream(&text, &length);

	if (!page)
		return NULL;
	write_object(page, &config_root, "");
	fclose(page);
	return text;
}
