// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/metric.h"

#include <stdio.h>
#include <string.h>

#include "packet/causes.h"

static const struct unit {
	const char *word; // in the names of metrics
	const char *base; // in OpenMetrics
	double scale;     // from the one to the other
} units[] = {
	{ "seconds", "seconds", 1 },
	{ "ns", "seconds", 1e-9 },
	{ "bytes", "bytes", 1 },
	{ "cycles", "cycles", 1 },
	{ "megabits", "bytes_per_second", 125000 },
	{ "", "", 1 },
};

const struct metric_quantile metric_quantiles[] = {
	{ "p50_ns", 0.5 }, { "p99_ns", 0.99 }, { "p999_ns", 0.999 }, { "max_ns", 1 }, { 0 },
};

const struct metric_causes metric_packet_causes = { PACKET_N_CAUSES, packet_cause_name };
const struct metric_causes metric_segment_causes = { SEGMENT_N_CAUSES, segment_cause_name };

bool metric_is_info(const struct metric *metric)
{
	return !metric->hidden && !metric->label &&
	       (metric->kind == METRIC_TEXT || metric->kind == METRIC_TEXTS ||
		metric->kind == METRIC_NUMBER);
}

const char *metric_type(const struct metric *metric)
{
	static const char *const types[METRIC_N_KINDS] = {
		[METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge",
		[METRIC_CAUSES] = "counter",  [METRIC_LATENCY] = "histogram",
		[METRIC_STATE] = "stateset",
	};

	return types[metric->kind];
}

// Whether a word stands in a name between underscores or the ends.
static bool has_word(const char *name, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = name; (at = strstr(at, word)) != NULL; at += length)
		if ((at == name || at[-1] == '_') && (at[length] == '\0' || at[length] == '_'))
			return true;
	return false;
}

static const struct unit *unit_of(const struct metric *metric)
{
	const struct unit *unit = units;

	while (unit->word[0] != '\0' &&
	       !(metric->kind == METRIC_LATENCY ? strcmp(unit->word, "ns") == 0
						: has_word(metric->name, unit->word)))
		unit++;
	return unit;
}

const char *metric_base_unit(const struct metric *metric)
{
	return unit_of(metric)->base;
}

double metric_scale(const struct metric *metric)
{
	return unit_of(metric)->scale;
}

static bool cut_end(const char *text, size_t *length, const char *end)
{
	size_t n = strlen(end);

	if (n == 0 || *length < n || memcmp(text + *length - n, end, n) != 0)
		return false;
	*length -= n;
	return true;
}

// The name without its unit ("bytes_built", "rx_bytes", "bytes") and without "_total". Moves `name`
// to its beginning and returns its length.
static size_t bare_name(const char **name, const char *word)
{
	size_t length = strlen(*name), n = strlen(word);

	(void)cut_end(*name, &length, "_total");
	if (n == 0 || !cut_end(*name, &length, word)) {
		if (n > 0 && length > n && memcmp(*name, word, n) == 0 && (*name)[n] == '_') {
			*name += n + 1;
			length -= n + 1;
		}
		return length;
	}
	return length > 0 ? length - 1 : 0; // without the underscore
}

void metric_family(const char *prefix, const struct metric *metric, bool maximum,
		   char name[METRIC_NAME_SIZE])
{
	const struct unit *unit = unit_of(metric);
	const char *bare = metric->name;
	size_t length = bare_name(&bare, unit->word);

	snprintf(name, METRIC_NAME_SIZE, "%s%s%.*s%s%s%s", prefix, length > 0 ? "_" : "",
		 (int)length, bare, maximum ? "_max" : "", unit->base[0] != '\0' ? "_" : "",
		 unit->base);
}
