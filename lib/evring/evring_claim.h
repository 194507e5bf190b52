// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Making and locking places (evring_place.h), on the appliance's side. A place is locked by a flock
// on its lock file, so that no process removes a file that has just been replaced by a live one,
// and that exactly one of two appliances that start under the same name gets it. Other users can
// hold none of these locks: they may not open the file.
#pragma once

#include "evring_place.h"

#include <dirent.h>

// Who else may use the files, beside their owner.
struct evring_access {
	unsigned mode; // of the ring: 0600, 0640, 0644, 0660, 0664 or 0666
	gid_t group;   // (gid_t)-1: that of the process
};

// Sets the access from a mode, 0 for EVRING_MODE, and the name or number of a Unix group, NULL or
// "" for that of the process. Returns 0, or -EINVAL with one line in error[EVRING_ERROR_SIZE].
int evring_access_find(struct evring_access *access, unsigned mode, const char *name, char *error);

// Sets the group of an open file, (gid_t)-1: as it is, and its mode. Returns 0 or a negative errno.
int evring_access_set(int file, gid_t group, unsigned mode);

struct evring_lock {
	char path[EVRING_PLACE_SIZE];
	int directory; // descriptor of the place
	int file;      // descriptor of the lock file
	int why;       // 0, or the negative errno for which there is no place
};

// The places of one name, in the order of struct evring_directories.
struct evring_locks {
	struct evring_lock list[EVRING_MAX_DIRECTORIES];
	unsigned count;
};

// Makes the places that do not exist, with the access given, and locks all. Where this user may
// make none, list[].why says it. Returns 0, or -EBUSY (another process of this user has held a lock
// for 2 s) with one line in error[EVRING_ERROR_SIZE].
int evring_places_lock(struct evring_locks *locks, const struct evring_directories *directories,
		       const char *name, const struct evring_access *access, char *error);

// Unlocks them, and removes those without a ring.
void evring_places_unlock(struct evring_locks *locks);

// The same for one existing place. wait: for up to 2 s. Returns 0 or a negative errno.
int evring_place_lock(struct evring_lock *lock, const char *place, bool wait);
void evring_place_unlock(struct evring_lock *lock);

// Marks a ring as live until the returned descriptor is closed or the process dies. byte: the
// ring's on the lock file, EVRING_LOCK_RING(builder) for an event ring. Returns the descriptor or a
// negative errno.
int evring_place_hold(const struct evring_lock *lock, int64_t byte);

// All files of a place are opened and removed relative to the descriptor that this function
// returns: a place of another user, which root cleans, may be replaced by a link at any time.
// Returns a negative errno on failure.
int evring_place_open(const char *place);

// Lists the files of an open place, from the first. NULL: it cannot be listed.
DIR *evring_place_list(int directory);

// Whether a ring's process lives. Returns 1 or 0, or a negative errno (-EACCES: another user's).
int evring_place_is_live(int directory, unsigned builder);
