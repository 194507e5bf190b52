// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/reference.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/group.h"

static const char preface[] =
    "# Metrics\n"
    "\n"
    "Every number that a running evb tells. [telemetry.md](telemetry.md) says how to ask for "
    "them,\n"
    "[monitoring.md](monitoring.md) how to watch them, [packets.md](packets.md) which sums must\n"
    "hold. This page is made from the tables from which the answers are made.\n"
    "\n"
    "- **key**: in answers on the telemetry socket and in `evb stat`; its unit is in it.\n"
    "- **kind**: a *counter* only grows, from the start of the run on; a *gauge* may do both; a\n"
    "  *number* says which or where, not how much; a *text* has at most 127 characters, a *state* "
    "is\n"
    "  one of some words, *texts* is a list. *counters* are one for each\n"
    "  [cause](telemetry.md#causes), `latency` one gauge for each QUANTILE: `p50_ns`, `p99_ns`,\n"
    "  `p999_ns` and `max_ns`, where half of the events, 99 %, 99.9 % and all took no longer. The\n"
    "  first three are at most 12.5 % too high, the maximum is exact.\n"
    "- **unit**: of the key. What has none is a count, or 1 for yes and 0 for no.\n"
    "- **OpenMetrics**: name in `evb stat --openmetrics`, `evb web` and, with `dpdk_` before it, "
    "in\n"
    "  DPDK's exporter, in base units: seconds, bytes. `{label}` is a label beside `node`, the "
    "name of\n"
    "  the appliance, and that of the thing. A dash: told by another metric.\n"
    "\n"
    "Names never change once they are released.\n";

static const char *suffix_of(const struct metric *metric)
{
	return metric->kind == METRIC_CAUSES    ? "_CAUSE"
	       : metric->kind == METRIC_LATENCY ? "_QUANTILE"
						: "";
}

static bool is_descriptive(const struct metric *metric)
{
	return metric->kind == METRIC_TEXT || metric->kind == METRIC_TEXTS ||
	       metric->kind == METRIC_NUMBER;
}

// What the metric is in OpenMetrics. thing: the label of the first metric of a first table.
static void write_exposed(FILE *page, const char *prefix, const char *thing,
			  const struct metric *metric)
{
	char name[METRIC_NAME_SIZE], maximum[METRIC_NAME_SIZE];

	metric_family(prefix, metric, false, name);
	metric_family(prefix, metric, true, maximum);
	if (metric->hidden)
		fputs("-", page);
	else if (thing != NULL)
		fprintf(page, "label `%s`", thing);
	else if (metric->label)
		fprintf(page, "label `%s`", metric->name);
	else if (is_descriptive(metric))
		fprintf(page, "`%s_info{%s}`", prefix, metric->name);
	else if (metric->kind == METRIC_COUNTER)
		fprintf(page, "`%s_total`", name);
	else if (metric->kind == METRIC_CAUSES)
		fprintf(page, "`%s_total{cause}`", name);
	else if (metric->kind == METRIC_STATE)
		fprintf(page, "`%s{%s}`", name, name);
	else if (metric->kind == METRIC_LATENCY)
		fprintf(page, "histogram `%s`, gauge `%s`", name, maximum);
	else
		fprintf(page, "`%s`", name);
}

static void write_head(FILE *page)
{
	fputs("| key | kind | unit | OpenMetrics | meaning |\n|---|---|---|---|---|\n", page);
}

// thing: the label that the first metric is, or NULL.
static void write_table(FILE *page, const char *prefix, const char *thing,
			const struct metric *table)
{
	for (const struct metric *metric = table; metric->name != NULL; metric++) {
		fprintf(page, "| `%s%s` | %s | %s | ", metric->name, suffix_of(metric),
			metric_kind_name(metric->kind), metric_unit_name(metric->unit));
		write_exposed(page, prefix, metric == table ? thing : NULL, metric);
		fprintf(page, " | %s |\n", metric->help);
	}
}

static void write_whole(FILE *page, const struct telemetry_whole *whole)
{
	fprintf(page, "\n## `%s`\n\n%s.\n\n", whole->command, whole->help);
	write_head(page);
	write_table(page, "evb", NULL, whole->table);
	if (whole->note != NULL)
		fprintf(page, "\n%s\n", whole->note);
}

static void write_group(FILE *page, const struct telemetry_group *group)
{
	char prefix[METRIC_NAME_SIZE / 2];

	fprintf(page, "\n## %c%s\n\n%s.\n\n", toupper((unsigned char)group->things[0]),
		group->things + 1, group->help);
	for (unsigned i = 0; i < TELEMETRY_N_VERBS; i++) {
		char command[TELEMETRY_MAX_COMMAND], help[TELEMETRY_MAX_HELP];

		telemetry_group_command(group, i, command, help);
		fprintf(page, "- `%s%s`: %c%s\n", command, telemetry_group_parameters(group, i),
			i == TELEMETRY_INFO ? help[0] : tolower((unsigned char)help[0]), help + 1);
	}
	fputc('\n', page);
	write_head(page);
	snprintf(prefix, sizeof(prefix), "evb_%s", group->name);
	for (unsigned i = 0; i < TELEMETRY_MAX_TABLES && group->tables[i] != NULL; i++)
		write_table(page, prefix, i == 0 ? group->name : NULL, group->tables[i]);
	if (group->nested != NULL) {
		fprintf(page, "\nEach of `%s_0`, `%s_1`, ... has\n\n", group->nested,
			group->nested);
		write_head(page);
		snprintf(prefix, sizeof(prefix), "evb_%s_%s", group->name, group->nested);
		write_table(page, prefix, group->nested, group->nested_table);
	}
	if (group->note != NULL)
		fprintf(page, "\n%s\n", group->note);
}

char *telemetry_reference(void)
{
	char *text = NULL;
	size_t size;
	FILE *page = open_memstream(&text, &size);

	if (page == NULL)
		return NULL;
	fputs(preface, page);
	for (const struct telemetry_whole *whole = telemetry_wholes; whole->command; whole++)
		write_whole(page, whole);
	for (unsigned i = 0; telemetry_groups[i] != NULL; i++)
		write_group(page, telemetry_groups[i]);
	if (fclose(page) == 0)
		return text;
	free(text);
	return NULL;
}
