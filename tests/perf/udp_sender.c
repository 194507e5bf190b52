// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A kernel host that stands for all sources: sends events of MFPs through a UDP socket.
//
//   udp_sender --to ADDRESS [--mtu BYTES] [--sources N] [--packing N] [--fragment BYTES]
//              [--rate EVENTS] [--seconds S] [--cpu N] [--joins]
//
// Source ids count from 1, event ids from 0. Without a rate it sends as fast as the kernel takes
// it. --joins: it gives the kernel many segments as one buffer (udp_stream.h). Prints what was sent
// as one JSON object.
#include <getopt.h>
#include <stdlib.h>

#include "frames.h"
#include "perf_tool.h"
#include "udp_stream.h"

struct sender {
	struct udp_stream stream;
	const char *to;
	uint32_t mtu;
	unsigned sources, packing, fragment;
	double rate, seconds;
	bool joins;
	uint8_t **blocks;
	uint32_t length;
};

static void parse(int argc, char **argv, struct sender *sender)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "fragment", required_argument, NULL, 'f' },
		{ "joins", no_argument, NULL, 'j' },
		{ "mtu", required_argument, NULL, 'm' },
		{ "packing", required_argument, NULL, 'p' },
		{ "rate", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 's' },
		{ "sources", required_argument, NULL, 'n' },
		{ "to", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin(perf_parse_list("cpu", optarg).values[0]);
		else if (option == 'f')
			sender->fragment = (unsigned)perf_parse_number("fragment", optarg, 0);
		else if (option == 'j')
			sender->joins = true;
		else if (option == 'm')
			sender->mtu = (uint32_t)perf_parse_number("mtu", optarg, 128);
		else if (option == 'p')
			sender->packing = (unsigned)perf_parse_number("packing", optarg, 1);
		else if (option == 'r')
			sender->rate = perf_parse_number("rate", optarg, 0);
		else if (option == 's')
			sender->seconds = perf_parse_number("seconds", optarg, 0);
		else if (option == 'n')
			sender->sources = (unsigned)perf_parse_number("sources", optarg, 1);
		else if (option == 't')
			sender->to = optarg;
		else
			perf_fail("usage: udp_sender --to ADDRESS [OPTION...]");
	}
	if (sender->to == NULL || sender->sources > UINT16_MAX)
		perf_fail("usage: udp_sender --to ADDRESS [OPTION...]");
}

// Returns how many events were sent.
static uint64_t send_events(struct sender *sender)
{
	uint64_t start = perf_now_ns(), end = start + (uint64_t)(sender->seconds * 1e9), event;

	for (event = 0; perf_now_ns() < end; event++) {
		if (sender->rate > 0) {
			udp_stream_flush(&sender->stream);
			perf_wait_until(start + (uint64_t)((double)event * 1e9 / sender->rate));
		}
		for (unsigned i = 0; i < sender->sources; i++)
			udp_stream_put(&sender->stream, (uint16_t)(1 + i), event * sender->packing,
				       sender->blocks[i], sender->length);
	}
	udp_stream_flush(&sender->stream);
	return event;
}

int main(int argc, char **argv)
{
	static struct sender sender = {
		.mtu = 1500, .sources = 8, .packing = 100, .fragment = 200, .seconds = 1
	};
	cJSON *result = cJSON_CreateObject();
	uint64_t start, events;
	double seconds;

	parse(argc, argv, &sender);
	sender.blocks = calloc(sender.sources, sizeof(*sender.blocks));
	if (sender.blocks == NULL)
		perf_fail("out of memory");
	for (unsigned i = 0; i < sender.sources; i++)
		sender.blocks[i] = frame_make_mfp((uint16_t)(1 + i), sender.packing,
						  sender.fragment, &sender.length);
	udp_stream_open(&sender.stream, NULL, sender.to, FRAME_PORT, sender.mtu);
	sender.stream.joins = sender.joins;
	start = perf_now_ns();
	events = send_events(&sender);
	seconds = (double)(perf_now_ns() - start) * 1e-9;
	cJSON_AddNumberToObject(result, "seconds", seconds);
	cJSON_AddNumberToObject(result, "events", (double)events);
	cJSON_AddNumberToObject(result, "packets", (double)sender.stream.packets);
	cJSON_AddNumberToObject(result, "bytes", (double)sender.stream.bytes);
	cJSON_AddNumberToObject(result, "packets_per_second",
				(double)sender.stream.packets / seconds);
	cJSON_AddNumberToObject(result, "bytes_per_second", (double)sender.stream.bytes / seconds);
	cJSON_AddNumberToObject(result, "events_per_second", (double)events / seconds);
	perf_print(result);
	for (unsigned i = 0; i < sender.sources; i++)
		free(sender.blocks[i]);
	free(sender.blocks);
	return 0;
}
