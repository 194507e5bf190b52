// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"

#include <stdlib.h>

#include "wire/mfp.h"

// 5 fragments of 4, 5, 8, 9 and 12 bytes, each padded to 8.
static const char vector[] = "ce40050060000000010000000000000001000301000102030400000004000500"
			     "080009000c000000000102030000000000010203040000000001020304050607"
			     "00010203040506070800000000000000000102030405060708090a0b00000000";

static const uint8_t vector_types[] = { 0, 1, 2, 3, 4 };
static const uint16_t vector_sizes[] = { 4, 5, 8, 9, 12 };
static const uint8_t counting[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };

static void use(const uint8_t *bytes, size_t size)
{
	struct mfp mfp;
	struct mfp_fragment fragment;
	unsigned index = 0;
	size_t offset = 0;

	if (mfp_decode(bytes, size, &mfp) != WIRE_OK)
		return;
	assert_true(mfp.header.packet_size <= size);
	expect_inside(bytes, size, mfp.types, mfp.header.n_fragments);
	expect_inside(bytes, size, mfp.sizes, 2 * (size_t)mfp.header.n_fragments);
	while (mfp_next_fragment(&mfp, &index, &offset, &fragment))
		expect_inside(bytes, size, fragment.payload, fragment.size);
	assert_int_equal(mfp_data_offset(index) + offset, mfp.header.packet_size);
}

static void expect_truncated(const uint8_t *bytes, size_t size)
{
	struct mfp mfp;

	assert_int_equal(mfp_decode(bytes, size, &mfp), WIRE_TRUNCATED);
}

static enum wire_error decode(const struct bytes *bytes)
{
	struct mfp mfp;

	return mfp_decode(bytes->data, bytes->size, &mfp);
}

// The result of decoding the vector after one byte was changed.
static enum wire_error decode_with(size_t at, uint8_t value)
{
	struct bytes bytes = bytes_from_hex(vector);
	enum wire_error error;

	bytes.data[at] = value;
	error = decode(&bytes);
	bytes_free(&bytes);
	return error;
}

static void decode__vector_header(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);
	struct mfp mfp;

	(void)state;
	assert_int_equal(mfp_decode(bytes.data, bytes.size, &mfp), WIRE_OK);
	assert_int_equal(mfp.header.n_fragments, 5);
	assert_int_equal(mfp.header.packet_size, 96);
	assert_int_equal(mfp.header.event_id, 1);
	assert_int_equal(mfp.header.source_id, 1);
	assert_int_equal(mfp.header.align_log2, 3);
	assert_int_equal(mfp.header.version, 1);
	assert_ptr_equal(mfp.types, bytes.data + 20);
	assert_ptr_equal(mfp.sizes, bytes.data + 28);
	assert_ptr_equal(mfp.data, bytes.data + 40);
	bytes_free(&bytes);
}

static void next_fragment__vector(void **state)
{
	static const size_t places[] = { 40, 48, 56, 64, 80 };
	struct bytes bytes = bytes_from_hex(vector);
	struct mfp_fragment fragment;
	unsigned index = 0;
	size_t offset = 0;
	struct mfp mfp;

	(void)state;
	assert_int_equal(mfp_decode(bytes.data, bytes.size, &mfp), WIRE_OK);
	for (unsigned i = 0; i < 5; i++) {
		assert_true(mfp_next_fragment(&mfp, &index, &offset, &fragment));
		assert_int_equal(index, i + 1);
		assert_int_equal(fragment.event_id, 1 + i);
		assert_int_equal(fragment.type, i);
		assert_int_equal(fragment.size, vector_sizes[i]);
		assert_ptr_equal(fragment.payload, bytes.data + places[i]);
		assert_memory_equal(fragment.payload, counting, fragment.size);
	}
	assert_false(mfp_next_fragment(&mfp, &index, &offset, &fragment));
	assert_int_equal(index, 5);
	assert_int_equal(offset, 56);
	bytes_free(&bytes);
}

