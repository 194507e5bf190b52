// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Files: whole ones, missing ones, broken and hostile ones.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers.h"

static char folder[] = "/tmp/evb-test-config-XXXXXX";
static char path[64];
static char map_path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/x.json", folder);
	snprintf(map_path, sizeof(map_path), "%s/map.json", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	unlink(map_path);
	return rmdir(folder);
}

static void write_file(const char *name, const char *text, size_t length)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

// Asserts what is said about a file, behind "FILE: ".
static void assert_file_refused(const char *name, const char *expected)
{
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	assert_int_equal(config_load(&config, name, NULL, NULL, 0, error), -1);
	assert_null(config);
	assert_memory_equal(error, name, strlen(name));
	assert_string_equal(error + strlen(name), expected);
}

struct visits {
	unsigned n, refused; // nodes; the one that is refused
	unsigned n_generators;
};

static int visit(void *context, const struct config *node, char *error)
{
	struct visits *visits = context;
	const char name[] = { (char)('a' + visits->n), '\0' };

	assert_int_equal(node->cluster.self, visits->n);
	assert_string_equal(node->cluster.nodes[visits->n].name, name);
	visits->n_generators += node->n_generators;
	if (visits->n++ != visits->refused)
		return 0;
	snprintf(error, CONFIG_ERROR_SIZE, "refused");
	return -1;
}

static void load_system__visits_each_node_once(void **state)
{
	struct visits all = { .refused = 3 }, some = { .refused = 1 };
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	(void)state;
	write_file(path, system_text, strlen(system_text));
	assert_int_equal(config_load_system(&config, path, NULL, 0,
					    &(struct config_visitor){ visit, &all }, error),
			 0);
	assert_string_equal(config->name, "sys-a"); // the manager
	assert_int_equal(all.n, 3);
	assert_int_equal(all.n_generators, 2);
	config_free(config);
	assert_int_equal(config_load_system(&config, path, NULL, 0,
					    &(struct config_visitor){ visit, &some }, error),
			 -1);
	assert_null(config);
	assert_int_equal(some.n, 2);
	assert_string_equal(error, "refused");
}

static void load__reads_a_file(void **state)
{
	char error[CONFIG_ERROR_SIZE] = "";
	const char *override = "run_number=7";
	struct config *config;

	(void)state;
	write_file(path, base_text, strlen(base_text));
	if (config_load(&config, path, NULL, &override, 1, error))
		fail_msg("%s", error);
	assert_string_equal(config->path, path);
	assert_int_equal(config->run_number, 7);
	config_free(config);
}

static void load__takes_a_byte_order_mark_and_space(void **state)
{
	char text[512] = "\xef\xbb\xbf \r\n\t";

	(void)state;
	strcat(text, base_text);
	strcat(text, "\n \r\n");
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;
	if (config_parse(&config, text, strlen(text), "x.json", NULL, NULL, 0, error))
		fail_msg("%s", error);
	config_free(config);
}

static void load__without_a_file(void **state)
{
	(void)state;
	unlink(path);
	assert_file_refused(path, ": cannot be opened: No such file or directory");
	assert_file_refused(folder, ": is a directory");
	assert_file_refused("/dev/null", ": is empty");
	assert_file_refused("/dev/zero", ": is larger than 16 MiB");
}

static void load__of_an_unreadable_file(void **state)
{
	bool is_root = geteuid() == 0; // who may read anything

	(void)state;
	write_file(path, base_text, strlen(base_text));
	assert_int_equal(chmod(path, 0), 0);
	if (is_root && seteuid(65534))
		skip();
	assert_file_refused(path, ": cannot be opened: Permission denied");
	if (is_root)
		assert_int_equal(seteuid(0), 0);
	unlink(path);
}

static void parse__of_too_large_text(void **state)
{
	const size_t limit = 16 << 20;
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;
	char *text = malloc(limit + 1);

	(void)state;
	assert_non_null(text);
	memset(text, ' ', limit + 1);
	memcpy(text, base_text, strlen(base_text));
	assert_int_equal(config_parse(&config, text, limit + 1, "x.json", NULL, NULL, 0, error),
			 -1);
	assert_string_equal(error, "x.json: is larger than 16 MiB");
	assert_int_equal(config_parse(&config, text, limit, "x.json", NULL, NULL, 0, error), 0);
	config_free(config);
	free(text);
}

