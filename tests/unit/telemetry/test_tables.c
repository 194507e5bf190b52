// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The tables of telemetry keep the limits of DPDK and of OpenMetrics, and the manual has them all.
// Usage: test_tables ROOT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/histogram.h"
#include "packet/causes.h"
#include "telemetry/group.h"

#define MAX_KEYS    256 // of a dictionary: the limit of DPDK
#define KEY_SIZE    128 // DPDK's limit of keys and texts, with the closing 0
#define NUMBER_MOST 20  // digits of 2^64 - 1
#define TEXT_MOST   (KEY_SIZE + 1)
#define PAGE_SIZE   (256 << 10)
#define MOST_NAMES  1024
#define MARGIN      256 // bytes of an answer around its keys

static const char *root;

typedef void (*key_visitor)(void *context, const struct metric *metric, const char *key);

// A metric's keys on the socket.
static void visit_metric(const struct metric *metric, key_visitor visit, void *context)
{
	char key[2 * KEY_SIZE];

	if (metric->kind == METRIC_CAUSES) {
		for (unsigned i = 0; i < metric->causes->n; i++) {
			snprintf(key, sizeof(key), "%s_%s", metric->name, metric->causes->name(i));
			visit(context, metric, key);
		}
	} else if (metric->kind == METRIC_LATENCY) {
		for (unsigned i = 0; metric_quantiles[i].suffix != NULL; i++) {
			snprintf(key, sizeof(key), "%s_%s", metric->name,
				 metric_quantiles[i].suffix);
			visit(context, metric, key);
		}
	} else {
		visit(context, metric, metric->name);
	}
}

static void visit_table(const struct metric *table, key_visitor visit, void *context)
{
	for (; table->name != NULL; table++)
		visit_metric(table, visit, context);
}

static void visit_group(const struct telemetry_group *group, key_visitor visit, void *context)
{
	for (unsigned i = 0; i < TELEMETRY_MAX_TABLES && group->tables[i] != NULL; i++)
		visit_table(group->tables[i], visit, context);
}

// Calls `visit` with every metric and the prefix of its names in OpenMetrics.
static void visit_places(void (*visit)(void *context, const char *prefix,
				       const struct metric *metric),
			 void *context)
{
	struct telemetry_place place;

	for (unsigned i = 0; telemetry_place(i, &place); i++) {
		if (place.whole != NULL && place.whole->hidden)
			continue;
		assert_null(place.metrics[TELEMETRY_MAX_METRICS - 1]); // none was left out
		for (unsigned j = 0; place.metrics[j] != NULL; j++)
			visit(context, place.prefix, place.metrics[j]);
	}
}

// What is known of the keys of one answer.
struct keys {
	char names[MAX_KEYS][KEY_SIZE];
	unsigned n;
	size_t bytes; // of the longest answer
};

static void check_key(void *context, const struct metric *metric, const char *key)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	struct keys *keys = context;
	size_t value = metric->kind == METRIC_TEXT || metric->kind == METRIC_STATE ? TEXT_MOST
		       : metric->kind == METRIC_TEXTS ? LCORE_MAX_ROLES * (ROLE_NAME_SIZE + 2)
						      : NUMBER_MOST;

	if (strspn(key, allowed) != strlen(key) || strlen(key) >= KEY_SIZE)
		fail_msg("%s is no key", key);
	for (unsigned i = 0; i < keys->n; i++)
		if (strcmp(keys->names[i], key) == 0)
			fail_msg("%s is twice in one answer", key);
	assert_in_range(keys->n, 0, MAX_KEYS - 1);
	strcpy(keys->names[keys->n++], key);
	keys->bytes += strlen(key) + value + strlen("\"\":,");
	if (metric->kind == METRIC_LATENCY && strstr(key, "_max_ns") != NULL) // its histogram
		keys->bytes +=
		    (HISTOGRAM_MAX_LOG2 + 4) * (strlen("\"le_549755813888\":,") + NUMBER_MOST);
}

static size_t answer_bytes(const struct telemetry_group *group)
{
	struct keys *keys = calloc(1, sizeof(*keys)), *nested = calloc(1, sizeof(*nested));
	size_t bytes;

	assert_non_null(keys);
	assert_non_null(nested);
	visit_group(group, check_key, keys);
	if (group->nested != NULL)
		visit_table(group->nested_table, check_key, nested);
	bytes = keys->bytes + group->n_nested * nested->bytes;
	free(keys);
	free(nested);
	return bytes;
}

