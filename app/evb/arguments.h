// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Functions that the argument parsers of the commands share. If a value is not valid, they print
// one line and end the program, as argp_error() does.
#pragma once

#include <argp.h>
#include <stddef.h>
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

// Reads a quantity with or without a unit. `option` is the option's name for the message, as in
// "--limit".
uint64_t arguments_quantity(enum units_kind kind, const char *text, const struct argp_state *state,
			    const char *option);

// Reads a number above 0, at most 1e15.
double arguments_positive(const char *text, const struct argp_state *state, const char *option);

// Reads the interval between two readings of an appliance, 100ms to 1min. Returns it in ms.
unsigned arguments_interval(const char *text, const struct argp_state *state);

// Where an option or argument is stored. A table of them ends with ARGUMENTS_END.
struct arguments_field {
	int key; // of the option; ARGP_KEY_ARG: the next argument
	enum arguments_kind {
		ARGUMENTS_END,
		ARGUMENTS_TEXT,     // const char *
		ARGUMENTS_FLAG,     // bool: set
		ARGUMENTS_POSITIVE, // double
		ARGUMENTS_COUNT,    // uint64_t
		ARGUMENTS_SIZE,     // uint64_t, bytes
		ARGUMENTS_TIME,     // uint64_t, ns
		ARGUMENTS_OVERRIDE, // struct overrides
	} kind;
	size_t offset; // in the structure state->input
};

// Stores an option or argument. Arguments fill the fields of ARGP_KEY_ARG in turn. `options` has
// the names of the options for messages. Returns 0, EINVAL, or ARGP_ERR_UNKNOWN if it has no field.
error_t arguments_store(const struct arguments_field *fields, const struct argp_option *options,
			int key, const char *argument, const struct argp_state *state);
