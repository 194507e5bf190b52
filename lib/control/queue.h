// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A queue of records: a ring of bytes that holds whole records in order. Positions count bytes
// modulo 2^32. Positions and the sizes of records are multiples of 8, so the first 8 bytes of a
// record never wrap. The reader frees records by advancing `head`.
#pragma once

#include <stdlib.h>

#include "wire/ctrl.h"

struct control_queue {
	uint8_t *bytes;
	uint32_t size; // of `bytes`, a power of two
	uint32_t head; // position of the oldest record
	uint32_t end;  // position behind the newest record
};

// Allocates a queue. Returns false if memory ran out.
static inline bool control_queue_make(struct control_queue *queue, uint32_t size)
{
	*queue = (struct control_queue){ .bytes = malloc(size), .size = size };
	return queue->bytes != NULL;
}

static inline uint32_t control_queue_used(const struct control_queue *queue)
{
	return queue->end - queue->head;
}

// Appends a record. Returns false if there is no room.
static inline bool control_queue_put(struct control_queue *queue, const void *record, uint32_t size)
{
	const uint32_t at = queue->end & (queue->size - 1);
	const uint32_t first = size < queue->size - at ? size : queue->size - at;

	if (size > queue->size - control_queue_used(queue))
		return false;
	memcpy(queue->bytes + at, record, first);
	memcpy(queue->bytes, (const uint8_t *)record + first, size - first);
	queue->end += size;
	return true;
}

// Copies `size` bytes from a position.
static inline void control_queue_copy(const struct control_queue *queue, uint32_t position,
				      uint8_t *to, uint32_t size)
{
	const uint32_t at = position & (queue->size - 1);
	const uint32_t first = size < queue->size - at ? size : queue->size - at;

	memcpy(to, queue->bytes + at, first);
	memcpy(to + first, queue->bytes, size - first);
}

// Bytes of the record at a position.
static inline uint32_t control_queue_record(const struct control_queue *queue, uint32_t position)
{
	return load_le16(queue->bytes + (position & (queue->size - 1)) + 2);
}
