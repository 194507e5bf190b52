// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Frames of the control protocol: layout, checksum, and that what is malformed is refused.
#include "bytes.h"

#include <stdio.h>
#include <stdlib.h>

#include "wire/crc.h"
#include "wire/ctrl.h"

// The frame that docs/control-protocol.md takes apart: a builder's node gives two credits and
// reports an event.
#define WORKED_HEADER      \
	"65766243"         \
	"01"               \
	"01"               \
	"8c00"             \
	"0700"             \
	"0000"             \
	"03000000"         \
	"efcdab8967452301" \
	"1032547698badcfe" \
	"f1cdab89"         \
	"14325476"         \
	"0500000000000000" \
	"40420f00"         \
	"80841e00"         \
	"fa000000"         \
	"1000"             \
	"0000"
#define WORKED_CREDITS \
	"0500"         \
	"1800"         \
	"0100"         \
	"0200"         \
	"05000000"     \
	"09000000"     \
	"06000000"     \
	"03000000"
#define WORKED_DONE        \
	"0900"             \
	"3000"             \
	"0100"             \
	"01"               \
	"00"               \
	"d204000000000000" \
	"04000000"         \
	"07000000"         \
	"40420f0000000000" \
	"0000"             \
	"0000"             \
	"00000000"         \
	"2a000000"         \
	"00000000"
#define WORKED_CRC   "0f57b7a8"
#define WORKED_FRAME WORKED_HEADER WORKED_CREDITS WORKED_DONE WORKED_CRC
#define WORKED_SIZE  140u

static const struct ctrl_header worked = {
	.flags = CTRL_SEQUENCED,
	.node = 7,
	.destination = 0,
	.epoch = 3,
	.session = 0x0123456789abcdef,
	.peer_session = 0xfedcba9876543210,
	.sequence = 0x89abcdf1,
	.acknowledgement = 0x76543214,
	.acknowledgement_bits = 5,
	.stamp = 1000000,
	.echo = 2000000,
	.echo_age = 250,
	.window = 16,
};

static enum wire_error decode(const struct bytes *bytes, struct ctrl_frame *frame)
{
	return ctrl_frame_decode(bytes->data, bytes->size, frame);
}

// Puts the right checksum under what the test changed.
static void seal(struct bytes *bytes)
{
	store_le32(bytes->data + bytes->size - 4, crc32c(0, bytes->data, bytes->size - 4));
}

static void crc32c__known_values(void **state)
{
	uint8_t bytes[32];

	(void)state;
	assert_int_equal(crc32c(0, "123456789", 9), 0xE3069283);
	assert_int_equal(crc32c(0, "", 0), 0);
	// RFC 3720, B.4
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x8A9136AA);
	memset(bytes, 0xFF, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x62A8AB43);
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x46DD794E);
}

static void crc32c__in_pieces(void **state)
{
	struct bytes bytes = bytes_of_zeros(300);

	(void)state;
	for (size_t i = 0; i < bytes.size; i++)
		bytes.data[i] = (uint8_t)(i * 37 + i / 7);
	for (size_t n = 0; n < bytes.size; n++) {
		const uint32_t whole = crc32c(0, bytes.data, n);

		assert_int_equal(
		    crc32c(crc32c(0, bytes.data, n / 3), bytes.data + n / 3, n - n / 3), whole);
	}
	bytes_free(&bytes);
}

static void frame_encode__the_worked_frame(void **state)
{
	static const struct ctrl_credit credits[] = { { 5, 9 }, { 6, 3 } };
	const struct ctrl_credit_list list = { .builder = 1, .n = 2 };
	const struct ctrl_done done = {
		.builder = 1,
		.outcome = CTRL_COMPLETE,
		.event = 1234,
		.slot = 4,
		.generation = 7,
		.bytes = 1000000,
		.run = 42,
	};
	struct bytes bytes = bytes_of_zeros(WORKED_SIZE);
	uint8_t *records = bytes.data + CTRL_HEADER_SIZE;

	(void)state;
	assert_int_equal(ctrl_put_credit_list(records, 24, &list, credits), 24);
	assert_int_equal(ctrl_put_done(records + 24, 48, &done), 48);
	assert_int_equal(ctrl_frame_encode(bytes.data, &worked, 72), WORKED_SIZE);
	expect_hex(bytes.data, bytes.size, WORKED_FRAME);
	bytes_free(&bytes);
}

