// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A consumer of built events: it joins a group of a running evb, checks every event that it
// receives, and prints one line per second. Several may run at once; each event goes to one of
// them.
//
//     cc consumer.c $(pkg-config --cflags --libs evb-reader) -o consumer
//     ./consumer NAME [GROUP]
#include <evb_reader.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static uint16_t read_u16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t read_u32(const uint8_t *bytes)
{
	return read_u16(bytes) | (uint32_t)read_u16(bytes + 2) << 16;
}

// A built event begins with magic 0xCEFA, the number of MFPs, and its size in 32-bit words.
static int is_mep(const struct evb_event *event)
{
	const uint8_t *bytes = event->data;

	return event->length >= 8 && read_u16(bytes) == 0xcefa &&
	       read_u16(bytes + 2) == event->n_sources &&
	       (uint64_t)read_u32(bytes + 4) * 4 == event->length;
}

int main(int argc, char **argv)
{
	const struct evb_reader_options options = {
		.mode = EVB_READER_GROUP,
		.group = argc > 2 ? argv[2] : "main",
	};
	uint64_t wrong = 0, incomplete = 0;
	struct evb_reader *reader = NULL;
	struct evb_reader_counters counters;
	struct evb_event event;
	time_t printed = time(NULL);
	int rc;

	if (argc < 2) {
		fprintf(stderr, "usage: consumer NAME [GROUP]\n");
		return 2;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	rc = evb_reader_open(&reader, argv[1], &options);
	while (rc >= 0 && !stop) {
		rc = evb_reader_next(reader, &event, 200);
		if (rc == 1) {
			// The event is read in place; a real consumer processes it here.
			wrong += !is_mep(&event);
			incomplete += (event.flags & EVB_EVENT_INCOMPLETE) != 0;
			evb_reader_release(reader, &event);
		}
		if (time(NULL) != printed) {
			printed = time(NULL);
			counters = evb_reader_counters(reader);
			printf("%" PRIu64 " events, %" PRIu64 " MB, %" PRIu64
			       " incomplete, %" PRIu64 " wrong, %" PRIu64
			       " taken over from dead consumers\n",
			       counters.events, counters.bytes / 1000000, incomplete, wrong,
			       counters.regained);
			fflush(stdout);
		}
	}
	if (rc < 0 && rc != -EPIPE) {
		fprintf(stderr, "consumer: %s\n",
			reader != NULL ? evb_reader_error(reader) : strerror(-rc));
		evb_reader_close(reader);
		return 1;
	}
	counters = evb_reader_counters(reader);
	evb_reader_close(reader);
	printf("in all %" PRIu64 " events, %" PRIu64 " wrong\n", counters.events, wrong);
	return wrong > 0;
}
