// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the tests of the requester share: one requester, what it has sent, and answers to it.
#pragma once

#include "rig.h"

extern struct rig rig;
extern struct requester_packet sent; // last

int open_rig(void **state);
int close_rig(void **state);
void reopen(const struct rig_options *options);
struct requester_message make_message(uint8_t operation, uint32_t length, uint64_t user);
void post(uint8_t operation, uint32_t length, uint64_t user);
// The next packet: its opcode, its PSN from our first one, AckReq.
void expect_sent(uint8_t opcode, uint32_t number, bool ack_request);
void expect_nothing(void);
// An answer to the packet with this number.
enum requester_verdict answer(uint8_t syndrome, uint32_t number);
void acknowledge(uint32_t number);
struct roce_packet make_data(uint8_t opcode, uint32_t number, uint32_t size);
enum requester_verdict give_data(uint8_t opcode, uint32_t number, uint32_t size);
void expect_completion(uint64_t user, enum qp_cause cause);
void expect_no_completion(void);
uint64_t timeout(void);
