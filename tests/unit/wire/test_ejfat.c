// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"

#include "wire/ejfat.h"

// data id 0x1037, offset 1000, of 1004 bytes, event 7, with 4 bytes of payload.
#define RE      "10001037000003e8000003ec0000000000000007"
#define LB_V2   "4c420201000012340123456789abcdef"
#define LB_V3   "4c420301567812340123456789abcdef"
#define PAYLOAD "deadbeef"

static enum wire_error decode_at_hand(const char *hex, size_t header_bytes,
				      struct ejfat_segment *segment)
{
	struct bytes bytes = bytes_from_hex(hex);
	struct bytes at_hand = bytes_copy(bytes.data, header_bytes);
	enum wire_error error =
	    ejfat_segment_decode(at_hand.data, at_hand.size, bytes.size, segment);

	bytes_free(&at_hand);
	bytes_free(&bytes);
	return error;
}

static enum wire_error decode(const char *hex, struct ejfat_segment *segment)
{
	return decode_at_hand(hex, strlen(hex) / 2, segment);
}

static void use(const uint8_t *bytes, size_t size)
{
	struct ejfat_segment segment;
	struct ejfat_lb lb;

	ejfat_lb_decode(bytes, size, &lb);
	if (ejfat_segment_decode(bytes, size, size, &segment) != WIRE_OK)
		return;
	assert_int_equal(segment.payload_offset + (size_t)segment.payload_size, size);
	assert_true(segment.payload_size >= 1);
	assert_true((uint64_t)segment.re.offset + segment.payload_size <= segment.re.length);
}

static void expect_segment(const struct ejfat_segment *segment)
{
	assert_int_equal(segment->re.data_id, 0x1037);
	assert_int_equal(segment->re.offset, 1000);
	assert_int_equal(segment->re.length, 1004);
	assert_int_equal(segment->re.event_number, 7);
	assert_int_equal(segment->payload_size, 4);
}

static void segment_decode__every_field(void **state)
{
	struct ejfat_segment segment;

	(void)state;
	assert_int_equal(decode(RE PAYLOAD, &segment), WIRE_OK);
	expect_segment(&segment);
	assert_int_equal(segment.payload_offset, 20);
}

static void segment_decode__behind_a_load_balancer_header(void **state)
{
	struct ejfat_segment segment = { 0 };

	(void)state;
	assert_int_equal(decode(LB_V2 RE PAYLOAD, &segment), WIRE_OK);
	expect_segment(&segment);
	assert_int_equal(segment.payload_offset, 36);
	segment = (struct ejfat_segment){ 0 };
	assert_int_equal(decode(LB_V3 RE PAYLOAD, &segment), WIRE_OK);
	expect_segment(&segment);
	assert_int_equal(segment.payload_offset, 36);
}

static void segment_decode__needs_only_the_headers_at_hand(void **state)
{
	struct ejfat_segment segment;

	(void)state;
	assert_int_equal(decode_at_hand(LB_V2 RE PAYLOAD, 36, &segment), WIRE_OK);
	expect_segment(&segment);
	assert_int_equal(decode_at_hand(LB_V2 RE PAYLOAD, 35, &segment), WIRE_TRUNCATED);
	assert_int_equal(decode_at_hand(RE PAYLOAD, 20, &segment), WIRE_OK);
	expect_segment(&segment);
	assert_int_equal(decode_at_hand(RE PAYLOAD, 19, &segment), WIRE_TRUNCATED);
}

