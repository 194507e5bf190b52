// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The place of an appliance's rings: a directory of its own in one of the directories of
// evring_directory.h.
//
//   evb-NAME/      nobody but its owner makes, renames or removes files here
//     lock         mode 0600. flock: held while files are judged, made or removed. Byte
//                  EVRING_LOCK_RING(N): held while the process of ring N lives
//     ring.N       the ring of builder N; ring.N.new: while it is made
//     members.N    the locks of its members. Only those who may write the ring may open it
//
// Any local user can make entries in /dev/shm. Where evb-NAME is not a directory of the appliance's
// user, the place is evb-NAME.XXXXXX, with random characters, and readers try the places in the
// order of their trust. Layout version 1 had no places: its rings were files evb-NAME.N.
#pragma once

#include "evring_directory.h"

#include <sys/types.h>

#define EVRING_PLACE_SIZE (EVRING_DIRECTORY_SIZE + EVRING_NAME_SIZE + 16)
#define EVRING_PATH_SIZE  (EVRING_PLACE_SIZE + 32)
#define EVRING_MAX_PLACES 16 // of one name in one directory that a reader tries

#define EVRING_LOCK_FILE  "lock"
#define EVRING_NEW_SUFFIX ".new"

enum evring_trust {
	EVRING_TRUST_OWN, // made by this process's user
	EVRING_TRUST_ROOT,
	EVRING_TRUST_GROUP, // of a group of this process, closed to all others
	EVRING_TRUST_NONE,  // anybody may have made it
};

struct evring_place {
	char path[EVRING_PLACE_SIZE];
	char name[EVRING_NAME_SIZE]; // of the appliance
	uid_t owner;
	enum evring_trust trust;
};

enum evring_file_kind {
	EVRING_FILE_RING,
	EVRING_FILE_RING_NEW,
	EVRING_FILE_MEMBERS,
};

// Calls a function for each place in a directory. name: of the appliance, NULL: of all. Links and
// other files are left out. path: as evring_directory.path.
typedef void evring_place_visitor(const struct evring_place *place, void *context);
void evring_places_visit(const char *path, const char *name, evring_place_visitor *visit,
			 void *context);

// Lists the places of one appliance, the most trusted first. Returns their number.
unsigned evring_places(const char *path, const char *name,
		       struct evring_place list[EVRING_MAX_PLACES]);

// The path of a file of a place. Returns false if it is too long.
bool evring_place_path(char path[EVRING_PATH_SIZE], const char *place, enum evring_file_kind kind,
		       unsigned builder);

// Splits a file's name. Returns false if it is another file.
bool evring_place_parse(const char *file_name, enum evring_file_kind *kind, unsigned *builder);
