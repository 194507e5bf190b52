// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "readout/window_queue.h"

#include <stdlib.h>

#define NONE     UINT32_MAX
#define RETURNED 1u // entries for a grant that returns

struct window_queue_entry {
	struct message grant;
	struct packet_segment at;
	uint32_t next;
};

uint64_t window_queue_memory(uint32_t size, uint32_t n_positions)
{
	return ((uint64_t)size + RETURNED) * sizeof(struct window_queue_entry) +
	       n_positions * sizeof(struct window_queue_list);
}

bool window_queue_make(struct window_queue *queue, uint32_t size, uint32_t n_positions)
{
	*queue = (struct window_queue){
		.entries = calloc((size_t)size + RETURNED, sizeof(*queue->entries)),
		.lists = calloc(n_positions, sizeof(*queue->lists)),
		.size = size,
		.n_positions = n_positions,
	};
	if (queue->entries == NULL || queue->lists == NULL)
		return false;
	window_queue_clear(queue);
	return true;
}

void window_queue_free(struct window_queue *queue)
{
	free(queue->entries);
	free(queue->lists);
}

// Takes a free entry, of which there is one.
static uint32_t take_entry(struct window_queue *queue, const struct message *grant,
			   const struct packet_segment *at)
{
	const uint32_t index = queue->free;
	struct window_queue_entry *entry = &queue->entries[index];

	queue->free = entry->next;
	queue->n++;
	*entry = (struct window_queue_entry){ .grant = *grant, .at = *at, .next = NONE };
	return index;
}

bool window_queue_put(struct window_queue *queue, uint32_t position, const struct message *grant)
{
	const struct packet_segment at = { .event = grant->event };
	struct window_queue_list *list = &queue->lists[position];
	uint32_t index;

	if (queue->n >= queue->size)
		return false;
	index = take_entry(queue, grant, &at);
	if (list->first == NONE)
		list->first = index;
	else
		queue->entries[list->last].next = index;
	list->last = index;
	return true;
}

bool window_queue_take(struct window_queue *queue, uint32_t position, struct message *grant,
		       struct packet_segment *at)
{
	struct window_queue_list *list = &queue->lists[position];
	const uint32_t index = list->first;
	struct window_queue_entry *entry = &queue->entries[index == NONE ? 0 : index];

	if (index == NONE)
		return false;
	*grant = entry->grant;
	*at = entry->at;
	list->first = entry->next;
	entry->next = queue->free;
	queue->free = index;
	queue->n--;
	return true;
}

void window_queue_return(struct window_queue *queue, uint32_t position, const struct message *grant,
			 const struct packet_segment *at)
{
	struct window_queue_list *list = &queue->lists[position];
	const uint32_t index = take_entry(queue, grant, at);

	if (list->first == NONE)
		list->last = index;
	queue->entries[index].next = list->first;
	list->first = index;
}

void window_queue_clear(struct window_queue *queue)
{
	const uint32_t n = queue->size + RETURNED;

	for (uint32_t i = 0; i < n; i++)
		queue->entries[i].next = i + 1 < n ? i + 1 : NONE;
	for (uint32_t i = 0; i < queue->n_positions; i++)
		queue->lists[i] = (struct window_queue_list){ NONE, NONE };
	queue->free = 0;
	queue->n = 0;
}
