// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "completion.h"

#include <stdio.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#define MOST_BYTES (16u << 20) // of a configuration

static char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = file != NULL ? malloc(MOST_BYTES + 1) : NULL;

	if (text != NULL)
		text[fread(text, 1, MOST_BYTES, file)] = '\0';
	if (file != NULL)
		fclose(file);
	return text;
}

int completion_nodes(const char *path)
{
	char *text = read_text(path);
	cJSON *root = text != NULL ? cJSON_Parse(text) : NULL;
	const cJSON *node;

	cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(root, "nodes"))
	{
		const char *name =
		    cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(node, "name"));

		if (name != NULL)
			printf("%s\n", name);
	}
	cJSON_Delete(root);
	free(text);
	return 0;
}
