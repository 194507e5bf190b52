// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"

#include "wire/pfc.h"

#define GROUP    "0180c2000001"
#define SENDER   "020000000001"
#define RECEIVER "020000000002"
#define ZEROS_26 "0000000000000000000000000000000000000000000000000000"
#define ZEROS_42 ZEROS_26 "00000000000000000000000000000000"

// Priority 3 for 0xffff quanta; 802.3x for 0x1234 quanta.
#define FRAME_PFC                       \
	GROUP SENDER "8808010100080000" \
		     "00000000ffff0000000000000000" ZEROS_26
#define FRAME_PAUSE GROUP SENDER "880800011234" ZEROS_42

static const struct net_mac sender = { { 2, 0, 0, 0, 0, 1 } };
static const struct net_mac receiver = { { 2, 0, 0, 0, 0, 2 } };

static enum wire_error decode(const char *hex, const struct net_mac *own, struct pfc_frame *frame)
{
	struct bytes bytes = bytes_from_hex(hex);
	enum wire_error error = pfc_decode(bytes.data, bytes.size, own, frame);

	bytes_free(&bytes);
	return error;
}

static void expect_quanta(const struct pfc_frame *frame, unsigned priority, uint16_t quanta)
{
	for (unsigned i = 0; i < PFC_PRIORITIES; i++)
		assert_int_equal(frame->quanta[i], i == priority ? quanta : 0);
}

static void encode__priority_3(void **state)
{
	struct pfc_frame frame = { .source = sender, .priorities = 8, .quanta = { [3] = 0xFFFF } };
	uint8_t bytes[PFC_FRAME_SIZE];

	(void)state;
	memset(bytes, 0xEE, sizeof(bytes));
	pfc_encode(bytes, &frame);
	expect_hex(bytes, sizeof(bytes), FRAME_PFC);
}

static void encode__times_of_others_are_0(void **state)
{
	struct pfc_frame frame = { .source = sender, .priorities = 8 };
	uint8_t bytes[PFC_FRAME_SIZE];

	(void)state;
	for (unsigned i = 0; i < PFC_PRIORITIES; i++)
		frame.quanta[i] = 0xFFFF;
	pfc_encode(bytes, &frame);
	expect_hex(bytes, sizeof(bytes), FRAME_PFC);
}

static void encode__xon_and_xoff_in_one(void **state)
{
	struct pfc_frame frame = { .source = sender,
				   .priorities = 0x81,
				   .quanta = { [0] = 0x0102 } };
	uint8_t bytes[PFC_FRAME_SIZE];

	(void)state;
	pfc_encode(bytes, &frame);
	expect_hex(bytes, sizeof(bytes),
		   GROUP SENDER "8808010100810102"
				"0000000000000000000000000000" ZEROS_26);
}

static void encode__pause(void **state)
{
	struct pfc_frame frame = { .source = sender, .is_pause = true, .quanta = { 0x1234 } };
	uint8_t bytes[PFC_FRAME_SIZE];

	(void)state;
	memset(bytes, 0xEE, sizeof(bytes));
	pfc_encode(bytes, &frame);
	expect_hex(bytes, sizeof(bytes), FRAME_PAUSE);
}

static void decode__priority_3(void **state)
{
	struct pfc_frame frame;

	(void)state;
	assert_int_equal(decode(FRAME_PFC, NULL, &frame), WIRE_OK);
	assert_false(frame.is_pause);
	assert_int_equal(frame.priorities, 8);
	assert_memory_equal(&frame.source, &sender, sizeof(sender));
	expect_quanta(&frame, 3, 0xFFFF);
}

static void decode__time_counts_only_where_enabled(void **state)
{
	struct pfc_frame frame;

	(void)state;
	assert_int_equal(decode(GROUP SENDER "8808010100010005"
					     "00070000000000000000000000000000" ZEROS_26,
				NULL, &frame),
			 WIRE_OK);
	assert_int_equal(frame.priorities, 1);
	expect_quanta(&frame, 0, 5);
}

