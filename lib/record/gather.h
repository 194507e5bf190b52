// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The bytes of one event on their way into a file: small pieces are gathered in a buffer, large
// ones are written from where they lie, both with few system calls.
//
// Pieces that are not copied must stay as they are until gather_flush() or a later call has
// returned an error. A gather belongs to one thread. It allocates only when one reservation is
// larger than all before.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define GATHER_PIECES 512

struct gather {
	int file;
	uint64_t position; // in the file, of the next byte to be written
	uint8_t *buffer;
	size_t capacity; // bytes of the buffer
	size_t used;
	struct iovec pieces[GATHER_PIECES];
	unsigned n_pieces;
};

// Returns 0 or -ENOMEM.
int gather_init(struct gather *gather);
void gather_fini(struct gather *gather);

// Forgets what is gathered; what follows is written to `file` from `position` on.
void gather_start(struct gather *gather, int file, uint64_t position);

// Room for `size` contiguous bytes, which the caller fills before the next call and which are part
// of the file from now on. On failure returns NULL with a negative errno in *error.
uint8_t *gather_reserve(struct gather *gather, size_t size, int *error);

// Appends bytes, copied if they are few. Returns 0 or a negative errno of the file.
int gather_append(struct gather *gather, const uint8_t *bytes, size_t size);

// Writes what is left. Returns 0 or a negative errno of the file.
int gather_flush(struct gather *gather);
