// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The tables of telemetry keep DPDK's limits, and docs/telemetry.md has every command and key.
// Usage: test_tables ROOT; test_tables --print writes what the page has to hold.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "appliance/telemetry_tables.h"
#include "transport/causes.h"

#define KEY_SIZE     128 // DPDK's limit of keys and texts, with the closing 0
#define COMMAND_MOST 55
#define NUMBER_MOST  20 // digits of 2^64 - 1
#define PAGE_SIZE    (256 << 10)

static const char *root;

typedef void (*key_visitor)(void *context, const struct metric *metric, const char *key);

static void visit_metric(const struct metric *metric, key_visitor visit, void *context)
{
	char key[2 * KEY_SIZE];

	switch (metric->type) {
	case METRIC_COUNTER:
	case METRIC_GAUGE:
	case METRIC_TEXT:
	case METRIC_TEXTS:
		visit(context, metric, metric->name);
		break;
	case METRIC_PACKET_DROPS:
		for (unsigned i = 0; i < PACKET_N_CAUSES; i++) {
			snprintf(key, sizeof(key), "%s_%s", metric->name, packet_cause_name(i));
			visit(context, metric, key);
		}
		break;
	case METRIC_SEGMENT_DROPS:
		for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++) {
			snprintf(key, sizeof(key), "%s_%s", metric->name, segment_cause_name(i));
			visit(context, metric, key);
		}
		break;
	case METRIC_LATENCY:
		for (unsigned i = 0; telemetry_quantiles[i].suffix != NULL; i++) {
			snprintf(key, sizeof(key), "%s_%s", metric->name,
				 telemetry_quantiles[i].suffix);
			visit(context, metric, key);
		}
		break;
	}
}

// All keys of an answer, without those of nested dictionaries.
static void visit_answer(const struct telemetry_answer *answer, key_visitor visit, void *context)
{
	for (unsigned i = 0; i < TELEMETRY_MAX_TABLES && answer->tables[i] != NULL; i++)
		for (const struct metric *metric = answer->tables[i]; metric->name; metric++)
			visit_metric(metric, visit, context);
}

// What is known of the keys of one answer.
struct keys {
	char names[TELEMETRY_MAX_KEYS][KEY_SIZE];
	unsigned n;
	size_t bytes; // of the longest answer
};

static void check_key(void *context, const struct metric *metric, const char *key)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	struct keys *keys = context;
	size_t value = metric->type == METRIC_TEXT    ? KEY_SIZE + 1
		       : metric->type == METRIC_TEXTS ? LCORE_MAX_ROLES * (ROLE_NAME_SIZE + 2)
						      : NUMBER_MOST;

	if (strspn(key, allowed) != strlen(key) || strlen(key) >= KEY_SIZE)
		fail_msg("%s is no key", key);
	for (unsigned i = 0; i < keys->n; i++)
		if (strcmp(keys->names[i], key) == 0)
			fail_msg("%s is twice in one answer", key);
	assert_in_range(keys->n, 0, TELEMETRY_MAX_KEYS - 1);
	strcpy(keys->names[keys->n++], key);
	keys->bytes += strlen(key) + value + strlen("\"\":,");
}

static void answers__keep_the_limits(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TELEMETRY_N_COMMANDS; i++) {
		const struct telemetry_answer *answer = &telemetry_answers[i];
		struct keys *keys = calloc(1, sizeof(*keys)), *nested = calloc(1, sizeof(*nested));

		assert_non_null(keys);
		assert_non_null(nested);
		visit_answer(answer, check_key, keys);
		if (answer->nested_table != NULL)
			for (const struct metric *metric = answer->nested_table; metric->name;
			     metric++)
				visit_metric(metric, check_key, nested);
		if (keys->bytes + EVRING_MAX_GROUPS * nested->bytes > TELEMETRY_MAX_REPLY - 256)
			fail_msg("%s: the answer may have %zu bytes", answer->command,
				 keys->bytes + EVRING_MAX_GROUPS * nested->bytes);
		free(keys);
		free(nested);
	}
}

static void commands__keep_the_limits(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TELEMETRY_N_COMMANDS; i++) {
		assert_non_null(telemetry_answers[i].command);
		assert_int_equal(telemetry_answers[i].command[0], '/');
		assert_in_range(strlen(telemetry_answers[i].command), 1, COMMAND_MOST);
		assert_in_range(strlen(telemetry_answers[i].help), 1, KEY_SIZE - 1);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(telemetry_answers[i].command,
						telemetry_answers[j].command);
	}
}

