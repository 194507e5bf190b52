// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/mdf_packer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error_line.h"
#include "source/mdf_sources.h"
#include "wire/mfp.h"

#define ALIGN_LOG2 2
#define N_IDS      65536u

struct mdf_packer {
	struct block_maker maker;
	struct mdf_events *events;
	uint32_t packing;
	uint16_t *ids;               // of the sources that are wanted, ascending
	const struct mdf_row **rows; // of the same
	uint8_t *types;              // scratch, packing
	uint16_t *sizes;             // scratch, packing
	const uint8_t **payloads;    // scratch, packing
};

// Finds the banks of one block in the file and fills the scratch arrays.
static void gather(struct mdf_packer *packer, unsigned cycle, unsigned source)
{
	static const uint8_t nothing;
	uint64_t first = (uint64_t)cycle * packer->packing;

	for (uint32_t i = 0; i < packer->packing; i++) {
		uint32_t event = (uint32_t)((first + i) % packer->events->n_events);
		const struct mdf_bank *bank = mdf_events_bank(packer->rows[source], event);

		packer->types[i] = bank ? bank->type : MFP_TYPE_FRAGMENT_MISSING;
		packer->sizes[i] = bank ? bank->size : 0;
		packer->payloads[i] = bank ? bank->payload : &nothing;
	}
}

static size_t block_size(struct block_maker *maker, unsigned cycle, unsigned source, char *error)
{
	struct mdf_packer *packer = (struct mdf_packer *)maker;
	size_t size;

	gather(packer, cycle, source);
	size = mfp_encoded_size(packer->packing, packer->sizes, ALIGN_LOG2);
	if (!size)
		snprintf(error, SOURCE_ERROR_SIZE,
			 "source %u: %u fragments are too large for one MFP", packer->ids[source],
			 packer->packing);
	return size;
}

static void write_block(struct block_maker *maker, unsigned cycle, unsigned source, uint8_t *bytes,
			size_t size)
{
	struct mdf_packer *packer = (struct mdf_packer *)maker;
	struct mfp_header header = {
		.event_id = (uint64_t)cycle * packer->packing,
		.n_fragments = (uint16_t)packer->packing,
		.source_id = packer->ids[source],
		.align_log2 = ALIGN_LOG2,
		.version = packer->rows[source]->version,
	};

	gather(packer, cycle, source);
	// Cannot fail: the block has the size that mfp_encoded_size() returned.
	(void)mfp_encode(bytes, size, &header, packer->types, packer->sizes, packer->payloads);
}

static void close_packer(struct block_maker *maker)
{
	struct mdf_packer *packer = (struct mdf_packer *)maker;

	mdf_events_free(packer->events);
	free(packer->ids);
	free(packer->rows);
	free(packer->types);
	free(packer->sizes);
	free(packer->payloads);
	free(packer);
}

// The number of positions of a cycle that covers the events a whole number of times: lcm(E, p) / p.
static unsigned cycle_length(uint32_t n_events, uint32_t packing)
{
	uint32_t a = n_events, b = packing;

	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return n_events / a;
}

// Selects the wanted sources, in ascending order. row_of[id] is the index of the row + 1.
static int choose(struct mdf_packer *packer, const uint32_t *row_of,
		  const struct source_set_parameters *parameters, char *error)
{
	const struct mdf_row *rows = packer->events->rows;
	unsigned n = 0;

	for (unsigned i = 0; i < parameters->n_ids; i++) {
		uint16_t id = parameters->ids[i];

		if (!row_of[id])
			return error_line(error, SOURCE_ERROR_SIZE, "%s: it has no source %u",
					  parameters->file, id);
		packer->ids[n] = id;
		packer->rows[n++] = &rows[row_of[id] - 1];
	}
	for (unsigned id = 0; !parameters->n_ids && id < N_IDS; id++) {
		if (!row_of[id])
			continue;
		packer->ids[n] = (uint16_t)id;
		packer->rows[n++] = &rows[row_of[id] - 1];
	}
	packer->maker.n_sources = n;
	return 0;
}

static int set_sources(struct mdf_packer *packer, const struct source_set_parameters *parameters,
		       char *error)
{
	uint16_t *ids = malloc(packer->events->n_rows * sizeof(*ids));
	uint32_t *row_of = calloc(N_IDS, sizeof(*row_of));
	int result = -1;

	if (!ids || !row_of) {
		snprintf(error, SOURCE_ERROR_SIZE, "out of memory");
	} else if (!mdf_sources_assign(packer->events, ids, error)) {
		for (uint32_t i = 0; i < packer->events->n_rows; i++)
			row_of[ids[i]] = i + 1;
		result = choose(packer, row_of, parameters, error);
	}
	free(ids);
	free(row_of);
	return result;
}

static struct mdf_packer *allocate_packer(uint32_t packing, size_t n_sources)
{
	struct mdf_packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return NULL;
	packer->ids = malloc(n_sources * sizeof(*packer->ids));
	packer->rows = malloc(n_sources * sizeof(*packer->rows));
	packer->types = malloc(packing);
	packer->sizes = malloc(packing * sizeof(*packer->sizes));
	packer->payloads = malloc(packing * sizeof(*packer->payloads));
	if (packer->ids && packer->rows && packer->types && packer->sizes && packer->payloads)
		return packer;
	close_packer(&packer->maker);
	return NULL;
}

int mdf_packer_open_events(struct block_maker **maker, struct mdf_events *events,
			   const struct source_set_parameters *parameters, char *error)
{
	unsigned n_sources = parameters->n_ids ? parameters->n_ids : events->n_rows;
	struct mdf_packer *packer = allocate_packer(parameters->packing, n_sources);

	if (!packer)
		return error_line(error, SOURCE_ERROR_SIZE, "out of memory");
	packer->events = events;
	packer->packing = parameters->packing;
	packer->maker = (struct block_maker){
		.ids = packer->ids,
		.n_cycle = cycle_length(events->n_events, parameters->packing),
		.odin_source = -1,
		.size = block_size,
		.write = write_block,
		.close = close_packer,
	};
	if (set_sources(packer, parameters, error)) {
		packer->events = NULL; // the caller owns them
		close_packer(&packer->maker);
		return -1;
	}
	*maker = &packer->maker;
	return 0;
}

int mdf_packer_open(struct block_maker **maker, const struct source_set_parameters *parameters,
		    char *error)
{
	struct mdf_events *events;

	if (mdf_events_load(&events, parameters->file, error))
		return -1;
	if (mdf_packer_open_events(maker, events, parameters, error)) {
		mdf_events_free(events);
		return -1;
	}
	return 0;
}
