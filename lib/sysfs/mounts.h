// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The mounted file systems of a type, as /proc/mounts lists them (proc(5), fstab(5)).
#pragma once

#include <stdint.h>

#define SYSFS_MOUNT_SIZE 256

struct sysfs_mount {
	char path[SYSFS_MOUNT_SIZE];
	char page_size[16]; // hugetlbfs: the option, "2M"; "" where there is none
};

// Lists the mounts of a type, in the order in which they were made; option: only those that have
// it, or NULL. Returns how many were written, at most `room`. root: as in sysfs/file.h.
unsigned sysfs_mounts(const char *root, const char *type, const char *option,
		      struct sysfs_mount *list, unsigned room);

// Bytes of a page size as in the option, "2M"; 0 if the text is none.
uint64_t sysfs_page_size(const char *text);