static void syntax__errors_have_line_and_column(void **state)
{
	(void)state;
	assert_text_refused("", "x.json: is empty");
	assert_text_refused(" \n ", "x.json: line 2, column 2: the JSON text ends too early");
	assert_text_refused("{\"name\": \"a\"",
			    "x.json: line 1, column 13: the JSON text ends too early");
	assert_text_refused("{\n  \"name\": tru\n}",
			    "x.json: line 2, column 11: no valid JSON at \"t\"");
	assert_text_refused("{\"name\": \"a\",\n}",
			    "x.json: line 2, column 1: no valid JSON at \"}\"");
	assert_text_refused("{\"name\": \"a\"]",
			    "x.json: line 1, column 13: no valid JSON at \"]\"");
	assert_text_refused("[0,x]", "x.json: line 1, column 4: no valid JSON at \"x\"");
	assert_text_refused("[0,1x]", "x.json: line 1, column 5: no valid JSON at \"x\"");
	assert_text_refused("[0,[x]]", "x.json: line 1, column 5: no valid JSON at \"x\"");
	assert_text_refused("{name: 1}", "x.json: line 1, column 2: no valid JSON at \"n\"");
	assert_text_refused("{} x", "x.json: line 1, column 4: no valid JSON at \"x\"");
	assert_text_refused("{}{}", "x.json: line 1, column 3: no valid JSON at \"{\"");
}

static void syntax__comments_are_no_json(void **state)
{
	(void)state;
	assert_text_refused("{\n// x\n}", "x.json: line 2, column 1: JSON has no comments");
	assert_text_refused("{\"name\": /* x */ 1}",
			    "x.json: line 1, column 10: JSON has no comments");
	assert_text_refused("# x\n{}", "x.json: line 1, column 1: JSON has no comments");
	assert_text_refused("{} // x", "x.json: line 1, column 4: JSON has no comments");
}

static void syntax__null_characters_are_refused(void **state)
{
	static const char text[] = "{\"name\":\n \"a\0b\"}";
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	(void)state;
	assert_int_equal(
	    config_parse(&config, text, sizeof(text) - 1, "x.json", NULL, NULL, 0, error), -1);
	assert_string_equal(error, "x.json: line 2, column 4: null characters are not allowed");
	assert_text_refused("{\"name\": \"a\\u0000b\"}",
			    "x.json: line 1, column 12: null characters are not allowed");
}

static void hostile__deep_nesting(void **state)
{
	const size_t depth = 1 << 20;
	char *text = malloc(depth + 1);

	(void)state;
	assert_non_null(text);
	memset(text, '[', depth);
	text[depth] = '\0';
	assert_text_refused(text, "x.json: line 1, column 1001: no valid JSON at \"[\"");
	free(text);
}

static void hostile__long_and_unprintable_keys(void **state)
{
	char text[4096] = "{\"";

	(void)state;
	memset(text + 2, 'k', 2000);
	strcpy(text + 2002, "\": 1}");
	assert_text_refused(text,
			    "x.json: "
			    "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk...: "
			    "unknown key");
	assert_text_refused("{\"\x01\\n\xc3\xa4\": 1}", "x.json: ????: unknown key");
	assert_text_refused("{\"\": 1}", "x.json: \"\": unknown key");
}

static void hostile__more_elements_than_there_is_room(void **state)
{
	char text[8192] = "{\"ports\": [{\"name\": \"w\", \"profile\": \"ring\"}], \"sources\": "
			  "{\"ids\": [1]}, \"builders\": [";
	char expected[64];

	(void)state;
	for (unsigned i = 0; i <= EVB_MAX_BUILDERS; i++)
		sprintf(text + strlen(text), "%s{\"name\": \"b%u\"}", i ? "," : "", i);
	strcat(text, "]}");
	snprintf(expected, sizeof(expected), "x.json: builders: more than %d elements",
		 EVB_MAX_BUILDERS);
	assert_text_refused(text, expected);
}

