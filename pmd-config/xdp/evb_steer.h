// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The maps that evb shares with its BPF program (evb_steer.bpf.c), with their keys and values:
//
//   xsks_map   AF_XDP sockets by rx queue; DPDK's af_xdp driver requires this name
//   settings   definition of event traffic; all zero: all packets pass to the kernel
//   sources    admitted source ids, with their counters per CPU
//   addresses  admitted IPv4 source addresses; used if check_addresses is set
//   causes     counters of all packets per CPU, by enum steer_cause
//   strangers  senders that were refused most recently
//
// Addresses are in network byte order, all other numbers in the machine's byte order.
#pragma once

#include <linux/types.h>

#define STEER_MAX_QUEUES    64
#define STEER_MAX_RANGES    8
#define STEER_MAX_SOURCES   4096
#define STEER_MAX_ADDRESSES 4096
#define STEER_MAX_STRANGERS 64

// What the program did with a packet, and why. Each packet counts exactly once.
enum steer_cause {
	STEER_PASSED,          // passed to the kernel: it is not event traffic
	STEER_REDIRECTED,      // redirected to evb's socket, which counts the packets it loses
	STEER_UNKNOWN_SOURCE,  // dropped: a source id that is not admitted
	STEER_UNKNOWN_ADDRESS, // dropped: an IP address that is not admitted
	STEER_TOO_LONG,        // dropped: does not fit the socket's buffers
	STEER_NO_SOCKET,       // dropped: event traffic on an rx queue that evb does not read
	STEER_N_CAUSES
};

struct steer_range {
	__u16 first; // UDP destination port
	__u16 count;
	__u32 segments; // 1: EJFAT segments, whose source id must be admitted
};

struct steer_settings {
	__u32 active;
	__u32 check_addresses;
	__u32 own_address; // evb replies to ARP and ICMP echo for it; 0: none
	__u32 has_own_address6;
	__u32 own_address6[4]; // evb replies to neighbour solicitations and ICMPv6 echo for it
	__u32 largest_frame;   // bytes, without FCS
	__u32 ether_type;      // EtherType of segments; 0: none
	__u32 n_ranges;
	struct steer_range ranges[STEER_MAX_RANGES];
};

struct steer_counter {
	__u64 packets;
	__u64 bytes;
};

struct steer_stranger {
	__u32 address; // 0: not IPv4
	__u32 id;      // source id; STEER_NO_ID: refused by its address
};

#define STEER_NO_ID 0xFFFFFFFFu
