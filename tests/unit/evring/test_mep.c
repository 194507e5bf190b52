// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The iterator of built events: the vector of docs/formats.md, random MEPs, changed bytes, bytes
// that change meanwhile, and real events.
#include "../wire/bytes.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "evring/evb_mep.h"
#include "source/source_set.h"
#include "wire/mdf.h"
#include "wire/mep.h"

#define MOST_SOURCES 12u
#define MOST_EVENTS  9u
#define MOST_BYTES   300u // of a random fragment
#define MEP_ROOM     (64u * 1024u)
#define N_RANDOM     2000
#define N_ITERATIONS 20000 // of bytes that change meanwhile

// 3 sources, 2 events; source 0x2037 has an error fragment in the second one.
static const char vector[] = "face030026000000000037103720000008000000140000001e00000000000000"
			     "ce4002002c000000070000000000000000000307101000000400040011111111"
			     "00000000222222220000000000000000ce400200240000000700000000000000"
			     "371003014949000005000000aaaaaaaaaa00000000000000ce40020020000000"
			     "070000000000000037200201095c000003000000bbbbbb00";

// Reads everything; nothing may point outside. Returns the number of fragments, or an error.
static int read_all(const void *bytes, size_t size)
{
	struct evb_source source;
	struct evb_fragment fragment;
	struct evb_odin odin;
	struct evb_mep mep;
	int n = 0, rc = evb_mep_open(&mep, bytes, size);

	if (rc != 0)
		return rc;
	assert_true(mep.length <= size);
	for (unsigned i = 0; i < mep.n_sources; i++) {
		rc = evb_mep_source(&mep, i, &source);
		if (rc != 0)
			return rc;
		expect_inside(bytes, size, source.data, source.length);
		expect_inside(bytes, size, source.types, source.n_fragments);
		expect_inside(bytes, size, source.sizes, 2 * (size_t)source.n_fragments);
		expect_inside(bytes, size, source.payload, source.payload_length);
		for (; (rc = evb_source_next(&source, &fragment)) == 1; n++)
			expect_inside(source.payload, source.payload_length, fragment.data,
				      fragment.length);
		if (rc != 0)
			return rc;
	}
	for (unsigned i = 0; i < mep.n_events; i++) {
		rc = evb_mep_odin(&mep, i, &odin);
		if (rc < 0)
			return rc;
	}
	return n;
}

static void use(const uint8_t *bytes, size_t size)
{
	read_all(bytes, size);
}

static void expect_refused(const uint8_t *bytes, size_t size)
{
	assert_int_equal(read_all(bytes, size), -EBADMSG);
}

static void vector__has_these_fragments(void **state)
{
	static const struct {
		uint16_t id;
		uint8_t version;
		struct {
			uint16_t length;
			uint8_t type;
			const char *payload;
		} fragments[2];
	} expected[] = {
		{ 0x0000, 7, { { 4, 16, "11111111" }, { 4, 16, "22222222" } } },
		{ 0x1037, 1, { { 5, 73, "aaaaaaaaaa" }, { 0, 73, "" } } },
		{ 0x2037, 1, { { 3, 9, "bbbbbb" }, { 0, 92, "" } } },
	};
	struct bytes bytes = bytes_from_hex(vector);
	struct evb_source source;
	struct evb_fragment fragment;
	struct evb_mep mep;

	(void)state;
	assert_int_equal(evb_mep_open(&mep, bytes.data, bytes.size), 0);
	assert_int_equal(mep.n_sources, 3);
	assert_int_equal(mep.n_events, 2);
	assert_int_equal(mep.event_id, 7);
	assert_int_equal(mep.length, 152);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(evb_mep_source(&mep, i, &source), 0);
		assert_int_equal(source.id, expected[i].id);
		assert_int_equal(source.version, expected[i].version);
		assert_int_equal(source.n_fragments, 2);
		assert_int_equal(source.flags, 0);
		for (unsigned j = 0; j < 2; j++) {
			assert_int_equal(evb_source_next(&source, &fragment), 1);
			assert_int_equal(fragment.event_id, 7 + j);
			assert_int_equal(fragment.type, expected[i].fragments[j].type);
			assert_int_equal(fragment.length, expected[i].fragments[j].length);
			expect_hex(fragment.data, fragment.length,
				   expected[i].fragments[j].payload);
		}
		assert_int_equal(evb_source_next(&source, &fragment), 0);
		assert_int_equal(evb_source_next(&source, &fragment), 0);
	}
	assert_int_equal(evb_mep_source(&mep, 3, &source), -EINVAL);
	bytes_free(&bytes);
}

