// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How long a message takes from a socket of the kernel, over the network and through evb, to a
// consumer: sends an event of one block, looks for it in the event ring, and waits a while before
// the next.
//
//   probe NAME --to ADDRESS [--mtu BYTES] [--size BYTES[,BYTES...]] [--count N] [--pause S]
//         [--group GROUP] [--cpu N]
//
// The appliance has one source, id 1, packing 1, payload opaque. Pauses are drawn from 0 to twice
// the mean given, so that they keep no step with sleeps on the other side. Prints one JSON object:
// latencies in ns by size.
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "base/random.h"
#include "evring/evb_reader.h"
#include "frames.h"
#include "perf_tool.h"
#include "udp_stream.h"

#define GIVE_UP_NS 1000000000u // an event that is not there by then is lost
#define WARM_UPS   20u         // messages of each size that are not counted

struct probe {
	struct udp_stream stream;
	struct evb_reader *reader;
	struct evb_reader_options options;
	const char *name, *to;
	uint32_t mtu;
	struct perf_list sizes;
	unsigned count;
	double pause;
	struct random random;
	uint64_t event_id;
	uint64_t lost;
};

static void rest(struct probe *probe)
{
	double seconds = 2 * probe->pause * random_uniform(&probe->random);
	struct timespec pause = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	if (seconds > 0)
		nanosleep(&pause, NULL);
}

// The time of one message; 0 if it was lost.
static uint64_t send_one(struct probe *probe, const uint8_t *block, uint32_t size)
{
	uint64_t start = perf_now_ns(), now;

	udp_stream_put(&probe->stream, 1, probe->event_id, block, size);
	udp_stream_flush(&probe->stream);
	do {
		struct evb_event event;
		int result = evb_reader_next(probe->reader, &event, 0);

		now = perf_now_ns();
		if (result < 0)
			perf_fail("%s", evb_reader_error(probe->reader));
		if (result == 0)
			continue;
		if (evb_reader_release(probe->reader, &event) != 0)
			perf_fail("%s", evb_reader_error(probe->reader));
		if (event.event_id == probe->event_id)
			return now - start;
	} while (now - start < GIVE_UP_NS);
	return 0;
}

static void measure(struct probe *probe, cJSON *list, uint32_t size)
{
	static struct histogram histogram;
	uint8_t *block = calloc(1, size);
	cJSON *object = cJSON_CreateObject();

	if (block == NULL)
		perf_fail("out of memory");
	memset(&histogram, 0, sizeof(histogram));
	for (unsigned i = 0; i < WARM_UPS + probe->count; i++, probe->event_id++) {
		uint64_t ns;

		rest(probe);
		ns = send_one(probe, block, size);
		if (ns == 0)
			probe->lost++;
		else if (i >= WARM_UPS)
			histogram_add(&histogram, ns);
	}
	cJSON_AddItemToArray(list, object);
	cJSON_AddNumberToObject(object, "size", size);
	cJSON_AddNumberToObject(object, "p50", (double)histogram_quantile(&histogram, 0.5));
	cJSON_AddNumberToObject(object, "p99", (double)histogram_quantile(&histogram, 0.99));
	cJSON_AddNumberToObject(object, "p999", (double)histogram_quantile(&histogram, 0.999));
	cJSON_AddNumberToObject(object, "max", (double)histogram.maximum);
	free(block);
}

static void parse(int argc, char **argv, struct probe *probe)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'n' }, { "cpu", required_argument, NULL, 'c' },
		{ "group", required_argument, NULL, 'g' }, { "mtu", required_argument, NULL, 'm' },
		{ "pause", required_argument, NULL, 'p' }, { "size", required_argument, NULL, 's' },
		{ "to", required_argument, NULL, 't' },    { NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin(perf_parse_list("cpu", optarg).values[0]);
		else if (option == 'g')
			probe->options.group = optarg;
		else if (option == 'm')
			probe->mtu = (uint32_t)perf_parse_number("mtu", optarg, 128);
		else if (option == 'n')
			probe->count = (unsigned)perf_parse_number("count", optarg, 1);
		else if (option == 'p')
			probe->pause = perf_parse_number("pause", optarg, 0);
		else if (option == 's')
			probe->sizes = perf_parse_list("size", optarg);
		else if (option == 't')
			probe->to = optarg;
		else
			perf_fail("usage: probe NAME --to ADDRESS [OPTION...]");
	}
	if (optind + 1 != argc || probe->to == NULL)
		perf_fail("usage: probe NAME --to ADDRESS [OPTION...]");
	probe->name = argv[optind];
}

int main(int argc, char **argv)
{
	static struct probe probe = {
		.mtu = 1500, .sizes = { .values = { 1000 }, .n = 1 }, .count = 1000, .pause = 1e-3
	};
	cJSON *result = cJSON_CreateObject(), *list;

	parse(argc, argv, &probe);
	if (evb_reader_open(&probe.reader, probe.name, &probe.options) != 0)
		perf_fail("%s",
			  probe.reader != NULL ? evb_reader_error(probe.reader) : "out of memory");
	udp_stream_open(&probe.stream, NULL, probe.to, FRAME_PORT, probe.mtu);
	probe.random = random_fork(1, 1);
	list = cJSON_AddArrayToObject(result, "sizes");
	for (unsigned i = 0; i < probe.sizes.n; i++)
		measure(&probe, list, probe.sizes.values[i] > 0 ? probe.sizes.values[i] : 1);
	cJSON_AddNumberToObject(result, "lost", (double)probe.lost);
	evb_reader_close(probe.reader);
	perf_print(result);
	return 0;
}