static void check_number(void *context, const struct metric *metric, const char *key)
{
	(void)context;
	if (metric->type == METRIC_TEXT || metric->type == METRIC_TEXTS)
		fail_msg("%s is no number", key);
}

static void summary__has_numbers_only(void **state)
{
	(void)state;
	visit_answer(&telemetry_answers[TELEMETRY_SUMMARY], check_number, NULL);
	visit_answer(&telemetry_answers[TELEMETRY_DROPS], check_number, NULL);
}

static const char *kind(const struct metric *metric)
{
	switch (metric->type) {
	case METRIC_COUNTER:
	case METRIC_PACKET_DROPS:
	case METRIC_SEGMENT_DROPS:
		return "counter";
	case METRIC_TEXT:
		return "text";
	case METRIC_TEXTS:
		return "texts";
	default:
		return "gauge";
	}
}

// Causes and quantiles are explained once in the page, not in every table.
static void write_metric(FILE *page, const struct metric *metric)
{
	const char *suffix =
	    metric->type == METRIC_LATENCY ? "_QUANTILE"
	    : metric->type == METRIC_PACKET_DROPS || metric->type == METRIC_SEGMENT_DROPS ? "_CAUSE"
											  : "";

	fprintf(page, "| `%s%s` | %s | %s |\n", metric->name, suffix, kind(metric), metric->help);
}

static void write_tables(FILE *page, const struct telemetry_answer *answer)
{
	if (answer->tables[0] == NULL)
		return;
	fprintf(page, "\n| key | kind | meaning |\n|---|---|---|\n");
	for (unsigned i = 0; i < TELEMETRY_MAX_TABLES && answer->tables[i] != NULL; i++)
		for (const struct metric *metric = answer->tables[i]; metric->name; metric++)
			write_metric(page, metric);
	if (answer->nested == NULL)
		return;
	fprintf(page,
		"\nEach of `%s_0`, `%s_1`, ... has\n\n| key | kind | meaning |\n|---|---|---|\n",
		answer->nested, answer->nested);
	for (const struct metric *metric = answer->nested_table; metric->name; metric++)
		write_metric(page, metric);
}

// What the page says of one command.
static void write_answer(FILE *page, const struct telemetry_answer *answer)
{
	fprintf(page, "### `%s%s`\n\n%s.\n", answer->command,
		answer->parameters != NULL ? answer->parameters : "", answer->help);
	write_tables(page, answer);
}

static char *read_page(const char *name)
{
	char *text = calloc(1, PAGE_SIZE);
	char path[512];
	FILE *file;

	assert_non_null(text);
	snprintf(path, sizeof(path), "%s/%s", root, name);
	file = fopen(path, "r");
	if (file == NULL)
		fail_msg("%s cannot be opened", path);
	assert_in_range(fread(text, 1, PAGE_SIZE, file), 1, PAGE_SIZE - 1);
	fclose(file);
	return text;
}

static void page__tells_every_command(void **state)
{
	char *page = read_page("docs/telemetry.md");

	(void)state;
	for (unsigned i = 0; i < TELEMETRY_N_COMMANDS; i++) {
		size_t size;
		char *text;
		FILE *expected = open_memstream(&text, &size);

		assert_non_null(expected);
		write_answer(expected, &telemetry_answers[i]);
		fclose(expected);
		if (strstr(page, text) == NULL)
			fail_msg("docs/telemetry.md lacks what test_tables --print says of %s:\n%s",
				 telemetry_answers[i].command, text);
		free(text);
	}
	free(page);
}

// Every cause is explained in both pages.
static void pages__tell_every_cause(void **state)
{
	static const char *const names[] = { "docs/telemetry.md", "docs/packets.md" };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		char *page = read_page(names[i]);
		char cause[KEY_SIZE];

		for (unsigned j = 0; j < PACKET_N_CAUSES + SEGMENT_N_CAUSES; j++) {
			snprintf(cause, sizeof(cause), "`%s`",
				 j < PACKET_N_CAUSES ? packet_cause_name(j)
						     : segment_cause_name(j - PACKET_N_CAUSES));
			if (strstr(page, cause) == NULL)
				fail_msg("%s does not tell of %s", names[i], cause);
		}
		free(page);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers__keep_the_limits),
		cmocka_unit_test(commands__keep_the_limits),
		cmocka_unit_test(summary__has_numbers_only),
		cmocka_unit_test(page__tells_every_command),
		cmocka_unit_test(pages__tell_every_cause),
	};

	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "--print") == 0) {
		for (unsigned i = 0; i < TELEMETRY_N_COMMANDS; i++) {
			write_answer(stdout, &telemetry_answers[i]);
			putchar('\n');
		}
		return 0;
	}
	root = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
