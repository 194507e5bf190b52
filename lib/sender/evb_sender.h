// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// libevb-sender: a board's host program sends its blocks (MFPs) to builders as EJFAT segments, over
// the UDP sockets of its kernel, without DPDK and without knowledge of the protocol. It
// sends either
//
// - as a node of a system: the program takes the place of `evb run --node NAME`. It reads the
//   configuration that all nodes read; its node has no builders and one generator of kind
//   "producer". Events are announced to the event manager, sent as granted, in the order and at the
//   rate of the grant, and held until they are released.
// - to receivers without an event manager: event e (event id / packing) goes to receiver
//   (e mod receivers), not faster than `rate`. An event is released when it is sent; what the
//   network or the receiver loses is lost.
//
//   evb_sender_open(&sender, &options);
//   while (there are blocks)
//           evb_sender_put(sender, source, event_id, block, size, -1);
//   evb_sender_finish(sender, -1);
//   evb_sender_close(sender);
//
// Blocks lie in shared memory (a producer ring, see evb_producer.h) that outlives the process: the
// blocks that are committed and not released when the program dies are sent by its next process,
// unless the run has gone on without them.
//
// Threads: each sender has a thread of its own, which sends and speaks the control protocol. The
// functions are called by one thread at a time; evb_sender_state() by any. A sender belongs to the
// process that opened it; a child made by fork() must not use it.
// Errors: functions return a negative errno value; evb_sender_error() then describes the error.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct evb_sender;

// Unused members are 0 or NULL.
struct evb_sender_options {
	// As a node of a system; the configuration has all the rest.
	const char *configuration; // path
	const char *node;          // name of this node; NULL: the system has only one

	// To receivers
	const char *const *receivers; // "ADDRESS:PORT", IPv4 and UDP; "ADDRESS": port 19522
	unsigned n_receivers;
	const char *address;     // own IPv4 address; NULL: the kernel chooses
	const uint16_t *sources; // ids, each once
	unsigned n_sources;
	uint32_t packing;   // events per MFP; 0: 1
	bool opaque;        // blocks are any bytes, not MFPs; packing is 0 or 1
	uint32_t mtu;       // bytes; 0: 1500
	uint64_t rate;      // bits/s on the link, at most; 0: no limit
	uint64_t memory;    // bytes for blocks; 0: 64 MiB
	uint32_t max_block; // bytes of the largest block; 0: 1 MiB
	const char *name;   // of the memory, one per program on a machine; NULL: "sender"

	const char *directory; // of the memory's file; NULL: a directory in /dev/shm
};

// Begins to send. On failure *sender is NULL only if memory ran out; otherwise it can be passed to
// evb_sender_error(), and must be closed.
// Errors: EINVAL an option or the configuration, EEXIST another process uses the memory,
// EADDRNOTAVAIL or EADDRINUSE the address, ESTALE the memory of a dead process holds blocks and has
// another form, ENOSPC, EACCES, ENOMEM.
int evb_sender_open(struct evb_sender **sender, const struct evb_sender_options *options);

// Copies a block of a source and commits it. event_id: of its first event; it grows from block to
// block of a source. Waits for room up to timeout_ms (0: not at all, negative: without limit).
// Errors: EAGAIN no room in that time; EMSGSIZE, EINVAL, EPIPE as the functions below.
int evb_sender_put(struct evb_sender *sender, uint16_t source, uint64_t event_id, const void *block,
		   size_t size, int timeout_ms);

// The same without a copy: reserves `size` bytes, 64-byte aligned, which the caller fills and
// commits. Several blocks may be reserved at a time; they are committed in the order of their
// reservations.
// Errors: EAGAIN there is no room: evb_sender_wait(); EMSGSIZE `size` is 0 or larger than the
// largest block; EINVAL `source` is none of the sender's, or evb_sender_finish() was called; EPIPE
// the run is over, or the event manager has refused this node.
int evb_sender_reserve(struct evb_sender *sender, uint16_t source, size_t size, void **block);

// length: bytes, 1 to those that were reserved. Errors: EINVAL nothing is reserved, or an argument
// is not valid; EPIPE.
int evb_sender_commit(struct evb_sender *sender, uint64_t event_id, size_t length);

// Waits until a block of `size` bytes can be reserved. Returns 1 when there is room, 0 when the
// time is over. Errors: EMSGSIZE, EPIPE; EDEADLK the caller's own reservations leave too little.
int evb_sender_wait(struct evb_sender *sender, size_t size, int timeout_ms);

// The highest of the levels 0, 250, 500, 750 and 875 (in 1/1000 of the memory) that was reached
// since the last call, for a trigger that throttles.
unsigned evb_sender_level(struct evb_sender *sender);

// Gets the id of the event that was committed last for a source, by this or an earlier process.
// Returns 1, 0 if there is none, -EINVAL.
int evb_sender_last(struct evb_sender *sender, uint16_t source, uint64_t *event_id);

// Says that no block will follow, and waits until all are sent and released, or the run is over.
// Receivers without an event manager get an end-of-run block of each source. Returns 1, or 0 when
// the time is over: the function may be called again. Errors: EPIPE the event manager has refused
// this node.
int evb_sender_finish(struct evb_sender *sender, int timeout_ms);

struct evb_sender_state {
	bool registered;   // the event manager has accepted this node
	bool running;      // events are announced, or sent without a manager
	bool over;         // the run is over; evb_sender_error() has a reason, if there is one
	bool occupied;     // another process is this node; this one waits for its end
	uint32_t run;      // number; 0: none yet
	uint64_t events;   // sent, each time that they were granted
	uint64_t blocks;   // sent
	uint64_t segments; // sent
	uint64_t bytes;    // payload of these segments
	uint64_t announced, released; // events (event id / packing) below these are
	uint64_t missing;             // blocks; error MFPs are sent in their place
	uint64_t unknown;             // blocks whose event id is that of no event; not sent
	uint64_t late;                // blocks of events that had gone without them; not sent
	uint64_t not_sent; // datagrams that the kernel refused, or whose receiver is away
};

// At most 10 ms old.
struct evb_sender_state evb_sender_state(struct evb_sender *sender);

// The last error in one line. Valid until the next call on this sender.
const char *evb_sender_error(const struct evb_sender *sender);

// Leaves the system, or sends what is ready, for at most 1.5 s. What is not released stays in the
// memory for the next process, unless evb_sender_finish() has returned 1. NULL is ignored.
void evb_sender_close(struct evb_sender *sender);

#ifdef __cplusplus
}
#endif
