// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A consumer of built events as a benchmark needs one: member of a group, reads every byte of each
// event or none, and keeps histograms of how long events took.
//
//   consumer NAME [--group GROUP] [--touch check|all|none] [--wait poll|sleep] [--warmup S]
//            [--window S] [--cpu N]
//
// check: compares every byte with what evb's synthetic sources generate; an event is wrong if its
// id, its structure or one of its fragments is, or if a source is missing. This is for events of
// sources that are neither ODIN's nor opaque.
//
// It runs until the run of appliance NAME is over, or SIGTERM, and prints one JSON object: events
// and bytes since the warm-up (which starts with the first event), for as long as the window (0:
// to the end), a second, the wrong events of the whole run, and the latencies in ns: first segment
// -> complete, complete -> seen here, first segment -> seen here.
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/histogram.h"
#include "evring/evb_reader.h"
#include "mfp_checker.h"
#include "perf_tool.h"
#include "wire/mep.h"

#define SLEEP_MS 100 // longest wait before a look at the signal

enum touch { TOUCH_NONE, TOUCH_ALL, TOUCH_CHECK };

struct consumer {
	struct evb_reader *reader;
	const char *name;
	struct evb_reader_options options;
	enum touch touch;
	bool polls;
	double warmup, window;
	uint64_t sum;      // of all bytes touched, as 64-bit words
	uint64_t start_ns; // end of the warm-up; 0: no event yet
	uint64_t last_ns;
	uint64_t events, bytes, incomplete;
	uint64_t wrong; // of TOUCH_CHECK
	struct mfp_checker checker;
	struct histogram complete, seen, total;
};

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static uint64_t sum_bytes(const uint8_t *bytes, size_t length)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i + 8 <= length; i += 8)
		sum += load_le64(bytes + i);
	for (; i < length; i++)
		sum += bytes[i];
	return sum;
}

// Whether the MFP is whole, of this event, and has the bytes that its source generated.
static bool mfp_is_right(struct mfp_checker *checker, const struct mep *mep, unsigned index,
			 uint64_t event_id)
{
	size_t room;
	const uint8_t *bytes = mep_mfp_bytes(mep, index, &room);
	struct mfp mfp;

	return mfp_decode(bytes, room, &mfp) == WIRE_OK && mfp.header.n_fragments > 0 &&
	       mfp.header.source_id == mep_source_id(mep, index) &&
	       mfp.header.event_id == event_id && !mfp_nothing_usable(&mfp) &&
	       mfp_checker_is_right(checker, &mfp, bytes);
}

static bool event_is_right(struct mfp_checker *checker, const struct evb_event *event)
{
	struct mep mep;

	if (mep_decode(event->data, event->length, &mep) != WIRE_OK || mep.n_mfps == 0)
		return false;
	for (unsigned i = 0; i < mep.n_mfps; i++)
		if (!mfp_is_right(checker, &mep, i, event->event_id))
			return false;
	return true;
}

