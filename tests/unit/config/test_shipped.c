// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the tree ships is valid.
// Usage: test_shipped ROOT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"

static const char *root;

static void demo__is_valid(void **state)
{
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/configs/demo.json", root);
	if (config_load(&config, path, NULL, NULL, 0, error))
		fail_msg("%s", error);
	assert_string_equal(config->name, "demo");
	assert_int_equal(config->sources.n_ids, 8);
	assert_int_equal(config->sources.packing, 100);
	assert_int_equal(config->n_builders, 1);
	assert_int_equal(config->n_generators, 1);
	config_free(config);
}

// Loads a node of a shipped system.
static struct config *load_shipped(const char *name, const char *node)
{
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;
	char path[512];

	snprintf(path, sizeof(path), "%s/configs/%s", root, name);
	if (config_load(&config, path, node, NULL, 0, error))
		fail_msg("%s", error);
	return config;
}

static void folded_system__is_valid(void **state)
{
	static const char *const nodes[] = { "a", "b", "c" };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct config *config = load_shipped("cluster-folded.json", nodes[i]);
		assert_int_equal(config->cluster.n_nodes, 3);
		assert_int_equal(config->cluster.self, i);
		assert_int_equal(config->cluster.n_builders, 3);
		assert_int_equal(config->n_builders, 1);
		assert_int_equal(config->n_generators, 1);
		assert_int_equal(config->cluster.nodes[i].n_sources, 3);
		config_free(config);
	}
}

static void standby_system__has_two_managers(void **state)
{
	struct config *config = load_shipped("cluster-ha.json", "c");

	(void)state;
	assert_int_equal(config->cluster.n_nodes, 3);
	assert_int_equal(config->cluster.n_managers, 2);
	config_free(config);
}

// Asserts that a system has a manager, readout nodes and builder nodes, as many as that.
static void assert_system(const char *name, unsigned n_readout, unsigned n_builders)
{
	struct config *config = load_shipped(name, "manager");
	const struct cluster_system *cluster = &config->cluster;
	unsigned n_nodes = 1 + n_readout + n_builders;

	assert_int_equal(cluster->n_nodes, n_nodes);
	assert_int_equal(cluster->manager, 0);
	assert_int_equal(cluster->n_builders, n_builders);
	assert_int_equal(config->n_builders + config->n_generators, 0);
	for (unsigned i = 1; i < n_nodes; i++) {
		struct config *node = load_shipped(name, cluster->nodes[i].name);
		assert_int_equal(node->n_generators, i <= n_readout);
		assert_int_equal(node->n_builders, i > n_readout);
		assert_true(node->cluster.hash == cluster->hash);
		config_free(node);
	}
	config_free(config);
}

static void readout_systems__are_valid(void **state)
{
	(void)state;
	assert_system("cluster-4x2.json", 4, 2);
	assert_system("cluster-8x4.json", 8, 4);
}

static void lhcb_like_system__is_valid(void **state)
{
	struct config *config = load_shipped("lhcb-like.json", "eb19");

	(void)state;
	assert_int_equal(config->cluster.n_nodes, 20);
	assert_int_equal(config->cluster.n_builders, 20);
	assert_int_equal(config->sources.n_ids, 500);
	assert_int_equal(config->cluster.nodes[19].n_sources, 25);
	config_free(config);
}

static void farm__has_two_stages(void **state)
{
	struct config *first = load_shipped("farm.json", "build");
	struct config *second = load_shipped("farm-filter.json", "egress");

	(void)state;
	assert_string_equal(second->generators[0].egress.appliance, first->name);
	assert_string_equal(second->generators[0].egress.group, first->event_ring.groups[0]);
	for (unsigned i = 0; i < first->n_builders; i++)
		assert_true(first->builders[i].slot_size <= second->generators[0].egress.max_event);
	config_free(first);
	config_free(second);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demo__is_valid),
		cmocka_unit_test(folded_system__is_valid),
		cmocka_unit_test(standby_system__has_two_managers),
		cmocka_unit_test(readout_systems__are_valid),
		cmocka_unit_test(lhcb_like_system__is_valid),
		cmocka_unit_test(farm__has_two_stages),
	};

	if (argc != 2)
		return 2;
	root = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
