// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Steering: evb's BPF program (pmd-config/xdp/evb_steer.bpf.c) selects the packets of an AF_XDP
// port. It redirects event traffic of admitted sources to the port, drops and counts event traffic
// of other sources, and passes all other packets to the kernel.
//
// DPDK's driver (22.11) loads an object file, attaches the program in it to the interface, and
// stores its sockets in the map xsks_map. This attachment would remain after the process ended, so
// evb uses two copies of the program:
//
//   xdp_prepare()  makes a copy for the driver, before the device is created. Its settings are all
//                  zero, so it passes all packets to the kernel.
//   xdp_steer()    is called when the driver's sockets are open. It loads evb's own copy with the
//                  driver's map, detaches the driver's copy, and attaches its own by a BPF link.
//
// Only this process has the BPF link open, and nothing is pinned, so the kernel detaches the
// program whenever the process ends. A process that is killed between the two steps leaves the
// driver's copy attached. The next xdp_prepare() recognises and removes it, if the process may read
// the names of programs (CAP_SYS_ADMIN).
//
// Threads: prepare, steer, explain and close: control thread. All other functions: any thread, from
// xdp_steer() on.
#pragma once

#include <net/if.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "port/settings.h"
#include "xdp/evb_steer.h"

#define XDP_ERROR_SIZE  512
#define XDP_REPORT_SIZE 256

// What a port receives.
struct xdp_rules {
	const struct port_traffic *traffic; // its sources are admitted, from any address
	uint32_t own_address;  // IPv4, host order; 0: none; evb receives ARP and ICMP for it
	bool has_own_address6; // evb receives neighbour discovery and ICMPv6 for it
	uint8_t own_address6[16];
	uint32_t largest_frame; // bytes for which the port's buffers have room
};

struct xdp_counters {
	struct steer_counter causes[STEER_N_CAUSES];
	uint64_t ring_full; // redirected packets that were lost because a socket's ring was full
};

struct bpf_link;
struct evb_steer;

// Others than xdp.c and xdp_maps.c read only the first four members.
struct xdp {
	char port[EVB_NAME_SIZE];
	char object_path[32];         // the object file for the driver's argument xdp_prog
	char report[XDP_REPORT_SIZE]; // one line: modes of the program and of the sockets, and
				      // advice
	bool zero_copy;               // the sockets share their memory with the interface's driver
	char interface[IF_NAMESIZE];
	int index; // of the interface
	int object_file;
	int *before; // open_descriptors() before the driver opened its own
	int sockets[STEER_MAX_QUEUES];
	unsigned n_sockets;
	int driver_map; // the driver's xsks_map, which the driver closes; -1: not found yet
	struct evb_steer *program;
	struct bpf_link *link;

	// Descriptors of the maps, -1 before xdp_steer().
	int settings_map, sources_map, addresses_map, causes_map, strangers_map;
	unsigned n_cpus;
	pthread_mutex_t lock; // protects the next two, which several threads may change
	struct steer_settings settings;
	unsigned n_addresses;
};

// Prepares the interface. Returns 0, or -1 with one line in error[XDP_ERROR_SIZE].
int xdp_prepare(struct xdp **xdp, const char *port, const char *interface, char *error);

// Attaches evb's program in the place of the driver's copy, and registers the port for the commands
// of xdp_telemetry.h. The driver's sockets are open. Returns as xdp_prepare().
int xdp_steer(struct xdp *xdp, const struct xdp_rules *rules, char *error);

// Writes settings and sources into the maps of the loaded program. Returns 0, or a negative errno.
int xdp_maps_fill(struct xdp *xdp, const struct xdp_rules *rules);

// Repeats the steps of a driver that failed, and writes the kernel's reason, or the probable cause,
// into text[XDP_ERROR_SIZE].
void xdp_explain(const struct xdp *xdp, char *text);

// "native", "generic" or "offloaded"; "none" if the program is not attached.
const char *xdp_mode(const struct xdp *xdp);

// Detaches the program and frees *xdp. Does nothing if xdp is NULL. To be called before the device
// is closed.
void xdp_close(struct xdp *xdp);

// Changes while the port runs, effective with the next packet; admit: false refuses. Return 0, or a
// negative errno: -EEXIST if admitted already, -ENOENT if refused already, -E2BIG if there are too
// many. Refusing a source deletes its counters. Addresses are in host order. While the list of
// admitted addresses is empty, all addresses are admitted.
int xdp_change_source(struct xdp *xdp, uint16_t id, bool admit);
int xdp_change_address(struct xdp *xdp, uint32_t address, bool admit);

// Counters since the start. They return false if memory ran out, or the source is not admitted.
bool xdp_counters(const struct xdp *xdp, struct xdp_counters *counters);
bool xdp_source_counter(const struct xdp *xdp, uint16_t id, struct steer_counter *counter);

// Lost packets: redirected to a full ring, too long, or received on a queue that evb does not read.
static inline uint64_t xdp_missed(const struct xdp_counters *counters)
{
	return counters->ring_full + counters->causes[STEER_TOO_LONG].packets +
	       counters->causes[STEER_NO_SOCKET].packets;
}

struct xdp_stranger {
	uint32_t address; // IPv4, host order; 0: not IPv4
	uint32_t id;      // of the source; STEER_NO_ID: refused by its address
	uint64_t packets;
};

// Fills in the senders that were refused most recently, at most `most`. Returns their number.
unsigned xdp_strangers(const struct xdp *xdp, struct xdp_stranger *strangers, unsigned most);
