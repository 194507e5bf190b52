// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "openmetrics/openmetrics.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "telemetry/group.h"

#define KEY_SIZE 256

// The bounds of histograms, a part of those on the telemetry socket: 1 us to 69 s.
#define FIRST_BOUND_LOG2 10
#define LAST_BOUND_LOG2  36

struct writer {
	FILE *out;
	bool text; // text format 0.0.4
	const struct openmetrics_node *nodes;
	unsigned n_nodes;
};

// A family has the samples of one metric for all things of all nodes; its lines stay together.
struct family {
	const struct telemetry_place *place;
	const char *name;
	const char *type; // as OpenMetrics calls it
	const char *unit; // "": none
	const char *help;
	bool begun; // its header has been written, with its first sample
};

// One thing of one node: a dictionary of its snapshot, or a dictionary that is nested in it.
struct thing {
	const char *node;
	const cJSON *keys;
	const cJSON *nested; // NULL: none
};

typedef void write_thing(const struct writer *writer, struct family *family,
			 const struct thing *thing, const struct metric *metric);

static void write_escaped(FILE *out, const char *text)
{
	while (*text != '\0') {
		size_t length = utf8_length(text);

		if (length == 0) // not UTF-8, as the name of a file may be
			fputc('?', out);
		else if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fwrite(text, 1, length, out);
		text += length > 0 ? length : 1;
	}
}

static void write_label(FILE *out, const char *name, const char *value, bool first)
{
	fprintf(out, "%c%s=\"", first ? '{' : ',', name);
	write_escaped(out, value);
	fputc('"', out);
}

// A value as a label; the elements of a list are joined by commas.
static void write_value_label(FILE *out, const char *name, const cJSON *value)
{
	const cJSON *item;

	if (cJSON_IsString(value)) {
		write_label(out, name, value->valuestring, false);
	} else if (cJSON_IsNumber(value)) {
		fprintf(out, ",%s=\"%.0f\"", name, value->valuedouble);
	} else if (cJSON_IsArray(value)) {
		fprintf(out, ",%s=\"", name);
		cJSON_ArrayForEach(item, value)
		{
			if (item != value->child)
				fputc(',', out);
			write_escaped(out, cJSON_IsString(item) ? item->valuestring : "");
		}
		fputc('"', out);
	}
}

static const cJSON *value_of(const cJSON *keys, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(keys, key);
}

// The value of NAME_PART.
static const cJSON *part_of(const cJSON *keys, const char *name, const char *part)
{
	char key[KEY_SIZE];

	snprintf(key, sizeof(key), "%s_%s", name, part);
	return value_of(keys, key);
}

// Labels of every sample of a thing, without the closing brace.
static void write_labels(const struct writer *writer, const struct telemetry_place *place,
			 const struct thing *thing)
{
	const struct telemetry_group *group = place->group;
	FILE *out = writer->out;

	write_label(out, "node", thing->node, true);
	if (group == NULL)
		return;
	write_value_label(out, group->name, thing->keys->child);
	for (const struct metric *const *m = place->metrics; *m != NULL; m++)
		if ((*m)->label)
			write_value_label(out, (*m)->name, value_of(thing->keys, (*m)->name));
	if (place->nested)
		write_value_label(out, group->nested, thing->nested->child);
}

static void write_number(FILE *out, double value)
{
	if (value == floor(value) && fabs(value) < 9007199254740992.0)
		fprintf(out, "%.0f\n", value);
	else
		fprintf(out, "%.15g\n", value);
}

// HELP texts hold nothing to be escaped. In the text format counters have their _total in the
// family's name, and there are no types `info` and `stateset`.
static void begin(const struct writer *writer, struct family *family)
{
	bool counter = strcmp(family->type, "counter") == 0;
	bool info = strcmp(family->type, "info") == 0;
	const char *suffix = writer->text && counter ? "_total"
			     : writer->text && info  ? "_info"
						     : "";
	const char *type = writer->text && (info || strcmp(family->type, "stateset") == 0)
			       ? "gauge"
			       : family->type;

	if (family->begun)
		return;
	family->begun = true;
	fprintf(writer->out, "# TYPE %s%s %s\n", family->name, suffix, type);
	if (family->unit[0] != '\0' && !writer->text)
		fprintf(writer->out, "# UNIT %s %s\n", family->name, family->unit);
	fprintf(writer->out, "# HELP %s%s %s\n", family->name, suffix, family->help);
}

