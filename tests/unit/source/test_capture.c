// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "source/capture.h"
#include "source/capture_learn.h"
#include "wire/ejfat.h"
#include "wire/mfp.h"
#include "wire/net.h"

#define FIRST_NS 1700000000123456789ull
#define ROOM     2048

// A capture under construction; each packet is 1 us later than the one before.
struct writing {
	char directory[PATH_SIZE];
	char path[PATH_SIZE];
	pcap_t *pcap;
	pcap_dumper_t *dumper;
	uint64_t time_ns;
	uint32_t snap_length;
};

static void begin(struct writing *writing, int link_type)
{
	make_directory(writing->directory);
	path_in(writing->path, writing->directory, "x.pcap");
	writing->pcap =
	    pcap_open_dead_with_tstamp_precision(link_type, 65535, PCAP_TSTAMP_PRECISION_NANO);
	assert_non_null(writing->pcap);
	writing->dumper = pcap_dump_open(writing->pcap, writing->path);
	assert_non_null(writing->dumper);
	writing->time_ns = FIRST_NS;
	writing->snap_length = UINT32_MAX;
}

static void end(struct writing *writing)
{
	pcap_dump_close(writing->dumper);
	pcap_close(writing->pcap);
}

static void put(struct writing *writing, const uint8_t *frame, uint32_t size)
{
	struct pcap_pkthdr header = {
		.ts = { .tv_sec = (time_t)(writing->time_ns / 1000000000),
			.tv_usec = (suseconds_t)(writing->time_ns % 1000000000) },
		.caplen = size < writing->snap_length ? size : writing->snap_length,
		.len = size,
	};

	pcap_dump((u_char *)writing->dumper, &header, frame);
	writing->time_ns += 1000;
}

static void put_udp(struct writing *writing, uint16_t port, const uint8_t *payload, uint16_t size)
{
	uint8_t frame[ROOM];
	struct net_udp4 header = { .destination_port = port };
	size_t at = net_udp4_encode(frame, &header, size);

	memcpy(frame + at, payload, size);
	put(writing, frame, (uint32_t)(at + size));
}

// One segment of a buffer, to a UDP port; port 0: behind the EtherType.
static void put_segment(struct writing *writing, uint16_t port, const struct ejfat_re *re,
			const uint8_t *buffer, uint16_t size)
{
	const struct net_mac mac = { { 2, 0, 0, 0, 0, 1 } };
	uint8_t bytes[ROOM];
	size_t at = port ? 0 : net_eth_encode(bytes, &mac, &mac, 0, NET_TYPE_EVB);

	ejfat_re_encode(bytes + at, re);
	memcpy(bytes + at + EJFAT_RE_SIZE, buffer + re->offset, size);
	if (port)
		put_udp(writing, port, bytes, (uint16_t)(EJFAT_RE_SIZE + size));
	else
		put(writing, bytes, (uint32_t)(at + EJFAT_RE_SIZE + size));
}

// All segments of a buffer, of 100 bytes each.
static void put_buffer(struct writing *writing, uint16_t port, uint16_t source_id, uint64_t event,
		       const uint8_t *buffer, uint32_t length)
{
	for (uint32_t offset = 0; offset < length; offset += 100) {
		struct ejfat_re re = { .event_number = event,
				       .offset = offset,
				       .length = length,
				       .data_id = source_id };

		put_segment(writing, port, &re, buffer,
			    (uint16_t)(length - offset < 100 ? length - offset : 100));
	}
}

// An MFP of `packing` fragments of `size` bytes; returns its length: 20 + 3 * packing padded +
// data.
static uint32_t make_mfp(uint8_t buffer[ROOM], uint16_t source_id, uint64_t event, uint16_t packing,
			 uint16_t size)
{
	uint8_t types[16] = { 0 };
	uint16_t sizes[16];
	struct mfp_header header = { .event_id = event,
				     .n_fragments = packing,
				     .source_id = source_id };

	memset(buffer, 0x55, ROOM);
	for (unsigned i = 0; i < packing; i++)
		sizes[i] = size;
	assert_int_equal(mfp_encode_header(buffer, ROOM, &header, types, sizes), WIRE_OK);
	return header.packet_size;
}

