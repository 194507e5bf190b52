// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/mdf_events.h"
#include "source/mdf_sources.h"
#include "source/source_map.h"
#include "wire/mdf.h"
#include "wire/mfp.h"

#define MINBIAS "lhcb-minbias.mdf"
#define REAL    "lhcb-run3-two-events.mdf"
#define ROOM    4096

// An MDF file under construction.
struct builder {
	uint8_t bytes[16 * ROOM];
	size_t size;   // of the finished records
	size_t record; // of the open one, header included
};

static void begin_event(struct builder *builder)
{
	builder->record = MDF_HEADER_SIZE;
}

static void add_bank(struct builder *builder, uint8_t type, uint8_t version, uint16_t source_id,
		     const char *payload)
{
	struct mdf_bank bank = { (const uint8_t *)payload, (uint16_t)strlen(payload), source_id,
				 type, version };

	assert_int_equal(
	    mdf_append_bank(builder->bytes + builder->size, ROOM, &builder->record, &bank),
	    WIRE_OK);
}

static void end_event(struct builder *builder)
{
	struct mdf_header header = { .size = (uint32_t)builder->record,
				     .header_version = 0x37,
				     .data_type = MDF_TYPE_BANKS };

	assert_int_equal(mdf_encode_header(builder->bytes + builder->size, ROOM, &header), WIRE_OK);
	builder->size += builder->record;
}

static struct mdf_events *parse(const struct builder *builder)
{
	uint8_t *bytes = malloc(builder->size);
	struct mdf_events *events = NULL;
	char error[SOURCE_ERROR_SIZE] = "";

	assert_non_null(bytes);
	memcpy(bytes, builder->bytes, builder->size);
	(void)mdf_events_parse(&events, bytes, builder->size, "memory", error);
	assert_string_equal(error, "");
	return events;
}

static void expect_parse_error(const struct builder *builder, const char *expected)
{
	uint8_t *bytes = malloc(builder->size + 1);
	struct mdf_events *events = NULL;
	char error[SOURCE_ERROR_SIZE] = "";

	assert_non_null(bytes);
	memcpy(bytes, builder->bytes, builder->size);
	assert_int_equal(mdf_events_parse(&events, bytes, builder->size, "memory", error), -1);
	assert_string_equal(error, expected);
	free(bytes);
}

static void mdf_events__rows_and_occurrences(void **state)
{
	struct builder *builder = calloc(1, sizeof(*builder));
	struct mdf_events *events;

	(void)state;
	begin_event(builder);
	add_bank(builder, 9, 1, 300, "first");
	add_bank(builder, 9, 1, 300, "second");
	add_bank(builder, 8, 2, 300, "");
	end_event(builder);
	begin_event(builder);
	add_bank(builder, 9, 1, 300, "later");
	end_event(builder);
	events = parse(builder);
	assert_int_equal(events->n_events, 2);
	assert_int_equal(events->n_rows, 3);
	assert_int_equal(events->rows[0].bank_type, 8);
	assert_int_equal(events->rows[0].version, 2);
	assert_int_equal(events->rows[1].occurrence, 0);
	assert_int_equal(events->rows[2].occurrence, 1);
	assert_int_equal(mdf_events_bank(&events->rows[0], 0)->size, 0);
	assert_null(mdf_events_bank(&events->rows[0], 1));
	assert_memory_equal(mdf_events_bank(&events->rows[1], 0)->payload, "first", 5);
	assert_memory_equal(mdf_events_bank(&events->rows[1], 1)->payload, "later", 5);
	assert_memory_equal(mdf_events_bank(&events->rows[2], 0)->payload, "second", 6);
	assert_null(mdf_events_bank(&events->rows[2], 1));
	mdf_events_free(events);
	free(builder);
}

