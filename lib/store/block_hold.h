// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A hold counts the packets that point into a piece of memory which is used again. The memory may
// be overwritten only when no such packet exists any more: a packet outlives its event in the queue
// of a port, in a link to a builder, or as a retransmission.
//
// Threads: one lcore takes; any lcore that frees packets returns. The two counts lie in two cache
// lines, so that lcores that free do not slow down the one that sends.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BLOCK_HOLD_LINE 64

struct block_hold {
	_Alignas(BLOCK_HOLD_LINE) uint64_t taken;    // packets made
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
