// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Steering of an interface for an AF_XDP port by evb's BPF program, pmd-config/xdp/evb_steer.bpf.c:
// event traffic of admitted sources goes to the port, that of others is dropped and counted, and
// everything else stays the kernel's.
//
// How DPDK's driver comes to use it: the driver (22.11) loads an object file, attaches what it
// finds there and puts its sockets into the map xsks_map. The attachment outlives the process, so
// the driver gets a copy of the program that does nothing (its settings are all zero), and once its
// sockets are open
//
//   xdp_prepare()  makes the copy, before the device
//   xdp_steer()    takes the driver's map over into a program of our own, detaches the copy, and
//                  attaches ours by a BPF link
//
// The link is held open by this process alone and nothing is pinned: however the process ends, the
// kernel detaches the program. A process that is killed between the two steps leaves its copy
// attached; the next xdp_prepare() recognises and removes it, if it may read the names of programs
// (CAP_SYS_ADMIN).
//
// Threads: prepare, steer, explain and close: control thread. Everything else: any.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "port/settings.h"
#include "xdp/evb_steer.h"

#define XDP_ERROR_SIZE  512
#define XDP_REPORT_SIZE 256

// What a port receives.
struct xdp_rules {
	const struct port_traffic *traffic; // all its sources are admitted, from any address
	uint32_t own_address;  // IPv4, host order, 0: none; ARP and ICMP for it are evb's
	bool has_own_address6; // neighbour discovery and ICMPv6 for it are evb's
	uint8_t own_address6[16];
	uint32_t largest_frame; // bytes that the port's buffers have room for
};

struct xdp_counters {
	struct steer_counter causes[STEER_N_CAUSES];
	uint64_t ring_full; // redirected packets that the sockets' rings had no room for
};

struct xdp;

// Adds the port's own addresses, except those that the kernel has on the interface: for these the
// kernel answers.
void xdp_rules_add_addresses(struct xdp_rules *rules, const struct port_settings *port);

// Prepares the interface. Returns 0, or -1 with one line in error[XDP_ERROR_SIZE].
int xdp_prepare(struct xdp **xdp, const char *port, const char *interface, char *error);

// The object file for the driver's argument xdp_prog. Valid until xdp_close().
const char *xdp_program_path(const struct xdp *xdp);

// Takes the steering over from the driver, whose sockets are in place. Returns as xdp_prepare().
int xdp_steer(struct xdp *xdp, const struct xdp_rules *rules, char *error);

// Where the driver refused: tries what it tried, and writes what the kernel says against it, or
// what could be the cause, into text[XDP_ERROR_SIZE].
void xdp_explain(const struct xdp *xdp, char *text);

// One line: mode of the program, mode of the sockets, and what to look at.
const char *xdp_report(const struct xdp *xdp);

// "native", "generic" or "offloaded"; "none" if the program is not attached.
const char *xdp_mode(const struct xdp *xdp);

// Whether the sockets share their memory with the driver of the interface.
bool xdp_is_zero_copy(const struct xdp *xdp);

// Detaches the program and frees. Does nothing to NULL. To be called before the device is closed.
void xdp_close(struct xdp *xdp);

// Live changes, effective with the next packet. Return 0, or a negative errno: -EEXIST if admitted
// already, -ENOENT if refused already, -E2BIG if there are too many. Refusing a source forgets
// its counters. Addresses are in host order; while none is listed, all are admitted.
int xdp_admit_source(struct xdp *xdp, uint16_t id);
int xdp_refuse_source(struct xdp *xdp, uint16_t id);
int xdp_admit_address(struct xdp *xdp, uint32_t address);
int xdp_refuse_address(struct xdp *xdp, uint32_t address);

// Counters since the start. They return false if memory ran out, or the source is not admitted.
bool xdp_counters(const struct xdp *xdp, struct xdp_counters *counters);
bool xdp_source_counter(const struct xdp *xdp, uint16_t id, struct steer_counter *counter);

// Packets that the port lost: redirected without room in the rings, too long, or on a queue that
// nobody reads.
uint64_t xdp_missed(const struct xdp *xdp);

struct xdp_stranger {
	uint32_t address; // IPv4, host order; 0: not IPv4
	uint32_t id;      // of the source; STEER_NO_ID: refused by its address
	uint64_t packets;
};

// Who was refused lately, at most `most` of them; returns how many.
unsigned xdp_strangers(const struct xdp *xdp, struct xdp_stranger *strangers, unsigned most);
