// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error_line.h"
#include "base/random.h"
#include "source/lhcb_profile.h"
#include "source/pattern.h"
#include "wire/mdf.h"
#include "wire/mfp.h"

#define ALIGN_LOG2   2
#define ODIN_VERSION 7

struct synthetic {
	struct block_maker maker;
	struct source_set_parameters parameters;
	uint8_t types[MFP_MAX_FRAGMENTS];  // scratch
	uint16_t sizes[MFP_MAX_FRAGMENTS]; // scratch
};

static unsigned subdetector_of(uint16_t id)
{
	return id >> 11;
}

static uint16_t clamp(double size, uint32_t maximum)
{
	if (maximum > UINT16_MAX)
		maximum = UINT16_MAX;
	if (!(size > 0))
		return 0;
	return size < maximum ? (uint16_t)lrint(size) : (uint16_t)maximum;
}

// Gaussian with mean 0 and standard deviation 1 (Box-Muller).
static double gaussian(struct random *random)
{
	double radius = sqrt(-2 * log(1 - random_uniform(random)));

	return radius * cos(6.283185307179586 * random_uniform(random));
}

uint16_t synthetic_draw_size(const struct fragment_sizes *sizes, unsigned subdetector,
			     struct random *random)
{
	if (sizes->outliers > 0 && random_uniform(random) < sizes->outliers)
		return clamp(sizes->outlier, UINT16_MAX);
	switch (sizes->law) {
	case SIZE_GAUSSIAN:
		return clamp(sizes->mean + sizes->sigma * gaussian(random), sizes->maximum);
	case SIZE_LHCB:
		return lhcb_profile_size(lhcb_profile(subdetector), random_uniform(random));
	case SIZE_FIXED:
		break;
	}
	return clamp(sizes->mean, UINT16_MAX);
}

// Draws the sizes of one block into the scratch arrays.
static void draw(struct synthetic *synthetic, unsigned cycle, unsigned source)
{
	uint16_t id = synthetic->maker.ids[source];
	bool odin = (int)source == synthetic->maker.odin_source;
	struct random random = random_fork(synthetic->parameters.seed, (uint64_t)cycle << 16 | id);

	for (uint32_t i = 0; i < synthetic->parameters.packing; i++)
		synthetic->sizes[i] = odin ? ODIN_SIZE
					   : synthetic_draw_size(&synthetic->parameters.sizes,
								 subdetector_of(id), &random);
}

static size_t block_size(struct block_maker *maker, unsigned cycle, unsigned source, char *error)
{
	struct synthetic *synthetic = (struct synthetic *)maker;
	size_t size;

	draw(synthetic, cycle, source);
	size = mfp_encoded_size(synthetic->parameters.packing, synthetic->sizes, ALIGN_LOG2);
	if (!size)
		snprintf(error, SOURCE_ERROR_SIZE,
			 "generator %s: %u fragments are too large for one MFP",
			 synthetic->parameters.name, synthetic->parameters.packing);
	return size;
}

static void fill_fragments(const struct synthetic *synthetic, uint8_t *data, uint16_t id,
			   uint8_t stream)
{
	for (uint32_t i = 0; i < synthetic->parameters.packing; i++) {
		size_t size = synthetic->sizes[i];
		size_t padded = round_up(size, 1u << ALIGN_LOG2);

		pattern_fill(data, size, pattern_seed(id, (uint16_t)i, stream));
		memset(data + size, 0, padded - size);
		data += padded;
	}
}

static void fill_odin(const struct synthetic *synthetic, uint8_t *bytes, size_t size,
		      unsigned cycle)
{
	const struct odin odin = { .run = synthetic->parameters.run_number };
	uint8_t *data = bytes + mfp_data_offset(synthetic->parameters.packing);

	for (uint32_t i = 0; i < synthetic->parameters.packing; i++)
		odin_encode(data + (size_t)i * ODIN_SIZE, &odin);
	// Cannot fail: every fragment is an ODIN fragment.
	(void)source_set_patch_odin(bytes, size, (uint64_t)cycle * synthetic->parameters.packing);
}

static void write_block(struct block_maker *maker, unsigned cycle, unsigned source, uint8_t *bytes,
			size_t size)
{
	struct synthetic *synthetic = (struct synthetic *)maker;
	uint16_t id = synthetic->maker.ids[source];
	bool odin = (int)source == maker->odin_source;
	const struct lhcb_profile *profile = lhcb_profile(subdetector_of(id));
	struct mfp_header header = {
		.event_id = (uint64_t)cycle * synthetic->parameters.packing,
		.n_fragments = (uint16_t)synthetic->parameters.packing,
		.source_id = id,
		.align_log2 = ALIGN_LOG2,
		.version = odin ? ODIN_VERSION : profile->version,
	};

	draw(synthetic, cycle, source);
	memset(synthetic->types, odin ? MFP_TYPE_ODIN : profile->type,
	       synthetic->parameters.packing);
	// Cannot fail: the block has the size that mfp_encoded_size() returned.
	(void)mfp_encode_header(bytes, size, &header, synthetic->types, synthetic->sizes);
	if (odin)
		fill_odin(synthetic, bytes, size, cycle);
	else
		fill_fragments(synthetic, bytes + mfp_data_offset(synthetic->parameters.packing),
			       id, (uint8_t)cycle);
}

static void close_synthetic(struct block_maker *maker)
{
	free(maker);
}

int synthetic_open(struct block_maker **maker, const struct source_set_parameters *parameters,
		   char *error)
{
	struct synthetic *synthetic;

	if (!parameters->n_ids)
		return error_line(error, SOURCE_ERROR_SIZE, "generator %s: there are no source ids",
				  parameters->name);
	synthetic = calloc(1, sizeof(*synthetic));
	if (!synthetic)
		return error_line(error, SOURCE_ERROR_SIZE, "out of memory");
	synthetic->parameters = *parameters;
	synthetic->maker = (struct block_maker){
		.ids = parameters->ids,
		.n_sources = parameters->n_ids,
		.n_cycle = parameters->variants ? parameters->variants : 1,
		.odin_source = -1,
		.size = block_size,
		.write = write_block,
		.close = close_synthetic,
	};
	if (parameters->sizes.law == SIZE_LHCB && subdetector_of(parameters->ids[0]) == 0)
		synthetic->maker.odin_source = 0;
	*maker = &synthetic->maker;
	return 0;
}
