// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// One event file from its first byte to its final name: created under a temporary name with a
// number that nobody else has, locked (flock) for as long as its writer lives, with its journal
// beside it; synced and renamed when whole. Nothing that exists is ever overwritten.
//
// A part file belongs to one thread.
#pragma once

#include "record/file_name.h"
#include "record/journal.h"

struct part_file {
	struct file_name name;
	int directory; // the caller's
	int file;
	int journal;
	struct journal_entry whole; // what the file holds
	uint64_t written_back;      // bytes that the kernel was told to write to the disk
	uint64_t synced;            // bytes that are known to be on the disk
};

// Creates the next file: name->sequence is the first number that is tried and becomes the one that
// is taken. Returns 0 or a negative errno, with nothing left behind.
int part_file_create(struct part_file *part, int directory, struct file_name *name);

// Says that the file now holds `size` bytes of whole events, the last of them `last`. `sync_size`:
// bytes after which the data is forced to disk first, 0: never. Returns 0 or a negative errno;
// the file then holds what it held before.
int part_file_commit(struct part_file *part, uint64_t size, const struct event_identity *last,
		     uint64_t sync_size);

// Cuts off what lies behind the last whole event.
void part_file_cut(struct part_file *part);

// Syncs the file, gives it its final name (the next free one should that be taken: part->name has
// it then) and closes it. Returns 0; or a negative errno, and *step says what failed: the file is
// then closed, and keeps its temporary name if it could not be cut, synced or renamed.
int part_file_finish(struct part_file *part, const char **step);

// Closes and removes a file, which holds no whole event.
void part_file_discard(struct part_file *part);

// Syncs and renames alone, for files that somebody else began.
int part_file_publish(int directory, int file, struct file_name *name, const char **step);
