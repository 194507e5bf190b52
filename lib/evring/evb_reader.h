// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// libevb-reader: how a consumer (filter process, recorder, monitor) gets built events out of a
// running evb, without DPDK and without a copy.
//
// An appliance called NAME keeps one event ring a builder, each in one file of shared memory. The
// reader opens all rings of NAME and serves their events in turn.
//
// Two ways to read:
//   group  each event goes to exactly one member of the group. The slot that holds it returns to
//          the builder when every group has released it. A member that dies, however it dies, gives
//          its unreleased events back, and another member gets them.
//   spy    sees the newest events that it can, holds nothing back, maps everything read-only. An
//          event may be overwritten while the spy looks at it: evb_event_intact() tells afterwards.
//
// Threads: a reader is used by one thread at a time. Several readers may live in one process.
// Errors: functions return a negative errno value; evb_reader_error() then says what and where.
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
	// made, lives as long as it has members, and sees the events published from then on. The
	// groups that the appliance's configuration names exist from the start and hold events for
	// members to come. Ignored for spies.
	const char *group;
	// Where the ring files are; NULL: the hugetlbfs mounts and /dev/shm are searched.
	const char *directory;
};

// flags of an event
#define EVB_EVENT_INCOMPLETE 0x1u // sources are missing; their places hold error MFPs (type 92)
#define EVB_EVENT_MALFORMED \
	0x2u                   // of the missing sources, some sent bytes that are no MFP (type 95)
#define EVB_EVENT_FLUSHED 0x4u // incomplete because the run ended before the deadline
// In a cluster: it may have been handed out before, or may be later, by another builder, for who
// knew of it died or was cut off. Of the times that an event is handed out, one at most is without
// this flag.
#define EVB_EVENT_REPEATED 0x8u

// One built event. `data` is a MEP; it stays valid until the event is released (group), or for as
// long as evb_event_intact() is true (spy).
struct evb_event {
	uint64_t event_id;    // of the first fragment of each MFP
	const void *data;     // `length` bytes, 64-byte aligned, read-only
	size_t length;        // bytes
	uint64_t first_ns;    // CLOCK_MONOTONIC of the first segment's arrival
	uint64_t complete_ns; // CLOCK_MONOTONIC of completion
	uint32_t flags;       // EVB_EVENT_...
	uint32_t run_number;
	uint16_t n_sources; // MFPs in the MEP
	uint16_t n_missing; // of them error MFPs
	uint16_t builder;   // index of the builder
	uint16_t reserved;
	uint32_t slot;     // for the library: where the event lies
	uint64_t sequence; // for the library: which event of its ring it is
};

// Counters of one reader.
struct evb_reader_counters {
	uint64_t events;   // handed out
	uint64_t bytes;    // of them
	uint64_t overruns; // spy: events that were overwritten before they could be read
	uint64_t regained; // group: events that a dead member had held
};

// Opens the rings of the appliance `name`. On failure *reader is NULL only if memory ran out;
// else it serves for evb_reader_error() and must be closed.
// Errors: ENOENT no such appliance, ESTALE its process is dead, EPROTO other layout version,
// ENOSPC no room for a group or member, EBUSY another process was stopped in the middle of joining,
// EACCES, EINVAL, ENOMEM.
int evb_reader_open(struct evb_reader **reader, const char *name,
		    const struct evb_reader_options *options);

// Gets the next event. Waits up to timeout_ms (0: do not wait, negative: for ever).
// Returns 1 with an event, 0 when the time is up, -EPIPE when the run is over (or its process
// dead) and nothing is left to read. Waiting polls, sleeping 50 us between looks.
int evb_reader_next(struct evb_reader *reader, struct evb_event *event, int timeout_ms);

// Gives an event back (group). Any order is allowed, and holding several. A spy need not call it.
// Errors: EINVAL if this reader does not hold the event.
int evb_reader_release(struct evb_reader *reader, const struct evb_event *event);

// True if the event's bytes have not been overwritten since evb_reader_next(). Always true for an
// unreleased event of a group.
bool evb_event_intact(const struct evb_reader *reader, const struct evb_event *event);

struct evb_reader_counters evb_reader_counters(const struct evb_reader *reader);

// What the last error was, one line. Valid until the next call on this reader.
const char *evb_reader_error(const struct evb_reader *reader);

// Gives what was not released back to the group, leaves it, unmaps. NULL is allowed.
void evb_reader_close(struct evb_reader *reader);

#ifdef __cplusplus
}
#endif
