// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "source/lhcb_profile.h"
#include "source/pattern.h"
#include "source/synthetic.h"
#include "wire/mdf.h"
#include "wire/mfp.h"

#define DRAWS 200000

static uint16_t ids[MOST_IDS];

static struct source_set_parameters synthetic(uint16_t first_id, unsigned n_ids, uint32_t packing)
{
	struct source_set_parameters parameters = parameters_with(ids, first_id, n_ids, packing);

	parameters.kind = GENERATOR_SYNTHETIC;
	parameters.sizes = (struct fragment_sizes){ SIZE_FIXED, .mean = 100, .maximum = 65535 };
	parameters.variants = 3;
	parameters.seed = 1;
	return parameters;
}

static struct mfp decode(const struct source_block *block)
{
	struct mfp mfp;

	assert_int_equal(mfp_decode(block->bytes, block->size, &mfp), WIRE_OK);
	assert_int_equal(mfp.header.packet_size, block->size);
	return mfp;
}

static void synthetic__blocks_are_mfps(void **state)
{
	struct source_set_parameters parameters = synthetic(0x1003, 4, 10);
	struct source_set *set = make_set(&parameters);
	const uint8_t *expected = set->memory;

	(void)state;
	assert_int_equal(set->n_sources, 4);
	assert_int_equal(set->n_cycle, 3);
	assert_int_equal(set->packing, 10);
	assert_int_equal(set->odin_source, -1);
	assert_int_equal(set->bytes, 12 * 1088); // 20 + 12 + 20 + 10 * 100 = 1052, up to 64
	for (unsigned cycle = 0; cycle < 3; cycle++) {
		for (unsigned source = 0; source < 4; source++) {
			const struct source_block *block = source_set_block(set, cycle, source);
			struct mfp mfp = decode(block);

			assert_ptr_equal(block->bytes, expected);
			assert_int_equal((uintptr_t)block->bytes % 64, 0);
			assert_int_equal(block->size, 1052);
			assert_int_equal(set->ids[source], 0x1003 + source);
			assert_int_equal(mfp.header.source_id, 0x1003 + source);
			assert_int_equal(mfp.header.event_id, cycle * 10);
			assert_int_equal(mfp.header.n_fragments, 10);
			assert_int_equal(mfp.header.align_log2, 2);
			assert_int_equal(mfp.types[9], 63); // subdetector 2: VELO
			assert_int_equal(pattern_check_mfp(&mfp), 0);
			expected += 1088;
		}
	}
	source_set_free(set);
}

static void synthetic__variants_differ(void **state)
{
	struct source_set_parameters parameters = synthetic(0x809, 1, 2);
	struct source_set *set = make_set(&parameters);

	(void)state;
	assert_memory_not_equal(set->blocks[0].bytes + 32, set->blocks[1].bytes + 32, 200);
	assert_memory_not_equal(set->blocks[1].bytes + 32, set->blocks[2].bytes + 32, 200);
	source_set_free(set);
	parameters.packing = 100;
	parameters.sizes.law = SIZE_LHCB;
	set = make_set(&parameters);
	// the arrays of sizes
	assert_memory_not_equal(set->blocks[0].bytes + 120, set->blocks[1].bytes + 120, 200);
	assert_memory_not_equal(set->blocks[1].bytes + 120, set->blocks[2].bytes + 120, 200);
	source_set_free(set);
}

static void synthetic__seed_decides(void **state)
{
	struct source_set_parameters parameters = synthetic(0x800, 5, 20);
	struct source_set *one, *same, *other;

	(void)state;
	parameters.sizes.law = SIZE_LHCB;
	one = make_set(&parameters);
	same = make_set(&parameters);
	parameters.seed = 2;
	other = make_set(&parameters);
	assert_int_equal(one->bytes, same->bytes);
	assert_memory_equal(one->memory, same->memory, one->bytes);
	assert_true(other->bytes != one->bytes ||
		    memcmp(other->memory, one->memory, one->bytes) != 0);
	source_set_free(one);
	source_set_free(same);
	source_set_free(other);
}

