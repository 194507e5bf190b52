// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A group consumer that takes its time: it sleeps so long for each event before it takes the next,
// so that it takes 10^6 / MICROSECONDS events a second at most.
//
//   slow_consumer NAME GROUP MICROSECONDS
//
// It prints "joined", and when the run is over one line: events, and of them incomplete ones.
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "evb_reader.h"

#define WAIT_MS 100

// Sleeps come late: what was lost is made up for, but for a long standstill.
static void work(struct timespec *until, long microseconds)
{
	struct timespec now;

	if (microseconds == 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec > until->tv_sec + 1)
		*until = now;
	until->tv_nsec += microseconds * 1000;
	while (until->tv_nsec >= 1000000000) {
		until->tv_nsec -= 1000000000;
		until->tv_sec++;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, until, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	struct evb_reader_options options = { .mode = EVB_READER_GROUP };
	struct evb_reader *reader = NULL;
	struct timespec until = { 0 };
	uint64_t events = 0, incomplete = 0;
	long microseconds;
	int result;

	if (argc != 4) {
		fprintf(stderr, "usage: %s NAME GROUP MICROSECONDS\n", argv[0]);
		return 1;
	}
	options.group = argv[2];
	microseconds = strtol(argv[3], NULL, 10);
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (evb_reader_open(&reader, argv[1], &options) != 0) {
		fprintf(stderr, "open: %s\n",
			reader != NULL ? evb_reader_error(reader) : "out of memory");
		return 1;
	}
	printf("joined\n");
	fflush(stdout);
	for (;;) {
		struct evb_event event;

		result = evb_reader_next(reader, &event, WAIT_MS);
		if (result < 0)
			break;
		if (result == 0) {
			clock_gettime(CLOCK_MONOTONIC, &until); // idle time is not saved up
			continue;
		}
		work(&until, microseconds);
		events++;
		incomplete += (event.flags & EVB_EVENT_INCOMPLETE) != 0;
		result = evb_reader_release(reader, &event);
		if (result != 0)
			break;
	}
	if (result != -EPIPE)
		fprintf(stderr, "%s\n", evb_reader_error(reader));
	evb_reader_close(reader);
	printf("%" PRIu64 " %" PRIu64 "\n", events, incomplete);
	return result == -EPIPE ? 0 : 1;
}
