// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "record/decision_input.h"

#include <errno.h>
#include <stdlib.h>

#include "evring/evb_reader.h"
#include "evring/evb_results.h"
#include "evring/reader_watch.h"
#include "packet/decision_queue.h"

#define MOST_BLOCKS 256u       // that are held
#define OPEN_NS     100000000u // between two attempts to open the ring

struct block {
	struct evb_event event;
	struct evb_results results;
	struct evb_result next; // valid while `has_next`
	bool has_next;
	uint64_t end; // index behind the last event that was passed on
};

struct decision_input {
	struct decision_input_parameters parameters;
	struct evb_reader *reader; // NULL: the ring is not open
	bool is_over;              // no further block comes from the open ring
	bool has_ended;            // the last ring ended in order, and all of it was passed on
	uint64_t tried_ns;
	unsigned n; // blocks that are held
	struct block blocks[MOST_BLOCKS];
};

struct decision_input *decision_input_create(const struct decision_input_parameters *parameters)
{
	struct decision_input *input = calloc(1, sizeof(*input));

	if (input != NULL)
		input->parameters = *parameters;
	return input;
}

uint64_t decision_input_memory(void)
{
	return sizeof(struct decision_input);
}

static bool open_ring(struct decision_input *input, uint64_t now_ns)
{
	const struct evb_reader_options options = {
		.mode = EVB_READER_GROUP,
		.group = input->parameters.group,
		.directory = input->parameters.directory,
	};

	if (input->tried_ns != 0 && now_ns - input->tried_ns < OPEN_NS)
		return false;
	input->tried_ns = now_ns;
	if (evb_reader_open(&input->reader, input->parameters.ring, &options) == 0) {
		input->is_over = input->has_ended = false;
		return true;
	}
	evb_reader_close(input->reader);
	input->reader = NULL;
	return false;
}

static struct decision_result result_of_record(const struct evb_result *record)
{
	return (struct decision_result){
		.event_id = record->event_id,
		.lines = record->lines,
		.tag = record->tag,
		.decide_us = record->decide_us,
		.builder = record->builder,
		.decider = record->member,
		.flags = record->flags & (EVB_RESULT_ACCEPTED | EVB_RESULT_UNDECIDED),
	};
}

// Passes on the next decision of a block. Returns false if there is no room in the window. An event
// about which nobody decided in time is left to the timeout here.
static bool pass_next(struct block *block, struct decision_order *order, uint32_t packing,
		      uint64_t now_ns)
{
	const struct decision_result result = result_of_record(&block->next);
	const uint64_t end = result.event_id / packing + 1;
	const uint64_t next = decision_order_next(order);

	if ((block->next.flags & EVB_RESULT_TIMED_OUT) != 0)
		return true;
	if (!decision_order_decide(order, &result, now_ns))
		return false;
	// A farther id is that of no event.
	if (end > block->end && (end <= next || end - next <= DECISION_FARTHEST))
		block->end = end;
	return true;
}

// Passes on at most `most` decisions of a block.
static unsigned pass_on(struct block *block, struct decision_order *order, uint32_t packing,
			uint64_t now_ns, unsigned most)
{
	unsigned n = 0;

	while (block->has_next && n < most && pass_next(block, order, packing, now_ns)) {
		block->has_next = evb_results_next(&block->results, &block->next);
		n++;
	}
	return n;
}

// Reads the header of a block, or refuses the block.
static void begin_block(const struct decision_input *input, struct block *block,
			struct decision_order *order)
{
	const struct decision_input_parameters *p = &input->parameters;

	block->end = 0;
	block->has_next = false;
	if (evb_results_open(&block->results, block->event.data, block->event.length) != 0) {
		decision_order_refuse(order);
		return;
	}
	if (block->results.run_number != p->run_number || block->results.packing != p->packing) {
		while (evb_results_next(&block->results, &block->next))
			decision_order_refuse(order);
		return;
	}
	block->has_next = evb_results_next(&block->results, &block->next);
}

// Closes a ring that is over when all its blocks are released.
static void close_ring(struct decision_input *input)
{
	for (unsigned i = 0; i < input->n; i++)
		if (input->blocks[i].has_next)
			return;
	input->has_ended = evb_reader_has_ended(input->reader);
	if (input->n > 0)
		return;
	evb_reader_close(input->reader);
	input->reader = NULL;
}

unsigned decision_input_take(struct decision_input *input, struct decision_order *order,
			     uint64_t now_ns, unsigned most)
{
	const uint32_t packing = input->parameters.packing;
	unsigned n = 0;

	if (input->reader == NULL && !open_ring(input, now_ns))
		return 0;
	// Blocks that a dead process held come in any order, so that one without room in the window
	// must not hold back those behind it.
	for (unsigned i = 0; i < input->n && n < most; i++)
		n += pass_on(&input->blocks[i], order, packing, now_ns, most - n);
	while (n < most && input->n < MOST_BLOCKS && !input->is_over) {
		struct block *block = &input->blocks[input->n];
		const int rc = evb_reader_next(input->reader, &block->event, 0);

		input->is_over = rc == -EPIPE;
		if (rc != 1)
			break;
		input->n++;
		begin_block(input, block, order);
		n += pass_on(block, order, packing, now_ns, most - n);
	}
	if (input->is_over)
		close_ring(input);
	return n;
}

void decision_input_release(struct decision_input *input, uint64_t index)
{
	unsigned left = 0;

	for (unsigned i = 0; i < input->n; i++) {
		const struct block *block = &input->blocks[i];

		if (!block->has_next && block->end <= index)
			(void)evb_reader_release(input->reader, &block->event); // it holds it
		else if (left++ != i)
			input->blocks[left - 1] = *block;
	}
	input->n = left;
}

bool decision_input_has_ended(const struct decision_input *input)
{
	return input->has_ended;
}

bool decision_input_is_open(const struct decision_input *input)
{
	return input->reader != NULL;
}

void decision_input_destroy(struct decision_input *input)
{
	if (input == NULL)
		return;
	evb_reader_close(input->reader);
	free(input);
}
