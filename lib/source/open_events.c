// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/open_events.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_key.h"

#define FIRST_CAPACITY 256u // events; a power of two
#define ABSENT         UINT32_MAX
#define BITS           8u

struct event {
	uint64_t number;
	uint64_t first, last; // places of its first and last segment in the stream
	uint64_t bytes;
};

struct open_events {
	struct event *events; // in the order of their first segments
	uint8_t *seen;        // a bitmap of sources for each event
	uint32_t *table;      // 2 * capacity places: hash of the number -> index of the event
	uint32_t n_events;
	uint32_t capacity; // of events and seen; a power of two
	size_t seen_size;  // bytes of one event's bitmap
	uint64_t n_segments;
	struct hash_key hash_key;
};

// The place of the number in the table, or the free place where it belongs.
static uint32_t *find(const struct open_events *events, uint64_t number)
{
	uint32_t mask = 2 * events->capacity - 1;
	uint32_t place = (uint32_t)hash_number(&events->hash_key, number) & mask;

	while (events->table[place] != ABSENT &&
	       events->events[events->table[place]].number != number)
		place = (place + 1) & mask;
	return &events->table[place];
}

static int grow(struct open_events *events, uint32_t capacity)
{
	struct event *grown;
	uint8_t *seen;
	uint32_t *table;

	if (!capacity || capacity > UINT32_MAX / 4)
		return -1;
	grown = realloc(events->events, capacity * sizeof(*grown));
	if (!grown)
		return -1;
	events->events = grown;
	seen = realloc(events->seen, capacity * events->seen_size);
	if (!seen)
		return -1;
	events->seen = seen;
	table = realloc(events->table, 2 * (size_t)capacity * sizeof(*table));
	if (!table)
		return -1;
	events->table = table;
	events->capacity = capacity;
	memset(table, 0xff, 2 * (size_t)capacity * sizeof(*table));
	for (uint32_t i = 0; i < events->n_events; i++)
		*find(events, grown[i].number) = i;
	return 0;
}

struct open_events *open_events_new(unsigned n_sources)
{
	struct open_events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	events->seen_size = n_sources / BITS + 1;
	events->hash_key = hash_key_draw();
	if (grow(events, FIRST_CAPACITY)) {
		open_events_free(events);
		return NULL;
	}
	return events;
}

int open_events_add(struct open_events *events, uint64_t event_number, unsigned source,
		    uint32_t length)
{
	uint32_t *place;
	struct event *event;
	uint8_t *seen, bit = (uint8_t)(1u << source % BITS);

	if (events->n_events == events->capacity && grow(events, 2 * events->capacity))
		return -1;
	place = find(events, event_number);
	if (*place == ABSENT) {
		*place = events->n_events;
		events->events[events->n_events] =
		    (struct event){ .number = event_number, .first = events->n_segments };
		memset(events->seen + events->n_events * events->seen_size, 0, events->seen_size);
		events->n_events++;
	}
	event = &events->events[*place];
	event->last = events->n_segments++;
	seen = events->seen + *place * events->seen_size + source / BITS;
	if (!(*seen & bit))
		event->bytes += length;
	*seen |= bit;
	return 0;
}

static int ascending(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

// first[] and last[] are ascending. An event opens at a first place and closes behind a last place.
static uint64_t largest_open(const uint64_t *first, const uint64_t *last, size_t n)
{
	uint64_t largest = 0;
	size_t closed = 0;

	for (size_t opened = 1; opened <= n; opened++) {
		while (last[closed] < first[opened - 1])
			closed++;
		if (opened - closed > largest)
			largest = opened - closed;
	}
	return largest;
}

// The most frequent of n ascending values.
static uint64_t most_frequent(const uint64_t *values, size_t n)
{
	uint64_t best = 0;
	size_t best_length = 0, start = 0;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && values[i] == values[start])
			continue;
		if (i - start > best_length) {
			best = values[start];
			best_length = i - start;
		}
		start = i;
	}
	return best;
}

// Overwrites the n numbers.
static uint64_t find_step(uint64_t *numbers, size_t n)
{
	qsort(numbers, n, sizeof(*numbers), ascending);
	for (size_t i = 0; i + 1 < n; i++)
		numbers[i] = numbers[i + 1] - numbers[i];
	qsort(numbers, n - 1, sizeof(*numbers), ascending);
	return most_frequent(numbers, n - 1);
}

int open_events_finish(struct open_events *events, struct open_events_result *result)
{
	size_t n = events->n_events;
	uint64_t *first = malloc((n + 1) * sizeof(*first));
	uint64_t *last = malloc((n + 1) * sizeof(*last));

	if (!first || !last) {
		free(first);
		free(last);
		return -1;
	}
	*result = (struct open_events_result){ .events = n };
	for (size_t i = 0; i < n; i++) {
		const struct event *event = &events->events[i];

		first[i] = event->first; // ascending by construction
		last[i] = event->last;
		if (event->bytes > result->largest_event)
			result->largest_event = event->bytes;
	}
	qsort(last, n, sizeof(*last), ascending);
	result->largest_open = largest_open(first, last, n);
	for (size_t i = 0; i < n; i++)
		first[i] = events->events[i].number;
	if (n > 1)
		result->step = find_step(first, n);
	free(first);
	free(last);
	return 0;
}

void open_events_free(struct open_events *events)
{
	if (!events)
		return;
	free(events->events);
	free(events->seen);
	free(events->table);
	free(events);
}