static void decode__reserved_byte_of_the_vector(void **state)
{
	struct pfc_frame frame;

	(void)state;
	assert_int_equal(decode(GROUP SENDER "88080101ff080000"
					     "00000000ffff0000000000000000",
				NULL, &frame),
			 WIRE_OK);
	assert_int_equal(frame.priorities, 8);
}

static void decode__pause_is_for_all_priorities(void **state)
{
	struct pfc_frame frame;

	(void)state;
	assert_int_equal(decode(FRAME_PAUSE, NULL, &frame), WIRE_OK);
	assert_true(frame.is_pause);
	assert_int_equal(frame.priorities, 0xFF);
	for (unsigned i = 0; i < PFC_PRIORITIES; i++)
		assert_int_equal(frame.quanta[i], 0x1234);
}

static void decode__address(void **state)
{
	const char *to_receiver = RECEIVER SENDER "880800011234" ZEROS_42;
	struct pfc_frame frame;

	(void)state;
	assert_int_equal(decode(to_receiver, &receiver, &frame), WIRE_OK);
	assert_int_equal(decode(to_receiver, &sender, &frame), WIRE_BAD_MAGIC);
	assert_int_equal(decode(FRAME_PAUSE, &receiver, &frame), WIRE_OK);
	// PFC goes to the group alone.
	assert_int_equal(decode(RECEIVER SENDER "8808010100080000"
						"00000000ffff0000000000000000",
				&receiver, &frame),
			 WIRE_BAD_MAGIC);
}

static void decode__refuses_what_is_something_else(void **state)
{
	struct pfc_frame frame;

	(void)state;
	assert_int_equal(decode(GROUP SENDER "0800010100080000" ZEROS_42, NULL, &frame),
			 WIRE_BAD_MAGIC);
	assert_int_equal(decode(GROUP SENDER "8808000200080000" ZEROS_42, NULL, &frame),
			 WIRE_UNSUPPORTED);
	assert_int_equal(decode(GROUP SENDER "8100600088080101" ZEROS_42, NULL, &frame),
			 WIRE_BAD_MAGIC);
}

// The times end 34 bytes into a PFC frame, the time 18 into PAUSE.
static void decode__truncated(void **state)
{
	static const struct {
		const char *hex;
		size_t needed;
	} frames[] = { { FRAME_PFC, 34 }, { FRAME_PAUSE, 18 } };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bytes whole = bytes_from_hex(frames[i].hex);

		for (size_t size = 0; size <= whole.size; size++) {
			struct bytes cut = bytes_copy(whole.data, size);
			struct pfc_frame frame;

			assert_int_equal(pfc_decode(cut.data, cut.size, NULL, &frame),
					 size < frames[i].needed ? WIRE_TRUNCATED : WIRE_OK);
			bytes_free(&cut);
		}
		bytes_free(&whole);
	}
}

static void mac_control__by_its_type(void **state)
{
	struct bytes bytes = bytes_from_hex(FRAME_PFC);

	(void)state;
	assert_true(pfc_is_mac_control(bytes.data, bytes.size));
	assert_true(pfc_is_mac_control(bytes.data, 14));
	assert_false(pfc_is_mac_control(bytes.data, 13));
	bytes.data[13] = 0x07;
	assert_false(pfc_is_mac_control(bytes.data, bytes.size));
	bytes_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encode__priority_3),
		cmocka_unit_test(encode__times_of_others_are_0),
		cmocka_unit_test(encode__xon_and_xoff_in_one),
		cmocka_unit_test(encode__pause),
		cmocka_unit_test(decode__priority_3),
		cmocka_unit_test(decode__time_counts_only_where_enabled),
		cmocka_unit_test(decode__reserved_byte_of_the_vector),
		cmocka_unit_test(decode__pause_is_for_all_priorities),
		cmocka_unit_test(decode__address),
		cmocka_unit_test(decode__refuses_what_is_something_else),
		cmocka_unit_test(decode__truncated),
		cmocka_unit_test(mac_control__by_its_type),
	};

	return cmocka_run_group_tests_name("pfc", tests, NULL, NULL);
}
