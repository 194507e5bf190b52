// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A filter: joins a group of a running evb, finds the tracks of each event, and decides about it.
//
//     cc -O2 filter.c accuracy.c hits.c magnet.c tracking.c $(pkg-config --cflags --libs
//     evb-reader) -lm -o filter
//     ./filter [--group GROUP] [--directory DIRECTORY] [--print] NAME
//     ./filter --table     accuracy of the magnet model beside the published figures
//     ./filter --fit       the coefficients of magnet.c, from true trajectories
//
// --print writes one line per event: its id, lines, number of tracks, and q/p of each.
#include <evb_mep.h>
#include <evb_reader.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "accuracy.h"
#include "tracking.h"

#define WAIT_MS 200

struct filter {
	struct evb_reader *reader;
	bool prints;
	bool only_counts;       // the group does not decide
	struct hit_event event; // the event under work
	struct track tracks[MAX_SEGMENTS];
	uint64_t built, accepted;  // built events (MEPs)
	uint64_t events, n_tracks; // events in them
	uint64_t by_line[3];
	double cpu_seconds; // of the work on events
};

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// Opens a built event. Filter nodes get the event of an earlier stage as the opaque block of their
// only source.
static int open_event(struct evb_mep *mep, const struct evb_event *built)
{
	struct evb_source block;
	int rc = evb_mep_open(mep, built->data, built->length);

	if (rc == 0 && mep->n_sources == 1 && evb_mep_source(mep, 0, &block) == 0 &&
	    (block.flags & EVB_SOURCE_OPAQUE) != 0)
		rc = evb_mep_open(mep, block.payload, block.payload_length);
	return rc;
}

// Opens the four sources. Returns false if one of them sent nothing usable.
static bool open_sources(const struct evb_mep *mep, struct evb_source sources[N_SOURCES])
{
	for (unsigned i = 0; i < N_SOURCES; i++) {
		const uint16_t id = (uint16_t)(i == 0 ? SEGMENTS_SOURCE : HITS_SOURCE + i - 1);

		if (evb_mep_find(mep, id, &sources[i]) != 0 || sources[i].flags != 0)
			return false;
	}
	return true;
}

// Reads the next fragment of each source into filter->event. Returns false if one is malformed.
static bool read_event(struct filter *filter, struct evb_source sources[N_SOURCES])
{
	struct evb_fragment fragment;

	for (unsigned i = 0; i < N_SOURCES; i++) {
		if (evb_source_next(&sources[i], &fragment) != 1 ||
		    fragment.type != (i == 0 ? SEGMENTS_TYPE : HITS_TYPE))
			return false;
		if ((i == 0 ? hits_read_segments(&filter->event, fragment.data, fragment.length)
			    : hits_read_station(&filter->event, i - 1, fragment.data,
						fragment.length)) != 0)
			return false;
	}
	return true;
}

static void print_event(const struct filter *filter, uint64_t event_id, uint64_t lines, unsigned n)
{
	printf("%" PRIu64 " %" PRIx64 " %u", event_id, lines, n);
	for (unsigned i = 0; i < n; i++)
		printf(" %u:%.9e", filter->tracks[i].segment, filter->tracks[i].q_over_p);
	printf("\n");
}

// The lines of a built event: those of any of the events in it.
static uint64_t lines_of(struct filter *filter, const struct evb_event *built)
{
	struct evb_source sources[N_SOURCES];
	struct evb_mep mep;
	uint64_t all = 0;

	if (open_event(&mep, built) != 0 || !open_sources(&mep, sources))
		return UINT64_C(1) << LINE_DAMAGED;
	for (unsigned i = 0; i < mep.n_events; i++) {
		uint64_t lines;
		unsigned n;

		if (!read_event(filter, sources))
			return all | UINT64_C(1) << LINE_DAMAGED;
		n = tracking_find(&filter->event, filter->tracks);
		lines = tracking_lines(filter->tracks, n);
		filter->events++;
		filter->n_tracks += n;
		all |= lines;
		if (filter->prints)
			print_event(filter, mep.event_id + i, lines, n);
	}
	return all;
}

