// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "arguments.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPTIONS      48
#define FIRST_KEY         256 // of options without a letter: above all letters
#define LEAST_INTERVAL_NS 100000000u
#define MOST_INTERVAL_NS  60000000000u
#define NS_PER_MS         1000000u

static bool prints_tables;

struct parsing {
	const struct arguments_command *command;
	void *arguments;
};

uint64_t arguments_quantity(enum units_kind kind, const char *text, const struct argp_state *state,
			    const char *option)
{
	char cause[UNITS_ERROR_SIZE];
	uint64_t value = 0;

	if (units_parse(kind, text, &value, cause) != 0)
		argp_error(state, "%s: %s", option, cause);
	return value;
}

void arguments_refuse(void *arguments, const char *text, const struct argp_state *state)
{
	(void)arguments;
	argp_error(state, "%s: not expected here", text);
}

static double read_positive(const char *text, const struct argp_state *state, const char *option)
{
	char *end;
	double value = strtod(text, &end);

	if (*text == '\0' || *end != '\0' || !(value > 0) || value > 1e15)
		argp_error(state, "%s: \"%s\" is not a number above 0", option, text);
	return value;
}

// Nanoseconds. A bare number is in seconds.
static uint64_t read_time(const char *text, const struct argp_state *state, const char *option)
{
	char seconds[UNITS_TEXT_SIZE];
	const size_t length = strlen(text);

	if (length > 0 && length < sizeof(seconds) - 1 && strspn(text, "0123456789.") == length) {
		snprintf(seconds, sizeof(seconds), "%ss", text);
		text = seconds;
	}
	return arguments_quantity(UNITS_TIME, text, state, option);
}

static double read_duration(const char *text, const struct argp_state *state, const char *option)
{
	const uint64_t ns = read_time(text, state, option);

	if (ns == 0)
		argp_error(state, "%s: must be above 0", option);
	return (double)ns / 1e9;
}

static unsigned read_interval(const char *text, const struct argp_state *state, const char *option)
{
	uint64_t ns = read_time(text, state, option);

	if (ns < LEAST_INTERVAL_NS || ns > MOST_INTERVAL_NS)
		argp_error(state, "%s: %s is out of range 100ms..1min", option, text);
	return (unsigned)(ns / NS_PER_MS);
}

static error_t add_override(struct overrides *overrides, const char *text)
{
	if (overrides->n == ARGUMENTS_MAX_OVERRIDES) {
		fprintf(stderr, "evb: more than %d --set: put them into the file\n",
			ARGUMENTS_MAX_OVERRIDES);
		return EINVAL;
	}
	overrides->list[overrides->n++] = text;
	return 0;
}

static void add_name(struct arguments_names *names, const char *name,
		     const struct argp_state *state)
{
	if (names->n == ARGUMENTS_MAX_NAMES)
		argp_error(state, "more than %u names", ARGUMENTS_MAX_NAMES);
	else
		names->list[names->n++] = name;
}

static error_t store(const struct arguments_option *option, void *arguments, const char *text,
		     const struct argp_state *state)
{
	static const enum units_kind units[] = {
		[ARGUMENTS_COUNT] = UNITS_COUNT,
		[ARGUMENTS_SIZE] = UNITS_SIZE,
	};
	void *to = (char *)arguments + option->offset;
	char name[32];

	snprintf(name, sizeof(name), "--%s", option->name != NULL ? option->name : "");
	switch (option->kind) {
	case ARGUMENTS_TEXT:
		*(const char **)to = text;
		return 0;
	case ARGUMENTS_FLAG:
		*(bool *)to = true;
		return 0;
	case ARGUMENTS_POSITIVE:
		*(double *)to = read_positive(text, state, name);
		return 0;
	case ARGUMENTS_TIME:
		*(uint64_t *)to = read_time(text, state, name);
		return 0;
	case ARGUMENTS_DURATION:
		*(double *)to = read_duration(text, state, name);
		return 0;
	case ARGUMENTS_INTERVAL:
		*(unsigned *)to = read_interval(text, state, name);
		return 0;
	case ARGUMENTS_OVERRIDE:
		return add_override(to, text);
	case ARGUMENTS_NAME:
		add_name(to, text, state);
		return 0;
	case ARGUMENTS_TAKE:
		option->take(arguments, text, state);
		return 0;
	default:
		*(uint64_t *)to = arguments_quantity(units[option->kind], text, state, name);
		return 0;
	}
}

