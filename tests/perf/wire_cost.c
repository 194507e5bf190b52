// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the formats cost, in memory that is in the cache: parsing of a packet's headers, validation
// of an MFP by fragment, checksums by byte; beside them what a copy costs, which no checksum of
// what is copied anyway need be dearer than. Prints ns a unit.
//
//   wire_cost [--cpu N] [--seconds S]
#include <getopt.h>
#include <stdlib.h>

#include "frames.h"
#include "perf_tool.h"
#include "wire/icrc.h"
#include "wire/mdf.h"
#include "wire/mfp.h"

#define N_FRAMES          256u
#define FRAME_STRIDE      128u
#define PAYLOAD           8952u
#define N_FRAGMENTS       1000u
#define FRAGMENT_SIZE     200u
#define CHECKSUMMED       16384u // bytes
#define N_ROCE            4u     // packets of the largest path MTU
#define ROCE_HEADERS      (NET_HEADERS_SIZE + ROCE_BTH_SIZE)
#define ROCE_MAX_PATH_MTU 4096u
#define ROCE_FRAME        (ROCE_HEADERS + ROCE_MAX_PATH_MTU + ROCE_ICRC_SIZE)
#define ACK_FRAME         (ROCE_HEADERS + ROCE_AETH_SIZE + ROCE_ICRC_SIZE)

struct workshop {
	uint8_t frames[N_FRAMES * FRAME_STRIDE];
	uint8_t bytes[CHECKSUMMED];
	uint8_t roce[N_ROCE][ROCE_FRAME];
	uint8_t ack[ACK_FRAME];
	uint8_t copy[ROCE_MAX_PATH_MTU];
	uint8_t *mfp;
	uint32_t mfp_length;
	uint64_t sum; // of what comes out, so that nothing is left undone
};

// Does one round and returns how many units it had.
typedef unsigned (*round_function)(struct workshop *shop);

static unsigned parse_frames(struct workshop *shop)
{
	for (unsigned i = 0; i < N_FRAMES; i++) {
		const uint8_t *bytes = shop->frames + i * FRAME_STRIDE;
		struct ejfat_segment segment;
		struct net_frame frame;

		if (net_parse(bytes, FRAME_STRIDE, FRAME_HEADERS + PAYLOAD, 0, &frame) != WIRE_OK ||
		    ejfat_segment_decode(bytes + frame.payload_offset,
					 FRAME_STRIDE - frame.payload_offset, frame.payload_size,
					 &segment) != WIRE_OK)
			perf_fail("a frame is not parsed");
		shop->sum += segment.payload_size + segment.re.data_id;
	}
	return N_FRAMES;
}

static unsigned check_ip_headers(struct workshop *shop)
{
	for (unsigned i = 0; i < N_FRAMES; i++)
		shop->sum += net_ipv4_checksum_ok(shop->frames + i * FRAME_STRIDE + NET_ETH_SIZE);
	return N_FRAMES;
}

static unsigned validate_mfp(struct workshop *shop)
{
	struct mfp mfp;

	if (mfp_decode(shop->mfp, shop->mfp_length, &mfp) != WIRE_OK)
		perf_fail("an MFP is not valid");
	shop->sum += mfp.header.packet_size;
	return N_FRAGMENTS;
}

static unsigned sum_udp(struct workshop *shop)
{
	shop->sum += net_checksum_fold(net_checksum_add(0, shop->bytes, CHECKSUMMED));
	return CHECKSUMMED;
}

static unsigned sum_mdf(struct workshop *shop)
{
	shop->sum += mdf_checksum(shop->bytes, CHECKSUMMED);
	return CHECKSUMMED - 16;
}

// Parses a whole frame; ends the program if it is none.
static void parse_roce(const uint8_t *bytes, size_t size, struct net_frame *frame,
		       struct roce_packet *packet)
{
	if (net_parse(bytes, size, size, 0, frame) != WIRE_OK ||
	    roce_parse(bytes + frame->payload_offset, frame->payload_size, frame->payload_size,
		       packet) != WIRE_OK)
		perf_fail("a RoCE packet is not parsed");
}

static unsigned parse_roce_frames(struct workshop *shop)
{
	for (unsigned i = 0; i < N_FRAMES; i++) {
		struct roce_packet packet;
		struct net_frame frame;

		parse_roce(shop->roce[i % N_ROCE], ROCE_FRAME, &frame, &packet);
		shop->sum += packet.psn + packet.payload_size;
	}
	return N_FRAMES;
}

static unsigned verify_icrc(struct workshop *shop)
{
	for (unsigned i = 0; i < N_ROCE; i++) {
		struct roce_packet packet;
		struct net_frame frame;

		parse_roce(shop->roce[i], ROCE_FRAME, &frame, &packet);
		if (!icrc_verify(shop->roce[i], &frame))
			perf_fail("an ICRC is wrong");
	}
	return N_ROCE * ROCE_MAX_PATH_MTU;
}