static void encode__reproduces_the_vector(void **state)
{
	const uint8_t *const payloads[] = { counting, counting, counting, counting, counting };
	struct mfp_header header = {
		.event_id = 1,
		.n_fragments = 5,
		.source_id = 1,
		.align_log2 = 3,
		.version = 1,
	};
	uint8_t bytes[96];

	(void)state;
	memset(bytes, 0xEE, sizeof(bytes));
	assert_int_equal(
	    mfp_encode(bytes, sizeof(bytes), &header, vector_types, vector_sizes, payloads),
	    WIRE_OK);
	assert_int_equal(header.packet_size, 96);
	expect_hex(bytes, sizeof(bytes), vector);
}

static void decode__every_truncation_is_refused(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);

	(void)state;
	each_truncation(&bytes, expect_truncated);
	bytes_free(&bytes);
}

static void decode__no_mutation_leads_outside(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);

	(void)state;
	each_mutation(&bytes, use);
	bytes_free(&bytes);
}

static void decode__padding_may_follow(void **state)
{
	struct bytes bytes = bytes_of_zeros(100);
	struct bytes whole = bytes_from_hex(vector);
	struct mfp mfp;

	(void)state;
	memcpy(bytes.data, whole.data, whole.size);
	assert_int_equal(mfp_decode(bytes.data, bytes.size, &mfp), WIRE_OK);
	assert_int_equal(mfp.header.packet_size, 96);
	bytes_free(&whole);
	bytes_free(&bytes);
}

static void decode__contradictions_are_named(void **state)
{
	(void)state;
	assert_int_equal(decode_with(0, 0xCD), WIRE_BAD_MAGIC);
	assert_int_equal(decode_with(1, 0x41), WIRE_BAD_MAGIC);
	assert_int_equal(decode_with(18, 17), WIRE_BAD_ALIGNMENT);
	assert_int_equal(decode_with(18, 255), WIRE_BAD_ALIGNMENT);
	assert_int_equal(decode_with(4, 19), WIRE_BAD_LENGTH); // less than the header
	assert_int_equal(decode_with(4, 39), WIRE_BAD_LENGTH); // less than the arrays
	assert_int_equal(decode_with(4, 88), WIRE_BAD_LENGTH); // less than the fragments
	assert_int_equal(decode_with(4, 97), WIRE_TRUNCATED);
	assert_int_equal(decode_with(2, 4), WIRE_BAD_LENGTH); // a fragment less than there are
	assert_int_equal(decode_with(2, 7), WIRE_BAD_LENGTH); // two more
	assert_int_equal(decode_with(2, 6), WIRE_OK); // one more, whose size is the padding's 0
	assert_int_equal(decode_with(3, 255), WIRE_BAD_LENGTH);
	assert_int_equal(decode_with(18, 2), WIRE_BAD_LENGTH); // another alignment, another sum
	assert_int_equal(decode_with(28, 9), WIRE_BAD_LENGTH); // a fragment that takes a unit more
	assert_int_equal(decode_with(28, 8), WIRE_OK);         // fills the same unit
	assert_int_equal(decode_with(41, 77), WIRE_OK);        // payload
}

static void decode__opaque_block_by_its_header_only(void **state)
{
	struct bytes bytes = bytes_from_hex("ce4000001800000009000000000000003412000061626364");
	struct mfp_header header;

	(void)state;
	assert_int_equal(mfp_decode_header(bytes.data, bytes.size, &header), WIRE_OK);
	assert_int_equal(header.n_fragments, 0);
	assert_int_equal(header.packet_size, 24);
	assert_int_equal(header.source_id, 0x1234);
	assert_int_equal(mfp_decode_header(bytes.data, 20, &header), WIRE_OK);
	assert_int_equal(mfp_decode_header(bytes.data, 19, &header), WIRE_TRUNCATED);
	assert_int_equal(decode(&bytes), WIRE_BAD_LENGTH);
	bytes.data[4] = 20;
	assert_int_equal(decode(&bytes), WIRE_OK);
	bytes.data[4] = 19;
	assert_int_equal(mfp_decode_header(bytes.data, bytes.size, &header), WIRE_BAD_LENGTH);
	bytes_free(&bytes);
}

