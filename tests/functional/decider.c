// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A member of a deciding group, for tests. The decision is a function of the event id, so that a
// test knows it:
//
//   decider NAME GROUP PACKING HOLD [LEDGER]
//
// With n = event id / PACKING: n % 3 = 0 is rejected; n % 10 = 5 is released without a decision;
// all others are accepted. Lines: bit n % 64; tag: n. It holds up to HOLD events at a time.
//
// With LEDGER, each event is the block of one source, which is an event of an earlier stage; its id
// counts. Before its decision, LEDGER gets a struct note: members may share it.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "evb_mep.h"
#include "evb_reader.h"

#define HOLD_MOST 64
#define WAIT_MS   20

struct note {
	uint64_t event_id;
	uint64_t inner_id; // of the event of the earlier stage
	uint32_t flags;
	uint32_t pid;
};

static int ledger = -1;

// Writes a note down. Returns the id of the event in the event's only block.
static bool inner_id(const struct evb_event *event, uint64_t *id)
{
	struct note note = {
		.event_id = event->event_id,
		.flags = event->flags,
		.pid = (uint32_t)getpid(),
	};
	struct evb_source source;
	struct evb_mep outer, inner;

	if (evb_mep_open(&outer, event->data, event->length) != 0 ||
	    evb_mep_source(&outer, 0, &source) != 0 ||
	    evb_mep_open(&inner, source.payload, source.payload_length) != 0)
		return false;
	*id = note.inner_id = inner.event_id;
	return write(ledger, &note, sizeof(note)) == (ssize_t)sizeof(note);
}

static bool decide(struct evb_reader *reader, const struct evb_event *event, uint64_t packing)
{
	uint64_t id = event->event_id;

	if (ledger >= 0 && !inner_id(event, &id))
		return false;

	const uint64_t n = id / packing;
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

		n += result == 1;
		// The last one first, so that decisions are not in the order of events. Also at the
		// end: nobody may be left who could decide instead.
		while (n == hold || (result != 1 && n > 0))
			if (!decide(reader, &held[--n], packing))
				return false;
		if (result < 0)
			return result == -EPIPE;
	}
}

int main(int argc, char **argv)
{
	const unsigned long packing = argc >= 5 ? strtoul(argv[3], NULL, 10) : 0;
	const unsigned long hold = argc >= 5 ? strtoul(argv[4], NULL, 10) : 0;
	struct evb_reader_options options = { .mode = EVB_READER_GROUP };
	struct evb_reader *reader;
	bool good;

	if (packing == 0 || hold == 0 || hold > HOLD_MOST || argc > 6) {
		fprintf(stderr, "usage: decider NAME GROUP PACKING HOLD [LEDGER]\n");
		return 2;
	}
	if (argc == 6 && (ledger = open(argv[5], O_WRONLY | O_CREAT | O_APPEND, 0644)) < 0) {
		perror(argv[5]);
		return 1;
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
