// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "client/latency_window.h"

#include <math.h>
#include <stdio.h>

// Histograms, summed.
struct counts {
	double below[LATENCY_WINDOW_BOUNDS]; // events that took less than 2^i ns
	double all;
	double longest; // ns, since the start; 0: unknown
};

static double number(const cJSON *keys, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(keys, key);

	return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

static void add(struct counts *counts, const cJSON *histogram)
{
	char bound[32];

	for (unsigned i = 0; i < LATENCY_WINDOW_BOUNDS; i++) {
		snprintf(bound, sizeof(bound), "le_%llu", 1ull << i);
		counts->below[i] += number(histogram, bound);
	}
	counts->all += number(histogram, "inf");
	counts->longest = fmax(counts->longest, number(histogram, "max"));
}

// Those of all builders.
static struct counts count(const struct reading *reading, const char *key)
{
	const cJSON *builders = cJSON_GetObjectItemCaseSensitive(reading->snapshot, "builder");
	const cJSON *builder;
	struct counts counts = { .all = 0 };

	cJSON_ArrayForEach(builder, builders)
	{
		add(&counts, cJSON_GetObjectItemCaseSensitive(builder, key));
	}
	return counts;
}

static double quantile(const struct counts *first, const struct counts *last, double share)
{
	double limit = last->longest > 0 ? last->longest : HUGE_VAL;
	double all = last->all - first->all, wanted = share * all, low = 0, below = 0;

	if (!(all > 0))
		return (double)NAN;
	for (unsigned i = 0; i < LATENCY_WINDOW_BOUNDS; i++) {
		double bound = (double)(1ull << i);
		double here = last->below[i] - first->below[i];

		if (here >= wanted && here > below)
			return fmin(low + (bound - low) * (wanted - below) / (here - below), limit);
		low = bound;
		below = here;
	}
	return fmin(low, limit); // beyond the range of the bounds
}

double latency_window_quantile(const struct reading *before, const struct reading *now,
			       const char *key, double share)
{
	const struct counts first = count(before, key), last = count(now, key);

	return quantile(&first, &last, share);
}

double latency_window_of(const cJSON *before, const cJSON *now, double share)
{
	struct counts first = { .all = 0 }, last = { .all = 0 };

	add(&first, before);
	add(&last, now);
	return quantile(&first, &last, share);
}
