// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The store of a file that is read during the run: it has the events of the source set of the file.
#include "testbed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "source/mdf_sources.h"
#include "source/mfp_file.h"
#include "store/file_store.h"
#include "wire/mdf.h"
#include "wire/mfp.h"

#define SOURCES 5u
#define PACKING 7u
#define EVENTS  150u
#define WINDOW  (64u * 1024)
#define RECORDS 333u // of the MDF file; not a multiple of the packing

static const uint16_t ids[SOURCES] = { 0x1001, 0x1002, 0x1003, 0x1004, 0x1005 };
static char path[64], error[SOURCE_ERROR_SIZE];
static struct source_set_parameters parameters; // of the file
static struct source_set *set;                  // of the file before a test damages it
static struct block_store *store;

static struct source_set *make_set(const struct source_set_parameters *from)
{
	struct source_set *made;

	if (source_set_make(&made, from, NULL, error) != 0)
		fail_msg("%s", error);
	return made;
}

// Writes a file of EVENTS events, and returns its size.
static long write_file(void)
{
	const struct source_set_parameters made_from = {
		.name = "made",
		.ids = ids,
		.n_ids = SOURCES,
		.packing = PACKING,
		.sizes = { .law = SIZE_GAUSSIAN, .mean = 30, .sigma = 10, .maximum = 60 },
		.variants = EVENTS,
		.seed = 3,
	};
	struct source_set *made = make_set(&made_from);
	struct stat status;

	snprintf(path, sizeof(path), "/tmp/evb-file-store-%d.mfp", (int)getpid());
	assert_int_equal(mfp_file_write(path, made, 1000, 0, error), 0);
	source_set_free(made);
	assert_int_equal(stat(path, &status), 0);
	assert_true(status.st_size > WINDOW);
	return (long)status.st_size;
}

// Writes an MDF file of RECORDS events. Source 3 has a bank in every other event only.
static void write_mdf(bool with_stranger)
{
	static uint8_t record[8192];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/evb-file-store-%d.mdf", (int)getpid());
	file = fopen(path, "wb");
	assert_non_null(file);
	for (unsigned event = 0; event < RECORDS; event++) {
		struct mdf_header header = { .data_type = MDF_TYPE_BANKS, .run = event };
		size_t at = MDF_HEADER_SIZE;

		for (unsigned source = 0; source < SOURCES; source++) {
			uint8_t payload[200];
			struct mdf_bank bank = {
				.payload = payload,
				.size = (uint16_t)(20 + (event * 13 + source * 29) % 180),
				.source_id = ids[source],
				.type = 63,
				.version = 2,
			};

			memset(payload, (int)(event + source), sizeof(payload));
			if (with_stranger && event == RECORDS - 10 && source == 0)
				bank.source_id = 0x1777;
			if (source != 3 || event % 2 == 0)
				assert_int_equal(
				    mdf_append_bank(record, sizeof(record), &at, &bank), 0);
		}
		header.size = (uint32_t)at;
		assert_int_equal(mdf_encode_header(record, sizeof(record), &header), 0);
		assert_int_equal(fwrite(record, 1, at, file), at);
	}
	fclose(file);
}

static void set_up(enum generator_kind kind)
{
	parameters = (struct source_set_parameters){
		.name = "g",
		.kind = kind,
		.file = path,
		.packing = PACKING,
		.window = WINDOW,
	};
	set = make_set(&parameters);
}

static int set_up_mfp(void **state)
{
	(void)state;
	write_file();
	set_up(GENERATOR_MFP);
	return 0;
}

static int set_up_mdf(void **state)
{
	(void)state;
	write_mdf(false);
	set_up(GENERATOR_MDF);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	block_store_destroy(store);
	store = NULL;
	source_set_free(set);
	unlink(path);
	return 0;
}

// Sources of the file, by their ids.
static void choose(const uint16_t *chosen, unsigned n)
{
	parameters.ids = chosen;
	parameters.n_ids = n;
	source_set_free(set);
	set = make_set(&parameters);
}

static void open_store(void)
{
	const struct file_store_parameters of_store = { .set = parameters, .mfps = true };

	assert_true(file_store_is_for(&parameters));
	store = file_store_create(&of_store, error);
	if (store == NULL)
		fail_msg("%s", error);
}

