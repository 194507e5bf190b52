// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The statistics of a network interface's driver in the kernel, as `ethtool -S X` prints them.
// Control thread.
#pragma once

#include <stdint.h>

#define INTERFACE_STAT_NAME_SIZE 32 // with the zero at the end

struct interface_stats {
	uint32_t n;
	char (*names)[INTERFACE_STAT_NAME_SIZE];
	uint64_t *values; // of the last successful read
};

// Returns 0, or -1 if the interface has none.
int interface_stats_open(struct interface_stats *stats, const char *interface);

// Reads the values. Returns 0, or -1 if they cannot be read or their number has changed; then the
// values are unchanged.
int interface_stats_read(struct interface_stats *stats, const char *interface);

// Frees the lists. Does nothing to a structure of all zeros.
void interface_stats_close(struct interface_stats *stats);
