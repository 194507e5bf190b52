// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The history of one appliance: some numbers of its latest readings. A latency is a quantile over
// the events that were finished since the reading before. One thread at a time.
#pragma once

#include "client/reading.h"

struct history;

// Room for the latest `samples` readings. NULL: memory ran out.
struct history *history_create(unsigned samples);
void history_destroy(struct history *history);

// Adds a reading, and retains a reference to it until the next one is added.
void history_add(struct history *history, struct reading *reading);

// Time of the latest reading; 0 if there is none.
double history_latest(const struct history *history);

// {"time_ms":[...],"events_complete":[...],...} of the readings after since_ms, the oldest first;
// null where a number is unknown. NULL if memory ran out.
cJSON *history_json(const struct history *history, double since_ms);