static void put_mfp(struct writing *writing, uint16_t port, uint16_t source_id, uint64_t event,
		    uint16_t packing, uint16_t size)
{
	uint8_t buffer[ROOM];
	uint32_t length = make_mfp(buffer, source_id, event, packing, size);

	put_buffer(writing, port, source_id, event, buffer, length);
}

static struct capture_summary *learn(const struct writing *writing)
{
	struct capture_summary *summary = NULL;
	char error[SOURCE_ERROR_SIZE] = "";

	(void)capture_learn(&summary, writing->path, error);
	assert_string_equal(error, "");
	assert_non_null(summary);
	return summary;
}

static void capture__packets_with_nanoseconds(void **state)
{
	struct writing writing;
	struct capture *capture;
	struct capture_packet packet;
	char error[SOURCE_ERROR_SIZE];
	const uint8_t frame[70] = { 1, 2, 3 };

	(void)state;
	begin(&writing, DLT_EN10MB);
	put(&writing, frame, 60);
	writing.snap_length = 64;
	put(&writing, frame, 70);
	end(&writing);
	assert_int_equal(capture_open(&capture, writing.path, error), 0);
	assert_true(capture_next(capture, &packet));
	assert_int_equal(packet.time_ns, FIRST_NS);
	assert_int_equal(packet.captured, 60);
	assert_int_equal(packet.length, 60);
	assert_memory_equal(packet.bytes, frame, 60);
	assert_true(capture_next(capture, &packet));
	assert_int_equal(packet.time_ns, FIRST_NS + 1000);
	assert_int_equal(packet.captured, 64);
	assert_int_equal(packet.length, 70);
	assert_false(capture_next(capture, &packet));
	assert_null(capture_problem(capture));
	capture_close(capture);
	remove_directory(writing.directory);
}

static void capture__cut_last_packet(void **state)
{
	struct writing writing;
	struct capture *capture;
	struct capture_packet packet;
	char error[SOURCE_ERROR_SIZE];
	const uint8_t frame[60] = { 1, 2, 3 };

	(void)state;
	begin(&writing, DLT_EN10MB);
	put(&writing, frame, 60);
	put(&writing, frame, 60);
	end(&writing);
	assert_int_equal(truncate(writing.path, 24 + 2 * (16 + 60) - 1), 0);
	assert_int_equal(capture_open(&capture, writing.path, error), 0);
	assert_true(capture_next(capture, &packet));
	assert_false(capture_next(capture, &packet));
	assert_non_null(strstr(capture_problem(capture), "truncated"));
	capture_close(capture);
	remove_directory(writing.directory);
}

static void capture__refuses_other_files(void **state)
{
	struct writing writing;
	struct capture *capture;
	char error[SOURCE_ERROR_SIZE];

	(void)state;
	begin(&writing, DLT_RAW);
	end(&writing);
	assert_int_equal(capture_open(&capture, writing.path, error), -1);
	assert_non_null(
	    strstr(error, "x.pcap: its link type is RAW, only Ethernet (EN10MB) can be read"));
	write_file(writing.path, "no capture", 10);
	assert_int_equal(capture_open(&capture, writing.path, error), -1);
	assert_non_null(strstr(error, "x.pcap: "));
	assert_int_equal(capture_open(&capture, "/nonexistent", error), -1);
	assert_non_null(strstr(error, "No such file or directory"));
	remove_directory(writing.directory);
}

