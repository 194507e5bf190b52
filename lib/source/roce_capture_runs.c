// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/roce_capture_runs.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_TURN ((uint64_t)1 << 32) // so that numbers before the first are not negative
#define GAP        2u                  // between the numbers of two runs

// The first record with a number.
struct place {
	uint64_t number;
	uint32_t stream;
	size_t record;
};

static int by_number(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return 0;
}

// The record at which a record's number is; the record itself if there was none. NULL if memory ran
// out.
static const struct roce_record *place(void **numbers, const struct roce_reading *reading,
				       size_t record)
{
	const struct roce_record *at = &reading->records[record];
	struct place *made = malloc(sizeof(*made));
	struct place **found = NULL;

	if (made != NULL) {
		*made = (struct place){ at->number, at->stream, record };
		found = tsearch(made, numbers, by_number);
	}
	if (found == NULL || *found != made)
		free(made);
	return found != NULL ? &reading->records[(*found)->record] : NULL;
}

static void take_away(void **numbers, const struct roce_reading *reading, size_t record)
{
	const struct roce_record *at = &reading->records[record];
	const struct place key = { at->number, at->stream, record };
	struct place **found = tfind(&key, numbers, by_number), *made;

	if (found == NULL || (*found)->record != record)
		return;
	made = *found;
	tdelete(&key, numbers, by_number);
	free(made);
}

static bool is_same(const struct roce_reading *reading, const struct roce_record *a,
		    const struct roce_record *b)
{
	return a->flags == b->flags && a->size == b->size && a->immediate == b->immediate &&
	       a->address == b->address &&
	       memcmp(reading->bytes + a->at, reading->bytes + b->at, a->size) == 0;
}

// Makes a run of the consecutive packets that end with `last`.
static bool begin_run(struct roce_runs *runs, void **numbers, struct roce_reading *reading,
		      size_t last)
{
	struct roce_record *records = reading->records;
	size_t first = last;
	uint64_t added;

	while (records[first].n_previous > 0 &&
	       records[records[first].n_previous - 1].number + 1 == records[first].number)
		first = records[first].n_previous - 1;
	added = runs->top + GAP - records[first].number;
	for (size_t i = last;; i = records[i].n_previous - 1) {
		take_away(numbers, reading, i);
		records[i].number += added;
		if (place(numbers, reading, i) == NULL)
			return false;
		if (i == first)
			break;
	}
	runs->shift += added;
	runs->top = records[last].number;
	runs->newest = records[last].number - runs->shift;
	return true;
}

static uint64_t number_of(struct roce_runs *runs, uint32_t psn, bool ordered)
{
	uint64_t number;

	if (runs->newest == 0)
		runs->newest = FIRST_TURN + psn;
	else if (!ordered)
		runs->newest++;
	if (!ordered)
		return runs->newest;
	number = (uint64_t)((int64_t)runs->newest +
			    roce_psn_diff(psn, (uint32_t)runs->newest & ROCE_24_BITS));
	if (number > runs->newest)
		runs->newest = number;
	return number;
}

bool roce_runs_add(struct roce_runs *runs, void **numbers, struct roce_reading *reading,
		   uint32_t psn, bool ordered)
{
	size_t last = reading->n_records - 1;
	struct roce_record *record = &reading->records[last];
	const struct roce_record *earlier;

	record->number = number_of(runs, psn, ordered) + runs->shift;
	record->n_previous = runs->n_previous;
	runs->n_previous = last + 1;
	if (!ordered)
		return true;
	earlier = place(numbers, reading, last);
	if (earlier == NULL)
		return false;
	if (record->number > runs->top)
		runs->top = record->number;
	return earlier == record || is_same(reading, earlier, record) ||
	       begin_run(runs, numbers, reading, last);
}

void roce_runs_fini(void **numbers)
{
	tdestroy(*numbers, free);
	*numbers = NULL;
}
