// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Distinguishing the ring files of dead runs from those of live runs, and removing the former. A
// file is live as long as a process holds its owner's lock; nothing else counts.
//
// This happens under a lock on the directories themselves (flock), so that no process removes a
// file that has just been replaced by a live one, and that exactly one of two appliances that start
// under the same name gets it.
#pragma once

#include "evring_directory.h"

struct evring_survey {
	const char *name; // appliance whose files are examined; NULL: all
	uint64_t owner;   // a live run of this owner is no obstacle ...
	unsigned builder; // ... unless it has the ring of this builder already
	unsigned removed; // out: files of dead runs that were removed
	bool taken;       // out: a live run has the name, or a file cannot be judged
	int taken_errno;  // out: EEXIST or EACCES
	char *text;       // out: if taken, the file and the reason; [EVRING_ERROR_SIZE]
};

struct evring_directory_locks {
	int files[EVRING_MAX_DIRECTORIES];
	unsigned count;
};

// Returns 0, or -EBUSY with one line in error[EVRING_ERROR_SIZE].
int evring_directories_lock(struct evring_directory_locks *locks,
			    const struct evring_directories *directories, char *error);
void evring_directories_unlock(struct evring_directory_locks *locks);

// Removes the files of dead runs and looks for live ones. The directories must be locked.
void evring_survey(struct evring_survey *survey, const struct evring_directories *directories);