// Two sources to two ports, three events of packing 4, one of which overlaps the next.
static void capture_learn__mfps(void **state)
{
	struct writing writing;
	struct capture_summary *summary;

	(void)state;
	begin(&writing, DLT_EN10MB);
	put_mfp(&writing, 19522, 7, 100, 4, 50); // 20 + 4 + 8 + 200 = 232: 3 segments
	put_mfp(&writing, 19522, 7, 104, 4, 60); // 272: 3 segments
	put_mfp(&writing, 19523, 9, 100, 4, 10); // 72: 1 segment
	put_mfp(&writing, 19523, 9, 104, 4, 10);
	put_mfp(&writing, 19522, 7, 108, 4, 50);
	put_mfp(&writing, 19523, 9, 108, 4, 11);
	put_mfp(&writing, 19523, 9, MFP_END_OF_RUN, 1, 0);
	end(&writing);
	summary = learn(&writing);
	assert_int_equal(summary->packets, 13);
	assert_int_equal(summary->cut_packets, 0);
	assert_int_equal(summary->segments, 13);
	assert_int_equal(summary->first_ns, FIRST_NS);
	assert_int_equal(summary->last_ns, FIRST_NS + 12000);
	assert_int_equal(summary->largest_frame, 42 + 20 + 100);
	assert_int_equal(summary->n_udp_ports, 2);
	assert_int_equal(summary->udp_ports[0], 19522);
	assert_int_equal(summary->udp_ports[1], 19523);
	assert_false(summary->ether_type);
	assert_int_equal(summary->n_sources, 2);
	assert_int_equal(summary->source_ids[0], 7);
	assert_int_equal(summary->source_ids[1], 9);
	assert_true(summary->has_mfps);
	assert_int_equal(summary->packing, 4);
	assert_int_equal(summary->largest_buffer, 272);
	assert_int_equal(summary->events, 3);
	assert_int_equal(summary->largest_open, 2);
	assert_int_equal(summary->largest_event, 272 + 72);
	// header 8 + 4 + 8, up to 24; two error MFPs of 32, two headers of 20, two times 8
	assert_int_equal(summary->slot_size, 24 + 272 + 72 + 2 * (32 + 20 + 8));
	assert_string_equal(summary->problem, "");
	capture_summary_free(summary);
	remove_directory(writing.directory);
}

static void capture_learn__ether_type(void **state)
{
	struct writing writing;
	struct capture_summary *summary;

	(void)state;
	begin(&writing, DLT_EN10MB);
	put_mfp(&writing, 0, 7, 0, 2, 30);
	end(&writing);
	summary = learn(&writing);
	assert_int_equal(summary->n_udp_ports, 0);
	assert_true(summary->ether_type);
	assert_int_equal(summary->segments, 1);
	assert_int_equal(summary->packing, 2);
	assert_int_equal(summary->largest_frame, 14 + 20 + 88);
	assert_int_equal(summary->events, 1);
	assert_int_equal(summary->largest_open, 1);
	capture_summary_free(summary);
	remove_directory(writing.directory);
}

static void capture_learn__opaque(void **state)
{
	struct writing writing;
	struct capture_summary *summary;
	uint8_t buffer[ROOM];

	(void)state;
	memset(buffer, 0xab, sizeof(buffer));
	begin(&writing, DLT_EN10MB);
	for (unsigned event = 0; event < 40; event++) {
		put_buffer(&writing, 5000, 1, 1000 + 25 * event, buffer, 450);
		put_buffer(&writing, 5000, 2, 1000 + 25 * event, buffer, 80);
	}
	end(&writing);
	summary = learn(&writing);
	assert_false(summary->has_mfps);
	assert_int_equal(summary->packing, 25);
	assert_int_equal(summary->n_sources, 2);
	assert_int_equal(summary->n_udp_ports, 1);
	assert_int_equal(summary->udp_ports[0], 5000);
	assert_int_equal(summary->events, 40);
	assert_int_equal(summary->largest_open, 1);
	assert_int_equal(summary->largest_event, 530);
	assert_int_equal(summary->largest_buffer, 450);
	capture_summary_free(summary);
	remove_directory(writing.directory);
}

