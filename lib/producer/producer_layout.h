// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The memory of a producer ring, which the appliance and one producer process share. The file is
// evb-APPLIANCE/producer.RING, in the place of the appliance's event rings (evring_place.h):
//
//   header | source_ids[] | last[] | accepted[] | descriptors[] | marks[] | ... page ... | data
//
// The path of a block. The producer finds room for the block in the data area, where no block wraps
// around the end. It fills the block, writes the descriptor of sequence `head`, and increments
// `head`: that commits the block. The appliance takes all blocks below `head` in turn. To release a
// block it writes the block's mark; `released` follows over all blocks that are released without a
// gap, and their memory is free.
//
// The protocol is safe against the death of both sides between any two instructions:
//   - A block is committed by one store. A block that is only reserved leaves no trace.
//   - The producer writes `last` of the source after the commit. The next producer repeats this for
//     the block before `head`, whose descriptor is never overwritten before the next commit.
//   - The next appliance begins at `released`, and leaves out the blocks that have a mark.
// A producer is attached as long as a process holds the lock PRODUCER_LOCK_CLAIM on the file; an
// appliance lives as long as a process holds EVRING_LOCK_OWNER. Locks as in evring_lock.h. Every
// process that can open the file may write to it: only a process that can write the ring can
// disturb the locks.
//
// The comment of each field names its only writer:
//   create    producer_ring_open(), before the file gets its name; constant from then on
//   owner     the appliance's control thread
//   taker     the appliance's role that uses the ring
//   producer  the process that holds the lock PRODUCER_LOCK_CLAIM
#pragma once

#include "evring/evring_layout.h"
#include "evring/evring_place.h"

#define PRODUCER_MAGIC          0x676e697270627665ull // "evbpring"
#define PRODUCER_LAYOUT_VERSION 1u
#define PRODUCER_ALIGNMENT      64u // bytes, of the start of each block
#define PRODUCER_FILE_PREFIX    "producer."
#define PRODUCER_LOCK_CLAIM     (EVRING_LOCK_OWNER + 1)
#define PRODUCER_SMALLEST_DATA  ((uint64_t)4096)
#define PRODUCER_LARGEST_DATA   ((uint64_t)1 << 46)
#define PRODUCER_MOST_BLOCKS    (1u << 22)
#define PRODUCER_MOST_SOURCES   4096u
#define PRODUCER_PATH_SIZE      (EVRING_PATH_SIZE + EVRING_NAME_SIZE)

struct producer_header {
	uint64_t magic;              // create
	uint32_t layout_version;     // create
	uint32_t header_size;        // create: sizeof(struct producer_header)
	uint64_t file_size;          // create: bytes
	uint64_t last_offset;        // create: bytes from the file's start, as all offsets
	uint64_t accepted_offset;    // create
	uint64_t descriptors_offset; // create
	uint64_t marks_offset;       // create
	uint64_t data_offset;        // create
	uint64_t data_size;          // create: bytes
	uint32_t blocks;             // create: descriptors, a power of two
	uint32_t max_block;          // create: bytes
	uint32_t n_sources;          // create
	uint32_t packing;            // create: fragments per MFP; 0: any
	char name[EVRING_NAME_SIZE]; // create: of the ring

	// Written rarely, so that the producer can read them for every block.
	alignas(EVRING_CACHE_LINE) _Atomic uint32_t state; // owner: enum evring_run_state
	_Atomic uint32_t owner_pid;                        // owner: for people
	_Atomic uint32_t refused;                          // taker: session whose rights ended
	// Valid when `refused` is the last session: the sequence at which the next producer begins.
	_Atomic uint64_t restart; // taker

	alignas(EVRING_CACHE_LINE) _Atomic uint64_t released; // taker: blocks, all without a gap
	_Atomic uint32_t wakes;                               // taker: futex, wakes of the producer

	// Sequence of the next block to commit, which is the number of committed blocks.
	alignas(EVRING_CACHE_LINE) _Atomic uint64_t head; // producer
	_Atomic uint32_t session;                         // producer: number of producers so far
	_Atomic uint32_t producer_pid;                    // producer: for people
	_Atomic uint32_t waiting;                         // producer: threads asleep on `wakes`
	_Atomic uint32_t finished;                        // producer: 1: no block will follow
};