static void expect_header(const struct ctrl_header *header)
{
	assert_int_equal(header->flags, worked.flags);
	assert_int_equal(header->node, worked.node);
	assert_int_equal(header->destination, worked.destination);
	assert_int_equal(header->epoch, worked.epoch);
	assert_int_equal(header->session, worked.session);
	assert_int_equal(header->peer_session, worked.peer_session);
	assert_int_equal(header->sequence, worked.sequence);
	assert_int_equal(header->acknowledgement, worked.acknowledgement);
	assert_int_equal(header->acknowledgement_bits, worked.acknowledgement_bits);
	assert_int_equal(header->stamp, worked.stamp);
	assert_int_equal(header->echo, worked.echo);
	assert_int_equal(header->echo_age, worked.echo_age);
	assert_int_equal(header->window, worked.window);
}

static void frame_decode__the_worked_frame(void **state)
{
	struct bytes bytes = bytes_from_hex(WORKED_FRAME);
	struct ctrl_credit_list list;
	struct ctrl_record record;
	struct ctrl_frame frame;
	struct ctrl_done done;
	size_t offset = 0;

	(void)state;
	assert_int_equal(decode(&bytes, &frame), WIRE_OK);
	expect_header(&frame.header);
	assert_int_equal(frame.size, WORKED_SIZE);
	assert_true(ctrl_next_record(&frame, &offset, &record));
	assert_int_equal(record.type, CTRL_CREDIT_LIST);
	assert_int_equal(record.size, 24);
	assert_int_equal(ctrl_get_credit_list(&record, &list), WIRE_OK);
	assert_int_equal(list.builder, 1);
	assert_int_equal(list.n, 2);
	assert_int_equal(ctrl_credit_at(&list, 1).slot, 6);
	assert_int_equal(ctrl_credit_at(&list, 1).generation, 3);
	assert_true(ctrl_next_record(&frame, &offset, &record));
	assert_int_equal(ctrl_get_done(&record, &done), WIRE_OK);
	assert_int_equal(done.event, 1234);
	assert_int_equal(done.bytes, 1000000);
	assert_int_equal(done.n_missing, 0);
	assert_false(ctrl_next_record(&frame, &offset, &record));
	bytes_free(&bytes);
}

static char *read_page(void)
{
	FILE *file = fopen(REPOSITORY "/docs/control-protocol.md", "r");
	struct bytes page = bytes_of_zeros(1 << 20);

	assert_non_null(file);
	assert_in_range(fread(page.data, 1, page.size - 1, file), 1, page.size - 2);
	fclose(file);
	return (char *)page.data;
}

// The manual takes the same bytes apart.
static void frame_encode__the_worked_frame_is_in_the_manual(void **state)
{
	struct bytes bytes = bytes_from_hex(WORKED_FRAME);
	char *page = read_page(), line[64];

	(void)state;
	for (size_t at = 0; at < bytes.size; at += 16) {
		int n = snprintf(line, sizeof(line), "    %04zx ", at);

		for (size_t i = at; i < bytes.size && i < at + 16; i++)
			n += snprintf(line + n, sizeof(line) - (size_t)n, "%s%02x",
				      i % 4 == 0 ? " " : "", bytes.data[i]);
		snprintf(line + n, sizeof(line) - (size_t)n, "\n");
		if (!strstr(page, line))
			fail_msg("docs/control-protocol.md lacks the line %s", line);
	}
	free(page);
	bytes_free(&bytes);
}

