// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Every record of the control protocol: that it encodes to what it was, and what is refused.
#include "ctrl_again.h"
#include "ctrl_samples.h"

static void names__of_run_states(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CTRL_N_RUN_STATES; i++)
		assert_string_not_equal(ctrl_run_state_name(i), "unknown");
	assert_string_equal(ctrl_run_state_name(CTRL_DRAINING), "draining");
	assert_string_equal(ctrl_run_state_name(CTRL_N_RUN_STATES), "unknown");
}

static void records__decode_and_encode_to_themselves(void **state)
{
	static uint8_t again[CTRL_AGAIN_SIZE];
	size_t size;

	(void)state;
	for (size_t i = 0; i < CTRL_N_SAMPLES; i++) {
		struct bytes bytes = bytes_from_hex(ctrl_samples[i].hex);
		struct ctrl_record record = ctrl_record_of(&bytes);

		assert_int_equal(record.type, ctrl_samples[i].type);
		assert_int_equal(ctrl_again(&record, again, &size), WIRE_OK);
		assert_int_equal(size, bytes.size);
		assert_memory_equal(again, bytes.data, size);
		bytes_free(&bytes);
	}
}

static void records__too_short_ones_are_refused(void **state)
{
	static uint8_t again[CTRL_AGAIN_SIZE];
	size_t size;

	(void)state;
	for (size_t i = 0; i < CTRL_N_SAMPLES; i++) {
		struct bytes bytes = bytes_from_hex(ctrl_samples[i].hex);
		struct bytes part = bytes_copy(bytes.data, ctrl_samples[i].fixed_size - 8);
		struct ctrl_record record = { part.data, (uint16_t)ctrl_samples[i].type,
					      (uint16_t)part.size };

		assert_int_equal(ctrl_again(&record, again, &size), WIRE_TRUNCATED);
		bytes_free(&part);
		bytes_free(&bytes);
	}
}

// A later version may have more to say.
static void records__longer_ones_are_taken(void **state)
{
	static uint8_t again[CTRL_AGAIN_SIZE];
	size_t size;

	(void)state;
	for (size_t i = 0; i < CTRL_N_SAMPLES; i++) {
		struct bytes bytes = bytes_from_hex(ctrl_samples[i].hex);
		struct bytes longer = bytes_of_zeros(bytes.size + 16);
		struct ctrl_record record;

		memcpy(longer.data, bytes.data, bytes.size);
		memset(longer.data + bytes.size, 0xEE, 16);
		store_le16(longer.data + 2, (uint16_t)longer.size);
		record = ctrl_record_of(&longer);
		assert_int_equal(ctrl_again(&record, again, &size), WIRE_OK);
		assert_int_equal(size, bytes.size);
		bytes_free(&longer);
		bytes_free(&bytes);
	}
}

static void records__no_encoder_writes_beyond_its_room(void **state)
{
	struct bytes bytes = bytes_of_zeros(8);
	const struct ctrl_register registration = { 0 };
	const struct ctrl_bye bye = { .reason = CTRL_BYE_END };
	const struct ctrl_credit_list list = { .n = 1 };
	const struct ctrl_credit credit = { 0 };
	const struct ctrl_grant grant = { .n_positions = 1 };
	const struct ctrl_adopt adopt = { 0 };

	(void)state;
	assert_int_equal(ctrl_put_register(bytes.data, 8, &registration), 0);
	assert_int_equal(ctrl_put_bye(bytes.data, 8, &bye), 0);
	assert_int_equal(ctrl_put_credit_list(bytes.data, 8, &list, &credit), 0);
	assert_int_equal(ctrl_put_grant(bytes.data, 8, &grant), 0);
	assert_int_equal(ctrl_put_adopt(bytes.data, 8, &adopt, NULL), 0);
	bytes_free(&bytes);
}

static void use(const uint8_t *bytes, size_t size)
{
	static uint8_t again[CTRL_AGAIN_SIZE];
	struct ctrl_record record;
	size_t again_size;

	if (ctrl_record_at(bytes, size, &record) == WIRE_OK &&
	    ctrl_again(&record, again, &again_size) == WIRE_OK) {
		assert_int_not_equal(again_size, 0);
		assert_true(again_size <= size);
	}
}

