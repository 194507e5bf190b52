// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Puts decisions into the order of event ids. Inputs (the event rings of a node; later other nodes)
// announce events and report decisions about them, in any order. The events leave in
// ascending order, each once:
//
//   - an event that is decided leaves when all events before it have left;
//   - an event that is not decided `timeout` after it was announced leaves as undecided;
//   - ids that nobody has announced hold the events behind them back for `timeout` at most, since
//     they may be events of other nodes, or were lost;
//   - the first event is held back for `timeout`, since earlier ones may follow it.
//
// At most `window` consecutive events are held, so that a window smaller than rate * timeout lets
// events leave earlier than that. What arrives for an event that has left is counted as late.
//
// Pure: the caller gives the time. One thread. No allocation after decision_order_create().
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum decision_flags {
	DECISION_ACCEPTED = 0x1,
	DECISION_UNDECIDED = 0x2, // a member released the event without a decision
	DECISION_TIMED_OUT = 0x4, // nobody decided in time
};

struct decision_result {
	uint64_t event_id;
	uint64_t lines;
	uint32_t tag;
	uint32_t decide_us; // from the event's completion to the decision; UINT32_MAX: or longer
	uint16_t builder;
	uint8_t decider; // member of the ring
	uint8_t flags;   // enum decision_flags
};

struct decision_order_parameters {
	uint32_t window;  // events, a power of two
	uint32_t packing; // difference of the ids of consecutive events
	uint64_t timeout_ns;
	bool accept_timed_out; // whether an event that is not decided in time is accepted
};

struct decision_order_counters {
	uint64_t accepted;  // of the events that have left, with a decision
	uint64_t rejected;  // the same
	uint64_t undecided; // the same, released without a decision
	uint64_t timed_out; // of the events that have left, without a decision in time
	uint64_t skipped;   // ids that nobody announced
	uint64_t late; // decisions and announcements of events that have left, or of no valid id
	uint64_t repeated; // further decisions of an event that is decided
};

struct decision_order;

// Returns NULL if memory ran out.
struct decision_order *decision_order_create(const struct decision_order_parameters *parameters);
void decision_order_destroy(struct decision_order *order);

// Announces an event, or reports the decision about one, announced or not. now_ns must not
// decrease. Returns false if the event lies behind the window: decision_order_take() then makes
// room, and the call must be repeated until it returns true.
bool decision_order_expect(struct decision_order *order, uint64_t event_id, uint16_t builder,
			   uint64_t now_ns);
bool decision_order_decide(struct decision_order *order, const struct decision_result *result,
			   uint64_t now_ns);

// Takes at most `most` results whose turn it is. Returns their number.
unsigned decision_order_take(struct decision_order *order, uint64_t now_ns,
			     struct decision_result *results, unsigned most);

// From now on nothing more arrives, and what is held leaves at once.
void decision_order_end(struct decision_order *order);

// Events that are held.
uint32_t decision_order_held(const struct decision_order *order);

const struct decision_order_counters *decision_order_counters(const struct decision_order *order);
