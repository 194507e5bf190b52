// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Counts the events of a stream of segments, their sizes, and how many are open at the same time.
//
// Threads: belongs to one thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct open_events;

struct open_events_result {
	uint64_t events;        // distinct event numbers
	uint64_t largest_open;  // largest number of events between their first and last segment
	uint64_t largest_event; // bytes, sum of the buffers of one event
	uint64_t step; // most frequent difference of neighbouring event numbers; 0: one event
};

// NULL if memory ran out.
struct open_events *open_events_new(unsigned n_sources);

// Adds the next segment of the stream, which belongs to a buffer of `length` bytes of a source.
// Returns 0, or -1 if memory ran out.
int open_events_add(struct open_events *events, uint64_t event_number, unsigned source,
		    uint32_t length);

// Computes the result; nothing can be added afterwards. Returns 0, or -1 if memory ran out.
int open_events_finish(struct open_events *events, struct open_events_result *result);

void open_events_free(struct open_events *events);
