// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// One file for a whole system: which keys a node gets, and what it knows of the others.
#include <stdio.h>
#include <string.h>

#include "helpers.h"

static void node__has_what_the_file_says_for_all(void **state)
{
	struct config *config = load_node("a", NULL);

	(void)state;
	assert_string_equal(config->name, "sys-a");
	assert_int_equal(config->n_builders, 2);
	assert_int_equal(config->builders[0].slots, 16);
	assert_string_equal(config->builders[1].name, "b1");
	assert_int_equal(config->idle.policy, CONFIG_IDLE_POLL);
	assert_int_equal(config->sources.n_ids, 4);
	assert_int_equal(config->sources.n_expected, 4);
	assert_int_equal(config->links.depth, 16384);
	config_free(config);
}

static void node__puts_its_own_keys_in_the_place_of_the_files(void **state)
{
	struct config *config = load_node("c", NULL);

	(void)state;
	assert_string_equal(config->name, "sys-c");
	assert_int_equal(config->n_builders, 1);
	assert_string_equal(config->builders[0].name, "only");
	assert_int_equal(config->builders[0].slots, 64); // not the 16 of the file's builders[0]
	assert_string_equal(config->builders[1].name, "");
	assert_int_equal(config->n_generators, 0);
	assert_int_equal(config->ports[0].address, 0x0a000003);
	config_free(config);
}

static void node__may_have_each_key_of_its_own(void **state)
{
	struct config *config = load_node(
	    "a",
	    ALL("memory={\"kind\": \"shm\", \"limit\": \"1GiB\"}",
		"nodes[0].memory={\"kind\": \"hugepages\"}",
		"event_ring={\"directory\": \"/root\", \"groups\": [\"x\", \"y\"]}",
		"nodes[0].event_ring={\"groups\": [\"z\"]}", "nodes[0].writers=[{\"name\": \"w\"}]",
		"nodes[0].idle={\"yields\": 7}", "links={\"depth\": 64, \"policy\": \"drop\"}",
		"nodes[0].links={\"depth\": 128}", "roce.icrc=ignore",
		"nodes[0].roce={\"window\": 7}", "lcores=[{\"cpu\": 0, \"roles\": [\"x\"]}]",
		"nodes[0].lcores=auto", "nodes[1].lcores=auto", "nodes[2].lcores=auto"));

	(void)state;
	assert_int_equal(config->memory.kind, MEMORY_HUGEPAGES);
	assert_int_equal(config->memory.limit, 0);
	assert_string_equal(config->event_ring.directory, "");
	assert_int_equal(config->event_ring.n_groups, 2);
	assert_string_equal(config->event_ring.groups[0], "z");
	assert_string_equal(config->event_ring.groups[1], "w");
	assert_int_equal(config->n_writers, 1);
	assert_int_equal(config->idle.policy, CONFIG_IDLE_ADAPTIVE);
	assert_int_equal(config->idle.yields, 7);
	assert_int_equal(config->links.depth, 128);
	assert_int_equal(config->links.policy, CONFIG_LINK_LOSSLESS);
	assert_int_equal(config->roce.icrc, ROCE_ICRC_VERIFY);
	assert_int_equal(config->roce.window, 7);
	assert_int_equal(config->n_lcores, 0);
	config_free(config);
}

static void cluster__is_the_same_on_all_nodes(void **state)
{
	struct config *a = load_node("a", NULL);
	struct config *b = load_node("b", NULL);
	struct cluster_system other;

	(void)state;
	assert_int_equal(a->cluster.self, 0);
	assert_int_equal(b->cluster.self, 1);
	assert_int_equal(a->cluster.manager, 0);
	assert_int_equal(a->cluster.n_nodes, 3);
	assert_memory_equal(a->cluster.nodes, b->cluster.nodes, 3 * sizeof(*a->cluster.nodes));
	assert_memory_equal(a->cluster.builders, b->cluster.builders,
			    a->cluster.n_builders * sizeof(*a->cluster.builders));
	assert_memory_equal(a->cluster.source_ids, b->cluster.source_ids,
			    a->cluster.n_sources * sizeof(*a->cluster.source_ids));
	other = b->cluster;
	other.self = a->cluster.self;
	other.nodes = a->cluster.nodes;
	other.builders = a->cluster.builders;
	other.source_ids = a->cluster.source_ids;
	assert_memory_equal(&a->cluster, &other, sizeof(other));
	config_free(a);
	config_free(b);
}

