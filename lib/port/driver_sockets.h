// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The sockets that DPDK's drivers opened. DPDK does not report them; evb finds them among the open
// descriptors of this process. Control thread.
#pragma once

#include <stdint.h>

#define PACKET_DROPS_MOST 64 // sockets of one port, one per queue

// The descriptors that are open now, ended by -1. The caller frees the list. NULL if /proc is not
// mounted or memory ran out.
int *open_descriptors(void);

// Packets that the kernel dropped because the ring of a packet socket was full. DPDK's af_packet
// driver does not count them (imissed stays 0), but the kernel does: PACKET_STATISTICS, packet(7).
struct packet_drops {
	int sockets[PACKET_DROPS_MOST]; // the driver owns and closes them
	unsigned n_sockets;
};

// Finds this process' packet sockets that are bound to the interface; none without /proc.
void packet_drops_find(struct packet_drops *drops, const char *interface);

// Packets lost since the previous call; reading resets the kernel's counter.
uint64_t packet_drops_take(const struct packet_drops *drops);
