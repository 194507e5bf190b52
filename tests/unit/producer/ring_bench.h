// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A producer ring in a directory of its own: what the tests of producer rings share.
#pragma once

#include "../evring/bench.h"

#include <producer/evb_producer.h>
#include <producer/producer_layout.h>
#include <producer/producer_ring.h>

#define RING_NAME    "input"
#define RING_BLOCKS  16u
#define RING_SIZE    (64u << 10) // bytes of room
#define RING_LARGEST (8u << 10)  // bytes of a block
#define RING_SOURCES 3u

struct ring_bench {
	struct bench files; // only its directory and error
	struct producer_ring *ring;
};

extern const uint16_t ring_source_ids[RING_SOURCES];

// Parameters of the ring in the bench's directory.
struct producer_ring_parameters ring_parameters(const struct ring_bench *bench);

// Directory and ring; packing 0.
void ring_bench_open(struct ring_bench *bench);
void ring_bench_close(struct ring_bench *bench);

// The same, with a producer.
struct evb_producer *ring_bench_begin(struct ring_bench *bench);
void ring_bench_end(struct ring_bench *bench, struct evb_producer *producer);

// Opens the ring with these parameters, which must succeed.
void ring_open(struct ring_bench *bench, const struct producer_ring_parameters *parameters);

// Opens a producer, which must succeed.
struct evb_producer *ring_producer(const struct ring_bench *bench, bool checked);

// Fills a block with a pattern that depends on source and event, and checks it.
void ring_fill(void *block, size_t length, uint16_t source, uint64_t event_id);
bool ring_is_right(const struct producer_block *block);

// Reserves, fills and commits a block. Returns 0 or the error of reserving; a commit must succeed.
int ring_put(struct evb_producer *producer, uint16_t source, uint64_t event_id, size_t length);

// Takes one block, which must be there, with these properties and the right bytes.
struct producer_block ring_take(struct ring_bench *bench, uint16_t source, uint64_t event_id);
void ring_take_none(struct ring_bench *bench);
