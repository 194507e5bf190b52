// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/gather.h"
#include "record/mep_pack.h"

#define MANY_SOURCES 1500u

// Packs `bytes` into a file and returns the content of the file.
static uint8_t *pack_through_file(const char *directory, const uint8_t *bytes, size_t length,
				  size_t *size)
{
	static struct mep_pack pack;
	struct gather gather;
	char path[PATH_SIZE];
	uint64_t expected;
	int file;

	path_in(path, directory, "packed");
	file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
	assert_true(file >= 0);
	assert_int_equal(gather_init(&gather), 0);
	assert_int_equal(mep_pack_prepare(&pack, bytes, length, &expected), WIRE_OK);
	gather_start(&gather, file, 0);
	assert_int_equal(mep_pack_write(&pack, &gather), 0);
	assert_int_equal(gather_flush(&gather), 0);
	assert_int_equal(gather.position, expected);
	close(file);
	gather_fini(&gather);
	return read_file(path, size);
}

static void mep_pack__sorts_and_closes_gaps(void **state)
{
	static uint8_t slot[MEP_ROOM], expected[MEP_ROOM];
	size_t length = make_slot_mep(slot, 12345), size;
	size_t expected_size = make_file_mep(expected, 12345);
	uint8_t *packed = pack_through_file(*state, slot, length, &size);

	assert_int_equal(size, expected_size);
	assert_memory_equal(packed, expected, size);
	free(packed);
}

static void mep_pack__leaves_a_packed_mep_as_it_is(void **state)
{
	static uint8_t mep[MEP_ROOM];
	size_t length = make_file_mep(mep, 7), size;
	uint8_t *packed = pack_through_file(*state, mep, length, &size);

	assert_int_equal(size, length);
	assert_memory_equal(packed, mep, size);
	free(packed);
}

// More MFPs than a gather has pieces, in falling order of source ids.
static void mep_pack__many_sources_in_reverse(void **state)
{
	static uint8_t slot[64u * MANY_SOURCES + 16384u];
	static uint16_t ids[MANY_SOURCES];
	static uint32_t offsets[MANY_SOURCES];
	size_t at = mep_header_size(MANY_SOURCES, MEP_DEFAULT_ALIGN), size;
	struct mep mep;
	uint64_t *scratch = malloc(MANY_SOURCES * sizeof(*scratch));
	uint8_t *packed;

	for (unsigned i = 0; i < MANY_SOURCES; i++) {
		ids[i] = (uint16_t)(40 * (MANY_SOURCES - i));
		offsets[i] = (uint32_t)(at / 4);
		at += round_up(make_mfp(slot + at, sizeof(slot) - at, 9, ids[i], 3),
			       MEP_DEFAULT_ALIGN);
	}
	assert_int_equal(
	    mep_encode_header(slot, sizeof(slot), MANY_SOURCES, ids, offsets, (uint32_t)(at / 4)),
	    WIRE_OK);
	packed = pack_through_file(*state, slot, at, &size);
	assert_int_equal(mep_decode(packed, size, &mep), WIRE_OK);
	assert_int_equal(mep_check(&mep, scratch), WIRE_OK);
	assert_int_equal(mep.size, at);
	assert_int_equal(mep.n_mfps, MANY_SOURCES);
	for (unsigned i = 0; i < MANY_SOURCES; i++)
		assert_int_equal(mep_source_id(&mep, i), 40 * (i + 1));
	free(scratch);
	free(packed);
}

static void mep_pack__refuses_what_is_no_mep(void **state)
{
	static uint8_t slot[MEP_ROOM];
	static struct mep_pack pack;
	uint64_t size;
	size_t length = make_slot_mep(slot, 1);

	(void)state;
	assert_int_equal(mep_pack_prepare(&pack, slot, 7, &size), WIRE_TRUNCATED);
	assert_int_equal(mep_pack_prepare(&pack, slot, length - 4, &size), WIRE_TRUNCATED);
	// The size field of the MFP exceeds the MEP.
	store_le32(slot + mep_header_size(MEP_SOURCES, MEP_DEFAULT_ALIGN) + 4, 1u << 30);
	assert_int_equal(mep_pack_prepare(&pack, slot, length, &size), WIRE_TRUNCATED);
}

static void gather__error_of_the_file(void **state)
{
	struct gather gather;
	char path[PATH_SIZE];
	int error, file;

	path_in(path, *state, "read-only");
	write_file(path, "", 0);
	file = open(path, O_RDONLY);
	assert_int_equal(gather_init(&gather), 0);
	gather_start(&gather, file, 0);
	assert_non_null(gather_reserve(&gather, 100, &error));
	assert_int_equal(gather_flush(&gather), -EBADF);
	gather_fini(&gather);
	close(file);
}

static void gather__grows_for_one_large_piece(void **state)
{
	const size_t large = 3u * 1024u * 1024u;
	struct gather gather;
	char path[PATH_SIZE];
	uint8_t *room, *bytes;
	size_t size;
	int error, file;

	path_in(path, *state, "large");
	file = open(path, O_CREAT | O_WRONLY, 0644);
	assert_int_equal(gather_init(&gather), 0);
	gather_start(&gather, file, 0);
	memcpy(gather_reserve(&gather, 4, &error), "head", 4);
	room = gather_reserve(&gather, large, &error);
	assert_non_null(room);
	memset(room, 'x', large);
	assert_int_equal(gather_append(&gather, (const uint8_t *)"tail", 4), 0);
	assert_int_equal(gather_flush(&gather), 0);
	close(file);
	bytes = read_file(path, &size);
	assert_int_equal(size, large + 8);
	assert_memory_equal(bytes, "headx", 5);
	assert_memory_equal(bytes + size - 5, "xtail", 5);
	free(bytes);
	gather_fini(&gather);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mep_pack__sorts_and_closes_gaps),
		cmocka_unit_test(mep_pack__leaves_a_packed_mep_as_it_is),
		cmocka_unit_test(mep_pack__many_sources_in_reverse),
		cmocka_unit_test(mep_pack__refuses_what_is_no_mep),
		cmocka_unit_test(gather__error_of_the_file),
		cmocka_unit_test(gather__grows_for_one_large_piece),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
