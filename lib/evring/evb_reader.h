// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// libevb-reader: a consumer (filter process, recorder, monitor) reads built events of a running
// evb, without DPDK and without a copy.
//
// An appliance called NAME has one event ring per builder, each in one file of shared memory. The
// reader opens all rings of NAME and serves their events in turn.
//
// There are two modes:
// - Group: each event is delivered to exactly one member of the group. The slot of the event
//   returns to the builder when every group has released it. If a member dies, for any reason, its
//   unreleased events return to the group, and other members get them.
// - Spy: the reader gets the newest events that it can, never delays the builder, and maps all
//   memory read-only. An event may be overwritten while the spy reads it: evb_event_intact()
//   reports that afterwards.
//
// A group that the configuration declares as deciding (a filter) calls evb_reader_decide() for each
// event. Groups that are declared to come after it get the events that it accepted, with the
// decision, in the order of the decisions. An event that a member releases without a decision is
// accepted or rejected as configured, and is counted as undecided. A member that dies or closes its
// reader returns its undecided events to the group; its decisions remain.
//
// Threads: a reader is used by one thread at a time. Several readers may live in one process.
// Errors: functions return a negative errno value; evb_reader_error() then describes the error.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct evb_reader;

enum evb_reader_mode {
	EVB_READER_GROUP,
	EVB_READER_SPY,
};

struct evb_reader_options {
	enum evb_reader_mode mode;
	// The group to join, 1 to 31 characters of [A-Za-z0-9_-]; NULL: "main". An unknown group is
	// made: it exists as long as it has members, and gets the events that are published from
	// then on. Groups that the appliance's configuration names exist from the start, and retain
	// events for members that join later. Ignored for spies.
	const char *group;
	// Directory of the ring files; NULL: the hugetlbfs mounts and /dev/shm are searched.
	const char *directory;
};

// Flags of an event.
#define EVB_EVENT_INCOMPLETE 0x1u // sources are missing; their places hold error MFPs (type 92)
// Some of the missing sources sent bytes that are not a valid MFP (type 95).
#define EVB_EVENT_MALFORMED 0x2u
#define EVB_EVENT_FLUSHED   0x4u // incomplete because the run ended before the deadline
// In a system of several nodes: another builder may have published the event before, or may publish
// it later, because the node that knew its state died or was cut off from the network. At most one
// publication of an event is without this flag. In a chain of systems the event of the first one
// counts, which later ones may publish under several ids.
#define EVB_EVENT_REPEATED 0x8u
// In groups after a deciding one: the event was released undecided, and is treated as configured.
#define EVB_EVENT_UNDECIDED 0x10u

// What a member of a deciding group decides about an event.
struct evb_decision {
	bool accept;
	uint64_t lines; // bit n: line n of the filter selected the event
	uint32_t tag;   // for the filter's own use
};

// One built event. `data` is a MEP. It is valid until the event is released (group), or as long as
// evb_event_intact() returns true (spy).
struct evb_event {
	uint64_t event_id;    // of the first fragment of each MFP
	const void *data;     // `length` bytes, 64-byte aligned, read-only
	size_t length;        // bytes
	uint64_t first_ns;    // CLOCK_MONOTONIC of the first segment's arrival
	uint64_t complete_ns; // CLOCK_MONOTONIC of completion
	uint32_t flags;       // EVB_EVENT_...
	uint32_t run_number;  // a process may serve several runs, one after the other
	uint16_t n_sources;   // MFPs in the MEP
	uint16_t n_missing;   // error MFPs among them
	uint16_t builder;     // index of the builder
	uint16_t decider;     // member that decided, by its number in the ring; see `decision`
	uint32_t slot;        // for the library: slot of the event
	uint64_t sequence;    // for the library: number of the event in its ring
	// In groups after a deciding one; otherwise 0.
	struct evb_decision decision;
	uint64_t decided_ns; // CLOCK_MONOTONIC of the decision
};

// Counters of one reader.
struct evb_reader_counters {
	uint64_t events;   // delivered by evb_reader_next()
	uint64_t bytes;    // of these events
	uint64_t overruns; // spy: events that were overwritten before the spy could read them
	uint64_t regained; // group: events that a dead member had held, among `events`
};

// Opens the rings of the appliance `name`. On failure *reader is NULL only if memory ran out;
// otherwise the reader can be passed to evb_reader_error(), and must be closed.
// Errors: ENOENT there is no such appliance, ESTALE its process is dead, EPROTO the layout version
// differs, ENOSPC there is no room for a group or member, EBUSY another process was stopped while
// it joined, EACCES, EINVAL, ENOMEM.
int evb_reader_open(struct evb_reader **reader, const char *name,
		    const struct evb_reader_options *options);

// Gets the next event. Waits up to timeout_ms (0: not at all, negative: without limit).
// Returns 1 with an event, 0 when the time is over, -EPIPE when the run is over (or its process is
// dead) and no event is left. A member then finishes the events that it still holds before it
// closes: perhaps no other member is left that could get them. Waiting means polling, with pauses.
// A pause is 50 us at first, and becomes longer, up to 500 us, while fewer than 8 events come in it
// (fewer than a quarter of the slots, where this is less), so that the CPU does not wake up for
// each event. In a long wait it is a hundredth of the time waited so far, up to 1 ms. A program
// that needs events earlier calls this function with 0 again and again.
int evb_reader_next(struct evb_reader *reader, struct evb_event *event, int timeout_ms);

// Makes evb_reader_next() return -EPIPE at the end of the present run also where the same process
// can begin another run. Without this call the reader stays and gets the events of the next run,
// which have another run_number. To be called once, after evb_reader_open().
void evb_reader_end_with_run(struct evb_reader *reader);

// Decides about an event that this member of a deciding group holds. Groups that come after this
// group get an accepted event at once; the slot of a rejected one is free when all other groups
// have released it. The event must still be released, and can be read until then.
// Errors: EPERM the group is not declared as deciding, EALREADY the event is decided, EINVAL this
// reader does not hold the event.
int evb_reader_decide(struct evb_reader *reader, const struct evb_event *event,
		      const struct evb_decision *decision);

// Releases an event (group). A member may hold several events and release them in any order. A spy
// need not call it.
// Errors: EINVAL if this reader does not hold the event.
int evb_reader_release(struct evb_reader *reader, const struct evb_event *event);

// True if the event's bytes have not been overwritten since evb_reader_next(). Always true for an
// unreleased event of a group.
bool evb_event_intact(const struct evb_reader *reader, const struct evb_event *event);

struct evb_reader_counters evb_reader_counters(const struct evb_reader *reader);

// The last error in one line. Valid until the next call on this reader.
const char *evb_reader_error(const struct evb_reader *reader);

// Returns the unreleased events to the group, leaves the group, unmaps. NULL is ignored.
void evb_reader_close(struct evb_reader *reader);

#ifdef __cplusplus
}
#endif
