// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A ring file as one process sees it: where its areas lie and how large they are. Sizes are copied
// out of the header when the file is opened and checked; nothing later trusts shared memory for
// the bounds of an access.
#pragma once

#include "evring_layout.h"

struct evring_view {
	int file; // descriptor; holds the process's locks
	struct evring_header *header;
	_Atomic uint64_t *queue;
	struct evring_descriptor *descriptors;
	uint8_t *slots;
	uint32_t n_slots;
	uint64_t queue_size; // entries
	uint64_t slot_size;  // bytes
	size_t control_size; // bytes; the slots begin there in the file
	size_t file_size;    // bytes
};

// Sizes and offsets of a ring of `slots` slots in a file system of the given page size. They stand
// in a header that has nothing else in it. Returns false if the ring is too large for any file.
bool evring_layout_plan(struct evring_header *plan, uint32_t slots, uint64_t slot_size,
			uint64_t page_size);

// Checks a header against the size of its file. Returns 0 or -EPROTO, with a reason in
// error[EVRING_ERROR_SIZE].
int evring_layout_check(const struct evring_header *header, uint64_t file_size, char *error);

// Maps an open ring file whose header was checked. `writable` is about the control area, the slots
// are mapped read-only. Returns 0 or a negative errno. The view takes the descriptor.
int evring_view_map(struct evring_view *view, int file, const struct evring_header *header,
		    bool writable);

// Sets the view's pointers for a file that lies at `memory` as a whole.
void evring_view_set(struct evring_view *view, int file, void *memory,
		     const struct evring_header *header);

// Unmaps and closes what evring_view_map() made. An empty view (header NULL) is allowed.
void evring_view_unmap(struct evring_view *view);

// Opens a file that may be a ring. Never follows a link, never waits. `flags`: O_RDWR or O_RDONLY.
// Returns the descriptor or a negative errno.
int evring_open_file(const char *path, int flags, uint64_t *size);

// One line into error[EVRING_ERROR_SIZE], cut if too long.
void evring_error(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
