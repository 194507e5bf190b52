// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "helpers.h"

#include <string.h>

const char base_text[] =
    "{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\"}], \"sources\": {\"ids\": [\"1-8\"]},"
    " \"builders\": [{\"name\": \"b0\"}], \"generators\": [{\"name\": \"g0\", \"port\": "
    "\"wire\"}]}";

const char system_text[] =
    "{\"name\": \"sys\", \"sources\": {\"ids\": [\"1-4\"]},"
    " \"builders\": [{\"name\": \"b0\", \"slots\": 16}, {\"name\": \"b1\"}],"
    " \"idle\": {\"policy\": \"poll\"},"
    " \"nodes\": ["
    "{\"name\": \"a\", \"manager\": true, \"generators\":"
    " [{\"name\": \"g0\", \"port\": \"wire\", \"ids\": [1, 2]}],"
    " \"ports\": [{\"name\": \"wire\", \"profile\": \"ring\", \"address\": \"10.0.0.1/24\"}]},"
    "{\"name\": \"b\", \"builders\": [],"
    " \"generators\": [{\"name\": \"g0\", \"port\": \"out\", \"ids\": [3, 4]}],"
    " \"ports\": [{\"name\": \"in\", \"profile\": \"ring\"}, {\"name\": \"out\","
    " \"profile\": \"ring\", \"address\": \"10.0.0.2/24\", \"mac\": \"02:00:00:00:00:02\","
    " \"vlan\": 0, \"link_rate\": \"25Gb/s\"}]},"
    "{\"name\": \"c\", \"builders\": [{\"name\": \"only\", \"group\": \"auto\", \"weight\": 3}],"
    " \"ports\": [{\"name\": \"wire\", \"profile\": \"ring\", \"address\": \"10.0.0.3/24\"}]}"
    "]}";

static unsigned count(const char *const *texts)
{
	unsigned n_texts = 0;

	while (texts && texts[n_texts])
		n_texts++;
	return n_texts;
}

struct config *load_with(const char *override)
{
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	if (config_parse(&config, base_text, strlen(base_text), "x.json", NULL, &override, 1,
			 error))
		fail_msg("%s", error);
	return config;
}

static void assert_parse_refused(const char *text, const char *const *overrides,
				 unsigned n_overrides, const char *expected)
{
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	assert_int_equal(config_parse(&config, text, strlen(text), "x.json", NULL, overrides,
				      n_overrides, error),
			 -1);
	assert_null(config);
	assert_string_equal(error, expected);
}

void assert_refused(const char *override, const char *expected)
{
	assert_parse_refused(base_text, &override, 1, expected);
}

void assert_all_refused(const char *const *overrides, const char *expected)
{
	assert_parse_refused(base_text, overrides, count(overrides), expected);
}

struct config *load_node(const char *node, const char *const *overrides)
{
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	if (config_parse(&config, system_text, strlen(system_text), "x.json", node, overrides,
			 count(overrides), error))
		fail_msg("%s", error);
	return config;
}

void assert_system_all_refused(const char *const *overrides, const char *expected)
{
	static const char *const nodes[] = { "a", "b", "c" };

	for (unsigned i = 0; i < 3; i++) {
		char error[CONFIG_ERROR_SIZE] = "";
		struct config *config;
		assert_int_equal(config_parse(&config, system_text, strlen(system_text), "x.json",
					      nodes[i], overrides, count(overrides), error),
				 -1);
		assert_null(config);
		assert_string_equal(error, expected);
	}
}

void assert_system_refused(const char *override, const char *expected)
{
	assert_system_all_refused((const char *const[]){ override, NULL }, expected);
}

void assert_text_refused(const char *text, const char *expected)
{
	assert_parse_refused(text, NULL, 0, expected);
}
