// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A plain model of the event manager: it is told every call and what came of it, and says which of
// the invariants was broken first. It knows sched.h only, looks at everything, and is slow.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"

#define MODEL_BUILDERS  12u
#define MODEL_SLOTS     5u
#define MODEL_SOURCES   9u
#define MODEL_POSITIONS 12u
#define MODEL_EVENTS    16384u
#define MODEL_MESSAGE   256u
#define MODEL_COUNTERS  (sizeof(struct sched_counters) / sizeof(uint64_t))

// As numbered in the design; the last two are the policy's rule and the pace.
enum model_invariant {
	MODEL_HOLDS,
	MODEL_TOKENS,
	MODEL_SLOT_ONCE,
	MODEL_EVENT_ORDER,
	MODEL_GROUPS,
	MODEL_NO_STALL,
	MODEL_QUIESCENT,
	MODEL_NO_CONFLICT,
	MODEL_POLICY,
	MODEL_PACE,
};

enum model_slot_state {
	MODEL_UNKNOWN,
	MODEL_FREE,
	MODEL_GRANTED,
	MODEL_USED,
};

struct model_slot {
	enum model_slot_state state;
	uint32_t generation;
};

enum model_event_state {
	MODEL_WAITS, // for a grant, once announced
	MODEL_OPEN,
	MODEL_FINISHED,
};

struct model_event {
	enum model_event_state state;
	uint32_t builder, slot, generation;
	uint32_t attempt; // 0: never granted
	uint64_t round;
	uint64_t bytes;
	bool sized; // its builder was when it was granted
};

struct model_builder {
	bool registered, excluded, paused;
	uint64_t session;
	uint32_t group;
	uint32_t n_slots;
	struct model_slot slots[MODEL_SLOTS];
	uint32_t free, granted;
	uint64_t in_flight, mean_16;
	bool sized;
};

struct model_port {
	bool in_round;
	double next_ns; // of the token bucket
};

struct model {
	enum model_invariant broken;
	char message[MODEL_MESSAGE];
	struct sched_parameters parameters;
	struct sched_builder_parameters builder_parameters[MODEL_BUILDERS];
	struct sched *sched;
	uint64_t now;
	uint64_t first; // event of events[0]
	struct model_event events[MODEL_EVENTS];
	struct model_builder builders[MODEL_BUILDERS];
	struct model_port ports[MODEL_BUILDERS];
	uint64_t announced[MODEL_SOURCES];
	bool source_excluded[MODEL_SOURCES];
	uint64_t released, frontier;
	bool paused;
	uint32_t distance;
	uint32_t groups[MODEL_BUILDERS]; // of the last grants, the latest first
	uint32_t n_groups_used;
	// since the last grant: when the group rule, or a turn, began to hold up, at the latest
	// and, as a rate may or may not allow an event at a given nanosecond, at the earliest
	uint64_t waits_since;
	uint64_t may_wait_since;
	// the current round
	bool round_open;
	uint64_t round;
	uint32_t n_positions, round_outstanding;
	bool taken[MODEL_POSITIONS];
	uint32_t positions[MODEL_POSITIONS]; // builder of each that is taken
	uint64_t sent[MODEL_SOURCES];
	uint64_t counted[MODEL_COUNTERS]; // sums of all managers' counters
	// counts of this manager
	uint64_t credits, purged, grants, adopted, parted, grants_ever;
};

// Notes the first invariant that is broken.
void model_break(struct model *model, enum model_invariant invariant, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// A manager begins; the parameters are in the model. Events from `released` on are not known.
void model_begin(struct model *model, uint64_t released);

void model_time(struct model *model, uint64_t now);

// What the call must return; the model takes the change on.
enum sched_result model_register(struct model *model, uint32_t builder, uint64_t session,
				 uint32_t n_slots);
void model_exclude(struct model *model, uint32_t builder, bool excluded);
enum sched_result model_credit(struct model *model, uint32_t builder, uint32_t slot,
			       uint32_t generation);
enum sched_result model_announce(struct model *model, uint32_t source, uint64_t up_to);
void model_exclude_source(struct model *model, uint32_t source, bool excluded);
enum sched_result model_adopt(struct model *model, uint64_t event, uint32_t builder, uint32_t slot,
			      uint32_t generation, uint32_t attempt, enum sched_adopted what);
enum sched_result model_done(struct model *model, uint32_t builder, uint64_t event, uint32_t slot,
			     uint32_t generation, uint32_t attempt, enum sched_outcome outcome,
			     uint64_t bytes);

// The static mode's builder of an event; SCHED_MAX_BUILDERS if all builders are excluded.
uint32_t model_static_builder(const struct model *model, uint64_t event);

// A grant was made: is it right?
void model_grant(struct model *model, const struct sched_grant *grant);
// Takes so many bytes from the token bucket of the builder's port.
void model_take_rate(struct model *model, uint32_t index, uint64_t bytes);
// A poll ended before it was full: had it to?
void model_short_poll(struct model *model);
// What the scheduler says of itself must be what the model says.
void model_compare(struct model *model);
// The sources send what the current round still holds.
void model_send_round(struct model *model);
// Nothing waits and nothing is in flight.
void model_quiescent(struct model *model);

struct model_event *model_event(struct model *model, uint64_t event);
