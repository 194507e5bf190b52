// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"

#include "wire/roce_cm.h"

#define SERVICE_UDP 0x01110000u // service id of RDMA_PS_UDP: | port

#define REQ_PRIVATE (24u + 140) // where it begins

static struct roce_cm_path example_path(uint8_t salt)
{
	struct roce_cm_path path = {
		.flow_label = 0xABCDE,
		.local_lid = 0x1234,
		.remote_lid = ROCE_CM_NO_LID,
		.packet_rate = 0x2A,
		.traffic_class = salt,
		.hop_limit = 64,
		.service_level = 0x9,
		.ack_timeout = 0x13,
		.subnet_local = true,
	};

	for (unsigned i = 0; i < 16; i++) {
		path.local_gid[i] = (uint8_t)(salt + i);
		path.remote_gid[i] = (uint8_t)(salt + 16 + i);
	}
	return path;
}

static struct roce_cm example_req(void)
{
	return (struct roce_cm){
		.transaction = 0x0102030405060708,
		.attribute = ROCE_CM_REQ,
		.local_id = 0x11223344,
		.req = {
			.service_id = ROCE_CM_SERVICE_TCP | 7174,
			.ca_guid = 0x02000AFFFE00000A,
			.qkey = 0xA1A2A3A4,
			.qpn = 0x000011,
			.starting_psn = 0xFEDCBA,
			.partition_key = 0xFFFF,
			.responder_resources = 3,
			.initiator_depth = 4,
			.remote_response_timeout = 0x14,
			.local_response_timeout = 0x15,
			.transport = ROCE_CM_UC,
			.extended_transport = 5,
			.retry_count = 7,
			.rnr_retry_count = 6,
			.path_mtu = 5,
			.max_cm_retries = 15,
			.flow_control = true,
			.primary = example_path(0x40),
			.alternate = example_path(0x80),
		},
	};
}

// Decodes the MAD, encodes what came out and expects the same bytes.
static struct roce_cm expect_identity(const uint8_t *mad)
{
	uint8_t again[ROCE_CM_MAD_SIZE];
	struct roce_cm message;

	assert_int_equal(roce_cm_decode(mad, ROCE_CM_MAD_SIZE, &message), WIRE_OK);
	expect_inside(mad, ROCE_CM_MAD_SIZE, message.private_data, message.private_size);
	assert_int_equal(message.private_size, roce_cm_private_room(message.attribute));
	memset(again, 0xEE, sizeof(again));
	assert_int_equal(roce_cm_encode(again, &message), WIRE_OK);
	assert_memory_equal(again, mad, sizeof(again));
	return message;
}

static void req__every_field(void **state)
{
	const struct roce_cm req = example_req();
	uint8_t mad[ROCE_CM_MAD_SIZE];
	struct roce_cm again;

	(void)state;
	assert_int_equal(roce_cm_encode(mad, &req), WIRE_OK);
	expect_hex(mad, REQ_PRIVATE,
		   "0107020300000000010203040506070800100000"
		   "00000000"
		   "1122334400000000"
		   "0000000001061c06"
		   "02000afffe00000a"
		   "00000000"
		   "a1a2a3a4"
		   "00001103" // QPN, responder resources
		   "00000004" // EEC number, initiator depth
		   "000000a3" // timeout 0x14, UC, flow control
		   "fedcbaaf" // PSN, timeout 0x15, retries 7
		   "ffff56f5"
		   "1234ffff"
		   "404142434445464748494a4b4c4d4e4f"
		   "505152535455565758595a5b5c5d5e5f"
		   "abcde02a40409898"
		   "1234ffff"
		   "808182838485868788898a8b8c8d8e8f"
		   "909192939495969798999a9b9c9d9e9f"
		   "abcde02a80409898");
	again = expect_identity(mad);
	assert_int_equal(again.transaction, req.transaction);
	assert_int_equal(again.local_id, req.local_id);
	assert_int_equal(again.remote_id, 0);
	assert_int_equal(again.req.qpn, 0x11);
	assert_int_equal(again.req.starting_psn, 0xFEDCBA);
	assert_int_equal(again.req.transport, ROCE_CM_UC);
	assert_int_equal(again.req.path_mtu, 5);
	assert_int_equal(again.req.primary.flow_label, 0xABCDE);
	assert_int_equal(again.req.alternate.ack_timeout, 0x13);
	assert_memory_equal(again.req.primary.remote_gid, req.req.primary.remote_gid, 16);
}

