// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A reading is a snapshot of one appliance (client/snapshot.h) with its time. It never changes, and
// its references are counted: the sampler, and each reader that retains it, hold one. Any thread.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include <cjson/cJSON.h>

struct reading {
	double time_ms; // since the Unix epoch, when the snapshot was complete
	pid_t pid;      // process of the appliance
	cJSON *snapshot;
	atomic_uint references;
};

// Takes ownership of the snapshot, also if memory runs out, when it returns NULL. The caller holds
// the one reference.
struct reading *reading_make(cJSON *snapshot, double time_ms, pid_t pid);
struct reading *reading_ref(struct reading *reading);
void reading_unref(struct reading *reading); // NULL is ignored

// A number of the part "summary"; NAN if the snapshot has none of this name.
double reading_number(const struct reading *reading, const char *key);

// Whether counters of the two readings can be compared: `now` is later, and both are of one run.
bool reading_follows(const struct reading *now, const struct reading *before);
