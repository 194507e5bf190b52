// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The tables of groups and members: joining, leaving, and the recovery after the death of a member.
// Used by the appliance and by readers. Each function is safe against the death of its caller at
// any instruction.
#pragma once

#include "evring_view.h"

// The identity of a reader in one ring.
struct evring_membership {
	unsigned group;
	unsigned member;
	unsigned generation;
};

// Makes the caller a member of the named group, which is made if it does not exist. Takes the
// member's lock on view->members, so that one descriptor can be one member only.
// Returns 0, -ENOSPC (no room for a group or a member: `error` names it), -EBUSY (another process
// was stopped while it joined), or another negative errno.
int evring_join(struct evring_view *view, const char *group, struct evring_membership *membership,
		char *error);

// Returns the events of the member to its group, and frees its entry.
void evring_leave(struct evring_view *view, const struct evring_membership *membership);

// Returns the events of dead members to their groups, and frees their entries. self: the member
// index of the caller, which its own lock would not protect; or -1. Returns the number of dead
// members.
unsigned evring_bury_members(struct evring_view *view, int self);

// Enters a group in the table. For evring_create(), before others see the file, and for
// evring_join(). Returns its index, or -ENOSPC.
int evring_group_enter(struct evring_view *view, const char *name, bool persistent);

// Dissolves groups that readers made and that have no member left. Appliance only.
void evring_dissolve_groups(struct evring_view *view);

// The number of members of a group.
unsigned evring_group_members(const struct evring_view *view, unsigned group);

// Whether a name is 1 to 31 characters of [A-Za-z0-9_-].
bool evring_name_is_valid(const char *name);
