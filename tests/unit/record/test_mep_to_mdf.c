// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/mep_to_mdf.h"
#include "source/block_maker.h"
#include "source/mdf_packer.h"
#include "source/mdf_sources.h"
#include "source/source_map.h"

#define MDF_ROOM (64u * 1024u)
#define MAX_KEYS 2048u

// Event 7 with two fragments of each of three sources, the last of them missing (type 92, size 0).
static const char VECTOR[] =
    "face030026000000000037103720000008000000140000001e00000000000000ce4002002c00000007000000000000"
    "000000030710100000040004001111111100000000222222220000000000000000ce40020024000000070000000000"
    "0000371003014949000005000000aaaaaaaaaa00000000000000ce4002002000000007000000000000003720020109"
    "5c000003000000bbbbbb00";

static size_t from_hex(const char *text, uint8_t *bytes)
{
	size_t size = strlen(text) / 2;

	for (size_t i = 0; i < size; i++) {
		unsigned byte;

		assert_int_equal(sscanf(text + 2 * i, "%2x", &byte), 1);
		bytes[i] = (uint8_t)byte;
	}
	return size;
}

static struct mep_to_mdf *open_converter(const char *source_map)
{
	char error[256] = "";
	struct mep_to_mdf *converter;

	assert_int_equal(mep_to_mdf_open(&converter, source_map, error, sizeof(error)), 0);
	return converter;
}

// Converts a MEP; returns the size of its records, which follow one another in `records`.
static size_t convert(struct mep_to_mdf *converter, const uint8_t *mep, size_t length,
		      uint32_t flags, uint8_t *records, size_t capacity)
{
	struct mep_to_mdf_event event = {
		.data = mep, .length = length, .flags = flags, .run_number = RUN
	};
	char error[256] = "";
	uint64_t total;
	size_t size, at = 0;

	assert_int_equal(mep_to_mdf_begin(converter, &event, &total, error, sizeof(error)), 0);
	assert_true(total <= capacity);
	while ((size = mep_to_mdf_next_size(converter))) {
		assert_true(at + size <= total);
		mep_to_mdf_next(converter, records + at);
		at += size;
	}
	assert_int_equal(at, total);
	return at;
}

static void expect_bank(const uint8_t *record, const struct mdf_header *header, size_t *offset,
			uint8_t type, uint8_t version, uint16_t source_id, const char *payload)
{
	uint8_t bytes[256];
	size_t size = from_hex(payload, bytes);
	struct mdf_bank bank;
	bool done;

	assert_int_equal(mdf_next_bank(record, header, offset, &bank, &done), WIRE_OK);
	assert_false(done);
	assert_int_equal(bank.type, type);
	assert_int_equal(bank.version, version);
	assert_int_equal(bank.source_id, source_id);
	assert_int_equal(bank.size, size);
	assert_memory_equal(bank.payload, bytes, size);
}

static void expect_no_bank(const uint8_t *record, const struct mdf_header *header, size_t offset)
{
	struct mdf_bank bank;
	bool done;

	assert_int_equal(mdf_next_bank(record, header, &offset, &bank, &done), WIRE_OK);
	assert_true(done);
}

static void mep_to_mdf__vector(void **state)
{
	static uint8_t mep[256], records[MDF_ROOM];
	size_t length = from_hex(VECTOR, mep), size, offset = MDF_HEADER_SIZE;
	struct mep_to_mdf *converter = open_converter(NULL);
	struct mdf_header header;
	const uint8_t *second;

	(void)state;
	size = convert(converter, mep, length, 0, records, sizeof(records));
	mep_to_mdf_close(converter);
	assert_int_equal(mdf_decode(records, size, &header), WIRE_OK);
	assert_int_equal(header.size, 48 + 12 + 16 + 12);
	assert_int_equal(mdf_verify(records, &header), WIRE_OK);
	assert_int_not_equal(header.checksum, 0);
	assert_int_equal(header.run, RUN);
	assert_int_equal(header.orbit, 0);
	assert_int_equal(header.mask[0], UINT32_MAX);
	expect_bank(records, &header, &offset, 16, 7, 0x0000, "11111111");
	expect_bank(records, &header, &offset, 73, 1, 0x1037, "aaaaaaaaaa");
	expect_bank(records, &header, &offset, 9, 1, 0x2037, "bbbbbb");
	expect_no_bank(records, &header, offset);
	second = records + header.size;
	assert_int_equal(mdf_decode(second, size - header.size, &header), WIRE_OK);
	assert_int_equal(header.size, 48 + 12 + 8);
	assert_int_equal(mdf_verify(second, &header), WIRE_OK);
	offset = MDF_HEADER_SIZE;
	expect_bank(second, &header, &offset, 16, 7, 0x0000, "22222222");
	expect_bank(second, &header, &offset, 73, 1, 0x1037, "");
	expect_no_bank(second, &header, offset);
}

