// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A source role on a ring port, and a receiver that puts its blocks together again.
#pragma once

#include "testbed.h"

#include "source/source_set.h"
#include "tx/block_packets.h"
#include "tx/source_role.h"

#define SOURCE_BLOCKS 2048 // most that the receiver can hold

// A block as it has come: each byte exactly once, or the test fails.
struct received_block {
	uint64_t event_id;
	uint16_t source_id;
	uint32_t length;
	uint32_t have;
	uint8_t *bytes;
	uint64_t last_seen; // number of the packet that completed it
};

struct source_bench {
	struct config *config;
	struct testbed_port wire;
	struct source_set *set;
	struct block_store *store;
	struct rte_mempool *headers, *payloads;
	struct source_parameters parameters;
	struct role *role;
	uint64_t now;
	bool tolerates_copies; // duplicates are no failure, and counted
	uint64_t n_copies;
	struct received_block *blocks; // in the order of their first packets
	unsigned n_blocks;
	uint64_t n_packets;
	uint32_t longest; // packet
};

// Sources 1 to 4, packing 3, fragments of 100 bytes, 2 variants, MTU 300, 64 entries on the ring.
// `generator`: further keys of the generator, as ", \"key\": ..."; `extra`: of the configuration.
void source_open(struct source_bench *bench, const char *generator, const char *extra);
// Checks that no mbuf is lost.
void source_close(struct source_bench *bench);

// Receives what is there; returns how many packets.
unsigned source_receive(struct source_bench *bench);
// Polls and receives until the role has finished.
void source_run(struct source_bench *bench);

// The block of an event (by index) and a source (by id), NULL if nothing came of it.
const struct received_block *source_find(const struct source_bench *bench, uint64_t event_id,
					 uint16_t source_id);
// Asserts that it came whole and is what the set holds.
void source_assert_block(const struct source_bench *bench, uint64_t event, uint16_t source_id);
// Asserts that an end-of-run block came of it.
void source_assert_end(const struct source_bench *bench, uint16_t source_id);
