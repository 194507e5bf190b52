// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The system that the stages examine, and the properties of a network interface of the kernel,
// which are read and set by ioctl and ethtool. Control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HOST_LINK_NAME_SIZE 32

// Some drivers have combined queues that receive and send, others have separate ones.
struct host_channels {
	uint32_t combined, rx;
};

struct host_link {
	bool up;      // the administrator wants it
	bool running; // it has a carrier
	uint32_t mtu; // bytes
	char driver[HOST_LINK_NAME_SIZE];
	char bus[HOST_LINK_NAME_SIZE]; // PCI address; empty: none
	bool has_channels;
	struct host_channels channels;
	bool has_rings;
	uint32_t rx_ring, most_rx_ring; // descriptors per queue
	bool has_pfc;
	uint8_t pfc; // bit i: priority i is paused by PFC
};

// Returns false if there is no such interface.
bool host_link_read(const char *interface, struct host_link *link);

// The number of queues that receive.
uint32_t host_link_queues(const struct host_link *link);

// Each returns 0 or a negative errno.
int host_link_set_mtu(const char *interface, uint32_t mtu);
int host_link_set_up(const char *interface, bool up);
int host_link_set_channels(const char *interface, bool combined, uint32_t channels);
int host_link_set_rx_ring(const char *interface, uint32_t descriptors);

// This system, or a tree of files that stands for another.
struct host_system {
	const char *root; // of the paths in sysfs/file.h: "" is this system
	// Reads what the files do not contain, as host_link_read().
	bool (*read_link)(const char *interface, struct host_link *link);
};

// This system.
extern const struct host_system host_system_here;
