// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/metric.h"

#include <stdio.h>
#include <string.h>

#include "packet/causes.h"

static const struct unit {
	const char *word; // in the names of metrics, with its underscore
	const char *base;
	double scale;
} units[METRIC_N_UNITS] = {
	[METRIC_UNIT_NONE] = { "", "", 1 },
	[METRIC_UNIT_SECONDS] = { "_seconds", "seconds", 1 },
	[METRIC_UNIT_NS] = { "_ns", "seconds", 1e-9 },
	[METRIC_UNIT_BYTES] = { "_bytes", "bytes", 1 },
	[METRIC_UNIT_CYCLES] = { "_cycles", "cycles", 1 },
	[METRIC_UNIT_MEGABITS] = { "_megabits", "bytes_per_second", 125000 },
};

const struct metric_quantile metric_quantiles[] = {
	{ "p50_ns", 0.5 }, { "p99_ns", 0.99 }, { "p999_ns", 0.999 }, { "max_ns", 1 }, { 0 },
};

static const char *packet_cause(unsigned cause)
{
	return packet_cause_name(cause);
}

static const char *segment_cause(unsigned cause)
{
	return segment_cause_name(cause);
}

const struct metric_causes metric_packet_causes = { PACKET_N_CAUSES, packet_cause };
const struct metric_causes metric_segment_causes = { SEGMENT_N_CAUSES, segment_cause };

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

const char *metric_suffix(const struct metric *metric)
{
	return metric->kind == METRIC_COUNTER || metric->kind == METRIC_CAUSES ? "_total" : "";
}

const char *metric_base_unit(const struct metric *metric)
{
	return units[metric->unit].base;
}

double metric_scale(const struct metric *metric)
{
	return units[metric->unit].scale;
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
	if (n == 0 || cut_end(*name, &length, word))
		return length;
	if (length == n - 1 && memcmp(*name, word + 1, n - 1) == 0)
		return 0;
	if (length > n && memcmp(*name, word + 1, n - 1) == 0 && (*name)[n - 1] == '_') {
		*name += n;
		length -= n;
	}
	return length;
}

void metric_family(const char *prefix, const struct metric *metric, bool maximum,
		   char name[METRIC_NAME_SIZE])
{
	const struct unit *unit = &units[metric->unit];
	const char *bare = metric->name;
	size_t length = bare_name(&bare, unit->word);

	snprintf(name, METRIC_NAME_SIZE, "%s%s%.*s%s%s%s", prefix, length > 0 ? "_" : "",
		 (int)length, bare, maximum ? "_max" : "", unit->base[0] != '\0' ? "_" : "",
		 unit->base);
}