static void vector__sources_are_found_by_id(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);
	struct evb_source source;
	struct evb_mep mep;

	(void)state;
	assert_int_equal(evb_mep_open(&mep, bytes.data, bytes.size), 0);
	assert_int_equal(evb_mep_find(&mep, 0x2037, &source), 0);
	assert_ptr_equal(source.data, bytes.data + 120);
	assert_int_equal(evb_mep_find(&mep, 0x2038, &source), -ENOENT);
	bytes_free(&bytes);
}

static void vector__every_change_stays_inside(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);

	(void)state;
	each_mutation(&bytes, use);
	each_truncation(&bytes, expect_refused);
	bytes_free(&bytes);
}

// One byte of the vector, and the step that refuses it.
static void vector__each_contradiction_is_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		const char *what;
	} changes[] = {
		{ 0, 0xfb, "magic" },
		{ 4, 0x27, "more words than bytes" },
		{ 8, 1, "id that differs from the table" },
		{ 20, 0x13, "offset that is no MFP" },
		{ 20, 0x04, "offset into the header" },
		{ 27, 1, "offset behind the end" },
		{ 32, 0xcf, "magic of an MFP" },
		{ 36, 0x80, "MFP larger than the MEP" },
		{ 84, 0x14, "MFP smaller than its header" },
		{ 82, 3, "number of fragments" },
		{ 88, 8, "event id" },
		{ 98, 17, "alignment" },
		{ 104, 14, "fragment longer than the MFP" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct bytes bytes = bytes_from_hex(vector);

		bytes.data[changes[i].at] = changes[i].value;
		if (read_all(bytes.data, bytes.size) != -EBADMSG)
			fail_msg("%s is not refused", changes[i].what);
		bytes_free(&bytes);
	}
}

// A MEP that is made of MFPs at random places, and what must be found in it.
struct made {
	uint8_t bytes[MEP_ROOM];
	size_t size;
	unsigned n_sources, n_events;
	uint64_t event_id;
	struct {
		uint16_t id;
		uint32_t flags;
		unsigned align_log2;
		uint8_t types[MOST_EVENTS];
		uint16_t sizes[MOST_EVENTS];
		uint8_t payloads[MOST_EVENTS][MOST_BYTES];
	} sources[MOST_SOURCES];
};

static unsigned below(struct random *random, unsigned n)
{
	return (unsigned)(random_next(random) % n);
}

// Writes one MFP. Returns its size.
static size_t make_mfp(struct made *made, unsigned s, uint8_t *to, size_t room,
		       struct random *random)
{
	const uint8_t *payloads[MOST_EVENTS];
	struct mfp_header header = {
		.n_fragments = (uint16_t)made->n_events,
		.event_id = made->event_id,
		.source_id = made->sources[s].id,
		.align_log2 = (uint8_t)below(random, 6),
		.version = (uint8_t)s,
	};
	const unsigned kind = below(random, 8);

	made->sources[s].align_log2 = header.align_log2;
	made->sources[s].flags = kind == 0 ? EVB_SOURCE_MISSING : 0;
	if (kind == 1)
		made->sources[s].flags = EVB_SOURCE_MISSING | EVB_SOURCE_MALFORMED;
	for (unsigned e = 0; e < made->n_events; e++) {
		uint16_t size = (uint16_t)(kind < 2 ? 0 : 1 + below(random, MOST_BYTES));

		made->sources[s].types[e] = kind == 0 ? 92 : kind == 1 ? 95 : 4;
		made->sources[s].sizes[e] = size;
		for (unsigned i = 0; i < size; i++)
			made->sources[s].payloads[e][i] = (uint8_t)random_next(random);
		payloads[e] = made->sources[s].payloads[e];
	}
	assert_int_equal(
	    mfp_encode(to, room, &header, made->sources[s].types, made->sources[s].sizes, payloads),
	    WIRE_OK);
	return header.packet_size;
}

