// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/source_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/block_maker.h"
#include "source/mdf_packer.h"
#include "source/mfp_file.h"
#include "source/roce_capture.h"
#include "source/synthetic.h"
#include "wire/mfp.h"

#define BLOCK_ALIGNMENT 64

static void *allocate(const struct source_allocator *allocator, size_t size)
{
	if (allocator->allocate)
		return allocator->allocate(size, BLOCK_ALIGNMENT, allocator->context);
	return aligned_alloc(BLOCK_ALIGNMENT, size);
}

static void release(const struct source_allocator *allocator, void *memory)
{
	if (allocator->release)
		allocator->release(memory, allocator->context);
	else if (!allocator->allocate)
		free(memory);
}

static int open_maker(struct block_maker **maker, const struct config *config,
		      const struct config_generator *generator, char *error)
{
	bool own = generator->n_ids > 0;
	struct block_request request = {
		.generator = generator,
		.ids = own ? generator->ids : config->sources.ids,
		.n_ids = own ? generator->n_ids : config->sources.n_ids,
		.packing = config->sources.packing,
		.run_number = config->run_number,
	};

	if (!request.packing || request.packing > MFP_MAX_FRAGMENTS) {
		snprintf(error, SOURCE_ERROR_SIZE, "generator %s: packing %u is not in 1..%u",
			 generator->name, request.packing, MFP_MAX_FRAGMENTS);
		return -1;
	}
	switch (generator->kind) {
	case CONFIG_GENERATOR_SYNTHETIC:
		return synthetic_open(maker, &request, error);
	case CONFIG_GENERATOR_MDF:
		return mdf_packer_open(maker, &request, error);
	case CONFIG_GENERATOR_MFP:
		return mfp_file_open(maker, &request, error);
	case CONFIG_GENERATOR_PCAP:
	case CONFIG_GENERATOR_ROCE:
		break;
	}
	snprintf(error, SOURCE_ERROR_SIZE, "generator %s: its kind has no source set",
		 generator->name);
	return -1;
}

// Sums the blocks' sizes, each rounded up to the alignment, and stores them where sizes is given.
static int measure(struct block_maker *maker, uint32_t *sizes, uint64_t *bytes, char *error)
{
	*bytes = 0;
	for (unsigned cycle = 0; cycle < maker->n_cycle; cycle++) {
		for (unsigned source = 0; source < maker->n_sources; source++) {
			size_t size = maker->size(maker, cycle, source, error);

			if (!size)
				return -1;
			*bytes += round_up(size, BLOCK_ALIGNMENT);
			if (sizes)
				sizes[(size_t)cycle * maker->n_sources + source] = (uint32_t)size;
		}
	}
	return 0;
}

static void write_blocks(struct source_set *set, struct block_maker *maker, const uint32_t *sizes)
{
	uint8_t *bytes = set->memory;
	struct source_block *block = set->blocks;

	for (unsigned cycle = 0; cycle < set->n_cycle; cycle++) {
		for (unsigned source = 0; source < set->n_sources; source++, block++, sizes++) {
			size_t padded = round_up(*sizes, BLOCK_ALIGNMENT);

			maker->write(maker, cycle, source, bytes, *sizes);
			memset(bytes + *sizes, 0, padded - *sizes);
			*block = (struct source_block){ bytes, *sizes };
			bytes += padded;
		}
	}
}

static int out_of_memory(char *error, uint64_t bytes)
{
	snprintf(error, SOURCE_ERROR_SIZE, "no memory for %llu bytes of generated blocks",
		 (unsigned long long)bytes);
	return -1;
}

