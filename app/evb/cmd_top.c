// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// evb top: a dashboard of running appliances on the terminal.
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>

#include "arguments.h"
#include "client/sampler.h"
#include "stop.h"
#include "top/top.h"

struct arguments {
	const char *names[SAMPLER_MAX_NODES];
	unsigned n_names;
	unsigned interval_ms;
	bool ascii;
	bool plain;
};

static const struct argp_option options[] = {
	{ "name", 'n', "NAME", 0, "an appliance to show; the same as NAME alone", 0 },
	{ "interval", 'i', "TIME", 0, "between two looks at an appliance, 1s by default", 0 },
	{ "ascii", 'a', NULL, 0, "draw with ASCII characters only", 0 },
	{ "plain", 'p', NULL, 0, "no colours", 0 },
	{ 0 },
};

static void add_name(struct arguments *arguments, const char *name, struct argp_state *state)
{
	if (arguments->n_names == SAMPLER_MAX_NODES)
		argp_error(state, "more than %d names", SAMPLER_MAX_NODES);
	else
		arguments->names[arguments->n_names++] = name;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'i':
		arguments->interval_ms = arguments_interval(argument, state);
		return 0;
	case 'a':
		arguments->ascii = true;
		return 0;
	case 'p':
		arguments->plain = true;
		return 0;
	case 'n':
	case ARGP_KEY_ARG:
		add_name(arguments, argument, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[NAME...]",
	.doc =
	    "Shows running appliances on the terminal: those named, or all that run here. Nothing "
	    "can be changed by it.\vKeys: ? lists them, q ends. Without colours where the "
	    "environment has NO_COLOR.",
};

int cmd_top(int argc, char **argv)
{
	struct arguments arguments = { .interval_ms = 1000 };
	char error[TOP_ERROR_SIZE];
	struct top_options top = { .in = stdin, .out = stdout, .stop = &stop_signal };

	if (arguments_parse(&argp, argc, argv, &arguments) != 0)
		return 1;
	top.names = arguments.names;
	top.n_names = arguments.n_names;
	top.interval_ms = arguments.interval_ms;
	top.ascii = arguments.ascii;
	top.colours = !arguments.plain && getenv("NO_COLOR") == NULL;
	stop_catch_signals();
	if (top_run(&top, error) != 0) {
		fprintf(stderr, "evb top: %s\n", error);
		return 1;
	}
	return 0;
}