// A source's data do not depend on which other sources there are.
static void synthetic__source_alone_is_the_same(void **state)
{
	struct source_set_parameters parameters = synthetic(0x800, 5, 20);
	struct source_set *all, *alone;

	(void)state;
	parameters.sizes.law = SIZE_GAUSSIAN;
	parameters.sizes.sigma = 30;
	all = make_set(&parameters);
	parameters.n_ids = 1;
	ids[0] = 0x803;
	alone = make_set(&parameters);
	assert_int_equal(alone->n_sources, 1);
	for (unsigned cycle = 0; cycle < 3; cycle++) {
		const struct source_block *a = source_set_block(all, cycle, 3);
		const struct source_block *b = source_set_block(alone, cycle, 0);

		assert_int_equal(a->size, b->size);
		assert_memory_equal(a->bytes, b->bytes, a->size);
	}
	source_set_free(all);
	source_set_free(alone);
}

static void synthetic__plan_is_what_is_made(void **state)
{
	struct source_set_parameters parameters = synthetic(1, 7, 33);
	struct source_set *set;
	char error[SOURCE_ERROR_SIZE];
	uint64_t bytes;

	(void)state;
	parameters.sizes.law = SIZE_LHCB;
	set = make_set(&parameters);
	assert_int_equal(source_set_plan(&parameters, &bytes, error), 0);
	assert_int_equal(bytes, set->bytes);
	source_set_free(set);
}

static void *count_allocation(size_t size, size_t alignment, void *context)
{
	assert_int_equal(alignment, 64);
	*(int *)context += 1;
	return aligned_alloc(alignment, size);
}

static void count_release(void *memory, void *context)
{
	*(int *)context += 10;
	free(memory);
}

static void *refuse_allocation(size_t size, size_t alignment, void *context)
{
	(void)size;
	(void)alignment;
	(void)context;
	return NULL;
}

static void source_set__uses_the_allocator(void **state)
{
	struct source_set_parameters parameters = synthetic(1, 2, 3);
	int calls = 0;
	struct source_allocator allocator = { count_allocation, count_release, &calls };
	struct source_set *set;
	char error[SOURCE_ERROR_SIZE];

	(void)state;
	assert_int_equal(source_set_make(&set, &parameters, &allocator, error), 0);
	assert_int_equal(calls, 1);
	source_set_free(set);
	assert_int_equal(calls, 11);
	allocator = (struct source_allocator){ .allocate = refuse_allocation };
	assert_int_equal(source_set_make(&set, &parameters, &allocator, error), -1);
	assert_string_equal(error, "no memory for 2304 bytes of generated blocks");
}

static void source_set__its_sizes_without_its_blocks(void **state)
{
	struct source_set_parameters parameters = synthetic(3, 4, 5);
	struct source_sizes sizes;
	struct source_set *set;
	char error[SOURCE_ERROR_SIZE];

	(void)state;
	parameters.sizes = (struct fragment_sizes){
		.law = SIZE_GAUSSIAN, .mean = 90, .sigma = 40, .maximum = 300
	};
	assert_int_equal(source_set_make(&set, &parameters, NULL, error), 0);
	assert_int_equal(source_set_sizes(&sizes, &parameters, error), 0);
	assert_int_equal(sizes.n_sources, set->n_sources);
	assert_int_equal(sizes.n_cycle, set->n_cycle);
	assert_int_equal(sizes.once, set->once);
	assert_memory_equal(sizes.ids, set->ids, set->n_sources * sizeof(*set->ids));
	for (unsigned i = 0; i < set->n_cycle * set->n_sources; i++)
		assert_int_equal(sizes.sizes[i], set->blocks[i].size);
	source_sizes_free(&sizes);
	source_set_free(set);
	parameters.packing = 0;
	assert_int_equal(source_set_sizes(&sizes, &parameters, error), -1);
}

static void source_set__refuses_what_cannot_be_made(void **state)
{
	struct source_set_parameters parameters = synthetic(1, 0, 3);

	(void)state;
	expect_refused(&parameters, "generator g: there are no source ids");
	parameters.n_ids = 1;
	parameters.packing = 0;
	expect_refused(&parameters, "packing 0 is not in 1..65535");
	parameters.packing = 65536;
	expect_refused(&parameters, "packing 65536 is not in 1..65535");
	parameters.packing = 65535;
	parameters.sizes.mean = 65535;
	parameters.variants = 1;
	expect_refused(&parameters, "65535 fragments are too large for one MFP");
	parameters.packing = 1;
	parameters.kind = GENERATOR_PRODUCER;
	expect_refused(&parameters, "its kind has no source set");
}

