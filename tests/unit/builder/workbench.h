// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An assembly on an event ring in a directory of its own, blocks made of bytes, and a consumer that
// looks at what is built: what the tests of the builder share.
//
// Every byte of a slot that nobody has a right to write is a canary: workbench_take() and
// workbench_check() find it touched.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "builder/assembly.h"
#include "evring/evb_reader.h"
#include "wire/mep.h"

#define WORKBENCH_DEADLINE 1000u // ticks, which are nanoseconds
#define WORKBENCH_GRACE    100u  // ticks
#define WORKBENCH_MOST     64u   // sources
#define PLACED             SEGMENT_N_CAUSES

struct workbench_options {
	unsigned n_sources; // 1 to WORKBENCH_MOST
	uint32_t packing;
	uint32_t slots;
	uint64_t slot_size;
	enum payload_kind payload;
	enum on_incomplete on_incomplete;
	bool without_consumer; // slots come back at once
	bool granted;          // events are granted, `spare` slots may be taken before
	uint32_t spare;
	bool guarded; // no source may take what the others need
};

struct workbench {
	struct workbench_options options;
	char directory[64];
	struct evring *ring;
	struct source_table *sources;
	struct assembly *assembly;
	bool end_begun; // an end-of-run block has been placed
	struct evb_reader *reader;
	uint64_t now;           // ticks; the tests move it
	uint16_t segment_flags; // of the segments that workbench_send() sends
};

// Three sources, packing 4, 4 slots of 16 KiB, MFPs, flagged when incomplete.
extern const struct workbench_options workbench_standard;

void workbench_open(struct workbench *bench, const struct workbench_options *options);
// Checks everything a last time, too.
void workbench_close(struct workbench *bench);

// Any bytes that a source sends for one event.
struct block {
	uint32_t length;
	uint8_t *bytes;
};

// The MFP of source number `source` (0 to n_sources - 1) with n fragments, whose sizes and bytes
// follow from source, event and n. Freed by block_free().
struct block block_mfp(const struct workbench *bench, unsigned source, uint64_t event_id,
		       unsigned n);
// `length` random bytes, which follow from source and event.
struct block block_random(unsigned source, uint64_t event_id, uint32_t length);
void block_free(struct block *block);

// One segment of a block, all the way: admitted, copied, committed, its event published if it is
// complete. Returns why it was refused, or PLACED.
enum segment_cause workbench_send(struct workbench *bench, unsigned source, uint64_t event_id,
				  const struct block *block, uint32_t offset, uint32_t size);
// One segment as it is, with bytes that no source sent. Returns why it was refused, or PLACED.
enum segment_cause workbench_send_forged(struct workbench *bench, const struct segment *segment,
					 const uint8_t *bytes);
// The same as workbench_send(), asserted to be placed (or refused for the cause given) and with the
// block's end cut.
void workbench_place(struct workbench *bench, unsigned source, uint64_t event_id,
		     const struct block *block, uint32_t offset, uint32_t size);

// All of an MFP in segments of 100 bytes, in order, which must be placed.
void workbench_send_mfp(struct workbench *bench, unsigned source, uint64_t event_id, unsigned n);
// The end-of-run block of a source.
void workbench_send_end(struct workbench *bench, unsigned source);

// Lets time pass, and the assembly do its housekeeping.
void workbench_wait(struct workbench *bench, uint64_t ticks);

// The next built event, which must be there and is to be released; its MEP is sound (mep_check),
// and nothing outside of it in its slot was written.
struct evb_event workbench_take(struct workbench *bench);
void workbench_release(struct workbench *bench, const struct evb_event *event);
// The same for an event that is asserted to be complete and exactly that of block_mfp(), n
// fragments.
void workbench_take_complete(struct workbench *bench, uint64_t event_id, unsigned n);
void workbench_take_none(struct workbench *bench);

// What stands in a built event for a source.
enum workbench_content {
	CONTENT_DATA,
	CONTENT_MISSING,
	CONTENT_MALFORMED,
};

// Asserts what stands for a source in an event: the bytes of a block, or an error MFP with
// n fragments (`block` is NULL then).
void workbench_assert_content(const struct workbench *bench, const struct evb_event *event,
			      unsigned source, enum workbench_content content,
			      const struct block *block, unsigned n);

// Asserts that all counters agree with each other: segments = placed + drops, per source and in
// sum; events opened = closed + open; slots free + open + published = all; blocks of closed events.
void workbench_check(struct workbench *bench);

static inline const struct assembly_counters *counters_of(const struct workbench *bench)
{
	return assembly_counters(bench->assembly);
}
