// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Whole runs with loss, duplicates, reordering and garbage against a plain model, which keeps each
// open event as maps of bytes and says of every segment what must become of it, and of every event
// what must be published.
#include "workbench.h"

#include <stdlib.h>
#include <string.h>

#include "wire/mfp.h"

#define SOURCES      5u
#define PACKING      4u
#define EVENTS       300u
#define SLOTS        1024u
#define SLOT_SIZE    8192u
#define LONGEST      2000u  // bytes of a block that can be placed
#define WINDOW       64u    // segments that the wire shuffles
#define MOST         40000u // segments of a run
#define AT_ONCE      16u    // events that one housekeeping closes
#define CLOSED_KEPT  65536u
#define HOUSEKEEPING 16u // segments between two

struct model_part {
	uint32_t length; // 0: nothing has come
	uint32_t have;
	uint8_t map[LONGEST];
	uint8_t bytes[LONGEST];
	unsigned order; // of becoming whole
};

struct model_event {
	uint64_t id;
	uint64_t opened;
	unsigned n_whole;
	struct model_part parts[SOURCES];
	struct model_event *next; // opened later
};

struct planned {
	uint64_t id;
	unsigned source;
	uint32_t offset, size;
	struct block block; // bytes are the event's own, or garbage
	bool owns_bytes;
};

struct run {
	struct workbench bench;
	struct random random;
	struct model_event *oldest;
	uint64_t closed[CLOSED_KEPT]; // id + 1
	uint64_t causes[SEGMENT_N_CAUSES + 1];
	uint64_t complete, incomplete;
	struct block blocks[EVENTS][SOURCES];
	struct planned planned[MOST];
	unsigned n_planned;
};

static bool chance(struct run *run, double probability)
{
	return random_uniform(&run->random) < probability;
}

// Fragments of the MFPs of an event: some events are short ones.
static unsigned fragments_of(unsigned event)
{
	return event % 17 == 16 ? 1 + event % PACKING : PACKING;
}

static void plan(struct run *run, uint64_t id, unsigned source, const struct block *block,
		 uint32_t offset, uint32_t size, bool owns_bytes)
{
	assert_true(run->n_planned < MOST);
	run->planned[run->n_planned++] =
	    (struct planned){ id, source, offset, size, *block, owns_bytes };
}

// Random bytes at a random place, of an event and a length that may or may not be known.
static void plan_garbage(struct run *run, unsigned event)
{
	bool known = chance(run, 0.5);
	uint64_t id = known ? event * PACKING : random_next(&run->random) % (4 * EVENTS * PACKING);
	unsigned source = random_next(&run->random) % SOURCES;
	uint32_t length = known && chance(run, 0.7) ? run->blocks[event][source].length
			  : chance(run, 0.9)        ? 1 + random_next(&run->random) % 600
						    : SLOT_SIZE + random_next(&run->random) % 9999;
	uint32_t offset = random_next(&run->random) % length;
	uint32_t size = 1 + random_next(&run->random) % (length - offset);
	struct block block = block_random(source, random_next(&run->random), length);

	plan(run, id, source, &block, offset, size, true);
}

static void plan_block(struct run *run, unsigned event, unsigned source, double loss)
{
	const struct block *block = &run->blocks[event][source];

	for (uint32_t offset = 0; offset < block->length;) {
		uint32_t size = 1 + random_next(&run->random) % 150;

		if (size > block->length - offset)
			size = block->length - offset;
		if (!chance(run, loss))
			plan(run, event * PACKING, source, block, offset, size, false);
		if (chance(run, loss))
			plan(run, event * PACKING, source, block, offset, size, false);
		offset += size;
	}
}

static void make_plan(struct run *run, double loss, double garbage)
{
	for (unsigned event = 0; event < EVENTS; event++) {
		for (unsigned source = 0; source < SOURCES; source++) {
			// Now and then a source that disagrees about the number of fragments.
			unsigned n = chance(run, loss / 10) ? 1 : fragments_of(event);

			run->blocks[event][source] =
			    block_mfp(&run->bench, source, event * PACKING, n);
		}
		for (unsigned source = 0; source < SOURCES; source++) {
			plan_block(run, event, source, loss);
			if (chance(run, garbage))
				plan_garbage(run, event);
		}
	}
	for (unsigned i = 0; loss > 0 && i + WINDOW < run->n_planned; i++) {
		unsigned other = i + random_next(&run->random) % WINDOW;
		struct planned one = run->planned[i];

		run->planned[i] = run->planned[other];
		run->planned[other] = one;
	}
}

