// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Two endpoints, each with responder and requester, and a wire between them that loses, repeats and
// delays packets, on a clock of its own. Packets cross it as bytes. Everything that arrives is held
// against what was posted: bytes, order, number.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "roce/requester.h"
#include "roce/responder.h"

#define PAIR_MTU     256u
#define PAIR_LONGEST 2000u // bytes of a message
#define PAIR_DEPTH   16u
#define PAIR_QPS     16u
#define PAIR_MEMORY  (64u << 10) // of each side's region
#define PAIR_GUARD   4096u
#define PAIR_CANARY  0xC5u
#define PAIR_ADDRESS 0x600000000000ull
#define PAIR_FLYING  4096u // packets on the wire at most
#define PAIR_PACKET  512u  // bytes of the longest

struct pair_options {
	double loss, repetition, delay; // probabilities of each packet
	double not_ready;               // of a message that begins at the responder
	double congestion;              // of a packet
	uint16_t ack_every;
	uint32_t window, ack_interval;
	uint8_t retry_count;
	bool like_rxe;
	bool slows_down; // a sender that is notified of congestion
	uint64_t seed;
};

// One that sends on one queue pair: messages of one kind, one after the other.
struct pair_flow {
	enum roce_service service;
	uint8_t operation; // enum requester_operation
	bool with_immediate;
	uint32_t n; // messages

	unsigned from; // 0 or 1: the side that sends
	struct queue_pair *qp, *peer;
	uint32_t posted, completed, arrived;
	uint32_t received; // bytes of the message that is arriving
	uint8_t buffer[PAIR_LONGEST];
	uint8_t reads[PAIR_DEPTH][PAIR_LONGEST];
};

struct pair_side {
	struct qp_table table;
	struct region region;
	struct region_table regions;
	struct responder *responder;
	struct requester *requester;
	struct qp_address address;
	uint8_t guarded[PAIR_GUARD + PAIR_MEMORY + PAIR_GUARD];
	uint8_t *memory;
	uint32_t rkey;
	uint64_t given[PAIR_QPS]; // packets that queue pairs were given, by index
};

struct pair_packet {
	uint64_t arrival;
	uint64_t order;
	unsigned to;
	bool congested;
	uint16_t size;
	uint8_t bytes[PAIR_PACKET];
};

struct pair {
	struct pair_options options;
	struct random random;
	struct pair_side sides[2];
	struct pair_flow *flows;
	unsigned n_flows;
	struct pair_packet *flying;
	unsigned n_flying;
	uint64_t now, order;
	uint64_t sent, lost;
	uint64_t failures; // completions with a cause
	// Called with each packet that is about to be put on the wire, if not NULL.
	void (*tap)(struct pair *pair, struct pair_packet *packet);
	bool unchecked; // mutated packets fly about: what arrives may be anything
};

void pair_open(struct pair *pair, const struct pair_options *options, struct pair_flow *flows,
	       unsigned n_flows);
// Checks guards and accounts too.
void pair_close(struct pair *pair);

// Lets a microsecond pass: posts, sends, delivers. True while something is unfinished.
bool pair_step(struct pair *pair);

// Steps until all is done; fails if that takes too long.
void pair_run(struct pair *pair);

// Byte `i` of message `number` of a flow.
uint8_t pair_byte(const struct pair_flow *flow, uint32_t number, uint32_t i);
uint32_t pair_length(const struct pair_flow *flow, uint32_t number);
