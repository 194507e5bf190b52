// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The options and arguments of a command, as one table of their names, their meaning and where
// their values are stored. If a value is not valid, the parser prints one line and ends the
// program, as argp_error() does.
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

#define ARGUMENTS_MAX_NAMES 1024

// Names of appliances.
struct arguments_names {
	const char *list[ARGUMENTS_MAX_NAMES];
	unsigned n;
};

// Arguments that are not options.
struct arguments_rest {
	char **list;
	int n;
};

struct arguments_option {
	const char *name;  // NULL: an argument that is not an option, or the title of a group
	int letter;        // the short form; 0: none
	const char *value; // the name of the option's value; NULL: the option has none
	enum arguments_kind {
		ARGUMENTS_NONE,     // a title; the end of the table if `help` is NULL, too
		ARGUMENTS_ALIAS,    // another name of the option before it
		ARGUMENTS_TEXT,     // const char *
		ARGUMENTS_FLAG,     // bool: set
		ARGUMENTS_POSITIVE, // double, above 0, at most 1e15
		ARGUMENTS_COUNT,    // uint64_t
		ARGUMENTS_SIZE,     // uint64_t, bytes
		ARGUMENTS_TIME,     // uint64_t, ns; a bare number is in seconds, also below
		ARGUMENTS_DURATION, // double, s, above 0
		ARGUMENTS_INTERVAL, // unsigned, ms: between two readings, 100ms to 1min
		ARGUMENTS_OVERRIDE, // struct overrides
		ARGUMENTS_NAME,     // struct arguments_names
		ARGUMENTS_REST,     // struct arguments_rest, of all arguments
		ARGUMENTS_TAKE,     // calls take()
	} kind;
	size_t offset; // of the value in the command's arguments
	void (*take)(void *arguments, const char *text, const struct argp_state *state);
	const char *help;
};

// The parts of a table's rows that say where a value goes: a member of the command's `struct
// arguments`, or a function. ARGUMENT() is a whole row; several such rows are filled in turn.
#define INTO(kind_, member)     ARGUMENTS_##kind_, offsetof(struct arguments, member), NULL
#define TAKE(function)          ARGUMENTS_TAKE, 0, function
#define ARGUMENT(kind_, member) NULL, 0, NULL, INTO(kind_, member), NULL

struct arguments_command {
	const struct arguments_option *options; // ended by a row of zeros
	const char *arguments;                  // for --help; NULL: none
	const char *help;                       // what the command does
	// Checks the arguments after all have been stored; NULL: nothing to check.
	void (*check)(const void *arguments, const struct argp_state *state);
};

// After this call arguments_parse() prints the command's options and arguments as lines of a table,
// from which the completion of shells is made, and returns 1.
void arguments_print_tables(void);

// Stores the arguments. Returns 0, or the exit status of the command.
int arguments_parse(const struct arguments_command *command, int argc, char **argv,
		    void *arguments);

// Reads a quantity with or without a unit. `option` is the option's name for the message, as in
// "--limit".
uint64_t arguments_quantity(enum units_kind kind, const char *text, const struct argp_state *state,
			    const char *option);

// For ARGUMENTS_TAKE: refuses an argument that is not an option.
void arguments_refuse(void *arguments, const char *text, const struct argp_state *state);