static void rep__every_field(void **state)
{
	const struct roce_cm rep = {
		.transaction = 1,
		.attribute = ROCE_CM_REP,
		.local_id = 0x55667788,
		.remote_id = 0x11223344,
		.rep = {
			.ca_guid = 0x02000BFFFE00000B,
			.qkey = 0xA1A2A3A4,
			.qpn = 0xABCDEF,
			.starting_psn = 0x123456,
			.responder_resources = 1,
			.initiator_depth = 2,
			.target_ack_delay = 15,
			.failover = 1,
			.rnr_retry_count = 7,
			.srq = true,
		},
		.private_data = (const uint8_t *)"evb",
		.private_size = 3,
	};
	uint8_t mad[ROCE_CM_MAD_SIZE];
	struct roce_cm again;

	(void)state;
	assert_int_equal(roce_cm_encode(mad, &rep), WIRE_OK);
	expect_hex(mad + 16, 8 + 36 + 4,
		   "0013000000000000"
		   "5566778811223344"
		   "a1a2a3a4abcdef00"
		   "0000000012345600"
		   "01027af0"
		   "02000bfffe00000b"
		   "65766200");
	again = expect_identity(mad);
	assert_int_equal(again.rep.qpn, 0xABCDEF);
	assert_int_equal(again.rep.starting_psn, 0x123456);
	assert_int_equal(again.rep.target_ack_delay, 15);
	assert_int_equal(again.rep.rnr_retry_count, 7);
	assert_true(again.rep.srq);
	assert_false(again.rep.flow_control);
	assert_int_equal(again.private_size, 196);
	assert_memory_equal(again.private_data, "evb", 4);
}

static void rej__every_field(void **state)
{
	const struct roce_cm rej = {
		.attribute = ROCE_CM_REJ,
		.local_id = 1,
		.remote_id = 2,
		.rej = { .reason = ROCE_CM_CONSUMER_DEFINED, .subject = ROCE_CM_ABOUT_REP },
		.info = (const uint8_t *)"why",
		.info_size = 3,
		.private_data = (const uint8_t *)"no",
		.private_size = 2,
	};
	uint8_t mad[ROCE_CM_MAD_SIZE];
	struct roce_cm again;

	(void)state;
	assert_int_equal(roce_cm_encode(mad, &rej), WIRE_OK);
	expect_hex(mad + 24, 16, "00000001000000024006001c77687900");
	expect_hex(mad + 24 + 84, 4, "6e6f0000");
	again = expect_identity(mad);
	assert_int_equal(again.rej.reason, 28);
	assert_int_equal(again.rej.subject, ROCE_CM_ABOUT_REP);
	assert_int_equal(again.info_size, 3);
	assert_memory_equal(again.info, "why", 3);
	assert_int_equal(again.private_size, 148);
}

static void others__every_field(void **state)
{
	const struct roce_cm messages[] = {
		{ .attribute = ROCE_CM_MRA,
		  .local_id = 1,
		  .remote_id = 2,
		  .mra = { .subject = ROCE_CM_ABOUT_OTHER, .service_timeout = 0x1F } },
		{ .attribute = ROCE_CM_RTU, .local_id = 1, .remote_id = 2 },
		{ .attribute = ROCE_CM_DREQ,
		  .local_id = 1,
		  .remote_id = 2,
		  .dreq = { .remote_qpn = 0xABCDEF } },
		{ .attribute = ROCE_CM_DREP, .local_id = 1, .remote_id = 2 },
		{ .attribute = ROCE_CM_SIDR_REQ,
		  .local_id = 1,
		  .sidr_req = { .partition_key = 0xFFFF, .service_id = 0x01111C06 } },
		{ .attribute = ROCE_CM_SIDR_REP,
		  .local_id = 1,
		  .sidr_rep = { .status = ROCE_CM_SIDR_REJECTED,
				.qpn = 0xABCDEF,
				.service_id = 0x01111C06,
				.qkey = 0x01234567 } },
	};
	static const char *const expected[] = {
		"000000010000000280f80000",
		"000000010000000200000000",
		"0000000100000002abcdef00",
		"000000010000000200000000",
		"00000001ffff000000000000"
		"01111c06",
		"0000000102000000abcdef00"
		"0000000001111c0601234567",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		uint8_t mad[ROCE_CM_MAD_SIZE];

		assert_int_equal(roce_cm_encode(mad, &messages[i]), WIRE_OK);
		assert_int_equal(load_be16(mad + 16), messages[i].attribute);
		expect_hex(mad + 24, strlen(expected[i]) / 2, expected[i]);
		assert_int_equal(expect_identity(mad).attribute, messages[i].attribute);
	}
}

