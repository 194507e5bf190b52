// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A producer ring, on the appliance's side: shared memory that a process outside evb fills with
// blocks (MFPs), and from which the appliance takes them. evb_producer.h is the producer's side;
// producer_layout.h describes the memory that both sides share.
//
// A ring has one producer process at a time, and blocks of one source or of several. Blocks are
// taken in the order in which they were committed, and released in any order. A block that was
// taken stays in place until it is released. Memory becomes free in the order of the ring, so that
// a block that is held for long holds the memory of all later blocks, too.
//
// Trust. The producer may write to all of the shared memory at any time. This side keeps its state
// in memory of its own, copies each descriptor once, and checks the copy. A descriptor that fails a
// check is counted under a cause, and ends the rights of the producer: no further block of this
// producer is taken. The blocks that were taken before stay valid. The next producer may go on.
// The bytes of a block are only safe against access outside the ring: the producer may change them
// while they are read. Code that interprets them copies what it checks.
//
// Death of the appliance. The ring outlives the process: producer_ring_open() adopts a ring of the
// same name, size and sources. Blocks that were committed and not released are taken again, and
// those that were released are not.
//
// Threads: open, close, destroy, end and watch belong to the control thread. take, is_finished,
// release and housekeep belong to the one role that uses the ring; take and release neither
// allocate, lock nor make system calls. Any thread may call the others.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evring/evring.h"

#define PRODUCER_MAX_BLOCKS  (1u << 22)
#define PRODUCER_MAX_SOURCES 4096u

struct producer_ring;

struct producer_ring_parameters {
	const char *appliance; // the ring lies beside the event rings of this appliance
	const char *name;      // of the ring: [A-Za-z0-9_-], 1 to 31 characters
	const char *directory; // NULL: chosen by `memory`
	enum evring_memory memory;
	uint64_t size;           // bytes for blocks, at least twice max_block; rounded up to pages
	uint32_t blocks;         // that the ring has room for, 2 to PRODUCER_MAX_BLOCKS; the number
				 // is rounded up to a power of two
	uint32_t max_block;      // bytes of the largest block
	const uint16_t *sources; // ids of the sources, each once
	unsigned n_sources;      // 1 to PRODUCER_MAX_SOURCES
	uint16_t packing;        // fragments per MFP, for the producer's checked mode; 0: any
	unsigned mode;           // of the file: 0600, 0660 or 0666; 0: 0660
	const char *unix_group;  // that gets the file, a name or a number; NULL: the process's
};

// Adopts the ring of a dead process, or makes a new one. A ring of a dead process that has another
// size or other sources is ended and replaced if it is empty, and refused otherwise. All memory is
// reserved. Returns 0, -EEXIST while a live process of this user has the ring, -ESTALE for a ring
// that cannot be adopted and holds blocks, -ENOSPC, or another negative errno, with one line in
// error[EVRING_ERROR_SIZE].
int producer_ring_open(struct producer_ring **ring,
		       const struct producer_ring_parameters *parameters, char *error);

// Blocks that the last process left and that will be taken again; 0 for a new ring.
uint64_t producer_ring_inherited(const struct producer_ring *ring);

// Whether a dead process had the ring: its blocks that were not released are here.
bool producer_ring_is_adopted(const struct producer_ring *ring);

// The smallest event id of the inherited blocks; if there are none, one more than the largest that
// was committed; UINT64_MAX if none was. As found when the ring was opened.
uint64_t producer_ring_oldest(const struct producer_ring *ring);

// Whether all inherited blocks were taken. The role's thread.
bool producer_ring_has_inherited(const struct producer_ring *ring);

// Tells the producer that no block will be accepted any more. What it has committed can still be
// taken.
void producer_ring_end(struct producer_ring *ring);

// Unmaps the ring. close: the file stays for the next process. destroy: the file is removed, and
// the producer has to open the next ring. NULL is ignored.
void producer_ring_close(struct producer_ring *ring);
void producer_ring_destroy(struct producer_ring *ring);

const char *producer_ring_path(const struct producer_ring *ring);

// All memory of the ring, for registration with DPDK; page_size in bytes. Blocks lie in it.
struct producer_ring_memory {
	void *address;
	size_t length;
	size_t page_size;
};
struct producer_ring_memory producer_ring_memory(const struct producer_ring *ring);

// A committed block. `data` is valid until the block is released.
struct producer_block {
	uint64_t sequence; // number of the block in its ring, from 0 on: for the release
	uint64_t event_id; // larger than that of the block before of this source
	const uint8_t *data;
	uint32_t length;       // bytes, 1 to max_block
	uint32_t flags;        // EVB_PRODUCER_... of evb_producer.h; other bits are 0
	uint16_t source_id;    // one of the ring's sources
	uint16_t source_index; // of the source in parameters->sources
};

// Takes at most `max` committed blocks. Returns their number.
unsigned producer_ring_take(struct producer_ring *ring, struct producer_block *blocks,
			    unsigned max);

// Whether the producer said that no block will follow, and all blocks were taken. A next producer
// may attach, and make it false.
bool producer_ring_is_finished(const struct producer_ring *ring);

// Whether a producer has ever attached to the ring, since its file was made.
bool producer_ring_was_used(const struct producer_ring *ring);

// Releases a block that was taken. Each block is released once.
void producer_ring_release(struct producer_ring *ring, uint64_t sequence);

// Wakes the producer if it sleeps and room has become free since. To be called often, as roles call
// their housekeeping. Makes a system call only if there is a producer to wake.
void producer_ring_housekeep(struct producer_ring *ring);

// Asks the kernel whether a producer is attached and whether the file was truncated. To be called
// about 10 times per second. Makes system calls. Returns false if the file was truncated: nothing
// more can be taken, and the ring should be destroyed.
bool producer_ring_watch(struct producer_ring *ring);

// Whether a producer was attached when producer_ring_watch() last asked, and which process.
bool producer_ring_attached(const struct producer_ring *ring, uint32_t *pid);

// Why descriptors were refused.
enum producer_cause {
	PRODUCER_BAD_COUNT,  // more blocks committed than the ring holds, or fewer than before
	PRODUCER_BAD_LENGTH, // no bytes, or more than max_block
	PRODUCER_BAD_PLACE,  // the block does not lie in the ring, or is not aligned
	PRODUCER_BAD_SOURCE, // none of the ring's sources
	PRODUCER_BAD_EVENT,  // the event id is not larger than the one before of the source
	PRODUCER_BAD_FLAGS,
	PRODUCER_N_CAUSES
};

// A short lower-case name: "bad_length".
const char *producer_cause_name(enum producer_cause cause);

// Each counter grows only. Written by the role's thread, read by any.
struct producer_ring_counters {
	uint64_t blocks, bytes;              // taken
	uint64_t released;                   // blocks
	uint64_t refused[PRODUCER_N_CAUSES]; // producers whose rights ended
	uint64_t producers; // that have attached, and committed blocks that were looked at
};
struct producer_ring_counters producer_ring_counters(const struct producer_ring *ring);

// Bytes of room that committed and not yet released blocks take at this moment, with what is lost
// between them; and the bytes that there are.
uint64_t producer_ring_used(const struct producer_ring *ring);
uint64_t producer_ring_size(const struct producer_ring *ring);

// How full the ring is at this moment: the larger one of the shares of memory and of blocks that
// are committed and not yet released, in 1/1000.
unsigned producer_ring_fill(const struct producer_ring *ring);
