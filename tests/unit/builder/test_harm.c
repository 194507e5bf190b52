// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// One source sends forged segments between those of a run: how many of the run's events are lost?
// Time is simulated: 500 events per second in a builder of the standard size.
#include "workbench.h"

#include <stdlib.h>
#include <string.h>

#include "wire/mfp.h"

#define SOURCES 8u
#define PACKING 10u
#define SLOTS   256u
#define EVENTS  1000u
#define PERIOD  20u // ticks between two events; a deadline is 1000 ticks, as long as 50 events
#define SPREAD  30u // ticks within which the segments of an event arrive
#define FORGER  3u
#define SEGMENT 200u // bytes
#define MOST    32u  // segments of a block
#define HOUSE   10u  // ticks between two calls of the housekeeping
#define START   100u // index of the first event
#define STRANGE 60000u

enum kind {
	FAR,     // a whole block of 11 bytes, each time of another event, far in the future
	NEAR,    // the same of one of the next 200 events
	AHEAD,   // one byte, stated to be the block, before each event
	LENGTH,  // one byte of a block that is stated to be nearly as long as a slot, before each
		 // event
	TINY,    // single bytes with gaps between them, of the next events and of the end of run
	FALLING, // the same, from the block's end to its begin
	KINDS
};

static const char *const names[KINDS] = { "future ids",    "ids of the next events",
					  "one byte",      "large stated length",
					  "tiny segments", "falling order" };

struct arrival {
	uint64_t time;
	uint32_t event, source, offset;
};

struct harm {
	struct workbench bench;
	struct random random;
	enum kind kind;
	uint64_t n_forged;
	struct block blocks[EVENTS][SOURCES];
	struct arrival *arrivals;
	size_t n_arrivals;
	unsigned n_complete, n_others; // events that were taken
	bool taken[EVENTS];
};

static int by_time(const void *left, const void *right)
{
	const struct arrival *a = left, *b = right;

	return a->time < b->time ? -1 : a->time > b->time;
}

static uint64_t id_of(uint64_t event)
{
	return (START + event) * PACKING;
}

static void make_arrivals(struct harm *harm)
{
	harm->arrivals = calloc((size_t)EVENTS * SOURCES * MOST, sizeof(*harm->arrivals));
	assert_non_null(harm->arrivals);
	for (uint32_t event = 0; event < EVENTS; event++)
		for (uint32_t source = 0; source < SOURCES; source++) {
			const struct block *block = &harm->blocks[event][source];

			for (uint32_t at = 0; at < block->length; at += SEGMENT)
				harm->arrivals[harm->n_arrivals++] = (struct arrival){
					.time = harm->bench.now + (uint64_t)event * PERIOD +
						random_next(&harm->random) % SPREAD,
					.event = event,
					.source = source,
					.offset = at,
				};
		}
	qsort(harm->arrivals, harm->n_arrivals, sizeof(*harm->arrivals), by_time);
}

// Takes what is published. An event of the run counts if all of its blocks are what was sent.
static void take_all(struct harm *harm)
{
	struct evb_event event;

	while (evb_reader_next(harm->bench.reader, &event, 0) == 1) {
		uint64_t number = event.event_id / PACKING - START;

		if (event.flags != 0 || number >= EVENTS || event.event_id % PACKING != 0) {
			harm->n_others++;
		} else {
			assert_false(harm->taken[number]);
			harm->taken[number] = true;
			harm->n_complete++;
			for (unsigned i = 0; i < SOURCES; i++)
				workbench_assert_content(&harm->bench, &event, i, CONTENT_DATA,
							 &harm->blocks[number][i], PACKING);
		}
		workbench_release(&harm->bench, &event);
	}
}

