// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"

#include "wire/roce.h"

#define ICRC "deadbeef"

static enum wire_error parse(const char *hex, struct roce_packet *packet)
{
	struct bytes bytes = bytes_from_hex(hex);
	enum wire_error error = roce_parse(bytes.data, bytes.size, bytes.size, packet);

	bytes_free(&bytes);
	return error;
}

static void parse__every_field_of_the_bth(void **state)
{
	struct roce_packet packet;

	(void)state;
	assert_int_equal(parse("01f08001c065432180abcdef0102030405060708090a0b0c0d0e0f10"
			       "000000" ICRC,
			       &packet),
			 WIRE_OK);
	assert_int_equal(packet.opcode, ROCE_RC_SEND_MIDDLE);
	assert_int_equal(packet.service, ROCE_RC);
	assert_int_equal(packet.flags, ROCE_SEND | ROCE_REQUEST | ROCE_HAS_PAYLOAD);
	assert_true(packet.solicited);
	assert_true(packet.migrated);
	assert_int_equal(packet.pad, 3);
	assert_int_equal(packet.partition_key, 0x8001);
	assert_true(packet.fecn);
	assert_true(packet.becn);
	assert_int_equal(packet.destination_qpn, 0x654321);
	assert_true(packet.ack_request);
	assert_int_equal(packet.psn, 0xABCDEF);
	assert_int_equal(packet.payload_offset, 12);
	assert_int_equal(packet.payload_size, 16);
	assert_false(roce_pad_ok(&packet)); // 16 bytes need none
}

static void parse__each_bit_of_the_bth_is_one_field(void **state)
{
	struct roce_packet packet;

	(void)state;
	assert_int_equal(parse("01800000000000000000000000000000" ICRC, &packet), WIRE_OK);
	assert_true(packet.solicited && !packet.migrated && packet.pad == 0);
	assert_true(!packet.fecn && !packet.becn && !packet.ack_request);
	assert_int_equal(parse("01400000800000000000000000000000" ICRC, &packet), WIRE_OK);
	assert_true(!packet.solicited && packet.migrated && packet.pad == 0);
	assert_true(packet.fecn && !packet.becn && !packet.ack_request);
	assert_int_equal(parse("01200000400000000000000000000000" ICRC, &packet), WIRE_OK);
	assert_true(!packet.solicited && !packet.migrated && packet.pad == 2);
	assert_true(!packet.fecn && packet.becn && !packet.ack_request);
	assert_int_equal(packet.payload_size, 2);
	assert_true(roce_pad_ok(&packet));
	// all reserved bits
	assert_int_equal(parse("010000003f0000007f00000000000000" ICRC, &packet), WIRE_OK);
	assert_true(!packet.fecn && !packet.becn && !packet.ack_request);
	assert_int_equal(packet.destination_qpn, 0);
	assert_int_equal(packet.psn, 0);
}

