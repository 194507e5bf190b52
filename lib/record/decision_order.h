// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Puts decisions into the order of event ids. Inputs (the event rings of a node; other nodes, and
// the event manager) announce events and report decisions about them, in any order. The events
// leave in ascending order, each once:
//
//   - an event that is decided leaves when all events before it have left;
//   - an event that is not decided `timeout` after it was announced leaves as undecided;
//   - ids that nobody has announced hold the events behind them back for `timeout` at most, since
//     they may be events of other nodes, or were lost; with decision_order_settle(), not at all;
//   - the first event is held back for `timeout`, since earlier ones may follow it, unless
//     decision_order_begin() tells the first one.
//
// At most `window` consecutive events are held. With a window smaller than rate * timeout events
// leave earlier than after `timeout`, or, with `holds`, what is behind the window waits.
//
// Pure: the caller gives the time. One thread. No allocation after decision_order_create().
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/decision.h"

struct decision_order_parameters {
	uint32_t window;  // events, a power of two
	uint32_t packing; // difference of the ids of consecutive events
	uint64_t timeout_ns;
	bool accept_timed_out; // whether an event that is not decided in time is accepted
	bool holds; // what is behind the window waits; false: the oldest events leave for it
};

struct decision_order_counters {
	uint64_t accepted;  // of the events that have left, with a decision
	uint64_t rejected;  // the same
	uint64_t undecided; // the same, released without a decision
	uint64_t timed_out; // of the events that have left, without a decision in time
	uint64_t skipped;   // ids that nobody announced
	uint64_t late; // decisions and announcements of events that have left, or of no valid id
	uint64_t repeated; // further decisions of an event that is decided, or has left decided
};

struct decision_order;

// Returns NULL if memory ran out.
struct decision_order *decision_order_create(const struct decision_order_parameters *parameters);
// The bytes that decision_order_create() allocates.
uint64_t decision_order_memory(uint32_t window);
void decision_order_destroy(struct decision_order *order);

// Announces an event, or reports the decision about one, announced or not. now_ns must not
// decrease. Returns false if the event lies behind the window: decision_order_take() then makes
// room, and the call must be repeated until it returns true.
bool decision_order_expect(struct decision_order *order, uint64_t event_id, uint16_t builder,
			   uint64_t now_ns);
bool decision_order_decide(struct decision_order *order, const struct decision_result *result,
			   uint64_t now_ns);

// Counts a decision without a valid id as late.
void decision_order_refuse(struct decision_order *order);

// There are no events below this index (event id / packing), and what arrives for them is counted
// as repeated. To be called before anything arrives.
void decision_order_begin(struct decision_order *order, uint64_t index);

// All events below this index have been announced: those of other ids do not exist.
void decision_order_settle(struct decision_order *order, uint64_t index);

// The index whose turn it is: all results below have been taken.
uint64_t decision_order_next(const struct decision_order *order);

// Takes at most `most` results whose turn it is. Returns their number.
unsigned decision_order_take(struct decision_order *order, uint64_t now_ns,
			     struct decision_result *results, unsigned most);

// From now on nothing more arrives, and what is held leaves at once.
void decision_order_end(struct decision_order *order);

// Events that are held.
uint32_t decision_order_held(const struct decision_order *order);

const struct decision_order_counters *decision_order_counters(const struct decision_order *order);
