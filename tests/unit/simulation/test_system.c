// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Traffic kind `system`: the nodes of a file, from the file to the results.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "system_run.h"

#define LINK 10e9

static const char text[] =
    "{\"name\": \"s\", \"sources\": {\"ids\": [\"1-2\"], \"packing\": 100}, \"nodes\": ["
    "{\"name\": \"m\", \"manager\": true, \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", "
    "\"address\": \"10.0.0.1/24\"}]},"
    "{\"name\": \"a\", \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"link_rate\": "
    "\"10Gb/s\", \"address\": \"10.0.0.2/24\"}], \"generators\": [{\"name\": \"g\", \"port\": "
    "\"w\", \"ids\": [1], \"size\": {\"mean\": 1000}}]},"
    "{\"name\": \"b\", \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"link_rate\": "
    "\"10Gb/s\", \"address\": \"10.0.0.3/24\"}], \"generators\": [{\"name\": \"g\", \"port\": "
    "\"w\", \"ids\": [2], \"size\": {\"mean\": 1000}}]},"
    "{\"name\": \"c\", \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"link_rate\": "
    "\"10Gb/s\", \"address\": \"10.0.0.4/24\"}], \"builders\": [{\"name\": \"b\", \"slots\": 16, "
    "\"slot_size\": \"1MiB\"}]}],"
    "\"event_manager\": {\"target_utilisation\": 0.8}, \"fabric\": {\"link_rate\": \"10Gb/s\", "
    "\"flow_control\": \"none\", \"duration\": \"220ms\", \"warm_up\": \"20ms\", \"traffic\": "
    "{\"kind\": \"system\"}}}";

static struct simulation_result *run(const char *override, char *error)
{
	return system_run(text, &override, override != NULL, error);
}

static struct simulation_result *run_well(const char *override)
{
	return system_run_well(text, &override, override != NULL);
}

static double number(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	assert_non_null(item);
	return cJSON_GetNumberValue(item);
}

// Grants use 80 % of the builder's link. Results are those of 200 ms.
static void results__are_those_of_the_system(void **state)
{
	struct simulation_result *result = run_well(NULL);
	cJSON *json = simulation_json(result, true);
	const cJSON *system = cJSON_GetObjectItemCaseSensitive(json, "system");
	const double share = number(system, "complete_wire_bytes") * 8 / 0.2 / LINK;

	(void)state;
	if (share < 0.79 || share > 0.81)
		fail_msg("share of the link: %g", share);
	assert_true(number(system, "events_complete") > 0);
	assert_true(number(system, "events_incomplete") == 0);
	assert_true(number(system, "lost_data_packets") == 0);
	assert_true(result->received[3] == (uint64_t)number(system, "complete_bytes"));
	assert_true(result->received[1] == 0);
	simulation_print(result, stderr);
	cJSON_Delete(json);
	simulation_free(result);
}

// A consumer that needs 4 ms returns 50 events in 200 ms.
static void consumer_time__limits_the_events(void **state)
{
	struct simulation_result *result = run_well("fabric.traffic.consumer_time=4ms");

	(void)state;
	assert_in_range(result->system.total.complete, 49, 51);
	simulation_free(result);
}

// Times of a file, 2 ms in the mean: 100 events in 200 ms. Scaled to 8 ms: 25.
static void consumer_times__limit_the_events(void **state)
{
	char path[] = "/tmp/evb-times-XXXXXX", times[64];
	const char *const overrides[] = { "fabric.traffic.consumer_law=histogram", times,
					  "fabric.traffic.consumer_time=8ms" };
	const int file = mkstemp(path);
	struct simulation_result *result;

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(write(file, "1ms 3\n5ms 1\n", 12), 12);
	close(file);
	snprintf(times, sizeof(times), "fabric.traffic.consumer_times=%s", path);
	result = system_run_well(text, overrides, 2);
	assert_in_range(result->system.total.complete, 75, 125);
	simulation_free(result);
	result = system_run_well(text, overrides, 3);
	assert_in_range(result->system.total.complete, 15, 35);
	simulation_free(result);
	unlink(path);
}

static void what_has_no_simulation__is_refused(void **state)
{
	char error[SIM_ERROR_SIZE];

	(void)state;
	assert_null(run("event_manager.mode=static", error));
	assert_non_null(strstr(error, "event_manager.mode"));
	assert_null(run("fabric.hosts=3", error));
	assert_non_null(strstr(error, "fabric.hosts"));
	assert_null(system_run_alone(text, error));
	assert_non_null(strstr(error, "fabric.traffic.kind"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results__are_those_of_the_system),
		cmocka_unit_test(consumer_time__limits_the_events),
		cmocka_unit_test(consumer_times__limit_the_events),
		cmocka_unit_test(what_has_no_simulation__is_refused),
	};

	return cmocka_run_group_tests_name("system", tests, NULL, NULL);
}
