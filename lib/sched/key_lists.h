// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Items sorted into lists by a small key, each in the order in which they came to it.
//
// Threads: belongs to one thread.
#pragma once

#include <stdint.h>

#include "sched/bitmap.h"
#include "sched/carver.h"

struct key_lists {
	struct bitmap keys; // that have items
	uint32_t *first;    // of each key
	uint32_t *next;     // of each item: circular
	uint32_t *previous;
	uint32_t *key; // of each item that is in a list
};

static inline void key_lists_layout(struct key_lists *lists, struct carver *carver,
				    uint32_t n_items, uint32_t n_keys)
{
	bitmap_layout(&lists->keys, carver, n_keys);
	lists->first = carve(carver, n_keys, sizeof(*lists->first));
	lists->next = carve(carver, n_items, sizeof(*lists->next));
	lists->previous = carve(carver, n_items, sizeof(*lists->previous));
	lists->key = carve(carver, n_items, sizeof(*lists->key));
}

static inline void key_lists_add(struct key_lists *lists, uint32_t item, uint32_t key)
{
	lists->key[item] = key;
	if (!bitmap_test(&lists->keys, key)) {
		bitmap_set(&lists->keys, key);
		lists->first[key] = item;
		lists->next[item] = item;
		lists->previous[item] = item;
	} else {
		uint32_t first = lists->first[key], last = lists->previous[first];

		lists->next[last] = item;
		lists->previous[item] = last;
		lists->next[item] = first;
		lists->previous[first] = item;
	}
}

static inline void key_lists_remove(struct key_lists *lists, uint32_t item)
{
	uint32_t key = lists->key[item], next = lists->next[item];

	if (next == item) {
		bitmap_clear(&lists->keys, key);
		return;
	}
	lists->next[lists->previous[item]] = next;
	lists->previous[next] = lists->previous[item];
	if (lists->first[key] == item)
		lists->first[key] = next;
}
