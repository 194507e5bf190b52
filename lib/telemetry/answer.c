// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The results of rte_tel_data_add_*() are ignored: these functions fail only if keys are too many,
// too long or have wrong characters, which the tests of the tables exclude.
#include "telemetry/group.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dpdk/release.h"
#include "pipeline/role.h"

#define FRAME 4 // bytes around a key: two quotes, colon, comma

static size_t text_bytes(const char *text)
{
	size_t bytes = 2;

	// JSON writes an unprintable character as \uXXXX at most.
	for (; *text != '\0'; text++)
		bytes += (unsigned char)*text < ' ' ? 6 : *text == '"' || *text == '\\' ? 2 : 1;
	return bytes;
}

static size_t add_text(struct rte_tel_data *data, const char *key, const char *text)
{
	char cut[RTE_TEL_MAX_STRING_LEN];

	snprintf(cut, sizeof(cut), "%s", text);
	rte_tel_data_add_dict_string(data, key, cut);
	return strlen(key) + FRAME + text_bytes(cut);
}

static size_t add_number(struct rte_tel_data *data, const char *key, uint64_t value)
{
	size_t bytes = strlen(key) + FRAME + 1;

	dpdk_add_uint(data, key, value);
	for (; value > 9; value /= 10)
		bytes++;
	return bytes;
}

uint64_t telemetry_number(const struct metric *metric, const void *base)
{
	const void *at = (const char *)base + metric->offset;

	switch (metric->size) {
	case sizeof(uint8_t):
		return __atomic_load_n((const uint8_t *)at, __ATOMIC_RELAXED);
	case sizeof(uint16_t):
		return __atomic_load_n((const uint16_t *)at, __ATOMIC_RELAXED);
	case sizeof(uint32_t):
		return __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
	default:
		return counter_read(at);
	}
}

const char *telemetry_text(const struct metric *metric, const void *base)
{
	const char *at = (const char *)base + metric->offset;

	return metric->size > sizeof(at) ? at : *(const char *const *)(const void *)at;
}

static size_t add_part(struct rte_tel_data *data, const char *name, const char *part,
		       uint64_t value)
{
	char key[RTE_TEL_MAX_STRING_LEN];

	snprintf(key, sizeof(key), "%s_%s", name, part);
	return add_number(data, key, value);
}

// If memory is short, the response lacks the nested part.
static size_t add_nested(struct rte_tel_data *data, const char *key, struct rte_tel_data *nested,
			 size_t bytes)
{
	if (rte_tel_data_add_dict_container(data, key, nested, 0) == 0)
		return strlen(key) + FRAME + 2 + bytes;
	rte_tel_data_free(nested);
	return 0;
}

static size_t add_texts(struct rte_tel_data *data, const char *key,
			const struct metric_texts *texts)
{
	struct rte_tel_data *list = rte_tel_data_alloc();
	size_t bytes = 0;

	if (list == NULL)
		return 0;
	rte_tel_data_start_array(list, RTE_TEL_STRING_VAL);
	for (unsigned i = 0; i < texts->n; i++) {
		rte_tel_data_add_array_string(list, texts->texts[i]);
		bytes += text_bytes(texts->texts[i]) + 1;
	}
	return add_nested(data, key, list, bytes);
}

static size_t add_causes(struct rte_tel_data *data, const struct metric *metric,
			 const uint64_t *numbers)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < metric->causes->n; i++)
		bytes += add_part(data, metric->name, metric->causes->name(i),
				  counter_read(&numbers[i]));
	return bytes;
}

static size_t add_quantiles(struct rte_tel_data *data, const char *name,
			    const struct histogram *histogram)
{
	size_t bytes = 0;

	for (unsigned i = 0; metric_quantiles[i].suffix != NULL; i++)
		bytes += add_part(data, name, metric_quantiles[i].suffix,
				  histogram_quantile(histogram, metric_quantiles[i].share));
	return bytes;
}