static void encoded_size__counts_arrays_and_padding(void **state)
{
	static const uint16_t sizes[] = { 0, 1, 65535 };

	(void)state;
	assert_int_equal(mfp_data_offset(0), 20);
	assert_int_equal(mfp_data_offset(1), 20 + 4 + 4);
	assert_int_equal(mfp_data_offset(5), 20 + 8 + 12);
	assert_int_equal(mfp_data_offset(65535), 20 + 65536 + 131072);
	assert_int_equal(mfp_encoded_size(0, NULL, 3), 20);
	assert_int_equal(mfp_encoded_size(5, vector_sizes, 3), 96);
	assert_int_equal(mfp_encoded_size(3, sizes, 0), 32 + 65536);
	assert_int_equal(mfp_encoded_size(3, sizes, 2), 32 + 4 + 65536);
	assert_int_equal(mfp_encoded_size(3, sizes, 16), 32 + 2 * 65536);
	assert_int_equal(mfp_encoded_size(3, sizes, 17), 0);
	assert_int_equal(mfp_encoded_size(65536, sizes, 0), 0);
}

// Sums over more than one block of the vectorised sum, at the limits of the format.
static void encoded_size__most_fragments(void **state)
{
	uint16_t *sizes = calloc(MFP_MAX_FRAGMENTS, sizeof(*sizes));
	const size_t arrays = 20 + 65536 + 131072;

	(void)state;
	assert_non_null(sizes);
	assert_int_equal(mfp_encoded_size(MFP_MAX_FRAGMENTS, sizes, 16), arrays);
	for (unsigned i = 0; i < MFP_MAX_FRAGMENTS; i++)
		sizes[i] = 1;
	assert_int_equal(mfp_encoded_size(MFP_MAX_FRAGMENTS, sizes, 0), arrays + 65535);
	assert_int_equal(mfp_encoded_size(MFP_MAX_FRAGMENTS, sizes, 3), arrays + 65535 * 8);
	assert_int_equal(mfp_encoded_size(MFP_MAX_FRAGMENTS, sizes, 15), arrays + 65535u * 32768);
	assert_int_equal(mfp_encoded_size(MFP_MAX_FRAGMENTS, sizes, 16), 0);
	assert_int_equal(mfp_encoded_size(65532, sizes, 16), 20 + 65532 * 3 + 65532ul * 65536);
	assert_int_equal(mfp_encoded_size(65533, sizes, 16), 0);
	for (unsigned i = 0; i < MFP_MAX_FRAGMENTS; i++)
		sizes[i] = 65535;
	assert_int_equal(mfp_encoded_size(32768, sizes, 0), 20 + 32768 * 3 + 32768ul * 65535);
	assert_int_equal(mfp_encoded_size(MFP_MAX_FRAGMENTS, sizes, 0), 0);
	sizes[0] = 0;
	sizes[1] = 65535 - 23;
	assert_int_equal(mfp_encoded_size(MFP_MAX_FRAGMENTS, sizes, 0), UINT32_MAX);
	sizes[1]++;
	assert_int_equal(mfp_encoded_size(MFP_MAX_FRAGMENTS, sizes, 0), 0);
	free(sizes);
}

static void encode_header__refuses(void **state)
{
	struct mfp_header header = { .n_fragments = 5, .align_log2 = 3 };
	uint16_t *sizes = calloc(MFP_MAX_FRAGMENTS, sizeof(*sizes));
	struct bytes room = bytes_of_zeros(95);

	(void)state;
	assert_non_null(sizes);
	assert_int_equal(mfp_encode_header(room.data, 95, &header, vector_types, vector_sizes),
			 WIRE_NO_ROOM);
	assert_int_equal(header.packet_size, 0);
	header.align_log2 = 17;
	assert_int_equal(mfp_encode_header(room.data, 95, &header, vector_types, vector_sizes),
			 WIRE_BAD_ALIGNMENT);
	header = (struct mfp_header){ .n_fragments = MFP_MAX_FRAGMENTS, .align_log2 = 16 };
	for (unsigned i = 0; i < MFP_MAX_FRAGMENTS; i++)
		sizes[i] = 1;
	assert_int_equal(mfp_encode_header(room.data, 95, &header, vector_types, sizes),
			 WIRE_BAD_LENGTH);
	free(sizes);
	bytes_free(&room);
}

