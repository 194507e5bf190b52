// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An outbox: records that wait, in order, until somebody takes them. Memory is had once.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outbox {
	uint8_t *bytes; // each record behind its size
	size_t size;    // of the memory
	size_t head;    // first byte of the oldest record
	size_t used;    // bytes
};

// False if memory ran out. size >= 16.
bool outbox_make(struct outbox *outbox, size_t size);
void outbox_free(struct outbox *outbox);

// False if there is no room.
bool outbox_put(struct outbox *outbox, const void *record, size_t size);

// The oldest record, NULL if there is none. It is gone, and its bytes with it, after outbox_pop().
const void *outbox_front(const struct outbox *outbox, size_t *size);
void outbox_pop(struct outbox *outbox);

void outbox_clear(struct outbox *outbox);
