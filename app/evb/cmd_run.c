// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cmd.h"

#include <stdlib.h>

#include "compose.h"
#include "log.h"

struct arguments {
	const char *config;
	const char *node;
	struct overrides overrides;
	double events;
	struct session_options session;
};

static void take_log(void *arguments, const char *text, const struct argp_state *state)
{
	(void)arguments;
	if (!log_choose(text))
		argp_error(state, "--log: \"%s\" is neither text nor json", text);
}

static const struct arguments_option options[] = {
	{ "duration", 'd', "TIME", INTO(DURATION, session.duration), "stop after this time" },
	{ "events", 'n', "N", INTO(POSITIVE, events),
	  "have each generator send N MFPs a source, then end the run" },
	{ "node", 'N', "NAME", INTO(TEXT, node),
	  "which node, of a configuration that describes several" },
	{ "set", 's', "PATH=VALUE", INTO(OVERRIDE, overrides),
	  "override a key, as in builders[0].slots=16" },
	{ "summary", 'o', "FILE", INTO(TEXT, session.summary), "write the final account as JSON" },
	{ "strict", 0, NULL, INTO(FLAG, session.strict), "exit with 2 if anything was lost" },
	{ "quiet", 'q', NULL, INTO(FLAG, session.quiet), "show only the final account" },
	{ "log", 0, "FORMAT", TAKE(take_log),
	  "text (the default), or json: all that is said, the account too, as JSON lines on "
	  "standard error" },
	{ ARGUMENT(TEXT, config) },
	{ 0 },
};

static void check(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;

	if (arguments->config == NULL)
		argp_error(state, "name a configuration, for example configs/demo.json");
}

static const struct arguments_command command = {
	.options = options,
	.check = check,
	.arguments = "CONFIG",
	.help =
	    "Runs an appliance until its run ends, or SIGINT or SIGTERM drains it; a second signal "
	    "kills.\vExit status: 0 clean, 1 refused, 2 ran with losses and --strict was given.",
};

static void set_events(const struct arguments *arguments, struct config *config)
{
	for (unsigned i = 0; i < config->n_generators && arguments->events >= 1; i++)
		config->generators[i].events = (uint64_t)arguments->events;
}

// Another file for the same node, with the same overrides.
static int load_again(void *context, const char *path, struct config **config, char *error)
{
	const struct arguments *arguments = context;

	if (config_load(config, path, arguments->node, arguments->overrides.list,
			arguments->overrides.n, error) != 0)
		return -1;
	set_events(arguments, *config);
	return 0;
}

int cmd_run(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct config *config;
	struct plan *plan;
	int status;

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	if (load(arguments.config, arguments.node, &arguments.overrides, &config, &plan) != 0)
		return 1;
	set_events(&arguments, config);
	arguments.session.config = config;
	arguments.session.load = load_again;
	arguments.session.load_context = &arguments;
	status = session_run(plan, &arguments.session);
	free(plan);
	config_free(config);
	return status;
}
