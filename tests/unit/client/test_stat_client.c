// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/stat_client.h"
#include "server.h"

#define GREETING "{\"version\":\"DPDK 22.11.11\",\"pid\":4711,\"max_output_len\":16384}"

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

static void assert_not_opened(const char *name, const char *expected)
{
	char error[STAT_CLIENT_ERROR_SIZE] = "";

	assert_null(stat_client_open(name, error));
	assert_string_equal(error, expected);
}

// `who`: "no appliance" or "no appliance NAME".
static void assert_not_running(const char *name, const char *who)
{
	char expected[STAT_CLIENT_ERROR_SIZE];

	snprintf(expected, sizeof(expected), "%s is running (none answers under %s/dpdk)", who,
		 servers_directory());
	assert_not_opened(name, expected);
}

static struct stat_client *open_client(const char *name)
{
	char error[STAT_CLIENT_ERROR_SIZE] = "";
	struct stat_client *client = stat_client_open(name, error);

	if (client == NULL)
		fail_msg("%s", error);
	return client;
}

static void ask__returns_the_answer_as_it_came(void **state)
{
	char error[STAT_CLIENT_ERROR_SIZE];
	struct stat_client *client;
	char *answer;

	(void)state;
	server_start("demo", GREETING, NULL);
	client = open_client("demo");
	assert_string_equal(stat_client_name(client), "demo");
	assert_int_equal(stat_client_pid(client), 4711);
	answer = stat_client_request(client, "/evb/summary", error);
	assert_string_equal(answer, "{\"/evb/summary\":\"/evb/summary\"}");
	free(answer);
	answer = stat_client_request(client, "/evb/role/info,rx.wire", error);
	assert_string_equal(answer, "{\"/evb/role/info\":\"/evb/role/info,rx.wire\"}");
	free(answer);
	stat_client_close(client);
}

static void ask__refuses_what_is_no_command(void **state)
{
	char error[STAT_CLIENT_ERROR_SIZE], request[STAT_CLIENT_REQUEST_SIZE + 1];
	struct stat_client *client;
	char *answer;

	(void)state;
	server_start("demo", GREETING, NULL);
	client = open_client("demo");
	assert_null(stat_client_request(client, "summary", error));
	assert_string_equal(error, "a command begins with / and has at most 1023 characters");
	assert_null(stat_client_request(client, "", error));
	memset(request, 'x', sizeof(request) - 1);
	request[0] = '/';
	request[STAT_CLIENT_REQUEST_SIZE] = '\0';
	assert_null(stat_client_request(client, request, error));
	request[STAT_CLIENT_REQUEST_SIZE - 1] = '\0';
	answer = stat_client_request(client, request, error);
	assert_non_null(answer);
	assert_int_equal(strlen(answer), 2 * (STAT_CLIENT_REQUEST_SIZE - 1) + 7);
	free(answer);
	stat_client_close(client);
}

static void ask__takes_the_longest_answer_and_no_longer(void **state)
{
	static char longest[16384 + 1], longer[16384 + 2];
	char error[STAT_CLIENT_ERROR_SIZE];
	struct stat_client *client;
	char *answer;

	(void)state;
	memset(longest, 'a', sizeof(longest) - 1);
	memset(longer, 'b', sizeof(longer) - 1);
	server_start("longest", GREETING, longest);
	server_start("longer", GREETING, longer);
	client = open_client("longest");
	answer = stat_client_request(client, "/a", error);
	assert_string_equal(answer, longest);
	free(answer);
	stat_client_close(client);
	client = open_client("longer");
	assert_null(stat_client_request(client, "/a", error));
	assert_string_equal(error, "appliance longer: an answer of 16385 bytes is too long");
	stat_client_close(client);
}

static void open__finds_the_only_one(void **state)
{
	struct stat_client *client;

	(void)state;
	server_leave_dead("old");
	server_start("lone", GREETING, NULL);
	client = open_client(NULL);
	assert_string_equal(stat_client_name(client), "lone");
	stat_client_close(client);
}

static void open__says_that_none_runs(void **state)
{
	(void)state;
	assert_not_running(NULL, "no appliance");
	server_leave_dead("old");
	assert_not_running(NULL, "no appliance");
	assert_not_opened("old", "appliance old crashed or was killed: see its log");
	assert_not_running("none", "no appliance none");
}

static void open__asks_which_one(void **state)
{
	(void)state;
	server_start("b", GREETING, NULL);
	server_start("a", GREETING, NULL);
	assert_not_opened(NULL, "2 appliances are running, which one is meant: a b?");
	stat_client_close(open_client("b"));
}

static void open__refuses_a_name_that_cannot_be(void **state)
{
	char name[STAT_CLIENT_NAME_SIZE + 1], error[STAT_CLIENT_ERROR_SIZE];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[STAT_CLIENT_NAME_SIZE] = '\0';
	assert_null(stat_client_open(name, error));
	assert_non_null(strstr(error, "no appliance has a name as long as xxx"));
}

static void open__refuses_wrong_greetings(void **state)
{
	(void)state;
	server_start("mute", NULL, NULL);
	server_start("chatter", "hello", NULL);
	server_start("other", "{\"pid\":\"x\",\"max_output_len\":16384}", NULL);
	assert_not_opened("mute", "appliance mute hung up: it ended, or has 10 clients already");
	assert_not_opened("chatter", "appliance chatter: no greeting of DPDK's telemetry");
	assert_not_opened("other", "appliance other: no greeting of DPDK's telemetry");
}

static void running__lists_those_that_answer(void **state)
{
	char names[2][STAT_CLIENT_NAME_SIZE];

	(void)state;
	assert_int_equal(stat_client_running(names, 2), 0);
	server_start("c", GREETING, NULL);
	server_leave_dead("b");
	server_start("a", GREETING, NULL);
	assert_int_equal(stat_client_running(names, 2), 2);
	assert_string_equal(names[0], "a");
	assert_string_equal(names[1], "c");
	server_start("d", GREETING, NULL);
	assert_int_equal(stat_client_running(names, 2), 3);
	assert_string_equal(names[1], "c");
	assert_int_equal(stat_client_running(NULL, 0), 3);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ask__returns_the_answer_as_it_came),
		TEST(ask__refuses_what_is_no_command),
		TEST(ask__takes_the_longest_answer_and_no_longer),
		TEST(open__finds_the_only_one),
		TEST(open__says_that_none_runs),
		TEST(open__asks_which_one),
		TEST(open__refuses_a_name_that_cannot_be),
		TEST(open__refuses_wrong_greetings),
		TEST(running__lists_those_that_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
