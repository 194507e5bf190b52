// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The statistics that a network interface's driver in the kernel has (`ethtool -S X`).
// Control thread.
#pragma once

#include <stdint.h>

#define INTERFACE_STAT_NAME_SIZE 32 // with the zero at the end

struct interface_stats {
	uint32_t n;
	char (*names)[INTERFACE_STAT_NAME_SIZE];
	uint64_t *values; // as of the last read
};

// Returns 0, or -1 if the interface has none.
int interface_stats_open(struct interface_stats *stats, const char *interface);

// Returns 0, or -1 if they cannot be read or are others now; the values are the old ones then.
int interface_stats_read(struct interface_stats *stats, const char *interface);

// Frees. Does nothing with all zeros.
void interface_stats_close(struct interface_stats *stats);