static void parse__extension_headers(void **state)
{
	struct roce_packet packet;

	(void)state;
	// RETH and ImmDt
	assert_int_equal(parse("0b10ffff0000001100000022"
			       "0123456789abcdef"
			       "11223344"
			       "00000003"
			       "aabbccdd"
			       "01020300" ICRC,
			       &packet),
			 WIRE_OK);
	assert_int_equal(packet.flags, ROCE_WRITE | ROCE_REQUEST | ROCE_BEGIN | ROCE_END |
					   ROCE_HAS_PAYLOAD | ROCE_HAS_RETH | ROCE_HAS_IMM);
	assert_int_equal(packet.reth.address, 0x0123456789ABCDEF);
	assert_int_equal(packet.reth.rkey, 0x11223344);
	assert_int_equal(packet.reth.length, 3);
	assert_int_equal(packet.immediate, 0xAABBCCDD);
	assert_int_equal(packet.payload_offset, 32);
	assert_int_equal(packet.payload_size, 3);
	assert_true(roce_pad_ok(&packet));
	// AETH
	assert_int_equal(parse("1100ffff0000001100000022"
			       "60abcdef" ICRC,
			       &packet),
			 WIRE_OK);
	assert_int_equal(packet.flags, ROCE_ACKNOWLEDGE | ROCE_RESPONSE | ROCE_HAS_AETH);
	assert_int_equal(packet.aeth.syndrome, ROCE_NAK_PSN_SEQUENCE);
	assert_int_equal(packet.aeth.msn, 0xABCDEF);
	assert_int_equal(packet.payload_size, 0);
	// DETH and ImmDt
	assert_int_equal(parse("6500ffff0000001100000022"
			       "80010000ff000017"
			       "00000005" ICRC,
			       &packet),
			 WIRE_OK);
	assert_int_equal(packet.service, ROCE_UD);
	assert_int_equal(packet.deth.qkey, 0x80010000);
	assert_int_equal(packet.deth.source_qpn, 0x17);
	assert_int_equal(packet.immediate, 5);
	assert_int_equal(packet.payload_offset, 24);
	// AtomicETH
	assert_int_equal(parse("1300ffff0000001100000022"
			       "0123456789abcdef"
			       "11223344"
			       "1111111122222222"
			       "3333333344444444" ICRC,
			       &packet),
			 WIRE_OK);
	assert_int_equal(packet.atomic.address, 0x0123456789ABCDEF);
	assert_int_equal(packet.atomic.rkey, 0x11223344);
	assert_int_equal(packet.atomic.swap_add, 0x1111111122222222);
	assert_int_equal(packet.atomic.compare, 0x3333333344444444);
	assert_int_equal(packet.payload_offset, ROCE_MAX_HEADERS_SIZE);
	// AETH and AtomicAckETH
	assert_int_equal(parse("1200ffff0000001100000022"
			       "1f000007"
			       "5555555566666666" ICRC,
			       &packet),
			 WIRE_OK);
	assert_int_equal(packet.aeth.msn, 7);
	assert_int_equal(packet.atomic_result, 0x5555555566666666);
	// IETH
	assert_int_equal(parse("1700ffff0000001100000022"
			       "99887766"
			       "00000000" ICRC,
			       &packet),
			 WIRE_OK);
	assert_int_equal(packet.invalidate_rkey, 0x99887766);
	assert_int_equal(packet.payload_size, 4);
}

static void parse__contradictions_are_named(void **state)
{
	struct roce_packet packet;

	(void)state;
	assert_int_equal(parse("0401ffff0000001100000022" ICRC, &packet), WIRE_BAD_VERSION);
	assert_int_equal(parse("1500ffff0000001100000022" ICRC, &packet), WIRE_UNSUPPORTED);
	assert_int_equal(parse("4400ffff0000001100000022" ICRC, &packet), WIRE_UNSUPPORTED); // RD
	assert_int_equal(parse("2c00ffff0000001100000022" ICRC, &packet), WIRE_UNSUPPORTED);
	assert_int_equal(parse("ff00ffff0000001100000022" ICRC, &packet), WIRE_UNSUPPORTED);
	// padding into the headers
	assert_int_equal(parse("0410ffff0000001100000022" ICRC, &packet), WIRE_BAD_LENGTH);
	assert_int_equal(parse("0430ffff00000011000000220000" ICRC, &packet), WIRE_BAD_LENGTH);
	assert_int_equal(parse("0430ffff0000001100000022000000" ICRC, &packet), WIRE_OK);
	assert_int_equal(packet.payload_size, 0);
	// payload where there is none
	assert_int_equal(parse("1100ffff00000011000000221f000000" ICRC, &packet), WIRE_OK);
	assert_int_equal(parse("1100ffff00000011000000221f00000000000000" ICRC, &packet),
			 WIRE_BAD_LENGTH);
}