// A row whose first event is not the file's first.
static void mdf_events__finds_banks_of_a_row_with_gaps(void **state)
{
	struct builder *builder = calloc(1, sizeof(*builder));
	struct mdf_events *events;

	(void)state;
	for (unsigned event = 0; event < 6; event++) {
		begin_event(builder);
		add_bank(builder, 1, 0, 1, "always");
		if (event == 2 || event == 5)
			add_bank(builder, 1, 0, 2, event == 2 ? "two" : "five");
		end_event(builder);
	}
	events = parse(builder);
	for (uint32_t event = 0; event < 6; event++)
		assert_int_equal(!mdf_events_bank(&events->rows[1], event),
				 event != 2 && event != 5);
	assert_memory_equal(mdf_events_bank(&events->rows[1], 2)->payload, "two", 3);
	assert_memory_equal(mdf_events_bank(&events->rows[1], 5)->payload, "five", 4);
	mdf_events_free(events);
	free(builder);
}

static void mdf_events__refuses_bad_files(void **state)
{
	struct builder *builder = calloc(1, sizeof(*builder));
	size_t first;

	(void)state;
	expect_parse_error(builder, "memory: at byte 0: there are no banks");
	begin_event(builder);
	add_bank(builder, 9, 1, 300, "abcd");
	end_event(builder);
	first = builder->size;
	assert_int_equal(first, 48 + 12);
	begin_event(builder);
	add_bank(builder, 9, 2, 300, "abcd");
	end_event(builder);
	expect_parse_error(builder,
			   "memory: banks of type 9 and source id 300 have versions 1 and 2, "
			   "which the MFPs of one source cannot carry");
	builder->bytes[first + 48] ^= 1;
	expect_parse_error(builder, "memory: at byte 60: bad_checksum");
	memset(builder->bytes + first + 12, 0, 4); // states no checksum
	expect_parse_error(builder, "memory: at byte 108: bad_magic");
	builder->bytes[first + 18] = 2; // data type of MEPs
	expect_parse_error(
	    builder, "memory: at byte 60: a record of something else than uncompressed banks");
	builder->size--;
	expect_parse_error(builder, "memory: at byte 60: truncated");
	free(builder);
}

static void mdf_sources__ids(void **state)
{
	static const struct {
		uint8_t type;
		uint16_t bank_source_id, id;
	} expected[] = {
		{ 9, 5, 4 << 11 | 5 },   // unique, but states no subdetector: the type's
		{ 16, 0, 0 },            // ODIN keeps 0
		{ 51, 30733, 30733 },    // unique
		{ 53, 63744, 63744 },    // not unique: the first free number of its subdetector
		{ 54, 63744, 63745 },    //
		{ 63, 7, 2 << 11 | 7 },  // the type's subdetector
		{ 73, 7, 3 << 11 | 7 },  //
		{ 97, 7, 2 << 11 | 8 },  // taken by type 63: the next number
		{ 99, 7, 16 << 11 | 7 }, // a type of no subdetector
	};
	struct builder *builder = calloc(1, sizeof(*builder));
	struct mdf_events *events;
	char error[SOURCE_ERROR_SIZE];
	uint16_t ids[9];

	(void)state;
	begin_event(builder);
	for (unsigned i = 9; i-- > 0;)
		add_bank(builder, expected[i].type, 1, expected[i].bank_source_id, "x");
	end_event(builder);
	events = parse(builder);
	assert_int_equal(events->n_rows, 9);
	assert_int_equal(mdf_sources_assign(events, ids, error), 0);
	for (unsigned i = 0; i < 9; i++) {
		assert_int_equal(events->rows[i].bank_type, expected[i].type);
		assert_int_equal(ids[i], expected[i].id);
	}
	mdf_events_free(events);
	free(builder);
}

// 20 events of one bank with the event's letter; no bank in event 1.
static void write_letters(const char *path)
{
	struct builder *builder = calloc(1, sizeof(*builder));

	for (unsigned event = 0; event < 20; event++) {
		const char letter[2] = { (char)('a' + event), 0 };

		begin_event(builder);
		add_bank(builder, 63, 1, 4097, "all");
		if (event != 1)
			add_bank(builder, 63, 1, 4098, letter);
		end_event(builder);
	}
	write_file(path, builder->bytes, builder->size);
	free(builder);
}

