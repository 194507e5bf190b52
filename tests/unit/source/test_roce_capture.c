// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Captures of RoCE: of real conversations, and made packet by packet.
#include "helpers.h"

#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/roce_capture.h"
#include "wire/icrc.h"
#include "wire/mfp.h"

#define MTU      256u
#define QPN      0x11u
#define LONGEST  2000u
#define FIRST_NS 1700000000000000000ull

static char directory[PATH_SIZE], path[PATH_SIZE], error[SOURCE_ERROR_SIZE];

static struct roce_capture *read_it(const char *from)
{
	struct roce_capture *capture;

	if (roce_capture_read(&capture, from, ROCE_UDP_PORT, error) != 0)
		fail_msg("%s", error);
	return capture;
}

// --- real conversations ---

static const struct {
	const char *name;
	unsigned streams;
	uint64_t messages;
	uint32_t size; // of all, 0: various
	bool is_write;
	uint64_t repeated; // at least
} vectors[] = {
	{ "rc_send_64k_mtu1024", 1, 5, 65536, false, 0 },
	{ "rc_send_64k_mtu4096", 1, 5, 65536, false, 0 },
	{ "rc_write_64k_mtu1024", 1, 5, 65536, true, 0 },
	{ "rc_send_3b", 1, 10, 3, false, 0 },
	{ "rc_send_1025b", 1, 10, 1025, false, 0 },
	{ "rc_send_lat_64b", 2, 20, 64, false, 0 },
	{ "rc_write_lat_8b", 2, 20, 8, true, 0 },
	{ "uc_send_64k_mtu1024", 1, 5, 65536, false, 0 },
	{ "uc_write_64k_mtu4096", 1, 5, 65536, true, 0 },
	{ "ud_send_4k", 1, 20, 4096, false, 0 },
	{ "rc_send_4k_with_tcp", 1, 5, 4096, false, 0 },
	{ "rc_write_4k_ipv6", 1, 5, 4096, true, 0 },
	{ "rc_pingpong_srq", 4, 20, 4096, false, 0 },
	{ "rc_send_rnr", 1, 20, 2048, false, 100 },
	{ "rc_send_32k_loss3_a", 1, 10, 32768, false, 100 },
	{ "rc_send_4k_loss10_b", 1, 30, 4096, false, 10 },
	{ "rping_mtu1500", 2, 15, 0, false, 0 },
};

// What was sent again, after losses or for a receiver that was not ready, is whole.
static void read__real_conversations(void **state)
{
	char name[PATH_SIZE];

	(void)state;
	for (unsigned i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct roce_capture *capture;

		snprintf(name, sizeof(name), "../vectors/roce/%s.pcap", vectors[i].name);
		if (!find_data(path, name))
			skip();
		assert_true(roce_capture_is(path, ROCE_UDP_PORT, UINT64_MAX));
		capture = read_it(path);
		print_message("%s: %u streams, %lu messages, %lu repeated, %lu others\n",
			      vectors[i].name, capture->n_streams,
			      (unsigned long)capture->n_messages, (unsigned long)capture->repeated,
			      (unsigned long)capture->others);
		assert_int_equal(capture->n_streams, vectors[i].streams);
		assert_int_equal(capture->n_messages, vectors[i].messages);
		assert_int_equal(capture->damaged, 0);
		assert_int_equal(capture->cut, 0);
		assert_true(capture->repeated >= vectors[i].repeated);
		assert_int_equal(capture->n_sources, 0);
		for (unsigned j = 0; j < capture->n_streams; j++)
			assert_int_equal(capture->streams[j].lost_messages, 0);
		for (uint64_t j = 0; vectors[i].size > 0 && j < capture->n_messages; j++) {
			assert_int_equal(capture->messages[j].size, vectors[i].size);
			assert_int_equal(capture->messages[j].is_write, vectors[i].is_write);
			assert_int_equal(capture->messages[j].at % 64, 0);
		}
		roce_capture_free(capture);
	}
}

static void expect_error(const char *part)
{
	struct roce_capture *capture;

	assert_int_equal(roce_capture_read(&capture, path, ROCE_UDP_PORT, error), -1);
	if (strstr(error, part) == NULL)
		fail_msg("\"%s\" does not hold \"%s\"", error, part);
	assert_null(strchr(error, '\n'));
}

static void read__what_holds_no_messages(void **state)
{
	(void)state;
	if (!find_data(path, "../vectors/roce/rc_read_16k_mtu1024.pcap"))
		skip();
	expect_error("no SEND or WRITE among them");
	assert_false(roce_capture_is(path, ROCE_UDP_PORT, UINT64_MAX));
	assert_true(find_data(path, "../vectors/roce/rc_atomic_fadd.pcap"));
	expect_error("no SEND or WRITE among them");
	path_in(path, directory, "absent.pcap");
	expect_error("absent.pcap");
	assert_false(roce_capture_is(path, ROCE_UDP_PORT, UINT64_MAX));
}

