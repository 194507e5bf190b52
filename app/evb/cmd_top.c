// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// evb top: a dashboard of running appliances on the terminal.
#include "cmd.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "client/sampler.h"
#include "stop.h"
#include "top/top.h"

#define LEAST_NS 100000000ull // of the interval
#define MOST_NS  60000000000ull

struct arguments {
	const char *names[SAMPLER_MAX_NODES];
	unsigned n_names;
	uint64_t interval_ns;
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
	char error[UNITS_ERROR_SIZE];

	switch (key) {
	case 'i':
		if (units_parse(UNITS_TIME, argument, &arguments->interval_ns, error) != 0)
			argp_error(state, "--interval: %s", error);
		else if (arguments->interval_ns < LEAST_NS || arguments->interval_ns > MOST_NS)
			argp_error(state, "--interval: %s is out of range 100ms..1min", argument);
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
	struct arguments arguments = { .interval_ns = 1000000000 };
	char error[TOP_ERROR_SIZE];
	struct top_options top = { .in = stdin, .out = stdout, .stop = &stop_signal };

	argp_err_exit_status = 1;
	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
		return 1;
	top.names = arguments.names;
	top.n_names = arguments.n_names;
	top.interval_ms = (unsigned)(arguments.interval_ns / 1000000);
	top.ascii = arguments.ascii;
	top.colours = !arguments.plain && getenv("NO_COLOR") == NULL;
	stop_catch_signals();
	if (top_run(&top, error) != 0) {
		fprintf(stderr, "evb top: %s\n", error);
		return 1;
	}
	return 0;
}