static void cluster__knows_addresses(void **state)
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, 2 };
	struct config *config = load_node("a", NULL);
	const struct cluster_system_node *nodes = config->cluster.nodes;

	(void)state;
	assert_string_equal(nodes[0].name, "a");
	assert_true(nodes[0].manager);
	assert_int_equal(nodes[0].port, 0);
	assert_int_equal(nodes[0].address, 0x0a000001);
	assert_int_equal(nodes[0].prefix_length, 24);
	assert_false(nodes[0].has_mac);
	assert_int_equal(nodes[0].link_rate, 0);
	assert_false(nodes[0].tagged);
	assert_false(nodes[1].manager);
	assert_int_equal(nodes[1].port, 1); // the first that has an address
	assert_int_equal(nodes[1].address, 0x0a000002);
	assert_true(nodes[1].has_mac);
	assert_memory_equal(nodes[1].mac, mac, 6);
	assert_int_equal(nodes[1].link_rate, 25000000000);
	assert_true(nodes[1].tagged);
	config_free(config);
}

static void cluster__numbers_builders_through_the_nodes(void **state)
{
	struct config *config = load_node("b", NULL);
	const struct cluster_system *cluster = &config->cluster;

	(void)state;
	assert_int_equal(cluster->n_builders, 3);
	assert_int_equal(cluster->nodes[0].first_builder, 0);
	assert_int_equal(cluster->nodes[0].n_builders, 2);
	assert_int_equal(cluster->nodes[1].n_builders, 0);
	assert_int_equal(cluster->nodes[2].first_builder, 2);
	assert_int_equal(cluster->nodes[2].n_builders, 1);
	assert_string_equal(cluster->builders[1].name, "b1");
	assert_int_equal(cluster->builders[1].node, 0);
	assert_int_equal(cluster->builders[1].index, 1);
	assert_int_equal(cluster->builders[0].slots, 16);
	assert_int_equal(cluster->builders[0].slot_size, 4 << 20);
	assert_int_equal(cluster->builders[0].group, 0);
	assert_int_equal(cluster->builders[0].weight, 1);
	assert_int_equal(cluster->builders[2].node, 2);
	assert_int_equal(cluster->builders[2].index, 0);
	assert_int_equal(cluster->builders[2].group, CONFIG_MAX_GROUP + 1 + 2); // its own
	assert_int_equal(cluster->builders[2].weight, 3);
	config_free(config);
}

static void cluster__lists_sources_by_node(void **state)
{
	const uint16_t expected[] = { 1, 3, 2, 4 };
	struct config *config = load_node(
	    "c", ALL("nodes[0].generators[0].ids=[3, 1]", "nodes[1].generators[0].ids=[4]",
		     "nodes[1].generators[1]={\"name\": \"g1\", \"port\": \"in\", \"ids\": [2]}"));
	const struct cluster_system *cluster = &config->cluster;

	(void)state;
	assert_int_equal(cluster->n_sources, 4);
	assert_memory_equal(cluster->source_ids, expected, sizeof(expected));
	assert_int_equal(cluster->nodes[0].first_source, 0);
	assert_int_equal(cluster->nodes[0].n_sources, 2);
	assert_int_equal(cluster->nodes[1].first_source, 2);
	assert_int_equal(cluster->nodes[1].n_sources, 2);
	assert_int_equal(cluster->nodes[2].n_sources, 0);
	config_free(config);
}