static void private_room__ends_where_the_mad_does(void **state)
{
	static const struct {
		enum roce_cm_attribute attribute;
		size_t room;
	} expected[] = {
		{ ROCE_CM_REQ, 92 },   { ROCE_CM_MRA, 222 },      { ROCE_CM_REJ, 148 },
		{ ROCE_CM_REP, 196 },  { ROCE_CM_RTU, 224 },      { ROCE_CM_DREQ, 220 },
		{ ROCE_CM_DREP, 224 }, { ROCE_CM_SIDR_REQ, 216 }, { ROCE_CM_SIDR_REP, 136 },
	};
	struct bytes data = bytes_of_zeros(224 + 1);

	(void)state;
	memset(data.data, 0x5A, data.size);
	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct bytes mad = bytes_of_zeros(ROCE_CM_MAD_SIZE);
		struct roce_cm message = { .attribute = expected[i].attribute,
					   .private_data = data.data,
					   .private_size = expected[i].room };

		assert_int_equal(roce_cm_private_room(expected[i].attribute), expected[i].room);
		assert_int_equal(roce_cm_encode(mad.data, &message), WIRE_OK);
		assert_int_equal(mad.data[ROCE_CM_MAD_SIZE - 1], 0x5A);
		assert_memory_equal(mad.data + ROCE_CM_MAD_SIZE - expected[i].room, data.data,
				    expected[i].room);
		message.private_size++;
		assert_int_equal(roce_cm_encode(mad.data, &message), WIRE_NO_ROOM);
		bytes_free(&mad);
	}
	assert_int_equal(roce_cm_private_room((enum roce_cm_attribute)0x19), 0);
	bytes_free(&data);
}

static void encode__what_does_not_fit(void **state)
{
	uint8_t info[ROCE_CM_INFO_SIZE + 1] = { 0 };
	struct roce_cm message = { .attribute = ROCE_CM_REJ,
				   .info = info,
				   .info_size = ROCE_CM_INFO_SIZE };
	uint8_t mad[ROCE_CM_MAD_SIZE];

	(void)state;
	assert_int_equal(roce_cm_encode(mad, &message), WIRE_OK);
	expect_identity(mad);
	message.info_size++;
	assert_int_equal(roce_cm_encode(mad, &message), WIRE_NO_ROOM);
	message.info_size = 1;
	message.attribute = ROCE_CM_RTU;
	assert_int_equal(roce_cm_encode(mad, &message), WIRE_NO_ROOM);
	message.attribute = (enum roce_cm_attribute)0x19;
	assert_int_equal(roce_cm_encode(mad, &message), WIRE_UNSUPPORTED);
}

// The reason for which a REQ is refused that has another byte somewhere.
static enum wire_error decode_with(size_t offset, uint8_t value)
{
	const struct roce_cm req = example_req();
	uint8_t mad[ROCE_CM_MAD_SIZE];
	struct roce_cm message;

	assert_int_equal(roce_cm_encode(mad, &req), WIRE_OK);
	mad[offset] = value;
	return roce_cm_decode(mad, sizeof(mad), &message);
}

static void decode__contradictions_are_named(void **state)
{
	const struct roce_cm rej = { .attribute = ROCE_CM_REJ };
	uint8_t mad[ROCE_CM_MAD_SIZE];
	struct roce_cm message;

	(void)state;
	assert_int_equal(decode_with(0, 1), WIRE_OK);
	assert_int_equal(decode_with(0, 2), WIRE_BAD_VERSION);
	assert_int_equal(decode_with(1, 3), WIRE_UNSUPPORTED); // subnet administration
	assert_int_equal(decode_with(2, 1), WIRE_BAD_VERSION);
	assert_int_equal(decode_with(3, 1), WIRE_UNSUPPORTED); // Get()
	assert_int_equal(decode_with(16, 1), WIRE_UNSUPPORTED);
	assert_int_equal(decode_with(17, 0x0F), WIRE_UNSUPPORTED);
	assert_int_equal(decode_with(17, 0x19), WIRE_UNSUPPORTED); // LAP
	assert_int_equal(roce_cm_encode(mad, &rej), WIRE_OK);
	mad[24 + 9] = 72 << 1;
	assert_int_equal(roce_cm_decode(mad, sizeof(mad), &message), WIRE_OK);
	assert_int_equal(message.info_size, 72);
	mad[24 + 9] = 73 << 1;
	assert_int_equal(roce_cm_decode(mad, sizeof(mad), &message), WIRE_BAD_LENGTH);
}

