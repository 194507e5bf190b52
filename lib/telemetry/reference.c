// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/reference.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
