// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/source_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"
#include "source/block_maker.h"
#include "source/capture_mfps.h"
#include "source/mdf_packer.h"
#include "source/mfp_file.h"
#include "source/roce_capture.h"
#include "source/synthetic.h"
#include "wire/mdf.h"
#include "wire/mfp.h"

#define BLOCK_ALIGNMENT   64
#define BUNCHES_PER_ORBIT 3564
#define CROSSINGS_PER_US  40 // one each 25 ns

void *source_allocate(const struct source_allocator *allocator, size_t size, size_t alignment)
{
	if (allocator->allocate)
		return allocator->allocate(size, alignment, allocator->context);
	return aligned_alloc(alignment, size);
}

void source_release(const struct source_allocator *allocator, void *memory)
{
	if (!memory)
		return;
	if (allocator->release)
		allocator->release(memory, allocator->context);
	else if (!allocator->allocate)
		free(memory);
}

static int open_kind(struct block_maker **maker, const struct source_set_parameters *parameters,
		     char *error)
{
	if (!parameters->packing || parameters->packing > MFP_MAX_FRAGMENTS)
		return error_line(error, SOURCE_ERROR_SIZE,
				  "generator %s: packing %u is not in 1..%u", parameters->name,
				  parameters->packing, MFP_MAX_FRAGMENTS);
	switch (parameters->kind) {
	case GENERATOR_SYNTHETIC:
		return synthetic_open(maker, parameters, error);
	case GENERATOR_MDF:
		return mdf_packer_open(maker, parameters, error);
	case GENERATOR_MFP:
		return mfp_file_open(maker, parameters, error);
	case GENERATOR_PCAP:
	case GENERATOR_ROCE:
		return capture_mfps_open(maker, parameters, error);
	case GENERATOR_PRODUCER:
	case GENERATOR_EVENT_RING:
	case GENERATOR_PORT:
		break;
	}
	return error_line(error, SOURCE_ERROR_SIZE, "generator %s: its kind has no source set",
			  parameters->name);
}

// A cycle may be much longer than the run: positions that are never sent are not made.
static int open_maker(struct block_maker **maker, const struct source_set_parameters *parameters,
		      char *error)
{
	if (open_kind(maker, parameters, error))
		return -1;
	if (parameters->events && (*maker)->n_cycle > parameters->events)
		(*maker)->n_cycle = (unsigned)parameters->events;
	return 0;
}

// Adds up the sizes of the blocks, each rounded up to the alignment. Stores them in `blocks` if
// that is not NULL.
static int measure(struct block_maker *maker, struct source_block *blocks, uint64_t *bytes,
		   char *error)
{
	*bytes = 0;
	for (unsigned cycle = 0; cycle < maker->n_cycle; cycle++) {
		for (unsigned source = 0; source < maker->n_sources; source++) {
			size_t size = maker->size(maker, cycle, source, error);

			if (!size)
				return -1;
			*bytes += round_up(size, BLOCK_ALIGNMENT);
			if (blocks)
				(blocks++)->size = (uint32_t)size;
		}
	}
	return 0;
}

static int size_all(struct source_sizes *sizes, struct block_maker *maker, char *error)
{
	const size_t n_blocks = (size_t)maker->n_cycle * maker->n_sources;

	*sizes = (struct source_sizes){
		.sizes = malloc(n_blocks * sizeof(*sizes->sizes)),
		.ids = malloc(maker->n_sources * sizeof(*sizes->ids)),
		.n_sources = maker->n_sources,
		.n_cycle = maker->n_cycle,
		.once = maker->once,
	};
	if (!sizes->sizes || !sizes->ids)
		return error_line(error, SOURCE_ERROR_SIZE, "no memory for %zu sizes", n_blocks);
	memcpy(sizes->ids, maker->ids, maker->n_sources * sizeof(*sizes->ids));
	for (size_t i = 0; i < n_blocks; i++) {
		sizes->sizes[i] = (uint32_t)maker->size(maker, (unsigned)(i / maker->n_sources),
							(unsigned)(i % maker->n_sources), error);
		if (!sizes->sizes[i])
			return -1;
	}
	return 0;
}

int source_set_sizes(struct source_sizes *sizes, const struct source_set_parameters *parameters,
		     char *error)
{
	struct block_maker *maker;
	int result;

	if (open_maker(&maker, parameters, error))
		return -1;
	result = size_all(sizes, maker, error);
	maker->close(maker);
	if (result)
		source_sizes_free(sizes);
	return result;
}

void source_sizes_free(struct source_sizes *sizes)
{
	free(sizes->sizes);
	free(sizes->ids);
}

static void write_blocks(struct source_set *set, struct block_maker *maker)
{
	uint8_t *bytes = set->memory;
	struct source_block *block = set->blocks;

	for (unsigned cycle = 0; cycle < set->n_cycle; cycle++) {
		for (unsigned source = 0; source < set->n_sources; source++, block++) {
			size_t padded = round_up(block->size, BLOCK_ALIGNMENT);

			maker->write(maker, cycle, source, bytes, block->size);
			memset(bytes + block->size, 0, padded - block->size);
			block->bytes = bytes;
			bytes += padded;
		}
	}
}

static int out_of_memory(char *error, uint64_t bytes)
{
	return error_line(error, SOURCE_ERROR_SIZE, "no memory for %llu bytes of generated blocks",
			  (unsigned long long)bytes);
}

