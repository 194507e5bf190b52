// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the web server shows of the appliances that a sampler samples. Results are text, to be freed
// by the caller. NULL: no such node, nothing of that name is known of the node, or memory ran out.
// Any thread.
#pragma once

#include <stddef.h>

#include "client/sampler.h"
#include "openmetrics/openmetrics.h"

// {"interval_ms":1000,"nodes":[{"name":"demo","up":true,"state":"up","error":"",
// "time_ms":1767225600000},{"name":"b","up":false,"state":"waits","error":"...","time_ms":0}]}
// state: sampler_state_name(). "diagnosis": its first finding (group `diagnosis` of telemetry), or
// null.
char *api_nodes(struct sampler *sampler);

// {"name":"demo","up":true,"state":"up","error":"","time_ms":1767225600000,"snapshot":{...}}: the
// latest snapshot, or null before the first.
char *api_node(struct sampler *sampler, const char *name);

// One member of the latest snapshot: "info", "summary", or the things of a group.
char *api_part(struct sampler *sampler, const char *name, const char *part);

// The history after since_ms (milliseconds since the Unix epoch): history_json().
char *api_history(struct sampler *sampler, const char *name, double since_ms);

// The metrics of all nodes, sampled after this call unless an appliance responds too slowly.
char *api_metrics(struct sampler *sampler, enum openmetrics_format format, size_t *size);