static void node__is_chosen_by_its_name(void **state)
{
	const char *const only_a = "nodes=[{\"name\": \"a\", \"manager\": true, \"ports\":"
				   " [{\"name\": \"w\", \"profile\": \"ring\", \"address\": "
				   "\"10.0.0.1\"}]}]";
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	(void)state;
	assert_int_equal(
	    config_parse(&config, system_text, strlen(system_text), "x.json", NULL, NULL, 0, error),
	    -1);
	assert_string_equal(error, "x.json: nodes: choose one with --node: a, b, c");
	assert_int_equal(config_parse(&config, system_text, strlen(system_text), "x.json", "d\n",
				      NULL, 0, error),
			 -1);
	assert_string_equal(error, "x.json: nodes: none is called \"d?\", there are a, b, c");
	assert_int_equal(
	    config_parse(&config, base_text, strlen(base_text), "x.json", "a", NULL, 0, error), -1);
	assert_string_equal(error, "x.json: there are no nodes, so --node names none");
	assert_int_equal(config_parse(&config, base_text, strlen(base_text), "x.json",
				      CONFIG_MANAGER_NODE, NULL, 0, error),
			 0);
	assert_int_equal(config->cluster.n_nodes, 0);
	config_free(config);
	config = load_node(CONFIG_MANAGER_NODE, NULL);
	assert_true(config->cluster.nodes[config->cluster.self].manager);
	assert_int_equal(config->cluster.self, config->cluster.manager);
	config_free(config);
	config = load_node(NULL, ALL(only_a));
	assert_string_equal(config->name, "sys-a");
	assert_int_equal(config->cluster.n_nodes, 1);
	config_free(config);
}

// Puts n nodes into the text, each with a long name.
static void write_many(char *text, unsigned n_nodes)
{
	char *to =
	    text + sprintf(text, "{\"name\": \"s\", \"sources\": {\"ids\": [1]}, \"builders\":"
				 " [{\"name\": \"b\"}], \"nodes\": [");

	for (unsigned i = 0; i < n_nodes; i++)
		to += sprintf(to,
			      "%s{\"name\": \"abcdefghijklmnopqrstuvwxy%u\", \"manager\": %s, "
			      "\"ports\": [{\"name\": \"w\", \"profile\": \"ring\", \"address\": "
			      "\"10.0.%u.%u\"}]}",
			      i ? ", " : "", i, i == 0 ? "true" : "false", i / 200, i % 200);
	strcpy(to, "]}");
}

static void nodes__may_be_1024(void **state)
{
	static char text[262144];
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	(void)state;
	write_many(text, 1024);
	if (config_parse(&config, text, strlen(text), "x.json", "abcdefghijklmnopqrstuvwxy1023",
			 NULL, 0, error))
		fail_msg("%s", error);
	assert_int_equal(config->cluster.self, 1023);
	assert_int_equal(config->cluster.n_builders, 1024);
	assert_int_equal(config->cluster.builders[1023].node, 1023);
	config_free(config);
	write_many(text, 1025);
	assert_int_equal(config_parse(&config, text, strlen(text), "x.json", NULL, NULL, 0, error),
			 -1);
	assert_string_equal(error, "x.json: nodes: more than 1024 elements");
	write_many(text, 100);
	assert_int_equal(config_parse(&config, text, strlen(text), "x.json", NULL, NULL, 0, error),
			 -1);
	assert_string_equal(error, "x.json: nodes: choose one with --node: "
				   "abcdefghijklmnopqrstuvwxy0, abcdefghijklmnopqrstuvwxy1, "
				   "abcdefghijklmnopqrstuvwxy2, abcdefghijklmnopqrstuvwxy3, "
				   "abcdefghijklmnopqrstuvwxy4, ...");
}

static void roles__of_a_node(void **state)
{
	const char *const of_a[] = { "control", "readout.g0", "rx.wire", "builder.b0",
				     "builder.b1" };
	const char *const of_b[] = { "control", "readout.g0", "rx.in", "rx.out" };
	struct config_role role;
	struct config *config;

	(void)state;
	config = load_node("a", NULL);
	for (unsigned i = 0; i < 5; i++) {
		assert_true(config_role(config, i, &role));
		assert_string_equal(role.name, of_a[i]);
	}
	assert_false(config_role(config, 5, &role));
	config_role(config, 0, &role);
	assert_int_equal(role.kind, CONFIG_ROLE_CONTROL);
	config_role(config, 1, &role);
	assert_int_equal(role.kind, CONFIG_ROLE_READOUT);
	assert_int_equal(role.object, 0);
	config_free(config);
	config = load_node("b", NULL);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(config_role(config, i, &role));
		assert_string_equal(role.name, of_b[i]);
	}
	assert_false(config_role(config, 4, &role));
	config_free(config);
}

