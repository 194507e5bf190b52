// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What a system does when parts of it fail.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "system_run.h"

static const char text[] =
    "{\"name\": \"s\", \"sources\": {\"ids\": [\"1-2\"], \"packing\": 100}, \"nodes\": ["
    "{\"name\": \"m\", \"manager\": true, \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", "
    "\"address\": \"10.0.0.1/24\"}]},"
    "{\"name\": \"r1\", \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"link_rate\": "
    "\"1Gb/s\", \"address\": \"10.0.0.2/24\"}], \"generators\": [{\"name\": \"g\", \"port\": "
    "\"w\", \"ids\": [1], \"rate\": 400, \"size\": {\"mean\": 500}}]},"
    "{\"name\": \"r2\", \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"link_rate\": "
    "\"1Gb/s\", \"address\": \"10.0.0.3/24\"}], \"generators\": [{\"name\": \"g\", \"port\": "
    "\"w\", \"ids\": [2], \"rate\": 400, \"size\": {\"mean\": 500}}]},"
    "{\"name\": \"b1\", \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"link_rate\": "
    "\"1Gb/s\", \"address\": \"10.0.0.4/24\"}], \"builders\": [{\"name\": \"b\", \"slots\": 16, "
    "\"slot_size\": \"1MiB\"}]},"
    "{\"name\": \"b2\", \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"link_rate\": "
    "\"1Gb/s\", \"address\": \"10.0.0.5/24\"}], \"builders\": [{\"name\": \"b\", \"slots\": 16, "
    "\"slot_size\": \"1MiB\"}]}],"
    "\"event_manager\": {\"heartbeat\": \"10ms\", \"heartbeat_timeout\": \"50ms\"},"
    "\"fabric\": {\"link_rate\": \"1Gb/s\", \"duration\": \"2s\", \"traffic\": "
    "{\"kind\": \"system\"}}}";

#define MS         UINT64_C(1000000)
#define ANNOUNCED  799 // in 2 s, 400 per second; the last event is on its way
#define BUILDER_1  3   // host
#define PER_SECOND 400

static struct simulation_result *run_with(const char *fault)
{
	char override[256];
	const char *overrides[] = { override };

	snprintf(override, sizeof(override), "fabric.faults=[{%s}]", fault);
	return system_run_well(text, overrides, 1);
}

// Each event that was announced is built once.
static void expect_all_complete(const struct simulation_result *result)
{
	assert_int_equal(result->system.manager.announced, ANNOUNCED);
	assert_int_equal(result->system.total.complete, ANNOUNCED);
	assert_int_equal(result->system.total.incomplete, 0);
}

static uint64_t longest(const struct simulation_result *result)
{
	return result->system.latency.published.maximum;
}

static void silent_builder__its_events_go_to_others_when_the_doubt_ends(void **state)
{
	struct simulation_result *result = run_with(
	    "\"kind\": \"silent\", \"node\": \"b1\", \"begin\": \"500ms\", \"length\": \"600ms\"");

	(void)state;
	expect_all_complete(result);
	assert_int_equal(result->system.manager.excluded, 1);
	assert_true(result->system.lost_data > 0);
	assert_int_equal(result->totals.dropped[SIM_DROP_LINK],
			 result->system.lost_data + result->system.lost_control);
	// The builder may have published them before it was cut off.
	assert_true(result->system.manager.repeated > 0);
	// The time in doubt, 2 heartbeat timeouts, behind at least a part of one.
	assert_in_range(longest(result), 100 * MS, 160 * MS);
	simulation_free(result);
}

static void silent_readout__it_is_left_out_until_it_is_back(void **state)
{
	struct simulation_result *result = run_with(
	    "\"kind\": \"silent\", \"node\": \"r1\", \"begin\": \"500ms\", \"length\": \"600ms\"");
	const struct sim_node_view *total = &result->system.total;

	(void)state;
	assert_int_equal(total->complete + total->incomplete, ANNOUNCED);
	// Not before the heartbeat timeout, and not for longer than it is silent.
	assert_in_range(total->incomplete, (600 - 50 - 20) * PER_SECOND / 1000,
			(600 + 20) * PER_SECOND / 1000);
	assert_in_range(longest(result), 50 * MS, 160 * MS);
	simulation_free(result);
}

