// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>

#include "compose.h"
#include "schema.h"

struct arguments {
	const char *config;
	const char *node;
	struct overrides overrides;
	bool schema;
};

static const struct arguments_option options[] = {
	{ "node", 'N', "NAME", INTO(TEXT, node),
	  "which node, of a configuration that describes several" },
	{ "set", 's', "PATH=VALUE", INTO(OVERRIDE, overrides),
	  "override a key, as in builders[0].slots=16" },
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
		"links, ports, slots, memory. Starts nothing.\vExit status: 0 it can be run, 1 it "
		"cannot; one line then says why.",
};

int cmd_check(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct config *config;
	struct plan *plan;

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	if (arguments.schema)
		return fputs(schema, stdout) < 0 || fflush(stdout) != 0;
	if (load(arguments.config, arguments.node, &arguments.overrides, &config, &plan) != 0)
		return 1;
	plan_print(plan, stdout);
	free(plan);
	config_free(config);
	return 0;
}
