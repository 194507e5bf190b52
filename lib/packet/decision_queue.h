// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Queues of decisions for the results node of a system: between a results role and the control role
// of the same node, without a lock.
//
// struct decision_outbox, on a node with builders: the results role puts decisions in; the control
// role sends them, and retains each until the results node has written it, to send it again if that
// node restarts.
//
// struct decision_inbox, on the results node: the control role puts in what arrives, and what the
// event manager says about events; the results role takes it out.
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/decision.h"

// No event is granted so many indices ahead of one whose result is not written.
#define DECISION_FARTHEST (UINT64_C(1) << 26)

struct decision_outbox {
	uint32_t mask, packing;
	struct decision_result *results; // [mask + 1]
	// Written by the results role
	alignas(64) _Atomic uint64_t added; // decisions so far
	atomic_bool ended;                  // no more will be added
	// Written by the control role
	alignas(64) _Atomic uint64_t freed; // decisions that need not be sent again
	_Atomic uint64_t limit;             // only decisions about events below it may be added
	atomic_bool over; // the results node has written all it will write, or it is gone
};

// `window` is that of the results, `packing` that of event ids. NULL if memory ran out.
struct decision_outbox *decision_outbox_create(uint32_t window, uint32_t packing);
// The bytes that decision_outbox_create() allocates.
uint64_t decision_outbox_memory(uint32_t window);
void decision_outbox_destroy(struct decision_outbox *outbox);

// Results role. False: the decision must wait, until results of earlier events are written. The id
// must be that of an event (decision_outbox_is_valid()).
bool decision_outbox_put(struct decision_outbox *outbox, const struct decision_result *result);
// Whether an event of this id can exist: consumers can write the memory that it comes from.
bool decision_outbox_is_valid(const struct decision_outbox *outbox, uint64_t event_id);
// Decisions that are not known to be written.
uint64_t decision_outbox_waiting(const struct decision_outbox *outbox);

// Control role: the decision of this number, counted from 0; NULL: it has not been added yet.
const struct decision_result *decision_outbox_at(const struct decision_outbox *outbox,
						 uint64_t number);
// Control role: frees the oldest decisions before `number` while their events are below `written`.
void decision_outbox_free(struct decision_outbox *outbox, uint64_t number, uint64_t written);

struct decision_arrival {
	struct decision_result result;
	uint16_t node; // that sent it
};

struct decision_inbox {
	uint32_t mask, window_mask, n_nodes, packing;
	struct decision_arrival *arrivals; // [mask + 1]
	uint16_t *builders;                // [window_mask + 1], by event: as in the record EVENTS
	// Written before the roles start: the event behind the last one that an earlier process
	// wrote to its file of this run; 0: there is none.
	uint64_t tail;
	// Written by the control role
	alignas(64) _Atomic uint64_t put; // arrivals so far
	uint64_t first;                   // event of the run; written before `begun`
	atomic_bool begun;                // the manager has reported the first event
	atomic_bool confirmed;   // it knows that this process has begun: results may be written
	_Atomic uint64_t known;  // the builders of events from `first` to this one are known
	atomic_bool run_is_over; // the manager has stopped the run
	atomic_bool complete;    // all that will arrive has arrived
	// Written by the results role, after it has seen `confirmed` if the manager grants events
	alignas(64) _Atomic uint64_t taken; // arrivals
	_Atomic uint64_t seen;              // events, up to `known`
	_Atomic uint64_t written;           // the results of events below it are written
	atomic_bool is_over;                // everything is written, and the role has drained
	uint64_t *received;                 // [n_nodes] arrivals taken, by node
};

// NULL if memory ran out. `window` is a power of two.
struct decision_inbox *decision_inbox_create(uint32_t window, uint32_t packing, unsigned n_nodes);
// The bytes that decision_inbox_create() allocates.
uint64_t decision_inbox_memory(uint32_t window, unsigned n_nodes);
void decision_inbox_destroy(struct decision_inbox *inbox);

// Decisions of all nodes together that it has room for.
uint32_t decision_inbox_size(const struct decision_inbox *inbox);

// Control role. False: it is full.
bool decision_inbox_put(struct decision_inbox *inbox, unsigned node,
			const struct decision_result *result);
// Control role: the results begin with this event.
void decision_inbox_begin(struct decision_inbox *inbox, uint64_t first);
// Control role: the event after the last one that is known was published by this builder. False:
// there is no room.
bool decision_inbox_know(struct decision_inbox *inbox, uint16_t builder);
// The first event that decision_inbox_know() has no room for.
uint64_t decision_inbox_know_limit(const struct decision_inbox *inbox);

// Results role: the oldest arrival; NULL: there is none. decision_inbox_pop() removes it.
const struct decision_arrival *decision_inbox_front(const struct decision_inbox *inbox);
void decision_inbox_pop(struct decision_inbox *inbox);
// Results role: the next event and its builder. False: no further one is known.
bool decision_inbox_next(struct decision_inbox *inbox, uint64_t *event, uint16_t *builder);
