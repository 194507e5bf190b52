// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "base/spelling.h"

#include <stddef.h>
#include <string.h>

#define TOO_FAR 4u

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;
	return least < c ? least : c;
}

// b has at most SPELLING_MOST characters.
static unsigned distance(const char *a, const char *b)
{
	unsigned row[SPELLING_MOST + 1];
	size_t n_b = strlen(b);

	for (unsigned j = 0; j <= n_b; j++)
		row[j] = j;
	for (unsigned i = 0; a[i]; i++) {
		unsigned diagonal = row[0];
		row[0] = i + 1;
		for (unsigned j = 1; j <= n_b; j++) {
			unsigned above = row[j];
			row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[n_b];
}

void spelling_compare(struct spelling_nearest *nearest, const char *unknown, const char *known)
{
	unsigned far;

	if (strlen(unknown) > SPELLING_MOST)
		return;
	far = distance(known, unknown);
	if (far < (nearest->name ? nearest->distance : TOO_FAR) && far < strlen(known))
		*nearest = (struct spelling_nearest){ known, far };
}