static void silent_manager__all_wait_for_it(void **state)
{
	struct simulation_result *result = run_with(
	    "\"kind\": \"silent\", \"node\": \"m\", \"begin\": \"500ms\", \"length\": \"600ms\"");

	(void)state;
	expect_all_complete(result);
	assert_in_range(longest(result), 590 * MS, 650 * MS);
	simulation_free(result);
}

static void link_down_shortly__nothing_is_lost_and_nobody_excluded(void **state)
{
	struct simulation_result *result = run_with(
	    "\"kind\": \"link\", \"node\": \"b1\", \"begin\": \"500ms\", \"length\": \"30ms\"");

	(void)state;
	expect_all_complete(result);
	assert_int_equal(result->system.lost_data + result->system.lost_control, 0);
	assert_int_equal(result->system.manager.excluded, 0);
	assert_in_range(longest(result), 20 * MS, 50 * MS);
	simulation_free(result);
}

static void link_down_for_long__its_builder_is_excluded_until_it_is_back(void **state)
{
	struct simulation_result *result = run_with(
	    "\"kind\": \"link\", \"link\": 3, \"begin\": \"500ms\", \"length\": \"600ms\"");

	(void)state;
	expect_all_complete(result);
	assert_int_equal(result->system.manager.excluded, 1);
	assert_true(result->system.manager.repeated > 0);
	simulation_free(result);
}

// 400 events/s of 100 kB need 160 Mb/s for each builder.
static void slow_link__holds_up_the_events_of_all(void **state)
{
	struct simulation_result *result = run_with(
	    "\"kind\": \"link\", \"host\": 3, \"begin\": \"500ms\", \"rate\": \"100Mb/s\"");

	(void)state;
	assert_int_equal(result->system.total.incomplete, 0);
	assert_in_range(result->system.total.complete, 200 + 1.5 * 120, 200 + 1.5 * 250);
	assert_true(result->system.manager.waiting > 0);
	simulation_free(result);
}

static void builder_that_pauses__others_take_its_share(void **state)
{
	struct simulation_result *result =
	    run_with("\"kind\": \"builder-pause\", \"node\": \"b1\", \"begin\": \"500ms\", "
		     "\"length\": \"100ms\", \"period\": \"500ms\"");

	(void)state;
	expect_all_complete(result);
	assert_int_equal(result->system.manager.excluded, 0);
	assert_in_range(longest(result), 90 * MS, 105 * MS);
	simulation_free(result);
}

// 100 events/s in 1.5 s, beside those that its slots hold.
static void slow_consumer__its_builder_gets_what_it_takes(void **state)
{
	struct simulation_result *result =
	    run_with("\"kind\": \"slow-consumer\", \"node\": \"b1\", \"begin\": \"500ms\", "
		     "\"consumer_time\": \"10ms\"");
	const uint64_t size = result->system.total.payload / result->system.total.complete;

	(void)state;
	expect_all_complete(result);
	assert_in_range(result->received[BUILDER_1] / size, 100 + 140, 100 + 150 + 20);
	simulation_free(result);
}

// --- storms ---

static void expect_storm(const struct simulation_result *result, const char *by, const char *pauses)
{
	cJSON *json = simulation_json(result, true);
	const cJSON *storms = cJSON_GetObjectItemCaseSensitive(json, "storms");
	const cJSON *storm = cJSON_GetArrayItem(storms, 0);

	assert_int_equal(cJSON_GetArraySize(storms), 1);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(storm, "by")),
			    by);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(storm, "pauses")),
			    pauses);
	cJSON_Delete(json);
}

