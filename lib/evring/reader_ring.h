// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// One ring as one reader uses it, as a member of a group or as a spy. One thread.
#pragma once

#include "evb_reader.h"
#include "evring_members.h"
#include "reader_watch.h"

struct evb_ring {
	struct evring_view view;
	uint32_t n_builders; // of the header that was checked: members can change the shared one
	bool is_member;      // false: a spy
	struct evring_membership membership;
	struct evring_decider *decides; // member: the group decides; NULL: it does not
	struct evring_decider *after;   // member: gets what this one decided; NULL: all events
	// Member: of the queue that the group's cursor walks through, the entries and the number of
	// the next one to be written.
	_Atomic uint64_t *queue;
	_Atomic uint64_t *head;

	// Member: the search for events of dead members. One search walks through all slots; a new
	// search starts when the group's counter `returns` has changed since the last one started.
	bool searching;
	uint32_t search_at;
	uint64_t search_returns;
	bool search_ready;   // the log was overrun: READY events are without an entry
	uint32_t waiting_at; // after: slots before this one waited for no decision at the end

	uint64_t next; // spy, evb_ring_watch(): sequence of the next event to read

	bool ends_with_run; // evb_reader_end_with_run()
	bool dead;          // the run's process is dead, or its file was cut
	bool over;          // the run has ended, or its process is dead: no event will be published
};

// Opens and checks a ring file in a place (evring_place.h). Returns 0 or a negative errno (see
// evb_reader_open()), with one line in error[EVRING_ERROR_SIZE].
int evb_ring_open(struct evb_ring *ring, const char *place, unsigned builder, bool writable,
		  char *error);

// Makes the reader a member of a group, or a spy.
int evb_ring_join(struct evb_ring *ring, const char *group, char *error);
void evb_ring_spy(struct evb_ring *ring);

void evb_ring_close(struct evb_ring *ring);

// Gets the next event and counts it. Returns false if there is none.
bool evb_ring_next(struct evb_ring *ring, struct evb_event *event,
		   struct evb_reader_counters *counters);

// One ring of evb_reader_watch().
bool evb_ring_watch(struct evb_ring *ring, struct evb_event *event);

// Returns 0, -EINVAL, -EPERM or -EALREADY: see evb_reader_decide().
int evb_ring_decide(struct evb_ring *ring, const struct evb_event *event,
		    const struct evb_decision *decision, uint64_t now_ns);

// Whether, after the end of the run, events of this group wait for the decision of another group
// that has members. Only to be called when `over` is set.
bool evb_ring_waits_for_decisions(struct evb_ring *ring);

// Returns 0 or -EINVAL.
int evb_ring_release(struct evb_ring *ring, const struct evb_event *event);

bool evb_ring_is_intact(const struct evb_ring *ring, const struct evb_event *event);

// Whether shared memory states that the run has ended.
bool evb_ring_has_ended(const struct evb_ring *ring);

// See evb_reader_slots().
void evb_ring_slots(const struct evb_ring *ring, struct evb_reader_slots *slots);

// Sets `over` if shared memory states that the run has ended.
void evb_ring_check_end(struct evb_ring *ring);

// Sets `over` if the kernel reports that the appliance is dead or the file was cut; buries dead
// members. Makes system calls.
void evb_ring_check_living(struct evb_ring *ring);
