// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reading and making the changes of a report (report.h), and the state file: the settings that evb
// host prepare has changed on this host, so that evb host restore can restore them. It lies in a
// directory that is empty after a boot, as the changes do not survive a boot either. Control
// thread.
#pragma once

#include <cjson/cJSON.h>

#include "host/report.h"
#include "host/system.h"

// --- settings ------------------------------------------------------------------------------------

// Whether the kind has a value that can be restored. The value is text: a value that was read can
// be set again.
bool change_is_setting(enum host_change_kind kind);

// Its name in messages and in the state file: "mtu", "channels", ...
const char *change_kind_name(enum host_change_kind kind);

// The kind of a name; HOST_N_CHANGE_KINDS if the name is unknown.
enum host_change_kind change_kind_of(const char *name);

// The present value. Returns 0 or a negative errno.
int change_get(const struct host_system *system, enum host_change_kind kind, const char *target,
	       char value[HOST_VALUE_SIZE]);

// Returns 0 or a negative errno. The kernel may have set another value than the given one.
int change_set(const struct host_system *system, enum host_change_kind kind, const char *target,
	       const char *value);

// Removes leftovers. Returns their number, or a negative errno.
int change_remove(const struct host_system *system, enum host_change_kind kind, const char *target);

// --- the file ------------------------------------------------------------------------------------

#define STATE_FILE       "/run/evb/host-state.json"
#define STATE_ERROR_SIZE 768

// To be zeroed before the first use.
struct state {
	// An array of {"kind": ..., "target": ..., "before": ..., "after": ...}, in the order in
	// which the changes were made: the value before the first change, and after the last.
	cJSON *changes;
	int lock; // on the file's directory; 0: not locked
};

// Reads the file, and locks it until state_close(). Without a file the state is empty. Returns 0,
// or -1 with one line in error[STATE_ERROR_SIZE].
int state_open(struct state *state, const char *path, char *error);

// The entry of a setting, or NULL.
cJSON *state_find(const struct state *state, enum host_change_kind kind, const char *target);

// A text of an entry.
const char *state_text(const cJSON *entry, const char *key);

// Adds the entry of a setting that has none yet, or sets its value after the last change. Returns
// the entry, or NULL if memory ran out.
cJSON *state_record(struct state *state, enum host_change_kind kind, const char *target,
		    const char *before, const char *after);
void state_remove(struct state *state, cJSON *entry);

// Replaces the file by rename(2), or removes the file and its folder if there are no entries.
// Returns as state_open().
int state_save(const struct state *state, const char *path, char *error);

void state_close(struct state *state);

// --- all changes of a report ---------------------------------------------------------------------

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
