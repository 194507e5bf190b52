// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Frames of the control protocol on the port of a node: they carry its datagrams in UDP over IPv4
// over Ethernet. The MAC addresses of the other nodes are found by ARP (RFC 826).
//
// Threads: one, the control role's.
#pragma once

#include <rte_mbuf.h>

#include "node/control_role.h"
#include "wire/net.h"

#define CONTROL_MTU_MOST 9000u

struct control_frames {
	const struct control_role_parameters *parameters;
	struct control_role_counters *counters;
	uint32_t addresses[EVB_MAX_NODES];    // IPv4 of the nodes, host order
	uint64_t requested_at[EVB_MAX_NODES]; // ns of the last ARP request for a node; 0: none
	uint8_t copy[NET_HEADERS_SIZE + NET_VLAN_SIZE * 2 + CONTROL_MTU_MOST]; // of a frame
};

struct control_datagram {
	const uint8_t *bytes;
	size_t size;
};

// The parameters and counters outlive the frames; the addresses are copied.
void control_frames_init(struct control_frames *frames,
			 const struct control_role_parameters *parameters,
			 struct control_role_counters *counters);

// Sends a datagram to a node. False if it cannot be sent now. If the MAC address of the node is not
// known, it is requested and the datagram is dropped.
bool control_frames_send(struct control_frames *frames, unsigned node, const uint8_t *bytes,
			 size_t size, uint64_t now);

// Requests the MAC addresses of all nodes for which it is not known.
void control_frames_request_addresses(struct control_frames *frames, uint64_t now);

// Reads a received frame and stores the MAC address of its sender. True if the frame carries a
// datagram of a node, in *datagram, which lives as long as the mbuf and until the next call.
bool control_frames_receive(struct control_frames *frames, const struct rte_mbuf *mbuf,
			    struct control_datagram *datagram);