static void parse__only_the_headers_at_hand(void **state)
{
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		const size_t size = roce_opcodes[opcode].headers_size;
		struct bytes bytes = bytes_of_zeros(size ? size : ROCE_BTH_SIZE);
		struct roce_packet packet;

		(void)state;
		bytes.data[0] = (uint8_t)opcode;
		if (size == 0) {
			assert_int_equal(roce_parse(bytes.data, 12, 5000, &packet),
					 WIRE_UNSUPPORTED);
			bytes_free(&bytes);
			continue;
		}
		assert_int_equal(roce_parse(bytes.data, size, size + 4, &packet), WIRE_OK);
		assert_int_equal(roce_parse(bytes.data, size, size + 3, &packet), WIRE_TRUNCATED);
		assert_int_equal(roce_parse(bytes.data, size - 1, size + 4, &packet),
				 WIRE_TRUNCATED);
		assert_int_equal(roce_parse(bytes.data, size, size + 4 + 4096, &packet),
				 packet.flags & ROCE_HAS_PAYLOAD ? WIRE_OK : WIRE_BAD_LENGTH);
		bytes_free(&bytes);
	}
}

static void use(const uint8_t *bytes, size_t size)
{
	struct roce_packet packet;

	if (roce_parse(bytes, size, size, &packet) != WIRE_OK)
		return;
	assert_true(packet.payload_offset >= ROCE_BTH_SIZE);
	assert_true(packet.payload_offset <= ROCE_MAX_HEADERS_SIZE);
	assert_int_equal(packet.payload_offset + (size_t)packet.payload_size + packet.pad + 4,
			 size);
}

static void expect_truncated(const uint8_t *bytes, size_t size)
{
	struct roce_packet packet;
	enum wire_error error = roce_parse(bytes, size, size, &packet);

	assert_int_equal(error, size < 12 + 16 + 4 ? WIRE_TRUNCATED : WIRE_OK);
}

static void parse__no_mutation_leads_outside(void **state)
{
	struct bytes bytes = bytes_from_hex("0600ffff0000001100000022"
					    "0123456789abcdef1122334400000008"
					    "0102030405060708" ICRC);

	(void)state;
	each_mutation(&bytes, use);
	each_truncation(&bytes, use);
	each_truncation(&bytes, expect_truncated);
	bytes_free(&bytes);
}

// All headers of all opcodes: what is written parses to what was to be written.
static void headers_encode__every_opcode(void **state)
{
	unsigned n_known = 0;

	(void)state;
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		const struct roce_opcode_info *info = &roce_opcodes[opcode];
		struct bytes bytes = bytes_of_zeros(info->headers_size + ROCE_ICRC_SIZE);
		const struct roce_packet packet = {
			.opcode = (uint8_t)opcode,
			.solicited = opcode & 1,
			.migrated = opcode & 2,
			.ack_request = opcode & 4,
			.fecn = opcode & 8,
			.becn = opcode & 16,
			.partition_key = 0xABCD,
			.destination_qpn = 0x123456,
			.psn = 0xFEDCBA,
			.reth = { 0x1122334455667788, 0x99AABBCC, 0xDDEEFF00 },
			.aeth = { 0x345678, 0x2C },
			.deth = { 0x80010000, 0x654321 },
			.immediate = 0x01020304,
			.invalidate_rkey = 0x05060708,
			.atomic = { 0x1111111111111111, 0x2222222222222222, 0x3333333333333333,
				    0x44444444 },
			.atomic_result = 0x5555555555555555,
		};
		struct roce_packet again;

		assert_int_equal(roce_headers_encode(bytes.data, &packet), info->headers_size);
		if (info->flags == 0) {
			bytes_free(&bytes);
			continue;
		}
		n_known++;
		assert_int_equal(roce_parse(bytes.data, bytes.size, bytes.size, &again), WIRE_OK);
		assert_int_equal(again.opcode, opcode);
		assert_int_equal(again.solicited, packet.solicited);
		assert_int_equal(again.migrated, packet.migrated);
		assert_int_equal(again.ack_request, packet.ack_request);
		assert_int_equal(again.fecn, packet.fecn);
		assert_int_equal(again.becn, packet.becn);
		assert_int_equal(again.partition_key, 0xABCD);
		assert_int_equal(again.destination_qpn, 0x123456);
		assert_int_equal(again.psn, 0xFEDCBA);
		if (info->flags & ROCE_HAS_RETH)
			assert_memory_equal(&again.reth, &packet.reth, sizeof(again.reth));
		if (info->flags & ROCE_HAS_AETH) {
			assert_int_equal(again.aeth.syndrome, 0x2C);
			assert_int_equal(again.aeth.msn, 0x345678);
		}
		if (info->flags & ROCE_HAS_DETH)
			assert_memory_equal(&again.deth, &packet.deth, sizeof(again.deth));
		if (info->flags & ROCE_HAS_IMM)
			assert_int_equal(again.immediate, 0x01020304);
		if (info->flags & ROCE_HAS_IETH)
			assert_int_equal(again.invalidate_rkey, 0x05060708);
		if (info->flags & ROCE_HAS_ATOMIC) {
			assert_int_equal(again.atomic.address, packet.atomic.address);
			assert_int_equal(again.atomic.rkey, packet.atomic.rkey);
			assert_int_equal(again.atomic.swap_add, packet.atomic.swap_add);
			assert_int_equal(again.atomic.compare, packet.atomic.compare);
		}
		if (info->flags & ROCE_HAS_ATOMIC_ACK)
			assert_int_equal(again.atomic_result, packet.atomic_result);
		bytes_free(&bytes);
	}
	assert_int_equal(n_known, 23 + 12 + 2 + 1);
}