// --- made packet by packet ---

static struct {
	pcap_t *pcap;
	pcap_dumper_t *dumper;
	uint64_t time_ns;
	uint32_t snap;
	uint32_t destination_ip;
} out;

static void begin(void)
{
	path_in(path, directory, "made.pcap");
	out.pcap =
	    pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
	out.dumper = pcap_dump_open(out.pcap, path);
	assert_non_null(out.dumper);
	out.time_ns = FIRST_NS;
	out.snap = UINT32_MAX;
	out.destination_ip = 0x0A000002;
}

static void end(void)
{
	pcap_dump_close(out.dumper);
	pcap_close(out.pcap);
}

static size_t make_frame(uint8_t *frame, const struct roce_packet *header, const uint8_t *payload,
			 uint32_t size)
{
	const struct net_udp4 udp = { .source_ip = 0x0A000001,
				      .destination_ip = out.destination_ip,
				      .source_port = 50000,
				      .destination_port = ROCE_UDP_PORT };
	struct roce_packet packet = *header;
	uint8_t headers[ROCE_MAX_HEADERS_SIZE];
	size_t at, n, all;

	packet.pad = (uint8_t)(-size & 3u);
	packet.partition_key = ROCE_DEFAULT_P_KEY;
	n = roce_headers_encode(headers, &packet);
	all = n + size + packet.pad + ROCE_ICRC_SIZE;
	at = net_udp4_encode(frame, &udp, (uint16_t)all);
	memset(frame + at, 0, all);
	memcpy(frame + at, headers, n);
	if (size > 0)
		memcpy(frame + at + n, payload, size);
	icrc_append(frame + NET_ETH_SIZE, NET_IPV4_SIZE, all);
	return at + all;
}

static void put_frame(const uint8_t *frame, size_t size)
{
	const struct pcap_pkthdr header = {
		.ts = { .tv_sec = (time_t)(out.time_ns / 1000000000),
			.tv_usec = (suseconds_t)(out.time_ns % 1000000000) },
		.caplen = size < out.snap ? (uint32_t)size : out.snap,
		.len = (uint32_t)size,
	};

	pcap_dump((u_char *)out.dumper, &header, frame);
	out.time_ns += 1000;
}

static void put(const struct roce_packet *header, const uint8_t *payload, uint32_t size)
{
	uint8_t frame[200 + MTU];

	put_frame(frame, make_frame(frame, header, payload, size));
}

// Packet `number` of a message of a SEND, or a WRITE with immediate to `address`.
static void put_part(uint32_t first_psn, const uint8_t *bytes, uint32_t size, uint32_t number,
		     uint64_t address)
{
	static const uint8_t sends[] = { ROCE_RC_SEND_MIDDLE, ROCE_RC_SEND_FIRST, ROCE_RC_SEND_LAST,
					 ROCE_RC_SEND_ONLY };
	static const uint8_t writes[] = { ROCE_RC_WRITE_MIDDLE, ROCE_RC_WRITE_FIRST,
					  ROCE_RC_WRITE_LAST_IMM, ROCE_RC_WRITE_ONLY_IMM };
	uint32_t offset = number * MTU;
	uint32_t n = size - offset < MTU ? size - offset : MTU;
	unsigned which = (number == 0 ? 1 : 0) + (offset + n == size ? 2 : 0);
	const struct roce_packet packet = {
		.opcode = address != 0 ? writes[which] : sends[which],
		.destination_qpn = QPN,
		.psn = roce_psn_add(first_psn, number),
		.reth = { .address = address, .rkey = 1, .length = size },
		.immediate = size,
	};

	put(&packet, bytes + offset, n);
}

static uint32_t put_message(uint32_t psn, const uint8_t *bytes, uint32_t size, uint64_t address)
{
	for (uint32_t i = 0; i * MTU < size; i++)
		put_part(psn, bytes, size, i, address);
	return roce_psn_add(psn, (size + MTU - 1) / MTU);
}

static uint32_t make_mfp(uint8_t *bytes, uint64_t event_id, uint16_t source, uint16_t fragment)
{
	struct mfp_header header = { .event_id = event_id, .source_id = source, .n_fragments = 3 };
	const uint16_t sizes[] = { fragment, fragment, fragment };
	const uint8_t types[] = { 15, 15, 15 };

	memset(bytes, (int)(event_id + source), LONGEST);
	assert_int_equal(mfp_encode_header(bytes, LONGEST, &header, types, sizes), WIRE_OK);
	return header.packet_size;
}

static void expect_bytes(const struct roce_capture *capture, uint64_t message, const uint8_t *bytes,
			 uint32_t size)
{
	assert_true(message < capture->n_messages);
	assert_int_equal(capture->messages[message].size, size);
	assert_memory_equal(capture->bytes + capture->messages[message].at, bytes, size);
}