static unsigned append_icrc(struct workshop *shop)
{
	for (unsigned i = 0; i < N_FRAMES; i++) {
		shop->ack[ROCE_HEADERS] = (uint8_t)i;
		icrc_append(shop->ack + NET_ETH_SIZE, NET_IPV4_SIZE, ACK_FRAME - NET_HEADERS_SIZE);
		shop->sum += shop->ack[ACK_FRAME - 1];
	}
	return N_FRAMES;
}

static unsigned copy_payload(struct workshop *shop)
{
	for (unsigned i = 0; i < N_ROCE; i++) {
		memcpy(shop->copy, shop->roce[i] + ROCE_HEADERS, ROCE_MAX_PATH_MTU);
		// or the compiler leaves out all but the last
		__asm__ __volatile__("" : : "r"(shop->copy) : "memory");
	}
	return N_ROCE * ROCE_MAX_PATH_MTU;
}

static const struct {
	const char *name;
	round_function round;
} costs[] = {
	{ "headers_ns_per_packet", parse_frames },
	{ "ip_checksum_ns_per_packet", check_ip_headers },
	{ "mfp_ns_per_fragment", validate_mfp },
	{ "udp_checksum_ns_per_byte", sum_udp },
	{ "mdf_checksum_ns_per_byte", sum_mdf },
	{ "roce_headers_ns_per_packet", parse_roce_frames },
	{ "roce_ack_icrc_ns_per_packet", append_icrc },
	{ "roce_icrc_ns_per_byte", verify_icrc },
	{ "copy_ns_per_byte", copy_payload },
};

static void make_roce(uint8_t *frame, const struct roce_packet *packet, uint16_t payload_size)
{
	const struct net_udp4 header = {
		.source_ip = 0x0A000001,
		.destination_ip = 0x0A000002,
		.source_port = 0xC000,
		.destination_port = ROCE_UDP_PORT,
	};
	uint16_t udp_payload =
	    (uint16_t)(roce_opcodes[packet->opcode].headers_size + payload_size + ROCE_ICRC_SIZE);
	size_t size = net_udp4_encode(frame, &header, udp_payload);

	size += roce_headers_encode(frame + size, packet);
	for (unsigned i = 0; i < payload_size; i++)
		frame[size + i] = (uint8_t)(i * 7);
	icrc_append(frame + NET_ETH_SIZE, NET_IPV4_SIZE, udp_payload);
}

static void prepare(struct workshop *shop)
{
	struct roce_packet ack = { .opcode = ROCE_RC_ACKNOWLEDGE };
	struct roce_packet middle = { .opcode = ROCE_RC_WRITE_MIDDLE };

	make_roce(shop->ack, &ack, 0);
	for (; middle.psn < N_ROCE; middle.psn++)
		make_roce(shop->roce[middle.psn], &middle, ROCE_MAX_PATH_MTU);
	for (unsigned i = 0; i < N_FRAMES; i++) {
		struct ejfat_re re = {
			.event_number = i,
			.length = 2 * PAYLOAD,
			.data_id = (uint16_t)i,
		};

		frame_headers(shop->frames + i * FRAME_STRIDE, &re, PAYLOAD);
	}
	for (unsigned i = 0; i < CHECKSUMMED; i++)
		shop->bytes[i] = (uint8_t)(i * 7);
	shop->mfp = frame_make_mfp(1, N_FRAGMENTS, FRAGMENT_SIZE, &shop->mfp_length);
}

static double measure(struct workshop *shop, round_function round, double seconds)
{
	uint64_t start = perf_now_ns(), end = start + (uint64_t)(seconds * 1e9), now;
	uint64_t units = 0;

	do {
		for (unsigned i = 0; i < 16; i++)
			units += round(shop);
		now = perf_now_ns();
	} while (now < end);
	return (double)(now - start) / (double)units;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	struct workshop *shop = calloc(1, sizeof(*shop));
	cJSON *result = cJSON_CreateObject();
	double seconds = 0.2;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin(perf_parse_list("cpu", optarg).values[0]);
		else if (option == 's')
			seconds = perf_parse_number("seconds", optarg, 1e-3);
		else
			return 1;
	}
	if (shop == NULL)
		perf_fail("out of memory");
	prepare(shop);
	for (unsigned i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
		cJSON_AddNumberToObject(result, costs[i].name,
					measure(shop, costs[i].round, seconds));
	cJSON_AddNumberToObject(result, "check", (double)(shop->sum & 0xFFFFFFFF));
	perf_print(result);
	free(shop->mfp);
	free(shop);
	return 0;
}
