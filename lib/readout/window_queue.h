// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The grants that a readout has received and not sent yet, with a timed shift: a queue for each
// position, first in, first out. An event whose window ends before all of it is sent returns to
// the front of its queue, with the segment at which it goes on.
//
// Threads: one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/message.h"
#include "store/block_store.h"

struct window_queue_entry;

struct window_queue_list {
	uint32_t first, last; // entries
};

struct window_queue {
	struct window_queue_entry *entries;
	struct window_queue_list *lists; // [n_positions]
	uint32_t n_positions;
	uint32_t size; // largest number of grants that wait
	uint32_t free; // first entry of the list of free ones
	uint32_t n;    // grants that wait
};

// Bytes that window_queue_make() allocates.
uint64_t window_queue_memory(uint32_t size, uint32_t n_positions);

// False if memory ran out.
bool window_queue_make(struct window_queue *queue, uint32_t size, uint32_t n_positions);
void window_queue_free(struct window_queue *queue);

// False if the queue is full. `position` is below n_positions.
bool window_queue_put(struct window_queue *queue, uint32_t position, const struct message *grant);

// Removes the first grant of a position. *at is where its event begins or goes on. False if none
// waits.
bool window_queue_take(struct window_queue *queue, uint32_t position, struct message *grant,
		       struct packet_segment *at);

// Puts a grant that was taken back to the front of its position's queue. There is room for one such
// grant at a time.
void window_queue_return(struct window_queue *queue, uint32_t position, const struct message *grant,
			 const struct packet_segment *at);

void window_queue_clear(struct window_queue *queue);