static void encode__no_fragments(void **state)
{
	struct mfp_header header = { .event_id = MFP_END_OF_RUN, .source_id = 0x1002 };
	uint8_t bytes[20];

	(void)state;
	assert_int_equal(mfp_encode(bytes, sizeof(bytes), &header, NULL, NULL, NULL), WIRE_OK);
	expect_hex(bytes, sizeof(bytes), "ce40000014000000ffffffffffffffff02100000");
}

static void encode_error__is_a_valid_mfp(void **state)
{
	static const char expected[] = "ce4003002000000007000000000000003710"
				       "0000"
				       "5c5c5c00"
				       "0000000000000000";
	struct bytes bytes = bytes_of_zeros(32);

	(void)state;
	memset(bytes.data, 0xEE, bytes.size);
	assert_int_equal(mfp_error_size(3), 32);
	assert_int_equal(mfp_encode_error(bytes.data, 31, 7, 0x1037, 3, MFP_TYPE_FRAGMENT_MISSING),
			 WIRE_NO_ROOM);
	assert_int_equal(
	    mfp_encode_error(bytes.data, bytes.size, 7, 0x1037, 3, MFP_TYPE_FRAGMENT_MISSING),
	    WIRE_OK);
	expect_hex(bytes.data, bytes.size, expected);
	assert_int_equal(decode(&bytes), WIRE_OK);
	assert_int_equal(mfp_encode_error(bytes.data, SIZE_MAX, 7, 0x1037, 65536, 92),
			 WIRE_BAD_LENGTH);
	bytes_free(&bytes);
	bytes = bytes_of_zeros(mfp_error_size(MFP_MAX_FRAGMENTS));
	assert_int_equal(mfp_encode_error(bytes.data, bytes.size, 7, 0x1037, 65535, 92), WIRE_OK);
	assert_int_equal(decode(&bytes), WIRE_OK);
	bytes_free(&bytes);
}

static void patch_event_id__changes_nothing_else(void **state)
{
	struct bytes bytes = bytes_from_hex(vector), before = bytes_from_hex(vector);
	struct mfp mfp;

	(void)state;
	mfp_patch_event_id(bytes.data, 0x0123456789ABCDEF);
	assert_int_equal(mfp_decode(bytes.data, bytes.size, &mfp), WIRE_OK);
	assert_int_equal(mfp.header.event_id, 0x0123456789ABCDEF);
	mfp_patch_event_id(bytes.data, 1);
	assert_memory_equal(bytes.data, before.data, before.size);
	bytes_free(&bytes);
	bytes_free(&before);
}

// Encodes a decoded MFP, whose pointers point into the decoded bytes.
static struct bytes encode_again(const struct mfp *mfp)
{
	const unsigned n = mfp->header.n_fragments;
	const uint8_t **payloads = calloc(n + 1u, sizeof(*payloads));
	uint16_t *sizes = calloc(n + 1u, sizeof(*sizes));
	struct bytes bytes = bytes_of_zeros(mfp->header.packet_size);
	struct mfp_header header = mfp->header;
	struct mfp_fragment fragment;
	unsigned index = 0;
	size_t offset = 0;

	assert_non_null(payloads);
	assert_non_null(sizes);
	header.packet_size = 0;
	while (mfp_next_fragment(mfp, &index, &offset, &fragment)) {
		payloads[index - 1] = fragment.payload;
		sizes[index - 1] = fragment.size;
	}
	assert_int_equal(mfp_encode(bytes.data, bytes.size, &header, mfp->types, sizes, payloads),
			 WIRE_OK);
	assert_int_equal(header.packet_size, bytes.size);
	free(payloads);
	free(sizes);
	return bytes;
}

