// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "web/api.h"

#include <stdlib.h>

static cJSON *snapshot_of(const struct sampler_node *node)
{
	return node != NULL && node->reading != NULL ? node->reading->snapshot : NULL;
}

// What is wrong with a node first; null: nothing, or it is not up.
static cJSON *diagnosis_of(const struct sampler_node *node)
{
	const cJSON *findings = cJSON_GetObjectItemCaseSensitive(snapshot_of(node), "diagnosis");
	const cJSON *first = node->up ? cJSON_GetArrayItem(findings, 0) : NULL;

	return first != NULL ? cJSON_Duplicate(first, true) : cJSON_CreateNull();
}

static cJSON *status_of(const struct sampler_node *node)
{
	cJSON *status = cJSON_CreateObject();

	cJSON_AddStringToObject(status, "name", node->name);
	cJSON_AddBoolToObject(status, "up", node->up);
	cJSON_AddStringToObject(status, "state", sampler_state_name(node->state));
	cJSON_AddStringToObject(status, "error", node->error);
	cJSON_AddItemToObject(status, "diagnosis", diagnosis_of(node));
	cJSON_AddNumberToObject(status, "time_ms",
				node->reading != NULL ? node->reading->time_ms : 0);
	return status;
}

static char *print(cJSON *root)
{
	char *text = cJSON_PrintUnformatted(root);

	cJSON_Delete(root);
	return text;
}

char *api_nodes(struct sampler *sampler)
{
	cJSON *root = cJSON_CreateObject(), *nodes;
	const struct sampler_node *node;

	cJSON_AddNumberToObject(root, "interval_ms", sampler_interval_ms(sampler));
	nodes = cJSON_AddArrayToObject(root, "nodes");
	sampler_lock(sampler);
	for (unsigned i = 0; (node = sampler_node(sampler, i)) != NULL; i++)
		cJSON_AddItemToArray(nodes, status_of(node));
	sampler_unlock(sampler);
	return print(root);
}

char *api_node(struct sampler *sampler, const char *name)
{
	const struct sampler_node *node;
	cJSON *root = NULL;
	char *text;

	sampler_lock(sampler);
	node = sampler_find(sampler, name);
	if (node != NULL) {
		root = status_of(node);
		if (snapshot_of(node) != NULL)
			cJSON_AddItemReferenceToObject(root, "snapshot", snapshot_of(node));
		else
			cJSON_AddNullToObject(root, "snapshot");
	}
	text = print(root);
	sampler_unlock(sampler);
	return text;
}

char *api_part(struct sampler *sampler, const char *name, const char *part)
{
	char *text;

	sampler_lock(sampler);
	text = cJSON_PrintUnformatted(
	    cJSON_GetObjectItemCaseSensitive(snapshot_of(sampler_find(sampler, name)), part));
	sampler_unlock(sampler);
	return text;
}

char *api_history(struct sampler *sampler, const char *name, double since_ms)
{
	const struct sampler_node *node;
	cJSON *root;

	sampler_lock(sampler);
	node = sampler_find(sampler, name);
	root = node != NULL ? history_json(node->history, since_ms) : NULL;
	sampler_unlock(sampler);
	return print(root);
}

char *api_metrics(struct sampler *sampler, enum openmetrics_format format, size_t *size)
{
	struct openmetrics_node nodes[SAMPLER_MAX_NODES];
	const struct sampler_node *node;
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	unsigned n = 0;

	if (out == NULL)
		return NULL;
	sampler_lock(sampler);
	sampler_refresh(sampler);
	for (; (node = sampler_node(sampler, n)) != NULL; n++)
		nodes[n] =
		    (struct openmetrics_node){ node->name, node->up ? snapshot_of(node) : NULL,
					       node->state == SAMPLER_ENDED };
	openmetrics_write(out, format, nodes, n);
	sampler_unlock(sampler);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
