// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the server shows, from a sampler of stand-ins for telemetry sockets.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../client/server.h"
#include "web/api.h"

#define GREETING   "{\"version\":\"DPDK 22.11.11\",\"pid\":4711,\"max_output_len\":16384}"
#define PATIENCE_S 20

static const struct server_answer answers[] = {
	{ "/", "{\"/\":[\"/evb/info\",\"/evb/role/all\",\"/evb/summary\"]}" },
	{ "/evb/info", "{\"/evb/info\":{\"name\":\"a\",\"state\":\"running\"}}" },
	{ "/evb/summary", "{\"/evb/summary\":{\"loss_total\":3}}" },
	{ "/evb/role/all,0", "{\"/evb/role/all\":{\"count\":1,\"role_0\":{\"name\":\"rx\"}}}" },
	{ 0 },
};
static const struct server_answer stopped[] = {
	{ "/", "{\"/\":[\"/evb/role/all\"]}" },
	{ "/evb/info", "{\"/evb/info\":{\"state\":\"stopped\"}}" },
	{ "/evb/summary", "{\"/evb/summary\":{\"state\":\"stopped\"}}" },
	{ "/evb/role/all,0", "{\"/evb/role/all\":{\"state\":\"stopped\"}}" },
	{ 0 },
};

static int set_up(void **state)
{
	(void)state;
	servers_begin();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	servers_end();
	return 0;
}

static struct sampler *start(const char *const *names, unsigned n)
{
	char error[SAMPLER_ERROR_SIZE] = "";
	struct sampler *sampler = sampler_start(names, n, 100, error);

	if (sampler == NULL)
		fail_msg("%s", error);
	return sampler;
}

static char *ask_node(struct sampler *sampler, const char *name)
{
	char *text = api_node(sampler, name);

	return text != NULL ? text : calloc(1, 1);
}

// Waits until what is known of a node has this part.
static void await(struct sampler *sampler, const char *name, const char *part)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	time_t end = time(NULL) + PATIENCE_S;
	bool found = false;

	while (!found) {
		char *text = ask_node(sampler, name);

		found = strstr(text, part) != NULL;
		if (!found && time(NULL) > end)
			fail_msg("no %s in %s", part, text);
		free(text);
		nanosleep(&pause, NULL);
	}
}

static void assert_answer(char *text, const char *expected)
{
	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void node__is_asked(void **state)
{
	const char *const names[] = { "a" };
	struct sampler *sampler;
	char *text;

	(void)state;
	server_start_answers("a", GREETING, answers);
	sampler = start(names, 1);
	await(sampler, "a", "\"snapshot\":{\"info\":{");
	assert_answer(api_part(sampler, "a", "role"), "[{\"name\":\"rx\"}]");
	assert_answer(api_part(sampler, "a", "summary"), "{\"loss_total\":3}");
	assert_null(api_part(sampler, "a", "nothing"));
	assert_null(api_part(sampler, "b", "role"));
	assert_null(api_node(sampler, "b"));
	assert_null(api_history(sampler, "b", 0));
	text = api_history(sampler, "a", 0);
	assert_non_null(strstr(text, "\"loss_total\":[3"));
	free(text);
	text = api_nodes(sampler);
	assert_non_null(
	    strstr(text, "{\"interval_ms\":100,\"nodes\":[{\"name\":\"a\",\"up\":true"));
	free(text);
	sampler_stop(sampler);
}

static void node__that_does_not_run(void **state)
{
	const char *const names[] = { "none" };
	struct sampler *sampler = start(names, 1);

	(void)state;
	await(sampler, "none",
	      "\"up\":false,\"state\":\"waits\",\"error\":\"no appliance none is running");
	await(sampler, "none", "\"snapshot\":null");
	server_start_answers("none", GREETING, answers); // it comes later
	await(sampler, "none", "\"up\":true,\"state\":\"up\",\"error\":\"\"");
	sampler_stop(sampler);
}

static void node__that_crashed(void **state)
{
	const char *const names[] = { "dead" };
	struct sampler *sampler;

	(void)state;
	server_leave_dead("dead");
	sampler = start(names, 1);
	await(sampler, "dead",
	      "\"state\":\"died\",\"error\":\"appliance dead crashed or was killed");
	sampler_stop(sampler);
}

static void node__whose_run_is_over(void **state)
{
	const char *const names[] = { "a" };
	struct sampler *sampler;

	(void)state;
	server_start_answers("a", GREETING, stopped);
	sampler = start(names, 1);
	await(sampler, "a", "the run is over");
	sampler_stop(sampler);
}

static void nodes__are_found(void **state)
{
	struct sampler *sampler;

	(void)state;
	server_start_answers("a", GREETING, answers);
	server_leave_dead("dead");
	sampler = start(NULL, 0);
	await(sampler, "a", "\"up\":true");
	server_start_answers("later", GREETING, answers);
	await(sampler, "later", "\"up\":true");
	assert_null(api_node(sampler, "dead"));
	sampler_stop(sampler);
}

static void metrics__are_fresh(void **state)
{
	const char *const names[] = { "a", "gone" };
	struct sampler *sampler;
	size_t size = 0;
	char *text;

	(void)state;
	server_start_answers("a", GREETING, answers);
	sampler = start(names, 2);
	text = api_metrics(sampler, OPENMETRICS_1_0, &size);
	assert_non_null(strstr(text, "evb_up{node=\"a\"} 1\nevb_up{node=\"gone\"} 0\n"));
	assert_non_null(strstr(text, "evb_loss_total{node=\"a\"} 3\n"));
	assert_int_equal(strlen(text), size);
	free(text);
	sampler_stop(sampler);
}

static void start__refuses_names_that_cannot_be(void **state)
{
	char error[SAMPLER_ERROR_SIZE] = "", name[100];
	const char *const names[] = { "a", name };

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_null(sampler_start(names, 2, 100, error));
	assert_string_equal(error, "too many names, or one is too long");
	sampler_stop(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(node__is_asked),
		TEST(node__that_does_not_run),
		TEST(node__that_crashed),
		TEST(node__whose_run_is_over),
		TEST(nodes__are_found),
		TEST(metrics__are_fresh),
		TEST(start__refuses_names_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
