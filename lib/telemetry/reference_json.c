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

// Adds [PLACE, KEY, NAME, TYPE, SCALE, LABELS, HELP]; takes the labels over.
static void add_row(cJSON *rows, const char *place, const char *key, const char *name,
		    const char *suffix, const char *type, const struct metric *metric,
		    cJSON *labels)
{
	char full[METRIC_NAME_SIZE + 8];
	cJSON *row = cJSON_CreateArray();

	snprintf(full, sizeof(full), "%s%s", name, suffix);
	add_text(row, place);
	add_text(row, key);
	add_text(row, full);
	add_text(row, type);
	cJSON_AddItemToArray(row, cJSON_CreateNumber(metric_scale(metric->unit)));
	cJSON_AddItemToArray(row, labels);
	add_text(row, metric->help);
	cJSON_AddItemToArray(rows, row);
}

static void add_causes(cJSON *rows, const char *place, const char *name,
		       const struct metric *metric)
{
	char key[METRIC_NAME_SIZE];

	for (unsigned i = 0; i < metric->causes->n; i++) {
		cJSON *labels = cJSON_CreateObject();

		snprintf(key, sizeof(key), "%s_%s", metric->name, metric->causes->name(i));
		cJSON_AddStringToObject(labels, "cause", metric->causes->name(i));
		add_row(rows, place, key, name, "_total", "counter", metric, labels);
	}
}

static void add_latency(cJSON *rows, const char *prefix, const char *place, const char *name,
			const struct metric *metric)
{
	char key[METRIC_NAME_SIZE], maximum[METRIC_NAME_SIZE];

	snprintf(key, sizeof(key), "%s_ns", metric->name);
	metric_family(prefix, metric, true, maximum);
	add_row(rows, place, key, name, "", "histogram", metric, cJSON_CreateObject());
	add_row(rows, place, key, maximum, "", "maximum", metric, cJSON_CreateObject());
}

static void add_metric(cJSON *rows, const char *prefix, const char *place,
		       const struct metric *metric)
{
	char name[METRIC_NAME_SIZE];
	cJSON *labels;

	metric_family(prefix, metric, false, name);
	switch (metric->kind) {
	case METRIC_COUNTER:
		add_row(rows, place, metric->name, name, "_total", "counter", metric,
			cJSON_CreateObject());
		break;
	case METRIC_GAUGE:
		add_row(rows, place, metric->name, name, "", "gauge", metric, cJSON_CreateObject());
		break;
	case METRIC_STATE:
		labels = cJSON_CreateArray();
		for (unsigned i = 0; metric->words[i] != NULL; i++)
			add_text(labels, metric->words[i]);
		add_row(rows, place, metric->name, name, "", "state", metric, labels);
		break;
	case METRIC_CAUSES:
		add_causes(rows, place, name, metric);
		break;
	case METRIC_LATENCY:
		add_latency(rows, prefix, place, name, metric);
		break;
	default:
		break; // texts and numbers: of `groups`
	}
}

static void add_table(cJSON *rows, const char *prefix, const char *place,
		      const struct metric *table)
{
	for (; table->name != NULL; table++)
		if (!table->hidden)
			add_metric(rows, prefix, place, table);
}

// The label and the texts and numbers of a group.
static cJSON *make_group(const struct metric *table)
{
	cJSON *group = cJSON_CreateObject();
	cJSON *labels, *info;

	cJSON_AddStringToObject(group, "label", table->name);
	labels = cJSON_AddArrayToObject(group, "labels");
	info = cJSON_AddArrayToObject(group, "info");
	for (const struct metric *metric = table + 1; metric->name != NULL; metric++) {
		if (metric->label)
			add_text(labels, metric->name);
		else if (!metric->hidden &&
			 (metric->kind == METRIC_TEXT || metric->kind == METRIC_TEXTS ||
			  metric->kind == METRIC_NUMBER))
			add_text(info, metric->name);
	}
	return group;
}

static void add_group(cJSON *groups, cJSON *rows, const struct telemetry_group *group)
{
	char prefix[METRIC_NAME_SIZE / 2], place[METRIC_NAME_SIZE / 2];

	cJSON_AddItemToObject(groups, group->name, make_group(group->tables[0]));
	snprintf(prefix, sizeof(prefix), "evb_%s", group->name);
	for (unsigned i = 0; i < TELEMETRY_MAX_TABLES && group->tables[i] != NULL; i++)
		add_table(rows, prefix, group->name, group->tables[i]);
	if (group->nested == NULL)
		return;
	snprintf(prefix, sizeof(prefix), "evb_%s_%s", group->name, group->nested);
	snprintf(place, sizeof(place), "%s/%s", group->name, group->nested);
	cJSON_AddItemToObject(groups, place, make_group(group->nested_table));
	add_table(rows, prefix, place, group->nested_table);
}

char *telemetry_tables_json(void)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *groups = cJSON_AddObjectToObject(root, "groups");
	cJSON *rows = cJSON_AddArrayToObject(root, "metrics");
	char *text;

	for (const struct telemetry_whole *whole = telemetry_wholes; whole->command; whole++) {
		const char *place = strrchr(whole->command, '/') + 1;

		if (whole->hidden)
			continue;
		cJSON_AddItemToObject(groups, place, make_group(whole->table));
		add_table(rows, "evb", place, whole->table);
	}
	for (unsigned i = 0; telemetry_groups[i] != NULL; i++)
		add_group(groups, rows, telemetry_groups[i]);
	text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	return text;
}
