// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A readout's RoCE on a ring port, and the RoCE endpoints of two builder nodes at the other end:
// node "b" with builder 0 of the system, node "c" with builders 1 and 2. Time is the bench's.
#pragma once

#include "testbed.h"

#include "pipeline/link.h"
#include "rdma/readout_roce.h"
#include "rdma/roce_port.h"

#define BENCH_PEERS    2u
#define BENCH_BUILDERS 3u
#define BENCH_SOURCES  3u
#define BENCH_EVENTS   256u // indices that the bench keeps account of
#define BENCH_SLOTS    8u
#define BENCH_PACKING  20u
#define BENCH_ADDRESS  0x10000u
#define BENCH_STRIDE   0x20000u
#define BENCH_SLOT     0x10000u

// What has come of an event at a builder.
struct bench_arrival {
	uint32_t bytes[BENCH_SOURCES]; // those that came again included
};

struct bench_peer {
	struct config *config;
	struct roce_port *port; // NULL: the node's process is dead
	struct placement placements[2];
	struct mailbox offers; // of roce.operation `read`
	unsigned first_builder, n_builders;
};

struct readout_bench {
	struct config *config; // of the readout's node
	struct testbed_port wire;
	struct source_set *set;
	struct block_store *store;
	struct rte_mempool *headers, *payloads, *answers, *copies;
	struct block_packets packets, expected;
	struct sender sender;
	struct neighbours neighbours;
	struct link *responses;
	struct readout_roce *roce;
	struct source_table *sources;
	struct roce_slots *slots;
	uint32_t free_slots; // of each builder
	struct bench_peer peers[BENCH_PEERS];
	struct bench_arrival (*arrivals)[BENCH_EVENTS]; // by builder
	uint64_t now;                                   // TSC
	unsigned lose_one_in;                           // frames, drawn, both ways; 0: none
	uint64_t random;
	uint32_t life; // of the peers' processes: each has other keys
};

// roce: further keys of "roce", as ", \"operation\": \"write\"". Connections are there when it
// returns.
void readout_bench_open(struct readout_bench *bench, const char *roce);
// Checks that no mbuf is lost.
void readout_bench_close(struct readout_bench *bench);

// Another process of the readout.
void readout_bench_restart(struct readout_bench *bench);
void readout_bench_kill(struct readout_bench *bench, unsigned peer);
void readout_bench_revive(struct readout_bench *bench, unsigned peer);

// Everybody does what there is to do, for so long.
void readout_bench_run(struct readout_bench *bench, unsigned ms);

// An event is granted, and posted; false if there is no room.
bool readout_bench_grant(struct readout_bench *bench, uint64_t event, unsigned builder,
			 unsigned attempt);
// The same with a place: a slot of the builder.
bool readout_bench_grant_slot(struct readout_bench *bench, uint64_t event, unsigned builder,
			      unsigned slot);
bool readout_bench_post(struct readout_bench *bench, const struct message *grant);

// A block is offered to a builder, as it lies; source: of those of the readout.
void readout_bench_offer(struct readout_bench *bench, const struct message *message);
struct message readout_bench_place(const struct readout_bench *bench, uint64_t event,
				   unsigned builder, unsigned source);
// All blocks of an event.
void readout_bench_offer_all(struct readout_bench *bench, uint64_t event, unsigned builder);

// All blocks of the event have come to the builder, and nothing of them twice.
void readout_bench_expect(struct readout_bench *bench, uint64_t event, unsigned builder);
// Nothing has.
void readout_bench_expect_nothing(const struct readout_bench *bench, uint64_t event,
				  unsigned builder);

static inline const struct readout_roce_counters *readout_bench_counters(
    const struct readout_bench *bench)
{
	return readout_roce_counters(bench->roce);
}