static void encode__the_bytes(void **state)
{
	const struct roce_packet ack = {
		.opcode = ROCE_RC_ACKNOWLEDGE,
		.partition_key = ROCE_DEFAULT_P_KEY,
		.destination_qpn = 0x11,
		.psn = 0x010203,
		.aeth = { .msn = 7, .syndrome = ROCE_ACK_NO_CREDITS },
	};
	const struct roce_packet write = {
		.opcode = ROCE_UC_WRITE_ONLY_IMM,
		.solicited = true,
		.migrated = true,
		.pad = 1,
		.ack_request = true,
		.fecn = true,
		.partition_key = ROCE_DEFAULT_P_KEY,
		.destination_qpn = 0xFFFFFF,
		.psn = 0xFFFFFE,
		.reth = { .address = 0x7F00000000001000, .rkey = 0x1234, .length = 3 },
		.immediate = 0xCAFE,
	};
	uint8_t bytes[ROCE_MAX_HEADERS_SIZE];

	(void)state;
	expect_hex(bytes, roce_headers_encode(bytes, &ack),
		   "1100ffff0000001100010203"
		   "1f000007");
	expect_hex(bytes, roce_headers_encode(bytes, &write),
		   "2bd0ffff80ffffff80fffffe"
		   "7f000000000010000000123400000003"
		   "0000cafe");
	roce_cnp_encode(bytes, 0x118);
	expect_hex(bytes, ROCE_CNP_SIZE,
		   "8100ffff4000011800000000"
		   "00000000000000000000000000000000");
}

static void opcodes__of_services(void **state)
{
	(void)state;
	assert_int_equal(roce_opcodes[0x15].flags, 0);
	assert_int_equal(roce_opcodes[0xFF].flags, 0);
	assert_int_equal(ROCE_RC_SEND_ONLY + ROCE_UC_BASE, ROCE_UC_SEND_ONLY);
	assert_int_equal(ROCE_RC_SEND_ONLY_IMM + ROCE_UD_BASE, ROCE_UD_SEND_ONLY_IMM);
	// UC has RC's operations of SEND and WRITE, with the same meaning.
	for (unsigned i = ROCE_UC_SEND_FIRST; i <= ROCE_UC_WRITE_ONLY_IMM; i++) {
		assert_int_equal(roce_opcodes[i].flags, roce_opcodes[i - ROCE_UC_BASE].flags);
		assert_int_equal(roce_opcodes[i].service, ROCE_UC);
	}
}