// One sample; `label` with its value in addition to those of the thing, NULL: none.
static void write_sample(const struct writer *writer, struct family *family, const char *suffix,
			 const struct thing *thing, const char *label, const char *label_value,
			 double value)
{
	begin(writer, family);
	fprintf(writer->out, "%s%s", family->name, suffix);
	write_labels(writer, family->place, thing);
	if (label != NULL)
		write_label(writer->out, label, label_value, false);
	fputs("} ", writer->out);
	write_number(writer->out, value);
}

static void write_causes(const struct writer *writer, struct family *family,
			 const struct thing *thing, const cJSON *keys, const struct metric *metric)
{
	for (unsigned i = 0; i < metric->causes->n; i++) {
		const char *cause = metric->causes->name(i);
		const cJSON *value = part_of(keys, metric->name, cause);

		if (cJSON_IsNumber(value))
			write_sample(writer, family, "_total", thing, "cause", cause,
				     value->valuedouble);
	}
}

static void write_states(const struct writer *writer, struct family *family,
			 const struct thing *thing, const char *state, const char *const *words)
{
	for (; *words != NULL; words++)
		write_sample(writer, family, "", thing, family->name, *words,
			     strcmp(*words, state) == 0);
}

static void write_histogram(const struct writer *writer, struct family *family,
			    const struct thing *thing, const cJSON *histogram, double scale)
{
	const cJSON *count = value_of(histogram, "inf"), *sum = value_of(histogram, "sum");
	char key[KEY_SIZE], bound[KEY_SIZE];

	if (!cJSON_IsNumber(count) || !cJSON_IsNumber(sum))
		return;
	for (unsigned i = FIRST_BOUND_LOG2; i <= LAST_BOUND_LOG2; i++) {
		const cJSON *value;

		snprintf(key, sizeof(key), "le_%llu", 1ull << i);
		snprintf(bound, sizeof(bound), "%.15g", (double)(1ull << i) * scale);
		value = value_of(histogram, key);
		if (cJSON_IsNumber(value))
			write_sample(writer, family, "_bucket", thing, "le", bound,
				     value->valuedouble);
	}
	write_sample(writer, family, "_bucket", thing, "le", "+Inf", count->valuedouble);
	write_sample(writer, family, "_count", thing, NULL, NULL, count->valuedouble);
	write_sample(writer, family, "_sum", thing, NULL, NULL, sum->valuedouble * scale);
}

// A latency is a histogram and, as a family of its own, its maximum.
static void write_latency(const struct writer *writer, struct family *family,
			  const struct thing *thing, const cJSON *keys, const struct metric *metric)
{
	const cJSON *histogram = part_of(keys, metric->name, "ns");
	const cJSON *value = value_of(histogram, "max");

	if (strcmp(family->type, "histogram") == 0)
		write_histogram(writer, family, thing, histogram, metric_scale(metric));
	else if (cJSON_IsNumber(value))
		write_sample(writer, family, "", thing, NULL, NULL,
			     value->valuedouble * metric_scale(metric));
}

// The samples of one metric of one thing.
static void write_metric_of(const struct writer *writer, struct family *family,
			    const struct thing *thing, const struct metric *metric)
{
	const cJSON *keys = thing->nested != NULL ? thing->nested : thing->keys;
	const cJSON *value = value_of(keys, metric->name);

	if (metric->kind == METRIC_CAUSES)
		write_causes(writer, family, thing, keys, metric);
	else if (metric->kind == METRIC_LATENCY)
		write_latency(writer, family, thing, keys, metric);
	else if (metric->kind == METRIC_STATE && cJSON_IsString(value))
		write_states(writer, family, thing, value->valuestring, metric->words);
	else if (metric->kind != METRIC_STATE && cJSON_IsNumber(value))
		write_sample(writer, family, metric->kind == METRIC_COUNTER ? "_total" : "", thing,
			     NULL, NULL, value->valuedouble * metric_scale(metric));
}

// The keys of the first thing of a place in a snapshot, NULL if there is none.
static const cJSON *first_keys(const cJSON *snapshot, const struct telemetry_place *place)
{
	if (place->whole != NULL)
		return value_of(snapshot, place->name);
	snapshot = value_of(snapshot, place->group->name);
	return snapshot != NULL ? snapshot->child : NULL;
}

static void write_things_of(const struct writer *writer, struct family *family, struct thing *thing,
			    const struct metric *metric, write_thing *write)
{
	const struct telemetry_group *group = family->place->group;
	char key[KEY_SIZE];

	if (!family->place->nested && thing->keys->child != NULL)
		write(writer, family, thing, metric);
	for (unsigned i = 0; family->place->nested && i < group->n_nested; i++) {
		snprintf(key, sizeof(key), "%s_%u", group->nested, i);
		thing->nested = value_of(thing->keys, key);
		if (cJSON_IsObject(thing->nested) && thing->nested->child != NULL)
			write(writer, family, thing, metric);
	}
}

