// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A kernel host that sends the events of a run, and beside them forged segments of one source: what
// a broken board, or a stranger with its address, may send.
//
//   forger --to ADDRESS --kind KIND [--forged PACKETS] [--from ADDRESS] [--seconds S] [--cpu N]
//
// 500 events per second, each of one MFP of 10 fragments of 8 sources; --forged is per second,
// --from the own address that forged segments are sent from, if it is not that of the events. The
// kinds are those of tests/unit/builder/test_harm.c. Prints what was sent as one JSON object.
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "perf_tool.h"
#include "udp_stream.h"

#define SOURCES  8u
#define PACKING  10u
#define FRAGMENT 100u
#define EVENTS   500u  // per second
#define SLICES   4u    // of the time between two events; in each of them two sources send
#define FIRST    1000u // event index
#define FORGED   4u    // source id
#define STRANGE  60000u
#define MTU      1500u

enum kind { FAR, NEAR, AHEAD, LENGTH, TINY, FALLING, KINDS };

static const char *const names[KINDS] = { "far", "near", "ahead", "length", "tiny", "falling" };

struct forger {
	struct udp_stream stream, forged;
	const char *to, *from;
	enum kind kind;
	double rate, seconds;
	uint64_t n_forged;
};

static enum kind parse_kind(const char *name)
{
	for (enum kind kind = 0; kind < KINDS; kind++)
		if (strcmp(name, names[kind]) == 0)
			return kind;
	perf_fail("\"%s\" is no kind", name);
}

static void parse(int argc, char **argv, struct forger *forger)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "forged", required_argument, NULL, 'f' },
		{ "from", required_argument, NULL, 'o' },
		{ "kind", required_argument, NULL, 'k' },
		{ "seconds", required_argument, NULL, 's' },
		{ "to", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin(perf_parse_list("cpu", optarg).values[0]);
		else if (option == 'f')
			forger->rate = perf_parse_number("forged", optarg, 0);
		else if (option == 'o')
			forger->from = optarg;
		else if (option == 'k')
			forger->kind = parse_kind(optarg);
		else if (option == 's')
			forger->seconds = perf_parse_number("seconds", optarg, 0);
		else if (option == 't')
			forger->to = optarg;
	}
	if (forger->to == NULL)
		perf_fail("usage: forger --to ADDRESS --kind KIND [OPTION...]");
}

// Forges a segment of an event that is later than `event`.
static void forge(struct forger *forger, uint64_t event)
{
	static const uint8_t bytes[11];
	const uint64_t n = forger->n_forged++;
	struct ejfat_re re = { .length = 1, .data_id = FORGED };
	uint64_t index = event + 2 + n % 4;
	uint32_t size = 1;

	switch (forger->kind) {
	case FAR:
		index = event + 5000 + n;
		re.length = size = sizeof(bytes);
		break;
	case NEAR:
		index = event + 2 + 7919 * n % 200;
		re.length = size = sizeof(bytes);
		break;
	case AHEAD:
		break;
	case LENGTH:
		re.length = STRANGE;
		break;
	case TINY:
		re.length = 5000;
		re.offset = 1 + 2 * (uint32_t)(7919 * n % 2400);
		break;
	default:
		re.length = STRANGE;
		re.offset = STRANGE - 2 - (uint32_t)(2 * (n / 4) % (STRANGE - 4));
		break;
	}
	re.event_number = index * PACKING;
	if (forger->kind >= TINY && n % 2 == 0)
		re.event_number = MFP_END_OF_RUN;
	udp_stream_put_segment(&forger->forged, &re, bytes, size);
}

// Returns how many events were sent.
static uint64_t send_events(struct forger *forger)
{
	const uint64_t n_slices = (uint64_t)(forger->seconds * EVENTS) * SLICES;
	const uint64_t start = perf_now_ns();
	uint8_t *blocks[SOURCES];
	uint32_t length;

	for (unsigned i = 0; i < SOURCES; i++)
		blocks[i] = frame_make_mfp((uint16_t)(1 + i), PACKING, FRAGMENT, &length);
	for (uint64_t slice = 0; slice < n_slices; slice++) {
		uint64_t event = FIRST + slice / SLICES;

		perf_wait_until(start + slice * 1000000000 / (EVENTS * SLICES));
		while ((double)forger->n_forged * EVENTS * SLICES < (double)slice * forger->rate)
			forge(forger, event);
		udp_stream_flush(&forger->forged);
		for (unsigned i = slice % SLICES; i < SOURCES; i += SLICES)
			udp_stream_put(&forger->stream, (uint16_t)(1 + i), event * PACKING,
				       blocks[i], length);
		udp_stream_flush(&forger->stream);
	}
	for (unsigned i = 0; i < SOURCES; i++)
		free(blocks[i]);
	return n_slices / SLICES;
}

int main(int argc, char **argv)
{
	static struct forger forger = { .seconds = 1 };
	cJSON *result = cJSON_CreateObject();

	parse(argc, argv, &forger);
	udp_stream_open(&forger.stream, NULL, forger.to, FRAME_PORT, MTU);
	udp_stream_open(&forger.forged, forger.from, forger.to, FRAME_PORT, MTU);
	cJSON_AddNumberToObject(result, "events", (double)send_events(&forger));
	cJSON_AddNumberToObject(result, "forged", (double)forger.n_forged);
	perf_print(result);
	return 0;
}
