// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The journal of a file that is being written: the size of the whole events in the file, and the
// identity of the last one. The writer updates it after it has written an event's bytes and before
// it releases the event. The update is one write of a few bytes to one page, so a kill of the
// process cannot leave half of it. After a kill, the bytes after `size` belong to an event that was
// not released, which the ring delivers again. All events before `size` were released, except
// possibly the last one.
//
// A journal is valid until the machine reboots: after a crash of the machine, journal and file may
// have reached the disk in different states.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "evring/evb_reader.h"

// Identifies an event among all events of this machine since its last boot.
struct event_identity {
	uint64_t event_id;
	uint64_t sequence;
	uint64_t first_ns;
	uint64_t complete_ns;
	uint32_t run_number;
	uint32_t builder;
};

struct journal_entry {
	uint64_t size;   // bytes of whole events in the file
	uint64_t events; // whole events in the file
	struct event_identity last;
};

struct event_identity event_identity_of(const struct evb_event *event);
bool event_identity_equal(const struct event_identity *a, const struct event_identity *b);

// Writes the entry into the open journal file. Returns 0 or a negative errno.
int journal_write(int file, const struct journal_entry *entry);

// Reads the entry. False if it is incomplete or was written before the last boot of the machine.
bool journal_read(int file, struct journal_entry *entry);
