// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Making a ring file: its name is reserved first, then its memory, then the header is written, and
// only then the file gets the name that readers look for.
#pragma once

#include "evring_directory.h"
#include "evring_layout.h"

struct evring_file {
	int file;     // descriptor with the owner's lock
	void *memory; // the whole file, read-write
	char new_path[EVRING_PATH_SIZE];
	char path[EVRING_PATH_SIZE];
};

// Number of this process, drawn once: the same in all rings that it makes.
uint64_t evring_owner(void);

// Reserves name and memory in one directory. `searched`: all directories that are cleaned of dead
// files of the name, and where no live run may have it. plan: from evring_layout_plan().
// Returns 0 or a negative errno with one line in error[EVRING_ERROR_SIZE].
int evring_file_make(struct evring_file *file, const struct evring_parameters *parameters,
		     const struct evring_directory *directory,
		     const struct evring_directories *searched, const struct evring_header *plan,
		     char *error);

// Gives the file its name. `directory`: where it was made. Returns 0 or a negative errno with one
// line in error[EVRING_ERROR_SIZE].
int evring_file_show(struct evring_file *file, const struct evring_directory *directory,
		     char *error);

// Removes and unmaps what evring_file_make() made, whether shown or not.
void evring_file_discard(struct evring_file *file, uint64_t size);
