// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// For the build and the tests: prints the metric tables as JSON. docs/tables.py makes
// docs/metrics.md from them, and configs/deploy/telemetry-endpoints/evb.py reads them. A list in
// the order of the manual, with a dictionary for each place (struct telemetry_place) and each
// hidden whole:
//
//   { "name": "builder/group", "prefix": "evb_builder_group", "hidden": false, "nested": true,
//     "title": ..., "help": ..., "note": ...,
//     "metrics": [{ "key": ..., "name": ..., "scale": ..., "help": ..., ... }, ...] }
//
// The title is the command of a whole, or names the things of a group. The type is null where the
// metric is a label.
#include <stdio.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "telemetry/group.h"

static void add_text(cJSON *object, const char *name, const char *text)
{
	cJSON_AddItemToObject(object, name,
			      text != NULL ? cJSON_CreateString(text) : cJSON_CreateNull());
}

static cJSON *describe_metric(const char *prefix, const struct metric *metric)
{
	char name[METRIC_NAME_SIZE], maximum[METRIC_NAME_SIZE];
	cJSON *object = cJSON_CreateObject(), *list;

	metric_family(prefix, metric, false, name);
	metric_family(prefix, metric, true, maximum);
	add_text(object, "key", metric->name);
	add_text(object, "name", name);
	add_text(object, "maximum", maximum);
	add_text(object, "type", metric_type(metric));
	add_text(object, "help", metric->help);
	cJSON_AddNumberToObject(object, "scale", metric_scale(metric));
	cJSON_AddBoolToObject(object, "hidden", metric->hidden);
	cJSON_AddBoolToObject(object, "label", metric->label);
	cJSON_AddBoolToObject(object, "info", metric_is_info(metric));
	list = cJSON_AddArrayToObject(object, "causes");
	for (unsigned i = 0; metric->causes != NULL && i < metric->causes->n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(metric->causes->name(i)));
	list = cJSON_AddArrayToObject(object, "words");
	for (unsigned i = 0; metric->words != NULL && metric->words[i] != NULL; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(metric->words[i]));
	return object;
}

static cJSON *describe_place(const struct telemetry_place *place)
{
	const struct telemetry_whole *whole = place->whole;
	const struct telemetry_group *group = place->group;
	cJSON *object = cJSON_CreateObject(), *metrics;

	add_text(object, "name", place->name);
	add_text(object, "prefix", place->prefix);
	add_text(object, "title", whole != NULL ? whole->command : group->things);
	add_text(object, "help", whole != NULL ? whole->help : group->help);
	// The note of a group stands behind its nested table.
	add_text(object, "note",
		 whole != NULL                              ? whole->note
		 : place->nested == (group->nested != NULL) ? group->note
							    : NULL);
	cJSON_AddBoolToObject(object, "whole", whole != NULL);
	cJSON_AddBoolToObject(object, "hidden", whole != NULL && whole->hidden);
	cJSON_AddBoolToObject(object, "nested", place->nested);
	metrics = cJSON_AddArrayToObject(object, "metrics");
	for (const struct metric *const *metric = place->metrics; *metric != NULL; metric++)
		cJSON_AddItemToArray(metrics, describe_metric(place->prefix, *metric));
	return object;
}

int main(void)
{
	cJSON *places = cJSON_CreateArray();
	struct telemetry_place place;
	char *text;
	int result;

	for (unsigned i = 0; telemetry_place(i, &place); i++)
		cJSON_AddItemToArray(places, describe_place(&place));
	text = cJSON_PrintUnformatted(places);
	result = text != NULL && puts(text) >= 0 && fflush(stdout) == 0 ? 0 : 1;
	free(text);
	cJSON_Delete(places);
	return result;
}
