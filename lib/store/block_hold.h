// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A hold counts the blocks in a piece of memory which is used again, and the packets that point
// into it. The memory may be overwritten only when both are gone: a packet outlives its event in
// the queue of a port, in a link to a builder, or as a retransmission.
//
// Threads: one lcore takes; any lcore that frees packets returns. The two counts lie in two cache
// lines, so that lcores that free do not slow down the one that sends.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BLOCK_HOLD_LINE 64

struct block_hold {
	_Alignas(BLOCK_HOLD_LINE) uint64_t taken;    // packets made
	uint64_t blocks;                             // of the memory that a store has
	_Alignas(BLOCK_HOLD_LINE) uint64_t returned; // packets freed
};

// The lcore that sends.
static inline void block_hold_take(struct block_hold *hold)
{
	hold->taken++;
}

// Any thread.
static inline void block_hold_return(struct block_hold *hold)
{
	(void)__atomic_fetch_add(&hold->returned, 1, __ATOMIC_RELEASE);
}

// Whether the memory may be overwritten. The lcore that sends.
static inline bool block_hold_is_free(const struct block_hold *hold)
{
	return hold->blocks == 0 &&
	       hold->taken == __atomic_load_n(&hold->returned, __ATOMIC_ACQUIRE);
}