static void segment_decode__contradictions_are_named(void **state)
{
	struct ejfat_segment segment;

	(void)state;
	assert_int_equal(decode(RE, &segment), WIRE_BAD_LENGTH); // no payload
	assert_int_equal(decode(LB_V2 RE, &segment), WIRE_BAD_LENGTH);
	assert_int_equal(decode(RE PAYLOAD "00", &segment), WIRE_BAD_LENGTH); // beyond the buffer
	assert_int_equal(decode("20001037000003e8000003ec0000000000000007" PAYLOAD, &segment),
			 WIRE_BAD_VERSION);
	assert_int_equal(decode("10001037fffffffe000003ec0000000000000007" PAYLOAD, &segment),
			 WIRE_BAD_LENGTH); // the sum is more than 32 bits
	assert_int_equal(decode("10001037fffffffbffffffff0000000000000007" PAYLOAD, &segment),
			 WIRE_OK);
	assert_int_equal(decode("4c420401000012340123456789abcdef" RE PAYLOAD, &segment),
			 WIRE_BAD_VERSION);
	assert_int_equal(decode("4c420101000012340123456789abcdef" RE PAYLOAD, &segment),
			 WIRE_BAD_VERSION);
	assert_int_equal(decode("4c420202000012340123456789abcdef" RE PAYLOAD, &segment),
			 WIRE_BAD_VERSION);
	assert_int_equal(decode("4c430201000012340123456789abcdef" RE PAYLOAD, &segment),
			 WIRE_BAD_VERSION); // no LB header, so it must be an RE header
}

// All that is left of a shortened datagram is a shorter payload, unless it is none.
static void expect_shorter(const uint8_t *bytes, size_t size)
{
	struct ejfat_segment segment;
	enum wire_error error = ejfat_segment_decode(bytes, size, size, &segment);

	if (size < EJFAT_LB_SIZE + EJFAT_RE_SIZE) {
		assert_int_equal(error, WIRE_TRUNCATED);
	} else if (size == EJFAT_LB_SIZE + EJFAT_RE_SIZE) {
		assert_int_equal(error, WIRE_BAD_LENGTH);
	} else {
		assert_int_equal(error, WIRE_OK);
		assert_int_equal(segment.payload_size, size - EJFAT_LB_SIZE - EJFAT_RE_SIZE);
	}
}

static void segment_decode__truncations(void **state)
{
	struct bytes bytes = bytes_from_hex(LB_V3 RE PAYLOAD);

	(void)state;
	each_truncation(&bytes, expect_shorter);
	bytes_free(&bytes);
}

static void segment_decode__no_mutation_leads_outside(void **state)
{
	struct bytes with = bytes_from_hex(LB_V3 RE PAYLOAD), without = bytes_from_hex(RE PAYLOAD);

	(void)state;
	each_mutation(&with, use);
	each_mutation(&without, use);
	bytes_free(&with);
	bytes_free(&without);
}

static void re__encode_decode_is_the_identity(void **state)
{
	struct bytes bytes = bytes_from_hex(RE);
	uint8_t again[EJFAT_RE_SIZE];
	struct ejfat_re re;

	(void)state;
	assert_int_equal(ejfat_re_decode(bytes.data, 19, &re), WIRE_TRUNCATED);
	assert_int_equal(ejfat_re_decode(bytes.data, 20, &re), WIRE_OK);
	ejfat_re_encode(again, &re);
	expect_hex(again, sizeof(again), RE);
	bytes_free(&bytes);
}

// Other bits of that byte are reserved.
static void re__flags(void **state)
{
	struct bytes bytes = bytes_from_hex(RE);
	struct ejfat_re re;

	(void)state;
	assert_int_equal(ejfat_re_decode(bytes.data, bytes.size, &re), WIRE_OK);
	assert_int_equal(re.flags, 0);
	re.flags = EJFAT_RE_REPEATED;
	ejfat_re_encode(bytes.data, &re);
	assert_int_equal(bytes.data[1], 1);
	bytes.data[1] = 0xFF;
	assert_int_equal(ejfat_re_decode(bytes.data, bytes.size, &re), WIRE_OK);
	assert_int_equal(re.flags, EJFAT_RE_REPEATED | EJFAT_RE_MORE);
	bytes_free(&bytes);
}

// A block of 3 bytes, behind which another one with 1 byte begins.
#define BLOCK_OF_3         \
	"10020037"         \
	"00000000"         \
	"00000003"         \
	"0000000000000007" \
	"aabbcc"
