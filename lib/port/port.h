// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Bring-up of a DPDK port from a profile: device arguments, queues, descriptors, MTU and what
// follows from it (mbuf size), offloads, link. Control thread.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mempool.h>
#include <rte_ring.h>

#include "port/packet_drops.h"
#include "port/profile.h"
#include "port/vlan.h"

#define PORT_ERROR_SIZE  512
#define PORT_REPORT_SIZE 512
#define PORT_MAX_QUEUES  64

struct af_xdp;

struct port_parameters {
	const struct port_settings *config;
	const struct profile *profile;
	const struct port_traffic *traffic; // NULL: not known
	uint16_t n_rx_queues;               // >= 1
	uint16_t n_tx_queues;               // >= 1
	uint32_t pool_mbufs;                // of the receive pool
	uint32_t pool_cache;                // mbufs that each lcore may hold
};

struct port {
	uint16_t id; // DPDK's
	int numa_node;
	uint16_t n_rx_queues, n_tx_queues;
	uint8_t mac[6];
	bool checksums_in_hardware;
	struct rte_mempool *pool;                // receive buffers
	struct rte_ring *rings[PORT_MAX_QUEUES]; // of a ring port, by rx queue
	const struct port_settings *config;
	const struct profile *profile;
	struct packet_drops packet_drops;
	struct af_xdp *af_xdp;   // of an AF_XDP port, else NULL
	struct vlan_tagger vlan; // where frames get a tag
	// Control thread: writes; telemetry: reads.
	_Atomic uint64_t kernel_drops;
	_Atomic uint32_t pool_lowest;  // fewest mbufs of the pool that port_watch() saw free
	char report[PORT_REPORT_SIZE]; // one line that an operator should see, or empty
};

// Bytes of packet that each mbuf of the port's pool has room for: the MTU with Ethernet header and
// two VLAN tags, or what the driver needs.
uint32_t port_buffer_size(const struct profile *profile, uint32_t mtu);

// Bytes that a pool of mbufs with room for `buffer` bytes of packet takes.
uint64_t port_pool_bytes(uint32_t mbufs, uint32_t buffer);

// A pool of mbufs with evb's private area. NULL if memory ran out (rte_errno).
struct rte_mempool *port_pool_create(const char *name, uint32_t mbufs, uint32_t cache,
				     uint32_t buffer, int numa_node);

// Writes to every page of a pool, so that no page fault happens later.
void port_pool_touch(struct rte_mempool *pool);

// What the EAL is to probe for a port on a PCI device, "0000:3b:00.0,argument=value": its address
// with the device arguments of profile and configuration.
void port_pci_device(const struct profile *profile, const struct port_settings *config, char *text,
		     size_t size);

// Creates, configures and starts the port, and waits for its link as long as the configuration
// says. Returns 0, or -1 with one line in error[PORT_ERROR_SIZE].
int port_open(struct port *port, const struct port_parameters *parameters, char *error);

// Packets that the port lost before evb saw them: by the device, for want of a buffer, or in the
// kernel. Any thread; as of the last port_watch() for the kernel's.
uint64_t port_missed(const struct port *port);

// The kernel's part of it, which the driver's own counters leave out.
static inline uint64_t port_kernel_drops(const struct port *port)
{
	return atomic_load_explicit(&port->kernel_drops, memory_order_relaxed);
}

// Collects what drivers do not count themselves, and how few buffers are free. To be called now and
// then.
void port_watch(struct port *port);

// Stops and removes the port, and frees its pool. What a ring port still holds goes back to the
// pools of its senders, which must be there yet.
void port_close(struct port *port);