// An ODIN fragment of `version` and one other source.
static size_t make_odin_mep(uint8_t *mep, size_t capacity, uint8_t version)
{
	static uint8_t mfps[2][1024];
	const uint8_t *pointers[2] = { mfps[0], mfps[1] };
	struct mfp_header header = { .event_id = 5, .n_fragments = 1, .version = version };
	const struct odin odin = { .run = 4711, .orbit = 12345678, .bunch = 3001, .event_id = 5 };
	uint8_t payload[ODIN_SIZE], type = MFP_TYPE_ODIN;
	const uint8_t *payloads = payload;
	uint16_t sizes = ODIN_SIZE;
	size_t mfp_sizes[2];

	odin_encode(payload, &odin);
	assert_int_equal(mfp_encode(mfps[0], sizeof(mfps[0]), &header, &type, &sizes, &payloads),
			 WIRE_OK);
	mfp_sizes[0] = header.packet_size;
	header.source_id = 0x1001;
	sizes = 0;
	type = 63;
	assert_int_equal(mfp_encode(mfps[1], sizeof(mfps[1]), &header, &type, &sizes, &payloads),
			 WIRE_OK);
	mfp_sizes[1] = header.packet_size;
	return make_mep(mep, capacity, 2, pointers, mfp_sizes);
}

static void mep_to_mdf__run_orbit_and_bunch_of_odin(void **state)
{
	static uint8_t mep[4096], records[MDF_ROOM];
	struct mep_to_mdf *converter = open_converter(NULL);
	struct mdf_header header;
	size_t size;

	(void)state;
	size = convert(converter, mep, make_odin_mep(mep, sizeof(mep), 7), 0, records,
		       sizeof(records));
	assert_int_equal(mdf_decode(records, size, &header), WIRE_OK);
	assert_int_equal(header.run, 4711);
	assert_int_equal(header.orbit, 12345678);
	assert_int_equal(header.bunch, 3001);
	// Other versions have the run at the same place, the others not.
	size = convert(converter, mep, make_odin_mep(mep, sizeof(mep), 6), 0, records,
		       sizeof(records));
	assert_int_equal(mdf_decode(records, size, &header), WIRE_OK);
	assert_int_equal(header.run, 4711);
	assert_int_equal(header.orbit, 0);
	assert_int_equal(header.bunch, 0);
	mep_to_mdf_close(converter);
}

// Sources 0x1001 (data), 0x1002 (missing), 0x1003 (malformed).
static size_t make_incomplete_mep(uint8_t *mep, size_t capacity)
{
	static uint8_t mfps[3][1024];
	const uint8_t *pointers[3] = { mfps[0], mfps[1], mfps[2] };
	size_t sizes[3];

	sizes[0] = make_mfp(mfps[0], sizeof(mfps[0]), 5, 0x1001, 1);
	sizes[1] = sizes[2] = mfp_error_size(FRAGMENTS);
	assert_int_equal(mfp_encode_error(mfps[1], sizeof(mfps[1]), 5, 0x1002, FRAGMENTS, 92),
			 WIRE_OK);
	assert_int_equal(mfp_encode_error(mfps[2], sizeof(mfps[2]), 5, 0x1003, FRAGMENTS, 95),
			 WIRE_OK);
	return make_mep(mep, capacity, 3, pointers, sizes);
}

