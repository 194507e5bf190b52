// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The parts of libevb-producer: attaching (producer.c), blocks (producer_blocks.c), waiting
// (producer_wait.c).
#pragma once

#include "evb_producer.h"
#include "producer_layout.h"

#define PRODUCER_LEVELS 4u

extern const unsigned producer_levels[PRODUCER_LEVELS]; // 1/1000 of the ring, ascending

// The room of the ring as the producer knows it.
struct producer_room {
	uint64_t reserved; // sequence of the next block to reserve
	uint64_t released; // as last read: all blocks before it are released
	uint64_t offset;   // where the next block begins, if there is room until the end
	uint64_t oldest;   // offset of the block `released`, if that is below `reserved`
	// The ring was damaged, and `offset` and `oldest` are not valid: all blocks must be
	// released before anything is reserved.
	bool draining;
};

struct producer_waiter;

struct evb_producer {
	struct producer_view view;
	char path[PRODUCER_PATH_SIZE];
	bool checked;
	uint16_t *index_of; // by source id: index + 1 in the ring's sources; 0: none of them
	uint32_t session;
	uint64_t head; // sequence of the next block to commit
	struct producer_room room;
	bool finished; // evb_producer_finish() was called

	uint64_t level_bytes[PRODUCER_LEVELS], level_blocks[PRODUCER_LEVELS];
	unsigned peak; // number of levels that were reached since the last evb_producer_level()

	uint64_t asked_ns; // when the kernel was last asked for the two below
	bool connected;    // the process of evb lives
	bool removed;      // the file was removed

	struct producer_waiter *waiter; // of evb_producer_event_fd(); NULL: not used
	struct evb_producer_counters counters;
	const char *why; // the last error; NULL: it is in `error`
	char error[EVRING_ERROR_SIZE];
};

// Sets the last error. Returns rc.
int producer_fail(struct evb_producer *producer, int rc, const char *why);

// Whether evb still takes blocks of this producer. Returns 0, -EPIPE or -EPROTO. Any thread.
int producer_verdict(const struct producer_view *view, uint32_t session);

// The same, and sets the last error.
int producer_may_work(struct evb_producer *producer);

// Reads how far blocks are released. Returns false if that makes no sense: memory of the ring was
// overwritten. Any thread.
bool producer_refresh(const struct producer_view *view, struct producer_room *room);

// Finds room for `bytes`, a multiple of PRODUCER_ALIGNMENT. Returns false if there is none.
bool producer_find_room(const struct producer_view *view, struct producer_room *room,
			uint64_t bytes, uint64_t *offset);

// Asks the kernel whether evb lives and the file exists, if it was not asked for 100 ms. Returns 0
// or -ESTALE, with the last error.
int producer_ask(struct evb_producer *producer);

// Ends the thread of evb_producer_event_fd().
void producer_waiter_stop(struct evb_producer *producer);
