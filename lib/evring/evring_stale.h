// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Distinguishing the files of dead runs from those of live runs, and removing the former. A ring is
// live as long as a process holds its byte of the place's lock file; nothing else counts.
#pragma once

#include "evring_claim.h"

struct evring_survey {
	const char *name; // appliance whose files are examined; NULL: all
	uint64_t owner;   // a live run of this owner is no obstacle ...
	unsigned builder; // ... unless it has the ring of this builder already
	unsigned removed; // out: files of dead runs that were removed
	bool taken;       // out: a live run has the name, or a file cannot be judged
	int taken_errno;  // out: EEXIST or EACCES
	char *text;       // out: if taken, the file and the reason; [EVRING_ERROR_SIZE]
};

// Removes the files of dead runs of this user, in all places of the survey's name, and looks for
// live ones. The places of that name must be locked.
void evring_survey(struct evring_survey *survey, const struct evring_directories *directories);

// Calls a function for each ring file of layout version 1 in a directory whose run is dead and that
// this user may remove. path, name: as for evring_places_visit(). directory: descriptor.
typedef void evring_old_visitor(int directory, const char *file_name, void *context);
void evring_old_visit(const char *path, const char *name, evring_old_visitor *visit, void *context);
