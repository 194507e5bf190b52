// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cmd.h"

#include <stdlib.h>

#include "load.h"
#include "log.h"
#include "session.h"

struct arguments {
	const char *config;
	const char *node;
	struct overrides overrides;
	unsigned long long events;
	struct session_options session;
};

enum {
	OPTION_STRICT = 256,
	OPTION_LOG,
};

static const struct argp_option options[] = {
	{ "duration", 'd', "SECONDS", 0, "stop after this time", 0 },
	{ "events", 'n', "N", 0, "have each generator send N MFPs a source, then end the run", 0 },
	{ "node", 'N', "NAME", 0, "which node, of a configuration that describes several", 0 },
	{ "set", 's', "PATH=VALUE", 0, "override a key, as in builders[0].slots=16", 0 },
	{ "summary", 'o', "FILE", 0, "write the final account as JSON", 0 },
	{ "strict", OPTION_STRICT, NULL, 0, "exit with 2 if anything was lost", 0 },
	{ "quiet", 'q', NULL, 0, "show only the final account", 0 },
	{ "log", OPTION_LOG, "FORMAT", 0,
	  "text (the default), or json: all that is said, the account too, as JSON lines on "
	  "standard error",
	  0 },
	{ 0 },
};

static const struct arguments_field fields[] = {
	{ 'd', ARGUMENTS_POSITIVE, offsetof(struct arguments, session.duration) },
	{ 'N', ARGUMENTS_TEXT, offsetof(struct arguments, node) },
	{ 's', ARGUMENTS_OVERRIDE, offsetof(struct arguments, overrides) },
	{ 'o', ARGUMENTS_TEXT, offsetof(struct arguments, session.summary) },
	{ OPTION_STRICT, ARGUMENTS_FLAG, offsetof(struct arguments, session.strict) },
	{ 'q', ARGUMENTS_FLAG, offsetof(struct arguments, session.quiet) },
	{ ARGP_KEY_ARG, ARGUMENTS_TEXT, offsetof(struct arguments, config) },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'n':
		arguments->events =
		    (unsigned long long)arguments_positive(argument, state, "--events");
		return 0;
	case OPTION_LOG:
		if (!log_choose(argument))
			argp_error(state, "--log: \"%s\" is neither text nor json", argument);
		return 0;
	case ARGP_KEY_END:
		if (arguments->config == NULL)
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
	.doc =
	    "Runs an appliance until its run ends, or SIGINT or SIGTERM drains it; a second signal "
	    "kills.\vExit status: 0 clean, 1 refused, 2 ran with losses and --strict was given.",
};

int cmd_run(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct config *config;
	struct plan *plan;
	int status;

	if (arguments_parse(&argp, argc, argv, &arguments) != 0)
		return 1;
	if (load(arguments.config, arguments.node, &arguments.overrides, &config, &plan) != 0)
		return 1;
	for (unsigned i = 0; i < config->n_generators && arguments.events > 0; i++)
		config->generators[i].events = arguments.events;
	status = session_run(plan, &arguments.session);
	free(plan);
	config_free(config);
	return status;
}
