// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The event ring, on the appliance's side: slots in shared memory that a builder fills in place,
// and the publication of filled slots to consumers. evb_reader.h is the consumers' side;
// evring_layout.h describes the memory that both sides share.
//
// Threads: evring_create(), evring_destroy(), evring_end(), evring_reap(), evring_is_cut() and
// evring_clean() belong to the control thread. evring_begin(), evring_publish(), evring_reclaim()
// and evring_set_used() belong to the one builder that owns the ring; they run beside evring_reap()
// and beside all readers, and they neither allocate nor make system calls. Any thread may call the
// others.
//
// Whether a process lives does not depend on process ids: the owner and each member hold a lock
// (fcntl, open file description) on one byte of a file beside the ring. The kernel drops the lock
// when the process dies, also across PID namespaces. A child made by fork() shares the locks until
// it calls exec() or exits.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"

#define EVRING_MAX_GROUPS     8
#define EVRING_MAX_MEMBERS    64 // in all groups of a ring together
#define EVRING_MAX_DECIDERS   4  // groups that decide
#define EVRING_N_LINES        64 // of a decision
#define EVRING_MAX_SLOTS      65536u
#define EVRING_NAME_SIZE      32    // with the closing 0
#define EVRING_SLOT_ALIGNMENT 4096u // bytes
#define EVRING_ERROR_SIZE     256
#define EVRING_MODE           0660u

struct evring;

enum evring_memory {
	EVRING_AUTO,      // hugepages if a hugetlbfs mount has room, else shm
	EVRING_HUGEPAGES, // hugetlbfs or nothing
	EVRING_SHM,       // /dev/shm (tmpfs)
};

// What a group does beside receiving events. A group that decides comes after no other group.
struct evring_group_rules {
	bool decides;           // its members decide about the events
	bool undecided_rejects; // decides: an event that is released undecided is rejected
	const char *after;      // the group gets events when this one has decided; NULL: at once
	bool rejected_too;      // after: also the events that were rejected
};

struct evring_parameters {
	const char *name;      // of the appliance: [A-Za-z0-9_-], 1 to 31 characters
	const char *directory; // NULL: chosen by `memory`
	enum evring_memory memory;
	unsigned builder;    // this ring's builder, 0 to n_builders - 1
	unsigned n_builders; // rings of this appliance
	uint32_t run_number;
	uint32_t slots;            // 1 to EVRING_MAX_SLOTS
	uint64_t slot_size;        // bytes, rounded up to EVRING_SLOT_ALIGNMENT
	const char *const *groups; // that exist from the start and hold events without members
	unsigned n_groups;
	const struct evring_group_rules *rules; // of each group; NULL: none
	unsigned mode;          // of the ring file: 0600, 0640, 0644, 0660, 0664 or 0666; 0: 0660
	const char *unix_group; // that gets the files, a name or a number; NULL: the process's
};

// The description of a published event; times are nanoseconds of CLOCK_MONOTONIC.
struct evring_event {
	uint64_t event_id;
	uint64_t length; // bytes from the slot's start
	uint64_t first_ns;
	uint64_t complete_ns;
	uint32_t flags; // EVB_EVENT_...
	uint16_t n_sources;
	uint16_t n_missing;
};

// The bytes of the file of a ring: its slots, the descriptions of events and what deciding groups
// have decided about them, without the padding to whole pages. 0: larger than any file.
uint64_t evring_bytes(uint32_t slots, uint64_t slot_size);

// Makes the ring file, <directory>/evb-<name>/ring.<builder>, and reserves all its memory; removes
// the files of a dead run of the same name before. Members of groups write to the file, spies read
// it: `mode` and `unix_group` say who may. Where evb-<name> is another user's or no directory, the
// ring is made in evb-<name>.XXXXXX (evring_place.h). Returns 0, -EEXIST while a live run of this
// user has the name, -ENOSPC if memory or hugepages do not suffice, or another negative errno, with
// one line in error[EVRING_ERROR_SIZE].
int evring_create(struct evring **ring, const struct evring_parameters *parameters, char *error);

// Marks the run as ended: readers get the remaining events, then -EPIPE.
void evring_end(struct evring *ring);

// Marks the run as ended, and another one may follow: only readers that asked for the end of the
// run (evb_reader_end_with_run()) get -EPIPE. Control thread, or the builder.
void evring_end_run(struct evring *ring);

// Begins another run. The builder that publishes its events is made afterwards, and all events of
// the run before have been released. Control thread.
void evring_begin_run(struct evring *ring, uint32_t run_number);

