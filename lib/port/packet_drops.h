// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Packets that the kernel dropped because the ring of a packet socket was full. DPDK's af_packet
// driver does not count them (imissed stays 0), but the kernel does: PACKET_STATISTICS, packet(7).
// Control thread.
#pragma once

#include <stdint.h>

#define PACKET_DROPS_MOST 64 // sockets of one port, one per queue

struct packet_drops {
	int sockets[PACKET_DROPS_MOST]; // the driver owns and closes them
	unsigned n_sockets;
};

// Finds this process' packet sockets that are bound to the interface.
void packet_drops_find(struct packet_drops *drops, const char *interface);

// Packets lost since the previous call; reading resets the kernel's counter.
uint64_t packet_drops_take(const struct packet_drops *drops);