static void draw(const struct fragment_sizes *sizes, unsigned subdetector, double *mean,
		 double *sigma, unsigned *smallest, unsigned *largest)
{
	struct random random = { 12345 };
	double sum = 0, squares = 0;

	*smallest = UINT16_MAX;
	*largest = 0;
	for (unsigned i = 0; i < DRAWS; i++) {
		unsigned size = synthetic_draw_size(sizes, subdetector, &random);

		sum += size;
		squares += (double)size * size;
		*smallest = size < *smallest ? size : *smallest;
		*largest = size > *largest ? size : *largest;
	}
	*mean = sum / DRAWS;
	*sigma = sqrt(squares / DRAWS - *mean * *mean);
}

static void size_law__fixed(void **state)
{
	struct fragment_sizes sizes = { .law = SIZE_FIXED, .mean = 217 };
	double mean, sigma;
	unsigned smallest, largest;

	(void)state;
	draw(&sizes, 0, &mean, &sigma, &smallest, &largest);
	assert_int_equal(smallest, 217);
	assert_int_equal(largest, 217);
}

static void size_law__gaussian(void **state)
{
	struct fragment_sizes sizes = {
		.law = SIZE_GAUSSIAN, .mean = 1000, .sigma = 100, .maximum = 65535
	};
	double mean, sigma;
	unsigned smallest, largest;

	(void)state;
	draw(&sizes, 0, &mean, &sigma, &smallest, &largest);
	assert_true(fabs(mean - 1000) < 1);
	assert_true(fabs(sigma - 100) < 1);
	assert_in_range(smallest, 450, 650);
	assert_in_range(largest, 1350, 1550);
}

// Clamped at 2 sigma as LSEB's: the mean falls by sigma * (pdf(2) - 2 * (1 - cdf(2))) = 0.17.
static void size_law__gaussian_with_maximum(void **state)
{
	struct fragment_sizes sizes = {
		.law = SIZE_GAUSSIAN, .mean = 200, .sigma = 20, .maximum = 240
	};
	double mean, sigma;
	unsigned smallest, largest;

	(void)state;
	draw(&sizes, 0, &mean, &sigma, &smallest, &largest);
	assert_true(fabs(mean - 199.83) < 0.15);
	assert_true(fabs(sigma - 19.5) < 0.5);
	assert_int_equal(largest, 240);
	sizes.mean = 10;
	draw(&sizes, 0, &mean, &sigma, &smallest, &largest);
	assert_int_equal(smallest, 0);
}

// Means and shares of empty fragments as measured (by another program) on the events.
static void size_law__lhcb(void **state)
{
	static const struct {
		unsigned subdetector, type, maximum;
		double mean;
	} measured[] = {
		{ 2, 63, 316, 56.67 },  { 4, 9, 1312, 60.47 },  { 5, 66, 350, 36.96 },
		{ 7, 64, 184, 40.35 },  { 11, 21, 468, 289.7 }, { 12, 22, 440, 255.2 },
		{ 13, 13, 584, 113.2 },
	};
	struct fragment_sizes sizes = { .law = SIZE_LHCB };
	double mean, sigma;
	unsigned smallest, largest;

	(void)state;
	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
		draw(&sizes, measured[i].subdetector, &mean, &sigma, &smallest, &largest);
		if (fabs(mean / measured[i].mean - 1) > 0.03)
			fail_msg("subdetector %u: mean %f", measured[i].subdetector, mean);
		assert_true(largest <= measured[i].maximum && largest > measured[i].maximum * 0.9);
		assert_int_equal(lhcb_profile(measured[i].subdetector)->type, measured[i].type);
	}
}

static void size_law__lhcb_keeps_empty_fragments(void **state)
{
	struct fragment_sizes sizes = { .law = SIZE_LHCB };
	struct random random = { 7 };
	unsigned empty = 0;

	(void)state;
	for (unsigned i = 0; i < DRAWS; i++)
		empty += !synthetic_draw_size(&sizes, 9, &random);
	assert_true(fabs((double)empty / DRAWS - 0.154) < 0.003); // 539 of 3500 are empty
}

static void size_law__with_outliers(void **state)
{
	const struct fragment_sizes sizes = { .mean = 100, .outliers = 0.02, .outlier = 5000 };
	struct random random = { 7 };
	unsigned outliers = 0;

	(void)state;
	for (unsigned i = 0; i < DRAWS; i++) {
		unsigned size = synthetic_draw_size(&sizes, 9, &random);

		assert_true(size == 100 || size == 5000);
		outliers += size == 5000;
	}
	assert_true(fabs((double)outliers / DRAWS - 0.02) < 0.002);
}

