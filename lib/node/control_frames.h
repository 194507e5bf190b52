// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Frames of the control protocol on a node's data port: its datagrams are put into UDP over IPv4
// over Ethernet and taken out again, and the MAC addresses of the other nodes are found by ARP.
//
// Threads: one, the control role's.
#pragma once

#include <rte_mbuf.h>

#include "node/control_role.h"
#include "wire/net.h"

#define CONTROL_MTU_MOST 9000u

struct control_frames {
	const struct control_role_parameters *parameters;
	const struct config_cluster *cluster;
	struct control_role_counters *counters;
	uint64_t arp_at[EVB_MAX_NODES]; // ns of the last request
	uint8_t copy[NET_HEADERS_SIZE + NET_VLAN_SIZE * 2 + CONTROL_MTU_MOST];
};

struct control_datagram {
	const uint8_t *bytes;
	size_t size;
};

// Sends a datagram to a node. False if it cannot be sent now; where the node's address is not known
// it is asked for, and the datagram is dropped.
bool control_frames_send(struct control_frames *frames, unsigned node, const uint8_t *bytes,
			 size_t size, uint64_t now);

// Asks for the addresses of all nodes that are not known.
void control_frames_ask(struct control_frames *frames, uint64_t now);

// Takes a received frame: what it tells of addresses is kept. True if it carries a datagram of a
// node, in *datagram, which lives as long as the mbuf and until the next call.
bool control_frames_take(struct control_frames *frames, const struct rte_mbuf *mbuf,
			 struct control_datagram *datagram);
