// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A ring file as one process sees it: the addresses and sizes of its areas. The sizes are copied
// from the header when the file is opened and checked; no later access takes its bounds from shared
// memory.
#pragma once

#include "evring_guard.h"
#include "evring_layout.h"

struct evring_view {
	int file;    // descriptor of the ring
	int members; // descriptor of members.N, with the locks of this process; -1: a spy
	struct evring_header *header;
	_Atomic uint64_t *queue;
	_Atomic uint64_t *logs; // of EVRING_MAX_DECIDERS deciders, queue_size entries each
	struct evring_descriptor *descriptors;
	uint8_t *slots;
	uint32_t n_slots;
	uint64_t queue_size;                              // entries
	uint64_t slot_size;                               // bytes
	size_t control_size;                              // bytes; offset of the slots in the file
	size_t file_size;                                 // bytes
	struct evring_guard *control_guard, *slots_guard; // of evring_view_map()
};

// Computes sizes and offsets of a ring in a file system of the given page size, and stores them in
// an otherwise empty header. Returns false if the ring is too large for a file.
bool evring_layout_plan(struct evring_header *plan, uint32_t slots, uint64_t slot_size,
			uint64_t page_size);

// Checks a header against the size of its file. Returns 0 or -EPROTO, with a reason in
// error[EVRING_ERROR_SIZE].
int evring_layout_check(const struct evring_header *header, uint64_t file_size, char *error);

// Maps an open ring file whose header was checked: the slots read-only, the control area writable
// where `members` is the descriptor of members.N, and read-only where it is -1. On success the view
// owns the descriptors. Returns 0 or a negative errno.
int evring_view_map(struct evring_view *view, int file, int members,
		    const struct evring_header *header);

// Sets the view's pointers for a file that is mapped at `memory` as a whole.
void evring_view_set(struct evring_view *view, int file, int members, void *memory,
		     const struct evring_header *header);

// Unmaps and closes what evring_view_map() made. An empty view (header NULL) is allowed.
void evring_view_unmap(struct evring_view *view);

// Whether a file is shorter than it was: see evring_guard.h. Makes a system call.
bool evring_file_is_cut(int file, size_t file_size);

// Opens a file that may be a ring. Never follows a link, never waits. `flags`: O_RDWR or O_RDONLY.
// Returns the descriptor or a negative errno.
int evring_open_file(const char *path, int flags, uint64_t *size);

// Whether an open file is the one that has this path now.
bool evring_file_is(int file, const char *path);

// Writes one line into error[EVRING_ERROR_SIZE], cut if too long. Returns rc.
int evring_error(int rc, char *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
