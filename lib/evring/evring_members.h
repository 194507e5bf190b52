// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The tables of groups and members: joining, leaving, and what happens when a member dies. Used by
// the appliance and by readers; safe against the death of its caller at any point.
#pragma once

#include "evring_view.h"

// Who a reader is in one ring.
struct evring_membership {
	unsigned group;
	unsigned member;
	unsigned generation;
};

// Enters the table of members as one of the named group, which is made if it does not exist.
// Takes the member's lock on view->file, so a descriptor can be one member only.
// Returns 0, -ENOSPC (no room for a group or a member: `error` says which), -EBUSY (somebody has
// stopped in the middle of joining), or another negative errno.
int evring_join(struct evring_view *view, const char *group, struct evring_membership *membership,
		char *error);

// Gives the events of the member back to its group, and its place free.
void evring_leave(struct evring_view *view, const struct evring_membership *membership);

// Gives the events of dead members back to their groups and their places free. `self`: the
// caller's own member index, or -1 (its own lock would not stop it). Returns how many had died.
unsigned evring_bury_members(struct evring_view *view, int self);

// Enters a group in the table. For evring_create(), before anyone else sees the file, and for
// evring_join(). Returns its index, or -ENOSPC.
int evring_group_enter(struct evring_view *view, const char *name, bool persistent);

// Dissolves groups that readers made and that have no member left. Appliance only.
void evring_dissolve_groups(struct evring_view *view);

// How many members a group has.
unsigned evring_group_members(const struct evring_view *view, unsigned group);

// Whether a name is 1 to 31 characters of [A-Za-z0-9_-].
bool evring_name_is_valid(const char *name);
