// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An event file while it is written. It is created with its journal, under a temporary name with a
// number that no other file has. The writer holds a lock (flock) on it until it closes the file or
// dies. The finished file is synced and renamed. An existing file is never overwritten.
//
// Only one thread uses a part file.
#pragma once

#include "record/file_name.h"
#include "record/journal.h"

struct part_file {
	struct file_name name;
	int directory; // the caller's descriptor
	int file;
	int journal;
	struct journal_entry whole; // the whole events in the file
	uint64_t written_back;      // bytes that the kernel was requested to write to the disk
	uint64_t synced;            // bytes that are known to be on the disk
	bool sync_failed;           // the disk may lack bytes of whole events
};

// Creates the next file, with the first free number from name->sequence on, to which name->sequence
// is then set. Returns 0 or a negative errno; after an error, no file is left.
int part_file_create(struct part_file *part, int directory, struct file_name *name);

// Records in the journal that the file has `size` bytes of whole events, of which `last` is the
// last. Syncs the file first after every `sync_size` bytes (0: never). Returns 0 or a negative
// errno; after an error, the event does not count as written. If part->sync_failed is then set, no
// later event may be added, unless the file has no whole event.
//
// Linux reports once that pages could not be written, whatever the error (also ENOSPC and EDQUOT),
// and counts them as clean from then on: the next sync succeeds without their data (fsync(2)).
int part_file_commit(struct part_file *part, uint64_t size, const struct event_identity *last,
		     uint64_t sync_size);

// Cuts off the bytes after the last whole event.
void part_file_cut(struct part_file *part);

// Syncs, renames and closes the file. If the final name exists, the next free number is used; then
// part->name is the new name. Returns 0, or a negative errno with the failed step in *step: the
// file is closed, and has its temporary name still if it could not be cut, synced or renamed. After
// a failed sync it has no journal, so that a recovery reads what the disk has.
int part_file_finish(struct part_file *part, const char **step);

// Closes a file whose sync failed, and leaves it under its temporary name without its journal.
void part_file_leave(struct part_file *part);

// Closes and removes a file that has no whole event.
void part_file_discard(struct part_file *part);

// Removes journal and file, the journal first: once the file is removed, a new writer may use the
// name. Returns 0 or a negative errno of removing the file.
int part_file_remove(int directory, const struct file_name *name);

// Only syncs and renames a file: the last steps for the file of a killed writer.
int part_file_publish(int directory, int file, struct file_name *name, const char **step);
