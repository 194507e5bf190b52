// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Events of a stream of segments: how many there are, how large, and how many are open at a time.
//
// Threads: belongs to one thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct open_events;

struct open_events_result {
	uint64_t events;        // distinct event numbers
	uint64_t largest_open;  // most events between their first and last segment at a time
	uint64_t largest_event; // bytes, sum of an event's buffers
	uint64_t step; // most frequent difference of neighbouring event numbers; 0: one event
};

// NULL if memory ran out.
struct open_events *open_events_new(unsigned n_sources);

// Notes the stream's next segment: of a buffer of `length` bytes of a source. -1: out of memory.
int open_events_add(struct open_events *events, uint64_t event_number, unsigned source,
		    uint32_t length);

// Counts what was noted; nothing can be added afterwards. -1: out of memory.
int open_events_finish(struct open_events *events, struct open_events_result *result);

void open_events_free(struct open_events *events);