// Every count around the paddings, every alignment.
static void encode__decode_is_the_identity(void **state)
{
	uint8_t types[9], payload[64];
	const uint8_t *payloads[9];
	uint16_t sizes[9];

	(void)state;
	for (unsigned i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + 1);
	for (unsigned i = 0; i < 9; i++) {
		types[i] = (uint8_t)(i + 60);
		sizes[i] = (uint16_t)((i * 5 + 1) % 11);
		payloads[i] = payload + i;
	}
	for (unsigned n = 0; n <= 9; n++) {
		for (unsigned align = 0; align <= MFP_MAX_ALIGN; align++) {
			struct mfp_header header = {
				.event_id = 1000 + n,
				.n_fragments = (uint16_t)n,
				.source_id = 0x5801,
				.align_log2 = (uint8_t)align,
				.version = 3,
			};
			struct bytes bytes = bytes_of_zeros(mfp_encoded_size(n, sizes, align));
			struct bytes again;
			struct mfp mfp;

			assert_int_equal(
			    mfp_encode(bytes.data, bytes.size, &header, types, sizes, payloads),
			    WIRE_OK);
			assert_int_equal(mfp_decode(bytes.data, bytes.size, &mfp), WIRE_OK);
			again = encode_again(&mfp);
			assert_int_equal(again.size, bytes.size);
			assert_memory_equal(again.data, bytes.data, bytes.size);
			bytes_free(&again);
			bytes_free(&bytes);
		}
	}
}

static void names__subdetectors(void **state)
{
	static const char *const names[32] = {
		"ODIN",    "UNKNOWN", "VELO_A", "VELO_C", "RICH1", "UT_A",   "UT_C",   "SCIFI_A",
		"SCIFI_C", "RICH2",   "PLUME",  "ECAL",   "HCAL",  "MUON_A", "MUON_C", "TDET",
	};

	(void)state;
	for (unsigned i = 0; i < 32; i++) {
		const char *name = names[i] ? names[i] : "UNKNOWN";

		assert_string_equal(mfp_subdetector_name((uint16_t)(i << 11)), name);
		assert_string_equal(mfp_subdetector_name((uint16_t)(i << 11 | 0x7FF)), name);
	}
}

static void names__types(void **state)
{
	static const struct {
		uint8_t type;
		const char *name;
	} listed[] = {
		{ 9, "Rich" },
		{ 13, "Muon" },
		{ 15, "DAQ" },
		{ 16, "ODIN" },
		{ 48, "TAEHeader" },
		{ 63, "VP" },
		{ 64, "FTCluster" },
		{ 66, "UT" },
		{ 73, "VPRetinaCluster" },
		{ 77, "Calo" },
		{ 84, "Plume" },
		{ 89, "FragmentThrottled" },
		{ 90, "BXIDCorrupted" },
		{ 91, "SyncBXIDCorrupted" },
		{ 92, "FragmentMissing" },
		{ 93, "FragmentTruncated" },
		{ 94, "IdleBXIDCorrupted" },
		{ 95, "FragmentMalformed" },
		{ 96, "EVIDJumped" },
		{ 97, "VeloSPPandCluster" },
		{ 100, "AlignFifoFull" },
		{ 101, "FEfragSizeWrong" },
	};
	unsigned unlisted = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
		assert_string_equal(mfp_type_name(listed[i].type), listed[i].name);
	for (unsigned type = 0; type <= UINT8_MAX; type++)
		unlisted += strcmp(mfp_type_name((uint8_t)type), "Unknown") == 0;
	assert_int_equal(unlisted, 256 - sizeof(listed) / sizeof(listed[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode__vector_header),
		cmocka_unit_test(next_fragment__vector),
		cmocka_unit_test(encode__reproduces_the_vector),
		cmocka_unit_test(decode__every_truncation_is_refused),
		cmocka_unit_test(decode__no_mutation_leads_outside),
		cmocka_unit_test(decode__padding_may_follow),
		cmocka_unit_test(decode__contradictions_are_named),
		cmocka_unit_test(decode__opaque_block_by_its_header_only),
		cmocka_unit_test(encoded_size__counts_arrays_and_padding),
		cmocka_unit_test(encoded_size__most_fragments),
		cmocka_unit_test(encode_header__refuses),
		cmocka_unit_test(encode__no_fragments),
		cmocka_unit_test(encode_error__is_a_valid_mfp),
		cmocka_unit_test(patch_event_id__changes_nothing_else),
		cmocka_unit_test(encode__decode_is_the_identity),
		cmocka_unit_test(names__subdetectors),
		cmocka_unit_test(names__types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