// Writes the samples of all things of a place, in all nodes.
static void write_things(const struct writer *writer, struct family *family,
			 const struct metric *metric, write_thing *write)
{
	for (unsigned i = 0; i < writer->n_nodes; i++) {
		struct thing thing = { .node = writer->nodes[i].name };

		thing.keys = first_keys(writer->nodes[i].snapshot, family->place);
		while (thing.keys != NULL) {
			write_things_of(writer, family, &thing, metric, write);
			thing.keys = family->place->group != NULL ? thing.keys->next : NULL;
		}
	}
}

static void write_metric(const struct writer *writer, const struct telemetry_place *place,
			 const struct metric *metric, bool maximum)
{
	char name[METRIC_NAME_SIZE];
	struct family family = {
		.place = place,
		.name = name,
		.type = maximum ? "gauge" : metric_type(metric),
		.unit = metric_base_unit(metric),
		.help = metric->help,
	};

	if (family.type == NULL || metric->hidden)
		return;
	metric_family(place->prefix, metric, maximum, name);
	write_things(writer, &family, metric, write_metric_of);
}

// Its first metric names a thing of a group, and so is a label of all its metrics.
static const struct metric *const *first_info(const struct telemetry_place *place)
{
	const struct metric *const *m = place->metrics + (place->group != NULL);

	while (*m != NULL && !metric_is_info(*m))
		m++;
	return m;
}

static void write_info_of(const struct writer *writer, struct family *family,
			  const struct thing *thing, const struct metric *metric)
{
	(void)metric;
	begin(writer, family);
	fprintf(writer->out, "%s_info", family->name);
	write_labels(writer, family->place, thing);
	for (const struct metric *const *m = first_info(family->place); *m != NULL; m++)
		if (metric_is_info(*m))
			write_value_label(writer->out, (*m)->name,
					  value_of(thing->keys, (*m)->name));
	fputs("} 1\n", writer->out);
}

// Texts and numbers of a thing as labels of one sample, which is 1.
static void write_info(const struct writer *writer, const struct telemetry_place *place)
{
	struct family family = { .place = place,
				 .name = place->prefix,
				 .type = "info",
				 .unit = "",
				 .help = "texts and numbers that tell which one it is" };

	if (*first_info(place) != NULL && !place->nested)
		write_things(writer, &family, NULL, write_info_of);
}

static void write_place(const struct writer *writer, const struct telemetry_place *place)
{
	write_info(writer, place);
	for (const struct metric *const *m = place->metrics; *m != NULL; m++) {
		write_metric(writer, place, *m, false);
		if ((*m)->kind == METRIC_LATENCY)
			write_metric(writer, place, *m, true);
	}
}

static void write_up(const struct writer *writer)
{
	static const struct telemetry_place place;
	struct family up = { .place = &place,
			     .name = "evb_up",
			     .type = "gauge",
			     .unit = "",
			     .help = "1 if the appliance answers, else 0" };
	struct family ended = { .place = &place,
				.name = "evb_ended",
				.type = "gauge",
				.unit = "",
				.help = "1: the appliance has ended in order" };

	for (unsigned i = 0; i < writer->n_nodes; i++) {
		const struct thing thing = { .node = writer->nodes[i].name };

		write_sample(writer, &up, "", &thing, NULL, NULL,
			     writer->nodes[i].snapshot != NULL);
	}
	for (unsigned i = 0; i < writer->n_nodes; i++) {
		const struct thing thing = { .node = writer->nodes[i].name };

		if (writer->nodes[i].ended)
			write_sample(writer, &ended, "", &thing, NULL, NULL, 1);
	}
}

void openmetrics_write(FILE *out, enum openmetrics_format format,
		       const struct openmetrics_node *nodes, unsigned n)
{
	const struct writer writer = { out, format == OPENMETRICS_TEXT_0_0_4, nodes, n };
	struct telemetry_place place;

	write_up(&writer);
	for (unsigned i = 0; telemetry_place(i, &place); i++)
		if (place.whole == NULL || !place.whole->hidden)
			write_place(&writer, &place);
	if (format == OPENMETRICS_1_0)
		fputs("# EOF\n", out);
}

const char *openmetrics_media_type(enum openmetrics_format format)
{
	return format == OPENMETRICS_1_0
		   ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		   : "text/plain; version=0.0.4; charset=utf-8";
}
