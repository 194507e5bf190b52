// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What may change between two runs of one process.
#include <stdio.h>
#include <string.h>

#include "helpers.h"

// The line with which the change of a node is refused, or "".
static const char *refusal(const char *node, const char *const *overrides)
{
	static char error[CONFIG_ERROR_SIZE];
	struct config *now = load_node(node, NULL), *next = load_node(node, overrides);
	int result;

	error[0] = '\0';
	result = config_check_change(now, next, error);
	assert_int_equal(result, error[0] != '\0' ? -1 : 0);
	config_free(now);
	config_free(next);
	return error;
}

static void change__of_what_a_run_begins_with_is_accepted(void **state)
{
	static const char *const changes[] = {
		"event_manager.mode=pull",
		"event_manager.policy=occupancy",
		"event_manager.shaping=none",
		"event_manager.credits=3",
		"event_manager.heartbeat_timeout=1s",
		"event_manager.source_buffer=64",
		"events.deadline=7s",
		"events.on_incomplete=discard",
		"builders[0].weight=3",
		"nodes[0].generators[0].rate=100Hz",
		"nodes[0].generators[0].events=5",
		"nodes[0].generators[0].size.law=gaussian",
		"nodes[0].generators[0].size.mean=7",
		"nodes[0].generators[0].seed=7",
	};

	(void)state;
	assert_string_equal(refusal("a", NULL), "");
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		for (const char *node = "a\0b\0c\0"; *node != '\0'; node += 2)
			assert_string_equal(refusal(node, ALL(changes[i])), "");
}

static void change__of_what_stays_is_refused_with_the_key(void **state)
{
	static const struct {
		const char *change, *key;
	} cases[] = {
		{ "name=other", "name" },
		{ "run_number=2", "run_number" },
		{ "memory.kind=shm", "memory.kind" },
		{ "nodes[0].ports[0].mtu=2000", "ports[0].mtu" },
		{ "nodes[0].ports[0].address=10.0.0.9/24", "ports[0].address" },
		{ "nodes[0].ports[0].vlan=0", "ports[0].vlan" },
		{ "transport.udp_port=20000", "transport.udp_port" },
		{ "sources.packing=3", "sources.packing" },
		{ "sources.expected=[\"1-3\"]", "sources.expected" },
		{ "builders[0].slots=17", "builders[0].slots" },
		{ "event_ring.groups=[\"more\"]", "event_ring.groups" },
		{ "idle.sleep=1ms", "idle.sleep" },
		{ "links.depth=64", "links.depth" },
		{ "nodes[0].generators[0].name=other", "generators[0].name" },
		{ "nodes[0].generators[0].faults.loss=0.5", "generators[0].faults.loss" },
		{ "nodes[1].name=d", "nodes" },
		{ "event_manager.start=manual", "event_manager.start" },
		{ "event_manager.runs=many", "event_manager.runs" },
		{ "event_manager.control_port=7", "event_manager.control_port" },
		{ "event_manager.multicast=239.1.1.1", "event_manager.multicast" },
		{ "event_manager.key_file=key", "event_manager.key_file" },
	};
	char expected[CONFIG_ERROR_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *at;

		at = strstr(refusal("a", ALL(cases[i].change)), ": ");
		snprintf(expected, sizeof(expected),
			 ": %s: cannot change between two runs: start the nodes again",
			 cases[i].key);
		assert_non_null(at);
		assert_string_equal(at, expected);
	}
}

static void change__of_another_node_is_for_that_node(void **state)
{
	const char *const *change = ALL("nodes[1].ports[0].mtu=2000");

	(void)state;
	assert_string_equal(refusal("a", change), "");
	assert_non_null(strstr(refusal("b", change), ": ports[0].mtu: "));
}

static void replace__gives_the_content_at_the_same_address(void **state)
{
	struct config *config = load_node("a", NULL);
	struct config *next = load_node("a", ALL("nodes[0].generators[0].rate=100Hz"));
	const uint64_t hash = next->cluster.hash;

	(void)state;
	config_replace(config, next);
	assert_true(config->cluster.hash == hash);
	assert_true(config->generators[0].rate == 100);
	assert_string_equal(config->cluster.nodes[1].name, "b");
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(change__of_what_a_run_begins_with_is_accepted),
		cmocka_unit_test(change__of_what_stays_is_refused_with_the_key),
		cmocka_unit_test(change__of_another_node_is_for_that_node),
		cmocka_unit_test(replace__gives_the_content_at_the_same_address),
	};

	return cmocka_run_group_tests_name("config_change", tests, NULL, NULL);
}
