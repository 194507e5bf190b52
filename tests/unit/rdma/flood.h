// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The peer of test_mutations: queue pairs that send MFPs, connect, fail and connect anew, and
// before whatever it sends damaged copies of it.
#pragma once

#include "built.h"

#include "base/random.h"
#include "roce/connection.h"
#include "wire/mfp.h"

#define FLOOD_LANES    10u
#define FLOOD_SOURCES  7u
#define FLOOD_PACKING  4u
#define FLOOD_MFP_MOST 1900u
#define FLOOD_PATIENCE 100000u // polls

enum kind { BY_CM, BY_FILE, BY_BOARD };

// A queue pair of the peer's and the MFP that it is sending.
struct lane {
	uint32_t qpn; // the endpoint's number, 0: not connected
	uint32_t connection;
	enum roce_service service;
	uint16_t source;
	uint32_t rkey;
	uint64_t address;
	bool is_new, is_write, has_immediate, is_ipv6;
	uint64_t event; // id
	uint32_t first_psn, size;
	uint8_t bytes[FLOOD_MFP_MOST];
};

struct flood {
	enum kind kind;
	struct roce_bench bench;
	struct built built;
	struct qp_table table; // the peer's
	struct cm *cm;
	struct lane lanes[FLOOD_LANES];
	struct random random;
	uint64_t newest; // event id
	uint64_t mutations, fed;
	bool is_calm;
	uint64_t calm_from, calm_exact;
};

// One for all rounds: `random` goes on.
extern struct flood flood;

uint32_t flood_below(uint32_t n);
bool flood_one_in(uint32_t n);
void flood_pass_time(unsigned us);

// The MFP of the lane's source and event, whose bytes follow from these.
void flood_make_mfp(struct lane *lane);
// The queue pair of the endpoint that the lane sends to. False if it is not there.
bool flood_find_qp(const struct lane *lane, struct queue_pair *qp);

// Makes lanes that are not connected, or as the configuration of the bench has them; and the
// manager of connections.
void flood_make_lanes(void);
void flood_make_cm(void);
void flood_forget_peer(void);

// Has a lane send one packet, or connect; lets everything poll, and takes what is answered.
void flood_step(unsigned number);
void flood_take_answers(void);
