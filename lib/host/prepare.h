// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Making the changes that a report has, and putting back what was changed. Control thread.
#pragma once

#include "host/report.h"
#include "host/state.h"
#include "host/system.h"

enum prepare_outcome {
	PREPARE_DONE,
	PREPARE_PARTLY, // the kernel made less of it
	PREPARE_LEFT,   // as it was; somebody else has changed it meanwhile
	PREPARE_FAILED,
};

// What happened, for people: one line without a newline.
typedef void prepare_tell(void *context, enum prepare_outcome outcome, const char *line);

// Makes the changes of the report, one after the other, and keeps in the state file what was there
// before. A change that fails does not stop the others. Returns how many failed, or -1 with one
// line in error[STATE_ERROR_SIZE]: nothing, or not everything, was tried.
int host_prepare(const struct host_system *system, const struct host_report *report,
		 const char *state_path, prepare_tell *tell, void *context, char *error);

// Puts back what host_prepare() changed, the last change first. What somebody else has changed
// meanwhile stays as it is, and is forgotten. Returns as host_prepare(); what failed stays in the
// state file.
int host_restore(const struct host_system *system, const char *state_path, prepare_tell *tell,
		 void *context, char *error);
