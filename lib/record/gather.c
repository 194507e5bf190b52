// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "record/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

// Bytes. Copying a smaller piece is cheaper than one more piece in the system call.
#define MINIMUM_PIECE 4096u

int gather_init(struct gather *gather)
{
	memset(gather, 0, sizeof(*gather));
	gather->file = -1;
	gather->capacity = GATHER_BUFFER;
	gather->buffer = malloc(gather->capacity);
	return gather->buffer ? 0 : -ENOMEM;
}

void gather_fini(struct gather *gather)
{
	free(gather->buffer);
	gather->buffer = NULL;
}

void gather_start(struct gather *gather, int file, uint64_t position)
{
	gather->file = file;
	gather->position = position;
	gather->used = 0;
	gather->n_pieces = 0;
}

// Skips the first `written` bytes of the pieces; returns the number of complete pieces skipped.
static unsigned advance(struct iovec *pieces, unsigned n_pieces, size_t written)
{
	unsigned done = 0;

	while (done < n_pieces && written >= pieces[done].iov_len)
		written -= pieces[done++].iov_len;
	if (done < n_pieces) {
		pieces[done].iov_base = (uint8_t *)pieces[done].iov_base + written;
		pieces[done].iov_len -= written;
	}
	return done;
}

int gather_flush(struct gather *gather)
{
	struct iovec *pieces = gather->pieces;
	unsigned left = gather->n_pieces;

	while (left) {
		ssize_t written = pwritev(gather->file, pieces, (int)left, (off_t)gather->position);
		unsigned done;

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? -errno : -EIO;
		gather->position += (uint64_t)written;
		done = advance(pieces, left, (size_t)written);
		pieces += done;
		left -= done;
	}
	gather->used = 0;
	gather->n_pieces = 0;
	return 0;
}

static void add_piece(struct gather *gather, const uint8_t *bytes, size_t size)
{
	struct iovec *last = gather->n_pieces ? &gather->pieces[gather->n_pieces - 1] : NULL;

	if (last && (const uint8_t *)last->iov_base + last->iov_len == bytes) {
		last->iov_len += size;
		return;
	}
	// The pointer of an iovec is not const because reading uses the same structure.
	gather->pieces[gather->n_pieces++] =
	    (struct iovec){ .iov_base = (void *)(uintptr_t)bytes, .iov_len = size };
}

static int grow(struct gather *gather, size_t size)
{
	uint8_t *larger;

	if (size <= gather->capacity)
		return 0;
	larger = realloc(gather->buffer, size);
	if (!larger)
		return -ENOMEM;
	gather->buffer = larger;
	gather->capacity = size;
	return 0;
}

uint8_t *gather_reserve(struct gather *gather, size_t size, int *error)
{
	uint8_t *room;

	*error = 0;
	if (size > gather->capacity - gather->used || gather->n_pieces == GATHER_PIECES) {
		*error = gather_flush(gather);
		if (!*error)
			*error = grow(gather, size);
		if (*error)
			return NULL;
	}
	room = gather->buffer + gather->used;
	add_piece(gather, room, size);
	gather->used += size;
	return room;
}

int gather_append(struct gather *gather, const uint8_t *bytes, size_t size)
{
	int error = 0;

	if (!size)
		return 0;
	if (size < MINIMUM_PIECE) {
		uint8_t *room = gather_reserve(gather, size, &error);

		if (room)
			memcpy(room, bytes, size);
		return error;
	}
	if (gather->n_pieces == GATHER_PIECES)
		error = gather_flush(gather);
	if (!error)
		add_piece(gather, bytes, size);
	return error;
}
