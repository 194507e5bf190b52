// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// For evb's own roles; not part of the public library.
#pragma once

#include "evb_reader.h"

// The next published event that no call has returned yet, of any builder, without claiming it: only
// event_id, complete_ns and builder are set. Returns false if there is none at present.
//
// For the only member of a group that comes after a deciding one and gets rejected events, too,
// which has joined before the first event was published. It must call this function until it
// returns false before it calls evb_reader_next(): then no event is missed, because the slots of
// events that this member has not released are not used again.
bool evb_reader_watch(struct evb_reader *reader, struct evb_event *event);

// The next event, like evb_reader_next(), but without a system call, and without looking for dead
// processes or the end of the run. Returns false if there is none now.
bool evb_reader_poll(struct evb_reader *reader, struct evb_event *event);

// Returns the events of members that have died to their groups, of which the next calls get them
// before other events of their rings. Makes system calls.
void evb_reader_bury(struct evb_reader *reader);

// Whether the run has ended in order: no ring gets events any more. False if a process has died
// before.
bool evb_reader_has_ended(const struct evb_reader *reader);

// The slots of one ring, which are mapped as read-only.
struct evb_reader_slots {
	void *address;
	size_t length;      // bytes, of whole pages
	size_t page_size;   // bytes
	uint64_t slot_size; // bytes
};

// Sets *slots to those of ring `index`. Returns false if there is no such ring. Makes system calls.
bool evb_reader_slots(const struct evb_reader *reader, unsigned index,
		      struct evb_reader_slots *slots);