static bool is_end(const struct arguments_option *option)
{
	return option->kind == ARGUMENTS_NONE && option->help == NULL;
}

// The key by which argp names the option; 0: a title or an alias.
static int key_of(const struct arguments_command *command, const struct arguments_option *option)
{
	if (option->kind <= ARGUMENTS_ALIAS)
		return 0;
	if (option->name == NULL)
		return option->kind == ARGUMENTS_REST ? ARGP_KEY_ARGS : ARGP_KEY_ARG;
	return option->letter != 0 ? option->letter : FIRST_KEY + (int)(option - command->options);
}

// Whether an argument was stored in its row already. Other kinds take any number of them.
static bool is_filled(const struct arguments_option *option, const void *arguments)
{
	return option->kind == ARGUMENTS_TEXT &&
	       *(const char *const *)((const char *)arguments + option->offset) != NULL;
}

static bool has_letter(const struct arguments_command *command, int letter)
{
	for (const struct arguments_option *option = command->options; !is_end(option); option++)
		if (option->kind > ARGUMENTS_ALIAS && option->letter == letter)
			return true;
	return false;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	const struct parsing *parsing = state->input;
	const struct arguments_command *command = parsing->command;

	if (key == 'h' && !has_letter(command, 'h')) {
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	}
	if (key == ARGP_KEY_END && command->check != NULL)
		command->check(parsing->arguments, state);
	for (const struct arguments_option *option = command->options; !is_end(option); option++) {
		if (option->kind <= ARGUMENTS_ALIAS || key_of(command, option) != key ||
		    (key == ARGP_KEY_ARG && is_filled(option, parsing->arguments)))
			continue;
		if (key != ARGP_KEY_ARGS)
			return store(option, parsing->arguments, text, state);
		*(struct arguments_rest *)((char *)parsing->arguments + option->offset) =
		    (struct arguments_rest){ state->argv + state->next, state->argc - state->next };
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

void arguments_print_tables(void)
{
	prints_tables = true;
}

// Lines of fields between tabs: the command, `arguments` or `option`, and the arguments, or an
// option with its value and help. Line ends within a field become blanks.
static void print_table(const struct arguments_command *command, const char *name)
{
	if (command->arguments != NULL) {
		printf("%s\targuments\t", name);
		for (const char *c = command->arguments; *c != '\0'; c++)
			putchar(*c == '\n' ? ' ' : *c);
		putchar('\n');
	}
	for (const struct arguments_option *option = command->options; !is_end(option); option++) {
		const char *value = option->value != NULL ? option->value : "";
		const char *help = option->help != NULL ? option->help : "";

		if (option->name == NULL)
			continue;
		printf("%s\toption\t--%s\t%s\t%s\n", name, option->name, value, help);
		if (option->letter != 0)
			printf("%s\toption\t-%c\t%s\t%s\n", name, option->letter, value, help);
	}
}

int arguments_parse(const struct arguments_command *command, int argc, char **argv, void *arguments)
{
	struct argp_option options[MOST_OPTIONS] = { 0 };
	const struct argp argp = { .options = options,
				   .parser = parse,
				   .args_doc = command->arguments,
				   .doc = command->help };
	struct parsing parsing = { command, arguments };
	unsigned n = 0;

	if (prints_tables) {
		print_table(command, argv[0]);
		return 1;
	}
	for (const struct arguments_option *option = command->options; !is_end(option); option++) {
		if (option->name == NULL && option->kind != ARGUMENTS_NONE)
			continue;
		assert(n + 2 < MOST_OPTIONS);
		options[n++] = (struct argp_option){
			.name = option->name,
			.key = key_of(command, option),
			.arg = option->value,
			.flags = option->kind == ARGUMENTS_ALIAS ? OPTION_ALIAS : 0,
			.doc = option->help,
		};
	}
	if (!has_letter(command, 'h'))
		options[n++] = (struct argp_option){ .key = 'h', .flags = OPTION_HIDDEN };
	argp_err_exit_status = 1;
	return argp_parse(&argp, argc, argv, 0, NULL, &parsing) != 0;
}
