// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// known_frames CAPTURE SEED: writes a capture of frames of all formats that are evb's own or rare,
// with random contents, and prints what evb's decoders find in each: a line `FRAME FIELD VALUE` for
// each field, by the names of the Wireshark dissectors. For test_dissectors.py.
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "evring/evb_results.h"
#include "known_frames.h"
#include "wire/ejfat.h"
#include "wire/feroce_cm.h"
#include "wire/mfp.h"
#include "wire/net.h"

#define UDP_PORT 19522
#define ROUNDS   8u

static pcap_dumper_t *dumper;
static unsigned frame_number;
static struct random source;

uint64_t draw(void)
{
	return random_next(&source);
}

uint64_t draw_from(uint64_t least, uint64_t most)
{
	return least + draw() % (most - least + 1);
}

void tell(const char *record, const char *name, uint64_t value)
{
	printf("%u %s.%s %ju\n", frame_number, record, name, (uintmax_t)value);
}

void tell_text(const char *record, const char *name, const char *text)
{
	printf("%u %s.%s '%s\n", frame_number, record, name, text);
}

// Puts bytes into a datagram for a port. What is told from now on is about it.
void put_frame(const uint8_t *bytes, size_t size, uint16_t port)
{
	const struct net_udp4 header = { .source_ip = 0x0a000001,
					 .destination_ip = 0x0a000002,
					 .source_port = 5000,
					 .destination_port = port };
	uint8_t frame[FRAME_ROOM + 64];
	struct pcap_pkthdr packet = { .ts = { .tv_sec = 1 } };
	const size_t at = net_udp4_encode(frame, &header, (uint16_t)size);

	memcpy(frame + at, bytes, size);
	packet.len = packet.caplen = (uint32_t)(at + size);
	pcap_dump((uint8_t *)dumper, &packet, frame);
	frame_number++;
}

// --- segments ---

static size_t make_mfp(uint8_t *bytes, uint64_t event, uint16_t id)
{
	struct mfp_header header = { .event_id = event,
				     .source_id = id,
				     .align_log2 = (uint8_t)draw_from(0, 4),
				     .version = (uint8_t)draw(),
				     .n_fragments = (uint16_t)draw_from(1, 5) };
	static const uint8_t content[64];
	const uint8_t *payloads[5];
	uint16_t sizes[5];
	uint8_t types[5];

	for (unsigned i = 0; i < header.n_fragments; i++) {
		payloads[i] = content;
		sizes[i] = (uint16_t)draw_from(0, sizeof(content));
		types[i] = (uint8_t)draw();
	}
	if (mfp_encode(bytes, FRAME_ROOM, &header, types, sizes, payloads))
		abort();
	return header.packet_size;
}

static void tell_mfp(const uint8_t *bytes, size_t size)
{
	struct mfp_fragment fragment;
	unsigned index = 0;
	size_t offset = 0;
	struct mfp mfp;

	if (mfp_decode(bytes, size, &mfp))
		abort();
	tell("evb_mfp", "magic", mfp.header.magic);
	tell("evb_mfp", "n_fragments", mfp.header.n_fragments);
	tell("evb_mfp", "packet_size", mfp.header.packet_size);
	tell("evb_mfp", "event_id", mfp.header.event_id);
	tell("evb_mfp", "source_id", mfp.header.source_id);
	tell("evb_mfp", "align_log2", mfp.header.align_log2);
	tell("evb_mfp", "version", mfp.header.version);
	while (mfp_next_fragment(&mfp, &index, &offset, &fragment)) {
		tell("evb_mfp.fragment", "event_id", fragment.event_id);
		tell("evb_mfp.fragment", "type", fragment.type);
		tell("evb_mfp.fragment", "size", fragment.size);
	}
}

static void tell_segment(const uint8_t *bytes, size_t length, bool has_mfp)
{
	struct ejfat_segment segment;
	struct ejfat_lb lb;

	if (ejfat_segment_decode(bytes, length, length, &segment))
		abort();
	if (ejfat_has_lb(bytes, length) && !ejfat_lb_decode(bytes, length, &lb)) {
		tell("evb.lb", "version", lb.version);
		if (lb.version == 3)
			tell("evb.lb", "slot_select", lb.slot_select);
		tell("evb.lb", "entropy", lb.entropy);
		tell("evb.lb", "tick", lb.tick);
	}
	tell("evb.re", "flags", segment.re.flags);
	tell("evb.re", "data_id", segment.re.data_id);
	tell("evb.re", "offset", segment.re.offset);
	tell("evb.re", "length", segment.re.length);
	tell("evb.re", "event_number", segment.re.event_number);
	tell("evb.re", "payload_size", segment.payload_size);
	if (has_mfp)
		tell_mfp(bytes + segment.payload_offset, segment.payload_size);
}

