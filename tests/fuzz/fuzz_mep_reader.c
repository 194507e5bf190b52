// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes through the iterator for consumers: what it yields lies inside, and a MEP that passes
// evb's own check yields the fragments that evb's own decoder finds.
#include "fuzz.h"

#include "evring/evb_mep.h"
#include "wire/mep.h"

static void check_inside(const void *outer, size_t outer_size, const void *inner, size_t size)
{
	const uint8_t *begin = outer, *at = inner;

	FUZZ_CHECK(at >= begin && at <= begin + outer_size);
	FUZZ_CHECK(size <= (size_t)(begin + outer_size - at));
}

// Reads every byte of a fragment, which a sanitizer watches.
static uint8_t sum(const struct evb_fragment *fragment)
{
	const uint8_t *bytes = fragment->data;
	uint8_t total = 0;

	for (unsigned i = 0; i < fragment->length; i++)
		total = (uint8_t)(total + bytes[i]);
	return total;
}

// Returns whether all of it could be read.
static int iterate(const struct evb_mep *mep, unsigned *total)
{
	int whole = 1;

	for (unsigned i = 0; i < mep->n_sources; i++) {
		struct evb_fragment fragment;
		struct evb_source source;
		int rc = evb_mep_source(mep, i, &source);

		if (rc == 0) {
			check_inside(mep->data, mep->length, source.data, source.length);
			check_inside(source.data, source.length, source.types, source.n_fragments);
			check_inside(source.data, source.length, source.sizes,
				     2 * (size_t)source.n_fragments);
			while ((rc = evb_source_next(&source, &fragment)) == 1) {
				check_inside(source.payload, source.payload_length, fragment.data,
					     fragment.length);
				*total += sum(&fragment);
			}
		}
		whole &= rc == 0;
	}
	return whole;
}

// The same fragments by the decoder of lib/wire.
static void compare(const struct mep *decoded, const struct evb_mep *mep)
{
	for (unsigned i = 0; i < mep->n_sources; i++) {
		struct mfp_fragment expected;
		struct evb_fragment fragment;
		struct evb_source source;
		unsigned index = 0;
		size_t offset = 0, room;
		struct mfp mfp;
		const uint8_t *bytes = mep_mfp_bytes(decoded, i, &room);

		FUZZ_CHECK(evb_mep_source(mep, i, &source) == 0);
		if (mfp_decode(bytes, room, &mfp) != WIRE_OK)
			continue; // an opaque block
		FUZZ_CHECK(source.id == mfp.header.source_id);
		FUZZ_CHECK(!(source.flags & EVB_SOURCE_MISSING) == !mfp_nothing_usable(&mfp));
		while (mfp_next_fragment(&mfp, &index, &offset, &expected)) {
			FUZZ_CHECK(evb_source_next(&source, &fragment) == 1);
			FUZZ_CHECK(fragment.event_id == expected.event_id);
			FUZZ_CHECK(fragment.data == expected.payload);
			FUZZ_CHECK(fragment.length == expected.size);
			FUZZ_CHECK(fragment.type == expected.type);
		}
		FUZZ_CHECK(evb_source_next(&source, &fragment) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct evb_odin odin;
	struct evb_mep mep;
	struct mep decoded;
	unsigned total = 0;
	uint64_t *scratch;
	int opened = evb_mep_open(&mep, data, size) == 0, whole = 0;

	if (opened) {
		check_inside(data, size, mep.data, mep.length);
		whole = iterate(&mep, &total);
		for (unsigned i = 0; i < mep.n_events && i < 4; i++)
			FUZZ_CHECK(evb_mep_odin(&mep, i, &odin) <= 1);
	}
	if (mep_decode(data, size, &decoded) != WIRE_OK)
		return 0;
	scratch = fuzz_allocate(decoded.n_mfps, sizeof(*scratch));
	if (mep_check(&decoded, scratch) == WIRE_OK) {
		FUZZ_CHECK(opened && whole);
		FUZZ_CHECK(mep.n_sources == decoded.n_mfps && mep.length == decoded.size);
		compare(&decoded, &mep);
	}
	fuzz_free(scratch);
	return 0;
}