static void frame_encode__the_destination(void **state)
{
	struct bytes bytes = bytes_of_zeros(CTRL_OVERHEAD);
	struct ctrl_header header = worked;
	struct ctrl_frame frame;

	(void)state;
	header.destination = 1023;
	ctrl_frame_encode(bytes.data, &header, 0);
	assert_int_equal(load_le16(bytes.data + 10), 1023);
	assert_int_equal(decode(&bytes, &frame), WIRE_OK);
	assert_int_equal(frame.header.destination, 1023);
	bytes_free(&bytes);
}

static void frame_decode__without_records(void **state)
{
	struct bytes bytes = bytes_of_zeros(CTRL_OVERHEAD);
	struct ctrl_record record;
	struct ctrl_frame frame;
	size_t offset = 0;

	(void)state;
	assert_int_equal(ctrl_frame_encode(bytes.data, &worked, 0), CTRL_OVERHEAD);
	assert_int_equal(decode(&bytes, &frame), WIRE_OK);
	assert_false(ctrl_next_record(&frame, &offset, &record));
	bytes_free(&bytes);
}

static void frame_decode__unknown_records_are_walked_over(void **state)
{
	struct bytes bytes = bytes_from_hex(WORKED_HEADER "ffff0800deadbeef" WORKED_CREDITS
							  "0080100000000000ffffffffffffffff"
							  "0000000000000000" WORKED_CRC);
	struct ctrl_record record;
	struct ctrl_frame frame;
	size_t offset = 0;

	(void)state;
	bytes.size -= 8; // the last of them stays away
	store_le16(bytes.data + 6, (uint16_t)bytes.size);
	seal(&bytes);
	assert_int_equal(decode(&bytes, &frame), WIRE_OK);
	assert_true(ctrl_next_record(&frame, &offset, &record));
	assert_int_equal(record.type, 0xFFFF);
	assert_true(record.type >= CTRL_N_TYPES);
	assert_true(ctrl_next_record(&frame, &offset, &record));
	assert_int_equal(record.type, CTRL_CREDIT_LIST);
	assert_true(ctrl_next_record(&frame, &offset, &record));
	assert_int_equal(record.type, 0x8000);
	assert_int_equal(record.size, 16);
	assert_false(ctrl_next_record(&frame, &offset, &record));
	bytes_free(&bytes);
}

// A frame with one field of the worked one changed, and the checksum right.
static enum wire_error decode_with(size_t offset, uint64_t value, size_t width)
{
	struct bytes bytes = bytes_from_hex(WORKED_FRAME);
	struct ctrl_frame frame;
	enum wire_error error;

	memcpy(bytes.data + offset, &value, width);
	seal(&bytes);
	error = decode(&bytes, &frame);
	bytes_free(&bytes);
	return error;
}

static void frame_decode__contradictions_are_named(void **state)
{
	(void)state;
	assert_int_equal(decode_with(0, 0x43627664, 4), WIRE_BAD_MAGIC);
	assert_int_equal(decode_with(4, 2, 1), WIRE_BAD_VERSION);
	assert_int_equal(decode_with(6, WORKED_SIZE + 8, 2), WIRE_TRUNCATED);
	assert_int_equal(decode_with(6, WORKED_SIZE - 8, 2), WIRE_BAD_LENGTH);
	assert_int_equal(decode_with(6, 0, 2), WIRE_BAD_LENGTH);
	assert_int_equal(decode_with(8, 1023, 2), WIRE_OK);
	assert_int_equal(decode_with(8, 1024, 2), WIRE_UNSUPPORTED);
	assert_int_equal(decode_with(10, 1024, 2), WIRE_UNSUPPORTED);
	assert_int_equal(decode_with(16, 0, 8), WIRE_UNSUPPORTED);
	assert_int_equal(decode_with(24, 0, 8), WIRE_OK);
	assert_int_equal(decode_with(60, 0, 2), WIRE_UNSUPPORTED);
	assert_int_equal(decode_with(60, 1, 2), WIRE_OK);
	assert_int_equal(decode_with(60, 64, 2), WIRE_OK);
	assert_int_equal(decode_with(60, 65, 2), WIRE_UNSUPPORTED);
	assert_int_equal(decode_with(66, 0, 2), WIRE_BAD_ALIGNMENT);
	assert_int_equal(decode_with(66, 20, 2), WIRE_BAD_ALIGNMENT);
	assert_int_equal(decode_with(66, 80, 2), WIRE_TRUNCATED); // beyond the frame
	assert_int_equal(decode_with(66, 72, 2), WIRE_OK);
	assert_int_equal(decode_with(5, 0xF4, 1), WIRE_OK); // flags that have no meaning yet
}

