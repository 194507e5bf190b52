// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the tests of the connection manager share: two hosts that have one, and what goes between
// them.
#pragma once

#include "base/random.h"
#include "conversation.h"
#include "roce/connection.h"

#define PORT     7174
#define TIMEOUT  1000000u // ns until a message is sent again
#define PATIENCE 5000000u // ns until the caller has answered
#define RETRIES  3u
#define SILENCE  50000000u  // ns until a peer may replace its connection
#define IDLE     500000000u // ns until others may take its place

// One that has a connection manager.
struct host {
	struct qp_table table;
	struct cm *cm;
	struct qp_address address;
	struct cm_event event;
};

extern struct host passive, active;
extern uint64_t now;
extern const struct cm_acceptance acceptance; // that the passive one accepts with

void open_host(struct host *host, uint32_t ip, uint16_t n_ports);
int open_hosts(void **state);
int close_hosts(void **state);
// What a datagram says. It must cross the wire as bytes.
struct roce_cm message_of(const struct cm_datagram *datagram);
void deliver(struct host *to, const struct host *from, const struct cm_datagram *datagram);
// The next message of a host, which must be this one.
struct cm_datagram expect_message(struct host *host, enum roce_cm_attribute attribute);
void expect_no_message(struct host *host);
void expect_event(struct host *host, enum cm_event_kind kind);
void expect_no_event(struct host *host);
// Has messages cross until there are none. `loss`: probability of each.
void exchange(struct random *random, double loss);
struct cm_destination destination(uint16_t port);
uint32_t connect_active(void);
// Both ends of an established connection: their ids in ids[0] (active) and ids[1].
void establish(uint32_t ids[2]);
