// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Snapshots of one or more appliances as text for Prometheus and the like: OpenMetrics 1.0,
// https://github.com/OpenObservability/OpenMetrics/blob/main/specification/OpenMetrics.md, or the
// older text format 0.0.4. docs/metrics.md lists the metrics.
//
// The names come from the tables and the values from a snapshot. Keys that no table has are left
// out, and so are metrics that the snapshot lacks.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <cjson/cJSON.h>

enum openmetrics_format {
	OPENMETRICS_1_0,
	OPENMETRICS_TEXT_0_0_4,
};

struct openmetrics_node {
	const char *name;      // of the appliance: label `node`
	const cJSON *snapshot; // of snapshot_take(); NULL: the appliance does not respond
	bool ended;            // it is known to have ended in order
};

// Writes all metrics of all nodes. The caller checks the stream for errors.
void openmetrics_write(FILE *out, enum openmetrics_format format,
		       const struct openmetrics_node *nodes, unsigned n);

// The media type of a format, for HTTP.
const char *openmetrics_media_type(enum openmetrics_format format);