// Unmaps and removes the file. Readers that have mapped it can still read their mapping.
void evring_destroy(struct evring *ring);

// The file's path, and whether it lies on hugepages.
const char *evring_path(const struct evring *ring);
bool evring_on_hugepages(const struct evring *ring);

// Start of a slot's memory: slot_size bytes. slot < slots.
uint8_t *evring_slot(const struct evring *ring, uint32_t slot);
uint64_t evring_slot_size(const struct evring *ring);
uint32_t evring_slots(const struct evring *ring);

// Marks a slot as being written, so that spies that read it detect the overrun. To be called before
// the first byte is written.
void evring_begin(struct evring *ring, uint32_t slot);

// Publishes a filled slot to all groups and spies. The slot belongs to the ring until
// evring_reclaim() names it.
void evring_publish(struct evring *ring, uint32_t slot, const struct evring_event *event);

// Collects at most max (>= 1) slots that every group has released. The work is bounded, and small
// if nothing was released. Returns the number of slots.
unsigned evring_reclaim(struct evring *ring, uint32_t *slots, unsigned max);

// Finds dead members and returns their events to their groups; dissolves groups that readers made
// and that have no member left. To be called about 10 times per second. Makes system calls.
// Returns the number of members that have died since the last call.
unsigned evring_reap(struct evring *ring);

// Whether a process that may write the ring file has truncated it. Events in it are lost, no
// consumer gets further ones, and the builder fills memory that only this process has; the caller
// should end the run. Makes a system call.
bool evring_is_cut(const struct evring *ring);

// Events published and not yet released by all groups.
uint64_t evring_outstanding(const struct evring *ring);

// The number of slots that are not free, including those of events under construction, as the
// builder last set it: for flow control. evring_used(): any thread.
void evring_set_used(struct evring *ring, uint64_t used);
uint64_t evring_used(const struct evring *ring);

// The state of one group, for telemetry. Returns false if there is no group of this index.
struct evring_group_state {
	char name[EVRING_NAME_SIZE];
	bool persistent; // named by the configuration
	uint32_t members;
	uint64_t delivered; // events claimed by members
	uint64_t released;  // events released
	uint64_t regained;  // events of dead members that were returned to the group
	uint64_t lag;       // events published and not yet claimed
};
bool evring_group(const struct evring *ring, unsigned index, struct evring_group_state *state);

// What a group has not released, for the diagnosis of a full ring. An event that waits for the
// decision of another group counts for that one alone.
struct evring_hold {
	uint32_t slots;   // events that the group has not released
	uint32_t claimed; // of these, delivered to members
	uint32_t members; // that hold one of them
	uint32_t pid;     // the member with the oldest of them, as it reports itself; 0: none
	uint64_t oldest;  // low 40 bits of the sequence of the oldest claimed event
};

// Examines all slots, which takes some milliseconds for the largest ring. Any thread; makes no
// system call.
void evring_holds(const struct evring *ring, struct evring_hold holds[EVRING_MAX_GROUPS]);

// Events published since the ring was made.
uint64_t evring_published(const struct evring *ring);

// What a deciding group has decided, counted when the slot of the event became free: accepted +
// rejected + undecided + held = published. Written by the builder's thread.
struct evring_member_decisions {
	uint64_t accepted, rejected;
	uint64_t undecided; // released without a decision
};

struct evring_decisions {
	uint64_t accepted;              // by members
	uint64_t rejected;              // by members
	uint64_t undecided;             // released without a decision, treated as configured
	uint64_t lines[EVRING_N_LINES]; // events with this bit in the decision's lines
	struct histogram time;          // from an event's completion to its decision, ns
	// By the number of the member in this ring, which the next process gets after its end.
	struct evring_member_decisions members[EVRING_MAX_MEMBERS];
};

// The decisions of deciding group `index`, and the group's number for evring_group(). NULL if there
// is none of this index. Any thread.
const struct evring_decisions *evring_decisions(const struct evring *ring, unsigned index,
						unsigned *group);

// The process that is this member of a group now; 0: none. Any thread.
uint32_t evring_member_pid(const struct evring *ring, unsigned group, unsigned member);

// Events published and not decided by deciding groups. Control thread; examines all slots.
uint64_t evring_undecided(const struct evring *ring);

// Decides, as configured for undecided events, about all events that no living member holds. For
// the end of a run, when nobody may come to decide. Control thread, and not twice at the same time.
void evring_settle(struct evring *ring);

// Removes the ring files of dead runs of `name` (NULL: of all names), and none of a live run.
// Returns the number of removed files, or a negative errno.
int evring_clean(const char *name, const char *directory, char *error);
