// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What evb and its BPF program (evb_steer.bpf.c) share: maps, their keys and values.
//
//   xsks_map   AF_XDP sockets by rx queue: the name by which DPDK's af_xdp driver knows it
//   settings   what is event traffic; all zero: nothing is, and everything passes to the kernel
//   sources    admitted source ids, with their counters a CPU
//   addresses  admitted IPv4 source addresses, if any are given
//   causes     counters of every packet a CPU, by what became of it
//   strangers  who was refused lately
//
// Addresses are in network byte order here, everything else in the machine's.
#pragma once

#include <linux/types.h>

#define STEER_MAX_QUEUES    64
#define STEER_MAX_RANGES    8
#define STEER_MAX_SOURCES   4096
#define STEER_MAX_ADDRESSES 4096
#define STEER_MAX_STRANGERS 64

// What became of a packet. Each counts exactly once.
enum steer_cause {
	STEER_PASSED,          // to the kernel: it is none of evb's
	STEER_REDIRECTED,      // to evb's socket, which may have no room: it counts that itself
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
	__u32 own_address; // evb answers ARP and ICMP echo for it; 0: the kernel does
	__u32 has_own_address6;
	__u32 own_address6[4]; // evb answers neighbour solicitations and ICMPv6 echo for it
	__u32 largest_frame;   // bytes, without FCS
	__u32 ether_type;      // that carries segments; 0: none
	__u32 n_ranges;
	struct steer_range ranges[STEER_MAX_RANGES];
};

struct steer_counter {
	__u64 packets;
	__u64 bytes;
};

struct steer_stranger {
	__u32 address; // 0: not IPv4
	__u32 id;      // STEER_NO_ID: the address alone was enough
};

#define STEER_NO_ID 0xFFFFFFFFu
