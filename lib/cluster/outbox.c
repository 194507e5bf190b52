// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cluster/outbox.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_SIZE sizeof(uint64_t)

bool outbox_make(struct outbox *outbox, size_t size)
{
	*outbox = (struct outbox){ .bytes = malloc(size), .size = size };
	return outbox->bytes != NULL;
}

void outbox_free(struct outbox *outbox)
{
	free(outbox->bytes);
	outbox->bytes = NULL;
}

static size_t room_of(size_t size)
{
	return HEAD_SIZE + (size + 7) / 8 * 8;
}

// Records lie in one piece: when the end of the memory is reached, they are moved to its start.
bool outbox_put(struct outbox *outbox, const void *record, size_t size)
{
	uint64_t head = size;
	uint8_t *to;

	if (outbox->used + room_of(size) > outbox->size)
		return false;
	if (outbox->head + outbox->used + room_of(size) > outbox->size) {
		memmove(outbox->bytes, outbox->bytes + outbox->head, outbox->used);
		outbox->head = 0;
	}
	to = outbox->bytes + outbox->head + outbox->used;
	memcpy(to, &head, HEAD_SIZE);
	memcpy(to + HEAD_SIZE, record, size);
	outbox->used += room_of(size);
	return true;
}

const void *outbox_front(const struct outbox *outbox, size_t *size)
{
	uint64_t head;

	if (outbox->used == 0)
		return NULL;
	memcpy(&head, outbox->bytes + outbox->head, HEAD_SIZE);
	*size = head;
	return outbox->bytes + outbox->head + HEAD_SIZE;
}

void outbox_pop(struct outbox *outbox)
{
	size_t size;

	if (outbox_front(outbox, &size) == NULL)
		return;
	outbox->head += room_of(size);
	outbox->used -= room_of(size);
	if (outbox->used == 0)
		outbox->head = 0;
}

void outbox_clear(struct outbox *outbox)
{
	outbox->head = outbox->used = 0;
}
