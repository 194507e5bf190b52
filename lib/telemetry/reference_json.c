// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/reference.h"

#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "telemetry/group.h"

static void add_text(cJSON *list, const char *text)
{
	cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

// Adds [PLACE, KEY, NAME, TYPE, SCALE, LABELS, HELP]; owns the labels from then on.
static void add_row(cJSON *rows, const struct telemetry_place *place, const struct metric *metric,
		    const char *key, const char *type, cJSON *labels)
{
	char family[METRIC_NAME_SIZE], name[METRIC_NAME_SIZE + 8];
	cJSON *row = cJSON_CreateArray();

	metric_family(place->prefix, metric, strcmp(type, "maximum") == 0, family);
	snprintf(name, sizeof(name), "%s%s", family, metric_suffix(metric));
	add_text(row, place->name);
	add_text(row, key);
	add_text(row, name);
	add_text(row, type);
	cJSON_AddItemToArray(row, cJSON_CreateNumber(metric_scale(metric)));
	cJSON_AddItemToArray(row, labels);
	add_text(row, metric->help);
	cJSON_AddItemToArray(rows, row);
}

static void add_causes(cJSON *rows, const struct telemetry_place *place,
		       const struct metric *metric)
{
	char key[METRIC_NAME_SIZE];

	for (unsigned i = 0; i < metric->causes->n; i++) {
		cJSON *labels = cJSON_CreateObject();

		snprintf(key, sizeof(key), "%s_%s", metric->name, metric->causes->name(i));
		cJSON_AddStringToObject(labels, "cause", metric->causes->name(i));
		add_row(rows, place, metric, key, "counter", labels);
	}
}

static void add_state(cJSON *rows, const struct telemetry_place *place, const struct metric *metric)
{
	cJSON *words = cJSON_CreateArray();

	for (unsigned i = 0; metric->words[i] != NULL; i++)
		add_text(words, metric->words[i]);
	add_row(rows, place, metric, metric->name, "state", words);
}

static void add_latency(cJSON *rows, const struct telemetry_place *place,
			const struct metric *metric)
{
	char key[METRIC_NAME_SIZE];

	snprintf(key, sizeof(key), "%s_ns", metric->name);
	add_row(rows, place, metric, key, "histogram", cJSON_CreateObject());
	add_row(rows, place, metric, key, "maximum", cJSON_CreateObject());
}

static void add_metric(cJSON *rows, const struct telemetry_place *place,
		       const struct metric *metric)
{
	const char *type = metric_type(metric);

	if (metric->hidden || type == NULL)
		return; // texts and numbers are in `groups`
	if (metric->kind == METRIC_CAUSES)
		add_causes(rows, place, metric);
	else if (metric->kind == METRIC_STATE)
		add_state(rows, place, metric);
	else if (metric->kind == METRIC_LATENCY)
		add_latency(rows, place, metric);
	else
		add_row(rows, place, metric, metric->name, type, cJSON_CreateObject());
}

// The label, and the texts and numbers, of a place.
static void add_group(cJSON *groups, const struct telemetry_place *place)
{
	cJSON *group = cJSON_AddObjectToObject(groups, place->name);
	cJSON *labels, *info;

	cJSON_AddStringToObject(group, "label", place->metrics[0]->name);
	labels = cJSON_AddArrayToObject(group, "labels");
	info = cJSON_AddArrayToObject(group, "info");
	for (const struct metric *const *m = place->metrics + 1; *m != NULL; m++)
		if ((*m)->label || metric_is_info(*m))
			add_text((*m)->label ? labels : info, (*m)->name);
}

char *telemetry_tables_json(void)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *groups = cJSON_AddObjectToObject(root, "groups");
	cJSON *rows = cJSON_AddArrayToObject(root, "metrics");
	struct telemetry_place place;
	char *text;

	for (unsigned i = 0; telemetry_place(i, &place); i++) {
		add_group(groups, &place);
		for (const struct metric *const *metric = place.metrics; *metric != NULL; metric++)
			add_metric(rows, &place, *metric);
	}
	text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	return text;
}
