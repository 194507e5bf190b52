// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the argument parsers of the commands share. A value that is refused ends the program with
// one line, as argp_error() does.
#pragma once

#include <argp.h>
#include <stdint.h>

#include "base/units.h"

#define ARGUMENTS_MAX_OVERRIDES 64

// The --set options of a command.
struct overrides {
	const char *list[ARGUMENTS_MAX_OVERRIDES];
	unsigned n;
};

// Runs the parser. Returns 0, or the exit status of the command.
int arguments_parse(const struct argp *argp, int argc, char **argv, void *arguments);

// A quantity with or without a unit; option: "--limit", for the message.
uint64_t arguments_quantity(enum units_kind kind, const char *text, const struct argp_state *state,
			    const char *option);

// A number above 0, at most 1e15.
double arguments_positive(const char *text, const struct argp_state *state, const char *option);

// The interval between two readings of an appliance in ms, 100ms to 1min.
unsigned arguments_interval(const char *text, const struct argp_state *state);

// Adds a --set option. Returns 0, or EINVAL with one line on stderr if there are too many.
error_t arguments_override(struct overrides *overrides, const char *text);

// Stores an argument where there is none yet; otherwise it is one too many.
error_t arguments_only(const char **to, const char *text);
