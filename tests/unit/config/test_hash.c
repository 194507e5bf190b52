// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The hash that all nodes of a system must agree on.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers.h"

static uint64_t hash_of(const char *node, const char *const *overrides)
{
	struct config *config = load_node(node, overrides);
	uint64_t hash = config->cluster.hash;

	config_free(config);
	return hash;
}

static uint64_t hash_of_text(const char *text)
{
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	if (config_parse(&config, text, strlen(text), "x.json", "a", NULL, 0, error))
		fail_msg("%s", error);
	uint64_t hash = config->cluster.hash;
	config_free(config);
	return hash;
}

static void hash__is_the_same_on_all_nodes(void **state)
{
	(void)state;
	assert_int_not_equal(hash_of("a", NULL), 0);
	assert_true(hash_of("a", NULL) == hash_of("b", NULL));
	assert_true(hash_of("a", NULL) == hash_of("c", NULL));
}

static void hash__goes_by_what_concerns_all(void **state)
{
	const char *const changes[] = {
		"name=other",
		"run_number=2",
		"sources.expected=[\"1-4\"]",
		"builders[0].slots=17",
		"builders[1].name=b2",
		"events.deadline=1s",
		"event_manager.mode=pull",
		"event_manager.strict=true",
		"event_manager.strict=false",
		"transport.udp_port=1",
		"nodes[1].name=d",
		"nodes[2].ports[0].address=10.0.0.4",
		"nodes[2].builders[0].slots=65",
		"nodes[1].generators[0].seed=2",
		"roce.icrc=ignore",
	};
	uint64_t hashes[sizeof(changes) / sizeof(changes[0]) + 1];
	unsigned n_hashes = 0;

	(void)state;
	hashes[n_hashes++] = hash_of("a", NULL);
	for (unsigned i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint64_t hash = hash_of("a", ALL(changes[i]));
		for (unsigned j = 0; j < n_hashes; j++)
			assert_true(hash != hashes[j]);
		hashes[n_hashes++] = hash;
	}
}

static void hash__leaves_out_what_concerns_a_node_alone(void **state)
{
	const char *const changes[] = {
		"$schema=schema.json",
		"memory.kind=shm",
		"idle.yields=3",
		"links.depth=64",
		"event_ring.groups=[\"x\"]",
		"writers=[]",
		"lcores=auto",
		"fabric.hosts=4",
		"event_manager.key_file=\"/etc/evb/control.key\"",
		"nodes[0].memory={\"kind\": \"shm\"}",
		"nodes[0].lcores=auto",
		"nodes[0].writers=[{\"name\": \"w\"}]",
		"nodes[1].idle={}",
		"nodes[1].links={}",
		"nodes[2].event_ring={}",
	};
	uint64_t hash = hash_of("a", NULL);

	(void)state;
	for (unsigned i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		assert_true(hash_of("a", ALL(changes[i])) == hash);
}

#define NODE_A                                                                             \
	"{\"name\": \"a\", \"manager\": true, \"ports\": [{\"name\": \"w\", \"profile\": " \
	"\"ring\", \"address\": \"10.0.0.1\"}], \"builders\": [{\"name\": \"b\"}]}"
#define NODE_B                                                                                 \
	"{\"name\": \"b\", \"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"address\": " \
	"\"10.0.0.2\"}], \"builders\": [{\"name\": \"b\"}]}"

#define SYSTEM(events, nodes) \
	"{\"sources\": {\"ids\": [1]}, \"events\": " events ", \"nodes\": [" nodes "]}"

static void hash__goes_by_content_not_by_layout(void **state)
{
	uint64_t hash = hash_of_text(
	    SYSTEM("{\"deadline\": 2000, \"drain_timeout\": 1000}", NODE_A ", " NODE_B));
	const char *same =
	    "{ \"nodes\":[" NODE_A "," NODE_B "],\n\"events\":{\"drain_timeout\":1000,"
	    "\"deadline\":2000}, \"sources\" : {\"ids\":[1]}}";

	(void)state;
	assert_true(hash_of_text(same) == hash);
	assert_true(hash_of_text(SYSTEM("{\"deadline\": 2000, \"drain_timeout\": 1000}",
					NODE_B ", " NODE_A)) != hash);
	assert_true(hash_of_text(SYSTEM("{\"deadline\": 1000, \"drain_timeout\": 2000}",
					NODE_A ", " NODE_B)) != hash);
}

static void write_map(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void hash__covers_the_source_map(void **state)
{
	char path[] = "/tmp/evb-test-hash-XXXXXX";
	char override[128];
	int descriptor = mkstemp(path);

	(void)state;
	assert_true(descriptor >= 0);
	close(descriptor);
	snprintf(override, sizeof(override), "sources.ids={\"source_map\": \"%s\"}", path);
	write_map(path, "{\"sources\": [{\"id\": 1}, {\"id\": 2}, {\"id\": 3}, {\"id\": 4}]}");
	uint64_t four = hash_of("a", ALL(override, "sources.expected=[\"1-4\"]"));
	write_map(path, "{\"sources\": [{\"id\": 1}, {\"id\": 2}, {\"id\": 3}, {\"id\": 4},"
			" {\"id\": 5}]}");
	uint64_t five = hash_of("a", ALL(override, "sources.expected=[\"1-4\"]"));
	unlink(path);
	assert_true(four != five);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash__is_the_same_on_all_nodes),
		cmocka_unit_test(hash__goes_by_what_concerns_all),
		cmocka_unit_test(hash__leaves_out_what_concerns_a_node_alone),
		cmocka_unit_test(hash__goes_by_content_not_by_layout),
		cmocka_unit_test(hash__covers_the_source_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
