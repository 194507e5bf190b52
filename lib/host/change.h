// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reading and making the changes of a report (report.h). A setting is text: what was read can be
// set again.
#pragma once

#include "host/report.h"
#include "host/system.h"

// Whether the kind has a value that can be set back.
bool change_is_setting(enum host_change_kind kind);

// What people and the state file call it: "mtu", "channels", ...
const char *change_kind_name(enum host_change_kind kind);

// HOST_N_CHANGE_KINDS if it is none.
enum host_change_kind change_kind_of(const char *name);

// The present value. Returns 0 or a negative errno.
int change_get(const struct host_system *system, enum host_change_kind kind, const char *target,
	       char value[HOST_VALUE_SIZE]);

// Returns 0 or a negative errno. The kernel may have made something else of the value.
int change_set(const struct host_system *system, enum host_change_kind kind, const char *target,
	       const char *value);

// Removes leftovers. Returns how many, or a negative errno.
int change_remove(const struct host_system *system, enum host_change_kind kind, const char *target);
