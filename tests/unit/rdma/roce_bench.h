// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An rx role with a RoCE endpoint on a ring port, and two builders' links behind it.
// The test is the peer: what it sends on tx queue 0 the role receives, and what the role answers on
// tx queue 1 the test receives.
#pragma once

#include "testbed.h"

#include "packet/segment_mbuf.h"
#include "pipeline/link.h"
#include "rdma/roce_handler.h"
#include "rdma/roce_port.h"
#include "rx/rx_role.h"

#define BENCH_BUILDERS 2
#define BENCH_DEPTH    256
#define BENCH_MTU      9000
#define BENCH_OWN_IP   0x0A4D0002u // 10.77.0.2
#define BENCH_PEER_IP  0x0A4D0001u // 10.77.0.1
#define BENCH_MFP_MOST 20000u

// Static queue pairs that roce_bench_open() makes; all from BENCH_PEER_IP, first PSNs below, the
// peer's number is ours + 0x1000.
#define BENCH_RC      0x11u
#define BENCH_UC      0x12u
#define BENCH_UD      0x13u
#define BENCH_PSN     0xFFFFFEu // the peer's first: it wraps at once
#define BENCH_RKEY    0xABCD01u
#define BENCH_ADDRESS 0x200000u
#define BENCH_SIZE    16384u // of the region, for WRITE, of RC and UC
#define BENCH_QKEY    0x11111111u

struct roce_bench {
	struct config *config;
	struct testbed_port wire;
	struct source_table *sources;
	struct link *links[BENCH_BUILDERS];
	struct roce_slots *slots;
	struct roce_slots_state told[BENCH_BUILDERS]; // by the builders
	struct rte_mempool *pool, *answers;
	struct roce_port *roce;
	struct roce_handler handler;
	struct role *role;
	uint64_t now; // TSC
	uint32_t peer_ip;
	uint32_t piece; // bytes of each buffer that frames are cut into
	uint16_t vlan_tci;
	uint8_t dscp_ecn;
	bool ipv6;
	bool bad_icrc;
};

// Path MTU 1024, an ACK for each request for one, packing 4, sources 1 to 8, of which 8 is not
// expected; slots of 16 KiB, and BENCH_SLOTS of them. `roce`: further keys of "roce", as ",
// \"icrc\": \"ignore\"". With "connection" among them there are no static queue pairs.
void roce_bench_open(struct roce_bench *bench, const char *roce);
// The same with further keys of the configuration, as ", \"events\": {...}".
void roce_bench_open_with(struct roce_bench *bench, const char *roce, const char *more);
// Checks that each packet counts once, and that no mbuf is lost.
void roce_bench_close(struct roce_bench *bench);

// A packet of the peer: header with opcode, PSN and what else its opcode needs; padding and ICRC
// are added.
void roce_bench_frame(const struct roce_bench *bench, struct frame *frame,
		      const struct roce_packet *header, const uint8_t *payload, uint32_t size);
// The same, and lets the role poll once.
void roce_bench_feed(struct roce_bench *bench, const struct roce_packet *header,
		     const uint8_t *payload, uint32_t size);
// Feeds any frame.
void roce_bench_feed_frame(struct roce_bench *bench, const struct frame *frame);
// Lets the role poll once, `ms` milliseconds later.
void roce_bench_wait(struct roce_bench *bench, unsigned ms);

// A message of the peer in packets of the path MTU, asking for one ACK at the end; *psn goes on.
struct bench_message {
	uint32_t qpn;
	uint64_t address; // WRITE
	uint32_t rkey;
	uint32_t dma_length; // WRITE: 0: as many as there are
	bool is_write, is_uc, has_immediate;
};
void roce_bench_send(struct roce_bench *bench, const struct bench_message *message,
		     const uint8_t *bytes, uint32_t size, uint32_t *psn);

// An MFP of `size` bytes whose header is right.
void roce_bench_mfp(uint8_t *bytes, uint32_t size, uint64_t event_id, uint16_t source);
// Takes the segments that must be in one link, and asserts that they are, in order, the whole of
// this MFP.
void roce_bench_take_mfp(struct roce_bench *bench, const uint8_t *bytes, uint32_t size);
// No segment may be anywhere.
void roce_bench_take_none(struct roce_bench *bench);

// The next packet that the role has sent, with right addresses and a right ICRC; the payload, if
// asked for, has room for 256 bytes. False if there is none.
bool roce_bench_answer(struct roce_bench *bench, struct roce_packet *packet, uint8_t *payload);
void roce_bench_expect_answer(struct roce_bench *bench, uint32_t qpn, uint8_t syndrome,
			      uint32_t psn);
void roce_bench_expect_silence(struct roce_bench *bench);

// The queue pair of a number; the test fails if there is none.
struct queue_pair roce_bench_qp(const struct roce_bench *bench, uint32_t qpn);

static inline const struct roce_port_counters *roce_of(const struct roce_bench *bench)
{
	return roce_port_counters(bench->roce);
}

static inline const struct rx_counters *rx_of_bench(const struct roce_bench *bench)
{
	return rx_role_counters(bench->role);
}
