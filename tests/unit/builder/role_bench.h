// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A builder role between two links, which the tests feed, and an event ring, which they read.
#pragma once

#include "testbed.h"

#include "builder/builder_role.h"
#include "evring/evb_reader.h"
#include "packet/mailbox.h"

#define SLOTS   4u
#define HEADERS 62u  // bytes in front of the payload
#define SIZE    500u // of each source's block

struct role_bench {
	struct config *config;
	struct source_table *sources;
	struct evring *ring;
	struct evb_reader *reader;
	struct link *links[2];
	struct rte_mempool *pool;
	struct role *role;
	struct mailbox mail[2]; // to and, where events are granted, from the event manager's side
	uint64_t now;
};

// `events`: keys of the configuration's events.
void role_bench_open_for(struct role_bench *bench, const char *events, bool granted);

void role_bench_open(struct role_bench *bench, const char *events);

void role_bench_close(struct role_bench *bench);

// The byte of a source's block.
uint8_t pattern(uint64_t event_id, unsigned source, uint32_t at);

// Puts a segment of a block into a link, its packet in pieces of at most `piece` bytes.
void feed(struct role_bench *bench, unsigned link, uint64_t event_id, unsigned source,
	  uint32_t offset, uint32_t size, uint32_t piece);

void feed_block(struct role_bench *bench, uint64_t event_id, unsigned source);

void feed_event(struct role_bench *bench, uint64_t event_id);

unsigned role_bench_poll(struct role_bench *bench);

const struct assembly_counters *counters(const struct role_bench *bench);

// The next event, which must be there.
struct evb_event take(struct role_bench *bench, uint64_t event_id);

void assert_block(const struct evb_event *event, unsigned source);

void take_complete(struct role_bench *bench, uint64_t event_id);

void take_none(struct role_bench *bench);