static void lcores__hold_the_roles_of_their_node(void **state)
{
	struct config *config = load_node(
	    "c", ALL("nodes[2].lcores=[{\"cpu\": 1, \"roles\": [\"rx.wire\", \"builder.only\","
		     " \"control\"]}]"));

	(void)state;
	assert_int_equal(config->n_lcores, 1);
	assert_string_equal(config->lcores[0].roles[2], "control");
	config_free(config);
	assert_system_refused(
	    "nodes[2].lcores=[{\"cpu\": 1, \"roles\": [\"rx.wire\", \"builder.only\"]}]",
	    "x.json: nodes[2].lcores: no lcore has role \"control\"");
	assert_system_refused("lcores=[{\"cpu\": 1, \"roles\": [\"rx.out\"]}]",
			      "x.json: node a: lcores[0].roles[0]: there is no role \"rx.out\"");
}

static void errors__name_the_node(void **state)
{
	(void)state;
	assert_system_refused("nodes[2].builders[0].slots=0",
			      "x.json: nodes[2].builders[0].slots: 0 is out of range 1..65536");
	assert_system_refused("nodes[1].sources=1", "x.json: nodes[1].sources: unknown key");
	assert_system_refused("nodes[1].prts=[]",
			      "x.json: nodes[1].prts: unknown key, did you mean \"ports\"?");
	assert_system_refused("nodes[1].port={}", "x.json: nodes[1].port: needs one port in "
						  "`ports` of the file, there are 0");
	assert_system_refused("nodes[1]=3", "x.json: nodes[1]: expected an object, found a number");
	assert_system_refused("nodes[3]={}", "x.json: nodes[3].name: required, but missing");
	assert_system_refused("nodes[2].manager=1",
			      "x.json: nodes[2].manager: expected true or false, found a number");
	assert_system_refused("nodes[2].name=c.d", "x.json: nodes[2].name: \"c.d\" has a character "
						   "outside A-Z a-z 0-9 _ -");
	assert_system_refused("nodes[1].generators[0].port=x",
			      "x.json: nodes[1].generators[0].port: no port is called \"x\"");
	assert_system_refused("writers=[{\"name\": \"w\"}]",
			      "x.json: node b: writers[0].name: without builders there is nothing "
			      "to write");
	assert_system_refused("builders[1].name=b0",
			      "x.json: node a: builders[1].name: \"b0\" is the name of builders[0] "
			      "already");
	assert_system_refused("nodes={}",
			      "x.json: nodes: expected a list of objects, found an object");
	assert_system_refused("nodes=[]", "x.json: nodes: at least one element is needed");
	// what no node uses is checked all the same
	assert_system_refused("groups=[{}]", "x.json: groups[0].name: required, but missing");
}

static void keys__needed_or_not_with_nodes(void **state)
{
	(void)state;
	assert_refused("event_manager={}", "x.json: event_manager: is of use with nodes only");
	assert_text_refused("{\"sources\": {\"ids\": [1]}}",
			    "x.json: ports: required, but missing");
	assert_system_refused("nodes[2]={\"name\": \"c\"}",
			      "x.json: nodes[2].ports: required, but missing");
}

static void name__of_a_node_fits_behind_the_systems(void **state)
{
	(void)state;
	config_free(load_node("a", ALL("name=abcdefghijklmnopqrstuvwxyzabc")));
	assert_system_refused(
	    "name=abcdefghijklmnopqrstuvwxyzabcd",
	    "x.json: nodes[0].name: \"abcdefghijklmnopqrstuvwxyzabcd-a\", behind the "
	    "name of the system, has 32 characters, at most 31 are allowed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node__has_what_the_file_says_for_all),
		cmocka_unit_test(node__puts_its_own_keys_in_the_place_of_the_files),
		cmocka_unit_test(node__may_have_each_key_of_its_own),
		cmocka_unit_test(cluster__is_the_same_on_all_nodes),
		cmocka_unit_test(cluster__knows_addresses),
		cmocka_unit_test(cluster__numbers_builders_through_the_nodes),
		cmocka_unit_test(cluster__lists_sources_by_node),
		cmocka_unit_test(node__is_chosen_by_its_name),
		cmocka_unit_test(nodes__may_be_1024),
		cmocka_unit_test(roles__of_a_node),
		cmocka_unit_test(lcores__hold_the_roles_of_their_node),
		cmocka_unit_test(errors__name_the_node),
		cmocka_unit_test(keys__needed_or_not_with_nodes),
		cmocka_unit_test(name__of_a_node_fits_behind_the_systems),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