static void records__any_change_is_survived(void **state)
{
	(void)state;
	for (size_t i = 0; i < CTRL_N_SAMPLES; i++) {
		struct bytes bytes = bytes_from_hex(ctrl_samples[i].hex);

		each_mutation(&bytes, use);
		each_truncation(&bytes, use);
		bytes_free(&bytes);
	}
}

static void get__another_type_is_refused(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_RELEASE);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_throttle throttle;
	struct ctrl_member member;

	(void)state;
	assert_int_equal(ctrl_get_throttle(&record, &throttle), WIRE_BAD_MAGIC);
	assert_int_equal(ctrl_get_member(&record, &member), WIRE_BAD_MAGIC);
	bytes_free(&bytes);
}

// What decoding a sample gives after `width` bytes of it at an offset were changed to a value.
static enum wire_error decode_with(enum ctrl_type type, size_t offset, uint64_t value, size_t width)
{
	static uint8_t again[CTRL_AGAIN_SIZE];
	struct bytes bytes = ctrl_sample_bytes(type);
	enum wire_error error;
	struct ctrl_record record;
	size_t size;

	assert_true(offset + width <= bytes.size);
	memcpy(bytes.data + offset, &value, width);
	record = ctrl_record_of(&bytes);
	error = ctrl_again(&record, again, &size);
	bytes_free(&bytes);
	return error;
}