// What LHCb's software takes for the header of a record (MDFIO::getHeader): the payload of a bank
// of type DAQ, 15, and version 16. It casts the payload to its header and writes into it. Returns
// the number of such banks. The banks are walked as Allen's read_mdf.cpp does.
static unsigned count_lhcb_headers(const uint8_t *record)
{
	const uint8_t *bank = record + 48, *end = record + load_le32(record);
	unsigned n = 0;

	assert_int_equal(load_le32(record), load_le32(record + 4));
	assert_int_equal(load_le32(record), load_le32(record + 8));
	assert_int_equal(record[16], 0); // not compressed
	assert_int_equal(record[17] >> 4, 3);
	for (; bank < end; bank += (load_le16(bank + 2) + 3u) & ~3u) {
		assert_int_equal(load_le16(bank), 0xCBCB);
		n += bank[4] == 15 && bank[5] == 16;
	}
	assert_ptr_equal(bank, end);
	return n;
}

static void mep_to_mdf__marks_of_a_flagged_event(void **state)
{
	static uint8_t mep[4096], records[MDF_ROOM];
	struct mep_to_mdf *converter = open_converter(NULL);
	struct mdf_header header;
	size_t offset = MDF_HEADER_SIZE, size, n_records = 0;
	size_t length = make_incomplete_mep(mep, sizeof(mep));

	(void)state;
	size = convert(converter, mep, length, EVB_EVENT_INCOMPLETE | EVB_EVENT_MALFORMED, records,
		       sizeof(records));
	assert_int_equal(mdf_decode(records, size, &header), WIRE_OK);
	assert_int_equal(header.spare, 3);
	expect_bank(records, &header, &offset, 4, 5, 0x1001, "01");
	expect_bank(records, &header, &offset, 92, 0, 0x1002, "");
	expect_bank(records, &header, &offset, 95, 0, 0x1003, "");
	expect_no_bank(records, &header, offset);
	for (size_t at = 0; at < size; at += header.size, n_records++) {
		assert_int_equal(mdf_decode(records + at, size - at, &header), WIRE_OK);
		assert_int_equal(mdf_verify(records + at, &header), WIRE_OK);
		assert_int_equal(count_lhcb_headers(records + at), 0);
	}
	assert_int_equal(n_records, FRAGMENTS);

	// An event that is only marked as repeated has no bank for that.
	size = convert(converter, mep, length, EVB_EVENT_REPEATED, records, sizeof(records));
	assert_int_equal(mdf_decode(records, size, &header), WIRE_OK);
	assert_int_equal(header.spare, 8);
	assert_int_equal(count_lhcb_headers(records), 0);
	offset = MDF_HEADER_SIZE;
	expect_bank(records, &header, &offset, 4, 5, 0x1001, "01");
	expect_bank(records, &header, &offset, 95, 0, 0x1003, "");
	mep_to_mdf_close(converter);
}

static void mep_to_mdf__no_mark_without_flags(void **state)
{
	static uint8_t mep[4096], records[MDF_ROOM];
	struct mep_to_mdf *converter = open_converter(NULL);
	struct mdf_header header;
	size_t offset = MDF_HEADER_SIZE, size;
	size_t length = make_incomplete_mep(mep, sizeof(mep));

	(void)state;
	size = convert(converter, mep, length, 0, records, sizeof(records));
	assert_int_equal(mdf_decode(records, size, &header), WIRE_OK);
	assert_int_equal(header.spare, 0);
	expect_bank(records, &header, &offset, 4, 5, 0x1001, "01");
	expect_bank(records, &header, &offset, 95, 0, 0x1003, "");
	mep_to_mdf_close(converter);
}

static void expect_refused(const uint8_t *mep, size_t length, int expected, const char *cause)
{
	struct mep_to_mdf *converter = open_converter(NULL);
	struct mep_to_mdf_event event = { .data = mep, .length = length };
	char error[256] = "";
	uint64_t total;

	assert_int_equal(mep_to_mdf_begin(converter, &event, &total, error, sizeof(error)),
			 expected);
	assert_string_equal(error, cause);
	assert_int_equal(mep_to_mdf_next_size(converter), 0);
	mep_to_mdf_close(converter);
}

