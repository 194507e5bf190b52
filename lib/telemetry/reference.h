// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The metric tables for the manual, and for the endpoint file of DPDK's exporter. Control thread.
#pragma once

// docs/metrics.md. To be freed by the caller; NULL if memory ran out.
char *telemetry_reference(void);

// The tables as JSON, which configs/deploy/telemetry-endpoints/evb.py reads:
//
//   { "groups": { "role": { "label": "name", "labels": [...], "info": [...] }, ... },
//     "metrics": [ [PLACE, KEY, NAME, TYPE, SCALE, LABELS, HELP], ... ] }
//
// PLACE is a group, GROUP/NESTED, or the last word of a command for the whole appliance; NAME is
// that in OpenMetrics, with _total; LABELS are those beside the thing's own, of a state the words.
// To be freed by the caller; NULL if memory ran out.
char *telemetry_tables_json(void);
