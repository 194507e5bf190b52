// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"

#include "wire/feroce_cm.h"

// "Send QP info", acknowledged; a transfer to start, WRITE.
#define MESSAGE            \
	"35"               \
	"00010203"         \
	"00040506"         \
	"0708090a"         \
	"0b0c0d0e0f101112" \
	"c0a80001"         \
	"00131415"         \
	"00161718"         \
	"191a1b1c"         \
	"1d1e1f2021222324" \
	"0a000001"         \
	"4321"             \
	"0b"               \
	"00001000"         \
	"00000064"         \
	"02625a00"

static void decode__every_field(void **state)
{
	struct bytes bytes = bytes_from_hex(MESSAGE);
	struct feroce_cm message;

	(void)state;
	assert_int_equal(feroce_cm_decode(bytes.data, bytes.size, &message), WIRE_OK);
	assert_true(message.info_valid);
	assert_int_equal(message.request, FEROCE_SEND_QP_INFO);
	assert_true(message.ack_valid);
	assert_int_equal(message.ack, FEROCE_ACK);
	assert_int_equal(message.local.qpn, 0x010203);
	assert_int_equal(message.local.psn, 0x040506);
	assert_int_equal(message.local.rkey, 0x0708090A);
	assert_int_equal(message.local.base_address, 0x0B0C0D0E0F101112);
	assert_int_equal(message.local.ip, 0xC0A80001);
	assert_int_equal(message.remote.qpn, 0x131415);
	assert_int_equal(message.remote.psn, 0x161718);
	assert_int_equal(message.remote.rkey, 0x191A1B1C);
	assert_int_equal(message.remote.base_address, 0x1D1E1F2021222324);
	assert_int_equal(message.remote.ip, 0x0A000001);
	assert_int_equal(message.port, FEROCE_CM_UDP_PORT);
	assert_true(message.transfer_valid);
	assert_true(message.start);
	assert_false(message.with_immediate);
	assert_true(message.is_write);
	assert_int_equal(message.transfer_length, 4096);
	assert_int_equal(message.n_transfers, 100);
	assert_int_equal(message.frequency, 40000000);
	bytes_free(&bytes);
}

static void decode__each_bit_is_one_field(void **state)
{
	struct bytes bytes = bytes_of_zeros(FEROCE_CM_SIZE);
	struct feroce_cm message;

	(void)state;
	bytes.data[0] = 0x01;
	bytes.data[51] = 0x02;
	assert_int_equal(feroce_cm_decode(bytes.data, bytes.size, &message), WIRE_OK);
	assert_true(message.info_valid && !message.ack_valid);
	assert_true(message.request == 0 && message.ack == 0);
	assert_true(!message.transfer_valid && message.start);
	assert_true(!message.with_immediate && !message.is_write);
	bytes.data[0] = 0x10;
	bytes.data[51] = 0x04;
	assert_int_equal(feroce_cm_decode(bytes.data, bytes.size, &message), WIRE_OK);
	assert_true(!message.info_valid && message.ack_valid);
	assert_true(!message.transfer_valid && !message.start);
	assert_true(message.with_immediate && !message.is_write);
	bytes.data[0] = 0xEE;
	assert_int_equal(feroce_cm_decode(bytes.data, bytes.size, &message), WIRE_OK);
	assert_true(!message.info_valid && !message.ack_valid);
	assert_int_equal(message.request, FEROCE_REQUEST_ERROR);
	assert_int_equal(message.ack, FEROCE_ACK_ERROR);
	bytes_free(&bytes);
}

static void encode__is_the_inverse(void **state)
{
	struct bytes bytes = bytes_from_hex(MESSAGE);
	uint8_t again[FEROCE_CM_SIZE];
	struct feroce_cm message;

	(void)state;
	for (unsigned i = 0; i < 256; i++) {
		// the bits of byte 51 that are not reserved
		bytes.data[0] = (uint8_t)i;
		bytes.data[51] = (uint8_t)(i & 0x0F);
		assert_int_equal(feroce_cm_decode(bytes.data, bytes.size, &message), WIRE_OK);
		feroce_cm_encode(again, &message);
		assert_memory_equal(again, bytes.data, sizeof(again));
	}
	bytes_free(&bytes);
}

static void decode__padding_does_not_count(void **state)
{
	struct bytes bytes = bytes_of_zeros(FEROCE_CM_SIZE);
	struct feroce_cm message;

	(void)state;
	bytes.data[1] = bytes.data[5] = bytes.data[25] = bytes.data[29] = 0xFF;
	assert_int_equal(feroce_cm_decode(bytes.data, bytes.size, &message), WIRE_OK);
	assert_int_equal(message.local.qpn | message.local.psn, 0);
	assert_int_equal(message.remote.qpn | message.remote.psn, 0);
	bytes_free(&bytes);
}

static void expect_truncated(const uint8_t *bytes, size_t size)
{
	struct feroce_cm message;

	assert_int_equal(feroce_cm_decode(bytes, size, &message), WIRE_TRUNCATED);
}

static void decode__truncations(void **state)
{
	struct bytes bytes = bytes_from_hex(MESSAGE);

	(void)state;
	assert_int_equal(bytes.size, FEROCE_CM_SIZE);
	each_truncation(&bytes, expect_truncated);
	bytes_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode__every_field),
		cmocka_unit_test(decode__each_bit_is_one_field),
		cmocka_unit_test(encode__is_the_inverse),
		cmocka_unit_test(decode__padding_does_not_count),
		cmocka_unit_test(decode__truncations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
