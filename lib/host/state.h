// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The state file: the settings that evb host prepare has changed on this host, so that evb host
// restore can restore them. It lies in a directory that is empty after a boot, as the changes do
// not survive a boot either. Control thread.
#pragma once

#include "host/report.h"

#define STATE_FILE       "/run/evb/host-state.json"
#define STATE_ERROR_SIZE 768

struct state_entry {
	enum host_change_kind kind;
	char target[HOST_TARGET_SIZE];
	char before[HOST_VALUE_SIZE]; // value before the first change
	char after[HOST_VALUE_SIZE];  // value after the last
};

// To be zeroed before the first use.
struct state {
	struct state_entry *entries; // in the order in which they were made
	unsigned n, room;
	int lock; // on the file's directory; 0: not locked
};

// Reads the file, and locks it until state_close(). Without a file the state is empty. Returns 0,
// or -1 with one line in error[STATE_ERROR_SIZE].
int state_open(struct state *state, const char *path, char *error);

// The entry of a setting, or NULL.
struct state_entry *state_find(const struct state *state, enum host_change_kind kind,
			       const char *target);

// Adds an entry; NULL if memory ran out.
struct state_entry *state_add(struct state *state, enum host_change_kind kind, const char *target,
			      const char *before, const char *after);
void state_remove(struct state *state, unsigned index);

// Replaces the file by rename(2), or removes the file and its folder if there are no entries.
// Returns as state_open().
int state_save(const struct state *state, const char *path, char *error);

void state_close(struct state *state);
