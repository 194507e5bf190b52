// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The system that the stages examine: this one, or a tree of files that stands for another.
#pragma once

#include "host/link.h"
#include "sysfs/file.h"

struct host_system {
	const char *root; // of the paths in sysfs/file.h: "" is this system
	// Reads what the files do not contain, as host_link_read().
	bool (*read_link)(const char *interface, struct host_link *link);
};

// This system.
extern const struct host_system host_system_here;