static void answers__keep_the_limits(void **state)
{
	(void)state;
	for (unsigned i = 0; telemetry_groups[i] != NULL; i++)
		if (answer_bytes(telemetry_groups[i]) > TELEMETRY_MAX_REPLY - MARGIN)
			fail_msg("%s: an answer may have %zu bytes", telemetry_groups[i]->name,
				 answer_bytes(telemetry_groups[i]));
	for (const struct telemetry_whole *whole = telemetry_wholes; whole->command; whole++) {
		struct keys *keys = calloc(1, sizeof(*keys));

		assert_non_null(keys);
		visit_table(whole->table, check_key, keys);
		assert_in_range(keys->bytes, 1, TELEMETRY_MAX_REPLY - MARGIN);
		free(keys);
	}
}

static void groups__are_whole(void **state)
{
	(void)state;
	for (unsigned i = 0; telemetry_groups[i] != NULL; i++) {
		const struct telemetry_group *group = telemetry_groups[i];

		assert_true(group->tables[0][0].kind == METRIC_TEXT ||
			    group->tables[0][0].kind == METRIC_NUMBER);
		assert_int_equal(group->nested != NULL, group->n_nested > 0);
		assert_int_equal(group->nested != NULL, group->view_nested != NULL);
		assert_int_equal(group->nested != NULL, group->nested_table != NULL);
	}
}

static void check_command(char commands[][TELEMETRY_MAX_COMMAND], unsigned *n, const char *command,
			  const char *help)
{
	assert_int_equal(command[0], '/');
	assert_in_range(strlen(command), 1, TELEMETRY_MAX_COMMAND - 2);
	assert_in_range(strlen(help), 1, TELEMETRY_MAX_HELP - 2);
	for (unsigned i = 0; i < *n; i++)
		assert_string_not_equal(commands[i], command);
	assert_in_range(*n, 0, MOST_NAMES - 1);
	strcpy(commands[(*n)++], command);
}

static void commands__keep_the_limits(void **state)
{
	static char commands[MOST_NAMES][TELEMETRY_MAX_COMMAND];
	char command[TELEMETRY_MAX_COMMAND], help[TELEMETRY_MAX_HELP];
	unsigned n = 0;

	(void)state;
	for (const struct telemetry_whole *whole = telemetry_wholes; whole->command; whole++)
		check_command(commands, &n, whole->command, whole->help);
	for (const struct telemetry_other *other = telemetry_others; other->command; other++)
		check_command(commands, &n, other->command, other->help);
	for (unsigned i = 0; telemetry_groups[i] != NULL; i++)
		for (unsigned j = 0; j < TELEMETRY_N_VERBS; j++) {
			telemetry_group_command(telemetry_groups[i], j, command, help);
			check_command(commands, &n, command, help);
		}
}

static void check_number(void *context, const struct metric *metric, const char *key)
{
	(void)context;
	if (metric->kind == METRIC_TEXT || metric->kind == METRIC_TEXTS ||
	    metric->kind == METRIC_STATE)
		fail_msg("%s is no number", key);
}

static void summary__has_numbers_only(void **state)
{
	(void)state;
	for (const struct telemetry_whole *whole = telemetry_wholes; whole->command; whole++)
		if (strcmp(whole->command, "/evb/info") != 0 &&
		    strcmp(whole->command, "/evb/build") != 0)
			visit_table(whole->table, check_number, NULL);
}

static void check_kind(void *context, const char *prefix, const struct metric *metric)
{
	bool is_text = metric->kind == METRIC_TEXT || metric->kind == METRIC_STATE;
	bool is_number = metric->kind == METRIC_COUNTER || metric->kind == METRIC_GAUGE ||
			 metric->kind == METRIC_NUMBER;

	(void)context;
	(void)prefix;
	if (metric->kind == METRIC_LATENCY)
		assert_string_equal(metric_base_unit(metric), "seconds");
	assert_int_equal(metric->kind == METRIC_STATE, metric->words != NULL);
	assert_int_equal(metric->kind == METRIC_CAUSES, metric->causes != NULL);
	if (is_text && metric->size < sizeof(char *))
		fail_msg("%s is no text", metric->name);
	if (is_number && metric->size != 1 && metric->size != 2 && metric->size != 4 &&
	    metric->size != 8)
		fail_msg("%s is no number", metric->name);
}

static void kinds__have_what_they_need(void **state)
{
	(void)state;
	visit_places(check_kind, NULL);
}

struct names {
	char names[MOST_NAMES][METRIC_NAME_SIZE];
	unsigned n;
};

