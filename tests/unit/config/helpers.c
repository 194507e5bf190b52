// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "helpers.h"

#include <string.h>

const char base_text[] =
    "{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\"}], \"sources\": {\"ids\": [\"1-8\"]},"
    " \"builders\": [{\"name\": \"b0\"}], \"generators\": [{\"name\": \"g0\", \"port\": "
    "\"wire\"}]}";

struct config *load_with(const char *override)
{
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	if (config_parse(&config, base_text, strlen(base_text), "x.json", &override, 1, error))
		fail_msg("%s", error);
	return config;
}

static void assert_parse_refused(const char *text, const char *const *overrides,
				 unsigned n_overrides, const char *expected)
{
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	assert_int_equal(
	    config_parse(&config, text, strlen(text), "x.json", overrides, n_overrides, error), -1);
	assert_null(config);
	assert_string_equal(error, expected);
}

void assert_refused(const char *override, const char *expected)
{
	assert_parse_refused(base_text, &override, 1, expected);
}

void assert_all_refused(const char *const *overrides, const char *expected)
{
	unsigned n_overrides = 0;

	while (overrides[n_overrides])
		n_overrides++;
	assert_parse_refused(base_text, overrides, n_overrides, expected);
}

void assert_text_refused(const char *text, const char *expected)
{
	assert_parse_refused(text, NULL, 0, expected);
}
