// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A ring of control frames in shared memory, from one process to another: it stands for a network
// that loses nothing and costs one copy per frame. One producer, one consumer.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FRAME_RING_SIZE (4u << 20) // bytes, a power of two

struct frame_ring_entry {
	uint32_t size; // of the frame; 0: the ring continues at its beginning
	uint32_t node; // the other end: the receiver or the sender among the played nodes
	uint8_t bytes[];
};

struct frame_ring {
	_Alignas(64) _Atomic uint64_t taken; // bytes; written by the consumer
	_Alignas(64) _Atomic uint64_t put;   // written by the producer
	_Alignas(64) uint8_t bytes[FRAME_RING_SIZE];
};

// False if the ring is full.
static inline bool frame_ring_put(struct frame_ring *ring, uint32_t node, const void *bytes,
				  uint32_t size)
{
	const uint32_t need = (uint32_t)sizeof(struct frame_ring_entry) + (size + 7) / 8 * 8;
	uint64_t put = atomic_load_explicit(&ring->put, memory_order_relaxed);
	const uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_acquire);
	const uint32_t at = (uint32_t)put & (FRAME_RING_SIZE - 1), left = FRAME_RING_SIZE - at;
	struct frame_ring_entry *entry = (struct frame_ring_entry *)(ring->bytes + at);

	if (put + need + (left < need ? left : 0) - taken > FRAME_RING_SIZE)
		return false;
	if (left < need) {
		entry->size = 0;
		put += left;
		entry = (struct frame_ring_entry *)ring->bytes;
	}
	entry->size = size;
	entry->node = node;
	memcpy(entry->bytes, bytes, size);
	atomic_store_explicit(&ring->put, put + need, memory_order_release);
	return true;
}

// The oldest frame, until frame_ring_pop(); NULL: none.
static inline const struct frame_ring_entry *frame_ring_front(struct frame_ring *ring)
{
	uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
	const struct frame_ring_entry *entry;

	if (taken == atomic_load_explicit(&ring->put, memory_order_acquire))
		return NULL;
	entry = (const struct frame_ring_entry *)(ring->bytes + (taken & (FRAME_RING_SIZE - 1)));
	if (entry->size > 0)
		return entry;
	taken += FRAME_RING_SIZE - (taken & (FRAME_RING_SIZE - 1));
	atomic_store_explicit(&ring->taken, taken, memory_order_release);
	return (const struct frame_ring_entry *)ring->bytes;
}

static inline void frame_ring_pop(struct frame_ring *ring, const struct frame_ring_entry *entry)
{
	const uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);

	atomic_store_explicit(&ring->taken, taken + sizeof(*entry) + (entry->size + 7) / 8 * 8,
			      memory_order_release);
}