static void expect_refused(const char *part)
{
	const struct file_store_parameters of_store = { .set = parameters, .mfps = true };

	assert_null(file_store_create(&of_store, error));
	if (strstr(error, part) == NULL)
		fail_msg("\"%s\" is not in: %s", part, error);
}

// Polls until an event is ready, or the store has ended before it.
static bool wait_for(uint64_t event)
{
	const struct timespec pause = { .tv_nsec = 100000 };

	for (unsigned i = 0; i < 100000; i++) {
		block_store_poll(store, 0);
		if (store->ready > event)
			return true;
		if (store->end <= event)
			return false;
		nanosleep(&pause, NULL);
	}
	fail_msg("event %llu does not become ready", (unsigned long long)event);
	return false;
}

static void assert_event(uint64_t event)
{
	assert_true(wait_for(event));
	for (unsigned i = 0; i < set->n_sources; i++) {
		struct store_block block = block_store_find(store, event, i);
		const struct source_block *expected =
		    source_set_block(set, (unsigned)(event % set->n_cycle), i);

		assert_false(block.is_missing || block.is_temporary);
		assert_int_equal(block.size, expected->size);
		assert_in_range(block.size, 1, store->largest);
		// The event id at byte 8 is written when the block is sent.
		assert_memory_equal(block.bytes, expected->bytes, 8);
		assert_memory_equal(block.bytes + 16, expected->bytes + 16, block.size - 16);
	}
}

static void assert_events(uint64_t first, uint64_t end)
{
	block_store_begin(store, first);
	for (uint64_t event = first; event < end; event++) {
		assert_event(event);
		block_store_release(store, event + 1);
	}
	assert_int_equal(store->counters.missing + store->counters.late, 0);
	assert_null(file_store_problem(store));
}

