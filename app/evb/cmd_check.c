// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_facts.h"
#include "check_json.h"
#include "compose.h"
#include "schema.h"
#include "simulation/simulation.h"

#define MOST_PLANS 32u // of nodes of a system: a plan of each of hundreds takes too long

struct arguments {
	const char *config;
	const char *node;
	struct overrides overrides;
	bool schema;
	bool json;
};

static const struct arguments_option options[] = {
	{ "node", 'N', "NAME", INTO(TEXT, node),
	  "which node, of a configuration that describes several; without it: all" },
	{ "set", 's', "PATH=VALUE", INTO(OVERRIDE, overrides),
	  "override a key, as in builders[0].slots=16" },
	{ "json", 'j', NULL, INTO(FLAG, json), "print the plan as JSON" },
	{ "schema", 'S', NULL, INTO(FLAG, schema),
	  "print the JSON Schema of the configuration instead" },
	{ ARGUMENT(TEXT, config) },
	{ 0 },
};

static void check(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;

	if (arguments->config == NULL && !arguments->schema)
		argp_error(state, "name a configuration, for example configs/demo.json");
}

static const struct arguments_command command = {
	.options = options,
	.check = check,
	.arguments = "CONFIG",
	.help = "Checks a configuration and prints the plan that follows from it: lcores, roles, "
		"links, ports, slots, memory, addresses, services, files. Of a configuration that "
		"describes several nodes, checks all. Starts nothing.\vExit status: 0 it can be "
		"run, 1 it "
		"cannot; one line then says why.",
};

// Prints a fact, and before the first one of a section its name.
static void print_fact(void *context, const char *section, const char *who, const char *text)
{
	const char **last = context;

	if (*last == NULL || strcmp(*last, section) != 0)
		printf("\n%s\n", section);
	*last = section;
	printf("  %-12s %s\n", who, text);
}

static void print_plan(const struct plan *plan)
{
	const char *section = NULL;

	plan_print(plan, stdout);
	check_facts(plan, print_fact, &section);
}

static int print_json(cJSON *json)
{
	char *text = cJSON_Print(json);
	int status = text == NULL || printf("%s\n", text) < 0;

	free(text);
	cJSON_Delete(json);
	return status;
}

// Node `name` of a system: as an element of `list`, or as a line where that is NULL.
static int check_node(const struct arguments *arguments, const char *name, cJSON *list)
{
	struct config *config;
	struct plan *plan;

	if (load(arguments->config, name, &arguments->overrides, &config, &plan) != 0)
		return -1;
	if (list != NULL)
		cJSON_AddItemToArray(list, check_json(plan));
	else
		printf("  %-12s roles %u on CPUs %u, ports %u, memory %.1f MiB\n", name,
		       plan->n_roles, plan->n_lcores, config->n_ports,
		       (double)plan_bytes(plan) / (1024 * 1024));
	free(plan);
	config_free(config);
	return 0;
}

// All nodes of a system; of many, the first and the last ones, as all were read and checked with
// the configuration. `plan` is that of the manager's node.
static int check_system(const struct arguments *arguments, const struct plan *plan)
{
	const struct cluster_system *cluster = &plan->config->cluster;
	cJSON *list = arguments->json ? cJSON_CreateArray() : NULL;

	if (!arguments->json) {
		printf("%s, run %u\n", plan->config->path, plan->config->run_number);
		plan_print_system(plan, stdout);
		printf("\nnodes (--node NAME prints the plan of one)\n");
	}
	for (unsigned i = 0; i < cluster->n_nodes; i++) {
		if (i == MOST_PLANS / 2 && cluster->n_nodes > MOST_PLANS) {
			i = cluster->n_nodes - MOST_PLANS / 2;
			if (list == NULL)
				printf("  ... and %u others, which are not planned here\n",
				       cluster->n_nodes - MOST_PLANS);
		}
		if (check_node(arguments, cluster->nodes[i].name, list) != 0) {
			cJSON_Delete(list);
			return 1;
		}
	}
	return list != NULL ? print_json(list) : 0;
}

// The network that `evb sim` would simulate.
static int check_network(const struct config *config)
{
	const struct simulation_parameters parameters = { .fabric = &config->fabric,
							  .path = config->path,
							  .n_nodes = config->cluster.n_nodes };
	char error[SIM_ERROR_SIZE];

	if (simulation_check(&parameters, error))
		return 0;
	fprintf(stderr, "%s: %s\n", config->path, error);
	return 1;
}

int cmd_check(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	const char *node;
	struct config *config;
	struct plan *plan;
	int status = 0;

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	if (arguments.schema)
		return fputs(schema, stdout) < 0 || fflush(stdout) != 0;
	node = arguments.node != NULL ? arguments.node : CONFIG_MANAGER_NODE;
	if (load(arguments.config, node, &arguments.overrides, &config, &plan) != 0)
		return 1;
	if (check_network(config) != 0)
		status = 1;
	else if (arguments.node == NULL && config->cluster.n_nodes > 1)
		status = check_system(&arguments, plan);
	else if (arguments.json)
		status = print_json(check_json(plan));
	else
		print_plan(plan);
	free(plan);
	config_free(config);
	return status;
}
