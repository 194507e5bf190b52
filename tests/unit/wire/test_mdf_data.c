// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// MDF as real files have it.
#include "bytes.h"

#include "wire/mdf.h"

// Decodes the record, encodes it again and expects the same bytes.
static unsigned expect_identity(const uint8_t *bytes, const struct mdf_header *header)
{
	struct bytes again = bytes_of_zeros(header->size);
	struct mdf_header new_header = *header;
	size_t from = MDF_HEADER_SIZE, to = MDF_HEADER_SIZE;
	struct mdf_bank bank;
	unsigned n_banks = 0;
	bool done;

	for (;; n_banks++) {
		assert_int_equal(mdf_next_bank(bytes, header, &from, &bank, &done), WIRE_OK);
		if (done)
			break;
		assert_int_equal(mdf_append_bank(again.data, again.size, &to, &bank), WIRE_OK);
		assert_int_equal(from, to);
	}
	assert_int_equal(mdf_encode_header(again.data, again.size, &new_header), WIRE_OK);
	if (header->checksum == 0)
		store_le32(again.data + 12, 0);
	assert_memory_equal(again.data, bytes, header->size);
	bytes_free(&again);
	return n_banks;
}

static void real_data__simulated_events(void **state)
{
	struct bytes bytes = shared_file("lhcb-minbias.mdf");
	struct mdf_header header;
	unsigned n_records = 0;
	size_t offset = 0;

	(void)state;
	for (; offset < bytes.size; offset += header.size, n_records++) {
		const uint8_t *at = bytes.data + offset;
		unsigned n_banks;

		assert_int_equal(mdf_decode(at, bytes.size - offset, &header), WIRE_OK);
		assert_int_not_equal(header.checksum, 0);
		assert_int_equal(mdf_verify(at, &header), WIRE_OK);
		n_banks = expect_identity(at, &header);
		assert_in_range(n_banks, 1235, 1238);
	}
	assert_int_equal(n_records, 10);
	bytes_free(&bytes);
}

// The ODIN bank of a record.
static struct odin find_odin(const uint8_t *bytes, const struct mdf_header *header)
{
	struct odin odin = { 0 };
	struct mdf_bank bank;
	size_t offset = MDF_HEADER_SIZE;
	bool done = false;

	while (mdf_next_bank(bytes, header, &offset, &bank, &done) == WIRE_OK && !done) {
		if (bank.type != 16)
			continue;
		assert_int_equal(bank.version, 7);
		assert_int_equal(odin_decode(bank.payload, bank.size, &odin), WIRE_OK);
	}
	assert_true(done);
	return odin;
}

static void real_data__detector_events(void **state)
{
	static const struct {
		unsigned n_banks;
		uint32_t orbit, bunch; // of the record
		uint16_t event_type, odin_bunch;
		uint64_t event_id;
	} expected[] = {
		{ 10, 18061, 12, 12, 0x541, 3999014 },
		{ 9, 0x55555555, 0x55555555, 4, 0x542, 3999015 },
	};
	struct bytes bytes = shared_file("lhcb-run3-two-events.mdf");
	size_t offset = 0;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const uint8_t *at = bytes.data + offset;
		struct mdf_header header;
		struct odin odin;

		assert_int_equal(mdf_decode(at, bytes.size - offset, &header), WIRE_OK);
		assert_int_equal(header.run, 328614);
		assert_int_equal(header.orbit, expected[i].orbit);
		assert_int_equal(header.bunch, expected[i].bunch);
		assert_int_equal(mdf_verify(at, &header), WIRE_OK);
		assert_int_equal(expect_identity(at, &header), expected[i].n_banks);
		odin = find_odin(at, &header);
		assert_int_equal(odin.run, 328614);
		assert_int_equal(odin.event_type, expected[i].event_type);
		assert_int_equal(odin.gps_us, 1756381954122932);
		assert_int_equal(odin.tck, 0x10001120);
		assert_int_equal(odin.orbit, 1778);
		assert_int_equal(odin.bunch, expected[i].odin_bunch);
		assert_int_equal(odin.event_id, expected[i].event_id);
		offset += header.size;
	}
	assert_int_equal(offset, bytes.size);
	bytes_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_data__simulated_events),
		cmocka_unit_test(real_data__detector_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
