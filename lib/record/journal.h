// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The journal of a file that is being written: how many of its bytes are whole events, and which
// event was the last. It is updated after the event's bytes and before the event is released, in
// one write of a few bytes to one page, which no kill can tear. So, after a kill, what lies behind
// `size` was not released and comes again; and of what lies in front of it only the last event may
// not have been released.
//
// A journal is good for as long as the machine runs: after a crash of the machine nothing says that
// journal and file reached the disk in the same state.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "evring/evb_reader.h"

// What tells an event from all others on this machine until it boots again.
struct event_identity {
	uint64_t event_id;
	uint64_t sequence;
	uint64_t first_ns;
	uint64_t complete_ns;
	uint32_t run_number;
	uint32_t builder;
};

struct journal_entry {
	uint64_t size; // bytes of whole events in the file
	uint64_t events;
	struct event_identity last;
};

struct event_identity event_identity_of(const struct evb_event *event);
bool event_identity_equal(const struct event_identity *a, const struct event_identity *b);

// Writes the entry into the open journal file. Returns 0 or a negative errno.
int journal_write(int file, const struct journal_entry *entry);

// Reads it. False if there is none that is whole and of this boot of the machine.
bool journal_read(int file, struct journal_entry *entry);
