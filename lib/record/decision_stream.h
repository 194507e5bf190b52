// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Writes decisions, in order, to a file, as UDP datagrams, or as blocks to an event ring. All
// consist of units of 32 bytes, little endian: a header, and the records behind it. A file has one
// header at its beginning; each datagram has one, and up to DECISION_STREAM_PER_DATAGRAM records;
// each block of a ring has one, and up to DECISION_STREAM_PER_BLOCK records.
//
//   header   0 "EVBDECID" | 8 u32 version 1 | 12 u32 bytes of a record, 32 | 16 u32 run |
//           20 u32 packing | 24 u64 number of the first record behind it, from the run's start
//   record   0 u64 event id | 8 u64 lines | 16 u32 tag | 20 u32 time to decide, us |
//           24 u16 builder | 26 u8 member | 27 u8 flags | 28 u32 zero
//
// flags: 1 accepted, 2 released undecided, 4 nobody decided in time (record/decision_order.h).
//
// Files are called PREFIX-runRRRRRR-NNNN.decisions, where NNNN is the first number that is free. A
// process that is killed leaves a file whose last record may be incomplete.
//
// One thread. Makes system calls: when its buffer is full, and at decision_stream_flush().
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "evring/evring.h"
#include "record/decision_order.h"

#define DECISION_STREAM_UNIT         32u  // bytes of a header and of a record
#define DECISION_STREAM_PER_BLOCK    127u // of the slots of a ring
#define DECISION_STREAM_PER_DATAGRAM 42u  // so that a datagram fits an MTU of 1500
#define DECISION_STREAM_ERROR_SIZE   320

struct decision_stream_parameters {
	const char *directory; // of the file; NULL: UDP or a ring
	const char *prefix;
	uint32_t address; // UDP: IPv4 address, host order
	uint16_t port;
	// What consumers see of the ring: name, directory, slots, groups, run_number, mode,
	// unix_group. Groups receive every block. name NULL: no ring.
	struct evring_parameters ring;
	uint32_t run_number;
	uint32_t packing;
	bool resumes; // finds the file that an earlier process has left
};

// What an earlier process of the run has written.
struct decision_stream_tail {
	uint64_t event_id; // of the last record of its file
	uint64_t records;  // since the start of the run
};

struct decision_stream_counters {
	uint64_t records; // in the file or the ring, or sent
	uint64_t lost;    // that could not be sent, or written until the end
	uint64_t pauses;  // times that writing stopped: a full disk, or groups hold all slots
};

struct decision_stream;

// Bytes that decision_stream_open() allocates beside a ring.
uint64_t decision_stream_memory(void);

// The bytes of shared memory of a ring with so many slots.
uint64_t decision_stream_ring_memory(uint32_t slots);

// Returns 0, or -1 with one line in error[DECISION_STREAM_ERROR_SIZE].
int decision_stream_open(struct decision_stream **stream,
			 const struct decision_stream_parameters *parameters, char *error);

// Whether there is such a file, with a record. Only of a stream that was opened with `resumes`.
bool decision_stream_tail(const struct decision_stream *stream, struct decision_stream_tail *tail);

// Before the first record and flush: the records of an earlier process count in the header.
void decision_stream_resume(struct decision_stream *stream, uint64_t records);

// Records that are added and neither written nor lost.
unsigned decision_stream_pending(const struct decision_stream *stream);

// Records for which there is room. 0: the file or the ring cannot be written for now.
unsigned decision_stream_room(struct decision_stream *stream);

// Adds a record. There must be room.
void decision_stream_add(struct decision_stream *stream, const struct decision_result *result);

// Writes what is added and not written yet. What a file or a ring does not take stays in the
// buffer, what a socket does not take is lost. A stream to a ring needs a call every 0.1 s.
void decision_stream_flush(struct decision_stream *stream);

const struct decision_stream_counters *decision_stream_counters(
    const struct decision_stream *stream);

// The file, "udp://ADDRESS:PORT", or "ring://NAME".
const char *decision_stream_name(const struct decision_stream *stream);

// The ring, for telemetry; NULL: there is none.
const struct evring *decision_stream_ring(const struct decision_stream *stream);

// At the end: flushes, and, when all is in the ring, ends it. Returns the blocks that groups of the
// ring have not released.
uint64_t decision_stream_finish(struct decision_stream *stream);

// Flushes and closes. NULL is allowed.
void decision_stream_close(struct decision_stream *stream);
