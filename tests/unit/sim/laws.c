// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "laws.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool law_near(const char *what, double value, double expected, double share,
	      char message[LAW_MESSAGE])
{
	snprintf(message, LAW_MESSAGE, "%s: %g, expected %g within %g %%", what, value, expected,
		 share * 100);
	return fabs(value - expected) <= share * expected;
}

bool law_equal(const char *what, uint64_t value, uint64_t expected, char message[LAW_MESSAGE])
{
	snprintf(message, LAW_MESSAGE, "%s: %" PRIu64 ", expected %" PRIu64, what, value, expected);
	return value == expected;
}

const struct law *law_find(const char *name)
{
	const struct {
		const struct law *laws;
		size_t n;
	} groups[] = { { laws_of_queues, n_laws_of_queues },
		       { laws_of_switches, n_laws_of_switches },
		       { laws_of_links, n_laws_of_links },
		       { laws_of_routes, n_laws_of_routes },
		       { laws_of_buffers, n_laws_of_buffers } };

	for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++) {
		for (size_t i = 0; i < groups[group].n; i++) {
			if (strcmp(groups[group].laws[i].name, name) == 0)
				return &groups[group].laws[i];
		}
	}
	return NULL;
}
