// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the control protocol costs, with and without a key: two endpoints in memory exchange the
// records of events, and acknowledge them. Prints ns of both sides together: per frame of one grant
// and per frame of as many as fit, sent and received, acknowledgements counted as frames; and per
// event between the manager and a builder, each record in a frame of its own, and 16 events
// together.
//
//   control_cost [--cpu N] [--seconds S]
#include <getopt.h>
#include <string.h>

#include "control/endpoint.h"
#include "perf_tool.h"

#define MOST_FRAMES 64u
#define TOGETHER    16u
#define FULL        20u    // grants in a frame of the default size
#define STEP_NS     20000u // of the endpoints' time

struct side {
	struct control_endpoint *endpoint;
	struct pair *pair;
	unsigned n; // frames that wait for the other side
	size_t sizes[MOST_FRAMES];
	uint8_t frames[MOST_FRAMES][CTRL_DEFAULT_SIZE];
};

struct pair {
	struct side sides[2];
	uint64_t now, n_frames;
};

// Does one round and returns how many events, or grants, it had.
typedef unsigned (*round_function)(struct pair *pair);

static void deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	(void)context;
	(void)peer;
	(void)record;
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	(void)context;
	(void)peer;
	(void)event;
}

static bool emit(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	struct side *side = context;

	(void)peer;
	if (side->n == MOST_FRAMES || size > CTRL_DEFAULT_SIZE)
		perf_fail("too many frames");
	memcpy(side->frames[side->n], bytes, size);
	side->sizes[side->n++] = size;
	side->pair->n_frames++;
	return true;
}

static void make_side(struct pair *pair, unsigned number, const struct control_keys *keys)
{
	struct control_parameters parameters = control_defaults();
	const uint16_t peers[] = { (uint16_t)!number };

	parameters.handlers =
	    (struct control_handlers){ &pair->sides[number], deliver, on_event, emit, NULL, NULL };
	parameters.peers = peers;
	parameters.n_peers = 1;
	parameters.node = (uint16_t)number;
	parameters.session = (uint64_t)(number + 1) << 32;
	parameters.window = 64;
	parameters.keys = keys;
	parameters.now = pair->now;
	pair->sides[number].pair = pair;
	pair->sides[number].endpoint = control_create(&parameters, NULL);
	if (pair->sides[number].endpoint == NULL)
		perf_fail("out of memory");
}

// What a side sends arrives at once.
static void carry(struct pair *pair, unsigned from)
{
	struct side *side = &pair->sides[from];

	(void)control_poll(side->endpoint, pair->now);
	for (unsigned i = 0; i < side->n; i++)
		if (control_receive(pair->sides[!from].endpoint, side->frames[i], side->sizes[i],
				    pair->now) != WIRE_OK)
			perf_fail("a frame is refused");
	side->n = 0;
	pair->now += STEP_NS;
}

static void send(struct pair *pair, unsigned from, const uint8_t *bytes, size_t size)
{
	if (!control_send(pair->sides[from].endpoint, !from, bytes, size))
		perf_fail("a record is refused");
}

static void send_grant(struct pair *pair)
{
	const struct ctrl_grant grant = { .n_positions = 1 };
	uint8_t bytes[CTRL_GRANT_SIZE];

	send(pair, 0, bytes, ctrl_put_grant(bytes, sizeof(bytes), &grant));
}

static void send_done(struct pair *pair)
{
	const struct ctrl_done done = { .outcome = CTRL_COMPLETE };
	uint8_t bytes[CTRL_DONE_SIZE(0)];

	send(pair, 1, bytes, ctrl_put_done(bytes, sizeof(bytes), &done));
}

static void send_progress(struct pair *pair, unsigned from, enum ctrl_step step)
{
	const struct ctrl_progress progress = { .step = (uint16_t)step };
	uint8_t bytes[CTRL_PROGRESS_SIZE];

	send(pair, from, bytes, ctrl_put_progress(bytes, sizeof(bytes), &progress));
}

static void send_credit(struct pair *pair)
{
	const struct ctrl_credit_list list = { .n = 1 };
	const struct ctrl_credit credit = { 0 };
	uint8_t bytes[CTRL_CREDIT_LIST_SIZE(1)];

	send(pair, 1, bytes, ctrl_put_credit_list(bytes, sizeof(bytes), &list, &credit));
}

static unsigned grants(struct pair *pair, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		send_grant(pair);
	carry(pair, 0);
	carry(pair, 1);
	return n;
}

static unsigned one_grant(struct pair *pair)
{
	return grants(pair, 1);
}

static unsigned full_frame(struct pair *pair)
{
	return grants(pair, FULL);
}

static unsigned events(struct pair *pair, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		send_grant(pair);
	carry(pair, 0);
	for (unsigned i = 0; i < n; i++)
		send_done(pair);
	carry(pair, 1);
	for (unsigned i = 0; i < n; i++)
		send_progress(pair, 0, CTRL_STEP_PUBLISH);
	carry(pair, 0);
	for (unsigned i = 0; i < n; i++)
		send_progress(pair, 1, CTRL_STEP_PUBLISHED);
	carry(pair, 1);
	for (unsigned i = 0; i < n; i++)
		send_credit(pair);
	carry(pair, 1);
	carry(pair, 0);
	return n;
}

static unsigned one_event(struct pair *pair)
{
	return events(pair, 1);
}

static unsigned events_together(struct pair *pair)
{
	return events(pair, TOGETHER);
}

// ns per event and per frame, and frames per event.
static void measure(struct pair *pair, round_function round, double seconds, cJSON *result,
		    const char *name)
{
	uint64_t start = perf_now_ns(), end = start + (uint64_t)(seconds * 1e9), now, n = 0;
	cJSON *one = cJSON_AddObjectToObject(result, name);

	pair->n_frames = 0;
	do {
		for (unsigned i = 0; i < 16; i++)
			n += round(pair);
		now = perf_now_ns();
	} while (now < end);
	cJSON_AddNumberToObject(one, "ns", (double)(now - start) / (double)n);
	cJSON_AddNumberToObject(one, "frame_ns", (double)(now - start) / (double)pair->n_frames);
	cJSON_AddNumberToObject(one, "frames", (double)pair->n_frames / (double)n);
}

static cJSON *run(bool keyed, double seconds)
{
	static const struct control_keys keys = { .n = 1, .keys = { { 1 } } };
	static struct pair pair;
	cJSON *result = cJSON_CreateObject();

	pair = (struct pair){ .now = 1000000000 };
	for (unsigned i = 0; i < 2; i++)
		make_side(&pair, i, keyed ? &keys : NULL);
	for (unsigned i = 0; i < 10000; i++) // until they are in session
		carry(&pair, i % 2);
	cJSON_AddBoolToObject(result, "keyed", keyed);
	measure(&pair, one_grant, seconds, result, "grant");
	measure(&pair, full_frame, seconds, result, "full_frame");
	measure(&pair, one_event, seconds, result, "event");
	measure(&pair, events_together, seconds, result, "event_of_16");
	for (unsigned i = 0; i < 2; i++)
		control_destroy(pair.sides[i].endpoint);
	return result;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	cJSON *result = cJSON_CreateObject(), *cases = cJSON_AddArrayToObject(result, "cases");
	double seconds = 0.2;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin(perf_parse_list("cpu", optarg).values[0]);
		else if (option == 's')
			seconds = perf_parse_number("seconds", optarg, 1e-3);
		else
			return 1;
	}
	cJSON_AddItemToArray(cases, run(false, seconds));
	cJSON_AddItemToArray(cases, run(true, seconds));
	perf_print(result);
	return 0;
}