// The switch pauses the readouts, as its buffers are full: that is not the storm.
static void storm_of_a_host__is_named_and_stops_all(void **state)
{
	struct simulation_result *result =
	    run_with("\"kind\": \"host-pause\", \"node\": \"b1\", \"begin\": \"500ms\"");

	(void)state;
	expect_storm(result, "host 3", "switch 0");
	assert_in_range(result->system.total.complete, 195, 205);
	assert_true(result->ports[1].view.paused > 0);
	simulation_free(result);
}

static void storm_of_a_switch_port__is_named(void **state)
{
	struct simulation_result *result =
	    run_with("\"kind\": \"switch-pause\", \"node\": \"r1\", \"begin\": \"500ms\"");

	(void)state;
	expect_storm(result, "switch 0", "host 1");
	assert_in_range(result->system.total.complete, 195, 205);
	simulation_free(result);
}

static void storm_that_ends__everything_goes_on(void **state)
{
	struct simulation_result *result = run_with(
	    "\"kind\": \"switch-pause\", \"link\": 1, \"begin\": \"500ms\", \"length\": \"100ms\"");

	(void)state;
	expect_all_complete(result);
	assert_int_equal(result->n_storms, 0);
	assert_in_range(longest(result), 90 * MS, 150 * MS);
	simulation_free(result);
}

// --- the manager ---

static void manager_that_begins_anew__continues_the_run(void **state)
{
	struct simulation_result *result =
	    run_with("\"kind\": \"manager-restart\", \"begin\": \"500ms\", \"length\": \"100ms\"");

	(void)state;
	expect_all_complete(result);
	assert_int_equal(result->system.manager.excluded, 0);
	assert_true(result->system.lost_control > 0);
	assert_in_range(longest(result), 95 * MS, 150 * MS);
	simulation_free(result);
}

static void manager_that_is_gone_at_the_end__has_its_last_counts(void **state)
{
	struct simulation_result *result =
	    run_with("\"kind\": \"manager-restart\", \"begin\": \"1s\"");

	(void)state;
	assert_in_range(result->system.manager.announced, 395, 401);
	assert_in_range(result->system.total.complete, 395, 401);
	simulation_free(result);
}

static void faults_of_what_there_is_not__are_refused(void **state)
{
	char error[SIM_ERROR_SIZE];
	const char *node = "fabric.faults=[{\"kind\": \"silent\", \"host\": 5}]";
	const char *link = "fabric.faults=[{\"kind\": \"link\", \"link\": 5}]";

	(void)state;
	assert_null(system_run(text, &node, 1, error));
	assert_string_equal(error, "fabric.faults[0].host: 5, and there are 5 nodes");
	assert_null(system_run(text, &link, 1, error));
	assert_string_equal(error, "fabric.faults[0].link: 5, and there are 5 links");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent_builder__its_events_go_to_others_when_the_doubt_ends),
		cmocka_unit_test(silent_readout__it_is_left_out_until_it_is_back),
		cmocka_unit_test(silent_manager__all_wait_for_it),
		cmocka_unit_test(link_down_shortly__nothing_is_lost_and_nobody_excluded),
		cmocka_unit_test(link_down_for_long__its_builder_is_excluded_until_it_is_back),
		cmocka_unit_test(slow_link__holds_up_the_events_of_all),
		cmocka_unit_test(builder_that_pauses__others_take_its_share),
		cmocka_unit_test(slow_consumer__its_builder_gets_what_it_takes),
		cmocka_unit_test(storm_of_a_host__is_named_and_stops_all),
		cmocka_unit_test(storm_of_a_switch_port__is_named),
		cmocka_unit_test(storm_that_ends__everything_goes_on),
		cmocka_unit_test(manager_that_begins_anew__continues_the_run),
		cmocka_unit_test(manager_that_is_gone_at_the_end__has_its_last_counts),
		cmocka_unit_test(faults_of_what_there_is_not__are_refused),
	};

	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