// The descriptor of sequence s stands at descriptors[s & (blocks - 1)]. All fields: producer. Each
// is an atomic of its own, because the appliance may read them while a faulty producer writes.
struct producer_descriptor {
	_Atomic uint64_t event_id;
	_Atomic uint64_t offset; // of the block, bytes from the start of the data area
	_Atomic uint32_t length; // bytes
	_Atomic uint32_t flags;
	_Atomic uint32_t source; // index in source_ids
	uint32_t reserved;
};

static_assert(sizeof(struct producer_header) == 320, "the layout is shared between processes");
static_assert(sizeof(struct producer_descriptor) == 32, "the layout is shared between processes");

// The file as one process sees it. Sizes are copied from the header and checked when the file is
// opened; no later access takes its bounds from shared memory.
struct producer_view {
	int file;
	void *memory;     // the whole file
	size_t file_size; // bytes
	struct producer_header *header;
	const uint16_t *source_ids; // create
	_Atomic uint64_t *last;     // producer: by source, event id + 1 of the last commit; 0: none
	_Atomic uint64_t *accepted; // taker: the same, as taken; written when a session is refused
	struct producer_descriptor *descriptors;
	_Atomic uint32_t *marks; // taker: the low 32 bits of sequence + 1 of a released block
	uint8_t *data;
	uint64_t data_size;
	uint32_t n_blocks;
	uint32_t max_block;
	uint32_t n_sources;
	uint32_t packing;
};

// Computes sizes and offsets of a ring in a file system of the given page size, and stores them in
// an otherwise empty header. Returns false if the sizes are out of range.
bool producer_layout_plan(struct producer_header *plan, uint64_t data_size, uint32_t blocks,
			  uint32_t max_block, uint32_t n_sources, uint64_t page_size);

// Checks a copy of a header against the size of its file. Returns 0 or -EPROTO, with a reason in
// error[EVRING_ERROR_SIZE].
int producer_layout_check(const struct producer_header *header, uint64_t file_size, char *error);

// Sets the view of a file that is mapped as a whole. header: a checked copy.
void producer_view_set(struct producer_view *view, int file, void *memory,
		       const struct producer_header *header);

// Maps an open file whose header was checked. Returns 0 or a negative errno. On success the view
// owns the descriptor.
int producer_view_map(struct producer_view *view, int file, const struct producer_header *header);

// Unmaps and closes. A view without memory is allowed.
void producer_view_unmap(struct producer_view *view);

// The path of the file in a place. Returns false if it is too long.
bool producer_path(char path[PRODUCER_PATH_SIZE], const char *place, const char *ring, bool is_new);

// The descriptors of a ring that is to have room for `blocks` blocks, at most PRODUCER_MOST_BLOCKS:
// a power of two, of which one stays free.
static inline uint32_t producer_descriptors(uint32_t blocks)
{
	uint32_t n = 2;

	while (n < blocks)
		n *= 2;
	return n;
}

// Bytes of memory that a block occupies.
static inline uint64_t producer_room_of(uint64_t length)
{
	return (length + PRODUCER_ALIGNMENT - 1) & ~(uint64_t)(PRODUCER_ALIGNMENT - 1);
}

// A private copy of a descriptor.
struct producer_descriptor_copy {
	uint64_t event_id;
	uint64_t offset;
	uint32_t length;
	uint32_t flags;
	uint32_t source;
};

static inline struct producer_descriptor_copy producer_descriptor_read(
    const struct producer_view *view, uint64_t sequence)
{
	const struct producer_descriptor *from =
	    &view->descriptors[sequence & (view->n_blocks - 1)];

	return (struct producer_descriptor_copy){
		.event_id = atomic_load_explicit(&from->event_id, memory_order_relaxed),
		.offset = atomic_load_explicit(&from->offset, memory_order_relaxed),
		.length = atomic_load_explicit(&from->length, memory_order_relaxed),
		.flags = atomic_load_explicit(&from->flags, memory_order_relaxed),
		.source = atomic_load_explicit(&from->source, memory_order_relaxed),
	};
}

// Whether a block lies in the data area: its start is aligned, and it has 1 to max_block bytes.
static inline bool producer_is_placed(const struct producer_view *view, uint64_t offset,
				      uint32_t length)
{
	return offset % PRODUCER_ALIGNMENT == 0 && offset < view->data_size &&
	       length <= view->data_size - offset;
}

// Bytes of the data area from the oldest block that is committed and not released to the end of the
// newest: with what is lost to the alignment of blocks and at the end of the area.
uint64_t producer_used(const struct producer_view *view);

// How full the ring is, in 1/1000: the larger one of the shares of memory and of blocks that are
// committed and not released.
unsigned producer_fill(const struct producer_view *view);
