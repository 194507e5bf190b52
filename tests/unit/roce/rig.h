// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the tests of lib/roce share: an endpoint (queue pairs, regions, responder, requester), and
// one queue pair of it that is driven packet by packet.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "roce/requester.h"
#include "roce/responder.h"

#define RIG_QPN       0x1234u
#define RIG_PEER_QPN  0xABCDEFu
#define RIG_PEER_IP   0x0A4D0002u // 10.77.0.2
#define RIG_QKEY      0x11111111u
#define RIG_MTU       1024u
#define RIG_MEMORY    65536u
#define RIG_GUARD     4096u // bytes in front of the region's memory and behind it
#define RIG_CANARY    0xC5u
#define RIG_ADDRESS   0x7F0000001000ull
#define RIG_START_PSN 0xFFFFF0u // the peer's first
#define RIG_LOCAL_PSN 0xFFFFF8u // ours

struct rig {
	struct qp_table table;
	struct region region;
	struct region_table regions;
	struct responder *responder;
	struct requester *requester;
	struct queue_pair *qp;
	struct qp_address peer;
	uint8_t guarded[RIG_GUARD + RIG_MEMORY + RIG_GUARD];
	uint8_t *memory; // of the region, in guarded
	uint32_t rkey;   // of the region, which may be written and read
	uint64_t now;

	// Of the last request or response.
	bool congested;
	struct responder_delivery delivery;
	struct responder_reply reply;
	struct requester_data data;
};

struct rig_options {
	enum roce_service service;
	uint16_t ack_every;
	uint8_t access;
	uint8_t max_reads;
	uint8_t rnr_retry; // ours
	uint8_t retry_count;
	uint64_t cnp_interval;
	bool like_rxe;
	bool without_regions;
	uint32_t window, ack_interval;
	uint32_t peer_psn;
};

// RC, an ACK for each request for one, WRITE and READ allowed.
extern const struct rig_options rig_standard;

void rig_open(struct rig *rig, const struct rig_options *options);
// Checks the guards and the account of packets, too.
void rig_close(struct rig *rig);

// A request of the peer, with right padding and without AckReq.
struct roce_packet rig_request(const struct rig *rig, uint8_t opcode, uint32_t psn, uint32_t size);

// A response of the peer.
struct roce_packet rig_response(const struct rig *rig, uint8_t opcode, uint32_t psn,
				uint8_t syndrome);

// Gives a request to the responder, without accepting what it delivers.
enum responder_verdict rig_check(struct rig *rig, const struct roce_packet *packet);
// The same, and accepts.
enum responder_verdict rig_give(struct rig *rig, const struct roce_packet *packet);

// Gives one that is to be delivered and accepted; with AckReq.
void rig_deliver(struct rig *rig, uint8_t opcode, uint32_t psn, uint32_t size);
// Gives one that is to be dropped for this cause.
void rig_drop(struct rig *rig, const struct roce_packet *packet, enum qp_drop cause);

// What the last request was answered with.
void rig_expect_ack(const struct rig *rig, uint32_t psn, uint32_t msn);
void rig_expect_nak(const struct rig *rig, uint8_t syndrome, uint32_t psn);
void rig_expect_silence(const struct rig *rig);
// What responder_poll() gives next.
void rig_expect_poll(struct rig *rig, uint8_t opcode, uint32_t psn);
void rig_expect_no_poll(struct rig *rig);

static inline uint32_t psn_of(uint32_t offset)
{
	return roce_psn_add(RIG_START_PSN, offset);
}

static inline uint32_t local_psn(uint32_t offset)
{
	return roce_psn_add(RIG_LOCAL_PSN, offset);
}
