// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A metric is one line of a table: name, kind, unit, place in memory and meaning of one value that
// telemetry reports. The tables are the only place where these are written. The responses on the
// telemetry socket, OpenMetrics, the manual's page of metrics and the endpoint of DPDK's exporter
// are made from them. A released name is never changed.
//
// In OpenMetrics a metric is called evb_GROUP_NAME, with its base unit at the end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/lcore.h"

#define METRIC_NAME_SIZE 128

// A number is an unsigned integer or a bool of any size.
enum metric_kind {
	METRIC_COUNTER, // number that only grows
	METRIC_GAUGE,   // number
	METRIC_NUMBER,  // number that identifies or locates something
	METRIC_TEXT,    // const char * or longer char[], of which 127 characters are reported
	METRIC_STATE,   // const char *, one of `words`
	METRIC_TEXTS,   // struct metric_texts
	METRIC_CAUSES,  // uint64_t[causes->n]: counters NAME_CAUSE
	METRIC_LATENCY, // struct histogram: gauges NAME_p50_ns, _p99_ns, _p999_ns, _max_ns
	METRIC_N_KINDS
};

struct metric_texts {
	const char *texts[LCORE_MAX_ROLES];
	unsigned n;
};

// Causes by which a metric is counted.
struct metric_causes {
	unsigned n;
	const char *(*name)(unsigned cause);
};

extern const struct metric_causes metric_packet_causes;
extern const struct metric_causes metric_segment_causes;

// A table ends with a name of NULL. The name contains the unit: seconds, ns, bytes, cycles (of the
// time stamp counter) or megabits (Mb/s). A metric without such a word is a count, or 1 for yes and
// 0 for no.
struct metric {
	const char *name;
	enum metric_kind kind;
	size_t offset, size; // in the structure
	const char *help;    // one clause, without quotes and backslashes
	const char *const *words;
	const struct metric_causes *causes;
	bool label;  // text or number: in OpenMetrics a label of all metrics of its thing
	bool hidden; // not in OpenMetrics, where another metric has the same value
};

// Lines of a table whose fields are those of `struct structure`.
#define COUNTER(name_, structure, field, help_) METRIC(COUNTER, name_, structure, field, help_)
#define GAUGE(name_, structure, field, help_)   METRIC(GAUGE, name_, structure, field, help_)
#define NUMBER(name_, structure, field, help_)  METRIC(NUMBER, name_, structure, field, help_)
#define TEXT(name_, structure, field, help_)    METRIC(TEXT, name_, structure, field, help_)
#define TEXTS(name_, structure, field, help_)   METRIC(TEXTS, name_, structure, field, help_)
#define LATENCY(name_, structure, field, help_) METRIC(LATENCY, name_, structure, field, help_)
#define STATE(name_, structure, field, words_, help_) \
	METRIC(STATE, name_, structure, field, help_, .words = words_)
#define CAUSES(name_, structure, field, causes_, help_) \
	METRIC(CAUSES, name_, structure, field, help_, .causes = &(causes_))
// A text that is a label of all metrics of its thing.
#define LABEL(name_, structure, field, help_) \
	METRIC(TEXT, name_, structure, field, help_, .label = true)
// A value that another metric has, too: on the telemetry socket but not in OpenMetrics.
#define AGAIN(kind_, name_, structure, field, help_) \
	METRIC(kind_, name_, structure, field, help_, .hidden = true)

#define METRIC(kind_, name_, structure, field, ...)                \
	{                                                          \
		.name = name_, .kind = METRIC_##kind_,             \
		.offset = offsetof(struct structure, field),       \
		.size = sizeof(((struct structure *)NULL)->field), \
		.help = METRIC_REST(__VA_ARGS__)                   \
	}
// The help, and further members of struct metric.
#define METRIC_REST(...) __VA_ARGS__

struct metric_quantile {
	const char *suffix;
	double share;
};

// The quantiles of METRIC_LATENCY, ended by a suffix of NULL; the maximum has share 1.
extern const struct metric_quantile metric_quantiles[];

// Whether the metric says which thing it is, and not how much: in OpenMetrics a label of
// PREFIX_info.
bool metric_is_info(const struct metric *metric);

// Type of the metric's family in OpenMetrics; NULL: the metric is a label.
const char *metric_type(const struct metric *metric);

// Base unit in OpenMetrics, "" without a unit, and the factor from the value on the socket to it.
const char *metric_base_unit(const struct metric *metric);
double metric_scale(const struct metric *metric);

// Name of the metric's family in OpenMetrics, without the _total of counters: the prefix, its name,
// its base unit. The maximum of a latency is a family of its own, with `max` before the unit.
void metric_family(const char *prefix, const struct metric *metric, bool maximum,
		   char name[METRIC_NAME_SIZE]);
