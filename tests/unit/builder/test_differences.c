// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sources that send otherwise than configured: the first difference of each is known, once.
#include "workbench.h"

#include <stdio.h>

static void open_bench(struct workbench *bench)
{
	struct workbench_options options = workbench_standard;

	options.slots = 32;
	options.without_consumer = true;
	workbench_open(bench, &options);
}

static void send_event(struct workbench *bench, uint64_t id, unsigned n)
{
	for (unsigned source = 0; source < 3; source++)
		workbench_send_mfp(bench, source, id, n);
}

static void assert_differences(const struct workbench *bench, uint32_t n)
{
	const struct source_difference *list;

	assert_int_equal(assembly_differences(bench->assembly, &list), n);
}

// Also closes the bench.
static void assert_one(struct workbench *bench, unsigned source, const char *line)
{
	const struct source_difference *list;
	char text[SOURCE_DIFFERENCE_SIZE], remedy[SOURCE_DIFFERENCE_SIZE];
	char whole[sizeof(text) + sizeof(remedy) + sizeof(": ")];

	assert_differences(bench, 1);
	(void)assembly_differences(bench->assembly, &list);
	assert_int_equal(list[0].source, source);
	source_difference_text(&list[0], bench->sources->ids[source], text, remedy);
	snprintf(whole, sizeof(whole), "%s: %s", text, remedy);
	assert_string_equal(whole, line);
	workbench_close(bench);
}

// Source 1's MFP of event 8, with a byte of it changed, twice.
static void assert_told(uint32_t offset, uint8_t value, const char *line)
{
	struct workbench bench;

	open_bench(&bench);
	for (uint64_t id = 8; id <= 12; id += 4) {
		struct block block = block_mfp(&bench, 1, id, 4);

		block.bytes[offset] = value;
		workbench_place(&bench, 1, id, &block, 0, block.length);
		block_free(&block);
	}
	assert_one(&bench, 1, line);
}

static void differences__of_the_header(void **state)
{
	(void)state;
	assert_told(0, 1,
		    "source 107 sends blocks that are no MFPs, sources.payload is mfp: correct "
		    "one of the two");
	assert_told(2, 5,
		    "source 107 sends MFPs of 5 fragments, sources.packing is 4: correct one of "
		    "the two");
	assert_told(2, 0,
		    "source 107 sends MFPs of 0 fragments, sources.packing is 4: correct one of "
		    "the two");
	assert_told(18, 20,
		    "source 107 sends MFPs with alignment 2^20, at most 2^16 is possible: "
		    "correct the source");
	assert_told(8, 16,
		    "source 107 sends the MFP of event 16 in segments of event 8: correct the "
		    "source");
	assert_told(17, 1,
		    "source 107 sends MFPs with source id 363: correct it, or the data id of its "
		    "segments and sources.ids");
}

static void differences__too_many_fragments(void **state)
{
	struct workbench bench;

	(void)state;
	open_bench(&bench);
	workbench_send_mfp(&bench, 0, 8, 4);
	assert_differences(&bench, 0);
	workbench_send_mfp(&bench, 2, 8, 9);
	workbench_send_mfp(&bench, 2, 17, 9);
	assert_one(&bench, 2,
		   "source 114 sends MFPs of 9 fragments, sources.packing is 4: correct one of "
		   "the two");
}

// A run may end with an event of fewer fragments, and another run follow.
static void differences__a_short_event_is_none(void **state)
{
	struct workbench bench;

	(void)state;
	open_bench(&bench);
	send_event(&bench, 8, 4);
	send_event(&bench, 12, 3);
	send_event(&bench, 100, 4);
	send_event(&bench, 104, 3);
	send_event(&bench, 200, 2);
	assert_differences(&bench, 0);
	workbench_close(&bench);
}

static void differences__too_few_fragments(void **state)
{
	const struct source_difference *list;
	struct workbench bench;

	(void)state;
	open_bench(&bench);
	for (uint64_t id = 0; id < 10; id += 2)
		send_event(&bench, id, 2);
	assert_int_equal(assembly_differences(bench.assembly, &list), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(list[i].source, i);
		assert_int_equal(list[i].kind, SOURCE_FRAGMENTS);
		assert_int_equal(list[i].sent, 2);
		assert_int_equal(list[i].expected, 4);
	}
	workbench_close(&bench);
}

// One source packs otherwise than the others.
static void differences__fewer_fragments_than_others(void **state)
{
	struct workbench bench;

	(void)state;
	open_bench(&bench);
	workbench_send_mfp(&bench, 0, 8, 2);
	workbench_send_mfp(&bench, 1, 8, 4);
	workbench_send_mfp(&bench, 2, 8, 4);
	assert_one(&bench, 0,
		   "source 100 sends MFPs of 2 fragments, sources.packing is 4: correct one of "
		   "the two");
}

static void differences__of_sizes(void **state)
{
	struct workbench bench;
	struct block block;

	(void)state;
	open_bench(&bench);
	block = block_mfp(&bench, 1, 8, 4);
	block.bytes[4] ^= 8;
	workbench_place(&bench, 1, 8, &block, 0, block.length);
	block_free(&block);
	assert_differences(&bench, 1);
	workbench_close(&bench);
}

static void differences__opaque_has_none(void **state)
{
	struct workbench_options options = workbench_standard;
	struct workbench bench;

	(void)state;
	options.payload = PAYLOAD_OPAQUE;
	options.without_consumer = true;
	workbench_open(&bench, &options);
	for (unsigned source = 0; source < 3; source++) {
		struct block block = block_random(source, 8, 50);

		workbench_place(&bench, source, 8, &block, 0, block.length);
		block_free(&block);
	}
	assert_differences(&bench, 0);
	workbench_close(&bench);
}

// A guarded builder waits until the event is closed: a block that the source's own one displaces
// was forged, and is none of its differences.
static void differences__wait_for_another_block(void **state)
{
	struct workbench_options options = workbench_standard;
	struct workbench bench;

	(void)state;
	options.guarded = true;
	options.without_consumer = true;
	workbench_open(&bench, &options);
	for (uint64_t id = 8; id <= 12; id += 4) {
		struct block block = block_random(0, id, 50);

		workbench_place(&bench, 0, id, &block, 0, block.length);
		block_free(&block);
		workbench_send_mfp(&bench, 1, id, 4);
		workbench_send_mfp(&bench, 2, id, 4);
		assert_differences(&bench, 0);
		if (id == 8)
			workbench_send_mfp(&bench, 0, id, 4);
	}
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	assert_one(&bench, 0,
		   "source 100 sends blocks that are no MFPs, sources.payload is mfp: correct "
		   "one of the two");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences__of_the_header),
		cmocka_unit_test(differences__too_many_fragments),
		cmocka_unit_test(differences__a_short_event_is_none),
		cmocka_unit_test(differences__too_few_fragments),
		cmocka_unit_test(differences__fewer_fragments_than_others),
		cmocka_unit_test(differences__of_sizes),
		cmocka_unit_test(differences__opaque_has_none),
		cmocka_unit_test(differences__wait_for_another_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
