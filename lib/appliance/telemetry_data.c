// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The results of rte_tel_data_add_*() are not looked at: they fail only if keys are too many, too
// long or have wrong characters, and the tables are tested for that.
#include "appliance/telemetry_data.h"

#include <stdarg.h>
#include <stdio.h>

#include "pipeline/role.h"
#include "transport/causes.h"

static void add_text(struct rte_tel_data *data, const char *name, const char *text)
{
	char cut[RTE_TEL_MAX_STRING_LEN];

	snprintf(cut, sizeof(cut), "%s", text);
	rte_tel_data_add_dict_string(data, name, cut);
}

static void add_number(struct rte_tel_data *data, const char *name, const char *suffix,
		       uint64_t value)
{
	char key[RTE_TEL_MAX_STRING_LEN];

	snprintf(key, sizeof(key), "%s_%s", name, suffix);
	rte_tel_data_add_dict_u64(data, key, value);
}

static void add_texts(struct rte_tel_data *data, const char *name, const struct metric_texts *texts)
{
	struct rte_tel_data *list = rte_tel_data_alloc();

	if (list == NULL)
		return; // memory is short: the answer comes without it
	rte_tel_data_start_array(list, RTE_TEL_STRING_VAL);
	for (unsigned i = 0; i < texts->n; i++)
		rte_tel_data_add_array_string(list, texts->texts[i]);
	if (rte_tel_data_add_dict_container(data, name, list, 0) != 0)
		rte_tel_data_free(list);
}

static void add_latency(struct rte_tel_data *data, const char *name,
			const struct histogram *histogram)
{
	for (unsigned i = 0; telemetry_quantiles[i].suffix != NULL; i++)
		add_number(data, name, telemetry_quantiles[i].suffix,
			   histogram_quantile(histogram, telemetry_quantiles[i].share));
}

static void add_metric(struct rte_tel_data *data, const struct metric *metric, const void *at)
{
	const uint64_t *numbers = at;

	switch (metric->type) {
	case METRIC_COUNTER:
	case METRIC_GAUGE:
		rte_tel_data_add_dict_u64(data, metric->name, counter_read(numbers));
		break;
	case METRIC_TEXT:
		add_text(data, metric->name, *(const char *const *)at);
		break;
	case METRIC_TEXTS:
		add_texts(data, metric->name, at);
		break;
	case METRIC_PACKET_DROPS:
		for (unsigned i = 0; i < PACKET_N_CAUSES; i++)
			add_number(data, metric->name, packet_cause_name(i),
				   counter_read(&numbers[i]));
		break;
	case METRIC_SEGMENT_DROPS:
		for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
			add_number(data, metric->name, segment_cause_name(i),
				   counter_read(&numbers[i]));
		break;
	case METRIC_LATENCY:
		add_latency(data, metric->name, at);
		break;
	}
}

void telemetry_add_table(struct rte_tel_data *data, const struct metric *table, const void *base)
{
	for (; table->name != NULL; table++)
		add_metric(data, table, (const char *)base + table->offset);
}

void telemetry_add_nested(struct rte_tel_data *data, const char *name, unsigned index,
			  const struct metric *table, const void *base)
{
	struct rte_tel_data *nested = rte_tel_data_alloc();
	char key[RTE_TEL_MAX_STRING_LEN];

	if (nested == NULL)
		return; // memory is short: the answer comes without it
	snprintf(key, sizeof(key), "%s_%u", name, index);
	rte_tel_data_start_dict(nested);
	telemetry_add_table(nested, table, base);
	if (rte_tel_data_add_dict_container(data, key, nested, 0) != 0)
		rte_tel_data_free(nested);
}

// A histogram's last part holds what is beyond its range, too, so its end is no bound.
static void add_bins(struct rte_tel_data *data, const struct histogram *histogram)
{
	uint64_t count = 0, bound = 1;
	char key[RTE_TEL_MAX_STRING_LEN];

	for (unsigned bin = 0; bin < HISTOGRAM_BINS; bin++) {
		count += histogram->bins[bin];
		if (histogram_bin_end(bin) != bound || bin == HISTOGRAM_BINS - 1)
			continue;
		snprintf(key, sizeof(key), "le_%llu", (unsigned long long)bound);
		rte_tel_data_add_dict_u64(data, key, count);
		bound *= 2;
	}
	rte_tel_data_add_dict_u64(data, "inf", count);
	rte_tel_data_add_dict_u64(data, "count", count);
	rte_tel_data_add_dict_u64(data, "sum", histogram->sum);
	rte_tel_data_add_dict_u64(data, "max", histogram->maximum);
}

void telemetry_add_histogram(struct rte_tel_data *data, const char *name,
			     const struct histogram *histogram)
{
	struct rte_tel_data *nested = rte_tel_data_alloc();

	if (nested == NULL)
		return; // memory is short: the answer comes without it
	rte_tel_data_start_dict(nested);
	add_bins(nested, histogram);
	if (rte_tel_data_add_dict_container(data, name, nested, 0) != 0)
		rte_tel_data_free(nested);
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
