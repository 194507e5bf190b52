// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "compose.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

// Makes the plan of a loaded configuration. Returns as load().
static int load_plan(const struct config *config, struct plan **plan)
{
	char error[PLAN_ERROR_SIZE] = "out of memory";

	*plan = malloc(sizeof(**plan));
	if (*plan == NULL || plan_make(*plan, config, error) != 0) {
		log_refusal(error);
		free(*plan);
		*plan = NULL;
		return -1;
	}
	return 0;
}

int load(const char *path, const char *node, const struct overrides *overrides,
	 struct config **config, struct plan **plan)
{
	char error[CONFIG_ERROR_SIZE];

	if (config_load(config, path, node, overrides->list, overrides->n, error) != 0) {
		log_refusal(error);
		return -1;
	}
	if (load_plan(*config, plan) != 0) {
		config_free(*config);
		return -1;
	}
	return 0;
}

cJSON *compose_make(const char *prefix)
{
	cJSON *root = cJSON_CreateObject();
	char name[EVB_NAME_SIZE];

	snprintf(name, sizeof(name), "%s-%d", prefix, (int)getpid());
	compose_text(root, "name", name);
	return root;
}

// Returns the object of a key, or the only element of the key's list. Creates it if it is missing.
static cJSON *enter(cJSON *object, const char *key, bool list)
{
	cJSON *found = cJSON_GetObjectItemCaseSensitive(object, key);

	if (found == NULL && list) {
		found = cJSON_AddArrayToObject(object, key);
		cJSON_AddItemToArray(found, cJSON_CreateObject());
	} else if (found == NULL) {
		found = cJSON_AddObjectToObject(object, key);
	}
	return list ? cJSON_GetArrayItem(found, 0) : found;
}

void compose_set(cJSON *root, const char *path, cJSON *value)
{
	size_t length = strcspn(path, "[.");
	bool list = path[length] == '[';
	char key[64];

	snprintf(key, sizeof(key), "%.*s", (int)length, path);
	if (path[length] == '\0')
		cJSON_AddItemToObject(root, key, value);
	else
		compose_set(enter(root, key, list), path + length + strlen(list ? "[0]." : "."),
			    value);
}

void compose_text(cJSON *root, const char *path, const char *text)
{
	if (text != NULL)
		compose_set(root, path, cJSON_CreateString(text));
}

void compose_number(cJSON *root, const char *path, double value)
{
	compose_set(root, path, cJSON_CreateNumber(value));
}

void compose_quantity(cJSON *root, const char *path, const char *text)
{
	char *end;
	double value = text != NULL ? strtod(text, &end) : 0;

	if (text != NULL && *text != '\0' && *end == '\0')
		compose_number(root, path, value);
	else
		compose_text(root, path, text);
}

void compose_ids(cJSON *root, const uint16_t *ids, unsigned n_ids)
{
	cJSON *list = cJSON_CreateArray();

	for (unsigned i = 0; i < n_ids; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(ids[i]));
	compose_set(root, "sources.ids", list);
}

int compose_config(cJSON *root, const char *name, const struct overrides *overrides,
		   struct config **config)
{
	char error[CONFIG_ERROR_SIZE] = "out of memory";
	char *text = cJSON_PrintUnformatted(root);
	int result = -1;

	if (text != NULL)
		result = config_parse(config, text, strlen(text), name, NULL, overrides->list,
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
