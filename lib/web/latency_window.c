// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "web/latency_window.h"

#include <stdio.h>
#include <string.h>

static double number(const cJSON *keys, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(keys, key);

	return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

void latency_counts_take(struct latency_counts *counts, const cJSON *snapshot, const char *key)
{
	const cJSON *builders = cJSON_GetObjectItemCaseSensitive(snapshot, "builder"), *builder;
	char bound[32];

	memset(counts, 0, sizeof(*counts));
	cJSON_ArrayForEach(builder, builders)
	{
		const cJSON *histogram = cJSON_GetObjectItemCaseSensitive(builder, key);

		for (unsigned i = 0; i < LATENCY_WINDOW_BOUNDS; i++) {
			snprintf(bound, sizeof(bound), "le_%llu", 1ull << i);
			counts->below[i] += number(histogram, bound);
		}
		counts->all += number(histogram, "inf");
		if (number(histogram, "max") > counts->most)
			counts->most = number(histogram, "max");
	}
}

static double at_most(double value, double most)
{
	return most > 0 && value > most ? most : value;
}

double latency_window_quantile(const struct latency_counts *before,
			       const struct latency_counts *after, double share)
{
	double all = after->all - before->all, wanted = share * all, low = 0, below = 0;

	if (all <= 0)
		return -1;
	for (unsigned i = 0; i < LATENCY_WINDOW_BOUNDS; i++) {
		double bound = (double)(1ull << i);
		double here = after->below[i] - before->below[i];

		if (here >= wanted && here > below)
			return at_most(low + (bound - low) * (wanted - below) / (here - below),
				       after->most);
		low = bound;
		below = here;
	}
	return at_most(low, after->most); // beyond the range
}
