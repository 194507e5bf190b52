// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// DPDK without hugepages, network cards or root, and ring ports: what the tests of the pipeline
// share. Everything is done in one thread, one poll at a time.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_mbuf.h>

#include "config/config.h"
#include "pipeline/role.h"
#include "port/port.h"

// Group set-up and tear-down: DPDK's environment with one lcore, and a directory of the tests' own
// that nothing is left of afterwards.
int testbed_start(void **state);
int testbed_stop(void **state);

const char *testbed_directory(void);

// A configuration, or the failure of the test with its error. Freed with config_free().
struct config *testbed_config(const char *text);

// An open port of a configuration. What is sent on tx queue i of a ring port, rx queue
// i mod n_rx receives.
struct testbed_port {
	struct profile profile;
	struct port port;
};
void testbed_open_port(struct testbed_port *port, const struct port_settings *config,
		       uint16_t n_rx_queues, uint16_t n_tx_queues);

// A pool of `n` mbufs with room for `room` bytes, no cache, so that rte_mempool_avail_count()
// tells leaks.
struct rte_mempool *testbed_pool(const char *name, uint32_t n, uint32_t room);

// A packet's bytes on the way to become an mbuf.
struct frame {
	uint32_t length;
	uint8_t bytes[9200];
};

struct frame_segment {
	uint64_t event_id;
	uint16_t source_id;
	uint32_t offset;
	uint32_t length;      // of the block
	const uint8_t *bytes; // of the segment
	uint32_t size;
	uint16_t port; // UDP destination, 0: 19522
	uint16_t vlan_tci;
	bool load_balancer_header;
};

#define FRAME_SOURCE_IP      0x0a000001u // 10.0.0.1
#define FRAME_DESTINATION_IP 0x0a000002u
extern const uint8_t frame_source_mac[6];

// Ethernet, IPv4 and UDP, without UDP checksum; or Ethernet alone.
void frame_udp(struct frame *frame, const struct frame_segment *segment);
void frame_ethernet(struct frame *frame, const struct frame_segment *segment);
// Fills the UDP checksum in.
void frame_set_udp_checksum(struct frame *frame);
// From hexadecimal text.
void frame_from_hex(struct frame *frame, const char *text);

// An mbuf with these bytes, cut into pieces of at most `piece` bytes that are chained.
struct rte_mbuf *frame_to_mbuf(const struct frame *frame, struct rte_mempool *pool, uint32_t piece);

// Sends on a port, which must take it.
void frame_send(const struct frame *frame, struct rte_mempool *pool, uint32_t piece, uint16_t port,
		uint16_t queue);

// Polls a role once.
unsigned role_poll(struct role *role, uint64_t now);
