// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A node that the elected manager asks about another configuration file: which questions it
// answers, and when it takes the file. The test stands for the control thread, which judges it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "node/control_internal.h"

#define MANAGER 0u // of nodes a, b and c; the first two can manage
#define OTHER   1u
#define FILE_1  UINT64_C(0x1111)
#define FILE_2  UINT64_C(0x2222)

static struct bench {
	struct config *config;
	struct control control;
	struct ctrl_agreement answers[4];
	unsigned n_answers;
} bench;

static void note_answer(void *context, unsigned to, const void *bytes, size_t size)
{
	struct ctrl_record record;

	(void)context;
	assert_int_equal(ctrl_record_at(bytes, size, &record), WIRE_OK);
	if (record.type != CTRL_AGREEMENT)
		return;
	assert_int_equal(to, MANAGER);
	assert_true(bench.n_answers < 4);
	assert_int_equal(ctrl_get_agreement(&record, &bench.answers[bench.n_answers++]), WIRE_OK);
}

static int bench_open(void **state)
{
	static const char text[] =
	    "{\"name\": \"t\", \"sources\": {\"ids\": [1]}, \"nodes\": ["
	    "{\"name\": \"a\", \"manager\": true, \"ports\": [{\"name\": \"w\", \"profile\": "
	    "\"ring\", \"address\": \"10.0.0.1/24\"}], \"builders\": [{\"name\": \"b\"}]}, "
	    "{\"name\": \"b\", \"manager\": true, \"ports\": [{\"name\": \"w\", \"profile\": "
	    "\"ring\", \"address\": \"10.0.0.2/24\"}], \"builders\": [{\"name\": \"b\"}]}, "
	    "{\"name\": \"c\", \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"address\": "
	    "\"10.0.0.3/24\"}], \"generators\": [{\"name\": \"g\", \"port\": \"w\", \"ids\": "
	    "[1]}]}]}";
	struct cluster_node_parameters node = { .n_readouts = 1, .now = 1 };
	char error[CONFIG_ERROR_SIZE];

	(void)state;
	memset(&bench, 0, sizeof(bench));
	if (config_parse(&bench.config, text, strlen(text), "t", "c", NULL, 0, error) != 0)
		fail_msg("%s", error);
	node.cluster = config_cluster_parameters(bench.config);
	node.cluster.prepared_run = 1;
	node.transport.send = note_answer;
	bench.control.parameters.node = node;
	bench.control.system = node.cluster.system;
	bench.control.transport = node.transport;
	bench.control.node = cluster_node_create(&node);
	assert_non_null(bench.control.node);
	cluster_node_follow(bench.control.node, MANAGER, 1);
	return 0;
}

static int bench_close(void **state)
{
	(void)state;
	cluster_node_destroy(bench.control.node);
	config_free(bench.config);
	return 0;
}

static bool take(unsigned from, const uint8_t *bytes, size_t size)
{
	struct ctrl_record record;

	assert_int_equal(ctrl_record_at(bytes, size, &record), WIRE_OK);
	return control_agreement_record(&bench.control, from, &record);
}

static void ask(uint32_t request, uint64_t hash)
{
	const struct ctrl_configuration record = { .request = request,
						   .config_hash = hash,
						   .path = "file.json" };
	uint8_t bytes[CTRL_CONFIGURATION_SIZE];

	assert_true(take(MANAGER, bytes, ctrl_put_configuration(bytes, sizeof(bytes), &record)));
}

static void withdraw(uint32_t request)
{
	ask(request, bench.control.system->hash);
}

// The control thread judges the file that it finds.
static void judge(uint64_t hash, const char *reason)
{
	struct control_file file;

	assert_true(control_role_proposal(&bench.control.role, &file));
	assert_int_equal(file.hash, hash);
	control_role_judge(&bench.control.role, reason);
	control_agreement_poll(&bench.control);
}

// Another node says which configuration it has. Returns whether that is for the control role alone.
static bool hear(uint64_t hash)
{
	const struct ctrl_heartbeat heartbeat = { .has_lease = true, .lease.config_hash = hash };
	uint8_t bytes[CTRL_HEARTBEAT_SIZE(0) + CTRL_LEASE_SIZE];

	return take(OTHER, bytes, ctrl_put_heartbeat(bytes, sizeof(bytes), &heartbeat));
}

static bool follows(void)
{
	return control_role_follows(&bench.control.role);
}

// --- tests ---

static void file__is_taken_when_another_node_has_it(void **state)
{
	struct ctrl_register asks = { .config_hash = FILE_1, .name = "a" };
	uint8_t bytes[CTRL_REGISTER_SIZE];

	(void)state;
	ask(1, FILE_1);
	assert_false(hear(FILE_1)); // this node has not agreed yet
	judge(FILE_1, NULL);
	assert_int_equal(bench.answers[0].request, 1);
	assert_int_equal(bench.answers[0].refused, 0);
	assert_false(hear(FILE_2));
	assert_false(hear(bench.control.system->hash));
	assert_false(follows());
	// A manager here would refuse the node, whose process would end.
	assert_true(take(OTHER, bytes, ctrl_put_register(bytes, sizeof(bytes), &asks)));
	assert_true(follows());
}

static void file__that_is_refused_is_not_taken(void **state)
{
	(void)state;
	ask(1, FILE_1);
	judge(FILE_1, "no");
	assert_int_equal(bench.answers[0].refused, 1);
	assert_string_equal(bench.answers[0].text, "no");
	assert_false(hear(FILE_1));
	assert_false(follows());
}

static void file__that_is_withdrawn_is_not_taken(void **state)
{
	(void)state;
	ask(1, FILE_1);
	judge(FILE_1, NULL);
	withdraw(1);
	assert_false(hear(FILE_1));
	ask(2, FILE_1);
	withdraw(2); // before this node has judged it
	judge(FILE_1, NULL);
	assert_false(hear(FILE_1));
	assert_false(follows());
}

// As where another node has refused the first file at once.
static void question__about_a_second_file_waits(void **state)
{
	(void)state;
	ask(1, FILE_1);
	withdraw(1);
	ask(2, FILE_2);
	judge(FILE_1, NULL);
	assert_false(hear(FILE_1));
	judge(FILE_2, NULL);
	assert_int_equal(bench.n_answers, 2);
	assert_int_equal(bench.answers[1].request, 2);
	assert_true(hear(FILE_2));
	assert_true(follows());
}

static void question__that_waits_is_withdrawn(void **state)
{
	struct control_file file;

	(void)state;
	ask(1, FILE_1);
	ask(2, FILE_2);
	withdraw(2);
	judge(FILE_1, NULL);
	assert_false(control_role_proposal(&bench.control.role, &file));
	assert_int_equal(bench.n_answers, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_open, bench_close)
	const struct CMUnitTest tests[] = {
		TEST(file__is_taken_when_another_node_has_it),
		TEST(file__that_is_refused_is_not_taken),
		TEST(file__that_is_withdrawn_is_not_taken),
		TEST(question__about_a_second_file_waits),
		TEST(question__that_waits_is_withdrawn),
	};
#undef TEST

	return cmocka_run_group_tests_name("control agreement", tests, NULL, NULL);
}
