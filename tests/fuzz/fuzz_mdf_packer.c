// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fuzz.h"

#include "source/mdf_packer.h"

#define MAXIMUM_BLOCKS 4096

static void make_blocks(struct block_maker *maker)
{
	unsigned n = maker->n_cycle * maker->n_sources;

	for (unsigned i = 0; i < n && i < MAXIMUM_BLOCKS; i++) {
		char error[SOURCE_ERROR_SIZE];
		unsigned cycle = i / maker->n_sources, source = i % maker->n_sources;
		size_t block_size = maker->size(maker, cycle, source, error);
		uint8_t *block = fuzz_allocate(block_size, 1);

		if (block_size > 0)
			maker->write(maker, cycle, source, block, block_size);
		fuzz_free(block);
	}
}

// The first byte is the packing, the rest an MDF file.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source_set_parameters parameters = { .file = "fuzz" };
	struct mdf_events *events;
	struct block_maker *maker;
	char error[SOURCE_ERROR_SIZE];
	uint8_t *copy;

	if (!size)
		return 0;
	parameters.packing = 1u + data[0];
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	if (mdf_events_parse(&events, copy, size - 1, "fuzz", error)) {
		free(copy);
		return 0;
	}
	if (mdf_packer_open_events(&maker, events, &parameters, error)) {
		mdf_events_free(events);
		return 0;
	}
	make_blocks(maker);
	maker->close(maker);
	return 0;
}
