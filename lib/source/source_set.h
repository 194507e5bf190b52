// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A source set: the data of all sources that one generator stands for, made in full before the run
// so that sending costs no computation. It holds a cycle of events; event index e is served with
// the blocks of cycle position e mod n_cycle and gets its own event id when it is sent.
//
// Threads: made and freed by the control thread; read-only in between.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

#define SOURCE_ERROR_SIZE 512

// What one source sends for one position of the cycle: an MFP, whose event id the sender patches
// (mfp_patch_event_id()) to first_event + e * packing.
struct source_block {
	const uint8_t *bytes; // 64-byte aligned
	uint32_t size;        // bytes
};

// Where the blocks' memory comes from; NULL functions: malloc and free. Called at make and free.
struct source_allocator {
	void *(*allocate)(size_t size, size_t alignment, void *context);
	void (*release)(void *memory, void *context);
	void *context;
};

struct roce_capture;

struct source_set {
	uint16_t *ids; // n_sources, ascending
	unsigned n_sources;
	unsigned n_cycle; // positions of the cycle
	int odin_source;  // index of the source whose ODIN fragments are made up, or -1: none
	uint32_t packing; // events in each MFP
	struct source_block *blocks; // [n_cycle][n_sources]
	uint64_t bytes;              // of all blocks
	void *memory;
	struct source_allocator allocator;
	// Kind roce: what is sent instead of blocks (roce_capture.h), its bytes in `memory`. The
	// sources are its connections then, in its order, each with the id of its first MFP.
	struct roce_capture *script;
};

static inline const struct source_block *source_set_block(const struct source_set *set,
							  unsigned cycle, unsigned source)
{
	return &set->blocks[(size_t)cycle * set->n_sources + source];
}

// Bytes that the set of a generator will take, without making it (for the plan). File kinds are
// read. Returns 0, or -1 with a line in error[SOURCE_ERROR_SIZE].
int source_set_plan(const struct config *config, const struct config_generator *generator,
		    uint64_t *bytes, char *error);

// Makes the set of a generator of any kind but pcap. But for kind roce its sources are
// generator->ids, else all of the configuration, else (file kinds) all of the file; sources of the
// file that are not among them are left out. Returns 0, or -1 with one line in
// error[SOURCE_ERROR_SIZE].
int source_set_make(struct source_set **set, const struct config *config,
		    const struct config_generator *generator,
		    const struct source_allocator *allocator, char *error);

void source_set_free(struct source_set *set);

// Gives the ODIN fragments of an MFP the event ids first_event_id, first_event_id + 1, ..., and the
// orbit, bunch (0..3563) and time of that bunch crossing, at one event a crossing of 25 ns counted
// from event 0. The blocks of source `odin_source` count from 0 over the cycle: the sender copies
// such a block, patches the MFP's own event id, and calls this on the copy. ODIN fragments from
// files are to stay as they are; odin_source is -1 then. Returns the number of fragments rewritten;
// 0 if the bytes are no MFP.
unsigned source_set_patch_odin(uint8_t *mfp, size_t size, uint64_t first_event_id);