static void make_random(struct made *made, uint64_t seed)
{
	struct random random = random_fork(seed, 1);
	uint32_t offsets[MOST_SOURCES];
	uint16_t ids[MOST_SOURCES];
	size_t at;

	made->n_sources = 1 + below(&random, MOST_SOURCES);
	made->n_events = 1 + below(&random, MOST_EVENTS);
	made->event_id = random_next(&random) >> 8;
	at = mep_header_size(made->n_sources, 8);
	for (unsigned i = 0; i < made->n_sources; i++) {
		// The MFPs have any order; the last in the table stands first.
		unsigned s = made->n_sources - 1 - i;

		made->sources[s].id = ids[s] = (uint16_t)(s * 5003 + below(&random, 5000));
		offsets[s] = (uint32_t)(at / 4);
		at += make_mfp(made, s, made->bytes + at, MEP_ROOM - at, &random);
		at = round_up(at + 8 * below(&random, 4), 8);
	}
	made->size = at;
	assert_int_equal(mep_encode_header(made->bytes, MEP_ROOM, made->n_sources, ids, offsets,
					   (uint32_t)(at / 4)),
			 WIRE_OK);
}

static void random_meps__iterate_to_what_was_encoded(void **state)
{
	static struct made made;
	struct evb_source source;
	struct evb_fragment fragment;
	struct evb_mep mep;

	(void)state;
	for (uint64_t seed = 0; seed < N_RANDOM; seed++) {
		make_random(&made, seed);
		assert_int_equal(evb_mep_open(&mep, made.bytes, made.size), 0);
		assert_int_equal(mep.n_sources, made.n_sources);
		assert_int_equal(mep.n_events, made.n_events);
		for (unsigned s = 0; s < made.n_sources; s++) {
			assert_int_equal(evb_mep_source(&mep, s, &source), 0);
			assert_int_equal(source.id, made.sources[s].id);
			assert_int_equal(source.flags, made.sources[s].flags);
			assert_int_equal(source.version, s);
			assert_int_equal(source.align_log2, made.sources[s].align_log2);
			for (unsigned e = 0; e < made.n_events; e++) {
				assert_int_equal(evb_source_next(&source, &fragment), 1);
				assert_int_equal(fragment.event_id, made.event_id + e);
				assert_int_equal(fragment.type, made.sources[s].types[e]);
				assert_int_equal(fragment.length, made.sources[s].sizes[e]);
				assert_memory_equal(fragment.data, made.sources[s].payloads[e],
						    fragment.length);
			}
			assert_int_equal(evb_source_next(&source, &fragment), 0);
		}
	}
}

static void opaque__block_is_the_payload(void **state)
{
	const uint16_t ids[] = { 5, 6 };
	const uint32_t offsets[] = { 6, 14 };
	struct bytes bytes = bytes_of_zeros(88);
	struct mfp_header header = { .event_id = 9, .source_id = 5 };
	struct evb_source source;
	struct evb_fragment fragment;
	struct evb_mep mep;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		uint8_t *at = bytes.data + 4 * (size_t)offsets[i];

		header.source_id = ids[i];
		assert_int_equal(mfp_encode_header(at, 32, &header, NULL, NULL), WIRE_OK);
		store_le32(at + 4, 25);
		memcpy(at + 20, "block", 5);
	}
	assert_int_equal(mep_encode_header(bytes.data, bytes.size, 2, ids, offsets, 22), WIRE_OK);
	assert_int_equal(evb_mep_open(&mep, bytes.data, bytes.size), 0);
	assert_int_equal(mep.n_events, 0);
	assert_int_equal(evb_mep_source(&mep, 1, &source), 0);
	assert_int_equal(source.flags, EVB_SOURCE_OPAQUE);
	assert_int_equal(source.payload_length, 5);
	assert_memory_equal(source.payload, "block", 5);
	assert_int_equal(evb_source_next(&source, &fragment), 0);
	bytes_free(&bytes);
}

struct race {
	struct made made;
	atomic_bool done;
};

