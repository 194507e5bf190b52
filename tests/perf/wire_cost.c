// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the formats cost, in memory that is in the cache: parsing of a packet's headers, validation
// of an MFP by fragment, checksums by byte. Prints ns a unit.
//
//   wire_cost [--cpu N] [--seconds S]
#include <getopt.h>
#include <stdlib.h>

#include "frames.h"
#include "perf_tool.h"
#include "wire/mdf.h"
#include "wire/mfp.h"

#define N_FRAMES      256u
#define FRAME_STRIDE  128u
#define PAYLOAD       8952u
#define N_FRAGMENTS   1000u
#define FRAGMENT_SIZE 200u
#define CHECKSUMMED   16384u // bytes

struct workshop {
	uint8_t frames[N_FRAMES * FRAME_STRIDE];
	uint8_t bytes[CHECKSUMMED];
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

static const struct {
	const char *name;
	round_function round;
} costs[] = {
	{ "headers_ns_per_packet", parse_frames },
	{ "ip_checksum_ns_per_packet", check_ip_headers },
	{ "mfp_ns_per_fragment", validate_mfp },
	{ "udp_checksum_ns_per_byte", sum_udp },
	{ "mdf_checksum_ns_per_byte", sum_mdf },
};

static void prepare(struct workshop *shop)
{
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
