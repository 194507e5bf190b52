// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/reference.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "telemetry/group.h"

static const char *key_suffix(const struct metric *metric)
{
	return metric->kind == METRIC_CAUSES    ? "_CAUSE"
	       : metric->kind == METRIC_LATENCY ? "_QUANTILE"
						: "";
}

// Writes the key, and its name in OpenMetrics if that is not the prefix and the key.
// thing: whether the metric is the name or number of a thing.
static void write_key(FILE *file, const char *prefix, bool thing, const struct metric *metric)
{
	char name[METRIC_NAME_SIZE], maximum[METRIC_NAME_SIZE], usual[2 * METRIC_NAME_SIZE];
	const char *suffix = metric_suffix(metric), *key = metric->name;

	metric_family(prefix, metric, false, name);
	metric_family(prefix, metric, true, maximum);
	snprintf(usual, sizeof(usual), "%s_%s", prefix, key);
	if (metric->hidden)
		fprintf(file, "(`%s%s`)", key, key_suffix(metric));
	else if (thing)
		fprintf(file, "`%s`", key);
	else if (metric->label)
		fprintf(file, "`%s`, a label", key);
	else if (metric_is_info(metric))
		fprintf(file, "`{%s}`", key);
	else if (metric->kind == METRIC_CAUSES)
		fprintf(file, "`%s_CAUSE`", key);
	else if (metric->kind == METRIC_STATE)
		fprintf(file, "`%s`, `%s{%s}`", key, name, name);
	else if (metric->kind == METRIC_LATENCY)
		fprintf(file, "`%s_QUANTILE`, histogram `%s`, `%s`", key, name, maximum);
	else if (strcmp(name, usual) != 0)
		fprintf(file, "`%s`, `%s%s`", key, name, suffix);
	else
		fprintf(file, suffix[0] != '\0' ? "`%s[%s]`" : "`%s`", key, suffix);
}

// The earlier section that describes the same metric; NULL if there is none. tables: those of the
// section of the metric.
static const char *described_in(const struct metric *const *tables, const struct metric *metric)
{
	struct telemetry_place place;

	for (unsigned i = 0; telemetry_place(i, &place) && place.metrics[0] != tables[0]; i++)
		for (const struct metric *const *other = place.metrics; *other != NULL; other++)
			if (strcmp((*other)->name, metric->name) == 0 &&
			    strcmp((*other)->help, metric->help) == 0 &&
			    (metric->hidden || !(*other)->hidden))
				return place.whole != NULL ? place.whole->command
							   : place.group->things;
	return NULL;
}

// A row for each metric that no earlier section describes, and the keys of the others.
// thing: whether the first metric of the first table is the name or number of a thing.
static void write_tables(FILE *page, const char *prefix, bool thing,
			 const struct metric *const tables[TELEMETRY_MAX_TABLES])
{
	const char *head = "| key | meaning |\n|---|---|\n", *said = NULL, *section;
	char *list = NULL;
	size_t size;
	FILE *others = open_memstream(&list, &size);

	if (others == NULL)
		return;
	for (unsigned i = 0; i < TELEMETRY_MAX_TABLES && tables[i] != NULL; i++)
		for (const struct metric *metric = tables[i]; metric->name != NULL; metric++) {
			bool named = thing && metric == tables[0];

			section = named ? NULL : described_in(tables, metric);
			if (section == NULL) {
				fprintf(page, "%s| ", head);
				head = "";
				write_key(page, prefix, named, metric);
				fprintf(page, " | %s |\n", metric->help);
				continue;
			}
			if (said == NULL || strcmp(section, said) != 0)
				fprintf(others, "%sAs in \"%c%s\":", said == NULL ? "\n" : ".\n",
					toupper((unsigned char)section[0]), section + 1);
			fprintf(others, "%s `%s%s`", said == section ? "," : "", metric->name,
				key_suffix(metric));
			said = section;
		}
	fclose(others);
	fprintf(page, "%s%s", list, said != NULL ? ".\n" : "");
	free(list);
}

static void write_note(FILE *page, const char *note)
{
	if (note != NULL)
		fprintf(page, "\n%s\n", note);
}

static void write_whole(FILE *page, const struct telemetry_whole *whole)
{
	const struct metric *const tables[TELEMETRY_MAX_TABLES] = { whole->table };

	fprintf(page, "%s## `%s`\n\n%s.%s\n", whole == telemetry_wholes ? "" : "\n", whole->command,
		whole->help, whole->hidden ? "" : " Prefix `evb_`.\n");
	write_tables(page, "evb", false, tables);
	write_note(page, whole->note);
}

static void write_group(FILE *page, const struct telemetry_group *group)
{
	const struct metric *const nested[TELEMETRY_MAX_TABLES] = { group->nested_table };
	char prefix[METRIC_NAME_SIZE / 2];

	snprintf(prefix, sizeof(prefix), "evb_%s", group->name);
	fprintf(page, "\n## %c%s\n\n`/evb/%s/...`, prefix `%s_`. %s.\n\n",
		toupper((unsigned char)group->things[0]), group->things + 1, group->name, prefix,
		group->help);
	write_tables(page, prefix, true, group->tables);
	if (group->nested != NULL) {
		snprintf(prefix, sizeof(prefix), "evb_%s_%s", group->name, group->nested);
		fprintf(page, "\nEach of `%s_0`, `%s_1`, ... (prefix `%s_`) has\n\n", group->nested,
			group->nested, prefix);
		write_tables(page, prefix, true, nested);
	}
	write_note(page, group->note);
}

char *telemetry_reference(void)
{
	char *text = NULL;
	size_t size;
	FILE *page = open_memstream(&text, &size);

	if (page == NULL)
		return NULL;
	for (const struct telemetry_whole *whole = telemetry_wholes; whole->command; whole++)
		write_whole(page, whole);
	for (unsigned i = 0; telemetry_groups[i] != NULL; i++)
		write_group(page, telemetry_groups[i]);
	if (fclose(page) == 0)
		return text;
	free(text);
	return NULL;
}

// --- tables as JSON ------------------------------------------------------------------------------

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