// Random bytes to the sources' port and others, and segments with one wrong field.
static void put_garbage(struct writing *writing, struct random *random)
{
	uint8_t bytes[ROOM], buffer[ROOM];
	struct ejfat_re re = {
		.event_number = 5, .offset = 100, .length = 0xf0000000, .data_id = 7
	};

	for (size_t i = 0; i < sizeof(bytes); i += 8)
		store_le64(bytes + i, random_next(random));
	put(writing, bytes, 60 + (uint32_t)(random_next(random) % 1000));
	put_udp(writing, 19522, bytes, (uint16_t)(random_next(random) % 1000));
	put_udp(writing, 53, bytes, (uint16_t)(random_next(random) % 1000));
	put_segment(writing, 19522, &re, bytes, 100); // a buffer of gigabytes
	re = (struct ejfat_re){ .event_number = 5,
				.offset = 0,
				.length = make_mfp(buffer, 7, 5, 4, 10),
				.data_id = 4000 };
	put_segment(writing, 19522, &re, buffer, 72); // source ids differ
	re = (struct ejfat_re){ .event_number = 5, .offset = 0, .length = 71, .data_id = 7 };
	put_segment(writing, 19522, &re, buffer, 71); // lengths differ
	re.length = 0xf0000000;
	put_segment(writing, 19522, &re, buffer, 72); // the same, by gigabytes
	re = (struct ejfat_re){ .event_number = 5, .offset = 100, .length = 300, .data_id = 7 };
	put_segment(writing, 53, &re, bytes, 100); // to another port
}

static void capture_learn__garbage_adds_nothing(void **state)
{
	struct writing writing;
	struct capture_summary *summary;
	struct random random = { 1 };

	(void)state;
	begin(&writing, DLT_EN10MB);
	for (unsigned event = 0; event < 60; event++) {
		put_mfp(&writing, 19522, 7, 4 * event, 4, 50);
		put_mfp(&writing, 19522, 9, 4 * event, 4, 10);
		if (event % 2)
			put_garbage(&writing, &random);
	}
	end(&writing);
	summary = learn(&writing);
	assert_true(summary->has_mfps);
	assert_int_equal(summary->n_udp_ports, 1);
	assert_int_equal(summary->udp_ports[0], 19522);
	assert_int_equal(summary->n_sources, 2);
	assert_int_equal(summary->packing, 4);
	assert_int_equal(summary->largest_buffer, 232);
	assert_int_equal(summary->segments, 60 * 4 + 30); // 71 bytes long ones cannot be told
	assert_int_equal(summary->largest_event, 232 + 72);
	capture_summary_free(summary);
	remove_directory(writing.directory);
}

// Lost segments: even a source that lost most of its heads is found.
static void capture_learn__losses(void **state)
{
	struct writing writing;
	struct capture_summary *summary;
	uint8_t buffer[ROOM];
	uint32_t length = make_mfp(buffer, 9, 2, 2, 100);

	(void)state;
	begin(&writing, DLT_EN10MB);
	for (unsigned event = 0; event < 20; event++) {
		struct ejfat_re re = {
			.event_number = 2 * event, .offset = 100, .length = length, .data_id = 9
		};

		put_mfp(&writing, 19522, 7, 2 * event, 2, 100);
		put_segment(&writing, 19522, &re, buffer, 100);
		if (event == 13)
			put_mfp(&writing, 19522, 9, 2 * event, 2, 100);
	}
	end(&writing);
	summary = learn(&writing);
	assert_int_equal(summary->n_sources, 2);
	assert_int_equal(summary->events, 20);
	assert_int_equal(summary->largest_event, 2 * length);
	capture_summary_free(summary);
	remove_directory(writing.directory);
}

static void capture_learn__cut_captures(void **state)
{
	struct writing writing;
	struct capture_summary *summary;

	(void)state;
	begin(&writing, DLT_EN10MB);
	writing.snap_length = 96; // headers and the MFP's header
	put_mfp(&writing, 19522, 7, 0, 2, 100);
	put_mfp(&writing, 19522, 7, 2, 2, 100);
	end(&writing);
	// 228 bytes are 3 segments; the last one, of 28 bytes, is 90 bytes long
	assert_int_equal(truncate(writing.path, 24 + 4 * (16 + 96) + 2 * (16 + 90) - 1), 0);
	summary = learn(&writing);
	assert_int_equal(summary->packets, 5);
	assert_int_equal(summary->cut_packets, 4);
	assert_int_equal(summary->cut_segments, 4);
	assert_int_equal(summary->segments, 5);
	assert_int_equal(summary->packing, 2);
	assert_int_equal(summary->largest_frame, 162);
	assert_non_null(strstr(summary->problem, "truncated"));
	capture_summary_free(summary);
	remove_directory(writing.directory);
}