static uint64_t duration(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static void look(struct consumer *consumer, const struct evb_event *event)
{
	uint64_t now = perf_now_ns();

	if (consumer->start_ns == 0)
		consumer->start_ns = now + (uint64_t)(consumer->warmup * 1e9);
	if (consumer->touch == TOUCH_ALL)
		consumer->sum += sum_bytes(event->data, event->length);
	if (consumer->touch == TOUCH_CHECK)
		consumer->wrong += !event_is_right(&consumer->checker, event);
	if (now < consumer->start_ns ||
	    (consumer->window > 0 && now > consumer->start_ns + (uint64_t)(consumer->window * 1e9)))
		return;
	histogram_add(&consumer->complete, duration(event->first_ns, event->complete_ns));
	histogram_add(&consumer->seen, duration(event->complete_ns, now));
	histogram_add(&consumer->total, duration(event->first_ns, now));
	consumer->events++;
	consumer->bytes += event->length;
	consumer->incomplete += (event->flags & EVB_EVENT_INCOMPLETE) != 0;
	consumer->last_ns = now;
}

static void consume(struct consumer *consumer)
{
	while (!stopped) {
		struct evb_event event;
		int result =
		    evb_reader_next(consumer->reader, &event, consumer->polls ? 0 : SLEEP_MS);

		if (result == -EPIPE)
			return;
		if (result < 0)
			perf_fail("%s", evb_reader_error(consumer->reader));
		if (result == 0)
			continue;
		look(consumer, &event);
		if (evb_reader_release(consumer->reader, &event) != 0)
			perf_fail("%s", evb_reader_error(consumer->reader));
	}
}

static void add_latency(cJSON *result, const char *name, const struct histogram *histogram)
{
	cJSON *latency = cJSON_AddObjectToObject(result, name);

	cJSON_AddNumberToObject(latency, "p50", (double)histogram_quantile(histogram, 0.5));
	cJSON_AddNumberToObject(latency, "p99", (double)histogram_quantile(histogram, 0.99));
	cJSON_AddNumberToObject(latency, "p999", (double)histogram_quantile(histogram, 0.999));
	cJSON_AddNumberToObject(latency, "max", (double)histogram->maximum);
}

static void print_result(const struct consumer *consumer)
{
	double seconds = (double)duration(consumer->start_ns, consumer->last_ns) * 1e-9;
	cJSON *result = cJSON_CreateObject();

	cJSON_AddNumberToObject(result, "events", (double)consumer->events);
	cJSON_AddNumberToObject(result, "bytes", (double)consumer->bytes);
	cJSON_AddNumberToObject(result, "incomplete", (double)consumer->incomplete);
	cJSON_AddNumberToObject(result, "wrong", (double)consumer->wrong);
	cJSON_AddNumberToObject(result, "seconds", seconds);
	cJSON_AddNumberToObject(result, "events_per_second",
				seconds > 0 ? (double)consumer->events / seconds : 0);
	cJSON_AddNumberToObject(result, "bytes_per_second",
				seconds > 0 ? (double)consumer->bytes / seconds : 0);
	add_latency(result, "first_to_complete_ns", &consumer->complete);
	add_latency(result, "complete_to_seen_ns", &consumer->seen);
	add_latency(result, "first_to_seen_ns", &consumer->total);
	cJSON_AddNumberToObject(result, "check", (double)(consumer->sum & 0xFFFFFFFF));
	perf_print(result);
}

static enum touch parse_touch(const char *text)
{
	static const char *const names[] = {
		[TOUCH_NONE] = "none",
		[TOUCH_ALL] = "all",
		[TOUCH_CHECK] = "check",
	};

	for (enum touch touch = TOUCH_NONE; touch <= TOUCH_CHECK; touch++)
		if (strcmp(text, names[touch]) == 0)
			return touch;
	perf_fail("--touch: \"%s\" is none of check, all, none", text);
}

static bool one_of(const char *what, const char *text, const char *yes, const char *no)
{
	if (strcmp(text, yes) == 0)
		return true;
	if (strcmp(text, no) != 0)
		perf_fail("--%s: \"%s\" is neither %s nor %s", what, text, yes, no);
	return false;
}

static void parse(int argc, char **argv, struct consumer *consumer)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "group", required_argument, NULL, 'g' },
		{ "touch", required_argument, NULL, 't' },
		{ "wait", required_argument, NULL, 'w' },
		{ "warmup", required_argument, NULL, 'u' },
		{ "window", required_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin(perf_parse_list("cpu", optarg).values[0]);
		else if (option == 'g')
			consumer->options.group = optarg;
		else if (option == 't')
			consumer->touch = parse_touch(optarg);
		else if (option == 'w')
			consumer->polls = one_of("wait", optarg, "poll", "sleep");
		else if (option == 'u')
			consumer->warmup = perf_parse_number("warmup", optarg, 0);
		else if (option == 'o')
			consumer->window = perf_parse_number("window", optarg, 0);
		else
			perf_fail("usage: consumer NAME [OPTION...]");
	}
	if (optind + 1 != argc)
		perf_fail("usage: consumer NAME [OPTION...]");
	consumer->name = argv[optind];
}

int main(int argc, char **argv)
{
	static struct consumer consumer = { .touch = TOUCH_ALL };

	parse(argc, argv, &consumer);
	signal(SIGTERM, on_signal);
	if (evb_reader_open(&consumer.reader, consumer.name, &consumer.options) != 0)
		perf_fail("%s", consumer.reader != NULL ? evb_reader_error(consumer.reader)
							: "out of memory");
	puts("joined");
	fflush(stdout);
	consume(&consumer);
	evb_reader_close(consumer.reader);
	print_result(&consumer);
	return 0;
}
