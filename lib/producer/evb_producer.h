// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// libevb-producer: a process that has the data of readout boards gives them to an evb on the same
// machine, without DPDK and without a further copy.
//
// The configuration of an appliance names its producer rings: shared memory with room for blocks
// (MFPs) of one source or of several. One process at a time fills a ring. It reserves room, writes
// the block there, and commits it:
//
//   while (evb_producer_reserve(producer, source, size, &block) == -EAGAIN)
//           evb_producer_wait(producer, size, -1);
//   write the MFP to block;
//   evb_producer_commit(producer, event_id, size, 0);
//
// What is committed will be sent, whatever happens to the producer. What is reserved and not
// committed when the producer dies is dropped. The next producer of the ring goes on with the event
// after evb_producer_last(). When the process of evb dies, the ring stays, with all blocks in it:
// the producer can fill the rest of the ring, and then waits until evb runs again.
//
// Threads: a producer is used by one thread at a time. Several producers may live in one process.
// A producer belongs to the process that opened it; a child made by fork() must not use it, and
// holds the ring until it calls exec() or exits.
// Errors: functions return a negative errno value; evb_producer_error() then describes the error.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct evb_producer;

struct evb_producer_options {
	// Directory of the ring files; NULL: the hugetlbfs mounts and /dev/shm are searched.
	const char *directory;
	// Checks each block at its commit: it must be an MFP with the magic number, the size, the
	// source id, the event id, and the number of fragments that belong to it. For tests of a
	// new producer; it reads the sizes of all fragments.
	bool checked;
};

// Flags of a block.
#define EVB_PRODUCER_INCOMPLETE 0x1u // the source knows that data of these events are missing
#define EVB_PRODUCER_FLAGS      EVB_PRODUCER_INCOMPLETE // all that exist

struct evb_producer_info {
	uint64_t size;           // bytes of room for blocks
	uint32_t max_block;      // bytes of the largest block
	uint32_t packing;        // fragments per MFP that evb expects; 0: any
	const uint16_t *sources; // ids of the ring's sources; valid until the producer is closed
	unsigned n_sources;
	bool connected; // whether the process of evb lives
};

// Counters of one producer. Each grows only. Any thread may read them.
struct evb_producer_counters {
	uint64_t blocks, bytes; // committed
	uint64_t full;          // calls of evb_producer_reserve() that found no room
	uint64_t waits;         // sleeps of evb_producer_wait()
};

// Attaches to the ring `ring` of the appliance `appliance`. On failure *producer is NULL only if
// memory ran out; otherwise it can be passed to evb_producer_error(), and must be closed.
// Errors: ENOENT there is no such ring, EBUSY another process fills it, EPIPE evb is ending,
// EPROTO the layout version differs, EACCES, EINVAL, ENOMEM.
int evb_producer_open(struct evb_producer **producer, const char *appliance, const char *ring,
		      const struct evb_producer_options *options);

// Reserves `size` bytes for a block of a source, 64-byte aligned. The block's memory is the
// caller's until the commit. Several blocks may be reserved at a time; they are committed in the
// order of their reservations.
// Errors:
//   EAGAIN    the ring is full
//   ENOTCONN  the ring is full, and the process of evb is dead; evb_producer_wait() waits for it
//   EMSGSIZE  `size` is 0 or larger than max_block
//   EINVAL    `source` is none of the ring's sources, or evb_producer_finish() was called
//   EPIPE     evb has ended the ring: close the producer, and open the next ring
//   ESTALE    the ring was removed: as EPIPE
//   EPROTO    evb does not trust this producer any more, because memory of the ring was
//             overwritten: as EPIPE
int evb_producer_reserve(struct evb_producer *producer, uint16_t source, size_t size, void **block);

// Commits the block that was reserved first, with the id of its first event, which grows from block
// to block of a source, and is below 2^64-1. length: bytes, 1 to those that were reserved; the rest
// returns to the ring if no other block is reserved. flags: EVB_PRODUCER_...
// Errors: EINVAL nothing is reserved, or an argument is not valid; EBADMSG checked mode: the block
// is no such MFP (it stays reserved, and can be corrected and committed); EPIPE, EPROTO: evb ended
// at this moment, and may or may not have taken the block.
int evb_producer_commit(struct evb_producer *producer, uint64_t event_id, size_t length,
			uint32_t flags);

// Gives up all reservations.
void evb_producer_cancel(struct evb_producer *producer);

// Says that no block will follow: a run that waits for this producer's data can end. Blocks that
// are reserved are given up. To be called before the close. A producer that is closed without, or
// dies, leaves the run waiting for the next one. Returns 0, or as evb_producer_commit().
int evb_producer_finish(struct evb_producer *producer);

// Waits until a block of `size` bytes can be reserved, up to timeout_ms (0: not at all, negative:
// without limit). Also waits for the return of a dead evb. Returns 1 when there is room, 0 when the
// time is over. Errors: EMSGSIZE, EPIPE, ESTALE, EPROTO; EDEADLK the blocks that the caller has
// reserved leave too little room.
int evb_producer_wait(struct evb_producer *producer, size_t size, int timeout_ms);

// For event loops: returns an eventfd (eventfd(2)) that becomes readable when a block of `size`
// bytes can be reserved, or evb_producer_reserve() would fail for another reason than a full ring.
// Each call arms it once, and resets it before. The descriptor is the same in all calls, and
// belongs to the producer. The first call starts a thread, which sleeps until there is room.
int evb_producer_event_fd(struct evb_producer *producer, size_t size);

// The highest of the levels 0, 250, 500, 750 and 875 (in 1/1000 of the ring) that was reached since
// the last call, for a trigger that throttles: the level of this moment, or a higher one before.
unsigned evb_producer_level(struct evb_producer *producer);

// Gets the id of the event that was committed last for a source, by this or an earlier producer.
// Returns 1, 0 if there is none, -EINVAL.
int evb_producer_last(struct evb_producer *producer, uint16_t source, uint64_t *event_id);

struct evb_producer_info evb_producer_info(struct evb_producer *producer);
struct evb_producer_counters evb_producer_counters(const struct evb_producer *producer);

// The last error in one line. Valid until the next call on this producer.
const char *evb_producer_error(const struct evb_producer *producer);

// Gives up all reservations, leaves the ring to the next producer, unmaps. NULL is ignored.
void evb_producer_close(struct evb_producer *producer);

#ifdef __cplusplus
}
#endif