static void capture_learn__two_transports(void **state)
{
	struct writing writing;
	struct capture_summary *summary;
	char error[SOURCE_ERROR_SIZE];

	(void)state;
	begin(&writing, DLT_EN10MB);
	put_mfp(&writing, 19522, 7, 0, 2, 100);
	put_mfp(&writing, 0, 8, 0, 2, 100);
	end(&writing);
	assert_int_equal(capture_learn(&summary, writing.path, error), -1);
	assert_non_null(strstr(error, "some segments are in UDP datagrams, some behind EtherType"));
	remove_directory(writing.directory);
}

// Cut packets of others are no loss.
static void capture_learn__cut_packets_of_others(void **state)
{
	const uint8_t bytes[100] = { 0 };
	struct writing writing;
	struct capture_summary *summary;

	(void)state;
	begin(&writing, DLT_EN10MB);
	put_mfp(&writing, 19522, 7, 0, 2, 100);
	writing.snap_length = 96;
	put_udp(&writing, 53, bytes, 100);
	end(&writing);
	summary = learn(&writing);
	assert_int_equal(summary->cut_packets, 1);
	assert_int_equal(summary->cut_segments, 0);
	capture_summary_free(summary);
	remove_directory(writing.directory);
}

static void capture_learn__snap_length_without_segments(void **state)
{
	struct writing writing;
	struct capture_summary *summary;
	char error[SOURCE_ERROR_SIZE];

	(void)state;
	begin(&writing, DLT_EN10MB);
	writing.snap_length = 40; // not even the UDP header
	put_mfp(&writing, 19522, 7, 0, 2, 100);
	end(&writing);
	assert_int_equal(capture_learn(&summary, writing.path, error), -1);
	assert_non_null(strstr(error, "no segments among its 3 packets; of 3 it has only the "
				      "first bytes"));
	remove_directory(writing.directory);
}

static void capture_learn__nothing_to_learn(void **state)
{
	struct writing writing;
	struct capture_summary *summary;
	char error[SOURCE_ERROR_SIZE], expected[SOURCE_ERROR_SIZE];
	const uint8_t bytes[100] = { 0 };

	(void)state;
	begin(&writing, DLT_EN10MB);
	put(&writing, bytes, 60);
	put_udp(&writing, 53, bytes, 100);
	end(&writing);
	assert_int_equal(capture_learn(&summary, writing.path, error), -1);
	snprintf(expected, sizeof(expected),
		 "capture %.200s: there are no segments among its 2 packets", writing.path);
	assert_string_equal(error, expected);
	remove_directory(writing.directory);
}

// --- the MFPs of a capture ---

static void assert_block(const struct source_set *set, unsigned cycle, unsigned source,
			 uint16_t size)
{
	const struct source_block *block = source_set_block(set, cycle, source);
	uint8_t expected[ROOM];
	uint64_t event = 100 + 2 * cycle;

	assert_int_equal(block->size, make_mfp(expected, set->ids[source], event, 2, size));
	assert_memory_equal(block->bytes, expected, block->size);
}

static void assert_missing(const struct source_set *set, unsigned cycle, unsigned source)
{
	const struct source_block *block = source_set_block(set, cycle, source);
	struct mfp mfp;

	assert_int_equal(mfp_decode(block->bytes, block->size, &mfp), WIRE_OK);
	assert_int_equal(mfp.header.source_id, set->ids[source]);
	assert_int_equal(mfp.header.n_fragments, 2);
	assert_true(mfp_nothing_usable(&mfp));
}

