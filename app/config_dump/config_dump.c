// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// For the build and the tests: prints the schema or the reference page made from the key table, or
// checks configurations as the parser alone does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

static int print(char *text)
{
	int result = text && fputs(text, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;

	free(text);
	return result;
}

// Of a system the first node is loaded: all are checked, whichever it is.
static int check_file(const char *path, char *error)
{
	struct config_reader reader = { .file = path, .error = error };
	struct config *config;
	size_t length;

	char *text = config_read_file(&reader, path, &length);
	cJSON *root = text ? cJSON_ParseWithLength(text, length) : NULL;
	const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(root, "nodes");
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(nodes, 0), "name");
	int result = config_load(&config, path, cJSON_GetStringValue(name), NULL, 0, error);
	config_free(config);
	cJSON_Delete(root);
	free(text);
	return result;
}

// Prints one line for each file that is refused.
static int check(char **paths)
{
	char error[CONFIG_ERROR_SIZE];
	int result = 0;

	for (; *paths; paths++) {
		if (check_file(*paths, error)) {
			puts(error);
			result = 1;
		}
	}
	return result;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "schema") == 0)
		return print(config_schema());
	if (argc == 2 && strcmp(argv[1], "reference") == 0)
		return print(config_reference());
	if (argc >= 3 && strcmp(argv[1], "check") == 0)
		return check(&argv[2]);
	fputs("usage: config_dump schema | reference | check FILE...\n", stderr);
	return 2;
}
