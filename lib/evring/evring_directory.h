// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The directories of ring files: the hugetlbfs mounts of this machine, the smallest pages first,
// then /dev/shm; or one directory that the user names.
#pragma once

#include "evring.h"

#define EVRING_MAX_DIRECTORIES 9
#define EVRING_DIRECTORY_SIZE  256 // bytes of a path, with the closing 0

struct evring_directory {
	char path[EVRING_DIRECTORY_SIZE];
	uint64_t page_size; // bytes
	bool hugepages;     // a hugetlbfs
};

struct evring_directories {
	struct evring_directory list[EVRING_MAX_DIRECTORIES];
	unsigned count;
};

// Lists the directories. directory: the only one, or NULL. Returns 0, or a negative errno with one
// line in error[EVRING_ERROR_SIZE]. Where directory is NULL, the list may be empty.
int evring_directories_find(struct evring_directories *directories, const char *directory,
			    char *error);

// The path and the name of a ring file of layout version 1: evb-NAME.N, and evb-NAME.N.new.
// Appliances remove those of dead runs, readers report them. EVRING_OLD_PATH_SIZE: with the closing
// 0. Both return false if there is no such path, or if it is another file's name.
#define EVRING_OLD_PATH_SIZE (EVRING_DIRECTORY_SIZE + EVRING_NAME_SIZE + 32)
bool evring_old_path(char *path, const struct evring_directory *directory, const char *name,
		     unsigned builder);
bool evring_old_parse(const char *file_name, char name[EVRING_NAME_SIZE]);
