// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A consumer of built events: it joins a group of a running evb, checks every event that it
// receives, and prints one line per second. Several may run at once; each event goes to one of
// them.
//
//     cc consumer.c $(pkg-config --cflags --libs evb-reader) -o consumer
//     ./consumer NAME [GROUP]
#include <evb_mep.h>
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

// Reads every fragment of a built event. Returns their number, or -1 if the bytes are not what the
// event's description says.
static long count_fragments(const struct evb_event *event)
{
	struct evb_mep mep;
	struct evb_source source;
	struct evb_fragment fragment;
	long n = 0;
	int rc;

	if (evb_mep_open(&mep, event->data, event->length) != 0 || mep.length != event->length ||
	    mep.n_sources != event->n_sources)
		return -1;
	for (unsigned i = 0; i < mep.n_sources; i++) {
		if (evb_mep_source(&mep, i, &source) != 0)
			return -1;
		// A fragment lies in the slot; a real consumer processes it here.
		while ((rc = evb_source_next(&source, &fragment)) == 1)
			n++;
		if (rc != 0)
			return -1;
	}
	return n;
}

int main(int argc, char **argv)
{
	const struct evb_reader_options options = {
		.mode = EVB_READER_GROUP,
		.group = argc > 2 ? argv[2] : "main",
	};
	uint64_t wrong = 0, incomplete = 0, fragments = 0;
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
			long n = count_fragments(&event);

			fragments += n > 0 ? (uint64_t)n : 0;
			wrong += n < 0;
			incomplete += (event.flags & EVB_EVENT_INCOMPLETE) != 0;
			evb_reader_release(reader, &event);
		}
		if (time(NULL) != printed) {
			printed = time(NULL);
			counters = evb_reader_counters(reader);
			printf("%" PRIu64 " events, %" PRIu64 " MB, %" PRIu64 " fragments, %" PRIu64
			       " incomplete, %" PRIu64 " wrong, %" PRIu64
			       " taken over from dead consumers\n",
			       counters.events, counters.bytes / 1000000, fragments, incomplete,
			       wrong, counters.regained);
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
