// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The state file: the settings that evb host prepare has changed on this host, so that evb host
// restore can restore them. It lies in a directory that is empty after a boot, as the changes do
// not survive a boot either. Control thread.
#pragma once

#include <cjson/cJSON.h>

#include "host/report.h"

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
