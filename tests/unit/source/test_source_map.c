// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <stdio.h>
#include <string.h>

#include "source/source_map.h"

static void source_map__saved_and_loaded(void **state)
{
	struct source_map_entry entries[] = {
		{ .id = 0, .bank_source_id = 7, .bank_type = 16, .version = 6 },
		{ .id = 4097, .bank_source_id = 1, .bank_type = 63, .version = 2 },
		{ .id = 65535, .bank_source_id = 65535, .bank_type = 255, .version = 255 },
	};
	struct source_map map = { .source = "a \"b\".mdf", .n_entries = 3, .entries = entries };
	struct source_map *loaded;
	char directory[PATH_SIZE], path[PATH_SIZE], error[SOURCE_ERROR_SIZE];

	(void)state;
	make_directory(directory);
	path_in(path, directory, "map.json");
	assert_int_equal(source_map_save(&map, path, error), 0);
	assert_int_equal(source_map_load(&loaded, path, error), 0);
	assert_string_equal(loaded->source, "a \"b\".mdf");
	assert_int_equal(loaded->n_entries, 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct source_map_entry *entry = source_map_find(loaded, entries[i].id);

		assert_ptr_equal(entry, &loaded->entries[i]);
		assert_int_equal(entry->id, entries[i].id);
		assert_int_equal(entry->bank_source_id, entries[i].bank_source_id);
		assert_int_equal(entry->bank_type, entries[i].bank_type);
		assert_int_equal(entry->version, entries[i].version);
	}
	assert_null(source_map_find(loaded, 1));
	source_map_free(loaded);
	remove_directory(directory);
}

static void source_map__save_tells_why_not(void **state)
{
	struct source_map map = { .source = "x" };
	char error[SOURCE_ERROR_SIZE];

	(void)state;
	assert_int_equal(source_map_save(&map, "/nonexistent/map.json", error), -1);
	assert_string_equal(error, "/nonexistent/map.json: No such file or directory");
	assert_int_equal(source_map_save(&map, "/dev/full", error), -1);
	assert_string_equal(error, "/dev/full: No space left on device");
}

static void source_map__order_of_the_file_is_free(void **state)
{
	static const char text[] =
	    "{\"later\":1,\"sources\":["
	    "{\"id\":9,\"bank_type\":1,\"bank_source_id\":2,\"version\":3},"
	    "{\"version\":4,\"id\":8,\"bank_type\":5,\"bank_source_id\":6}],\"source\":\"\"}";
	struct source_map *map;
	char error[SOURCE_ERROR_SIZE];

	(void)state;
	assert_int_equal(source_map_parse(&map, text, strlen(text), "m", error), 0);
	assert_int_equal(map->entries[0].id, 8);
	assert_int_equal(source_map_find(map, 9)->version, 3);
	source_map_free(map);
}

static void expect_error(const char *text, const char *expected)
{
	struct source_map *map;
	char error[SOURCE_ERROR_SIZE] = "";

	assert_int_equal(source_map_parse(&map, text, strlen(text), "m", error), -1);
	assert_string_equal(error, expected);
}

static void source_map__refuses_bad_maps(void **state)
{
	static const char entry_error[] = "m: sources[0]: id, bank_source_id (0..65535), bank_type "
					  "and version (0..255) are expected";

	(void)state;
	expect_error("", "m: it is not valid JSON");
	expect_error("{\"source\":", "m: it is not valid JSON");
	expect_error("[]", "m: it is not a JSON object");
	expect_error("{}", "m: source: the name of a file is expected");
	expect_error("{\"source\":\"x\",\"sources\":{}}", "m: sources: an array is expected");
	expect_error("{\"source\":\"x\",\"sources\":[5]}", entry_error);
	expect_error("{\"source\":\"x\",\"sources\":[{\"id\":1,\"bank_type\":256,"
		     "\"bank_source_id\":1,\"version\":1}]}",
		     entry_error);
	expect_error("{\"source\":\"x\",\"sources\":[{\"id\":1.5,\"bank_type\":2,"
		     "\"bank_source_id\":1,\"version\":1}]}",
		     entry_error);
	expect_error("{\"source\":\"x\",\"sources\":[{\"id\":-1,\"bank_type\":2,"
		     "\"bank_source_id\":1,\"version\":1}]}",
		     entry_error);
	expect_error("{\"source\":\"x\",\"sources\":["
		     "{\"id\":1,\"bank_type\":2,\"bank_source_id\":1,\"version\":1},"
		     "{\"id\":1,\"bank_type\":2,\"bank_source_id\":2,\"version\":1}]}",
		     "m: sources: id 1 is there twice");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(source_map__saved_and_loaded),
		cmocka_unit_test(source_map__save_tells_why_not),
		cmocka_unit_test(source_map__order_of_the_file_is_free),
		cmocka_unit_test(source_map__refuses_bad_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