static void file__repeats_like_the_set(void **state)
{
	(void)state;
	open_store();
	for (unsigned i = 0; i < 100; i++) { // a role polls before its run begins
		const struct timespec pause = { .tv_nsec = 100000 };

		block_store_poll(store, 0);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(store->ready, 0);
	assert_int_equal(store->n_sources, SOURCES);
	assert_memory_equal(store->ids, ids, sizeof(ids));
	assert_events(0, 3 * EVENTS + 10);
}

static void file__has_the_chosen_sources(void **state)
{
	static const uint16_t chosen[] = { 0x1002, 0x1005 };

	(void)state;
	choose(chosen, 2);
	open_store();
	assert_events(0, EVENTS + 10);
}

static void file__begins_with_any_event(void **state)
{
	static const uint64_t first[] = { 20, 0, 11 * EVENTS + 3, 1000000007, 0 };

	(void)state;
	open_store();
	for (unsigned i = 0; i < 5; i++)
		assert_events(first[i], first[i] + 20);
}

// A packet in a queue outlives its event.
static void file__does_not_overwrite_what_packets_point_to(void **state)
{
	struct store_block block;
	uint8_t *copy;

	(void)state;
	open_store();
	block_store_begin(store, 0);
	assert_event(0);
	block = block_store_find(store, 0, 1);
	copy = malloc(block.size);
	assert_non_null(copy);
	memcpy(copy, block.bytes, block.size);
	block_hold_take(block.hold);
	for (uint64_t event = 0; event < 100; event++) { // the window has fewer events
		const struct timespec pause = { .tv_nsec = 200000 };

		block_store_poll(store, 0);
		block_store_release(store, store->ready);
		nanosleep(&pause, NULL);
	}
	assert_true(store->ready < EVENTS);
	assert_memory_equal(block.bytes, copy, block.size);
	block_hold_return(block.hold);
	for (uint64_t event = store->ready; event < EVENTS; event++) {
		assert_event(event);
		block_store_release(store, event + 1);
	}
	assert_int_equal(store->counters.missing, 0);
	free(copy);
}

static void overwrite(long offset, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "r+b");

	assert_non_null(file);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

// The offset of an MFP by its number in the file.
static long offset_of(unsigned number)
{
	FILE *file = fopen(path, "rb");
	uint8_t header[MFP_HEADER_SIZE];
	long offset = 0;

	assert_non_null(file);
	for (unsigned i = 0; i < number; i++) {
		assert_int_equal(fseek(file, offset, SEEK_SET), 0);
		assert_int_equal(fread(header, 1, sizeof(header), file), sizeof(header));
		offset += load_le32(header + 4);
	}
	fclose(file);
	return offset;
}

static void file__ends_where_it_is_malformed(void **state)
{
	(void)state;
	overwrite(offset_of(100 * SOURCES), "XX", 2);
	open_store();
	for (uint64_t run = 0; run < 3; run++) {
		block_store_begin(store, run);
		for (uint64_t event = run; event < 100; event++) {
			assert_event(event);
			block_store_release(store, event + 1);
		}
		assert_false(wait_for(100));
		assert_int_equal(store->end, 100);
		assert_non_null(strstr(file_store_problem(store), "at byte"));
	}
	assert_int_equal(store->counters.missing, 0);
}

static void file__goes_on_without_a_block_that_it_lacks(void **state)
{
	uint8_t end[8], source[2];

	(void)state;
	memset(end, 0xff, sizeof(end)); // event 50 of source 2 becomes an end of run
	overwrite(offset_of(50 * SOURCES + 2) + 8, end, sizeof(end));
	store_le16(source, 0x1fff); // and event 60 of source 3 that of a source which nobody has
	overwrite(offset_of(60 * SOURCES + 3) + 16, source, sizeof(source));
	open_store();
	block_store_begin(store, 0);
	for (uint64_t event = 0; event < EVENTS; event++) {
		if (event != 50 && event != 60)
			assert_event(event);
		assert_true(wait_for(event));
		assert_int_equal(block_store_find(store, event, 2).is_missing, event == 50);
		assert_int_equal(block_store_find(store, event, 3).is_missing, event == 60);
		block_store_release(store, event + 1);
	}
	assert_int_equal(store->counters.missing, 2);
}

static void file__with_sources_one_behind_the_other_has_the_first(void **state)
{
	long size = write_file();
	char second[80];
	FILE *in, *out;
	uint8_t *bytes;

	(void)state;
	bytes = malloc((size_t)size);
	in = fopen(path, "rb");
	snprintf(second, sizeof(second), "%s.second", path);
	out = fopen(second, "wb");
	assert_true(bytes != NULL && in != NULL && out != NULL);
	assert_int_equal(fread(bytes, 1, (size_t)size, in), size);
	for (unsigned source = 0; source < SOURCES; source++)
		for (unsigned event = 0; event < EVENTS; event++) {
			const uint8_t *mfp = bytes + offset_of(event * SOURCES + source);

			fwrite(mfp, 1, load_le32(mfp + 4), out);
		}
	fclose(in);
	fclose(out);
	free(bytes);
	assert_int_equal(rename(second, path), 0);
	parameters.ids = ids;
	parameters.n_ids = SOURCES;
	expect_refused("has no source 4098 in its first");
	parameters.n_ids = 1;
	open_store();
	block_store_begin(store, 0);
	assert_true(wait_for(EVENTS - 1));
	assert_int_equal(store->counters.missing, 0);
}

static void mdf__repeats_like_the_set(void **state)
{
	(void)state;
	assert_int_equal(set->n_cycle, RECORDS); // 333 * 7 events are a whole number of MFPs
	open_store();
	assert_int_equal(store->n_sources, SOURCES);
	assert_events(0, 2 * RECORDS + 10);
	assert_events(12345678, 12345678 + 60);
	assert_events(30, 60);
}

static void mdf__has_the_chosen_sources(void **state)
{
	static const uint16_t chosen[] = { 0x1002, 0x1004 };

	(void)state;
	choose(chosen, 2);
	open_store();
	assert_events(0, 100);
}

static void mdf__ends_at_a_source_that_is_new(void **state)
{
	uint64_t event = 0;

	(void)state;
	write_mdf(true);
	open_store();
	block_store_begin(store, 0);
	for (; wait_for(event); event++)
		block_store_release(store, event + 1);
	assert_in_range(event, RECORDS / PACKING / 2, RECORDS / PACKING);
	assert_non_null(strstr(file_store_problem(store), "source id 6007"));
}

// The map of a large file is that of its first part.
static void mdf__has_the_sources_of_the_map(void **state)
{
	struct source_map *map;

	(void)state;
	write_mdf(true);
	assert_int_equal(mdf_sources_map(&map, path, UINT64_MAX, error), 0);
	assert_int_equal(map->n_entries, SOURCES + 1);
	source_map_free(map);
	assert_int_equal(mdf_sources_map(&map, path, WINDOW, error), 0);
	assert_int_equal(map->n_entries, SOURCES);
	for (unsigned i = 0; i < SOURCES; i++)
		assert_int_equal(map->entries[i].id, ids[i]);
	source_map_free(map);
}

// A source that is not in the file, and a window that is too small for the file.
static void expect_refusals(uint64_t small_window)
{
	static const uint16_t absent = 0x1009;

	parameters.ids = &absent;
	parameters.n_ids = 1;
	expect_refused("no source 4105");
	parameters.n_ids = 0;
	parameters.window = small_window;
	expect_refused("of the window");
}

static void mdf__is_refused(void **state)
{
	(void)state;
	expect_refusals(16 * 1024);
	overwrite(0, "XXXX", 4);
	parameters.window = WINDOW;
	expect_refused("at byte 0");
}

static void file__is_refused(void **state)
{
	(void)state;
	expect_refusals(1024);
	parameters.window = WINDOW;
	parameters.packing = 3;
	expect_refused("packing is 3");
	parameters.file = "/nowhere/file.mfp";
	expect_refused("/nowhere/file.mfp");
	assert_false(file_store_is_for(&parameters));
}

static void file__is_loaded_if_the_window_holds_it(void **state)
{
	struct config *config;

	(void)state;
	parameters.window = (uint64_t)write_file();
	assert_false(file_store_is_for(&parameters));
	parameters.window--;
	assert_true(file_store_is_for(&parameters));
	parameters.window = 0;
	assert_false(file_store_is_for(&parameters));
	config = testbed_config("{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\"}],"
				"\"sources\": {\"ids\": [1]}, \"builders\": [{\"name\": \"b\"}],"
				"\"generators\": [{\"name\": \"g\", \"port\": \"wire\"}]}");
	assert_int_equal(config->generators[0].window, SOURCE_WINDOW);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(file__repeats_like_the_set, set_up_mfp, tear_down),
		cmocka_unit_test_setup_teardown(file__has_the_chosen_sources, set_up_mfp,
						tear_down),
		cmocka_unit_test_setup_teardown(file__begins_with_any_event, set_up_mfp, tear_down),
		cmocka_unit_test_setup_teardown(file__does_not_overwrite_what_packets_point_to,
						set_up_mfp, tear_down),
		cmocka_unit_test_setup_teardown(file__ends_where_it_is_malformed, set_up_mfp,
						tear_down),
		cmocka_unit_test_setup_teardown(file__goes_on_without_a_block_that_it_lacks,
						set_up_mfp, tear_down),
		cmocka_unit_test_setup_teardown(
		    file__with_sources_one_behind_the_other_has_the_first, set_up_mfp, tear_down),
		cmocka_unit_test_setup_teardown(file__is_refused, set_up_mfp, tear_down),
		cmocka_unit_test_setup_teardown(mdf__repeats_like_the_set, set_up_mdf, tear_down),
		cmocka_unit_test_setup_teardown(mdf__has_the_chosen_sources, set_up_mdf, tear_down),
		cmocka_unit_test_setup_teardown(mdf__ends_at_a_source_that_is_new, set_up_mdf,
						tear_down),
		cmocka_unit_test_setup_teardown(mdf__has_the_sources_of_the_map, set_up_mdf,
						tear_down),
		cmocka_unit_test_setup_teardown(mdf__is_refused, set_up_mdf, tear_down),
		cmocka_unit_test_setup_teardown(file__is_loaded_if_the_window_holds_it, set_up_mfp,
						tear_down),
	};

	return cmocka_run_group_tests_name("file_store", tests, testbed_start, testbed_stop);
}
