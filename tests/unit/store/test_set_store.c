// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The store of a source set.
#include "testbed.h"

#include <string.h>

#include "store/set_store.h"
#include "wire/mdf.h"
#include "wire/mfp.h"

#define PACKING 4u

static struct source_set *make_set(enum size_law law, const uint16_t *ids, unsigned n_ids)
{
	const struct source_set_parameters parameters = {
		.name = "g",
		.kind = GENERATOR_SYNTHETIC,
		.ids = ids,
		.n_ids = n_ids,
		.packing = PACKING,
		.sizes = { .law = law, .mean = 100 },
		.variants = 3,
		.seed = 1,
	};
	char error[SOURCE_ERROR_SIZE];
	struct source_set *set;

	if (source_set_make(&set, &parameters, NULL, error) != 0)
		fail_msg("%s", error);
	return set;
}

static void set_store__has_all_events(void **state)
{
	static const uint16_t ids[] = { 0x1001, 0x1002 };
	struct source_set *set = make_set(SIZE_FIXED, ids, 2);
	struct block_store *store = set_store_create(set, 0);

	(void)state;
	assert_non_null(store);
	assert_int_equal(store->n_sources, 2);
	assert_int_equal(store->ids[1], 0x1002);
	assert_int_equal(store->packing, PACKING);
	assert_true(store->ready == UINT64_MAX && store->end == UINT64_MAX);
	block_store_begin(store, 7);
	block_store_release(store, 1000);
	for (uint64_t event = 0; event < 10; event++) {
		struct store_block block = block_store_find(store, event, 1);
		const struct source_block *expected =
		    source_set_block(set, (unsigned)(event % 3), 1);

		assert_ptr_equal(block.bytes, expected->bytes);
		assert_int_equal(block.size, expected->size);
		assert_in_range(block.size, 1, store->largest);
		assert_false(block.is_temporary || block.is_missing);
		assert_null(block.hold);
	}
	block_store_destroy(store);
	source_set_free(set);
}

static uint64_t odin_event(const struct store_block *block)
{
	struct mfp_fragment fragment;
	struct mfp mfp;
	struct odin odin;
	unsigned index = 0;
	size_t offset = 0;

	assert_int_equal(mfp_decode(block->bytes, block->size, &mfp), WIRE_OK);
	assert_true(mfp_next_fragment(&mfp, &index, &offset, &fragment));
	assert_int_equal(odin_decode(fragment.payload, fragment.size, &odin), WIRE_OK);
	return odin.event_id;
}

static void set_store__writes_event_ids_into_odin(void **state)
{
	static const uint16_t ids[] = { 0, 0x1001 };
	struct source_set *set = make_set(SIZE_LHCB, ids, 2);
	struct block_store *store = set_store_create(set, 1000);
	struct store_block odin, other;

	(void)state;
	assert_non_null(store);
	odin = block_store_find(store, 5, 0);
	other = block_store_find(store, 5, 1);
	assert_true(odin.is_temporary);
	assert_false(other.is_temporary);
	assert_int_equal(odin_event(&odin), 1000 + 5 * PACKING);
	odin = block_store_find(store, 6, 0);
	assert_int_equal(odin_event(&odin), 1000 + 6 * PACKING);
	block_store_destroy(store);
	source_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_store__has_all_events),
		cmocka_unit_test(set_store__writes_event_ids_into_odin),
	};

	return cmocka_run_group_tests_name("set_store", tests, NULL, NULL);
}
