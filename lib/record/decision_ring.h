// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Publishes blocks of decisions in an event ring of their own, which processes on the same machine
// read with libevb-reader and evb_results.h. A slot contains one block. Groups that the ring is
// made with receive every block; while one of them holds all slots, no further block is published.
//
// One thread; another one may call decision_ring_evring(). The functions make system calls.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evring/evring.h"

#define DECISION_RING_BLOCK 4096u // bytes of a slot

struct decision_ring;

// The caller sets what consumers see of the ring: name, directory, slots, groups, run_number, mode,
// unix_group. Returns 0, or -1 with one line in error[EVRING_ERROR_SIZE].
int decision_ring_open(struct decision_ring **ring, const struct evring_parameters *parameters,
		       char *error);

// The bytes of shared memory of a ring with so many slots.
uint64_t decision_ring_memory(uint32_t slots);

// Publishes a block of at most DECISION_RING_BLOCK bytes, whose first record is about this event.
// False: groups hold all slots, or the ring has been cut (decision_ring_is_cut()).
bool decision_ring_put(struct decision_ring *ring, const void *block, size_t length,
		       uint64_t event_id);

// Frees released slots. Returns the blocks that groups have not released. At most every 0.1 s it
// also looks for dead members, whose blocks go to others, and whether the ring has been cut. To be
// called at least so often.
uint64_t decision_ring_watch(struct decision_ring *ring);

// Whether a process that may write the ring's file has truncated it: nobody gets further blocks.
bool decision_ring_is_cut(const struct decision_ring *ring);

// No further block follows: readers get those that are left, and then -EPIPE.
void decision_ring_end(struct decision_ring *ring);

// For telemetry: groups, members, blocks.
const struct evring *decision_ring_evring(const struct decision_ring *ring);

// Ends the ring and removes its file. NULL is allowed.
void decision_ring_close(struct decision_ring *ring);