static void frame_decode__a_size_that_is_no_multiple(void **state)
{
	struct bytes bytes = bytes_of_zeros(CTRL_OVERHEAD + 4);
	struct ctrl_frame frame;

	(void)state;
	ctrl_frame_encode(bytes.data, &worked, 0);
	store_le16(bytes.data + 6, (uint16_t)bytes.size);
	seal(&bytes);
	assert_int_equal(decode(&bytes, &frame), WIRE_BAD_LENGTH);
	bytes_free(&bytes);
}

static void refused(const uint8_t *bytes, size_t size)
{
	struct ctrl_frame frame;

	assert_int_not_equal(ctrl_frame_decode(bytes, size, &frame), WIRE_OK);
}

static void frame_decode__every_change_of_a_byte_is_noticed(void **state)
{
	struct bytes bytes = bytes_from_hex(WORKED_FRAME);

	(void)state;
	each_mutation(&bytes, refused);
	each_truncation(&bytes, refused);
	bytes_free(&bytes);
}

static void frame_encode__the_largest(void **state)
{
	struct bytes bytes = bytes_of_zeros(CTRL_MAX_SIZE);
	struct ctrl_frame frame;

	(void)state;
	for (size_t at = CTRL_HEADER_SIZE; at < CTRL_MAX_SIZE - CTRL_CRC_SIZE; at += 8)
		store_le32(bytes.data + at, 8 << 16 | 77);
	assert_int_equal(ctrl_frame_encode(bytes.data, &worked, CTRL_MAX_SIZE - CTRL_OVERHEAD),
			 CTRL_MAX_SIZE);
	assert_int_equal(decode(&bytes, &frame), WIRE_OK);
	assert_int_equal(frame.size, CTRL_MAX_SIZE);
	bytes_free(&bytes);
}

static void record_at__checks_the_size(void **state)
{
	struct bytes bytes = bytes_from_hex("4d00100000000000"
					    "0000000000000000");
	struct ctrl_record record;

	(void)state;
	assert_int_equal(ctrl_record_at(bytes.data, 16, &record), WIRE_OK);
	assert_int_equal(record.type, 77);
	assert_int_equal(record.size, 16);
	assert_int_equal(ctrl_record_at(bytes.data, 15, &record), WIRE_TRUNCATED);
	assert_int_equal(ctrl_record_at(bytes.data, 7, &record), WIRE_TRUNCATED);
	bytes.data[2] = 0;
	assert_int_equal(ctrl_record_at(bytes.data, 16, &record), WIRE_BAD_ALIGNMENT);
	bytes.data[2] = 12;
	assert_int_equal(ctrl_record_at(bytes.data, 16, &record), WIRE_BAD_ALIGNMENT);
	bytes_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32c__known_values),
		cmocka_unit_test(crc32c__in_pieces),
		cmocka_unit_test(frame_encode__the_worked_frame),
		cmocka_unit_test(frame_encode__the_worked_frame_is_in_the_manual),
		cmocka_unit_test(frame_decode__the_worked_frame),
		cmocka_unit_test(frame_encode__the_destination),
		cmocka_unit_test(frame_decode__without_records),
		cmocka_unit_test(frame_decode__unknown_records_are_walked_over),
		cmocka_unit_test(frame_decode__contradictions_are_named),
		cmocka_unit_test(frame_decode__a_size_that_is_no_multiple),
		cmocka_unit_test(frame_decode__every_change_of_a_byte_is_noticed),
		cmocka_unit_test(frame_encode__the_largest),
		cmocka_unit_test(record_at__checks_the_size),
	};

	return cmocka_run_group_tests_name("ctrl", tests, NULL, NULL);
}