static void get__what_is_out_of_range_is_refused(void **state)
{
	static const struct {
		enum ctrl_type type;
		size_t offset, width;
		uint64_t good, bad;
		enum wire_error error;
	} cases[] = {
		{ CTRL_REGISTER, 20, 2, 64, 65, WIRE_UNSUPPORTED },
		{ CTRL_REGISTER, 22, 2, 4096, 4097, WIRE_UNSUPPORTED },
		{ CTRL_WELCOME, 4, 2, 5, CTRL_N_VERDICTS, WIRE_UNSUPPORTED },
		{ CTRL_WELCOME, 6, 2, 6, CTRL_N_RUN_STATES, WIRE_UNSUPPORTED },
		{ CTRL_BUILDER, 4, 2, 63, 64, WIRE_UNSUPPORTED },
		{ CTRL_BUILDER, 8, 4, 1, 0, WIRE_UNSUPPORTED },
		{ CTRL_BUILDER, 8, 4, 65536, 65537, WIRE_UNSUPPORTED },
		{ CTRL_CREDIT_LIST, 4, 2, 0, 64, WIRE_UNSUPPORTED },
		{ CTRL_CREDIT_LIST, 6, 2, 1, 0, WIRE_BAD_LENGTH },
		{ CTRL_CREDIT_LIST, 6, 2, 2, 3, WIRE_BAD_LENGTH },
		{ CTRL_CREDIT_LIST, 16, 4, 65535, 65536, WIRE_UNSUPPORTED },
		{ CTRL_ANNOUNCE, 6, 2, 0x1037, 0x1036, WIRE_BAD_SOURCE },
		{ CTRL_ANNOUNCE, 16, 8, 1000, 999, WIRE_BAD_EVENT },
		{ CTRL_GRANT, 4, 2, 1023, 1024, WIRE_UNSUPPORTED },
		{ CTRL_GRANT, 6, 2, 63, 64, WIRE_UNSUPPORTED },
		{ CTRL_GRANT, 16, 4, 65535, 65536, WIRE_UNSUPPORTED },
		{ CTRL_GRANT, 52, 2, 63, 64, WIRE_UNSUPPORTED }, // of 64
		{ CTRL_REQUEST, 6, 2, 63, 64, WIRE_UNSUPPORTED },
		{ CTRL_REQUEST, 64, 2, 0, 3, WIRE_BAD_LENGTH },
		{ CTRL_REQUEST, 64, 2, 2, UINT16_MAX, WIRE_BAD_LENGTH },
		{ CTRL_DONE, 4, 2, 63, 64, WIRE_UNSUPPORTED },
		{ CTRL_DONE, 6, 1, 1, 0, WIRE_UNSUPPORTED },
		{ CTRL_DONE, 6, 1, 4, CTRL_N_OUTCOMES, WIRE_UNSUPPORTED },
		{ CTRL_DONE, 16, 4, 65535, 65536, WIRE_UNSUPPORTED },
		{ CTRL_DONE, 34, 2, 0, 2, WIRE_BAD_LENGTH },
		{ CTRL_DONE, 36, 4, 2, 3, WIRE_BAD_SOURCE },
		{ CTRL_DONE, 36, 4, 2, 4097, WIRE_BAD_LENGTH },
		{ CTRL_DONE, 48, 8, 3, 7, WIRE_BAD_SOURCE },
		{ CTRL_HEARTBEAT, 4, 1, 6, CTRL_N_RUN_STATES, WIRE_UNSUPPORTED },
		{ CTRL_HEARTBEAT, 5, 1, 0, 3, WIRE_BAD_LENGTH },
		{ CTRL_HEARTBEAT, 5, 1, 1, 17, WIRE_BAD_LENGTH },
		{ CTRL_HEARTBEAT, 36, 2, 10000, 10001, WIRE_UNSUPPORTED },
		{ CTRL_HEARTBEAT, 62, 2, 10000, 10001, WIRE_UNSUPPORTED },
		{ CTRL_EXCLUDE, 4, 1, 1, 0, WIRE_UNSUPPORTED },
		{ CTRL_EXCLUDE, 4, 1, 3, CTRL_N_SUBJECTS, WIRE_UNSUPPORTED },
		{ CTRL_EXCLUDE, 5, 1, 1, 0, WIRE_UNSUPPORTED },
		{ CTRL_INCLUDE, 5, 1, 5, CTRL_N_REASONS, WIRE_UNSUPPORTED },
		{ CTRL_INCLUDE, 6, 2, 1023, 1024, WIRE_UNSUPPORTED },
		{ CTRL_INCLUDE, 8, 2, 63, 64, WIRE_UNSUPPORTED },
		{ CTRL_INCLUDE, 12, 2, 0x800, 0x7FF, WIRE_BAD_SOURCE },
		{ CTRL_THROTTLE, 4, 2, 10000, 10001, WIRE_UNSUPPORTED },
		{ CTRL_THROTTLE, 6, 2, 8, 9, WIRE_UNSUPPORTED },
		{ CTRL_RUN_COMMAND, 4, 1, 1, 0, WIRE_UNSUPPORTED },
		{ CTRL_RUN_COMMAND, 4, 1, 6, CTRL_N_COMMANDS, WIRE_UNSUPPORTED },
		{ CTRL_RUN_STATE, 4, 1, 6, CTRL_N_RUN_STATES, WIRE_UNSUPPORTED },
		{ CTRL_RUN_STATE, 5, 1, 0, CTRL_N_COMMANDS, WIRE_UNSUPPORTED },
		{ CTRL_ADOPT, 4, 2, 63, 64, WIRE_UNSUPPORTED },
		{ CTRL_ADOPT, 6, 2, 0, 3, WIRE_BAD_LENGTH },
		{ CTRL_ADOPT, 48, 4, 65535, 65536, WIRE_UNSUPPORTED },
		{ CTRL_ADOPT, 58, 1, 3, CTRL_N_HOLDINGS, WIRE_UNSUPPORTED },
		{ CTRL_ADOPT, 58, 1, 1, 0, WIRE_UNSUPPORTED },
		{ CTRL_BYE, 4, 2, 1, 0, WIRE_UNSUPPORTED },
		{ CTRL_BYE, 4, 2, 3, CTRL_N_BYE_REASONS, WIRE_UNSUPPORTED },
		{ CTRL_PROGRESS, 4, 2, 63, 64, WIRE_UNSUPPORTED },
		{ CTRL_PROGRESS, 6, 2, 1, 0, WIRE_UNSUPPORTED },
		{ CTRL_PROGRESS, 6, 2, 4, CTRL_N_STEPS, WIRE_UNSUPPORTED },
		{ CTRL_PROGRESS, 16, 4, 65535, 65536, WIRE_UNSUPPORTED },
		{ CTRL_OFFER, 4, 2, 63, 64, WIRE_UNSUPPORTED },
		{ CTRL_OFFER, 6, 2, 1, 0, WIRE_BAD_LENGTH },
		{ CTRL_OFFER, 6, 2, 2, 3, WIRE_BAD_LENGTH },
		{ CTRL_DECISIONS, 6, 2, 0, 3, WIRE_BAD_LENGTH },
		{ CTRL_DECISIONS, 44, 1, 63, 64, WIRE_UNSUPPORTED },
		{ CTRL_EVENTS, 6, 2, 2, 3, WIRE_BAD_LENGTH },
		{ CTRL_GRANTS, 4, 2, 1, 0, WIRE_BAD_LENGTH },
		{ CTRL_GRANTS, 4, 2, 2, 3, WIRE_BAD_LENGTH },
		{ CTRL_GRANTS, 28, 2, 1, 0, WIRE_UNSUPPORTED },
		{ CTRL_BUILT, 4, 2, 63, 64, WIRE_UNSUPPORTED },
		{ CTRL_BUILT, 6, 2, 2, 3, WIRE_BAD_LENGTH },
		{ CTRL_BUILT, 54, 2, 4096, 4097, WIRE_UNSUPPORTED },
		{ CTRL_STEPS, 6, 2, CTRL_STEP_PUBLISHED, CTRL_STEP_SENT, WIRE_UNSUPPORTED },
		{ CTRL_STEPS, 20, 2, 1, 0, WIRE_BAD_LENGTH },
		{ CTRL_STEPS, 20, 2, 2, 3, WIRE_BAD_LENGTH },
		{ CTRL_PLACES, 4, 2, 2, 3, WIRE_BAD_LENGTH },
		{ CTRL_PLACES, 4, 2, 2, 17, WIRE_UNSUPPORTED },
		{ CTRL_PLACES, 6, 2, 2, 3, WIRE_BAD_LENGTH },
		{ CTRL_PLACES, 24, 2, 1023, 1024, WIRE_UNSUPPORTED },
		{ CTRL_PLACES, 26, 2, CTRL_PLACE_ACKNOWLEDGEMENT, CTRL_N_PLACE_KINDS,
		  WIRE_UNSUPPORTED },
		{ CTRL_AGREEMENT, 8, 2, 1, 2, WIRE_UNSUPPORTED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum wire_error good =
		    decode_with(cases[i].type, cases[i].offset, cases[i].good, cases[i].width);
		enum wire_error bad =
		    decode_with(cases[i].type, cases[i].offset, cases[i].bad, cases[i].width);

		if (good != WIRE_OK || bad != cases[i].error)
			fail_msg("case %zu: type %u at %zu: %s, %s", i, cases[i].type,
				 cases[i].offset, wire_reason(good), wire_reason(bad));
	}
}

static size_t put_credits(uint16_t builder, uint16_t n, const struct ctrl_credit *credits)
{
	static uint8_t bytes[CTRL_AGAIN_SIZE];
	const struct ctrl_credit_list list = { .builder = builder, .n = n };

	return ctrl_put_credit_list(bytes, sizeof(bytes), &list, credits);
}

static void put__what_is_out_of_range_is_refused(void **state)
{
	static uint8_t bytes[CTRL_AGAIN_SIZE];
	static const struct ctrl_credit credits[] = { { 65536, 1 }, { 65535, 1 } };
	static const struct ctrl_held held[] = { { .slot = 1, .holding = 0 } };
	static const uint8_t mask[8 * (CTRL_MASK_WORDS + 1)] = { 0 };

	(void)state;
#define REFUSED(name, ...) \
	assert_int_equal(  \
	    ctrl_put_##name(bytes, sizeof(bytes), &(const struct ctrl_##name){ __VA_ARGS__ }), 0)
	REFUSED(register, .n_sources = 4097);
	REFUSED(welcome, .verdict = CTRL_N_VERDICTS);
	REFUSED(builder, .slots = 0);
	REFUSED(announce, .begin = 2, .end = 1);
	REFUSED(grant, .n_positions = 0);
	REFUSED(request, .grant.n_positions = 1, .n_words = CTRL_MASK_WORDS + 1, .mask = mask);
	REFUSED(done, .outcome = CTRL_COMPLETE, .n_words = 1, .missing = mask, .n_missing = 1);
	REFUSED(heartbeat, .n_ports = CTRL_MAX_PORTS + 1);
	REFUSED(throttle, .share = CTRL_FULL_SHARE + 1);
	REFUSED(run_command, .command = 0);
	REFUSED(run_report, .state = CTRL_N_RUN_STATES);
	REFUSED(bye, .reason = 0);
	REFUSED(progress, .step = 0);
	REFUSED(agreement, .refused = 2);
#undef REFUSED
	assert_int_equal(ctrl_put_adopt(bytes, sizeof(bytes),
					&(const struct ctrl_adopt){ .builder = CTRL_MAX_BUILDERS },
					NULL),
			 0);
	assert_int_equal(put_credits(0, 1, credits), 0);
	assert_int_equal(put_credits(0, 0, credits), 0);
	assert_int_equal(put_credits(64, 1, &credits[1]), 0);
	assert_int_equal(put_credits(63, 1, &credits[1]), 16);
	assert_int_equal(
	    ctrl_put_member(bytes, sizeof(bytes), CTRL_EXCLUDE, &(const struct ctrl_member){ 0 }),
	    0);
	assert_int_equal(
	    ctrl_put_adopt(bytes, sizeof(bytes), &(const struct ctrl_adopt){ .n = 1 }, held), 0);
}

static void text__is_closed_and_can_be_printed(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_BYE);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_bye bye;

	(void)state;
	memset(bytes.data + 8, 'x', CTRL_TEXT_SIZE);
	bytes.data[9] = '\n';
	bytes.data[10] = 0x9B;
	bytes.data[11] = 0x7F;
	assert_int_equal(ctrl_get_bye(&record, &bye), WIRE_OK);
	assert_int_equal(strlen(bye.text), CTRL_TEXT_SIZE - 1);
	assert_memory_equal(bye.text, "x???x", 5);
	memset(bye.text, 'y', sizeof(bye.text)); // not closed
	assert_int_equal(ctrl_put_bye(bytes.data, bytes.size, &bye), CTRL_BYE_SIZE);
	assert_int_equal(bytes.data[8 + CTRL_TEXT_SIZE - 2], 'y');
	assert_int_equal(bytes.data[8 + CTRL_TEXT_SIZE - 1], 0);
	bytes_free(&bytes);
}

static void mask__bits(void **state)
{
	uint8_t mask[8 * CTRL_MASK_WORDS] = { 0 };

	(void)state;
	mask[0 / 8] |= (uint8_t)(1u << 0 % 8);
	mask[63 / 8] |= (uint8_t)(1u << 63 % 8);
	mask[64 / 8] |= (uint8_t)(1u << 64 % 8);
	mask[(CTRL_MAX_SOURCES - 1) / 8] |= (uint8_t)(1u << (CTRL_MAX_SOURCES - 1) % 8);
	assert_int_equal(load_le64(mask), 0x8000000000000001);
	assert_int_equal(load_le64(mask + 8), 1);
	assert_int_equal(load_le64(mask + sizeof(mask) - 8), 0x8000000000000000);
	assert_true(ctrl_mask_bit(mask, CTRL_MASK_WORDS, 0));
	assert_false(ctrl_mask_bit(mask, CTRL_MASK_WORDS, 1));
	assert_true(ctrl_mask_bit(mask, CTRL_MASK_WORDS, 64));
	assert_true(ctrl_mask_bit(mask, CTRL_MASK_WORDS, CTRL_MAX_SOURCES - 1));
	assert_false(ctrl_mask_bit(mask, 1, 64)); // beyond the mask
	assert_false(ctrl_mask_bit(NULL, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names__of_run_states),
		cmocka_unit_test(records__decode_and_encode_to_themselves),
		cmocka_unit_test(records__too_short_ones_are_refused),
		cmocka_unit_test(records__longer_ones_are_taken),
		cmocka_unit_test(records__no_encoder_writes_beyond_its_room),
		cmocka_unit_test(records__any_change_is_survived),
		cmocka_unit_test(get__another_type_is_refused),
		cmocka_unit_test(get__what_is_out_of_range_is_refused),
		cmocka_unit_test(put__what_is_out_of_range_is_refused),
		cmocka_unit_test(text__is_closed_and_can_be_printed),
		cmocka_unit_test(mask__bits),
	};

	return cmocka_run_group_tests_name("ctrl_records", tests, NULL, NULL);
}
