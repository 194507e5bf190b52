// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A monitor asks appliances again and again, in a thread of its own, and keeps for each the last
// snapshot and a history of some numbers. Readers get copies, as text; they never wait for an
// appliance longer than MONITOR_FRESH_MS.
//
// An appliance that is named is asked for as long as the monitor lives. Where none is named, all
// that run are found, and forgotten once nothing of their history is left.
#pragma once

#include <stddef.h>

#include "telemetry/openmetrics.h"

#define MONITOR_ERROR_SIZE  384
#define MONITOR_MAX_NODES   64
#define MONITOR_MAX_SAMPLES 900 // of a history
#define MONITOR_FRESH_MS    2000

struct monitor;

// Starts the thread. names: of the appliances, n of them; 0: all that run. Returns NULL with one
// line in error[MONITOR_ERROR_SIZE].
struct monitor *monitor_start(const char *const *names, unsigned n, unsigned interval_ms,
			      char *error);
void monitor_stop(struct monitor *monitor);

// Answers are JSON text, to be freed by the caller. NULL: there is no such node, or nothing of that
// name is known of it, or memory ran out. Any thread.

// {"interval_ms":1000,"nodes":[{"name":"demo","up":true},{"name":"b","up":false,"error":"..."}]}
char *monitor_nodes(struct monitor *monitor);

// {"name":"demo","up":true,"error":"","time_ms":1767225600000,"snapshot":{...}}: the last one that
// there is, null if there never was one.
char *monitor_node(struct monitor *monitor, const char *name);

// One member of the last snapshot: "info", "summary", or the things of a group.
char *monitor_part(struct monitor *monitor, const char *name, const char *part);

// {"time_ms":[...],"events_complete":[...],...}: samples taken after since_ms (of the same clock:
// milliseconds of the Unix epoch), the oldest first. A null: unknown at that time.
char *monitor_history(struct monitor *monitor, const char *name, double since_ms);

// All metrics, not older than this call unless an appliance is slow to answer.
char *monitor_metrics(struct monitor *monitor, enum openmetrics_format format, size_t *size);
