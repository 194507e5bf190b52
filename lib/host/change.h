// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reading and making the changes of a report (report.h). The value of a setting is text: a value
// that was read can be set again. Control thread.
#pragma once

#include "host/report.h"
#include "host/system.h"

// Whether the kind has a value that can be restored.
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