// Numbers wrap, packets are sent again and overtake each other: the messages are as they were.
static void message__is_put_together(void **state)
{
	const uint32_t psn = 0xFFFFFE;
	struct roce_capture *capture;
	uint8_t a[LONGEST], b[LONGEST];
	uint32_t size_a = make_mfp(a, 0, 7, 300), size_b = make_mfp(b, 3, 7, 300);

	(void)state;
	begin();
	put_part(psn, a, size_a, 0, 0x9000);
	put_part(psn, a, size_a, 2, 0x9000);
	put_part(psn, a, size_a, 3, 0x9000);
	put_part(psn, a, size_a, 1, 0x9000);
	put_part(psn, a, size_a, 2, 0x9000);
	put_part(psn, a, size_a, 3, 0x9000);
	put_message(roce_psn_add(psn, 4), b, size_b, 0x9800);
	put_message(roce_psn_add(psn, 4), b, size_b, 0x9800);
	end();
	assert_int_equal((size_a + MTU - 1) / MTU, 4);
	capture = read_it(path);
	assert_int_equal(capture->n_streams, 1);
	assert_int_equal(capture->n_messages, 2);
	assert_int_equal(capture->requests, 6 + 8);
	assert_int_equal(capture->repeated, 2 + 4);
	assert_int_equal(capture->streams[0].first_psn, psn);
	assert_int_equal(capture->streams[0].qpn, QPN);
	assert_int_equal(capture->streams[0].mfps, 2);
	assert_int_equal(capture->streams[0].source_id, 7);
	assert_false(capture->streams[0].is_mixed);
	expect_bytes(capture, 0, a, size_a);
	expect_bytes(capture, 1, b, size_b);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(capture->messages[i].is_write);
		assert_true(capture->messages[i].has_immediate);
		assert_int_equal(capture->messages[i].immediate, i == 0 ? size_a : size_b);
		assert_int_equal(capture->messages[i].offset, i * 0x800);
		assert_int_equal(capture->messages[i].time_ns, i * 6000);
	}
	assert_int_equal(capture->n_sources, 1);
	assert_int_equal(capture->source_ids[0], 7);
	assert_int_equal(capture->packing, 3);
	assert_int_equal(capture->events, 2);
	assert_int_equal(capture->largest_message, size_a);
	roce_capture_free(capture);
}

// A packet that the capture lacks costs its message, and no other.
static void message__that_is_not_whole_is_left_out(void **state)
{
	struct roce_capture *capture;
	uint8_t bytes[LONGEST];
	uint32_t size = make_mfp(bytes, 0, 7, 300), psn = 100;

	(void)state;
	begin();
	put_part(psn - 1, bytes, size, 1, 0); // the first is missing
	put_part(psn - 1, bytes, size, 2, 0);
	put_part(psn - 1, bytes, size, 3, 0);
	psn = put_message(psn + 3, bytes, size, 0);
	for (uint32_t i = 0; i < 4; i++) // one inside
		if (i != 2)
			put_part(psn, bytes, size, i, 0);
	psn = put_message(psn + 4, bytes, size, 0);
	put_part(psn, bytes, size, 0, 0); // the last
	end();
	capture = read_it(path);
	assert_int_equal(capture->n_messages, 2);
	assert_int_equal(capture->streams[0].lost_messages, 3);
	expect_bytes(capture, 0, bytes, size);
	expect_bytes(capture, 1, bytes, size);
	roce_capture_free(capture);
}

static void streams__by_address_and_queue_pair(void **state)
{
	struct roce_capture *capture;
	uint8_t bytes[LONGEST];

	(void)state;
	begin();
	for (unsigned i = 0; i < 100; i++) {
		uint32_t size = make_mfp(bytes, 3 * (i / 10), (uint16_t)(40 - i % 10), 20);

		out.destination_ip = 0x0A000002 + i % 10;
		put_message(i / 10, bytes, size, 0);
	}
	end();
	capture = read_it(path);
	assert_int_equal(capture->n_streams, 10);
	assert_int_equal(capture->n_messages, 100);
	assert_int_equal(capture->n_sources, 10);
	assert_int_equal(capture->source_ids[0], 31);
	assert_int_equal(capture->events, 10);
	assert_int_equal(capture->largest_open, 1);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(capture->streams[i].destination[15], 2 + i);
		assert_int_equal(capture->streams[i].source_id, 40 - i);
		assert_int_equal(capture->streams[i].n_messages, 10);
		assert_int_equal(capture->streams[i].first_message, 10 * i);
	}
	roce_capture_free(capture);
}