static int fill(struct source_set *set, struct block_maker *maker, char *error)
{
	size_t n_blocks = (size_t)maker->n_cycle * maker->n_sources;
	uint32_t *sizes = malloc(n_blocks * sizeof(*sizes));

	set->n_sources = maker->n_sources;
	set->n_cycle = maker->n_cycle;
	set->odin_source = maker->odin_source;
	set->ids = malloc(maker->n_sources * sizeof(*set->ids));
	set->blocks = malloc(n_blocks * sizeof(*set->blocks));
	if (!sizes || !set->ids || !set->blocks) {
		free(sizes);
		return out_of_memory(error, n_blocks * sizeof(*set->blocks));
	}
	memcpy(set->ids, maker->ids, maker->n_sources * sizeof(*set->ids));
	if (measure(maker, sizes, &set->bytes, error)) {
		free(sizes);
		return -1;
	}
	set->memory = allocate(&set->allocator, set->bytes);
	if (!set->memory) {
		free(sizes);
		return out_of_memory(error, set->bytes);
	}
	write_blocks(set, maker, sizes);
	free(sizes);
	return 0;
}

static int plan_script(const struct config *config, const struct config_generator *generator,
		       uint64_t *bytes, char *error)
{
	struct roce_capture *script;

	if (roce_capture_read(&script, generator->file, config->roce.udp_port, error))
		return -1;
	*bytes = script->n_bytes + script->n_messages * sizeof(*script->messages);
	roce_capture_free(script);
	return 0;
}

// The messages' bytes move to where packets can point to them.
static int fill_script(struct source_set *set, char *error)
{
	struct roce_capture *script = set->script;

	set->n_sources = script->n_streams;
	set->odin_source = -1;
	set->bytes = script->n_bytes;
	set->ids = malloc(script->n_streams * sizeof(*set->ids));
	// Messages may all be empty.
	set->memory = allocate(&set->allocator, script->n_bytes + BLOCK_ALIGNMENT);
	if (!set->ids || !set->memory)
		return out_of_memory(error, script->n_bytes);
	for (unsigned i = 0; i < script->n_streams; i++)
		set->ids[i] = script->streams[i].source_id;
	memcpy(set->memory, script->bytes, script->n_bytes);
	free(script->bytes);
	script->bytes = NULL;
	return 0;
}

static int make_script(struct source_set **set, const struct config *config,
		       const struct config_generator *generator,
		       const struct source_allocator *allocator, char *error)
{
	struct source_set *made = calloc(1, sizeof(*made));

	if (!made)
		return out_of_memory(error, sizeof(*made));
	if (allocator)
		made->allocator = *allocator;
	made->packing = config->sources.packing;
	if (roce_capture_read(&made->script, generator->file, config->roce.udp_port, error) ||
	    fill_script(made, error)) {
		source_set_free(made);
		return -1;
	}
	*set = made;
	return 0;
}

int source_set_plan(const struct config *config, const struct config_generator *generator,
		    uint64_t *bytes, char *error)
{
	struct block_maker *maker;
	int result;

	if (generator->kind == CONFIG_GENERATOR_ROCE)
		return plan_script(config, generator, bytes, error);
	if (open_maker(&maker, config, generator, error))
		return -1;
	result = measure(maker, NULL, bytes, error);
	maker->close(maker);
	return result;
}

int source_set_make(struct source_set **set, const struct config *config,
		    const struct config_generator *generator,
		    const struct source_allocator *allocator, char *error)
{
	struct source_set *made;
	struct block_maker *maker;
	int result;

	if (generator->kind == CONFIG_GENERATOR_ROCE)
		return make_script(set, config, generator, allocator, error);
	if (open_maker(&maker, config, generator, error))
		return -1;
	made = calloc(1, sizeof(*made));
	if (made) {
		if (allocator)
			made->allocator = *allocator;
		made->packing = config->sources.packing;
		result = fill(made, maker, error);
	} else {
		result = out_of_memory(error, sizeof(*made));
	}
	maker->close(maker);
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
	if (set->memory)
		release(&set->allocator, set->memory);
	roce_capture_free(set->script);
	free(set->blocks);
	free(set->ids);
	free(set);
}
