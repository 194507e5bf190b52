// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "inspect/id_ranges.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

// Ranges that overlap or follow one another without a gap are equal. So the order is one of the
// ranges in the tree, of which no two are equal.
static int compare(const void *left, const void *right)
{
	const struct id_range *a = left, *b = right;

	if (a->set != b->set)
		return a->set < b->set ? -1 : 1;
	if (a->last < b->first && b->first - a->last > 1)
		return -1;
	if (b->last < a->first && a->first - b->last > 1)
		return 1;
	return 0;
}

static uint64_t overlap(const struct id_range *a, const struct id_range *b)
{
	uint64_t first = a->first > b->first ? a->first : b->first;
	uint64_t last = a->last < b->last ? a->last : b->last;

	return first <= last ? last - first + 1 : 0;
}

int id_ranges_add(struct id_ranges *ranges, uint64_t set, uint64_t first, uint64_t n,
		  uint64_t *repeated)
{
	const struct id_range added = { set, first,
					first + n - 1 < first ? UINT64_MAX : first + n - 1 };
	struct id_range *merged = malloc(sizeof(*merged));
	struct id_range **found;

	*repeated = 0;
	if (!merged)
		return -ENOMEM;
	*merged = added;
	while ((found = tfind(&added, &ranges->tree, compare))) {
		struct id_range *old = *found;

		*repeated += overlap(&added, old);
		if (old->first < merged->first)
			merged->first = old->first;
		if (old->last > merged->last)
			merged->last = old->last;
		tdelete(old, &ranges->tree, compare);
		free(old);
	}
	if (tsearch(merged, &ranges->tree, compare))
		return 0;
	free(merged);
	return -ENOMEM;
}

// What id_ranges_walk() passes through twalk_r().
struct walk {
	void (*visit)(void *context, const struct id_range *range);
	void *context;
};

static void visit_node(const void *node, VISIT order, void *context)
{
	const struct walk *walk = context;

	if (order == postorder || order == leaf) // between the subtrees
		walk->visit(walk->context, *(const struct id_range *const *)node);
}

void id_ranges_walk(const struct id_ranges *ranges,
		    void (*visit)(void *context, const struct id_range *range), void *context)
{
	struct walk walk = { visit, context };

	twalk_r(ranges->tree, visit_node, &walk);
}

void id_ranges_fini(struct id_ranges *ranges)
{
	tdestroy(ranges->tree, free);
	ranges->tree = NULL;
}