static void mdf_packer__cycles_over_the_file(void **state)
{
	char directory[PATH_SIZE], path[PATH_SIZE];
	struct source_set *set;
	struct source_set_parameters parameters;

	(void)state;
	make_directory(directory);
	path_in(path, directory, "letters.mdf");
	write_letters(path);
	parameters = parameters_of_file(GENERATOR_MDF, path, 8);
	set = make_set(&parameters);
	assert_int_equal(set->n_cycle, 5); // lcm(20, 8) / 8
	assert_int_equal(set->n_sources, 2);
	assert_int_equal(set->odin_source, -1);
	for (unsigned position = 0; position < 40; position++) {
		const struct source_block *block = source_set_block(set, position / 8, 1);
		unsigned index = 0, event = position % 20;
		size_t offset = 0;
		struct mfp_fragment fragment;
		struct mfp mfp;

		assert_int_equal(mfp_decode(block->bytes, block->size, &mfp), WIRE_OK);
		assert_int_equal(mfp.header.source_id, 4098);
		assert_int_equal(mfp.header.event_id, position / 8 * 8);
		for (unsigned i = 0; i <= position % 8; i++)
			assert_true(mfp_next_fragment(&mfp, &index, &offset, &fragment));
		assert_int_equal(fragment.event_id, position);
		assert_int_equal(fragment.type, event == 1 ? MFP_TYPE_FRAGMENT_MISSING : 63);
		assert_int_equal(fragment.size, event == 1 ? 0 : 1);
		if (event != 1)
			assert_int_equal(fragment.payload[0], 'a' + event);
	}
	source_set_free(set);
	remove_directory(directory);
}

// A cycle covers the file a whole number of times, which may be far more than is ever sent.
static void mdf_packer__makes_no_more_than_is_sent(void **state)
{
	struct source_set_parameters parameters;
	char directory[PATH_SIZE], path[PATH_SIZE];
	struct source_set *set;

	(void)state;
	make_directory(directory);
	path_in(path, directory, "letters.mdf");
	write_letters(path);
	parameters = parameters_of_file(GENERATOR_MDF, path, 19);
	set = make_set(&parameters);
	assert_int_equal(set->n_cycle, 20); // lcm(20, 19) / 19
	source_set_free(set);
	parameters.events = 3;
	set = make_set(&parameters);
	assert_int_equal(set->n_cycle, 3);
	source_set_free(set);
	remove_directory(directory);
}

static void mdf_packer__takes_the_wanted_sources(void **state)
{
	char directory[PATH_SIZE], path[PATH_SIZE];
	struct source_set *set;
	struct source_set_parameters parameters;
	uint16_t id = 4098;

	(void)state;
	make_directory(directory);
	path_in(path, directory, "letters.mdf");
	write_letters(path);
	parameters = parameters_of_file(GENERATOR_MDF, path, 1);
	parameters.ids = &id;
	parameters.n_ids = 1;
	set = make_set(&parameters);
	assert_int_equal(set->n_cycle, 20);
	assert_int_equal(set->n_sources, 1);
	assert_int_equal(set->ids[0], 4098);
	assert_int_equal(set->blocks[3].bytes[mfp_data_offset(1)], 'd');
	source_set_free(set);
	id = 4099;
	expect_refused(&parameters, "letters.mdf: it has no source 4099");
	parameters.file = "/none";
	expect_refused(&parameters, "/none: No such file or directory");
	remove_directory(directory);
}

// A bank as the original file and as the unpacked MFPs have it.
struct seen {
	uint32_t event;
	struct mdf_bank bank;
};

static int compare_seen(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;
	int64_t order = (int64_t)a->event - b->event;

	if (!order)
		order = a->bank.type - b->bank.type;
	if (!order)
		order = a->bank.source_id - b->bank.source_id;
	if (!order)
		order = a->bank.size - b->bank.size;
	if (!order)
		order = memcmp(a->bank.payload, b->bank.payload, a->bank.size);
	return order < 0 ? -1 : order > 0;
}

static size_t read_banks(const uint8_t *bytes, size_t size, struct seen *seen, uint32_t *n_events)
{
	size_t n = 0, start = 0;

	for (*n_events = 0; start < size; ++*n_events) {
		struct mdf_header header;
		size_t offset = MDF_HEADER_SIZE;
		bool done = false;

		assert_int_equal(mdf_decode(bytes + start, size - start, &header), WIRE_OK);
		while (true) {
			seen[n].event = *n_events;
			assert_int_equal(
			    mdf_next_bank(bytes + start, &header, &offset, &seen[n].bank, &done),
			    WIRE_OK);
			if (done)
				break;
			n++;
		}
		start += header.size;
	}
	return n;
}

