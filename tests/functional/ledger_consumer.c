// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A group consumer that keeps a ledger, for tests that kill it: which events it got, which it was
// about to release, and which it has released. It holds several events at a time and releases them
// out of order.
//
//   ledger_consumer NAME GROUP LEDGER HOLD
//
// Each line of the ledger is one appending write(2), which survives the death of the process, so
// that several members may share a ledger and their lines stand in the order of time: "PID got ID",
// "PID releasing ID", "PID released ID".
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "evb_reader.h"

#define HOLD_MOST 64
#define WAIT_MS   100

struct ledger {
	struct evb_reader *reader;
	int file;
	unsigned hold;
	struct evb_event held[HOLD_MOST];
	unsigned n_held;
};

static void note(const struct ledger *ledger, const char *what, uint64_t event_id)
{
	if (dprintf(ledger->file, "%d %s %" PRIu64 "\n", getpid(), what, event_id) < 0) {
		perror("ledger");
		exit(1);
	}
}

static bool fail(const struct ledger *ledger, const char *what)
{
	fprintf(stderr, "%s: %s\n", what, evb_reader_error(ledger->reader));
	return false;
}

static bool release(struct ledger *ledger, unsigned index)
{
	struct evb_event event = ledger->held[index];

	ledger->held[index] = ledger->held[--ledger->n_held];
	note(ledger, "releasing", event.event_id);
	if (evb_reader_release(ledger->reader, &event) != 0)
		return fail(ledger, "release");
	note(ledger, "released", event.event_id);
	return true;
}

// Until the run is over.
static bool consume(struct ledger *ledger)
{
	for (;;) {
		struct evb_event event;
		int result = evb_reader_next(ledger->reader, &event, WAIT_MS);

		if (result == -EPIPE)
			return true;
		if (result < 0)
			return fail(ledger, "next");
		if (result == 1) {
			note(ledger, "got", event.event_id);
			ledger->held[ledger->n_held++] = event;
		}
		// Nothing to read may mean that all slots are held, also by us.
		if (ledger->n_held == ledger->hold || (result == 0 && ledger->n_held > 0)) {
			if (!release(ledger, (unsigned)(ledger->held[0].event_id % ledger->n_held)))
				return false;
		}
	}
}

int main(int argc, char **argv)
{
	struct ledger ledger = { 0 };
	struct evb_reader_options options = { .mode = EVB_READER_GROUP };
	int file;
	bool done;

	if (argc != 5) {
		fprintf(stderr, "usage: %s NAME GROUP LEDGER HOLD\n", argv[0]);
		return 1;
	}
	options.group = argv[2];
	ledger.hold = (unsigned)strtoul(argv[4], NULL, 10);
	if (ledger.hold < 1 || ledger.hold > HOLD_MOST) {
		fprintf(stderr, "HOLD must be 1 to %u\n", HOLD_MOST);
		return 1;
	}
	file = open(argv[3], O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (file < 0) {
		perror(argv[3]);
		return 1;
	}
	ledger.file = file;
	if (evb_reader_open(&ledger.reader, argv[1], &options) != 0) {
		fail(&ledger, "open");
		return 1;
	}
	printf("joined\n");
	fflush(stdout);
	done = consume(&ledger);
	while (done && ledger.n_held > 0)
		done = release(&ledger, ledger.n_held - 1);
	evb_reader_close(ledger.reader);
	return done ? 0 : 1;
}