// Writes numbers at which lengths break over the headers, as a builder may under a spy.
static void *overwrite(void *argument)
{
	struct race *race = argument;
	struct random random = random_fork(3, 3);

	while (!atomic_load(&race->done)) {
		uint32_t at = 4 * below(&random, (unsigned)race->made.size / 4);
		// An aligned word is written at once, as a copy by the builder is.
		uint32_t *word = (uint32_t *)(void *)(race->made.bytes + at);
		uint32_t before = __atomic_load_n(word, __ATOMIC_RELAXED);

		__atomic_store_n(word, (uint32_t)random_next(&random), __ATOMIC_RELAXED);
		__atomic_store_n(word, before, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void overwritten__fragments_stay_inside(void **state)
{
	static struct race race;
	unsigned whole = 0;
	pthread_t thread;

	(void)state;
	make_random(&race.made, 4);
	assert_int_equal(pthread_create(&thread, NULL, overwrite, &race), 0);
	for (unsigned i = 0; i < N_ITERATIONS; i++)
		whole += read_all(race.made.bytes, race.made.size) ==
			 (int)(race.made.n_sources * race.made.n_events);
	atomic_store(&race.done, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(whole > 0);
}

// A number that depends on everything of a fragment, and FNV-1a over its bytes.
static uint64_t hash(uint8_t type, uint8_t version, const uint8_t *bytes, size_t size)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325) + type * 257u + version;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return random_mix(sum + size);
}

// Sums over the banks of each event of an MDF file. Returns the number of events.
static unsigned hash_banks(const struct bytes *file, uint64_t sums[], unsigned *n_banks)
{
	struct mdf_header header;
	unsigned n = 0;

	for (size_t at = 0; at < file->size; at += header.size, n++) {
		size_t offset = MDF_HEADER_SIZE;
		struct mdf_bank bank;
		bool done = false;

		assert_int_equal(mdf_decode(file->data + at, file->size - at, &header), WIRE_OK);
		for (;; ++*n_banks) {
			assert_int_equal(
			    mdf_next_bank(file->data + at, &header, &offset, &bank, &done),
			    WIRE_OK);
			if (done)
				break;
			sums[n] += hash(bank.type, bank.version, bank.payload, bank.size);
		}
	}
	return n;
}

// The MEP of one position of a cycle, as a builder would lay it out; to be freed.
static uint8_t *mep_of_set(const struct source_set *set, unsigned cycle, uint64_t event_id,
			   size_t *size)
{
	uint32_t *offsets = calloc(set->n_sources, sizeof(*offsets));
	size_t at = mep_header_size(set->n_sources, 8);
	uint8_t *bytes;

	for (unsigned s = 0; s < set->n_sources; s++) {
		offsets[s] = (uint32_t)(at / 4);
		at += round_up(source_set_block(set, cycle, s)->size, 8);
	}
	bytes = calloc(1, at);
	*size = at;
	assert_int_equal(
	    mep_encode_header(bytes, at, set->n_sources, set->ids, offsets, (uint32_t)(at / 4)),
	    WIRE_OK);
	for (unsigned s = 0; s < set->n_sources; s++) {
		const struct source_block *block = source_set_block(set, cycle, s);

		memcpy(bytes + 4 * (size_t)offsets[s], block->bytes, block->size);
		mfp_patch_event_id(bytes + 4 * (size_t)offsets[s], event_id);
	}
	free(offsets);
	return bytes;
}

// Adds the fragments of a MEP. Returns how many are not missing.
static unsigned hash_fragments(const uint8_t *bytes, size_t size, uint64_t sums[])
{
	struct evb_source source;
	struct evb_fragment fragment;
	struct evb_mep mep;
	unsigned n = 0;

	assert_int_equal(evb_mep_open(&mep, bytes, size), 0);
	for (unsigned i = 0; i < mep.n_sources; i++) {
		assert_int_equal(evb_mep_source(&mep, i, &source), 0);
		while (evb_source_next(&source, &fragment) == 1) {
			if (fragment.type == MFP_TYPE_FRAGMENT_MISSING)
				continue;
			sums[fragment.event_id] +=
			    hash(fragment.type, source.version, fragment.data, fragment.length);
			n++;
		}
	}
	return n;
}

// The banks of a real file, packed, built and iterated, are the banks of the file.
static void iterate_real(const char *name, uint32_t packing, unsigned n_sources)
{
	const char *shared = getenv("EVB_SHARED");
	char path[PATH_MAX], error[SOURCE_ERROR_SIZE];
	uint64_t expected[16] = { 0 }, found[16] = { 0 };
	struct bytes file = shared_file(name);
	struct source_set_parameters parameters = {
		.name = name, .kind = GENERATOR_MDF, .file = path, .packing = packing
	};
	unsigned n_banks = 0, n_fragments = 0, n_events = hash_banks(&file, expected, &n_banks);
	struct source_set *set;

	snprintf(path, sizeof(path), "%s/data/%s", shared ? shared : REPOSITORY "/../shared", name);
	assert_int_equal(source_set_make(&set, &parameters, NULL, error), 0);
	assert_int_equal(set->n_sources, n_sources);
	for (unsigned cycle = 0; cycle * packing < n_events; cycle++) {
		size_t size;
		uint8_t *bytes = mep_of_set(set, cycle, (uint64_t)cycle * packing, &size);

		assert_int_equal(read_all(bytes, size), n_sources * packing);
		n_fragments += hash_fragments(bytes, size, found);
		free(bytes);
	}
	assert_int_equal(n_fragments, n_banks);
	assert_memory_equal(found, expected, sizeof(found));
	source_set_free(set);
	bytes_free(&file);
}

static void real_data__simulated_events(void **state)
{
	(void)state;
	iterate_real("lhcb-minbias.mdf", 1, 1238);
	iterate_real("lhcb-minbias.mdf", 10, 1238);
}

static void real_data__odin_of_detector_events(void **state)
{
	const char *shared = getenv("EVB_SHARED");
	char path[PATH_MAX], error[SOURCE_ERROR_SIZE];
	struct source_set_parameters parameters = {
		.name = "odin", .kind = GENERATOR_MDF, .file = path, .packing = 2
	};
	struct source_set *set;
	struct evb_odin odin;
	struct evb_mep mep;
	uint8_t *bytes;
	size_t size;

	(void)state;
	iterate_real("lhcb-run3-two-events.mdf", 2, 10);
	snprintf(path, sizeof(path), "%s/data/lhcb-run3-two-events.mdf",
		 shared ? shared : REPOSITORY "/../shared");
	assert_int_equal(source_set_make(&set, &parameters, NULL, error), 0);
	bytes = mep_of_set(set, 0, 0, &size);
	assert_int_equal(evb_mep_open(&mep, bytes, size), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(evb_mep_odin(&mep, i, &odin), 1);
		assert_int_equal(odin.run, 328614);
		assert_int_equal(odin.orbit, 1778);
		assert_int_equal(odin.tck, 0x10001120);
		assert_int_equal(odin.gps_us, 1756381954122932);
		assert_int_equal(odin.bunch, i == 0 ? 0x541 : 0x542);
		assert_int_equal(odin.event_type, i == 0 ? 12 : 4);
		assert_int_equal(odin.event_id, 3999014 + i);
	}
	assert_int_equal(evb_mep_odin(&mep, 2, &odin), -EINVAL);
	free(bytes);
	source_set_free(set);
}

static void odin__none_in_the_vector(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);
	struct evb_odin odin;
	struct evb_mep mep;

	(void)state;
	assert_int_equal(evb_mep_open(&mep, bytes.data, bytes.size), 0);
	assert_int_equal(evb_mep_odin(&mep, 0, &odin), 0); // of 4 bytes: not version 7
	bytes_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector__has_these_fragments),
		cmocka_unit_test(vector__sources_are_found_by_id),
		cmocka_unit_test(vector__every_change_stays_inside),
		cmocka_unit_test(vector__each_contradiction_is_refused),
		cmocka_unit_test(random_meps__iterate_to_what_was_encoded),
		cmocka_unit_test(opaque__block_is_the_payload),
		cmocka_unit_test(overwritten__fragments_stay_inside),
		cmocka_unit_test(odin__none_in_the_vector),
		cmocka_unit_test(real_data__simulated_events),
		cmocka_unit_test(real_data__odin_of_detector_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