// Boards that were started again with the same queue pair and packet numbers. Of the first run the
// end is missing, and of the second one packet; it begins with a message that is as before.
static void streams__that_begin_again(void **state)
{
	struct roce_capture *capture;
	uint8_t bytes[LONGEST];
	uint32_t size = 0, psn = 0;

	(void)state;
	begin();
	for (unsigned i = 0; i < 3; i++) {
		size = make_mfp(bytes, 3 * i, 7, 300);
		psn = put_message(psn, bytes, size, 0);
	}
	make_mfp(bytes, 9, 7, 300);
	put_part(psn, bytes, size, 0, 0);
	psn = 0;
	for (unsigned i = 0; i < 5; i++) {
		make_mfp(bytes, i == 0 ? 0 : 30 + 3 * i, 7, 300);
		if (i == 3) {
			for (uint32_t k = 1; k * MTU < size; k++)
				put_part(psn, bytes, size, k, 0);
			psn = roce_psn_add(psn, (size + MTU - 1) / MTU);
		} else {
			psn = put_message(psn, bytes, size, 0);
		}
		if (i > 0) // the last packet is sent again
			put_part(roce_psn_add(psn, -((size + MTU - 1) / MTU)), bytes, size,
				 (size - 1) / MTU, 0);
	}
	end();
	capture = read_it(path);
	assert_int_equal(capture->n_streams, 1);
	assert_int_equal(capture->n_messages, 3 + 4);
	assert_int_equal(capture->streams[0].lost_messages, 2);
	assert_int_equal(capture->events, 3 + 4 - 1);
	for (unsigned i = 0; i < 3; i++) {
		make_mfp(bytes, 3 * i, 7, 300);
		expect_bytes(capture, i, bytes, size);
	}
	for (unsigned i = 0; i < 4; i++) {
		make_mfp(bytes, i == 0 ? 0 : i == 3 ? 42 : 30 + 3 * i, 7, 300);
		expect_bytes(capture, 3 + i, bytes, size);
	}
	roce_capture_free(capture);
}

static void packets__that_are_damaged_or_cut(void **state)
{
	const struct roce_packet header = { .opcode = ROCE_RC_SEND_ONLY, .destination_qpn = QPN };
	uint8_t frame[200 + MTU], bytes[LONGEST];
	uint32_t size = make_mfp(bytes, 0, 1, 20);
	struct roce_capture *capture;
	size_t n;

	(void)state;
	begin();
	out.snap = 60;
	put_message(0, bytes, size, 0);
	end();
	expect_error("tcpdump -s 0");
	begin();
	n = make_frame(frame, &header, bytes, size);
	frame[n - 1] ^= 1;
	put_frame(frame, n);
	end();
	expect_error("not one with a right ICRC");
	begin();
	put_frame(frame, n);
	put_message(0, bytes, size, 0);
	end();
	capture = read_it(path);
	assert_int_equal(capture->damaged, 1);
	assert_int_equal(capture->n_messages, 1);
	roce_capture_free(capture);
	begin();
	frame[36] ^= 1; // to another port
	put_frame(frame, n);
	end();
	expect_error("there are no RoCE packets (UDP port 4791) among its 1 packets");
	begin();
	put_part(0, bytes, 2 * MTU, 0, 0);
	end();
	expect_error("no message is whole");
}

// Of a generator: the bytes are where packets can point to, the sources are the connections.
static void set__of_a_generator(void **state)
{
	struct source_set *set;
	uint8_t bytes[LONGEST];
	uint32_t size = make_mfp(bytes, 0, 9, 100);
	struct source_set_parameters parameters;
	uint64_t planned;

	(void)state;
	begin();
	put_message(0, bytes, size, 0);
	end();
	parameters = parameters_of_file(GENERATOR_ROCE, path, 3);
	parameters.roce_port = ROCE_UDP_PORT;
	assert_int_equal(source_set_plan(&parameters, &planned, error), 0);
	assert_true(planned >= size);
	set = make_set(&parameters);
	assert_int_equal(set->n_sources, 1);
	assert_int_equal(set->ids[0], 9);
	assert_non_null(set->script);
	assert_memory_equal((uint8_t *)set->memory + set->script->messages[0].at, bytes, size);
	source_set_free(set);
	begin();
	end();
	expect_refused(&parameters, "there are no RoCE packets");
}

static int start(void **state)
{
	(void)state;
	make_directory(directory);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	remove_directory(directory);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read__real_conversations),
		cmocka_unit_test(read__what_holds_no_messages),
		cmocka_unit_test(message__is_put_together),
		cmocka_unit_test(message__that_is_not_whole_is_left_out),
		cmocka_unit_test(streams__by_address_and_queue_pair),
		cmocka_unit_test(streams__that_begin_again),
		cmocka_unit_test(packets__that_are_damaged_or_cut),
		cmocka_unit_test(set__of_a_generator),
	};

	return cmocka_run_group_tests_name("roce_capture", tests, start, stop);
}
