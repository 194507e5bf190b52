// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What a packet socket lost before DPDK's af_packet driver saw it. The driver does not tell
// (imissed stays 0), but the kernel counts it: PACKET_STATISTICS, packet(7).
// Control thread.
#pragma once

#include <stdint.h>

#define PACKET_DROPS_MOST 64 // sockets of one port, one per queue

struct packet_drops {
	int sockets[PACKET_DROPS_MOST]; // the driver's, not ours to close
	unsigned n_sockets;
};

// Finds this process' packet sockets that are bound to the interface.
void packet_drops_find(struct packet_drops *drops, const char *interface);

// Packets lost since the last call (the kernel's counter starts anew with each).
uint64_t packet_drops_take(const struct packet_drops *drops);