static void use(const uint8_t *bytes, size_t size)
{
	struct roce_cm message;

	if (roce_cm_decode(bytes, size, &message) != WIRE_OK)
		return;
	expect_inside(bytes, size, message.private_data, message.private_size);
	if (message.info_size > 0)
		expect_inside(bytes, size, message.info, message.info_size);
}

static void expect_truncated(const uint8_t *bytes, size_t size)
{
	struct roce_cm message;

	assert_int_equal(roce_cm_decode(bytes, size, &message), WIRE_TRUNCATED);
}

static void decode__no_mutation_leads_outside(void **state)
{
	const struct roce_cm req = example_req();
	struct bytes bytes = bytes_of_zeros(ROCE_CM_MAD_SIZE);

	(void)state;
	assert_int_equal(roce_cm_encode(bytes.data, &req), WIRE_OK);
	each_mutation(&bytes, use);
	each_truncation(&bytes, expect_truncated);
	bytes_free(&bytes);
}

static void ip__addresses_in_private_data(void **state)
{
	struct roce_cm_ip ip = { .source_port = 0x1234, .version = 4 };
	struct bytes data = bytes_of_zeros(ROCE_CM_IP_SIZE);
	struct roce_cm_ip again;

	(void)state;
	bytes_store_ipv4(ip.source, 0x0A4D0001);
	bytes_store_ipv4(ip.destination, 0x0A4D0002);
	roce_cm_ip_encode(data.data, &ip);
	expect_hex(data.data, data.size,
		   "00401234"
		   "0000000000000000000000000a4d0001"
		   "0000000000000000000000000a4d0002");
	assert_int_equal(roce_cm_ip_decode(data.data, data.size, &again), WIRE_OK);
	assert_int_equal(again.version, 4);
	assert_int_equal(again.source_port, 0x1234);
	assert_memory_equal(again.source, ip.source, 16);
	assert_memory_equal(again.destination, ip.destination, 16);
	assert_int_equal(roce_cm_ip_decode(data.data, data.size - 1, &again), WIRE_TRUNCATED);
	data.data[1] = 0x60;
	assert_int_equal(roce_cm_ip_decode(data.data, data.size, &again), WIRE_OK);
	assert_int_equal(again.version, 6);
	data.data[1] = 0x50;
	assert_int_equal(roce_cm_ip_decode(data.data, data.size, &again), WIRE_BAD_VERSION);
	data.data[0] = 0x01;
	data.data[1] = 0x40;
	assert_int_equal(roce_cm_ip_decode(data.data, data.size, &again), WIRE_BAD_VERSION);
	bytes_free(&data);
}

static void ip__services_and_gids(void **state)
{
	uint16_t port = 0;

	(void)state;
	assert_true(roce_cm_ip_service(ROCE_CM_SERVICE_TCP | 7174, &port));
	assert_int_equal(port, 7174);
	assert_true(roce_cm_ip_service(SERVICE_UDP | 0xFFFF, &port));
	assert_int_equal(port, 0xFFFF);
	assert_false(roce_cm_ip_service(0x1000000001060000, &port));
	assert_false(roce_cm_ip_service(0x0000000002060000, &port));
	assert_false(roce_cm_ip_service(7174, &port));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(req__every_field),
		cmocka_unit_test(rep__every_field),
		cmocka_unit_test(rej__every_field),
		cmocka_unit_test(others__every_field),
		cmocka_unit_test(private_room__ends_where_the_mad_does),
		cmocka_unit_test(encode__what_does_not_fit),
		cmocka_unit_test(decode__contradictions_are_named),
		cmocka_unit_test(decode__no_mutation_leads_outside),
		cmocka_unit_test(ip__addresses_in_private_data),
		cmocka_unit_test(ip__services_and_gids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
