// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The limits of memory and hugepages that the control groups of this process and all groups above
// them set, of versions 1 and 2, also where both are in use (Documentation/admin-guide/cgroup-v1
// and cgroup-v2.rst of Linux).
#pragma once

#include <stdint.h>

#include "sysfs/file.h"

#define CGROUP_NO_LIMIT UINT64_MAX

struct cgroup_limit {
	uint64_t limit; // bytes; CGROUP_NO_LIMIT: none
	uint64_t room;  // bytes that may still be used
	char file[SYSFS_PATH_SIZE];
};

struct cgroup_facts {
	struct cgroup_limit memory;
	struct cgroup_limit hugepages; // of the default page size
};

// default_page: bytes of a hugepage. root: as in sysfs/file.h.
void cgroup_read(struct cgroup_facts *facts, const char *root, uint64_t default_page);