static int fill(struct source_set *set, struct block_maker *maker, char *error)
{
	size_t n_blocks = (size_t)maker->n_cycle * maker->n_sources;

	set->n_sources = maker->n_sources;
	set->n_cycle = maker->n_cycle;
	set->once = maker->once;
	set->missing = maker->missing;
	set->odin_source = maker->odin_source;
	set->ids = malloc(maker->n_sources * sizeof(*set->ids));
	set->blocks = malloc(n_blocks * sizeof(*set->blocks));
	if (!set->ids || !set->blocks)
		return out_of_memory(error, n_blocks * sizeof(*set->blocks));
	memcpy(set->ids, maker->ids, maker->n_sources * sizeof(*set->ids));
	if (measure(maker, set->blocks, &set->bytes, error))
		return -1;
	set->memory = source_allocate(&set->allocator, set->bytes, BLOCK_ALIGNMENT);
	if (!set->memory)
		return out_of_memory(error, set->bytes);
	write_blocks(set, maker);
	return 0;
}

// Whether the messages of a capture are sent as they were, instead of blocks.
static bool is_script(const struct source_set_parameters *parameters)
{
	return parameters->kind == GENERATOR_ROCE && !parameters->by_event;
}

static int plan_script(const struct source_set_parameters *parameters, uint64_t *bytes, char *error)
{
	struct roce_capture *script;

	if (roce_capture_read(&script, parameters->file, parameters->roce_port, error))
		return -1;
	*bytes = script->n_bytes + script->n_messages * sizeof(*script->messages);
	roce_capture_free(script);
	return 0;
}

// Moves the bytes of the messages to memory that packets can point to.
static int fill_script(struct source_set *set, char *error)
{
	struct roce_capture *script = set->script;

	set->n_sources = script->n_streams;
	set->odin_source = -1;
	set->bytes = script->n_bytes;
	set->ids = malloc(script->n_streams * sizeof(*set->ids));
	// Messages may all be empty.
	set->memory =
	    source_allocate(&set->allocator, script->n_bytes + BLOCK_ALIGNMENT, BLOCK_ALIGNMENT);
	if (!set->ids || !set->memory)
		return out_of_memory(error, script->n_bytes);
	for (unsigned i = 0; i < script->n_streams; i++)
		set->ids[i] = script->streams[i].source_id;
	memcpy(set->memory, script->bytes, script->n_bytes);
	free(script->bytes);
	script->bytes = NULL;
	return 0;
}

static int make_script(struct source_set *set, const struct source_set_parameters *parameters,
		       char *error)
{
	return roce_capture_read(&set->script, parameters->file, parameters->roce_port, error) ||
		       fill_script(set, error)
		   ? -1
		   : 0;
}

static int make_blocks(struct source_set *set, const struct source_set_parameters *parameters,
		       char *error)
{
	struct block_maker *maker;
	int result;

	if (open_maker(&maker, parameters, error))
		return -1;
	result = fill(set, maker, error);
	maker->close(maker);
	return result;
}

int source_set_plan(const struct source_set_parameters *parameters, uint64_t *bytes, char *error)
{
	struct block_maker *maker;
	int result;

	if (is_script(parameters))
		return plan_script(parameters, bytes, error);
	if (open_maker(&maker, parameters, error))
		return -1;
	result = measure(maker, NULL, bytes, error);
	maker->close(maker);
	return result;
}

int source_set_make(struct source_set **set, const struct source_set_parameters *parameters,
		    const struct source_allocator *allocator, char *error)
{
	struct source_set *made = calloc(1, sizeof(*made));
	int result;

	if (!made)
		return out_of_memory(error, sizeof(*made));
	if (allocator)
		made->allocator = *allocator;
	made->packing = parameters->packing;
	result = is_script(parameters) ? make_script(made, parameters, error)
				       : make_blocks(made, parameters, error);
	if (result)
		source_set_free(made);
	else
		*set = made;
	return result;
}

void source_set_free(struct source_set *set)
{
	if (!set)
		return;
	source_release(&set->allocator, set->memory);
	roce_capture_free(set->script);
	free(set->blocks);
	free(set->ids);
	free(set);
}

unsigned source_set_patch_odin(uint8_t *mfp, size_t size, uint64_t first_event_id)
{
	struct mfp_fragment fragment;
	struct mfp decoded;
	unsigned index = 0, rewritten = 0;
	size_t offset = 0;

	if (mfp_decode(mfp, size, &decoded) != WIRE_OK)
		return 0;
	for (uint64_t event = first_event_id;
	     mfp_next_fragment(&decoded, &index, &offset, &fragment); event++) {
		struct odin odin;

		if (fragment.type != MFP_TYPE_ODIN ||
		    odin_decode(fragment.payload, fragment.size, &odin) != WIRE_OK)
			continue;
		odin.event_id = event;
		odin.orbit = (uint32_t)(event / BUNCHES_PER_ORBIT);
		odin.bunch = (uint32_t)(event % BUNCHES_PER_ORBIT);
		odin.gps_us = event / CROSSINGS_PER_US;
		odin_encode(mfp + (fragment.payload - mfp), &odin);
		rewritten++;
	}
	return rewritten;
}
