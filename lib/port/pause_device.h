// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The device's counters of flow control, for the back-ends in which evb does not send pause frames
// itself. The first source that has such counters is used: the kernel's driver, if the port has a
// network interface (`ethtool -S`); DPDK's driver (extended statistics); the kernel's DCB.
//
// Threads: open, read, close: control thread. Any thread may read the counters.
#pragma once

#include <net/if.h>

#include "port/dcb.h"
#include "port/interface.h"
#include "port/pause_state.h"

#define PAUSE_DEVICE_MOST 64 // statistics: 8 priorities with at most 6 each

// What a statistic counts; the first four are in packets.
enum pause_figure {
	PAUSE_XOFF_SENT,
	PAUSE_XON_SENT,
	PAUSE_XOFF_RECEIVED,
	PAUSE_XON_RECEIVED,
	PAUSE_PAUSED_US,
	PAUSE_PAUSING_US,
	PAUSE_N_FIGURES
};

// Finds the figure and the priority that a driver's statistic of this name counts. False if it
// counts none of these figures. Pure.
bool pause_name_parse(const char *name, enum pause_figure *figure, unsigned *priority);

enum pause_device_source {
	PAUSE_DEVICE_NONE,
	PAUSE_DEVICE_ETHTOOL,
	PAUSE_DEVICE_XSTATS,
	PAUSE_DEVICE_DCB,
};

struct pause_device {
	enum pause_device_source source;
	uint16_t port_id;
	char interface[IF_NAMESIZE]; // the kernel's interface; empty: none
	bool kernel_knows;           // the kernel reports PFC of the interface
	uint8_t kernel_priorities;   // bit i: at open, PFC was on for priority i in the kernel
	struct interface_stats ethtool;
	unsigned n_statistics;
	struct {
		uint64_t id; // DPDK's id, or the index in the kernel's list
		uint8_t figure, priority;
	} statistics[PAUSE_DEVICE_MOST];
	uint64_t base[PFC_PRIORITIES][PAUSE_N_FIGURES];          // values at open
	_Atomic uint64_t since[PFC_PRIORITIES][PAUSE_N_FIGURES]; // increase since open
};

// Finds the counters of a started port.
void pause_device_open(struct pause_device *device, uint16_t port_id);

void pause_device_read(struct pause_device *device);

// Frees the lists. Does nothing to a structure of all zeros.
void pause_device_close(struct pause_device *device);

// The counters since open, at the time of the last read.
void pause_device_counters(const struct pause_device *device, unsigned priority,
			   struct pause_counters *counters);