#define BLOCK_OF_1         \
	"10000038"         \
	"00000000"         \
	"00000001"         \
	"0000000000000008" \
	"dd"

static void segment_decode__first_block_of_several(void **state)
{
	struct bytes bytes = bytes_from_hex(BLOCK_OF_3 BLOCK_OF_1);
	struct ejfat_segment segment;

	(void)state;
	assert_int_equal(decode(BLOCK_OF_3 BLOCK_OF_1, &segment), WIRE_OK);
	assert_int_equal(segment.payload_size, 3);
	for (size_t size = 2 * EJFAT_RE_SIZE + 3; size > EJFAT_RE_SIZE + 3; size--)
		assert_int_equal(ejfat_segment_decode(bytes.data, size, size, &segment),
				 WIRE_BAD_LENGTH);
	bytes.data[7] = 1; // its offset: no part of a block has another block behind it
	assert_int_equal(ejfat_segment_decode(bytes.data, bytes.size, bytes.size, &segment),
			 WIRE_BAD_LENGTH);
	bytes_free(&bytes);
}

static void lb__version_2(void **state)
{
	struct bytes bytes = bytes_from_hex(LB_V2);
	uint8_t again[EJFAT_LB_SIZE];
	struct ejfat_lb lb;

	(void)state;
	assert_true(ejfat_has_lb(bytes.data, bytes.size));
	assert_int_equal(ejfat_lb_decode(bytes.data, 15, &lb), WIRE_TRUNCATED);
	assert_int_equal(ejfat_lb_decode(bytes.data, 16, &lb), WIRE_OK);
	assert_int_equal(lb.version, 2);
	assert_int_equal(lb.slot_select, 0);
	assert_int_equal(lb.entropy, 0x1234);
	assert_int_equal(lb.tick, 0x0123456789ABCDEF);
	ejfat_lb_encode(again, &lb);
	expect_hex(again, sizeof(again), LB_V2);
	bytes_free(&bytes);
}

static void lb__version_3(void **state)
{
	struct bytes bytes = bytes_from_hex(LB_V3);
	uint8_t again[EJFAT_LB_SIZE];
	struct ejfat_lb lb;

	(void)state;
	assert_int_equal(ejfat_lb_decode(bytes.data, bytes.size, &lb), WIRE_OK);
	assert_int_equal(lb.version, 3);
	assert_int_equal(lb.slot_select, 0x5678);
	assert_int_equal(lb.entropy, 0x1234);
	assert_int_equal(lb.tick, 0x0123456789ABCDEF);
	ejfat_lb_encode(again, &lb);
	expect_hex(again, sizeof(again), LB_V3);
	bytes_free(&bytes);
}

static void lb__magic(void **state)
{
	struct bytes bytes = bytes_from_hex(RE);
	struct ejfat_lb lb;

	(void)state;
	assert_false(ejfat_has_lb(bytes.data, bytes.size));
	assert_int_equal(ejfat_lb_decode(bytes.data, bytes.size, &lb), WIRE_BAD_MAGIC);
	memcpy(bytes.data, "LB", 2);
	assert_true(ejfat_has_lb(bytes.data, 2));
	assert_false(ejfat_has_lb(bytes.data, 1));
	assert_false(ejfat_has_lb(bytes.data, 0));
	bytes_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segment_decode__every_field),
		cmocka_unit_test(segment_decode__behind_a_load_balancer_header),
		cmocka_unit_test(segment_decode__needs_only_the_headers_at_hand),
		cmocka_unit_test(segment_decode__contradictions_are_named),
		cmocka_unit_test(segment_decode__truncations),
		cmocka_unit_test(segment_decode__no_mutation_leads_outside),
		cmocka_unit_test(re__encode_decode_is_the_identity),
		cmocka_unit_test(re__flags),
		cmocka_unit_test(segment_decode__first_block_of_several),
		cmocka_unit_test(lb__version_2),
		cmocka_unit_test(lb__version_3),
		cmocka_unit_test(lb__magic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
