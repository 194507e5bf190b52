// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "packet/copy_ahead.h"

#include <rte_common.h>
#include <rte_prefetch.h>

static inline void copy_line(uint8_t *to, const uint8_t *from)
{
	for (unsigned i = 0; i < RTE_CACHE_LINE_SIZE; i += 16)
		memcpy(to + i, from + i, 16);
}

// Copies n whole lines, and fetches as many from `later` on.
static inline void copy_lines(uint8_t *to, const uint8_t *from, size_t n, struct copy_next later)
{
	for (size_t i = 0; i < n * RTE_CACHE_LINE_SIZE; i += RTE_CACHE_LINE_SIZE) {
		rte_prefetch0(later.from + i);
		rte_prefetch0(later.to + i);
		copy_line(to + i, from + i);
	}
}

void copy_long(uint8_t *to, const uint8_t *from, size_t n, struct copy_next next)
{
	const size_t head = -(uintptr_t)to % RTE_CACHE_LINE_SIZE; // up to a line of the destination
	const size_t lines = (n - head) / RTE_CACHE_LINE_SIZE;
	const size_t distance = copy_always_ahead() ? COPY_AHEAD : COPY_AHEAD_MOST;
	const size_t ahead = RTE_MIN(lines, distance / RTE_CACHE_LINE_SIZE);
	const size_t own = (lines - ahead) * RTE_CACHE_LINE_SIZE;

	if (next.from == NULL)
		next.from = from + n;
	if (next.to == NULL)
		next.to = to + n;
	copy_line(to, from);
	copy_line(to + n - RTE_CACHE_LINE_SIZE, from + n - RTE_CACHE_LINE_SIZE);
	to += head;
	from += head;
	copy_lines(to, from, lines - ahead, (struct copy_next){ from + distance, to + distance });
	copy_lines(to + own, from + own, ahead, next);
}