static void mep_to_mdf__refuses_what_has_no_form_in_mdf(void **state)
{
	static uint8_t mep[4u * 65536u], mfp[4u * 65536u];
	const uint8_t *pointer = mfp;
	size_t size = MFP_HEADER_SIZE + 4, length;
	struct mfp_header header = { .event_id = 5, .source_id = 0x1001 };

	(void)state;
	// An opaque block: an MFP without fragments, and bytes behind its header.
	assert_int_equal(mfp_encode_header(mfp, sizeof(mfp), &header, NULL, NULL), WIRE_OK);
	store_le32(mfp + 4, (uint32_t)size);
	length = make_mep(mep, sizeof(mep), 1, &pointer, &size);
	expect_refused(mep, length, -ENOTSUP,
		       "source 0x1001 has an opaque block, which has no form in MDF");
	size = make_mfp(mfp, sizeof(mfp), 5, 0x1001, 65526);
	length = make_mep(mep, sizeof(mep), 1, &pointer, &size);
	expect_refused(mep, length, -ENOTSUP,
		       "source 0x1001 has a fragment of 65528 bytes, a bank of MDF holds at most "
		       "65527");
	mep[0] = 0;
	expect_refused(mep, length, -EBADMSG, "no sound MEP: bad_magic");
}

static void mep_to_mdf__source_map_gives_ids_back(void **state)
{
	static uint8_t mep[4096], records[MDF_ROOM];
	static const char MAP[] =
	    "{\"source\": \"x.mdf\", \"note\": \"\", \"sources\": [{\"id\": 4097, "
	    "\"bank_type\": 4, \"bank_source_id\": 9, \"version\": 5}]}";
	struct mdf_header header;
	size_t offset = MDF_HEADER_SIZE, size;
	struct mep_to_mdf *converter;
	char path[PATH_SIZE];

	path_in(path, *state, "map.json");
	write_file(path, MAP, sizeof(MAP) - 1);
	converter = open_converter(path);
	size = convert(converter, mep, make_incomplete_mep(mep, sizeof(mep)), 0, records,
		       sizeof(records));
	assert_int_equal(mdf_decode(records, size, &header), WIRE_OK);
	expect_bank(records, &header, &offset, 4, 5, 9, "01");
	expect_bank(records, &header, &offset, 95, 0, 0x1003, ""); // not in the map
	mep_to_mdf_close(converter);
}

static int compare_banks(const void *a, const void *b)
{
	const struct mdf_bank *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->source_id != y->source_id)
		return x->source_id < y->source_id ? -1 : 1;
	return x->payload < y->payload ? -1 : 1;
}

// The banks of a record, in order of type, source id and place.
static unsigned list_banks(const uint8_t *record, const struct mdf_header *header,
			   struct mdf_bank *banks)
{
	size_t offset = MDF_HEADER_SIZE;
	unsigned n = 0;
	bool done;

	for (;;) {
		assert_true(n < MAX_KEYS);
		assert_int_equal(mdf_next_bank(record, header, &offset, &banks[n], &done), WIRE_OK);
		if (done)
			break;
		n++;
	}
	qsort(banks, n, sizeof(*banks), compare_banks);
	return n;
}

static void expect_same_banks(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
	static struct mdf_bank a_banks[MAX_KEYS], b_banks[MAX_KEYS];
	struct mdf_header a_header, b_header;
	unsigned n;

	assert_int_equal(mdf_decode(a, a_size, &a_header), WIRE_OK);
	assert_int_equal(mdf_decode(b, b_size, &b_header), WIRE_OK);
	assert_int_equal(mdf_verify(b, &b_header), WIRE_OK);
	assert_int_equal(a_header.run, b_header.run);
	n = list_banks(a, &a_header, a_banks);
	assert_int_equal(list_banks(b, &b_header, b_banks), n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(a_banks[i].type, b_banks[i].type);
		assert_int_equal(a_banks[i].source_id, b_banks[i].source_id);
		assert_int_equal(a_banks[i].version, b_banks[i].version);
		assert_int_equal(a_banks[i].size, b_banks[i].size);
		assert_memory_equal(a_banks[i].payload, b_banks[i].payload, a_banks[i].size);
	}
}

