// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Making a ring file. First its name is reserved, then its memory; then the header is written, and
// finally the file gets the name for which readers search.
#pragma once

#include "evring_directory.h"
#include "evring_layout.h"

struct evring_file {
	int file;     // descriptor with the owner's lock
	void *memory; // the whole file, writable
	char new_path[EVRING_PATH_SIZE];
	char path[EVRING_PATH_SIZE];
};

// A random number of this process: the same in all rings that it makes.
uint64_t evring_owner(void);

// Reserves name and memory in one directory. searched: the directories from which files of dead
// runs of this name are removed, and in which no live run may have the name. plan: from
// evring_layout_plan().
// Returns 0 or a negative errno with one line in error[EVRING_ERROR_SIZE].
int evring_file_make(struct evring_file *file, const struct evring_parameters *parameters,
		     const struct evring_directory *directory,
		     const struct evring_directories *searched, const struct evring_header *plan,
		     char *error);

// Gives the file its name. `directory`: where it was made. Returns 0 or a negative errno with one
// line in error[EVRING_ERROR_SIZE].
int evring_file_show(struct evring_file *file, const struct evring_directory *directory,
		     char *error);

// Removes and unmaps a file that evring_file_make() made, whether shown or not.
void evring_file_discard(struct evring_file *file, uint64_t size);