// The banks of the first n_events events that the set stands for.
static size_t unpack(const struct source_set *set, const struct source_map *map, uint32_t n_events,
		     struct seen *seen)
{
	size_t n = 0;

	for (size_t i = 0; i < (size_t)set->n_cycle * set->n_sources; i++) {
		const struct source_map_entry *entry;
		struct mfp_fragment fragment;
		unsigned index = 0;
		size_t offset = 0;
		struct mfp mfp;

		assert_int_equal(mfp_decode(set->blocks[i].bytes, set->blocks[i].size, &mfp),
				 WIRE_OK);
		entry = source_map_find(map, mfp.header.source_id);
		assert_non_null(entry);
		assert_int_equal(entry->version, mfp.header.version);
		while (mfp_next_fragment(&mfp, &index, &offset, &fragment)) {
			if (fragment.event_id >= n_events)
				continue;
			if (fragment.type == MFP_TYPE_FRAGMENT_MISSING) {
				assert_int_equal(fragment.size, 0);
				continue;
			}
			assert_int_equal(entry->bank_type, fragment.type);
			seen[n].event = (uint32_t)fragment.event_id;
			seen[n++].bank = (struct mdf_bank){ fragment.payload, fragment.size,
							    entry->bank_source_id, fragment.type,
							    mfp.header.version };
		}
	}
	return n;
}

static void round_trip(const char *name, unsigned n_sources, size_t n_banks)
{
	static const uint32_t packings[] = { 1, 3, 10 };
	char path[PATH_SIZE], error[SOURCE_ERROR_SIZE];
	struct source_map *map;
	struct seen *original, *unpacked;
	struct mdf_events *events;
	uint32_t n_events;

	if (!find_data(path, name)) {
		print_message("%s is not there\n", path);
		skip();
	}
	original = calloc(20000, sizeof(*original));
	unpacked = calloc(20000, sizeof(*unpacked));
	assert_int_equal(mdf_events_load(&events, path, UINT64_MAX, error), 0);
	assert_int_equal(read_banks(events->bytes, events->size, original, &n_events), n_banks);
	qsort(original, n_banks, sizeof(*original), compare_seen);
	assert_int_equal(mdf_sources_map(&map, path, UINT64_MAX, error), 0);
	assert_string_equal(map->source, name);
	assert_int_equal(map->n_entries, n_sources);
	for (size_t p = 0; p < sizeof(packings) / sizeof(packings[0]); p++) {
		struct source_set_parameters parameters =
		    parameters_of_file(GENERATOR_MDF, path, packings[p]);
		struct source_set *set = make_set(&parameters);

		assert_int_equal(set->n_sources, n_sources);
		assert_int_equal(unpack(set, map, n_events, unpacked), n_banks);
		qsort(unpacked, n_banks, sizeof(*unpacked), compare_seen);
		for (size_t i = 0; i < n_banks; i++) {
			assert_int_equal(compare_seen(&original[i], &unpacked[i]), 0);
			assert_int_equal(original[i].bank.version, unpacked[i].bank.version);
		}
		source_set_free(set);
	}
	source_map_free(map);
	mdf_events_free(events);
	free(original);
	free(unpacked);
}

static void mdf_packer__round_trip_of_simulated_events(void **state)
{
	(void)state;
	round_trip(MINBIAS, 1238, 12364);
}

static void mdf_packer__round_trip_of_real_events(void **state)
{
	(void)state;
	round_trip(REAL, 10, 19);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mdf_events__rows_and_occurrences),
		cmocka_unit_test(mdf_events__finds_banks_of_a_row_with_gaps),
		cmocka_unit_test(mdf_events__refuses_bad_files),
		cmocka_unit_test(mdf_sources__ids),
		cmocka_unit_test(mdf_packer__cycles_over_the_file),
		cmocka_unit_test(mdf_packer__makes_no_more_than_is_sent),
		cmocka_unit_test(mdf_packer__takes_the_wanted_sources),
		cmocka_unit_test(mdf_packer__round_trip_of_simulated_events),
		cmocka_unit_test(mdf_packer__round_trip_of_real_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
