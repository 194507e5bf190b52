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
	uint16_t ids[N_IDS];               // of the sources that are wanted, ascending
	const struct mdf_row *rows[N_IDS]; // of the same; NULL: this part of the file has none
	uint8_t versions[N_IDS];           // of the same
	// Scratch: of all rows of the file, and of the fragments of a block.
	const struct mdf_row *row_of[N_IDS]; // by source id
	const struct mdf_known_row *known_of[N_IDS];
	uint8_t types[MFP_MAX_FRAGMENTS];
	uint16_t sizes[MFP_MAX_FRAGMENTS];
	const uint8_t *payloads[MFP_MAX_FRAGMENTS];
};

// Finds the banks of one block in the file and fills the scratch arrays.
static void gather(struct mdf_packer *packer, unsigned cycle, unsigned source)
{
	static const uint8_t nothing;
	uint64_t first = (uint64_t)cycle * packer->packing;

	for (uint32_t i = 0; i < packer->packing; i++) {
		uint32_t event = (uint32_t)((first + i) % packer->events->n_events);
		const struct mdf_bank *bank =
		    packer->rows[source] ? mdf_events_bank(packer->rows[source], event) : NULL;

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
		.version = packer->versions[source],
	};

	gather(packer, cycle, source);
	// Cannot fail: the block has the size that mfp_encoded_size() returned.
	(void)mfp_encode(bytes, size, &header, packer->types, packer->sizes, packer->payloads);
}

static void close_packer(struct block_maker *maker)
{
	struct mdf_packer *packer = (struct mdf_packer *)maker;

	mdf_events_free(packer->events);
	free(packer);
}

uint64_t mdf_packer_cycle(uint64_t n_events, uint32_t packing)
{
	uint64_t a = n_events, b = packing;

	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return n_events / a;
}

// Finds the rows of the known sources; some may have no banks in this part of the file.
static int find_rows(struct mdf_packer *packer, const char *file, const struct mdf_known *known,
		     char *error)
{
	for (unsigned i = 0; i < known->n; i++)
		packer->known_of[known->rows[i].id] = &known->rows[i];
	for (uint32_t i = 0; i < packer->events->n_rows; i++) {
		const struct mdf_row *row = &packer->events->rows[i];
		const struct mdf_known_row *found = mdf_sources_find(known, row);

		if (!found || found->version != row->version)
			return error_line(error, SOURCE_ERROR_SIZE,
					  "%s: banks of type %u, source id %u and version %u are "
					  "not in the first part of the file: enlarge the window",
					  file, row->bank_type, row->bank_source_id, row->version);
		packer->row_of[found->id] = row;
	}
	return 0;
}

// Selects the wanted sources, in ascending order.
static int set_sources(struct mdf_packer *packer, const struct source_set_parameters *parameters,
		       char *error)
{
	unsigned n = parameters->n_ids ? parameters->n_ids : N_IDS;

	for (unsigned i = 0; i < n; i++) {
		uint16_t id = parameters->n_ids ? parameters->ids[i] : (uint16_t)i;
		const struct mdf_known_row *known = packer->known_of[id];

		if (!known && parameters->n_ids)
			return error_line(error, SOURCE_ERROR_SIZE, "%s: it has no source %u",
					  parameters->file, id);
		if (!known)
			continue;
		packer->versions[packer->maker.n_sources] = known->version;
		packer->ids[packer->maker.n_sources] = id;
		packer->rows[packer->maker.n_sources++] = packer->row_of[id];
	}
	return 0;
}

int mdf_packer_open_part(struct block_maker **maker, struct mdf_events *events,
			 const struct source_set_parameters *parameters,
			 const struct mdf_known *known, char *error)
{
	struct mdf_packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return error_line(error, SOURCE_ERROR_SIZE, "out of memory");
	packer->events = events;
	packer->packing = parameters->packing;
	packer->maker = (struct block_maker){
		.ids = packer->ids,
		.n_cycle = (unsigned)mdf_packer_cycle(events->n_events, parameters->packing),
		.odin_source = -1,
		.size = block_size,
		.write = write_block,
		.close = close_packer,
	};
	if (find_rows(packer, parameters->file, known, error) ||
	    set_sources(packer, parameters, error)) {
		packer->events = NULL; // the caller owns them
		close_packer(&packer->maker);
		return -1;
	}
	*maker = &packer->maker;
	return 0;
}

int mdf_packer_open_events(struct block_maker **maker, struct mdf_events *events,
			   const struct source_set_parameters *parameters, char *error)
{
	struct mdf_known *known;
	int result;

	if (mdf_sources_learn(&known, events, error))
		return -1;
	result = mdf_packer_open_part(maker, events, parameters, known, error);
	free(known);
	return result;
}

int mdf_packer_open(struct block_maker **maker, const struct source_set_parameters *parameters,
		    char *error)
{
	struct mdf_events *events;

	if (mdf_events_load(&events, parameters->file, UINT64_MAX, error))
		return -1;
	if (mdf_packer_open_events(maker, events, parameters, error)) {
		mdf_events_free(events);
		return -1;
	}
	return 0;
}