static void psn__wraps_at_24_bits(void **state)
{
	(void)state;
	assert_int_equal(roce_psn_add(0xFFFFFF, 1), 0);
	assert_int_equal(roce_psn_add(0xFFFFF0, 0x20), 0x10);
	assert_int_equal(roce_psn_diff(5, 5), 0);
	assert_int_equal(roce_psn_diff(0, 0xFFFFFF), 1);
	assert_int_equal(roce_psn_diff(0xFFFFFF, 0), -1);
	assert_int_equal(roce_psn_diff(0x7FFFFF, 0), 0x7FFFFF);
	assert_int_equal(roce_psn_diff(0x800000, 0), -0x800000);
	assert_int_equal(roce_psn_diff(0x10, 0xFFFFF0), 0x20);
}

static void syndrome__kinds(void **state)
{
	(void)state;
	assert_int_equal(roce_syndrome_kind(ROCE_ACK_NO_CREDITS), ROCE_SYNDROME_ACK);
	assert_int_equal(roce_syndrome_kind(0x2C), ROCE_SYNDROME_RNR);
	assert_int_equal(roce_syndrome_value(0x2C), 12);
	assert_int_equal(roce_rnr_syndrome(12), 0x2C);
	assert_int_equal(roce_syndrome_kind(ROCE_NAK_REMOTE_ACCESS), ROCE_SYNDROME_NAK);
}

static void rnr__waits(void **state)
{
	(void)state;
	assert_int_equal(roce_rnr_ns[0], 655360000);
	assert_int_equal(roce_rnr_ns[1], 10000);
	assert_int_equal(roce_rnr_ns[2], 20000);
	assert_int_equal(roce_rnr_ns[12], 640000); // what perftest asks for
	assert_int_equal(roce_rnr_ns[31], 491520000);
	for (unsigned code = 1; code < 31; code++)
		assert_true(roce_rnr_ns[code] < roce_rnr_ns[code + 1]);
}

static void timeouts_and_mtus(void **state)
{
	(void)state;
	assert_int_equal(roce_timeout_ns(0), 4096);
	assert_int_equal(roce_timeout_ns(14), 67108864);
	assert_int_equal(roce_timeout_ns(31), 8796093022208);
	assert_int_equal(roce_mtu_bytes(0), 0);
	assert_int_equal(roce_mtu_bytes(1), 256);
	assert_int_equal(roce_mtu_bytes(5), 4096);
	assert_int_equal(roce_mtu_bytes(6), 0);
	assert_int_equal(roce_mtu_code(255), 0);
	assert_int_equal(roce_mtu_code(256), 1);
	assert_int_equal(roce_mtu_code(4095), 4);
	assert_int_equal(roce_mtu_code(UINT32_MAX), 5);
	assert_int_equal(roce_path_mtu(0), 0);
	assert_int_equal(roce_path_mtu(335), 0);
	assert_int_equal(roce_path_mtu(1500), 1024);
	assert_int_equal(roce_path_mtu(4175), 2048);
	assert_int_equal(roce_path_mtu(4176), 4096);
	assert_int_equal(roce_path_mtu(9000), 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__every_field_of_the_bth),
		cmocka_unit_test(parse__each_bit_of_the_bth_is_one_field),
		cmocka_unit_test(parse__extension_headers),
		cmocka_unit_test(parse__contradictions_are_named),
		cmocka_unit_test(parse__only_the_headers_at_hand),
		cmocka_unit_test(parse__no_mutation_leads_outside),
		cmocka_unit_test(headers_encode__every_opcode),
		cmocka_unit_test(encode__the_bytes),
		cmocka_unit_test(opcodes__of_services),
		cmocka_unit_test(psn__wraps_at_24_bits),
		cmocka_unit_test(syndrome__kinds),
		cmocka_unit_test(rnr__waits),
		cmocka_unit_test(timeouts_and_mtus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