static void check_family(struct names *names, const char *name)
{
	static const char *const reserved[] = { "_total",  "_count", "_sum",
						"_bucket", "_info",  "_created" };

	for (unsigned i = 0; i < names->n; i++)
		if (strcmp(names->names[i], name) == 0)
			fail_msg("%s is twice in OpenMetrics", name);
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		size_t length = strlen(reserved[i]);

		if (strlen(name) >= length &&
		    strcmp(name + strlen(name) - length, reserved[i]) == 0)
			fail_msg("%s ends as no family may", name);
	}
	assert_in_range(names->n, 0, MOST_NAMES - 1);
	strcpy(names->names[names->n++], name);
}

static void check_families(void *context, const char *prefix, const struct metric *metric)
{
	char name[METRIC_NAME_SIZE];

	if (strpbrk(metric->help, "\"\\\n|") != NULL || metric->help[0] == '\0')
		fail_msg("%s: help of %s", prefix, metric->name);
	if (metric->hidden || metric->kind == METRIC_TEXT || metric->kind == METRIC_TEXTS ||
	    metric->kind == METRIC_NUMBER)
		return;
	metric_family(prefix, metric, false, name);
	check_family(context, name);
	if (metric->kind != METRIC_LATENCY)
		return;
	metric_family(prefix, metric, true, name);
	check_family(context, name);
}

static void families__are_unique(void **state)
{
	struct names *names = calloc(1, sizeof(*names));

	(void)state;
	assert_non_null(names);
	check_family(names, "evb_up");
	check_family(names, "evb_ended");
	visit_places(check_families, names);
	free(names);
}

static void family__has_its_unit_at_the_end(void **state)
{
	static const struct {
		struct metric metric;
		bool maximum;
		const char *expected;
	} cases[] = {
		{ { .name = "full" }, false, "evb_x_full" },
		{ { .name = "loss_total" }, false, "evb_x_loss" },
		{ { .name = "rx_bytes" }, false, "evb_x_rx_bytes" },
		{ { .name = "bytes_built" }, false, "evb_x_built_bytes" },
		{ { .name = "bytes" }, false, "evb_x_bytes" },
		{ { .name = "latency", .kind = METRIC_LATENCY }, false, "evb_x_latency_seconds" },
		{ { .name = "latency", .kind = METRIC_LATENCY },
		  true,
		  "evb_x_latency_max_seconds" },
		{ { .name = "wait_ns" }, false, "evb_x_wait_seconds" },
		{ { .name = "up_seconds" }, false, "evb_x_up_seconds" },
		{ { .name = "link_megabits" }, false, "evb_x_link_bytes_per_second" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[METRIC_NAME_SIZE];

		metric_family("evb_x", &cases[i].metric, cases[i].maximum, name);
		assert_string_equal(name, cases[i].expected);
	}
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

// Commands of no table are told of in the page of telemetry.
static void page__tells_other_commands(void **state)
{
	char *page = read_page("docs/telemetry.md");

	(void)state;
	for (const struct telemetry_other *other = telemetry_others; other->command; other++) {
		char text[2 * KEY_SIZE];

		snprintf(text, sizeof(text), "### `%s%s`\n\n%s.\n", other->command,
			 other->parameters != NULL ? other->parameters : "", other->help);
		if (strstr(page, text) == NULL)
			fail_msg("docs/telemetry.md lacks\n%s", text);
	}
	free(page);
}

static void page__explains_every_cause(void **state)
{
	char *page = read_page("docs/packets.md");
	char cause[KEY_SIZE];

	(void)state;
	for (unsigned j = 0; j < PACKET_N_CAUSES + SEGMENT_N_CAUSES; j++) {
		snprintf(cause, sizeof(cause), "`%s`",
			 j < PACKET_N_CAUSES ? packet_cause_name(j)
					     : segment_cause_name(j - PACKET_N_CAUSES));
		if (strstr(page, cause) == NULL)
			fail_msg("docs/packets.md does not explain %s", cause);
	}
	free(page);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers__keep_the_limits),
		cmocka_unit_test(groups__are_whole),
		cmocka_unit_test(commands__keep_the_limits),
		cmocka_unit_test(summary__has_numbers_only),
		cmocka_unit_test(kinds__have_what_they_need),
		cmocka_unit_test(families__are_unique),
		cmocka_unit_test(family__has_its_unit_at_the_end),
		cmocka_unit_test(page__tells_other_commands),
		cmocka_unit_test(page__explains_every_cause),
	};

	if (argc != 2)
		return 2;
	root = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
