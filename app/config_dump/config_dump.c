// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// For the build and the tests: prints the key tables as JSON, from which docs/tables.py makes
// configs/schema.json and docs/configuration.md, or checks configurations as the parser alone does.
//
// An object of the configuration is a list of its keys. A key has the members of struct config_key,
// if they are not zero; its range is also written in units.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

// Names of the types, without CONFIG_TYPE_.
static const char *const types[] = {
	[CONFIG_TYPE_BOOLEAN] = "BOOLEAN",
	[CONFIG_TYPE_WHOLE] = "WHOLE",
	[CONFIG_TYPE_REAL] = "REAL",
	[CONFIG_TYPE_WORD] = "WORD",
	[CONFIG_TYPE_NAME] = "NAME",
	[CONFIG_TYPE_TEXT] = "TEXT",
	[CONFIG_TYPE_IPV4] = "IPV4",
	[CONFIG_TYPE_IPV6] = "IPV6",
	[CONFIG_TYPE_IP] = "IP",
	[CONFIG_TYPE_MAC] = "MAC",
	[CONFIG_TYPE_IDS] = "IDS",
	[CONFIG_TYPE_OWN_IDS] = "OWN_IDS",
	[CONFIG_TYPE_EXPECTED] = "EXPECTED",
	[CONFIG_TYPE_ID_RANGES] = "ID_RANGES",
	[CONFIG_TYPE_ADDRESSES] = "ADDRESSES",
	[CONFIG_TYPE_NAMES] = "NAMES",
	[CONFIG_TYPE_ROLES] = "ROLES",
	[CONFIG_TYPE_OPTIONS] = "OPTIONS",
	[CONFIG_TYPE_OBJECT] = "OBJECT",
	[CONFIG_TYPE_LIST] = "LIST",
	[CONFIG_TYPE_NODES] = "NODES",
	[CONFIG_TYPE_LIST_OR_AUTO] = "LIST_OR_AUTO",
	[CONFIG_TYPE_IGNORED] = "IGNORED",
};

static void add_text(cJSON *key, const char *name, const char *text)
{
	if (text)
		cJSON_AddStringToObject(key, name, text);
}

// All digits, where cJSON prints at most 15.
static void add_bound(cJSON *key, const char *name, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	cJSON_AddRawToObject(key, name, digits);
}

static void add_list(cJSON *key, const char *name, const char *const *texts)
{
	cJSON *list = texts && texts[0] ? cJSON_AddArrayToObject(key, name) : NULL;

	for (; list && *texts; texts++)
		cJSON_AddItemToArray(list, cJSON_CreateString(*texts));
}

static cJSON *describe_object(const struct config_object *object);

static cJSON *describe_key(const struct config_key *key)
{
	char lowest[UNITS_TEXT_SIZE], highest[UNITS_TEXT_SIZE];
	const struct {
		const char *name;
		bool is_set;
	} flags[] = {
		{ "required", key->required },  { "power_of_two", key->power_of_two },
		{ "or_auto", key->or_auto },    { "as_root", key->as_root },
		{ "prefix", key->prefix != 0 }, { "between_runs", key->between_runs },
		{ "partial", key->is_partial },
	};
	cJSON *out = cJSON_CreateObject();

	units_format(key->units, key->minimum, lowest);
	units_format(key->units, key->maximum, highest);
	add_text(out, "name", key->name);
	add_text(out, "help", key->help);
	add_text(out, "type", types[key->type]);
	add_text(out, "unless", key->unless);
	add_text(out, "needs", key->needs);
	add_text(out, "standard", key->standard);
	add_text(out, "lowest", lowest);
	add_text(out, "highest", highest);
	add_bound(out, "minimum", key->minimum);
	add_bound(out, "maximum", key->maximum);
	add_list(out, "units", units_suffixes(key->units));
	add_list(out, "words", key->words);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		cJSON_AddBoolToObject(out, flags[i].name, flags[i].is_set);
	if (key->object)
		cJSON_AddItemToObject(out, "keys", describe_object(key->object));
	return out;
}

static cJSON *describe_object(const struct config_object *object)
{
	cJSON *keys = cJSON_CreateArray();

	for (unsigned i = 0; i < object->n_keys; i++)
		cJSON_AddItemToArray(keys, describe_key(&object->keys[i]));
	return keys;
}

static int print_keys(void)
{
	cJSON *keys = describe_object(&config_root);
	char *text = cJSON_PrintUnformatted(keys);
	int result = text && puts(text) >= 0 && fflush(stdout) == 0 ? 0 : 1;

	free(text);
	cJSON_Delete(keys);
	return result;
}

// Prints one line for each file that is refused. Of a system all nodes are checked, whichever is
// loaded.
static int check(char **paths)
{
	char error[CONFIG_ERROR_SIZE];
	struct config *config;
	int result = 0;

	for (; *paths; paths++) {
		if (config_load(&config, *paths, CONFIG_MANAGER_NODE, NULL, 0, error)) {
			puts(error);
			result = 1;
		}
		config_free(config);
	}
	return result;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "keys") == 0)
		return print_keys();
	if (argc >= 3 && strcmp(argv[1], "check") == 0)
		return check(&argv[2]);
	fputs("usage: config_dump keys | check FILE...\n", stderr);
	return 2;
}
