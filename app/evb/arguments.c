// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "arguments.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAST_INTERVAL_NS 100000000u
#define MOST_INTERVAL_NS  60000000000u
#define NS_PER_MS         1000000u

int arguments_parse(const struct argp *argp, int argc, char **argv, void *arguments)
{
	argp_err_exit_status = 1;
	return argp_parse(argp, argc, argv, 0, NULL, arguments) != 0;
}

uint64_t arguments_quantity(enum units_kind kind, const char *text, const struct argp_state *state,
			    const char *option)
{
	char cause[UNITS_ERROR_SIZE];
	uint64_t value = 0;

	if (units_parse(kind, text, &value, cause) != 0)
		argp_error(state, "%s: %s", option, cause);
	return value;
}

double arguments_positive(const char *text, const struct argp_state *state, const char *option)
{
	char *end;
	double value = strtod(text, &end);

	if (*text == '\0' || *end != '\0' || !(value > 0) || value > 1e15)
		argp_error(state, "%s: \"%s\" is not a number above 0", option, text);
	return value;
}

unsigned arguments_interval(const char *text, const struct argp_state *state)
{
	uint64_t ns = arguments_quantity(UNITS_TIME, text, state, "--interval");

	if (ns < LEAST_INTERVAL_NS || ns > MOST_INTERVAL_NS)
		argp_error(state, "--interval: %s is out of range 100ms..1min", text);
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

static error_t store(const struct arguments_field *field, void *to, const char *text,
		     const char *option, const struct argp_state *state)
{
	static const enum units_kind units[] = {
		[ARGUMENTS_COUNT] = UNITS_COUNT,
		[ARGUMENTS_SIZE] = UNITS_SIZE,
		[ARGUMENTS_TIME] = UNITS_TIME,
	};

	switch (field->kind) {
	case ARGUMENTS_TEXT:
		*(const char **)to = text;
		return 0;
	case ARGUMENTS_FLAG:
		*(bool *)to = true;
		return 0;
	case ARGUMENTS_OVERRIDE:
		return add_override(to, text);
	case ARGUMENTS_POSITIVE:
		*(double *)to = arguments_positive(text, state, option);
		return 0;
	default:
		*(uint64_t *)to = arguments_quantity(units[field->kind], text, state, option);
		return 0;
	}
}

error_t arguments_store(const struct arguments_field *fields, const struct argp_option *options,
			int key, const char *argument, const struct argp_state *state)
{
	char name[32] = "";

	for (; options->key != 0 || options->name != NULL || options->doc != NULL; options++)
		if (options->key == key && options->name != NULL)
			snprintf(name, sizeof(name), "--%s", options->name);
	for (; fields->kind != ARGUMENTS_END; fields++) {
		void *to = (char *)state->input + fields->offset;

		// An argument goes to the first field that has no argument yet.
		if (fields->key == key && (key != ARGP_KEY_ARG || *(const char **)to == NULL))
			return store(fields, to, argument, name, state);
	}
	return ARGP_ERR_UNKNOWN;
}
