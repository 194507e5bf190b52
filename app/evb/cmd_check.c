// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>

#include "load.h"

struct arguments {
	const char *config;
	const char *node;
	struct overrides overrides;
	bool schema;
};

static const struct argp_option options[] = {
	{ "node", 'N', "NAME", 0, "which node, of a configuration that describes several", 0 },
	{ "set", 's', "PATH=VALUE", 0, "override a key, as in builders[0].slots=16", 0 },
	{ "schema", 'S', NULL, 0, "print the JSON Schema of the configuration instead", 0 },
	{ 0 },
};

static const struct arguments_field fields[] = {
	{ 'N', ARGUMENTS_TEXT, offsetof(struct arguments, node) },
	{ 's', ARGUMENTS_OVERRIDE, offsetof(struct arguments, overrides) },
	{ 'S', ARGUMENTS_FLAG, offsetof(struct arguments, schema) },
	{ ARGP_KEY_ARG, ARGUMENTS_TEXT, offsetof(struct arguments, config) },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case ARGP_KEY_END:
		if (arguments->config == NULL && !arguments->schema)
			argp_error(state, "name a configuration, for example configs/demo.json");
		return 0;
	default:
		return arguments_store(fields, options, key, argument, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "CONFIG",
	.doc = "Checks a configuration and prints the plan that follows from it: lcores, roles, "
	       "links, "
	       "ports, slots, memory. Starts nothing.\vExit status: 0 it can be run, 1 it cannot; "
	       "one line then says why.",
};

static int print_schema(void)
{
	char *schema = config_schema();

	if (schema == NULL) {
		fprintf(stderr, "evb: out of memory\n");
		return 1;
	}
	fputs(schema, stdout);
	free(schema);
	return 0;
}

int cmd_check(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct config *config;
	struct plan *plan;

	if (arguments_parse(&argp, argc, argv, &arguments) != 0)
		return 1;
	if (arguments.schema)
		return print_schema();
	if (load(arguments.config, arguments.node, &arguments.overrides, &config, &plan) != 0)
		return 1;
	plan_print(plan, stdout);
	free(plan);
	config_free(config);
	return 0;
}
