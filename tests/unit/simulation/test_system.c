// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Traffic kind `system`: the nodes of a file, from the file to the results.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "sim_system/from_config.h"
#include "simulation/simulation.h"

#define LINK 10e9

static bool always(void *context, double share)
{
	(void)context;
	(void)share;
	return true;
}

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

struct loaded {
	struct config *config; // of the manager
	struct sim_generators generators;
};

static struct config *parse(const char *node, const char *const *overrides, unsigned n_overrides)
{
	char error[CONFIG_ERROR_SIZE];
	struct config *config;

	if (config_parse(&config, text, sizeof(text) - 1, "test", node, overrides, n_overrides,
			 error) != 0)
		fail_msg("%s", error);
	return config;
}

static struct loaded load(const char *const *overrides, unsigned n_overrides)
{
	struct loaded loaded = { .config = parse("m", overrides, n_overrides) };
	char error[SIM_SYSTEM_ERROR_SIZE];

	for (unsigned i = 0; i < loaded.config->cluster.n_nodes; i++) {
		struct config *node =
		    parse(loaded.config->cluster.nodes[i].name, overrides, n_overrides);

		if (sim_generators_add(&loaded.generators, node, error) != 0)
			fail_msg("%s", error);
		config_free(node);
	}
	return loaded;
}

static struct simulation_result *run(const char *override, char *error)
{
	struct loaded loaded = load(&override, override != NULL);
	struct sim_system_parameters system = sim_system_configured(loaded.config);
	struct simulation_result *result;

	system.generators = loaded.generators.list;
	system.n_generators = loaded.generators.n;
	result = simulation_run(
	    &(struct simulation_parameters){ .fabric = &loaded.config->fabric,
					     .n_nodes = loaded.config->cluster.n_nodes,
					     .system = &system,
					     .go_on = always },
	    error);
	sim_generators_free(&loaded.generators);
	config_free(loaded.config);
	return result;
}

static struct simulation_result *run_well(const char *override)
{
	char error[SIM_ERROR_SIZE];
	struct simulation_result *result = run(override, error);

	if (result == NULL)
		fail_msg("%s", error);
	return result;
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

static void what_has_no_simulation__is_refused(void **state)
{
	char error[SIM_ERROR_SIZE];
	struct config *config = parse("m", NULL, 0);

	(void)state;
	assert_null(run("event_manager.mode=static", error));
	assert_non_null(strstr(error, "event_manager.mode"));
	assert_null(run("fabric.hosts=3", error));
	assert_non_null(strstr(error, "fabric.hosts"));
	assert_null(simulation_run(
	    &(struct simulation_parameters){ .fabric = &config->fabric, .go_on = always }, error));
	assert_non_null(strstr(error, "fabric.traffic.kind"));
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results__are_those_of_the_system),
		cmocka_unit_test(consumer_time__limits_the_events),
		cmocka_unit_test(what_has_no_simulation__is_refused),
	};

	return cmocka_run_group_tests_name("system", tests, NULL, NULL);
}
