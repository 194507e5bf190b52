// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A histogram of times in nanoseconds. Each power of two is divided into 8 equal bins, so that a
// quantile is at most 12.5 % too high. The range is 0 to 2^40 ns (18 minutes); larger values count
// in the last bin.
//
// One thread writes; any thread may read at the same time, and no bin is torn.
#pragma once

#include <stdint.h>

#define HISTOGRAM_PARTS_LOG2 3
#define HISTOGRAM_PARTS      (1u << HISTOGRAM_PARTS_LOG2)
#define HISTOGRAM_MAX_LOG2   40
#define HISTOGRAM_BINS       ((HISTOGRAM_MAX_LOG2 - HISTOGRAM_PARTS_LOG2 + 1) * HISTOGRAM_PARTS)

struct histogram {
	uint64_t bins[HISTOGRAM_BINS];
	uint64_t sum; // ns
	uint64_t maximum;
};

static inline unsigned histogram_bin(uint64_t ns)
{
	unsigned log2, bin;

	if (ns < HISTOGRAM_PARTS)
		return (unsigned)ns;
	log2 = 63 - (unsigned)__builtin_clzll(ns);
	bin = (log2 - HISTOGRAM_PARTS_LOG2 + 1) * HISTOGRAM_PARTS +
	      (unsigned)((ns >> (log2 - HISTOGRAM_PARTS_LOG2)) & (HISTOGRAM_PARTS - 1));
	return bin < HISTOGRAM_BINS ? bin : HISTOGRAM_BINS - 1;
}

static inline void histogram_add(struct histogram *histogram, uint64_t ns)
{
	uint64_t *bin = &histogram->bins[histogram_bin(ns)];

	__atomic_store_n(bin, *bin + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&histogram->sum, histogram->sum + ns, __ATOMIC_RELAXED);
	if (ns > histogram->maximum)
		__atomic_store_n(&histogram->maximum, ns, __ATOMIC_RELAXED);
}

// The first value above the bin. bin < HISTOGRAM_BINS.
uint64_t histogram_bin_end(unsigned bin);

// Adds all of `from` to `to`, which only the calling thread uses.
void histogram_merge(struct histogram *to, const struct histogram *from);

uint64_t histogram_count(const struct histogram *histogram);

// The smallest bin end below which at least `share` (0 to 1) of the values lie, but at most the
// maximum value; 0 if the histogram is empty.
uint64_t histogram_quantile(const struct histogram *histogram, double share);
