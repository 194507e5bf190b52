// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "inspect/id_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Index of the first range that ends at id - 1 or later.
static size_t find(const struct id_ranges *ranges, uint64_t id)
{
	size_t low = 0, high = ranges->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->ranges[middle].last < id && ranges->ranges[middle].last + 1 < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int insert(struct id_ranges *ranges, size_t at, struct id_range range)
{
	if (ranges->n == ranges->capacity) {
		size_t capacity = ranges->capacity ? 2 * ranges->capacity : 4;
		struct id_range *more = realloc(ranges->ranges, capacity * sizeof(*ranges->ranges));

		if (!more)
			return -ENOMEM;
		ranges->ranges = more;
		ranges->capacity = capacity;
	}
	memmove(&ranges->ranges[at + 1], &ranges->ranges[at],
		(ranges->n - at) * sizeof(*ranges->ranges));
	ranges->ranges[at] = range;
	ranges->n++;
	return 0;
}

static uint64_t overlap(const struct id_range *a, const struct id_range *b)
{
	uint64_t first = a->first > b->first ? a->first : b->first;
	uint64_t last = a->last < b->last ? a->last : b->last;

	return first <= last ? last - first + 1 : 0;
}

int id_ranges_add(struct id_ranges *ranges, uint64_t first, uint64_t n, uint64_t *repeated)
{
	struct id_range added = { first, first + n - 1 < first ? UINT64_MAX : first + n - 1 };
	struct id_range merged = added;
	size_t begin = find(ranges, first), end = begin;

	*repeated = 0;
	while (end < ranges->n &&
	       (added.last == UINT64_MAX || ranges->ranges[end].first <= added.last + 1)) {
		const struct id_range *old = &ranges->ranges[end++];

		*repeated += overlap(&added, old);
		if (old->first < merged.first)
			merged.first = old->first;
		if (old->last > merged.last)
			merged.last = old->last;
	}
	if (begin == end)
		return insert(ranges, begin, merged);
	ranges->ranges[begin] = merged;
	memmove(&ranges->ranges[begin + 1], &ranges->ranges[end],
		(ranges->n - end) * sizeof(*ranges->ranges));
	ranges->n -= end - begin - 1;
	return 0;
}

void id_ranges_fini(struct id_ranges *ranges)
{
	free(ranges->ranges);
	*ranges = (struct id_ranges){ 0 };
}
