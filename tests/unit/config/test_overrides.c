// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <stdio.h>
#include <string.h>

#include "helpers.h"

static void override__replaces_a_value(void **state)
{
	struct config *config = load_with("builders[0].slots=16");

	(void)state;
	assert_int_equal(config->builders[0].slots, 16);
	assert_string_equal(config->builders[0].name, "b0");
	config_free(config);
}

static void override__takes_json_and_bare_strings(void **state)
{
	struct config *config;

	(void)state;
	config = load_with("transport.kind=eth");
	assert_int_equal(config->transport.kind, CONFIG_TRANSPORT_ETH);
	config_free(config);
	config = load_with("transport.kind=\"eth\"");
	assert_int_equal(config->transport.kind, CONFIG_TRANSPORT_ETH);
	config_free(config);
	config = load_with("events.deadline=5ms");
	assert_int_equal(config->events.deadline_ns, 5000000);
	config_free(config);
	config = load_with("events.deadline= 5000 ");
	assert_int_equal(config->events.deadline_ns, 5000);
	config_free(config);
	config = load_with("ports[0].device=a=b");
	assert_string_equal(config->ports[0].device, "a=b");
	config_free(config);
	config = load_with("ports[0].device=");
	assert_string_equal(config->ports[0].device, "");
	config_free(config);
}

static void override__makes_what_is_missing(void **state)
{
	struct config *config;

	(void)state;
	config = load_with("generators[0].faults.loss=0.5");
	assert_true(config->generators[0].faults.loss == 0.5);
	config_free(config);
	config = load_with("event_ring.groups[0]=a");
	assert_int_equal(config->event_ring.n_groups, 1);
	assert_string_equal(config->event_ring.groups[0], "a");
	config_free(config);
	config = load_with("writers[0].name=w");
	assert_int_equal(config->n_writers, 1);
	config_free(config);
}

static void override__appends_behind_the_last(void **state)
{
	struct config *config = load_with("builders[1].name=b1");

	(void)state;
	assert_int_equal(config->n_builders, 2);
	assert_string_equal(config->builders[0].name, "b0");
	assert_string_equal(config->builders[1].name, "b1");
	config_free(config);
}

static void override__later_ones_see_earlier_ones(void **state)
{
	const char *const overrides[] = { "builders[1].name=b1", "builders[1].slots=2",
					  "builders[1].slots=3", "builders[2]={\"name\": \"b2\"}" };
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	(void)state;
	if (config_parse(&config, base_text, strlen(base_text), "x.json", NULL, overrides, 4,
			 error))
		fail_msg("%s", error);
	assert_int_equal(config->n_builders, 3);
	assert_int_equal(config->builders[1].slots, 3);
	assert_string_equal(config->builders[2].name, "b2");
	config_free(config);
}

static void override__keeps_all_digits_of_large_numbers(void **state)
{
	struct config *config = load_with("generators[0].seed=18446744073709551615");

	(void)state;
	assert_int_equal(config->generators[0].seed, UINT64_MAX);
	config_free(config);
	assert_refused("generators[0].seed=18446744073709551616",
		       "x.json: generators[0].seed: \"18446744073709551616\" is too large");
}

static void override__mends_what_is_wrong_in_the_file(void **state)
{
	const char *text = "{\"ports\": [{\"name\": \"w\", \"profile\": \"ring\"}], \"sources\": "
			   "{\"ids\": [1]}, \"builders\": [{\"name\": \"b\", \"slots\": 0}]}";
	const char *override = "builders[0].slots=1";
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	(void)state;
	if (config_parse(&config, text, strlen(text), "x.json", NULL, &override, 1, error))
		fail_msg("%s", error);
	assert_int_equal(config->builders[0].slots, 1);
	config_free(config);
}

static void override__index_beyond_the_list(void **state)
{
	(void)state;
	assert_refused("builders[3].slots=1", "--set builders[3].slots=1: builders has 1 element");
	assert_refused("builders[2]={}", "--set builders[2]={}: builders has 1 element");
	assert_refused("writers[1].name=w", "--set writers[1].name=w: writers has 0 elements");
	assert_refused("builders[99999].slots=1",
		       "--set builders[99999].slots=1: builders has 1 element");
}

static void override__through_what_is_no_object_or_list(void **state)
{
	(void)state;
	assert_refused("builders.slots=1", "--set builders.slots=1: builders is no object");
	assert_refused("builders[0][0]=1", "--set builders[0][0]=1: builders[0] is no list");
	assert_refused("[0]=1", "--set [0]=1: the file is no list");
	assert_refused("sources.ids[0].x=1",
		       "--set sources.ids[0].x=1: sources.ids[0] is no object");
}

static void override__without_a_path_or_value(void **state)
{
	(void)state;
	assert_refused("", "--set : PATH=VALUE is expected");
	assert_refused("name", "--set name: PATH=VALUE is expected");
	assert_refused("=1", "--set =1: a key is expected at \"=1\"");
	assert_refused(".name=1", "--set .name=1: a key is expected at \".name=1\"");
	assert_refused("events.=1", "--set events.=1: a key is expected at \".=1\"");
	assert_refused("builders[0]slots=1",
		       "--set builders[0]slots=1: a key is expected at \"slots=1\"");
	assert_refused("builders[]=1",
		       "--set builders[]=1: an index such as [0] is expected at \"[]=1\"");
	assert_refused("builders[-1]=1",
		       "--set builders[-1]=1: an index such as [0] is expected at \"[-1]=1\"");
	assert_refused("builders[0=1",
		       "--set builders[0=1: an index such as [0] is expected at \"[0=1\"");
	assert_refused(
	    "builders[100000]=1",
	    "--set builders[100000]=1: an index such as [0] is expected at \"[100000]=1\"");
}

static void override__broken_json(void **state)
{
	(void)state;
	assert_refused("builders=[1", "--set builders=[1: the value is no valid JSON");
	assert_refused("events={\"a\"}", "--set events={\"a\"}: the value is no valid JSON");
	assert_refused("name=\"a", "--set name=\"a: the value is no valid JSON");
}

static void override__too_deep(void **state)
{
	char deep[4096] = "a";

	(void)state;
	assert_refused("a.b.c.d.e.f.g.h.i=1", "--set a.b.c.d.e.f.g.h.i=1: no key lies so deep");
	for (unsigned i = 0; i < 1000; i++)
		strcat(deep, ".a");
	strcat(deep, "=1");
	assert_refused(deep,
		       "--set a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a....: "
		       "no key lies so deep");
}

static void override__of_unprintable_text(void **state)
{
	(void)state;
	assert_refused("a\n\x80", "--set a??: PATH=VALUE is expected");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(override__replaces_a_value),
		cmocka_unit_test(override__takes_json_and_bare_strings),
		cmocka_unit_test(override__makes_what_is_missing),
		cmocka_unit_test(override__appends_behind_the_last),
		cmocka_unit_test(override__later_ones_see_earlier_ones),
		cmocka_unit_test(override__keeps_all_digits_of_large_numbers),
		cmocka_unit_test(override__mends_what_is_wrong_in_the_file),
		cmocka_unit_test(override__index_beyond_the_list),
		cmocka_unit_test(override__through_what_is_no_object_or_list),
		cmocka_unit_test(override__without_a_path_or_value),
		cmocka_unit_test(override__broken_json),
		cmocka_unit_test(override__too_deep),
		cmocka_unit_test(override__of_unprintable_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
