// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "appliance/parts.h"

static struct config *config;

static int make_config(void **state)
{
	(void)state;
	config = calloc(1, sizeof(*config));
	return config != NULL ? 0 : -1;
}

static int free_config(void **state)
{
	(void)state;
	free(config);
	return 0;
}

static void assert_range(const struct port_udp_range *range, unsigned first, unsigned count,
			 bool segments)
{
	assert_int_equal(range->first, first);
	assert_int_equal(range->count, count);
	assert_int_equal(range->segments, segments);
}

static struct port_traffic traffic_of_config(void)
{
	struct port_traffic traffic;

	traffic_make(&traffic, config, 0);
	return traffic;
}

static void udp__ports_and_sources_of_the_configuration(void **state)
{
	struct port_traffic traffic;

	(void)state;
	config->transport = (struct config_transport){ .kind = CONFIG_TRANSPORT_UDP,
						       .udp_port = 19522,
						       .udp_ports = 4,
						       .ether_type = 0x88b5 };
	config->sources.ids[0] = 7;
	config->sources.ids[1] = 9;
	config->sources.n_ids = 2;
	traffic = traffic_of_config();
	assert_int_equal(traffic.n_ranges, 1);
	assert_range(&traffic.ranges[0], 19522, 4, true);
	assert_int_equal(traffic.ether_type, 0);
	assert_int_equal(traffic.n_ids, 2);
	assert_int_equal(traffic.ids[1], 9);
}

static void eth__no_udp_port(void **state)
{
	struct port_traffic traffic;

	(void)state;
	config->transport = (struct config_transport){ .kind = CONFIG_TRANSPORT_ETH,
						       .udp_port = 19522,
						       .udp_ports = 4,
						       .ether_type = 0x88b5 };
	traffic = traffic_of_config();
	assert_int_equal(traffic.n_ranges, 0);
	assert_int_equal(traffic.ether_type, 0x88b5);
}

static void roce__its_port_and_the_managers(void **state)
{
	struct port_traffic traffic;

	(void)state;
	config->transport.kind = CONFIG_TRANSPORT_ROCE;
	config->roce.udp_port = 4791;
	traffic = traffic_of_config();
	assert_int_equal(traffic.n_ranges, 1);
	assert_range(&traffic.ranges[0], 4791, 1, false);
	config->roce.connection = ROCE_CONNECTION_FEROCE;
	traffic = traffic_of_config();
	assert_int_equal(traffic.n_ranges, 2);
	assert_range(&traffic.ranges[1], 0x4321, 1, false);
}

static void cluster__its_control_port(void **state)
{
	struct port_traffic traffic;

	(void)state;
	config->transport = (struct config_transport){ .kind = CONFIG_TRANSPORT_UDP,
						       .udp_port = 1,
						       .udp_ports = 1 };
	config->event_manager.control_port = 20000;
	assert_int_equal(traffic_of_config().n_ranges, 1);
	config->cluster.n_nodes = 2;
	config->n_builders = 1;
	traffic = traffic_of_config();
	assert_int_equal(traffic.n_ranges, 2);
	assert_range(&traffic.ranges[1], 20000, 1, false);
}

// Each builder of a node has a port of its own, however many transport.udp_ports there are.
static void cluster__a_port_per_builder(void **state)
{
	struct port_traffic traffic;

	(void)state;
	config->transport = (struct config_transport){ .kind = CONFIG_TRANSPORT_UDP,
						       .udp_port = 100,
						       .udp_ports = 1 };
	config->cluster.n_nodes = 2;
	config->n_builders = 3;
	traffic = traffic_of_config();
	assert_range(&traffic.ranges[0], 100, 3, true);
	config->n_builders = 0; // a node that only sends
	assert_int_equal(traffic_of_config().n_ranges, 1);
}

// Port "boards" is for boards only; "wire" is the node's.
static void boards__segments_of_their_port(void **state)
{
	struct config_generator *generator = &config->generators[0];
	struct port_traffic traffic;

	(void)state;
	config->transport.kind = CONFIG_TRANSPORT_ETH;
	config->transport.ether_type = 0x88b5;
	config->event_manager.control_port = 20000;
	config->cluster.n_nodes = 2;
	config->n_ports = 2;
	strcpy(config->ports[0].name, "boards");
	strcpy(config->ports[1].name, "wire");
	config->n_generators = 1;
	*generator = (struct config_generator){ .kind = GENERATOR_PORT, .port = "wire" };
	generator->listen = (struct config_listen){
		.port = "boards",
		.udp_port = 300,
		.udp_ports = 2,
	};
	traffic = traffic_of_config();
	assert_int_equal(traffic.n_ranges, 1);
	assert_range(&traffic.ranges[0], 300, 2, true);
	assert_int_equal(traffic.ether_type, 0);
	traffic_make(&traffic, config, 1);
	assert_int_equal(traffic.n_ranges, 1);
	assert_range(&traffic.ranges[0], 20000, 1, false);
	assert_int_equal(traffic.ether_type, 0x88b5);
	generator->listen.has_ether_type = true;
	generator->listen.ether_type = 0x88b6;
	traffic = traffic_of_config();
	assert_int_equal(traffic.n_ranges, 0);
	assert_int_equal(traffic.ether_type, 0x88b6);
	generator->listen.roce = true;
	config->roce.udp_port = 4791;
	traffic = traffic_of_config();
	assert_int_equal(traffic.n_ranges, 1);
	assert_range(&traffic.ranges[0], 4791, 1, false);
	assert_int_equal(traffic.ether_type, 0);
	generator->listen.roce = false;
	generator->listen.port[0] = '\0'; // the boards send to "wire"
	traffic_make(&traffic, config, 1);
	assert_range(&traffic.ranges[0], 20000, 1, false);
	assert_int_equal(traffic.ether_type, 0x88b6);
}

static void control__priority_and_dscp(void **state)
{
	(void)state;
	config->event_manager.control_priority = 6;
	config->event_manager.control_dscp = 48;
	assert_int_equal(traffic_of_config().control_priority, 6);
	assert_int_equal(traffic_of_config().control_dscp, 48);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(udp__ports_and_sources_of_the_configuration,
						make_config, free_config),
		cmocka_unit_test_setup_teardown(eth__no_udp_port, make_config, free_config),
		cmocka_unit_test_setup_teardown(roce__its_port_and_the_managers, make_config,
						free_config),
		cmocka_unit_test_setup_teardown(cluster__its_control_port, make_config,
						free_config),
		cmocka_unit_test_setup_teardown(boards__segments_of_their_port, make_config,
						free_config),
		cmocka_unit_test_setup_teardown(cluster__a_port_per_builder, make_config,
						free_config),
		cmocka_unit_test_setup_teardown(control__priority_and_dscp, make_config,
						free_config),
	};

	return cmocka_run_group_tests_name("traffic", tests, NULL, NULL);
}
