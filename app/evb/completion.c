// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "completion.h"

#include <stdio.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "base/text_file.h"

int completion_nodes(const char *path)
{
	char cause[TEXT_FILE_ERROR];
	size_t length;
	char *text = text_file_read(path, &length, cause);
	cJSON *root = text != NULL ? cJSON_ParseWithLength(text, length) : NULL;
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
