// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A tournament tree: it finds the item with the smallest key in a set. An inner node holds the
// smaller key of its two children. A change of a key takes log2(items) steps. It does not end early
// where the smallest key of a subtree stays the same, because the processor often mispredicts such
// a branch, which costs more than the steps that it saves.
#pragma once

#include <stdint.h>

#define RANKING_OUT UINT64_MAX // the key of an item that is not in the set

struct ranking {
	uint32_t leaves; // a power of two
	uint64_t *least; // node 1 is the root; the children of node i are 2 i and 2 i + 1
};

static inline uint32_t ranking_leaves(uint32_t n_items)
{
	uint32_t leaves = 1;

	while (leaves < n_items)
		leaves *= 2;
	return leaves;
}

// Starts a ranking without items. `nodes` has room for 2 * ranking_leaves(n_items) keys.
static inline void ranking_start(struct ranking *ranking, uint64_t *nodes, uint32_t n_items)
{
	ranking->leaves = ranking_leaves(n_items);
	ranking->least = nodes;
	for (uint32_t i = 0; i < 2 * ranking->leaves; i++)
		nodes[i] = RANKING_OUT;
}

static inline uint64_t ranking_key(const struct ranking *ranking, uint32_t item)
{
	return ranking->least[ranking->leaves + item];
}

static inline void ranking_put(struct ranking *ranking, uint32_t item, uint64_t key)
{
	uint64_t *least = ranking->least;
	uint32_t i = ranking->leaves + item;

	least[i] = key;
	for (; i > 1; least[i] = key) {
		uint64_t other = least[i ^ 1];

		key = other < key ? other : key;
		i /= 2;
	}
}

// The smallest key, or RANKING_OUT if the set is empty.
static inline uint64_t ranking_least(const struct ranking *ranking)
{
	return ranking->least[1];
}

// The item with the smallest key; of equal keys, the item with the smallest number.
static inline uint32_t ranking_first(const struct ranking *ranking)
{
	uint64_t key = ranking->least[1];
	uint32_t i = 1;

	while (i < ranking->leaves) {
		i *= 2;
		i += ranking->least[i] != key;
	}
	return i - ranking->leaves;
}