static void forge(struct harm *harm, uint64_t event)
{
	static const uint8_t bytes[11] = { 0 };
	const uint64_t n = harm->n_forged++;
	struct segment segment = { .length = 1, .size = 1, .source = FORGER };
	uint64_t index = START + event + 2 + n % 4; // later than what arrives now

	switch (harm->kind) {
	case FAR:
		index = START + event + 5000 + n;
		segment.length = segment.size = sizeof(bytes);
		break;
	case NEAR:
		index = START + event + 2 + random_next(&harm->random) % 200;
		segment.length = segment.size = sizeof(bytes);
		break;
	case AHEAD:
		break;
	case LENGTH:
		segment.length = STRANGE;
		break;
	case TINY:
		segment.length = 5000;
		segment.offset = 1 + 2 * (uint32_t)(random_next(&harm->random) % 2400);
		break;
	default:
		segment.length = STRANGE;
		segment.offset = STRANGE - 2 - (uint32_t)(2 * (n / 4) % (STRANGE - 4));
		break;
	}
	segment.event_id = index * PACKING;
	if (harm->kind >= TINY && n % 2 == 0)
		segment.event_id = MFP_END_OF_RUN;
	segment.event_index = segment.event_id / PACKING;
	workbench_send_forged(&harm->bench, &segment, bytes);
}

// Sends `rate` forged segments per event.
static void run_through(struct harm *harm, unsigned rate)
{
	uint64_t start = harm->bench.now, forged = 0, kept = start;
	const uint64_t end = start + (uint64_t)EVENTS * PERIOD + SPREAD;

	for (size_t i = 0; i < harm->n_arrivals; i++) {
		const struct arrival *arrival = &harm->arrivals[i];

		while (rate > 0 && forged * PERIOD < (arrival->time - start) * rate) {
			harm->bench.now = start + forged * PERIOD / rate;
			forge(harm, forged++ / rate);
		}
		harm->bench.now = arrival->time;
		if (arrival->time >= kept + HOUSE) {
			kept = arrival->time;
			assembly_housekeep(harm->bench.assembly, kept, 0);
			take_all(harm);
		}
		(void)workbench_send(
		    &harm->bench, arrival->source, id_of(arrival->event),
		    &harm->blocks[arrival->event][arrival->source], arrival->offset,
		    harm->blocks[arrival->event][arrival->source].length - arrival->offset < SEGMENT
			? harm->blocks[arrival->event][arrival->source].length - arrival->offset
			: SEGMENT);
	}
	for (harm->bench.now = end; harm->bench.now < end + 400 * HOUSE; harm->bench.now += HOUSE) {
		assembly_housekeep(harm->bench.assembly, harm->bench.now, 0);
		take_all(harm);
	}
}

// Returns how many of the run's events were lost beside `rate` forged segments per event.
static unsigned lost(enum kind kind, unsigned rate)
{
	const struct workbench_options options = {
		.n_sources = SOURCES,
		.packing = PACKING,
		.slots = SLOTS,
		.slot_size = 65536,
		.guarded = true,
	};
	struct harm *harm = calloc(1, sizeof(*harm));
	unsigned result;

	assert_non_null(harm);
	harm->kind = kind;
	harm->random = random_fork(rate, kind);
	workbench_open(&harm->bench, &options);
	for (unsigned event = 0; event < EVENTS; event++)
		for (unsigned i = 0; i < SOURCES; i++)
			harm->blocks[event][i] = block_mfp(&harm->bench, i, id_of(event), PACKING);
	make_arrivals(harm);
	run_through(harm, rate);
	workbench_check(&harm->bench);
	result = EVENTS - harm->n_complete;
	print_message("%s, %u packets/s: %u of %u events lost, %u others published\n", names[kind],
		      rate * 500, result, EVENTS, harm->n_others);
	for (unsigned event = 0; event < EVENTS; event++)
		for (unsigned i = 0; i < SOURCES; i++)
			block_free(&harm->blocks[event][i]);
	free(harm->arrivals);
	workbench_close(&harm->bench);
	free(harm);
	return result;
}

// 0, 1000, 5000, 20 000 and 100 000 forged packets per second beside 500 events per second.
static void forged__segments_cost_less_than_one_percent(void **state)
{
	static const unsigned rates[] = { 0, 2, 10, 40, 200 };
	unsigned n_bad = 0;

	(void)state;
	for (enum kind kind = 0; kind < KINDS; kind++)
		for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
			n_bad += lost(kind, rates[i]) * 100 >= (rates[i] == 0 ? 1 : EVENTS);
	assert_int_equal(n_bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forged__segments_cost_less_than_one_percent),
	};

	return cmocka_run_group_tests_name("harm", tests, NULL, NULL);
}
