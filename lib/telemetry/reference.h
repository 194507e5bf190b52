// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The metric tables for the manual, and for the endpoint file of DPDK's exporter. Control thread.
#pragma once

// The sections of docs/metrics.md, from /evb/info on. The caller frees the text; NULL if memory ran
// out.
char *telemetry_reference(void);

// The tables as JSON, which configs/deploy/telemetry-endpoints/evb.py reads:
//
//   { "groups": { "role": { "label": "name", "labels": [...], "info": [...] }, ... },
//     "metrics": [ [PLACE, KEY, NAME, TYPE, SCALE, LABELS, HELP], ... ] }
//
// PLACE is the name of a telemetry_place (group.h), NAME the name in OpenMetrics with _total,
// LABELS are the labels in addition to those of the thing, or the words of a state. The caller
// frees the text; NULL if memory ran out.
char *telemetry_tables_json(void);