static struct model_event *model_find(const struct run *run, uint64_t id)
{
	struct model_event *event = run->oldest;

	while (event != NULL && event->id != id)
		event = event->next;
	return event;
}

static struct model_event *model_open(struct run *run, uint64_t id)
{
	struct model_event *event = calloc(1, sizeof(*event)), **end = &run->oldest;

	assert_non_null(event);
	event->id = id;
	event->opened = run->bench.now;
	while (*end != NULL)
		end = &(*end)->next;
	*end = event;
	return event;
}

static enum segment_cause model_place(struct model_part *part, const struct planned *segment)
{
	uint32_t have = 0;

	if (part->length == 0) {
		if (segment->block.length > LONGEST)
			return SEGMENT_OVERSIZED;
		part->length = segment->block.length;
	}
	if (part->length != segment->block.length)
		return SEGMENT_LENGTH_MISMATCH;
	for (uint32_t i = 0; i < segment->size; i++)
		have += part->map[segment->offset + i];
	if (have == segment->size)
		return SEGMENT_DUPLICATE;
	if (have > 0)
		return SEGMENT_OVERLAPPING;
	memset(part->map + segment->offset, 1, segment->size);
	memcpy(part->bytes + segment->offset, segment->block.bytes + segment->offset,
	       segment->size);
	part->have += segment->size;
	return PLACED;
}

// The number of fragments of a whole block, 0 if it is no MFP of this event and source.
static unsigned model_fragments(const struct run *run, const struct model_event *event,
				unsigned source)
{
	const struct model_part *part = &event->parts[source];
	struct mfp mfp;

	if (mfp_decode(part->bytes, part->length, &mfp) != WIRE_OK ||
	    mfp.header.packet_size != part->length || mfp.header.event_id != event->id ||
	    mfp.header.source_id != run->bench.sources->ids[source] ||
	    mfp.header.n_fragments > PACKING)
		return 0;
	return mfp.header.n_fragments;
}

static bool model_is_whole(const struct model_part *part)
{
	return part->length > 0 && part->have == part->length;
}

// What must be published of an event.
static unsigned judge(const struct run *run, const struct model_event *event,
		      enum workbench_content *contents)
{
	unsigned n_fragments[SOURCES], right = 0, first = UINT32_MAX;

	for (unsigned i = 0; i < SOURCES; i++) {
		const struct model_part *part = &event->parts[i];

		contents[i] = model_is_whole(part) ? CONTENT_DATA : CONTENT_MISSING;
		if (contents[i] == CONTENT_MISSING)
			continue;
		n_fragments[i] = model_fragments(run, event, i);
		if (n_fragments[i] == 0)
			contents[i] = CONTENT_MALFORMED;
		else if (right != PACKING && (n_fragments[i] == PACKING || part->order < first)) {
			first = part->order;
			right = n_fragments[i];
		}
	}
	for (unsigned i = 0; i < SOURCES; i++)
		if (contents[i] == CONTENT_DATA && n_fragments[i] != right)
			contents[i] = CONTENT_MALFORMED;
	return right == 0 ? PACKING : right;
}

// The event is closed: it must be published now, and as the model says.
static void close_and_compare(struct run *run, struct model_event *event)
{
	enum workbench_content contents[SOURCES];
	unsigned n = judge(run, event, contents), n_bad = 0;
	struct evb_event built = workbench_take(&run->bench);
	struct model_event **link = &run->oldest;
	uint32_t flags = 0;

	assert_int_equal(built.event_id, event->id);
	for (unsigned i = 0; i < SOURCES; i++) {
		const struct block block = { event->parts[i].length, event->parts[i].bytes };

		workbench_assert_content(&run->bench, &built, i, contents[i], &block, n);
		n_bad += contents[i] != CONTENT_DATA;
		flags |= contents[i] == CONTENT_MALFORMED ? EVB_EVENT_MALFORMED : 0;
	}
	assert_int_equal(built.n_missing, n_bad);
	assert_int_equal(built.flags, flags | (n_bad > 0 ? EVB_EVENT_INCOMPLETE : 0));
	run->complete += n_bad == 0;
	run->incomplete += n_bad > 0;
	workbench_release(&run->bench, &built);
	run->closed[event->id / PACKING % CLOSED_KEPT] = event->id + 1;
	while (*link != event)
		link = &(*link)->next;
	*link = event->next;
	free(event);
}

