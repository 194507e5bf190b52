// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An rx role on a ring port with two builders' links, fed and looked at by the test.
//
// The port has two queues: what is sent on tx queue 0 the role receives; it answers on tx queue 1,
// where the test receives.
#pragma once

#include "testbed.h"

#include "packet/segment_mbuf.h"
#include "pipeline/link.h"
#include "rx/rx_role.h"

#define RX_BUILDERS 2
#define RX_DEPTH    64 // of the links

struct rx_bench {
	struct config *config;
	struct testbed_port wire;
	struct source_table *sources;
	struct link *links[RX_BUILDERS];
	struct rx_parameters parameters;
	struct role *role;
	struct rte_mempool *pool;
	uint64_t now;
};

// Sources 1 to 8, of which 8 is not expected; packing 4; UDP ports 19522 to 19525. `extra`: further
// keys of the configuration, as ", \"key\": ..."; `port_extra`: of the port.
void rx_open(struct rx_bench *bench, const char *extra, const char *port_extra);
// Checks that each packet and each segment counts once, and that no mbuf is lost.
void rx_close(struct rx_bench *bench);
// Makes the role again with bench->parameters.
void rx_restart(struct rx_bench *bench);

// Sends a frame in pieces of at most `piece` bytes and lets the role poll once.
void rx_feed(struct rx_bench *bench, const struct frame *frame, uint32_t piece);

// Takes the one segment that must be in a link, and asserts that its payload is `bytes`.
struct segment rx_take(struct rx_bench *bench, unsigned link, const uint8_t *bytes);
// No segment may be anywhere.
void rx_take_none(struct rx_bench *bench);

// Feeds a frame that must count under one cause, and nothing else.
void rx_refuse_packet(struct rx_bench *bench, const struct frame *frame, enum packet_cause cause);
void rx_refuse_segment(struct rx_bench *bench, const struct frame *frame, enum segment_cause cause);

// A segment of 100 bytes at offset 200 of a block of 1000, from source 3, event 4.
struct frame_segment rx_segment(void);

// A frame over IPv6, from fd00:: to fd00::2.
void rx_udp6(struct frame *frame, const struct frame_segment *segment);

static inline const struct rx_counters *rx_counters(const struct rx_bench *bench)
{
	return rx_role_counters(bench->role);
}
