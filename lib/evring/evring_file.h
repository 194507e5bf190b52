// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Making a ring file. First its name is reserved, then its memory; then the header is written, and
// finally the file gets the name for which readers search.
#pragma once

#include "evring_layout.h"
#include "evring_place.h"

struct evring_file {
	int file;     // descriptor with the owner's lock
	int members;  // descriptor of members.N
	int hold;     // descriptor of the place's lock file, with this ring's byte
	void *memory; // the whole file, writable
	char place[EVRING_PLACE_SIZE];
	char path[EVRING_PATH_SIZE];
	unsigned builder;
	bool shown;
};

// A random number of this process: the same in all rings that it makes.
uint64_t evring_owner(void);

// Reserves name and memory in one directory. searched: the directories from which files of dead
// runs of this name are removed, and in which no live run of this user may have the name. plan:
// from evring_layout_plan(). Returns 0 or a negative errno with one line in
// error[EVRING_ERROR_SIZE].
int evring_file_make(struct evring_file *file, const struct evring_parameters *parameters,
		     const struct evring_directory *directory,
		     const struct evring_directories *searched, const struct evring_header *plan,
		     char *error);

// Gives the file its name. Returns 0 or a negative errno with one line in error[EVRING_ERROR_SIZE].
int evring_file_show(struct evring_file *file, char *error);

// Removes and unmaps a file that evring_file_make() made, whether shown or not.
void evring_file_discard(struct evring_file *file, uint64_t size);
