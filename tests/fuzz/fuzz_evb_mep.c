// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as an event that a consumer iterates (evb_mep.h): what it gets lies inside, and of a
// MEP that passes the check of evb itself it gets every source and fragment.
#include "fuzz.h"

#include "evring/evb_mep.h"
#include "wire/mep.h"

static void check_inside(const struct evb_mep *mep, const void *at, size_t size)
{
	const uint8_t *begin = mep->data, *bytes = at;

	FUZZ_CHECK(bytes >= begin && bytes <= begin + mep->length);
	FUZZ_CHECK(size <= (size_t)(begin + mep->length - bytes));
}

// Returns the number of fragments.
static unsigned walk(const struct evb_mep *mep, struct evb_source *source)
{
	struct evb_fragment fragment;
	struct evb_odin odin;
	unsigned n = 0;

	check_inside(mep, source->data, source->length);
	check_inside(mep, source->payload, source->payload_length);
	FUZZ_CHECK(source->n_fragments == 0 || source->n_fragments == mep->n_events);
	while (evb_source_next(source, &fragment) == 1) {
		check_inside(mep, fragment.data, fragment.length);
		FUZZ_CHECK(fragment.event_id == mep->event_id + n);
		evb_odin_decode(&fragment, &odin);
		n++;
	}
	FUZZ_CHECK(n <= source->n_fragments);
	return n;
}

static void check_find(const struct evb_mep *mep, const struct evb_source *source)
{
	struct evb_source found;

	// Another source of the same id may come first, and be broken.
	if (evb_mep_find(mep, source->id, &found) == 0)
		FUZZ_CHECK(found.id == source->id);
}

// The same source by evb's own decoder.
static void check_same(const struct mep *mep, unsigned index, struct evb_source source)
{
	struct mfp_fragment expected;
	struct evb_fragment fragment;
	size_t room, offset = 0;
	unsigned i = 0;
	struct mfp mfp;

	FUZZ_CHECK(source.data == mep_mfp_bytes(mep, index, &room));
	FUZZ_CHECK(source.id == mep_source_id(mep, index));
	if (source.n_fragments == 0)
		return;
	FUZZ_CHECK(mfp_decode(source.data, room, &mfp) == WIRE_OK);
	while (mfp_next_fragment(&mfp, &i, &offset, &expected)) {
		FUZZ_CHECK(evb_source_next(&source, &fragment) == 1);
		FUZZ_CHECK(fragment.data == expected.payload && fragment.length == expected.size);
		FUZZ_CHECK(fragment.type == expected.type);
	}
	FUZZ_CHECK(evb_source_next(&source, &fragment) == 0);
}

static bool is_right(const uint8_t *data, size_t size, struct mep *mep)
{
	uint64_t *scratch;
	bool right;

	if (mep_decode(data, size, mep) != WIRE_OK)
		return false;
	scratch = fuzz_allocate(mep->n_mfps, sizeof(*scratch));
	right = mep_check(mep, scratch) == WIRE_OK;
	fuzz_free(scratch);
	return right;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct evb_source source;
	struct evb_odin odin;
	struct evb_mep mep;
	struct mep checked;
	bool right = is_right(data, size, &checked);

	if (evb_mep_open(&mep, data, size) != 0) {
		FUZZ_CHECK(!right);
		return 0;
	}
	FUZZ_CHECK(mep.length <= size);
	for (unsigned i = 0; i < mep.n_sources; i++) {
		struct evb_source at_begin;

		if (evb_mep_source(&mep, i, &source) != 0) {
			FUZZ_CHECK(!right);
			continue;
		}
		at_begin = source;
		check_find(&mep, &source);
		FUZZ_CHECK(walk(&mep, &source) == source.n_fragments || !right);
		if (right)
			check_same(&checked, i, at_begin);
	}
	FUZZ_CHECK(evb_mep_source(&mep, mep.n_sources, &source) < 0);
	for (unsigned i = 0; i < 3; i++)
		if (evb_mep_odin(&mep, i, &odin) == 1)
			FUZZ_CHECK(i < mep.n_events);
	return 0;
}
