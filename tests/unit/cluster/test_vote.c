// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The vote of a node, and the manager that it follows, where nodes have different configurations:
// nodes "a" and "b" can be the manager, and node "c" hears them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/office.h"
#include "config/config.h"

#define A     0u
#define B     1u
#define LEASE UINT64_C(200000000)
#define START UINT64_C(1000000000)

static struct voter {
	struct config *config;
	struct cluster_node *node;
	unsigned n_registered; // REGISTER records that the node has sent
	unsigned to;           // the last of them
} voter;

static void note_record(void *context, unsigned to, const void *bytes, size_t size)
{
	struct ctrl_record record;

	(void)context;
	assert_int_equal(ctrl_record_at(bytes, size, &record), WIRE_OK);
	if (record.type != CTRL_REGISTER)
		return;
	voter.n_registered++;
	voter.to = to;
}

#define NODE(name, manager, number)                                                         \
	"{\"name\": \"" name "\", \"manager\": " manager ", \"ports\": [{\"name\": \"w\", " \
	"\"profile\": \"ring\", \"address\": \"10.0.0." number "/24\"}], "                  \
	"\"builders\": [{\"name\": \"b\"}]}"

static int voter_open(void **state)
{
	static const char text[] =
	    "{\"name\": \"t\", \"sources\": {\"ids\": [1], \"packing\": 1}, "
	    "\"event_manager\": {\"heartbeat_timeout\": \"200ms\"}, "
	    "\"nodes\": [" NODE("a", "true", "1") ", " NODE(
		"b", "true",
		"2") ", "
		     "{\"name\": \"c\", \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", "
		     "\"address\": \"10.0.0.3/24\"}], "
		     "\"generators\": [{\"name\": \"g\", \"port\": \"w\", \"ids\": [1]}]}]}";
	struct cluster_node_parameters parameters = {
		.n_readouts = 1,
		.lease_ns = LEASE,
		.transport = { .send = note_record },
		.now = START,
	};
	char error[CONFIG_ERROR_SIZE];

	(void)state;
	voter = (struct voter){ .to = CLUSTER_NONE };
	if (config_parse(&voter.config, text, strlen(text), "t", "c", NULL, 0, error) != 0)
		fail_msg("%s", error);
	parameters.cluster = config_cluster_parameters(voter.config);
	voter.node = cluster_node_create(&parameters);
	assert_non_null(voter.node);
	return 0;
}

static int voter_close(void **state)
{
	(void)state;
	cluster_node_destroy(voter.node);
	config_free(voter.config);
	return 0;
}

static void hear(unsigned from, enum ctrl_office office, uint32_t epoch, uint64_t hash,
		 uint64_t now)
{
	const struct ctrl_heartbeat heartbeat = {
		.has_lease = true,
		.lease = { .office = (uint8_t)office,
			   .epoch = epoch,
			   .stamp = now,
			   .voted_for = CTRL_NO_VOTE,
			   .config_hash = hash },
	};
	uint8_t bytes[CTRL_HEARTBEAT_SIZE(0) + CTRL_LEASE_SIZE];
	struct ctrl_record record;
	size_t size = ctrl_put_heartbeat(bytes, sizeof(bytes), &heartbeat);

	assert_int_equal(ctrl_record_at(bytes, size, &record), WIRE_OK);
	cluster_node_record(voter.node, from, &record, now);
}

static uint64_t own_hash(void)
{
	return voter.config->cluster.hash;
}

// --- tests ---

static void vote__is_given_to_candidates_with_the_configuration(void **state)
{
	const uint64_t now = START + LEASE;
	unsigned to;

	(void)state;
	hear(A, CTRL_OFFICE_ASKED, 8, own_hash() + 1, now);
	assert_false(cluster_node_has_voted(voter.node, &to));
	hear(B, CTRL_OFFICE_ASKED, 7, own_hash(), now);
	assert_true(cluster_node_has_voted(voter.node, &to));
	assert_int_equal(to, B);
	assert_int_equal(cluster_node_heartbeat(voter.node).lease.config_hash, own_hash());
}

// The others may be about to take this node's configuration, which it has just taken.
static void manager_with_another_configuration__is_not_followed_at_first(void **state)
{
	(void)state;
	hear(A, CTRL_OFFICE_HELD, 8, own_hash() + 1, START + LEASE - 1);
	assert_int_equal(cluster_node_manager(voter.node), CLUSTER_NONE);
	hear(B, CTRL_OFFICE_HELD, 9, own_hash(), START + LEASE - 1);
	assert_int_equal(cluster_node_manager(voter.node), B);
}

// So the process ends, and states why.
static void manager_with_another_configuration__refuses_the_node(void **state)
{
	const struct ctrl_welcome welcome = { .verdict = CTRL_REFUSED_CONFIG,
					      .text = "its configuration is not the manager's" };
	uint8_t bytes[CTRL_WELCOME_SIZE];
	struct ctrl_record record;
	const char *why;

	(void)state;
	hear(A, CTRL_OFFICE_HELD, 8, own_hash() + 1, START + LEASE);
	assert_int_equal(cluster_node_manager(voter.node), A);
	assert_int_equal(voter.n_registered, 1);
	assert_int_equal(voter.to, A);
	assert_int_equal(
	    ctrl_record_at(bytes, ctrl_put_welcome(bytes, sizeof(bytes), &welcome), &record),
	    WIRE_OK);
	cluster_node_record(voter.node, A, &record, START + LEASE);
	assert_true(cluster_node_ended(voter.node, &why));
	assert_string_equal(
	    why, "the event manager refuses this node: its configuration is not the manager's");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, voter_open, voter_close)
	const struct CMUnitTest tests[] = {
		TEST(vote__is_given_to_candidates_with_the_configuration),
		TEST(manager_with_another_configuration__is_not_followed_at_first),
		TEST(manager_with_another_configuration__refuses_the_node),
	};
#undef TEST

	return cmocka_run_group_tests_name("vote", tests, NULL, NULL);
}
