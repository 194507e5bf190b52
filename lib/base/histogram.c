// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "base/histogram.h"

#include <math.h>

uint64_t histogram_bin_end(unsigned bin)
{
	unsigned group = bin / HISTOGRAM_PARTS, part = bin % HISTOGRAM_PARTS;

	if (group == 0)
		return part + 1;
	return ((uint64_t)HISTOGRAM_PARTS + part + 1) << (group - 1);
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	uint64_t maximum = __atomic_load_n(&from->maximum, __ATOMIC_RELAXED);

	for (unsigned i = 0; i < HISTOGRAM_BINS; i++)
		to->bins[i] += __atomic_load_n(&from->bins[i], __ATOMIC_RELAXED);
	to->sum += __atomic_load_n(&from->sum, __ATOMIC_RELAXED);
	if (maximum > to->maximum)
		to->maximum = maximum;
}

uint64_t histogram_count(const struct histogram *histogram)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < HISTOGRAM_BINS; i++)
		count += __atomic_load_n(&histogram->bins[i], __ATOMIC_RELAXED);
	return count;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
	uint64_t count = histogram_count(histogram), below = 0;
	uint64_t wanted = (uint64_t)ceil(share * (double)count);

	if (count == 0)
		return 0;
	for (unsigned i = 0; i < HISTOGRAM_BINS; i++) {
		below += __atomic_load_n(&histogram->bins[i], __ATOMIC_RELAXED);
		if (below >= wanted && below > 0) {
			uint64_t end = histogram_bin_end(i);
			uint64_t maximum = __atomic_load_n(&histogram->maximum, __ATOMIC_RELAXED);

			return end < maximum ? end : maximum;
		}
	}
	return __atomic_load_n(&histogram->maximum, __ATOMIC_RELAXED);
}
