// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Decisions of another evb: takes them from the event ring to which that one writes its results
// (record/decision_stream.h). The ring need not exist yet, and may end and be made again.
//
// A block is released when the results of all its decisions are written, so that the next process
// receives it again if this one dies. Blocks of another run, or with event ids of another packing,
// are refused: each of their decisions is counted as late.
//
// One thread. The functions make system calls.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/decision_order.h"

struct decision_input_parameters {
	const char *ring;      // name of the event ring
	const char *group;     // to be joined there
	const char *directory; // of the ring's files; NULL: it is searched for
	uint32_t run_number;
	uint32_t packing;
};

struct decision_input;

// The strings must outlive the input. Returns NULL if memory ran out.
struct decision_input *decision_input_create(const struct decision_input_parameters *parameters);
// The bytes that decision_input_create() allocates.
uint64_t decision_input_memory(void);

// Passes on at most `most` decisions, while the window of the order has room for them. Returns
// their number.
unsigned decision_input_take(struct decision_input *input, struct decision_order *order,
			     uint64_t now_ns, unsigned most);

// The results of all events below this index (event id / packing) are written.
void decision_input_release(struct decision_input *input, uint64_t index);

// Whether the run of the other evb has ended in order, and all its decisions have been passed on.
bool decision_input_has_ended(const struct decision_input *input);

// Whether the ring is open.
bool decision_input_is_open(const struct decision_input *input);

// Returns what is not released to the group. NULL is allowed.
void decision_input_destroy(struct decision_input *input);
