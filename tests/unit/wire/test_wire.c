// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"
#include "wire/wire.h"

static void reason__names_every_error(void **state)
{
	static const char *const names[] = {
		"ok",         "truncated",     "bad_magic",    "bad_version",
		"bad_length", "bad_alignment", "bad_checksum", "bad_source",
		"bad_event",  "unsupported",   "no_room",
	};

	(void)state;
	assert_int_equal(sizeof(names) / sizeof(names[0]), WIRE_N_ERRORS);
	for (int i = 0; i < WIRE_N_ERRORS; i++)
		assert_string_equal(wire_reason((enum wire_error)i), names[i]);
	assert_string_equal(wire_reason(WIRE_N_ERRORS), "unknown");
	assert_string_equal(wire_reason((enum wire_error) - 1), "unknown");
}

static void access__is_bytewise_in_the_named_order(void **state)
{
	uint8_t bytes[9];

	(void)state;
	store_le16(bytes + 1, 0x0102);
	expect_hex(bytes + 1, 2, "0201");
	assert_int_equal(load_le16(bytes + 1), 0x0102);
	assert_int_equal(load_be16(bytes + 1), 0x0201);
	store_be32(bytes + 1, 0x01020304);
	expect_hex(bytes + 1, 4, "01020304");
	assert_int_equal(load_be32(bytes + 1), 0x01020304);
	assert_int_equal(load_le32(bytes + 1), 0x04030201);
	store_be64(bytes + 1, 0x0102030405060708);
	expect_hex(bytes + 1, 8, "0102030405060708");
	assert_int_equal(load_be64(bytes + 1), 0x0102030405060708);
	assert_int_equal(load_le64(bytes + 1), 0x0807060504030201);
	store_le64(bytes + 1, 0x0102030405060708);
	expect_hex(bytes + 1, 8, "0807060504030201");
	store_le32(bytes + 1, 0x01020304);
	expect_hex(bytes + 1, 4, "04030201");
	store_be16(bytes + 1, 0x0102);
	expect_hex(bytes + 1, 2, "0102");
}

static void round_up__reaches_the_next_multiple(void **state)
{
	(void)state;
	assert_int_equal(round_up(0, 4), 0);
	assert_int_equal(round_up(1, 4), 4);
	assert_int_equal(round_up(4, 4), 4);
	assert_int_equal(round_up(65535, 1), 65535);
	assert_int_equal(round_up(65535, 65536), 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reason__names_every_error),
		cmocka_unit_test(access__is_bytewise_in_the_named_order),
		cmocka_unit_test(round_up__reaches_the_next_multiple),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