// A segment in the middle of a block, behind a load balancer's header.
static void part_of_a_block(uint16_t port)
{
	uint8_t bytes[EJFAT_LB_SIZE + EJFAT_RE_SIZE + 500] = { 0 };
	const struct ejfat_lb lb = { .tick = draw(),
				     .version = (uint8_t)draw_from(2, 3),
				     .entropy = (uint16_t)draw(),
				     .slot_select = (uint16_t)draw() };
	const struct ejfat_re re = { .event_number = draw(),
				     .offset = (uint32_t)draw_from(1, 1000000),
				     .length = (uint32_t)draw_from(1000500, 2000000),
				     .data_id = (uint16_t)draw(),
				     .flags = (uint8_t)draw_from(0, 1) };

	ejfat_lb_encode(bytes, &lb);
	ejfat_re_encode(bytes + EJFAT_LB_SIZE, &re);
	put_frame(bytes, sizeof(bytes), port);
	tell_segment(bytes, sizeof(bytes), false);
}

// Up to four whole blocks, each a multi-fragment packet.
static void whole_blocks(void)
{
	const unsigned n = (unsigned)draw_from(1, 4);
	size_t begins[5], end = 0;
	uint8_t bytes[FRAME_ROOM] = { 0 };

	for (unsigned i = 0; i < n; i++) {
		struct ejfat_re re = { .event_number = draw(),
				       .data_id = (uint16_t)draw(),
				       .flags = i + 1 < n ? EJFAT_RE_MORE : 0 };
		uint8_t block[FRAME_ROOM];

		re.length = (uint32_t)make_mfp(block, re.event_number, re.data_id);
		begins[i] = end;
		ejfat_re_encode(bytes + end, &re);
		memcpy(bytes + end + EJFAT_RE_SIZE, block, re.length);
		end += EJFAT_RE_SIZE + re.length;
	}
	put_frame(bytes, end, UDP_PORT);
	for (unsigned i = 0; i < n; i++)
		tell_segment(bytes + begins[i], end - begins[i], true);
}

// --- connection messages of readout boards ---

static void tell_qp(const char *prefix, const struct feroce_qp *qp)
{
	tell(prefix, "qpn", qp->qpn);
	tell(prefix, "psn", qp->psn);
	tell(prefix, "rkey", qp->rkey);
	tell(prefix, "base_address", qp->base_address);
	tell(prefix, "ip", qp->ip);
}

static void connection_message(void)
{
	uint8_t bytes[FEROCE_CM_SIZE];
	struct feroce_cm message;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)draw();
	if (feroce_cm_decode(bytes, sizeof(bytes), &message))
		abort();
	put_frame(bytes, sizeof(bytes), FEROCE_CM_UDP_PORT);
	tell("feroce_cm", "info_valid", message.info_valid);
	tell("feroce_cm", "request", message.request);
	tell("feroce_cm", "ack_valid", message.ack_valid);
	tell("feroce_cm", "ack", message.ack);
	tell_qp("feroce_cm.local", &message.local);
	tell_qp("feroce_cm.remote", &message.remote);
	tell("feroce_cm", "transfer_valid", message.transfer_valid);
	tell("feroce_cm", "start", message.start);
	tell("feroce_cm", "with_immediate", message.with_immediate);
	tell("feroce_cm", "is_write", message.is_write);
	tell("feroce_cm", "port", message.port);
	tell("feroce_cm", "transfer_length", message.transfer_length);
	tell("feroce_cm", "n_transfers", message.n_transfers);
	tell("feroce_cm", "frequency", message.frequency);
}

// --- results of a filter ---

static void put_number(uint8_t *at, unsigned size, uint64_t number)
{
	for (unsigned i = 0; i < size; i++)
		at[i] = (uint8_t)(number >> 8 * i);
}

// All numbers are random but those that evb_results_open() checks.
static void filter_results(void)
{
	uint8_t bytes[4 * EVB_RESULT_SIZE];
	const size_t size = EVB_RESULT_SIZE * draw_from(1, 4);
	struct evb_results results;
	struct evb_result result;

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)draw();
	memcpy(bytes, "EVBDECID", 8);
	put_number(bytes + 8, 4, 1);
	put_number(bytes + 12, 4, EVB_RESULT_SIZE);
	if (evb_results_open(&results, bytes, size) != 0)
		abort();
	put_frame(bytes, size, (uint16_t)draw_from(1024, 40000));
	tell("evb_results", "run_number", results.run_number);
	tell("evb_results", "packing", results.packing);
	tell("evb_results", "first", results.first);
	while (evb_results_next(&results, &result)) {
		tell("evb_results.record", "event_id", result.event_id);
		tell("evb_results.record", "lines", result.lines);
		tell("evb_results.record", "tag", result.tag);
		tell("evb_results.record", "decide_us", result.decide_us);
		tell("evb_results.record", "builder", result.builder);
		tell("evb_results.record", "member", result.member);
		tell("evb_results.record", "flags", result.flags);
	}
}

int main(int argc, char **argv)
{
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, 65535);

	if (argc != 3 || !(dumper = pcap_dump_open(dead, argv[1]))) {
		fprintf(stderr, "usage: known_frames CAPTURE SEED\n");
		return EXIT_FAILURE;
	}
	source = random_fork(strtoull(argv[2], NULL, 10), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		part_of_a_block(UDP_PORT);
		part_of_a_block((uint16_t)draw_from(40000, 45000));
		whole_blocks();
		connection_message();
		filter_results();
		control_frames();
	}
	pcap_dump_close(dumper);
	pcap_close(dead);
	return EXIT_SUCCESS;
}
