// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The items of one reading (client/reading.h), sorted into groups: lcores, links, builders, ... A
// metric of an item goes by the name that telemetry gives it (docs/metrics.md). Pure.
#pragma once

#include <stdbool.h>

#include "client/reading.h"

#define SAMPLE_NAME_SIZE  80
#define SAMPLE_NOTE_SIZE  160
#define SAMPLE_CAUSE_SIZE 32

// In place of a metric's name: all counters segment_drop_CAUSE and packet_drop_CAUSE together.
#define SAMPLE_DROPS "drops of all causes"

enum sample_group {
	SAMPLE_LCORES,
	SAMPLE_LINKS,
	SAMPLE_BUILDERS,
	SAMPLE_CONSUMERS, // groups of consumers of all builders
	SAMPLE_SOURCES,
	SAMPLE_PORTS,
	SAMPLE_GENERATORS,
	SAMPLE_WRITERS,
	SAMPLE_SCHEDULER, // each number of the event manager is an item
	SAMPLE_CREDITS,   // builders of the system, as the event manager knows them
	SAMPLE_READOUTS,
	SAMPLE_ROCE,      // ports
	SAMPLE_DECISIONS, // groups of consumers that decide
	SAMPLE_STEPS,     // of control
	SAMPLE_N_GROUPS,
};

struct sample_item {
	char name[SAMPLE_NAME_SIZE];
	char note[SAMPLE_NOTE_SIZE]; // lcores: roles; links: consumer; sources: detector; ports:
				     // device; generators and builders of the system: state;
				     // steps: their begin
	const cJSON *object;           // whose members are the metrics, or the number itself
	const cJSON *more;             // ports: counters of pause frames; else NULL
	double drops;                  // of all causes; NAN: the item has no such counters
	char cause[SAMPLE_CAUSE_SIZE]; // of most of them; links: who holds their consumer back
};

struct sample_list {
	struct sample_item *items;
	unsigned n;
};

struct sample {
	struct reading *reading;       // NULL: no sample
	char cause[SAMPLE_CAUSE_SIZE]; // of most drops of the appliance
	struct sample_list groups[SAMPLE_N_GROUPS];
};

// Retains a reference to the reading. Returns false if memory ran out; to be freed also then.
bool sample_take(struct sample *sample, struct reading *reading);
void sample_free(struct sample *sample);

// A text of the snapshot's part `part`, or of the first item of a group; "" if there is none.
const char *sample_text(const struct sample *sample, const char *part, const char *key);

// A text of an object, "" if there is none; and a number, NAN if there is none.
const char *sample_key(const cJSON *object, const char *key);
double sample_number(const cJSON *object, const char *key);

// What telemetry says of this node in its control protocol; NULL: it is no node of a system.
const cJSON *sample_own_node(const struct sample *sample);

// The most important of what is wrong with the appliance; NULL: all is well. Telemetry describes
// its keys.
const cJSON *sample_diagnosis(const struct sample *sample);

// The item of this name, or NULL. `near`: its probable index.
const struct sample_item *sample_find(const struct sample_list *list, const char *name,
				      unsigned near);

// The value of a metric; NAN if the appliance does not report it. metric: NULL for an item that is
// itself a number.
double sample_metric(const struct sample_item *item, const char *metric);

// The time in ns that a share of the events since the sample before did not exceed, of the latency
// `metric`; NAN: there were none.
double sample_quantile(const struct sample_item *before, const struct sample_item *now,
		       const char *metric, double share);
