// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A source set: the data of all sources that one generator stands for. It is made in full before
// the run, so that sending costs no computation. It holds a cycle of events: event index e is sent
// with the blocks of cycle position e mod n_cycle, and its own event id is written when it is sent.
//
// Threads: made and freed by the control thread; read-only in between.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "source/generator.h"

// A file that is larger than a window is read during the run, one of so many parts of the window
// after the other. The first part has all sources.
#define SOURCE_PARTS  8u
#define SOURCE_WINDOW (UINT64_C(256) << 20) // bytes: the window that the configuration gives

// The strings and ids belong to the caller and outlive the call.
struct source_set_parameters {
	const char *name; // of the generator, for error messages
	enum generator_kind kind;
	const char *file;    // of the file kinds
	const uint16_t *ids; // ascending; the sources wanted
	unsigned n_ids;      // 0: all sources of the file
	uint32_t packing;    // events per MFP, 1..MFP_MAX_FRAGMENTS
	uint32_t run_number; // in ODIN fragments
	uint64_t events;     // MFPs per source that will be sent; 0: no end
	// Kinds mdf and mfp: a file that is larger is not made into a set, but read during the run
	// through a window of so many bytes (store/file_store.h); 0: never
	uint64_t window;
	// Kind synthetic
	struct fragment_sizes sizes;
	uint32_t variants; // positions of the cycle
	uint64_t seed;
	// Kinds pcap and roce
	bool by_event;      // roce: the MFPs of the capture make a set; else its messages do
	uint16_t roce_port; // UDP port of RoCE in the capture
};

// What one source sends for one position of the cycle: an MFP. The sender writes the event id
// first_event + e * packing into it (mfp_patch_event_id()).
struct source_block {
	const uint8_t *bytes; // 64-byte aligned
	uint32_t size;        // bytes
};

// Where the memory of the blocks comes from; NULL functions: malloc and free.
struct source_allocator {
	void *(*allocate)(size_t size, size_t alignment, void *context);
	void (*release)(void *memory, void *context);
	void *context;
};

// Memory of the allocator; NULL if there is none.
void *source_allocate(const struct source_allocator *allocator, size_t size, size_t alignment);
// NULL is allowed.
void source_release(const struct source_allocator *allocator, void *memory);

struct roce_capture;

struct source_set {
	uint16_t *ids; // n_sources, ascending
	unsigned n_sources;
	unsigned n_cycle; // positions of the cycle; no more than events are sent
	bool once;        // there is one cycle: a capture
	uint64_t missing; // blocks of a capture that are error MFPs, because they are not whole
	int odin_source;  // index of the source whose ODIN fragments are synthetic, or -1: none
	uint32_t packing; // events per MFP
	struct source_block *blocks; // [n_cycle][n_sources]
	uint64_t bytes;              // of all blocks
	void *memory;
	struct source_allocator allocator;
	// Kind roce: the messages that are sent instead of blocks (roce_capture.h); their bytes lie
	// in `memory`. The sources are the connections of the capture, in its order, and each has
	// the id of its first MFP.
	struct roce_capture *script;
};

static inline const struct source_block *source_set_block(const struct source_set *set,
							  unsigned cycle, unsigned source)
{
	return &set->blocks[(size_t)cycle * set->n_sources + source];
}

// Sets *bytes to the memory that the set will need, without making it (for the plan). Files are
// read. Returns 0, or -1 with one line in error[SOURCE_ERROR_SIZE].
int source_set_plan(const struct source_set_parameters *parameters, uint64_t *bytes, char *error);

// Makes a set of a kind whose data exist before the run. Sources of a file that are not wanted are
// left out. A set of messages has all connections of the capture. `allocator` may be NULL: malloc
// and free. Returns 0, or -1 with one line in error[SOURCE_ERROR_SIZE].
int source_set_make(struct source_set **set, const struct source_set_parameters *parameters,
		    const struct source_allocator *allocator, char *error);

void source_set_free(struct source_set *set);

// The sizes of the blocks of a set that is not made: for simulations.
struct source_sizes {
	uint32_t *sizes; // [n_cycle][n_sources], bytes
	uint16_t *ids;   // [n_sources], ascending
	unsigned n_sources;
	unsigned n_cycle;
	bool once; // as in struct source_set
};

// Of the kinds whose blocks source_set_make() makes. Returns 0, or -1 with one line in
// error[SOURCE_ERROR_SIZE]. The caller frees them.
int source_set_sizes(struct source_sizes *sizes, const struct source_set_parameters *parameters,
		     char *error);
void source_sizes_free(struct source_sizes *sizes);

// Writes the event ids first_event_id, first_event_id + 1, ... into the ODIN fragments of an MFP,
// and the orbit, bunch (0..3563) and time of that bunch crossing: one event per crossing of 25 ns,
// counted from event 0. The blocks of source `odin_source` count from 0 over the cycle; the sender
// copies such a block, writes the event id of the MFP, and calls this function on the copy. ODIN
// fragments from files are sent unchanged (odin_source is -1). Returns the number of fragments
// rewritten; 0 if the bytes are not an MFP.
unsigned source_set_patch_odin(uint8_t *mfp, size_t size, uint64_t first_event_id);
