// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The history of an appliance: some numbers of each snapshot, the latest MONITOR_MAX_SAMPLES of
// them. Latencies are those of the events since the sample before.
#pragma once

#include <cjson/cJSON.h>

struct history;

struct history *history_create(unsigned samples);
void history_destroy(struct history *history);

void history_add(struct history *history, double time_ms, const cJSON *snapshot);

// The next snapshot is one of another run: its latencies are not compared with those before.
void history_restart(struct history *history);

// Time of the latest sample; 0 if there is none.
double history_latest(const struct history *history);

// {"time_ms":[...],"events_complete":[...],...} of the samples after since_ms; NULL if memory ran
// out.
cJSON *history_json(const struct history *history, double since_ms);
