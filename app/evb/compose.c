// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "compose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cJSON *compose_ids(const uint16_t *ids, unsigned n_ids)
{
	cJSON *list = cJSON_CreateArray();

	for (unsigned i = 0; i < n_ids; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(ids[i]));
	return list;
}

cJSON *compose_number(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	return *text != '\0' && *end == '\0' ? cJSON_CreateNumber(value) : cJSON_CreateString(text);
}

cJSON *compose_element(cJSON *root, const char *key)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(root, key);
	cJSON *element = cJSON_CreateObject();

	if (list == NULL)
		list = cJSON_AddArrayToObject(root, key);
	cJSON_AddItemToArray(list, element);
	return element;
}

int compose_config(cJSON *root, const char *name, const struct overrides *overrides,
		   struct config **config)
{
	char error[CONFIG_ERROR_SIZE] = "out of memory";
	char *text = cJSON_PrintUnformatted(root);
	int result = -1;

	if (text != NULL)
		result = config_parse(config, text, strlen(text), name, overrides->list,
				      overrides->n, error);
	if (result != 0)
		fprintf(stderr, "%s\n", error);
	free(text);
	cJSON_Delete(root);
	return result;
}

int compose_run(cJSON *root, const char *name, const struct overrides *overrides,
		const struct session_options *options)
{
	struct config *config;
	struct plan *plan;
	int status = 1;

	if (compose_config(root, name, overrides, &config) != 0)
		return 1;
	if (load_plan(config, &plan) == 0) {
		status = session_run(plan, options);
		free(plan);
	}
	config_free(config);
	return status;
}
