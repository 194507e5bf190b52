// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The handlers that every rx role has. They reply to ARP, neighbour discovery and ICMP echo for the
// port's own addresses, so that a kernel host can send to the port, and pass pause frames to the
// port's flow control.
#pragma once

#include "port/flow_control.h"
#include "rx/handler.h"

// The addresses for which a port replies.
struct rx_addresses {
	struct net_mac mac;
	bool has_ip4, has_ip6;
	uint32_t ip4; // host order
	uint8_t ip6[16];
};

// `addresses` outlives the handler.
struct rx_handler rx_arp_handler(struct rx_addresses *addresses);
struct rx_handler rx_icmp4_handler(struct rx_addresses *addresses);
struct rx_handler rx_icmp6_handler(struct rx_addresses *addresses);
struct rx_handler rx_neighbour_handler(struct rx_addresses *addresses);
// Only for the rx role that owns the port's flow control.
struct rx_handler rx_pause_handler(struct flow_control *flow_control);
