// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sets up a DPDK port from its profile and its settings: device arguments, queues, descriptors,
// MTU, size of mbufs, offloads and link. Control thread, unless stated otherwise.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>
#include <rte_ring.h>

#include "base/error_line.h"
#include "port/driver_sockets.h"
#include "port/profile.h"
#include "port/vlan.h"

#define PORT_ERROR_SIZE  512
#define PORT_REPORT_SIZE 512
#define PORT_MAX_QUEUES  64

struct af_xdp;

struct port_parameters {
	const struct port_settings *config;
	const struct profile *profile;
	const struct port_traffic *traffic; // NULL: the port is not for event traffic
	uint16_t n_rx_queues;               // >= 1
	uint16_t n_tx_queues;               // >= 1
	uint32_t pool_mbufs;                // of the receive pool
	uint32_t pool_cache;                // mbufs that each lcore may cache
};

struct port {
	uint16_t id; // DPDK's
	int numa_node;
	uint16_t n_rx_queues, n_tx_queues;
	uint8_t mac[6];
	bool checksums_in_hardware;
	struct rte_mempool *pool;                // receive buffers
	struct rte_ring *rings[PORT_MAX_QUEUES]; // of a port in memory (ring), by rx queue
	const struct port_settings *config;
	const struct profile *profile;
	struct packet_drops packet_drops;
	int promiscuous;         // socket of a kernel interface in promiscuous mode; -1: none
	struct af_xdp *af_xdp;   // of an AF_XDP port; else NULL
	struct vlan_tagger vlan; // only if the port's settings have a VLAN
	// The control thread writes these two, telemetry threads read them.
	_Atomic uint64_t kernel_drops;
	_Atomic uint32_t pool_lowest;  // smallest number of free mbufs that port_watch() found
	char report[PORT_REPORT_SIZE]; // one line for the operator, or empty
};

// Bytes of a packet for which each mbuf of the port's pool has room: the MTU, the Ethernet header
// and two VLAN tags, or more if the driver needs more.
uint32_t port_buffer_size(const struct profile *profile, uint32_t mtu);

// Bytes of memory of a pool of mbufs that have room for `buffer` bytes of a packet.
uint64_t port_pool_bytes(uint32_t mbufs, uint32_t buffer);

// Creates a pool of mbufs with evb's private area (packet/segment_mbuf.h). NULL if memory ran out
// (rte_errno).
struct rte_mempool *port_pool_create(const char *name, uint32_t mbufs, uint32_t cache,
				     uint32_t buffer, int numa_node);

// Writes to every page of a pool, so that no page fault happens later.
void port_pool_touch(struct rte_mempool *pool);

// Writes the EAL argument for a port on a PCI device, "0000:3b:00.0,argument=value": the address,
// and the device arguments of the profile and of the settings.
void port_pci_device(const struct profile *profile, const struct port_settings *config, char *text,
		     size_t size);

// Writes "port NAME: ", and the text, into error[PORT_ERROR_SIZE]. Returns -1.
#define port_error(error, port, format, ...) \
	error_line(error, PORT_ERROR_SIZE, "port %s: " format, (port)->config->name, ##__VA_ARGS__)

// Creates, configures and starts the port, and waits for its link, at most link_timeout_ns. Returns
// 0, or -1 with one line in error[PORT_ERROR_SIZE].
int port_open(struct port *port, const struct port_parameters *parameters, char *error);

// The rate of the link in bit/s: link_rate of the settings; if that is auto, what the kernel's
// interface reports now, or else a PCI device. 0: unknown. The port is open.
uint64_t port_link_rate(const struct port *port);

// Packets that were lost before evb received them: in the device, because no buffer was free, or in
// the kernel. The kernel's part is that of the last port_watch(). Any thread.
uint64_t port_missed(const struct port *port);

// The kernel's part of port_missed(), which the driver's own counters do not include. Any thread.
static inline uint64_t port_kernel_drops(const struct port *port)
{
	return atomic_load_explicit(&port->kernel_drops, memory_order_relaxed);
}

// Reads the losses that drivers do not count, and the number of free buffers. To be called a few
// times per second.
void port_watch(struct port *port);

// Stops and removes the port, and frees its pool. Mbufs that a port in memory still holds return to
// the pools of their senders, which must still exist.
void port_close(struct port *port);
