// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/reference.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "telemetry/group.h"

static const char preface[] =
    "# Metrics\n"
    "\n"
    "Every value that a running evb reports. [telemetry.md](telemetry.md) describes the commands,\n"
    "[monitoring.md](monitoring.md) how to watch the values, [packets.md](packets.md) which sums\n"
    "hold. This page is generated from the tables from which evb makes its responses.\n"
    "\n"
    "- **key**: the name on the telemetry socket and in `evb stat`. It contains the unit; a key\n"
    "  without a unit is a count, or 1 for yes and 0 for no. `_CAUSE` stands for one key for each\n"
    "  [cause](telemetry.md#causes), `_QUANTILE` for `p50_ns`, `p99_ns`, `p999_ns` and `max_ns`:\n"
    "  half of the events, 99 %, 99.9 % and all took at most that long. The first three are up to\n"
    "  12.5 % too high, the maximum is exact.\n"
    "- **OpenMetrics**: the name in `evb stat --openmetrics`, `evb web` and, behind `dpdk_`, in\n"
    "  DPDK's exporter, in seconds or bytes. A name in `_total` is a counter, which only grows "
    "from\n"
    "  the start of the run on; other names are gauges, unless the table says otherwise. Every\n"
    "  metric has the label `node`, the name of the appliance, and those of its thing. A dash:\n"
    "  another metric has the value. A text has at most 127 characters.\n"
    "\n"
    "Released names never change.\n";

static const char *key_suffix(const struct metric *metric)
{
	return metric->kind == METRIC_CAUSES    ? "_CAUSE"
	       : metric->kind == METRIC_LATENCY ? "_QUANTILE"
						: "";
}

// What the metric is in OpenMetrics. thing: the label that it is, of the first metric of a group.
static void write_exposed(FILE *page, const char *prefix, const char *thing,
			  const struct metric *metric)
{
	char name[METRIC_NAME_SIZE], maximum[METRIC_NAME_SIZE];

	metric_family(prefix, metric, false, name);
	metric_family(prefix, metric, true, maximum);
	if (metric->hidden)
		fputs("-", page);
	else if (thing != NULL || metric->label)
		fprintf(page, "label `%s`", thing != NULL ? thing : metric->name);
	else if (metric_is_info(metric))
		fprintf(page, "%s `%s_info{%s}`", metric->kind == METRIC_NUMBER ? "number" : "text",
			prefix, metric->name);
	else if (metric->kind == METRIC_CAUSES)
		fprintf(page, "`%s_total{cause}`", name);
	else if (metric->kind == METRIC_STATE)
		fprintf(page, "state `%s{%s}`", name, name);
	else if (metric->kind == METRIC_LATENCY)
		fprintf(page, "histogram `%s`, `%s`", name, maximum);
	else
		fprintf(page, "`%s%s`", name, metric_suffix(metric));
}

static void write_head(FILE *page)
{
	fputs("| key | OpenMetrics | meaning |\n|---|---|---|\n", page);
}

// thing: the label that the first metric is, or NULL.
static void write_table(FILE *page, const char *prefix, const char *thing,
			const struct metric *table)
{
	for (const struct metric *metric = table; metric->name != NULL; metric++) {
		fprintf(page, "| `%s%s` | ", metric->name, key_suffix(metric));
		write_exposed(page, prefix, metric == table ? thing : NULL, metric);
		fprintf(page, " | %s |\n", metric->help);
	}
}

static void write_note(FILE *page, const char *note)
{
	if (note != NULL)
		fprintf(page, "\n%s\n", note);
}

static void write_whole(FILE *page, const struct telemetry_whole *whole)
{
	fprintf(page, "\n## `%s`\n\n%s.", whole->command, whole->help);
	if (!whole->hidden) {
		fputs("\n\n", page);
		write_head(page);
		write_table(page, "evb", NULL, whole->table);
	} else {
		fputs(" Keys:", page);
		for (const struct metric *metric = whole->table; metric->name != NULL; metric++)
			fprintf(page, " `%s%s`", metric->name, key_suffix(metric));
		fputs(", as above.\n", page);
	}
	write_note(page, whole->note);
}

static void write_group(FILE *page, const struct telemetry_group *group)
{
	char prefix[METRIC_NAME_SIZE / 2];

	fprintf(page, "\n## %c%s\n\n`/evb/%s/...`: %c%s.\n\n",
		toupper((unsigned char)group->things[0]), group->things + 1, group->name,
		tolower((unsigned char)group->help[0]), group->help + 1);
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
	write_note(page, group->note);
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