// Returns 0 or a negative errno.
static int decide(struct filter *filter, const struct evb_event *built)
{
	const double begin = cpu_seconds();
	const uint64_t lines = lines_of(filter, built);
	const struct evb_decision decision = { .accept = lines != 0, .lines = lines };
	int rc = 0;

	filter->cpu_seconds += cpu_seconds() - begin;
	filter->built++;
	filter->accepted += lines != 0;
	for (unsigned i = 0; i < 3; i++)
		filter->by_line[i] += lines >> i & 1;
	if (!filter->only_counts)
		rc = evb_reader_decide(filter->reader, built, &decision);
	if (rc == -EPERM) {
		fprintf(stderr, "filter: %s; it only counts\n", evb_reader_error(filter->reader));
		filter->only_counts = true;
	}
	return rc == -EPERM ? 0 : rc;
}

// Until the run is over or a signal comes. Returns 0 or a negative errno.
static int run(struct filter *filter)
{
	while (!stopped) {
		struct evb_event event;
		int rc = evb_reader_next(filter->reader, &event, WAIT_MS);

		if (rc == 1) {
			rc = decide(filter, &event);
			if (rc == 0)
				rc = evb_reader_release(filter->reader, &event);
		}
		if (rc < 0)
			return rc == -EPIPE ? 0 : rc;
	}
	return 0;
}

static void print_account(const struct filter *filter)
{
	fprintf(stderr,
		"%" PRIu64 " built events, %" PRIu64 " accepted: high pT %" PRIu64 ", pair %" PRIu64
		", damaged %" PRIu64 "\n",
		filter->built, filter->accepted, filter->by_line[LINE_HIGH_PT],
		filter->by_line[LINE_PAIR], filter->by_line[LINE_DAMAGED]);
	if (filter->events > 0)
		fprintf(stderr,
			"%" PRIu64
			" events with %.1f tracks on average, %.0f events per second of CPU time\n",
			filter->events, (double)filter->n_tracks / (double)filter->events,
			(double)filter->events / filter->cpu_seconds);
}

static void usage(void)
{
	fprintf(stderr, "usage: filter [--group GROUP] [--directory DIRECTORY] [--print] NAME\n"
			"       filter --table | --fit\n");
}

// Returns the name of the appliance, or NULL after a mode that needs none, with *status.
static const char *parse(int argc, char **argv, struct filter *filter,
			 struct evb_reader_options *options, int *status)
{
	static const struct option names[] = {
		{ "group", 1, NULL, 'g' }, { "directory", 1, NULL, 'd' }, { "print", 0, NULL, 'p' },
		{ "table", 0, NULL, 't' }, { "fit", 0, NULL, 'f' },       { 0 },
	};

	for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		*status = 0;
		if (c == 'g')
			options->group = optarg;
		else if (c == 'd')
			options->directory = optarg;
		else if (c == 'p')
			filter->prints = true;
		else if (c == 't')
			return accuracy_print(stdout), NULL;
		else if (c == 'f')
			return accuracy_print_fit(stdout), NULL;
		else
			break;
	}
	if (optind == argc - 1)
		return argv[optind];
	*status = 2;
	return usage(), NULL;
}

int main(int argc, char **argv)
{
	static struct filter filter;
	struct evb_reader_options options = { .mode = EVB_READER_GROUP, .group = "filter" };
	int status = 0, rc;
	const char *name = parse(argc, argv, &filter, &options, &status);

	if (name == NULL)
		return status;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	rc = evb_reader_open(&filter.reader, name, &options);
	if (rc == 0)
		rc = run(&filter);
	if (rc != 0)
		fprintf(stderr, "filter: %s\n",
			filter.reader != NULL ? evb_reader_error(filter.reader) : strerror(-rc));
	evb_reader_close(filter.reader);
	print_account(&filter);
	return rc != 0;
}
