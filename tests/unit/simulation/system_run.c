// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "system_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool always(void *context, double share)
{
	(void)context;
	(void)share;
	return true;
}

static struct config *parse(const char *text, const char *node, const char *const *overrides,
			    unsigned n_overrides)
{
	char error[CONFIG_ERROR_SIZE];
	struct config *config;

	if (config_parse(&config, text, strlen(text), "test", node, overrides, n_overrides,
			 error) != 0)
		fail_msg("%s", error);
	return config;
}

static void add_generators(struct sim_generators *generators, const struct config *manager,
			   const char *text, const char *const *overrides, unsigned n_overrides)
{
	char error[SIM_SYSTEM_ERROR_SIZE];

	for (unsigned i = 0; i < manager->cluster.n_nodes; i++) {
		struct config *node =
		    parse(text, manager->cluster.nodes[i].name, overrides, n_overrides);

		if (sim_generators_add(generators, node, error) != 0)
			fail_msg("%s", error);
		config_free(node);
	}
}

struct simulation_result *system_run(const char *text, const char *const *overrides,
				     unsigned n_overrides, char *error)
{
	struct config *config = parse(text, "m", overrides, n_overrides);
	struct sim_generators generators = { 0 };
	struct sim_system_parameters system = sim_system_configured(config);
	struct simulation_result *result;

	add_generators(&generators, config, text, overrides, n_overrides);
	system.generators = generators.list;
	system.n_generators = generators.n;
	result = simulation_run(&(struct simulation_parameters){ .fabric = &config->fabric,
								 .n_nodes = config->cluster.n_nodes,
								 .system = &system,
								 .go_on = always },
				error);
	sim_generators_free(&generators);
	config_free(config);
	return result;
}

struct simulation_result *system_run_alone(const char *text, char *error)
{
	struct config *config = parse(text, "m", NULL, 0);
	struct simulation_result *result = simulation_run(
	    &(struct simulation_parameters){ .fabric = &config->fabric, .go_on = always }, error);

	config_free(config);
	return result;
}

struct simulation_result *system_run_well(const char *text, const char *const *overrides,
					  unsigned n_overrides)
{
	char error[SIM_ERROR_SIZE];
	struct simulation_result *result = system_run(text, overrides, n_overrides, error);

	if (result == NULL)
		fail_msg("%s", error);
	return result;
}