static void lhcb_profile__quantiles(void **state)
{
	const struct lhcb_profile *velo = lhcb_profile(2);

	(void)state;
	assert_int_equal(lhcb_profile_size(velo, 0), velo->sizes[0]);
	assert_int_equal(lhcb_profile_size(velo, 0.5), velo->sizes[16]);
	assert_int_equal(lhcb_profile_size(velo, 31 / 32.), velo->sizes[31]);
	assert_int_equal(lhcb_profile_size(velo, 63 / 64.), velo->sizes[32]);
	assert_int_equal(lhcb_profile_size(velo, 511 / 512.), velo->sizes[35]);
	assert_int_equal(lhcb_profile_size(velo, 1), velo->sizes[36]);
	assert_ptr_equal(lhcb_profile(3), velo);
	assert_ptr_equal(lhcb_profile(99), lhcb_profile(31));
}

static struct odin odin_of(const struct mfp *mfp, unsigned number)
{
	struct odin odin;

	assert_int_equal(mfp->types[number], MFP_TYPE_ODIN);
	assert_int_equal(load_le16(mfp->sizes + 2 * number), ODIN_SIZE);
	assert_int_equal(odin_decode(mfp->data + number * ODIN_SIZE, ODIN_SIZE, &odin), WIRE_OK);
	return odin;
}

static void synthetic__lhcb_has_an_odin(void **state)
{
	struct source_set_parameters parameters = synthetic(0, 2, 4);
	struct source_set *set;
	struct mfp mfp;
	struct odin odin;

	(void)state;
	parameters.run_number = 4711;
	parameters.sizes.law = SIZE_LHCB;
	set = make_set(&parameters);
	assert_int_equal(set->odin_source, 0);
	mfp = decode(source_set_block(set, 2, 0));
	assert_int_equal(mfp.header.version, 7);
	odin = odin_of(&mfp, 3);
	assert_int_equal(odin.run, 4711);
	assert_int_equal(odin.event_id, 2 * 4 + 3);
	mfp = decode(source_set_block(set, 2, 1));
	assert_int_not_equal(mfp.types[0], MFP_TYPE_ODIN);
	source_set_free(set);
	ids[0] = 0x800;
	ids[1] = 0x801;
	set = make_set(&parameters);
	assert_int_equal(set->odin_source, -1);
	source_set_free(set);
}

static void source_set__patches_odin(void **state)
{
	struct source_set_parameters parameters = synthetic(0, 1, 4);
	uint8_t copy[512];
	struct source_set *set;
	struct mfp mfp;
	struct odin odin;
	uint32_t size;

	(void)state;
	parameters.run_number = 4711;
	parameters.sizes.law = SIZE_LHCB;
	set = make_set(&parameters);
	size = set->blocks[0].size;
	memcpy(copy, set->blocks[0].bytes, size);
	assert_int_equal(source_set_patch_odin(copy, size, 3564000000 - 2), 4);
	assert_int_equal(mfp_decode(copy, size, &mfp), WIRE_OK);
	odin = odin_of(&mfp, 1);
	assert_int_equal(odin.event_id, 3564000000 - 1);
	assert_int_equal(odin.orbit, 999999);
	assert_int_equal(odin.bunch, 3563);
	assert_int_equal(odin.gps_us, 89099999);
	assert_int_equal(odin.run, 4711);
	odin = odin_of(&mfp, 2);
	assert_int_equal(odin.event_id, 3564000000);
	assert_int_equal(odin.orbit, 1000000);
	assert_int_equal(odin.bunch, 0);
	assert_int_equal(source_set_patch_odin(copy, size - 1, 0), 0);
	source_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(synthetic__blocks_are_mfps),
		cmocka_unit_test(synthetic__variants_differ),
		cmocka_unit_test(synthetic__seed_decides),
		cmocka_unit_test(synthetic__source_alone_is_the_same),
		cmocka_unit_test(synthetic__plan_is_what_is_made),
		cmocka_unit_test(source_set__uses_the_allocator),
		cmocka_unit_test(source_set__its_sizes_without_its_blocks),
		cmocka_unit_test(source_set__refuses_what_cannot_be_made),
		cmocka_unit_test(size_law__fixed),
		cmocka_unit_test(size_law__gaussian),
		cmocka_unit_test(size_law__gaussian_with_maximum),
		cmocka_unit_test(size_law__lhcb),
		cmocka_unit_test(size_law__lhcb_keeps_empty_fragments),
		cmocka_unit_test(size_law__with_outliers),
		cmocka_unit_test(lhcb_profile__quantiles),
		cmocka_unit_test(synthetic__lhcb_has_an_odin),
		cmocka_unit_test(source_set__patches_odin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
