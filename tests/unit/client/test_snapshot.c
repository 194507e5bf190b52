// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/snapshot.h"
#include "server.h"

#define GREETING "{\"version\":\"DPDK 22.11.11\",\"pid\":4711,\"max_output_len\":16384}"
#define COMMANDS                                                          \
	"{\"/\":[\"/\",\"/ethdev/list\",\"/evb/info\",\"/evb/port/all\"," \
	"\"/evb/port/list\",\"/evb/role/all\",\"/evb/summary\"]}"
#define INFO    "{\"/evb/info\":{\"name\":\"demo\",\"state\":\"running\"}}"
#define SUMMARY "{\"/evb/summary\":{\"loss_total\":3}}"
#define NO_PORT "{\"/evb/port/all\":{\"count\":0}}"

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

// How long it waits, in ms: where an answer comes, and where none does.
#define PATIENT   60000
#define IMPATIENT 1000

static cJSON *take(const struct server_answer *answers, unsigned patience, char *error)
{
	struct stat_client *client;
	cJSON *snapshot;

	server_start_answers("demo", GREETING, answers);
	client = stat_client_open_for("demo", patience, error);
	if (client == NULL)
		fail_msg("%s", error);
	snapshot = snapshot_take(client, error);
	stat_client_close(client);
	return snapshot;
}

static void assert_taken(const struct server_answer *answers, const char *expected)
{
	char error[STAT_CLIENT_ERROR_SIZE] = "";
	cJSON *snapshot = take(answers, PATIENT, error);
	char *text;

	if (snapshot == NULL)
		fail_msg("%s", error);
	text = cJSON_PrintUnformatted(snapshot);
	assert_string_equal(text, expected);
	cJSON_free(text);
	cJSON_Delete(snapshot);
}

static void assert_not_taken(const struct server_answer *answers, unsigned patience,
			     const char *expected)
{
	char error[STAT_CLIENT_ERROR_SIZE] = "";

	assert_null(take(answers, patience, error));
	assert_string_equal(error, expected);
}

static void take__has_every_group(void **state)
{
	static const struct server_answer answers[] = {
		{ "/", COMMANDS },
		{ "/evb/info", INFO },
		{ "/evb/summary", SUMMARY },
		{ "/evb/port/all,0", NO_PORT },
		{ "/evb/role/all,0",
		  "{\"/evb/role/all\":{\"count\":1,\"role_0\":{\"name\":\"rx\",\"polls\":9}}}" },
		{ 0 },
	};

	(void)state;
	assert_taken(answers, "{\"info\":{\"name\":\"demo\",\"state\":\"running\"},"
			      "\"summary\":{\"loss_total\":3},\"port\":[],"
			      "\"role\":[{\"name\":\"rx\",\"polls\":9}]}");
}

static void take__has_the_build_where_it_is_told(void **state)
{
	static const struct server_answer answers[] = {
		{ "/", "{\"/\":[\"/evb/build\",\"/evb/info\",\"/evb/summary\"]}" },
		{ "/evb/info", INFO },
		{ "/evb/summary", SUMMARY },
		{ "/evb/build", "{\"/evb/build\":{\"version\":\"1.2.3\"}}" },
		{ 0 },
	};

	(void)state;
	assert_taken(answers, "{\"info\":{\"name\":\"demo\",\"state\":\"running\"},"
			      "\"summary\":{\"loss_total\":3},"
			      "\"build\":{\"version\":\"1.2.3\"}}");
}

static void take__goes_through_pages(void **state)
{
	static const struct server_answer answers[] = {
		{ "/", COMMANDS },
		{ "/evb/info", INFO },
		{ "/evb/summary", SUMMARY },
		{ "/evb/port/all,0", NO_PORT },
		{ "/evb/role/all,0", "{\"/evb/role/all\":{\"count\":4,\"role_0\":{\"id\":0},"
				     "\"role_1\":{\"id\":1}}}" },
		// one too large for an answer is passed over
		{ "/evb/role/all,2", "{\"/evb/role/all\":{\"count\":4}}" },
		{ "/evb/role/all,3", "{\"/evb/role/all\":{\"count\":4,\"role_3\":{\"id\":3}}}" },
		{ 0 },
	};

	(void)state;
	assert_taken(answers, "{\"info\":{\"name\":\"demo\",\"state\":\"running\"},"
			      "\"summary\":{\"loss_total\":3},\"port\":[],"
			      "\"role\":[{\"id\":0},{\"id\":1},{\"id\":3}]}");
}

static void take__fails_when_the_run_is_over(void **state)
{
	static const struct server_answer answers[] = {
		{ "/", COMMANDS },
		{ "/evb/info", INFO },
		{ "/evb/summary", SUMMARY },
		{ NULL, "{\"/evb/port/all\":{\"state\":\"stopped\"}}" },
	};

	(void)state;
	assert_not_taken(answers, PATIENT, "appliance demo: /evb/port/all,0: the run is over");
}

static void take__fails_on_what_is_no_answer(void **state)
{
	static const char *const texts[] = { "",          "{", "null", "[]", "{}", "{\"/\":null}",
					     "{\"/\":{}}" };
	struct server_answer answers[] = { { 0 } };

	(void)state;
	for (size_t i = 1; i < sizeof(texts) / sizeof(texts[0]); i++) {
		answers[0].answer = texts[i];
		assert_not_taken(answers, PATIENT, "appliance demo: /: not the answer of an evb");
		servers_end();
		servers_begin();
	}
}

static void take__fails_on_an_answer_of_another_kind(void **state)
{
	static const struct server_answer answers[] = {
		{ "/", COMMANDS },
		{ "/evb/info", "{\"/evb/info\":[1]}" },
		{ 0 },
	};

	(void)state;
	assert_not_taken(answers, PATIENT, "appliance demo: /evb/info: not the answer of an evb");
}

static void take__waits_no_longer_than_it_may(void **state)
{
	static const struct server_answer answers[] = { { "/", COMMANDS }, { 0 } };

	(void)state;
	assert_not_taken(answers, IMPATIENT, "appliance demo did not answer in 1 s");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(take__has_every_group),
		TEST(take__has_the_build_where_it_is_told),
		TEST(take__goes_through_pages),
		TEST(take__fails_when_the_run_is_over),
		TEST(take__fails_on_what_is_no_answer),
		TEST(take__fails_on_an_answer_of_another_kind),
		TEST(take__waits_no_longer_than_it_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