// All MFPs of one position of a maker's cycle as a MEP, to be freed.
static uint8_t *build(struct block_maker *maker, unsigned cycle, size_t *size)
{
	char error[SOURCE_ERROR_SIZE];
	unsigned n = maker->n_sources;
	uint32_t *offsets = malloc(n * sizeof(*offsets));
	size_t header_size = mep_header_size(n, MEP_DEFAULT_ALIGN), at = header_size;
	uint8_t *mep;

	for (unsigned i = 0; i < n; i++)
		at += round_up(maker->size(maker, cycle, i, error), MEP_DEFAULT_ALIGN);
	*size = at;
	mep = calloc(1, at);
	assert_non_null(mep);
	at = header_size;
	for (unsigned i = 0; i < n; i++) {
		size_t length = maker->size(maker, cycle, i, error);

		maker->write(maker, cycle, i, mep + at, length);
		mfp_patch_event_id(mep + at, 1000);
		offsets[i] = (uint32_t)(at / 4);
		at += round_up(length, MEP_DEFAULT_ALIGN);
	}
	assert_int_equal(mep_encode_header(mep, *size, n, maker->ids, offsets, (uint32_t)(at / 4)),
			 WIRE_OK);
	free(offsets);
	return mep;
}

// MDF -> MFPs of 1238 sources -> MEPs -> MDF: the same banks.
static void round_trip(const char *directory, uint32_t packing)
{
	struct source_set_parameters parameters = { .packing = packing };
	char error[SOURCE_ERROR_SIZE] = "", data[PATH_SIZE], map_path[PATH_SIZE];
	struct mep_to_mdf *converter;
	struct block_maker *maker;
	struct source_map *map;
	uint8_t *original, *records;
	size_t original_size, at = 0;

	if (!find_data(data, "lhcb-minbias.mdf")) {
		print_message("lhcb-minbias.mdf is not there: skipped\n");
		skip();
	}
	original = read_file(data, &original_size);
	records = malloc(2 * original_size);
	parameters.file = data;
	assert_int_equal(mdf_sources_map(&map, data, UINT64_MAX, error), 0);
	path_in(map_path, directory, "map.json");
	assert_int_equal(source_map_save(map, map_path, error), 0);
	source_map_free(map);
	assert_int_equal(mdf_packer_open(&maker, &parameters, error), 0);
	assert_int_equal(maker->n_cycle, 10 / packing);
	assert_int_equal(maker->n_sources, 1238);
	converter = open_converter(map_path);
	for (unsigned cycle = 0; cycle < maker->n_cycle; cycle++) {
		size_t mep_size, size, done = 0;
		uint8_t *mep = build(maker, cycle, &mep_size);

		size = convert(converter, mep, mep_size, 0, records, 2 * original_size);
		for (unsigned i = 0; i < packing; i++) {
			expect_same_banks(original + at, original_size - at, records + done,
					  size - done);
			at += load_le32(original + at);
			done += load_le32(records + done);
		}
		assert_int_equal(done, size);
		free(mep);
	}
	assert_int_equal(at, original_size);
	mep_to_mdf_close(converter);
	maker->close(maker);
	free(records);
	free(original);
}

static void mep_to_mdf__real_data_packing_1(void **state)
{
	round_trip(*state, 1);
}

static void mep_to_mdf__real_data_packing_10(void **state)
{
	round_trip(*state, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mep_to_mdf__vector),
		cmocka_unit_test(mep_to_mdf__run_orbit_and_bunch_of_odin),
		cmocka_unit_test(mep_to_mdf__marks_of_a_flagged_event),
		cmocka_unit_test(mep_to_mdf__no_mark_without_flags),
		cmocka_unit_test(mep_to_mdf__refuses_what_has_no_form_in_mdf),
		cmocka_unit_test(mep_to_mdf__source_map_gives_ids_back),
		cmocka_unit_test(mep_to_mdf__real_data_packing_1),
		cmocka_unit_test(mep_to_mdf__real_data_packing_10),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
