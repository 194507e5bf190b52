// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/history.h"

static void add(struct history *history, double time_ms, pid_t pid, const char *json)
{
	cJSON *snapshot = cJSON_Parse(json);
	struct reading *reading;

	assert_non_null(snapshot);
	reading = reading_make(snapshot, time_ms, pid);
	history_add(history, reading);
	reading_unref(reading);
}

// Asserts what one column is, as JSON.
static void assert_column(const struct history *history, double since, const char *name,
			  const char *expected)
{
	cJSON *root = history_json(history, since);
	char *text = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(root, name));

	assert_string_equal(text, expected);
	cJSON_free(text);
	cJSON_Delete(root);
}

static void json__of_nothing(void **state)
{
	struct history *history = history_create(3);

	(void)state;
	assert_column(history, 0, "time_ms", "[]");
	assert_column(history, 0, "loss_total", "[]");
	assert_true(history_latest(history) == 0);
	history_destroy(history);
}

static void json__keeps_the_latest(void **state)
{
	struct history *history = history_create(3);
	char json[64];

	(void)state;
	for (int i = 1; i <= 5; i++) {
		snprintf(json, sizeof(json), "{\"summary\":{\"loss_total\":%d}}", 10 * i);
		add(history, i * 1000, 1, json);
	}
	assert_true(history_latest(history) == 5000);
	assert_column(history, 0, "time_ms", "[3000,4000,5000]");
	assert_column(history, 0, "loss_total", "[30,40,50]");
	assert_column(history, 3000, "loss_total", "[40,50]");
	assert_column(history, 4999, "time_ms", "[5000]");
	assert_column(history, 5000, "loss_total", "[]");
	history_destroy(history);
}

static void json__says_what_is_not_known(void **state)
{
	struct history *history = history_create(3);

	(void)state;
	add(history, 1, 1, "{\"summary\":{\"loss_total\":\"x\"}}");
	add(history, 2, 1, "{}");
	assert_column(history, 0, "loss_total", "[null,null]");
	assert_column(history, 0, "complete_p50_ns", "[null,null]");
	history_destroy(history);
}

static void latency__is_that_since_the_sample_before(void **state)
{
	static const char *const samples[] = {
		"{\"builder\":[{\"latency_complete_ns\":{\"le_1024\":0,\"le_2048\":8,\"inf\":8}}]}",
		"{\"builder\":[{\"latency_complete_ns\":{\"le_1024\":4,\"le_2048\":12,\"inf\":12}}]"
		"}",
		"{\"builder\":[{\"latency_complete_ns\":{\"le_1024\":4,\"le_2048\":12,\"inf\":12}}]"
		"}",
		"{\"builder\":[{\"latency_complete_ns\":{\"le_1024\":9,\"le_2048\":17,\"inf\":17}}]"
		"}",
	};
	struct history *history = history_create(9);

	(void)state;
	for (int i = 0; i < 4; i++)
		add(history, i + 1, i < 3 ? 1 : 2, samples[i]); // the last one is of another run
	assert_column(history, 0, "complete_p50_ns", "[null,768,null,null]");
	history_destroy(history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json__of_nothing),
		cmocka_unit_test(json__keeps_the_latest),
		cmocka_unit_test(json__says_what_is_not_known),
		cmocka_unit_test(latency__is_that_since_the_sample_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