static void send_segment(struct run *run, const struct planned *segment)
{
	struct model_event *event = model_find(run, segment->id);
	enum segment_cause expected = SEGMENT_LATE, cause;

	if (event == NULL && run->closed[segment->id / PACKING % CLOSED_KEPT] != segment->id + 1)
		event = model_open(run, segment->id);
	if (event != NULL)
		expected = model_place(&event->parts[segment->source], segment);
	cause = workbench_send(&run->bench, segment->source, segment->id, &segment->block,
			       segment->offset, segment->size);
	assert_int_equal(cause, expected);
	run->causes[cause]++;
	if (expected != PLACED || !model_is_whole(&event->parts[segment->source]))
		return;
	event->parts[segment->source].order = event->n_whole++;
	if (event->n_whole == SOURCES)
		close_and_compare(run, event);
}

static void housekeep(struct run *run)
{
	assembly_housekeep(run->bench.assembly, run->bench.now, 0);
	for (unsigned i = 0; i < AT_ONCE && run->oldest != NULL; i++) {
		if (run->bench.now - run->oldest->opened < WORKBENCH_DEADLINE)
			break;
		close_and_compare(run, run->oldest);
	}
	workbench_take_none(&run->bench);
	// The first reclaims what was released; time does not move.
	assembly_reclaim(run->bench.assembly, run->bench.now);
}

static struct run *start_run(uint64_t seed, double loss, double garbage)
{
	const struct workbench_options options = {
		.n_sources = SOURCES,
		.packing = PACKING,
		.slots = SLOTS,
		.slot_size = SLOT_SIZE,
	};
	struct run *run = calloc(1, sizeof(*run));

	assert_non_null(run);
	workbench_open(&run->bench, &options);
	run->random = random_fork(seed, 3);
	make_plan(run, loss, garbage);
	return run;
}

static void finish_run(struct run *run)
{
	while (run->oldest != NULL) {
		run->bench.now += WORKBENCH_DEADLINE;
		housekeep(run);
	}
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		assert_int_equal(counters_of(&run->bench)->drops[i], run->causes[i]);
	assert_int_equal(counters_of(&run->bench)->placed, run->causes[PLACED]);
	assert_int_equal(counters_of(&run->bench)->segments, run->n_planned);
	assert_int_equal(counters_of(&run->bench)->events_complete, run->complete);
	assert_int_equal(counters_of(&run->bench)->events_incomplete, run->incomplete);
	for (unsigned i = 0; i < run->n_planned; i++)
		if (run->planned[i].owns_bytes)
			block_free(&run->planned[i].block);
	for (unsigned i = 0; i < EVENTS * SOURCES; i++)
		block_free(&run->blocks[i / SOURCES][i % SOURCES]);
	workbench_close(&run->bench);
	free(run);
}

static void run_through(struct run *run)
{
	for (unsigned i = 0; i < run->n_planned; i++) {
		run->bench.now += 2;
		send_segment(run, &run->planned[i]);
		if (i % HOUSEKEEPING == 0)
			housekeep(run);
		if (i % 1024 == 0)
			workbench_check(&run->bench);
	}
}

static void run__without_faults(void **state)
{
	struct run *run = start_run(1, 0, 0);

	(void)state;
	run_through(run);
	assert_int_equal(run->complete, EVENTS);
	assert_int_equal(run->incomplete, 0);
	assert_int_equal(run->causes[PLACED], run->n_planned);
	finish_run(run);
}

static void run__with_loss_duplicates_and_reordering(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 5; seed++) {
		struct run *run = start_run(seed, 0.01, 0);

		run_through(run);
		assert_true(run->complete > EVENTS / 3);
		assert_true(run->causes[SEGMENT_DUPLICATE] + run->causes[SEGMENT_LATE] > 20);
		finish_run(run);
	}
}

static void run__with_garbage_too(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 5; seed++) {
		struct run *run = start_run(100 + seed, 0.01, 0.3);

		run_through(run);
		assert_true(run->complete > EVENTS / 10);
		assert_true(run->causes[SEGMENT_LENGTH_MISMATCH] > 10);
		assert_true(run->causes[SEGMENT_OVERLAPPING] > 10);
		assert_true(run->causes[SEGMENT_OVERSIZED] > 10);
		finish_run(run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run__without_faults),
		cmocka_unit_test(run__with_loss_duplicates_and_reordering),
		cmocka_unit_test(run__with_garbage_too),
	};

	return cmocka_run_group_tests_name("assembly_random", tests, NULL, NULL);
}
