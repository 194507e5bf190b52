// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A member of a deciding group, for tests. The decision is a function of the event id, so that a
// test knows it:
//
//   decider NAME GROUP PACKING HOLD
//
// With n = event id / PACKING: n % 3 = 0 is rejected; n % 10 = 5 is released without a decision;
// all others are accepted. Lines: bit n % 64; tag: n. It holds up to HOLD events at a time.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "evb_reader.h"

#define HOLD_MOST 64
#define WAIT_MS   20

static bool decide(struct evb_reader *reader, const struct evb_event *event, uint64_t packing)
{
	const uint64_t n = event->event_id / packing;
	const struct evb_decision decision = {
		.accept = n % 3 != 0,
		.lines = UINT64_C(1) << n % 64,
		.tag = (uint32_t)n,
	};

	if (n % 10 != 5 && evb_reader_decide(reader, event, &decision) != 0)
		return false;
	return evb_reader_release(reader, event) == 0;
}

static bool serve(struct evb_reader *reader, uint64_t packing, unsigned hold)
{
	struct evb_event held[HOLD_MOST];
	unsigned n = 0;

	for (;;) {
		int result = evb_reader_next(reader, &held[n], WAIT_MS);

		if (result < 0)
			return result == -EPIPE;
		n += result == 1;
		// The last one first, so that decisions are not in the order of events.
		while (n == hold || (result == 0 && n > 0))
			if (!decide(reader, &held[--n], packing))
				return false;
	}
}

int main(int argc, char **argv)
{
	const unsigned long packing = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
	const unsigned long hold = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
	struct evb_reader_options options = { .mode = EVB_READER_GROUP };
	struct evb_reader *reader;
	bool good;

	if (packing == 0 || hold == 0 || hold > HOLD_MOST) {
		fprintf(stderr, "usage: decider NAME GROUP PACKING HOLD\n");
		return 2;
	}
	options.group = argv[2];
	good = evb_reader_open(&reader, argv[1], &options) == 0;
	if (good) {
		printf("joined\n");
		fflush(stdout);
		good = serve(reader, packing, (unsigned)hold);
	}
	if (!good)
		fprintf(stderr, "%s\n", reader != NULL ? evb_reader_error(reader) : "no memory");
	evb_reader_close(reader);
	return good ? 0 : 1;
}