// Segments of several ports, of an EtherType, twice, in the reverse order, and some that are lost.
static void capture_mfps__whole_ones(void **state)
{
	struct writing writing;
	struct source_set_parameters parameters;
	struct source_set *set;
	uint8_t buffer[ROOM];
	uint32_t length = make_mfp(buffer, 7, 102, 2, 300);

	(void)state;
	begin(&writing, DLT_EN10MB);
	put_mfp(&writing, 20000, 9, 102, 2, 400);
	put_mfp(&writing, 20001, 9, 100, 2, 300);
	put_mfp(&writing, 20001, 9, 100, 2, 300);
	put_mfp(&writing, 0, 7, 100, 2, 60);
	for (uint32_t offset = (length - 1) / 100 * 100 + 100; offset > 0; offset -= 100) {
		struct ejfat_re re = {
			.event_number = 102, .offset = offset - 100, .length = length, .data_id = 7
		};

		put_segment(&writing, 20000, &re, buffer,
			    (uint16_t)(length - re.offset < 100 ? length - re.offset : 100));
	}
	put_mfp(&writing, 20000, 7, 104, 2, 500);
	length = make_mfp(buffer, 9, 104, 2, 300);
	put_buffer(&writing, 20000, 9, 104, buffer, length - 100); // a shorter one, which is no MFP
	put_mfp(&writing, 20000, 9, MFP_END_OF_RUN, 0, 0);
	writing.snap_length = 120;
	put_mfp(&writing, 20000, 8, 104, 2, 300); // cut short
	end(&writing);
	parameters = parameters_of_file(GENERATOR_PCAP, writing.path, 2);
	set = make_set(&parameters);
	assert_int_equal(set->n_sources, 2);
	assert_int_equal(set->n_cycle, 3);
	assert_true(set->once);
	assert_int_equal(set->missing, 1);
	assert_block(set, 0, 0, 60);
	assert_block(set, 0, 1, 300);
	assert_block(set, 1, 0, 300);
	assert_block(set, 1, 1, 400);
	assert_block(set, 2, 0, 500);
	assert_missing(set, 2, 1);
	source_set_free(set);
	remove_directory(writing.directory);
}

static void capture_mfps__refusals(void **state)
{
	static const uint16_t absent = 8;
	struct writing writing;
	struct source_set_parameters parameters;
	const uint8_t bytes[100] = { 0 };

	(void)state;
	begin(&writing, DLT_EN10MB);
	put_udp(&writing, 53, bytes, 100);
	end(&writing);
	parameters = parameters_of_file(GENERATOR_PCAP, writing.path, 2);
	expect_refused(&parameters, "x.pcap: there is no whole MFP in it");
	remove_directory(writing.directory);
	expect_refused(&parameters, "x.pcap: ");

	begin(&writing, DLT_EN10MB);
	put_mfp(&writing, 20000, 7, 100, 2, 60);
	end(&writing);
	parameters = parameters_of_file(GENERATOR_PCAP, writing.path, 3);
	expect_refused(&parameters, "an MFP of 2 fragments, packing is 3");
	parameters.packing = 2;
	parameters.ids = &absent;
	parameters.n_ids = 1;
	expect_refused(&parameters, "it has no source 8");
	remove_directory(writing.directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capture__packets_with_nanoseconds),
		cmocka_unit_test(capture__cut_last_packet),
		cmocka_unit_test(capture__refuses_other_files),
		cmocka_unit_test(capture_learn__mfps),
		cmocka_unit_test(capture_learn__ether_type),
		cmocka_unit_test(capture_learn__opaque),
		cmocka_unit_test(capture_learn__garbage_adds_nothing),
		cmocka_unit_test(capture_learn__losses),
		cmocka_unit_test(capture_learn__cut_captures),
		cmocka_unit_test(capture_learn__two_transports),
		cmocka_unit_test(capture_learn__cut_packets_of_others),
		cmocka_unit_test(capture_learn__snap_length_without_segments),
		cmocka_unit_test(capture_learn__nothing_to_learn),
		cmocka_unit_test(capture_mfps__whole_ones),
		cmocka_unit_test(capture_mfps__refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