// The message about a whole file of names that are too long still fits.
static void hostile__messages_are_cut(void **state)
{
	char error[CONFIG_ERROR_SIZE];
	char name[600];
	struct config *config;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(config_parse(&config, "{}", 2, name, NULL, NULL, 0, error), -1);
	assert_string_equal(error + 250, ": ports: required, but missing");
}

static void assert_map_refused(const char *map, const char *expected)
{
	char override[128], message[CONFIG_ERROR_SIZE];

	if (map)
		write_file(map_path, map, strlen(map));
	else
		unlink(map_path);
	snprintf(override, sizeof(override), "sources.ids={\"source_map\": \"%s\"}", map_path);
	snprintf(message, sizeof(message), "x.json: sources.ids.source_map: %s%s", map_path,
		 expected);
	assert_refused(override, message);
}

static void source_map__gives_the_ids(void **state)
{
	const char map[] =
	    "{\"sources\": [{\"id\": 2050, \"bank_type\": 63, \"bank_source_id\": 1},"
	    " {\"id\": 7}, {\"id\": \"0x801\"}], \"made_by\": \"packer\"}";
	const uint16_t expected[] = { 7, 2049, 2050 };
	char override[128];

	(void)state;
	write_file(map_path, map, strlen(map));
	snprintf(override, sizeof(override), "sources.ids={\"source_map\": \"%s\"}", map_path);
	struct config *config = load_with(override);
	assert_int_equal(config->sources.n_ids, 3);
	assert_int_equal(config->sources.n_expected, 3);
	assert_memory_equal(config->sources.ids, expected, sizeof(expected));
	config_free(config);
}

static void source_map__that_is_wrong(void **state)
{
	(void)state;
	assert_map_refused(NULL, ": cannot be opened: No such file or directory");
	assert_map_refused("{\"sources\": [}", ": line 1, column 14: no valid JSON at \"}\"");
	assert_map_refused("{}", ": sources: a list is expected here");
	assert_map_refused("[]", ": sources: a list is expected here");
	assert_map_refused("{\"sources\": [{\"id\": 1}, {}]}",
			   ": sources[1].id: required, but missing");
	assert_map_refused("{\"sources\": [5]}", ": sources[0].id: required, but missing");
	assert_map_refused("{\"sources\": [{\"id\": 65536}]}",
			   ": sources[0].id: 65536 is out of range 0..65535");
	assert_map_refused("{\"sources\": [{\"id\": 1}, {\"id\": 1}]}",
			   ": sources[1].id: source id 1 (0x1) is given twice");
	write_file(map_path, "{\"sources\": []}", 15);
}

static void source_map__without_sources(void **state)
{
	char override[128];

	(void)state;
	write_file(map_path, "{\"sources\": []}", 15);
	snprintf(override, sizeof(override), "sources.ids={\"source_map\": \"%s\"}", map_path);
	assert_refused(override,
		       "x.json: sources.ids.source_map: at least one source id is needed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(load_system__visits_each_node_once),
		cmocka_unit_test(load__reads_a_file),
		cmocka_unit_test(load__takes_a_byte_order_mark_and_space),
		cmocka_unit_test(load__without_a_file),
		cmocka_unit_test(load__of_an_unreadable_file),
		cmocka_unit_test(parse__of_too_large_text),
		cmocka_unit_test(syntax__errors_have_line_and_column),
		cmocka_unit_test(syntax__comments_are_no_json),
		cmocka_unit_test(syntax__null_characters_are_refused),
		cmocka_unit_test(hostile__deep_nesting),
		cmocka_unit_test(hostile__long_and_unprintable_keys),
		cmocka_unit_test(hostile__more_elements_than_there_is_room),
		cmocka_unit_test(hostile__messages_are_cut),
		cmocka_unit_test(source_map__gives_the_ids),
		cmocka_unit_test(source_map__that_is_wrong),
		cmocka_unit_test(source_map__without_sources),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
