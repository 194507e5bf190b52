// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fuzz.h"

#include "source/mfp_file.h"

// The first byte is the packing, the rest an .mfp file.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source_set_parameters parameters = { .file = "fuzz" };
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
	if (mfp_file_open_bytes(&maker, copy, size - 1, &parameters, error))
		return 0;
	for (unsigned i = 0; i < maker->n_cycle * maker->n_sources; i++) {
		unsigned cycle = i / maker->n_sources, source = i % maker->n_sources;
		size_t block_size = maker->size(maker, cycle, source, error);
		uint8_t *block = fuzz_allocate(block_size, 1);

		maker->write(maker, cycle, source, block, block_size);
		fuzz_free(block);
	}
	maker->close(maker);
	return 0;
}
