// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The port of the file of which nodes replace some keys (nodes[].port).
#include <string.h>

#include "helpers.h"

static const char text[] =
    "{\"name\": \"sys\", \"sources\": {\"ids\": [\"1-2\"]},"
    " \"ports\": [{\"profile\": \"af_packet\", \"device\": \"eth1\", \"mtu\": 9000,"
    " \"address\": \"10.0.0.1/24\", \"vlan\": 7,"
    " \"flow_control\": {\"mode\": \"soft\", \"cable\": 30}}],"
    " \"nodes\": [{\"name\": \"a\", \"manager\": true, \"generators\": [{}]},"
    " {\"name\": \"b\", \"builders\": [{}],"
    " \"port\": {\"address\": \"10.0.0.2/25\", \"device\": \"eth2\"}}]}";

static int parse(struct config **config, const char *node, const char *const *overrides, unsigned n,
		 char *error)
{
	return config_parse(config, text, strlen(text), "x.json", node, overrides, n, error);
}

static struct config *load(const char *node, const char *override)
{
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	if (parse(&config, node, &override, override != NULL, error))
		fail_msg("%s", error);
	return config;
}

static void refused(const char *override, const char *expected)
{
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	assert_int_equal(parse(&config, "a", &override, 1, error), -1);
	assert_null(config);
	assert_string_equal(error, expected);
}

static void port__keeps_what_the_node_has_not(void **state)
{
	struct config *config = load("b", NULL);
	const struct port_settings *port = &config->ports[0];

	(void)state;
	assert_int_equal(config->n_ports, 1);
	assert_string_equal(port->name, "wire");
	assert_string_equal(port->profile, "af_packet");
	assert_int_equal(port->mtu, 9000);
	assert_int_equal(port->vlan, 7);
	assert_int_equal(port->flow_control.cable, 30);
	config_free(config);
}

static void port__has_the_keys_of_the_node(void **state)
{
	struct config *config = load("b", NULL);
	const struct port_settings *port = &config->ports[0];

	(void)state;
	assert_string_equal(port->device, "eth2");
	assert_int_equal(port->address, 0x0a000002);
	assert_int_equal(port->prefix_length, 25);
	assert_int_equal(config->cluster.nodes[0].address, 0x0a000001);
	assert_int_equal(config->cluster.nodes[1].address, 0x0a000002);
	config_free(config);
}

// A text that is shorter than the file's leaves nothing of that, and objects are not merged.
static void port__key_is_replaced_as_a_whole(void **state)
{
	struct config *config = load("b", "nodes[1].port.device=x");

	(void)state;
	assert_string_equal(config->ports[0].device, "x");
	assert_int_equal(config->ports[0].device[2], 0);
	config_free(config);
	config = load("b", "nodes[1].port.flow_control={\"mode\": \"soft\"}");
	assert_int_equal(config->ports[0].flow_control.mode, FLOW_CONTROL_SOFT);
	assert_int_equal(config->ports[0].flow_control.cable, 100);
	config_free(config);
}

static void port__may_be_changed_in_the_file(void **state)
{
	struct config *config = load("b", "ports[0].mtu=1500");

	(void)state;
	assert_int_equal(config->ports[0].mtu, 1500);
	config_free(config);
}

static void port__needs_one_in_the_file(void **state)
{
	(void)state;
	refused("ports=[]", "x.json: ports: at least one element is needed");
	refused("nodes[1].ports=[{\"profile\": \"ring\"}]",
		"x.json: nodes[1].port: the node has ports of its own: state it there");
}

static void port__has_known_keys(void **state)
{
	(void)state;
	refused("nodes[1].port.mtuu=1", "x.json: nodes[1].port.mtuu: unknown key, did you mean "
					"\"mtu\"?");
	refused("nodes[1].port=4", "x.json: nodes[1].port: expected an object, found a number");
	refused("nodes[1].port.mtu=7", "x.json: nodes[1].port.mtu: 7 is out of range 64B..65500B");
}

// Rules that concern a key of the node name that key, and those of the file's key the file's.
static void port__in_messages_is_the_node_s(void **state)
{
	(void)state;
	refused("nodes[1].port.address=10.0.0.1/24",
		"x.json: nodes[1].port.address: is that of node a already");
	refused("nodes[1].port.mtu=1000", "x.json: nodes[1].port.mtu: 1000, control messages of a "
					  "system need at least 1256");
	refused("ports[0].mtu=1000",
		"x.json: node a: ports[0].mtu: 1000, control messages of a system "
		"need at least 1256");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port__keeps_what_the_node_has_not),
		cmocka_unit_test(port__has_the_keys_of_the_node),
		cmocka_unit_test(port__key_is_replaced_as_a_whole),
		cmocka_unit_test(port__may_be_changed_in_the_file),
		cmocka_unit_test(port__needs_one_in_the_file),
		cmocka_unit_test(port__has_known_keys),
		cmocka_unit_test(port__in_messages_is_the_node_s),
	};

	return cmocka_run_group_tests_name("own_port", tests, NULL, NULL);
}
