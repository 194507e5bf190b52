// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Making the changes of a report, and restoring the values before. Control thread.
#pragma once

#include "host/change.h"

enum prepare_outcome {
	PREPARE_DONE,
	PREPARE_PARTLY, // the kernel set another value than the wanted one
	PREPARE_LEFT,   // not restored: the setting was changed by others in the meantime
	PREPARE_FAILED,
};

// Receives the outcome of each change, with one line for people, without a newline.
typedef void prepare_report(void *context, enum prepare_outcome outcome, const char *line);

// Makes the changes of the report in order, and stores the values before them in the state file. A
// change that fails does not stop the others. Returns the number of changes that failed, or -1 with
// one line in error[STATE_ERROR_SIZE]: then not all changes were tried.
int host_prepare(const struct host_system *system, const struct host_report *report,
		 const char *state_path, prepare_report *notify, void *context, char *error);

// Restores the settings that host_prepare() changed, the last change first. A setting that others
// have changed in the meantime stays as it is, and is removed from the state file. Returns as
// host_prepare(); settings that could not be restored stay in the state file.
int host_restore(const struct host_system *system, const char *state_path, prepare_report *notify,
		 void *context, char *error);
