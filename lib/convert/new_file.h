// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A file under a temporary name, .NAME.convert, until it is whole. What a killed process has left
// under this name is overwritten; a lock (flock) tells it from the file of a process that lives.
//
// Only one thread uses a new file.
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct new_file {
	const char *path;           // the final one, of the caller
	const char *name;           // its last part
	char temporary[PATH_MAX];   // path
	const char *temporary_name; // its last part
	int directory, file;
};

// Creates the file, empty. `path` must live as long as it. Returns 0, or -1 with one line in
// error[size].
int new_file_create(struct new_file *file, const char *path, char *error, size_t size);

// Syncs the file, gives it its name if no other file has it, and closes it. *bytes is its size.
// Returns 0, or -1 with one line in error[size]: the file is removed.
int new_file_publish(struct new_file *file, uint64_t *bytes, char *error, size_t size);

// Removes and closes the file.
void new_file_discard(struct new_file *file);
