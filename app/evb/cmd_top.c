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
	struct arguments_names names;
	unsigned interval_ms;
	bool ascii;
	bool plain;
};

static const struct arguments_option options[] = {
	{ "name", 'n', "NAME", INTO(NAME, names), "an appliance to show; the same as NAME alone" },
	{ "interval", 'i', "TIME", INTO(INTERVAL, interval_ms),
	  "between two looks at an appliance, 1s by default" },
	{ "ascii", 'a', NULL, INTO(FLAG, ascii), "draw with ASCII characters only" },
	{ "plain", 'p', NULL, INTO(FLAG, plain), "no colours" },
	{ ARGUMENT(NAME, names) },
	{ 0 },
};

static const struct arguments_command command = {
	.options = options,
	.arguments = "[NAME...]",
	.help =
	    "Shows running appliances on the terminal: those named, or all that run here. Nothing "
	    "can be changed by it.\vKeys: ? lists them, q ends. Without colours where the "
	    "environment has NO_COLOR.",
};

int cmd_top(int argc, char **argv)
{
	struct arguments arguments = { .interval_ms = 1000 };
	char error[TOP_ERROR_SIZE];
	struct top_options top = { .in = stdin, .out = stdout, .stop = &stop_signal };

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	top.names = arguments.names.list;
	top.n_names = arguments.names.n;
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
