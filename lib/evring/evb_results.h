// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reads the decisions of a filter, in the order of event ids, from one block: a block of an event
// ring of results ("to": "ring"), a UDP datagram, or a whole file of decisions.
//
//     struct evb_results results;
//     struct evb_result result;
//
//     while (evb_reader_next(reader, &event, -1) == 1) { // of the ring of this name
//         if (evb_results_open(&results, event.data, event.length) == 0)
//             while (evb_results_next(&results, &result))
//                 if (result.flags & EVB_RESULT_ACCEPTED)
//                     use(result.event_id);
//         evb_reader_release(reader, &event);
//     }
//
// The functions read no byte outside of the block, whatever it contains. Nothing is to be linked.
//
// Format: evb's docs/formats.md, "Decisions".
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// Flags of a result.
#define EVB_RESULT_ACCEPTED  0x1u
#define EVB_RESULT_UNDECIDED 0x2u // a consumer released the event without a decision
#define EVB_RESULT_TIMED_OUT 0x4u // nobody decided in time

#define EVB_RESULT_SIZE 32u // bytes of the header, and of a record

// The block. `next` and `n` change with each record that is read.
struct evb_results {
	uint32_t run_number;
	uint32_t packing;    // difference of the ids of consecutive built events
	uint64_t first;      // number of the first record, counted from the start of the run
	size_t n;            // records that are left
	const uint8_t *next; // for evb_results_next()
};

// The decision about one built event.
struct evb_result {
	uint64_t event_id;
	uint64_t lines;     // as the consumer gave them: bit n: line n selected the event
	uint32_t tag;       // as the consumer gave it
	uint32_t decide_us; // microseconds from the event's completion; UINT32_MAX: not decided
	uint16_t builder;   // that built the event
	uint8_t member;     // that decided, by its number in the builder's ring
	uint8_t flags;      // EVB_RESULT_...
};

// Little-endian number of `size` bytes, 8 at most.
static inline uint64_t evb_results_number(const uint8_t *at, size_t size)
{
	uint64_t number = 0;

	while (size-- > 0)
		number = number << 8 | at[size];
	return number;
}

// Reads the header of the block in `length` bytes. A part of a record at the end does not count.
// Returns 0, or -EBADMSG, and no record follows, if these are no decisions, or of another version.
static inline int evb_results_open(struct evb_results *results, const void *data, size_t length)
{
	const uint8_t *at = (const uint8_t *)data;

	memset(results, 0, sizeof(*results));
	if (length < EVB_RESULT_SIZE || memcmp(at, "EVBDECID", 8) != 0 ||
	    evb_results_number(at + 8, 4) != 1 || evb_results_number(at + 12, 4) != EVB_RESULT_SIZE)
		return -EBADMSG;
	results->run_number = (uint32_t)evb_results_number(at + 16, 4);
	results->packing = (uint32_t)evb_results_number(at + 20, 4);
	results->first = evb_results_number(at + 24, 8);
	results->n = length / EVB_RESULT_SIZE - 1;
	results->next = at + EVB_RESULT_SIZE;
	return 0;
}

// Reads the next record. False after the last one.
static inline bool evb_results_next(struct evb_results *results, struct evb_result *result)
{
	const uint8_t *at = results->next;

	if (results->n == 0)
		return false;
	result->event_id = evb_results_number(at, 8);
	result->lines = evb_results_number(at + 8, 8);
	result->tag = (uint32_t)evb_results_number(at + 16, 4);
	result->decide_us = (uint32_t)evb_results_number(at + 20, 4);
	result->builder = (uint16_t)evb_results_number(at + 24, 2);
	result->member = at[26];
	result->flags = at[27];
	results->next = at + EVB_RESULT_SIZE;
	results->n--;
	return true;
}

#ifdef __cplusplus
}
#endif
