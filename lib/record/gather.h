// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Writes the pieces of an event to a file with few system calls: copies small pieces to a buffer,
// and writes large pieces from the caller's memory.
//
// The caller must not change a piece before gather_flush() has returned. Only one thread uses a
// gather. It allocates memory only for a reservation that is larger than all earlier ones.
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

#define GATHER_BUFFER (1024u * 1024u) // bytes that it allocates at first

// Returns 0 or -ENOMEM.
int gather_init(struct gather *gather);
void gather_fini(struct gather *gather);

// Discards pieces that are not written yet. Later pieces go to `file`, from `position` on.
void gather_start(struct gather *gather, int file, uint64_t position);

// Appends `size` contiguous bytes, which the caller fills before its next call. On failure returns
// NULL with a negative errno in *error.
uint8_t *gather_reserve(struct gather *gather, size_t size, int *error);

// Appends bytes; a small piece is copied, a large one is not. Returns 0 or a negative errno of the
// file.
int gather_append(struct gather *gather, const uint8_t *bytes, size_t size);

// Writes all pieces that are not written yet. Returns 0 or a negative errno of the file.
int gather_flush(struct gather *gather);