static size_t add_metric(struct rte_tel_data *data, const struct metric *metric, const void *base)
{
	const void *at = (const char *)base + metric->offset;

	switch (metric->kind) {
	case METRIC_TEXT:
	case METRIC_STATE:
		return add_text(data, metric->name, telemetry_text(metric, base));
	case METRIC_TEXTS:
		return add_texts(data, metric->name, at);
	case METRIC_CAUSES:
		return add_causes(data, metric, at);
	case METRIC_LATENCY:
		return add_quantiles(data, metric->name, at);
	default:
		return add_number(data, metric->name, telemetry_number(metric, base));
	}
}

size_t telemetry_add_table(struct rte_tel_data *data, const struct metric *table, const void *base)
{
	size_t bytes = 0;

	for (; table->name != NULL; table++)
		bytes += add_metric(data, table, base);
	return bytes;
}

// The last bin of a histogram also holds the values beyond its range, so its end is no bound.
static size_t add_bins(struct rte_tel_data *data, const struct histogram *histogram)
{
	uint64_t count = 0, bound = 1;
	char key[RTE_TEL_MAX_STRING_LEN];
	size_t bytes = 0;

	for (unsigned bin = 0; bin < HISTOGRAM_BINS; bin++) {
		count += counter_read(&histogram->bins[bin]);
		if (histogram_bin_end(bin) != bound || bin == HISTOGRAM_BINS - 1)
			continue;
		snprintf(key, sizeof(key), "le_%llu", (unsigned long long)bound);
		bytes += add_number(data, key, count);
		bound *= 2;
	}
	bytes += add_number(data, "inf", count);
	bytes += add_number(data, "count", count);
	bytes += add_number(data, "sum", counter_read(&histogram->sum));
	return bytes + add_number(data, "max", counter_read(&histogram->maximum));
}

size_t telemetry_add_histogram(struct rte_tel_data *data, const char *name,
			       const struct histogram *histogram)
{
	struct rte_tel_data *nested = rte_tel_data_alloc();
	size_t bytes;

	if (nested == NULL)
		return 0;
	rte_tel_data_start_dict(nested);
	bytes = add_bins(nested, histogram);
	return add_nested(data, name, nested, bytes);
}

static size_t add_histograms(struct rte_tel_data *data, const struct metric *table,
			     const void *base)
{
	char key[RTE_TEL_MAX_STRING_LEN];
	size_t bytes = 0;

	for (; table->name != NULL; table++) {
		const void *at = (const char *)base + table->offset;

		if (table->kind != METRIC_LATENCY)
			continue;
		snprintf(key, sizeof(key), "%s_ns", table->name);
		bytes += telemetry_add_histogram(data, key, at);
	}
	return bytes;
}

// Adds dictionary NESTED_N of a thing.
static size_t add_nested_table(struct rte_tel_data *data, const struct telemetry_group *group,
			       unsigned n, const void *base)
{
	struct rte_tel_data *nested = rte_tel_data_alloc();
	char key[RTE_TEL_MAX_STRING_LEN];
	size_t bytes;

	if (nested == NULL)
		return 0;
	snprintf(key, sizeof(key), "%s_%u", group->nested, n);
	rte_tel_data_start_dict(nested);
	bytes = telemetry_add_table(nested, group->nested_table, base);
	return add_nested(data, key, nested, bytes);
}

size_t telemetry_add_thing(struct rte_tel_data *data, const struct appliance *appliance,
			   const struct telemetry_group *group, unsigned index, bool histograms)
{
	telemetry_bases bases;
	size_t bytes = 0;

	if (!telemetry_view(group, appliance, index, bases))
		return 0;
	for (unsigned i = 0; i < TELEMETRY_MAX_TABLES && group->tables[i] != NULL; i++) {
		if (bases[i] == NULL)
			continue;
		bytes += telemetry_add_table(data, group->tables[i], bases[i]);
		if (histograms)
			bytes += add_histograms(data, group->tables[i], bases[i]);
	}
	for (unsigned i = 0; i < group->n_nested; i++) {
		const void *base = group->view_nested(appliance, index, i);

		if (base != NULL)
			bytes += add_nested_table(data, group, i, base);
	}
	return bytes;
}

void telemetry_set_error(struct rte_tel_data *data, const char *format, ...)
{
	char text[RTE_TEL_MAX_STRING_LEN];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "error", text);
}
