// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What is shown of an appliance at one moment, taken from a snapshot of its telemetry
// (telemetry/snapshot.h). Pure. Numbers that the appliance does not tell are NAN.
#pragma once

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "web/latency_window.h"

#define SAMPLE_NAME_SIZE   80
#define SAMPLE_NOTE_SIZE   160
#define SAMPLE_CAUSE_SIZE  32
#define SAMPLE_MOST_FIELDS 12

enum sample_group {
	SAMPLE_LCORES,
	SAMPLE_LINKS,
	SAMPLE_BUILDERS,
	SAMPLE_CONSUMERS, // groups of consumers of all builders
	SAMPLE_SOURCES,
	SAMPLE_PORTS,
	SAMPLE_GENERATORS,
	SAMPLE_WRITERS,
	SAMPLE_SCHEDULER, // each number that the event manager tells
	SAMPLE_CREDITS,   // builders of the system, as the event manager knows them
	SAMPLE_READOUTS,
	SAMPLE_ROCE, // ports
	SAMPLE_N_GROUPS,
};

// Of the summary.
enum {
	SUMMARY_UPTIME,
	SUMMARY_RUN,
	SUMMARY_COMPLETE,
	SUMMARY_INCOMPLETE,
	SUMMARY_DISCARDED,
	SUMMARY_OPEN,
	SUMMARY_BUILT_BYTES,
	SUMMARY_LOSSES,
	SUMMARY_MISSED,
	SUMMARY_PACKETS,
	SUMMARY_PACKET_BYTES,
	SUMMARY_SLOTS_FREE,
	SUMMARY_SENT_EVENTS,
	SUMMARY_SENT_BYTES,
	SUMMARY_SENT_PACKETS,
	SUMMARY_LATENCY_MAX,
	SUMMARY_N,
};

// Fields of the items of each group.
enum { LCORE_CPU, LCORE_BUSY, LCORE_IDLE, LCORE_HELD, LCORE_SLEEPS, LCORE_RUNNING };
enum { LINK_DEPTH, LINK_USED, LINK_HIGHEST, LINK_ENQUEUED, LINK_FULL, LINK_DROPPED, LINK_LOSSLESS };
enum {
	BUILDER_SLOTS,
	BUILDER_FREE,
	BUILDER_OPEN,
	BUILDER_HELD,
	BUILDER_COMPLETE,
	BUILDER_INCOMPLETE,
	BUILDER_DISCARDED,
	BUILDER_BYTES,
};
enum {
	CONSUMERS_MEMBERS,
	CONSUMERS_LAG,
	CONSUMERS_DELIVERED,
	CONSUMERS_RELEASED,
	CONSUMERS_REGAINED
};
enum { SOURCE_SEGMENTS, SOURCE_BYTES, SOURCE_WHOLE, SOURCE_MALFORMED, SOURCE_MISSING };
enum {
	PORT_RX_PACKETS,
	PORT_RX_BYTES,
	PORT_TX_PACKETS,
	PORT_TX_BYTES,
	PORT_MISSED,
	PORT_NO_BUFFER,
	PORT_ERRORS,
	PORT_POOL,
	PORT_POOL_FREE,
	PORT_LINK_UP,
	PORT_PAUSED,  // pause frames that came
	PORT_PAUSING, // that were sent
};
enum {
	GENERATOR_EVENTS,
	GENERATOR_BYTES,
	GENERATOR_PACKETS,
	GENERATOR_NO_BUFFER,
	GENERATOR_FINISHED
};
enum { WRITER_EVENTS, WRITER_BYTES, WRITER_FILES, WRITER_PAUSES, WRITER_FAILURES, WRITER_REFUSED };
enum { SCHEDULER_VALUE };
enum {
	CREDITS_SLOTS,
	CREDITS_FREE,
	CREDITS_GRANTED,
	CREDITS_IN_FLIGHT,
	CREDITS_RATE,   // thousandths of that without congestion
	CREDITS_PAUSED, // share of time, thousandths
	CREDITS_GRANTS,
	CREDITS_OLDEST,
	CREDITS_REGISTERED,
	CREDITS_EXCLUDED,
};
enum {
	READOUT_EVENTS,
	READOUT_BYTES,
	READOUT_PAUSE,
	READOUT_PACE,
	READOUT_FULL,
	READOUT_THROTTLED,
	READOUT_UNREACHABLE,
};
enum {
	ROCE_PAIRS,
	ROCE_PACKETS,
	ROCE_BYTES,
	ROCE_MESSAGES,
	ROCE_ACKS,
	ROCE_RNR,
	ROCE_CNPS,
	ROCE_ICRC,

};

struct sample_item {
	char name[SAMPLE_NAME_SIZE];
	char note[SAMPLE_NOTE_SIZE];
	double values[SAMPLE_MOST_FIELDS];
	double drops;                  // segments, or packets, of all causes
	char cause[SAMPLE_CAUSE_SIZE]; // of the most of them
};

struct sample_list {
	struct sample_item *items;
	unsigned n;
};

struct sample {
	double time_ms;
	char state[16];
	double summary[SUMMARY_N];
	char cause[SAMPLE_CAUSE_SIZE];  // of the most drops
	char manager[SAMPLE_NOTE_SIZE]; // state of the run, where this node is the event manager
	char scarce[SAMPLE_NAME_SIZE];  // builder that is short of slots
	struct latency_counts latency;
	struct sample_list groups[SAMPLE_N_GROUPS];
};

// Returns false if memory ran out; to be freed also then.
bool sample_take(struct sample *sample, const cJSON *snapshot, double time_ms);
void sample_free(struct sample *sample);

// The item of this name, or NULL. `near`: where it probably is.
const struct sample_item *sample_find(const struct sample_list *list, const char *name,
				      unsigned near);
