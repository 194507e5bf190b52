// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/openmetrics.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "telemetry/group.h"

#define KEY_SIZE 256

// Bounds of histograms, of those that the telemetry socket tells: 1 us to 69 s.
#define FIRST_BOUND_LOG2 10
#define LAST_BOUND_LOG2  36

struct writer {
	FILE *out;
	bool text; // text format 0.0.4
	const struct openmetrics_node *nodes;
	unsigned n_nodes;
};

// A family is what one metric is called in all things of all nodes; its lines stay together.
struct family {
	const char *name;
	const char *type; // as OpenMetrics calls it
	const char *unit; // "": none
	const char *help;
	bool begun; // its header is written, for there is a sample
};

// One thing of one node, whose keys are a dictionary of the snapshot.
struct thing {
	const char *node;
	const struct telemetry_group *group; // NULL: the appliance itself
	const cJSON *keys;
	const char *nested; // label of a nested dictionary, or NULL
	const cJSON *nested_keys;
};

static void write_escaped(FILE *out, const char *text)
{
	while (*text != '\0') {
		size_t length = utf8_length(text);

		if (length == 0) // not UTF-8: a file's name may be anything
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

// A key's value as text: what it is, or a list joined by commas.
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

// Labels of every sample of a thing, without the closing brace.
static void write_labels(FILE *out, const struct thing *thing)
{
	write_label(out, "node", thing->node, true);
	if (thing->group == NULL)
		return;
	write_value_label(out, thing->group->name, thing->keys->child);
	for (const struct metric *metric = thing->group->tables[0]; metric->name; metric++)
		if (metric->label)
			write_value_label(
			    out, metric->name,
			    cJSON_GetObjectItemCaseSensitive(thing->keys, metric->name));
	if (thing->nested != NULL)
		write_value_label(out, thing->nested, thing->nested_keys->child);
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
	write_labels(writer->out, thing);
	if (label != NULL)
		write_label(writer->out, label, label_value, false);
	fputs("} ", writer->out);
	write_number(writer->out, value);
}

static const cJSON *number_of(const cJSON *keys, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(keys, key);

	return cJSON_IsNumber(value) ? value : NULL;
}

static void write_causes(const struct writer *writer, struct family *family,
			 const struct thing *thing, const cJSON *keys, const struct metric *metric)
{
	char key[KEY_SIZE];

	for (unsigned i = 0; i < metric->causes->n; i++) {
		const char *cause = metric->causes->name(i);
		const cJSON *value;

		snprintf(key, sizeof(key), "%s_%s", metric->name, cause);
		value = number_of(keys, key);
		if (value != NULL)
			write_sample(writer, family, "_total", thing, "cause", cause,
				     value->valuedouble);
	}
}

static void write_states(const struct writer *writer, struct family *family,
			 const struct thing *thing, const cJSON *value, const struct metric *metric)
{
	if (!cJSON_IsString(value))
		return;
	for (unsigned i = 0; metric->words[i] != NULL; i++)
		write_sample(writer, family, "", thing, family->name, metric->words[i],
			     strcmp(metric->words[i], value->valuestring) == 0);
}

static void write_histogram(const struct writer *writer, struct family *family,
			    const struct thing *thing, const cJSON *histogram, double scale)
{
	const cJSON *count = number_of(histogram, "inf"), *sum = number_of(histogram, "sum");
	char key[KEY_SIZE], bound[KEY_SIZE];

	if (count == NULL || sum == NULL)
		return;
	for (unsigned i = FIRST_BOUND_LOG2; i <= LAST_BOUND_LOG2; i++) {
		const cJSON *value;

		snprintf(key, sizeof(key), "le_%llu", 1ull << i);
		snprintf(bound, sizeof(bound), "%.15g", (double)(1ull << i) * scale);
		value = number_of(histogram, key);
		if (value != NULL)
			write_sample(writer, family, "_bucket", thing, "le", bound,
				     value->valuedouble);
	}
	write_sample(writer, family, "_bucket", thing, "le", "+Inf", count->valuedouble);
	write_sample(writer, family, "_count", thing, NULL, NULL, count->valuedouble);
	write_sample(writer, family, "_sum", thing, NULL, NULL, sum->valuedouble * scale);
}

static void write_latency(const struct writer *writer, struct family *family,
			  const struct thing *thing, const cJSON *keys, const struct metric *metric,
			  bool maximum)
{
	double scale = metric_scale(metric->unit);
	const cJSON *histogram, *value;
	char key[KEY_SIZE];

	snprintf(key, sizeof(key), "%s_ns", metric->name);
	histogram = cJSON_GetObjectItemCaseSensitive(keys, key);
	value = number_of(histogram, "max");
	if (!maximum)
		write_histogram(writer, family, thing, histogram, scale);
	else if (value != NULL)
		write_sample(writer, family, "", thing, NULL, NULL, value->valuedouble * scale);
}

// What one metric is for one thing.
static void write_metric_of(const struct writer *writer, struct family *family,
			    const struct thing *thing, const struct metric *metric, bool maximum)
{
	const cJSON *keys = thing->nested != NULL ? thing->nested_keys : thing->keys;
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(keys, metric->name);

	switch (metric->kind) {
	case METRIC_COUNTER:
	case METRIC_GAUGE:
		if (cJSON_IsNumber(value))
			write_sample(writer, family, metric->kind == METRIC_COUNTER ? "_total" : "",
				     thing, NULL, NULL,
				     value->valuedouble * metric_scale(metric->unit));
		break;
	case METRIC_CAUSES:
		write_causes(writer, family, thing, keys, metric);
		break;
	case METRIC_STATE:
		write_states(writer, family, thing, value, metric);
		break;
	case METRIC_LATENCY:
		write_latency(writer, family, thing, keys, metric, maximum);
		break;
	default:
		break; // texts and numbers are labels
	}
}

typedef void (*thing_visitor)(void *context, const struct thing *thing);

static void visit_nested(const struct thing *thing, thing_visitor visit, void *context)
{
	struct thing nested = *thing;
	char key[KEY_SIZE];

	nested.nested = thing->group->nested;
	for (unsigned i = 0; i < thing->group->n_nested; i++) {
		snprintf(key, sizeof(key), "%s_%u", nested.nested, i);
		nested.nested_keys = cJSON_GetObjectItemCaseSensitive(thing->keys, key);
		if (cJSON_IsObject(nested.nested_keys) && nested.nested_keys->child != NULL)
			visit(context, &nested);
	}
}

// Calls `visit` with each thing of a group in all nodes; nested: with each of its dictionaries.
static void visit_group(const struct writer *writer, const struct telemetry_group *group,
			bool nested, thing_visitor visit, void *context)
{
	for (unsigned i = 0; i < writer->n_nodes; i++) {
		const cJSON *list =
		    cJSON_GetObjectItemCaseSensitive(writer->nodes[i].snapshot, group->name);
		const cJSON *keys;

		cJSON_ArrayForEach(keys, list)
		{
			struct thing thing = { writer->nodes[i].name, group, keys, NULL, NULL };

			if (keys->child == NULL)
				continue;
			if (nested)
				visit_nested(&thing, visit, context);
			else
				visit(context, &thing);
		}
	}
}

static void visit_whole(const struct writer *writer, const struct telemetry_whole *whole,
			thing_visitor visit, void *context)
{
	const char *key = strrchr(whole->command, '/') + 1;

	for (unsigned i = 0; i < writer->n_nodes; i++) {
		struct thing thing = { writer->nodes[i].name, NULL, NULL, NULL, NULL };

		thing.keys = cJSON_GetObjectItemCaseSensitive(writer->nodes[i].snapshot, key);
		if (thing.keys != NULL)
			visit(context, &thing);
	}
}

struct metric_context {
	const struct writer *writer;
	const struct metric *metric;
	struct family *family;
	bool maximum;
};

static void visit_metric(void *context, const struct thing *thing)
{
	const struct metric_context *to = context;

	write_metric_of(to->writer, to->family, thing, to->metric, to->maximum);
}

// Where a metric is found: a group, its nested dictionaries, or the whole appliance.
struct place {
	const char *prefix;
	const struct telemetry_whole *whole; // or
	const struct telemetry_group *group;
	bool nested;
};

static void visit_place(const struct writer *writer, const struct place *place, thing_visitor visit,
			void *context)
{
	if (place->whole != NULL)
		visit_whole(writer, place->whole, visit, context);
	else
		visit_group(writer, place->group, place->nested, visit, context);
}

static void write_metric(const struct writer *writer, const struct place *place,
			 const struct metric *metric, bool maximum)
{
	static const char *const types[METRIC_N_KINDS] = {
		[METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge",
		[METRIC_CAUSES] = "counter",  [METRIC_LATENCY] = "histogram",
		[METRIC_STATE] = "stateset",
	};
	char name[METRIC_NAME_SIZE];
	struct family family = {
		.name = name,
		.type = maximum ? "gauge" : types[metric->kind],
		.unit = metric_base_unit(metric->unit),
		.help = metric->help,
	};
	struct metric_context context = { writer, metric, &family, maximum };

	if (family.type == NULL || metric->hidden)
		return;
	metric_family(place->prefix, metric, maximum, name);
	visit_place(writer, place, visit_metric, &context);
}

static bool is_info(const struct metric *metric)
{
	return !metric->hidden && !metric->label &&
	       (metric->kind == METRIC_TEXT || metric->kind == METRIC_TEXTS ||
		metric->kind == METRIC_NUMBER);
}

struct info_context {
	const struct writer *writer;
	const struct metric *table;
	struct family *family;
};

// Texts and numbers of a thing as labels of one sample, which is 1.
static void visit_info(void *context, const struct thing *thing)
{
	const struct info_context *to = context;
	FILE *out = to->writer->out;

	begin(to->writer, to->family);
	fprintf(out, "%s_info", to->family->name);
	write_labels(out, thing);
	for (const struct metric *metric = to->table; metric->name; metric++)
		if (is_info(metric) && metric != to->table)
			write_value_label(
			    out, metric->name,
			    cJSON_GetObjectItemCaseSensitive(thing->keys, metric->name));
	fputs("} 1\n", out);
}

static void write_info(const struct writer *writer, const struct place *place,
		       const struct metric *table)
{
	struct family family = { .name = place->prefix,
				 .type = "info",
				 .unit = "",
				 .help = "texts and numbers that tell which one it is" };
	struct info_context context = { writer, table, &family };
	bool any = false;

	for (const struct metric *metric = table; metric->name != NULL; metric++)
		any |= metric != table && is_info(metric);
	if (any)
		visit_place(writer, place, visit_info, &context);
}

static void write_table(const struct writer *writer, const struct place *place,
			const struct metric *table)
{
	for (const struct metric *metric = table; metric->name != NULL; metric++) {
		write_metric(writer, place, metric, false);
		if (metric->kind == METRIC_LATENCY)
			write_metric(writer, place, metric, true);
	}
}

static void write_group(const struct writer *writer, const struct telemetry_group *group)
{
	char prefix[METRIC_NAME_SIZE / 2], nested[METRIC_NAME_SIZE / 2];
	struct place place = { .prefix = prefix, .group = group };

	snprintf(prefix, sizeof(prefix), "evb_%s", group->name);
	write_info(writer, &place, group->tables[0]);
	for (unsigned i = 0; i < TELEMETRY_MAX_TABLES && group->tables[i] != NULL; i++)
		write_table(writer, &place, group->tables[i]);
	if (group->nested == NULL)
		return;
	snprintf(nested, sizeof(nested), "evb_%s_%s", group->name, group->nested);
	place.prefix = nested;
	place.nested = true;
	write_table(writer, &place, group->nested_table);
}

static void write_up(const struct writer *writer)
{
	struct family family = { .name = "evb_up",
				 .type = "gauge",
				 .unit = "",
				 .help = "1 if the appliance answers, else 0" };

	for (unsigned i = 0; i < writer->n_nodes; i++) {
		struct thing thing = { .node = writer->nodes[i].name };

		write_sample(writer, &family, "", &thing, NULL, NULL,
			     writer->nodes[i].snapshot != NULL);
	}
}

void openmetrics_write(FILE *out, enum openmetrics_format format,
		       const struct openmetrics_node *nodes, unsigned n)
{
	const struct writer writer = { out, format == OPENMETRICS_TEXT_0_0_4, nodes, n };

	write_up(&writer);
	for (const struct telemetry_whole *whole = telemetry_wholes; whole->command; whole++) {
		struct place place = { .prefix = "evb", .whole = whole };

		if (whole->hidden)
			continue;
		write_info(&writer, &place, whole->table);
		write_table(&writer, &place, whole->table);
	}
	for (unsigned i = 0; telemetry_groups[i] != NULL; i++)
		write_group(&writer, telemetry_groups[i]);
	if (format == OPENMETRICS_1_0)
		fputs("# EOF\n", out);
}

const char *openmetrics_media_type(enum openmetrics_format format)
{
	return format == OPENMETRICS_1_0
		   ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		   : "text/plain; version=0.0.4; charset=utf-8";
}
