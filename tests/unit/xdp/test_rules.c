// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "port/xdp.h"
#include "port/xdp_interface.h"

#define LOOPBACK 0x7f000001u // 127.0.0.1

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

static void assert_range(const struct steer_range *range, unsigned first, unsigned count,
			 unsigned segments)
{
	assert_int_equal(range->first, first);
	assert_int_equal(range->count, count);
	assert_int_equal(range->segments, segments);
}

static struct xdp_rules rules_of(const struct config_port *port)
{
	struct xdp_rules rules;

	xdp_rules_make(&rules, config, port, 1536);
	assert_int_equal(rules.largest_frame, 1536);
	return rules;
}

static void udp__ports_and_sources_of_the_configuration(void **state)
{
	struct config_port port = { .device = "none" };
	struct xdp_rules rules;

	(void)state;
	config->transport = (struct config_transport){ .kind = CONFIG_TRANSPORT_UDP,
						       .udp_port = 19522,
						       .udp_ports = 4,
						       .ether_type = 0x88b5 };
	config->sources.ids[0] = 7;
	config->sources.ids[1] = 9;
	config->sources.n_ids = 2;
	rules = rules_of(&port);
	assert_int_equal(rules.n_ranges, 1);
	assert_range(&rules.ranges[0], 19522, 4, 1);
	assert_int_equal(rules.ether_type, 0);
	assert_int_equal(rules.own_address, 0);
	assert_int_equal(rules.n_ids, 2);
	assert_int_equal(rules.ids[1], 9);
}

static void eth__no_udp_port(void **state)
{
	struct config_port port = { .device = "none" };
	struct xdp_rules rules;

	(void)state;
	config->transport = (struct config_transport){ .kind = CONFIG_TRANSPORT_ETH,
						       .udp_port = 19522,
						       .udp_ports = 4,
						       .ether_type = 0x88b5 };
	rules = rules_of(&port);
	assert_int_equal(rules.n_ranges, 0);
	assert_int_equal(rules.ether_type, 0x88b5);
}

static void roce__its_port_and_the_managers(void **state)
{
	struct config_port port = { .device = "none" };
	struct xdp_rules rules;

	(void)state;
	config->transport.kind = CONFIG_TRANSPORT_ROCE;
	config->roce.udp_port = 4791;
	rules = rules_of(&port);
	assert_int_equal(rules.n_ranges, 1);
	assert_range(&rules.ranges[0], 4791, 1, 0);
	config->roce.connection = ROCE_CONNECTION_FEROCE;
	rules = rules_of(&port);
	assert_int_equal(rules.n_ranges, 2);
	assert_range(&rules.ranges[1], 0x4321, 1, 0);
}

static void cluster__its_control_port(void **state)
{
	struct config_port port = { .device = "none" };
	struct xdp_rules rules;

	(void)state;
	config->transport = (struct config_transport){ .kind = CONFIG_TRANSPORT_UDP,
						       .udp_port = 1,
						       .udp_ports = 1 };
	config->event_manager.control_port = 20000;
	assert_int_equal(rules_of(&port).n_ranges, 1);
	config->cluster.n_nodes = 2;
	rules = rules_of(&port);
	assert_int_equal(rules.n_ranges, 2);
	assert_range(&rules.ranges[1], 20000, 1, 0);
}

static void address__is_the_kernels_if_it_has_it(void **state)
{
	struct config_port port = { .device = "lo", .has_address = true, .address = LOOPBACK };

	(void)state;
	if (!interface_has_address("lo", LOOPBACK))
		skip(); // no loopback address: a namespace without networks
	assert_int_equal(rules_of(&port).own_address, 0);
	port.address = LOOPBACK + 1;
	assert_int_equal(rules_of(&port).own_address, LOOPBACK + 1);
	port.has_address = false;
	assert_int_equal(rules_of(&port).own_address, 0);
}

static void interface__that_is_not_there(void **state)
{
	uint8_t mac[6];

	(void)state;
	assert_int_equal(interface_mtu("no-such-if"), 0);
	assert_true(interface_mtu("lo") > 0);
	assert_int_equal(interface_rx_queues("no-such-if"), 1);
	assert_int_equal(interface_rx_queues("lo"), 1);
	assert_false(interface_has_address("no-such-if", LOOPBACK));
	assert_false(interface_neighbour("no-such-if", LOOPBACK, mac));
}

static void causes__have_names(void **state)
{
	(void)state;
	for (unsigned cause = 0; cause < STEER_N_CAUSES; cause++)
		assert_string_not_equal(xdp_cause_name(cause), "unknown");
	assert_string_equal(xdp_cause_name(STEER_N_CAUSES), "unknown");
	assert_string_equal(xdp_cause_name(STEER_TOO_LONG), "too_long");
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
		cmocka_unit_test_setup_teardown(address__is_the_kernels_if_it_has_it, make_config,
						free_config),
		cmocka_unit_test(interface__that_is_not_there),
		cmocka_unit_test(causes__have_names),
	};

	return cmocka_run_group_tests_name("xdp rules", tests, NULL, NULL);
}
