// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Key files, and the seal of the frame that docs/control-protocol.md describes, as computed by
// Python's hashlib.blake2b and a SipHash that fulfils the vectors of its authors.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/seal.h"

#define ONE   "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define OTHER "F00102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F"
#define PATH  "test_keys.keys"

static struct control_keys keys;
static char error[CONTROL_KEYS_ERROR];

static void write_file(const char *text, size_t size, mode_t mode)
{
	int fd = open(PATH, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void expect_refused(const char *text, mode_t mode, const char *why)
{
	const struct control_keys before = keys;

	write_file(text, strlen(text), mode);
	assert_int_equal(control_keys_read(&keys, PATH, error), -1);
	if (strstr(error, why) == NULL)
		fail_msg("'%s' is not in '%s'", why, error);
	assert_memory_equal(&keys, &before, sizeof(keys));
	assert_null(strstr(error, "00010203")); // no part of a key
}

static void keys_read__lines(void **state)
{
	static const char text[] = "# of the detector\n\n  " ONE " \r\n" OTHER;

	(void)state;
	write_file(text, strlen(text), 0640);
	assert_int_equal(control_keys_read(&keys, PATH, error), 0);
	assert_int_equal(keys.n, 2);
	assert_int_equal(keys.keys[0][31], 31);
	assert_int_equal(keys.keys[1][0], 0xf0);
	assert_int_equal(keys.keys[1][10], 10);
}

static void keys_read__what_is_no_key_file(void **state)
{
	(void)state;
	expect_refused(ONE "0\n", 0600, "line 1 is no key");
	expect_refused("\n" ONE "\n0123\n", 0600, "line 3 is no key");
	expect_refused(ONE ONE, 0600, "line 1 is no key");
	expect_refused("g" ONE, 0600, "line 1 is no key");
	expect_refused("", 0600, "has no key");
	expect_refused("# none\n", 0600, "has no key");
	expect_refused(ONE "\n" ONE "\n" ONE "\n" ONE "\n" ONE "\n", 0600, "line 5");
	expect_refused(ONE, 0604, "chmod 600");
	expect_refused(ONE, 0602, "chmod 600");
	expect_refused(ONE, 0620, "chmod 600");
	write_file(ONE "\n\0", 66, 0600);
	assert_int_equal(control_keys_read(&keys, PATH, error), -1);
	assert_non_null(strstr(error, "is no text"));
	assert_int_equal(control_keys_read(&keys, ".", error), -1);
	assert_non_null(strstr(error, "no file"));
	unlink(PATH);
	assert_int_equal(control_keys_read(&keys, PATH, error), -1);
	assert_non_null(strstr(error, "No such file"));
}

static size_t from_hex(const char *hex, uint8_t *bytes)
{
	size_t n = 0;

	for (unsigned byte; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
		bytes[n] = (uint8_t)byte;
	return n;
}

static void seal__of_the_worked_frame(void **state)
{
	static const char frame[] =
	    "6576624301 09 a000 0700 0000 03000000 efcdab8967452301 1032547698badcfe f1cdab89"
	    "14325476 0500000000000000 40420f00 80841e00 fa000000 1000 0000"
	    "0500180001000200 0500000009000000 0600000003000000"
	    "0900300001000100 d204000000000000 0400000007000000 40420f0000000000"
	    "0000000000000000 2a00000000000000"
	    "0400000000000000 e19da7d288fa9d76871b580acb3056f0";
	uint8_t key[CONTROL_KEY_SIZE], expected[160], tag_of_session[SEAL_KEY_SIZE], bytes[160];
	char hex[sizeof(frame)];
	struct ctrl_frame decoded;
	struct seal_key derived;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; frame[i] != '\0'; i++)
		if (frame[i] != ' ')
			hex[n++] = frame[i];
	hex[n] = '\0';
	assert_int_equal(from_hex(hex, expected), sizeof(expected));
	assert_int_equal(from_hex("3a68270433ab6c8e4458480bcb046de2", tag_of_session), 16);
	for (unsigned i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)i;
	assert_int_equal(ctrl_frame_decode(expected, sizeof(expected), &decoded), WIRE_OK);
	assert_int_equal(decoded.records_size, 72);
	derived = seal_derive(key, &decoded.header);
	assert_memory_equal(derived.bytes, tag_of_session, sizeof(tag_of_session));
	assert_true(seal_is_intact(&decoded, &derived));
	assert_int_equal(seal_number(&decoded), 4);
	memcpy(bytes, expected, CTRL_HEADER_SIZE + 72);
	assert_int_equal(ctrl_frame_encode(bytes, &decoded.header, 72), sizeof(bytes));
	seal_put(bytes, sizeof(bytes), 4, &derived);
	assert_memory_equal(bytes, expected, sizeof(bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_read__lines),
		cmocka_unit_test(keys_read__what_is_no_key_file),
		cmocka_unit_test(seal__of_the_worked_frame),
	};

	return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
