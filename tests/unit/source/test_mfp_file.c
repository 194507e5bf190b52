// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/mfp_file.h"
#include "wire/mdf.h"
#include "wire/mfp.h"

#define ROOM 4096

// MFPs one behind the other.
struct file {
	uint8_t bytes[ROOM];
	size_t size;
};

// Appends an MFP of n fragments of one byte, the given one.
static void add_mfp(struct file *file, uint16_t source_id, uint64_t event_id, uint16_t n,
		    uint8_t byte)
{
	const uint8_t types[4] = { 63, 63, 63, 63 };
	const uint16_t sizes[4] = { 1, 1, 1, 1 };
	const uint8_t *payloads[4] = { &byte, &byte, &byte, &byte };
	struct mfp_header header = { .event_id = event_id,
				     .n_fragments = n,
				     .source_id = source_id };

	assert_int_equal(mfp_encode(file->bytes + file->size, ROOM - file->size, &header, types,
				    sizes, payloads),
			 WIRE_OK);
	file->size += header.packet_size;
}

static void expect_error(const struct file *file, uint32_t packing, const char *expected)
{
	struct source_set_parameters parameters = { .file = "x.mfp", .packing = packing };
	struct block_maker *maker;
	char error[SOURCE_ERROR_SIZE] = "";
	uint8_t *bytes = malloc(ROOM);

	assert_non_null(bytes);
	memcpy(bytes, file->bytes, file->size);
	assert_int_equal(mfp_file_open_bytes(&maker, bytes, file->size, &parameters, error), -1);
	assert_string_equal(error, expected);
}

static void mfp_file__sources_in_any_order(void **state)
{
	struct file file = { .size = 0 };
	char directory[PATH_SIZE], path[PATH_SIZE];
	struct source_set_parameters parameters;
	struct source_set *set;
	uint16_t id = 20;

	(void)state;
	add_mfp(&file, 20, 100, 2, 'a');
	add_mfp(&file, 10, 100, 2, 'b');
	add_mfp(&file, 10, 102, 2, 'c');
	add_mfp(&file, 10, MFP_END_OF_RUN, 1, 'z');
	add_mfp(&file, 20, 102, 2, 'd');
	make_directory(directory);
	path_in(path, directory, "x.mfp");
	write_file(path, file.bytes, file.size);
	parameters = parameters_of_file(GENERATOR_MFP, path, 2);
	set = make_set(&parameters);
	assert_int_equal(set->n_sources, 2);
	assert_int_equal(set->n_cycle, 2);
	assert_int_equal(set->odin_source, -1);
	assert_int_equal(set->ids[0], 10);
	assert_int_equal(set->ids[1], 20);
	assert_int_equal(source_set_block(set, 0, 0)->size, mfp_data_offset(2) + 2);
	assert_int_equal(source_set_block(set, 0, 0)->bytes[mfp_data_offset(2)], 'b');
	assert_int_equal(source_set_block(set, 0, 1)->bytes[mfp_data_offset(2)], 'a');
	assert_int_equal(source_set_block(set, 1, 0)->bytes[mfp_data_offset(2)], 'c');
	assert_int_equal(source_set_block(set, 1, 1)->bytes[mfp_data_offset(2)], 'd');
	source_set_free(set);

	parameters.events = 1;
	set = make_set(&parameters);
	assert_int_equal(set->n_cycle, 1);
	assert_int_equal(source_set_block(set, 0, 1)->bytes[mfp_data_offset(2)], 'a');
	source_set_free(set);

	parameters.events = 0;
	parameters.ids = &id;
	parameters.n_ids = 1;
	set = make_set(&parameters);
	assert_int_equal(set->n_sources, 1);
	assert_int_equal(source_set_block(set, 1, 0)->bytes[mfp_data_offset(2)], 'd');
	source_set_free(set);

	id = 15;
	expect_refused(&parameters, "x.mfp: it has no source 15");
	remove_directory(directory);
}

static void mfp_file__refuses_bad_files(void **state)
{
	struct file file = { .size = 0 };

	(void)state;
	expect_error(&file, 1, "x.mfp: at byte 0: there are no MFPs");
	add_mfp(&file, 1, 0, 2, 0);
	add_mfp(&file, 1, 2, 2, 0);
	expect_error(&file, 3, "x.mfp: at byte 0: an MFP of 2 fragments, packing is 3");
	add_mfp(&file, 2, 0, 2, 0);
	expect_error(&file, 2, "x.mfp: source 2 has 1 MFPs, but source 1 has 2");
	add_mfp(&file, 2, 4, 2, 0);
	expect_error(&file, 2, "x.mfp: MFP 1 of source 2 has event id 4, but that of source 1 2");
	file.size--;
	expect_error(&file, 2, "x.mfp: at byte 90: truncated");
	file.bytes[0] = 0;
	expect_error(&file, 2, "x.mfp: at byte 0: bad_magic");
}

static void mfp_file__written_as_sent(void **state)
{
	uint16_t ids[MOST_IDS];
	struct source_set_parameters parameters = parameters_with(ids, 0, 2, 3);
	char directory[PATH_SIZE], path[PATH_SIZE], error[SOURCE_ERROR_SIZE];
	struct source_set *made, *read;

	(void)state;
	make_directory(directory);
	path_in(path, directory, "x.mfp");
	parameters.kind = GENERATOR_SYNTHETIC;
	parameters.sizes.law = SIZE_LHCB;
	parameters.variants = 2;
	made = make_set(&parameters);
	assert_int_equal(mfp_file_write(path, made, 1000, 5, error), 0);
	parameters = parameters_of_file(GENERATOR_MFP, path, 3);
	read = make_set(&parameters);
	assert_int_equal(read->n_sources, 2);
	assert_int_equal(read->n_cycle, 5);
	for (unsigned position = 0; position < 5; position++) {
		const struct source_block *odin = source_set_block(read, position, 0);
		const struct source_block *block = source_set_block(read, position, 1);
		const struct source_block *original = source_set_block(made, position % 2, 1);
		struct mfp_header header;
		struct odin decoded;

		assert_int_equal(block->size, original->size);
		assert_int_equal(mfp_decode_header(block->bytes, block->size, &header), WIRE_OK);
		assert_int_equal(header.event_id, 1000 + 3 * position);
		assert_memory_equal(block->bytes + 16, original->bytes + 16, block->size - 16);
		assert_int_equal(odin_decode(odin->bytes + mfp_data_offset(3) + 2 * ODIN_SIZE,
					     ODIN_SIZE, &decoded),
				 WIRE_OK);
		assert_int_equal(decoded.event_id, 1000 + 3 * position + 2);
	}
	assert_int_equal(mfp_file_write(path, made, 0, 0, error), 0);
	source_set_free(read);
	read = make_set(&parameters);
	assert_int_equal(read->n_cycle, 2);
	source_set_free(read);
	source_set_free(made);
	remove_directory(directory);
}

static void mfp_file__write_tells_why_not(void **state)
{
	uint16_t ids[MOST_IDS];
	struct source_set_parameters parameters = parameters_with(ids, 1, 1, 1);
	struct source_set *set;
	char error[SOURCE_ERROR_SIZE];

	(void)state;
	set = make_set(&parameters);
	assert_int_equal(mfp_file_write("/nonexistent/x.mfp", set, 0, 1, error), -1);
	assert_string_equal(error, "/nonexistent/x.mfp: No such file or directory");
	source_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mfp_file__sources_in_any_order),
		cmocka_unit_test(mfp_file__refuses_bad_files),
		cmocka_unit_test(mfp_file__written_as_sent),
		cmocka_unit_test(mfp_file__write_tells_why_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
