// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/xdp.h"
#include "port/xdp_interface.h"

#define LOOPBACK 0x7f000001u // 127.0.0.1

static uint32_t own_address_of(const struct port_settings *port)
{
	struct xdp_rules rules = { 0 };

	xdp_rules_add_addresses(&rules, port);
	return rules.own_address;
}

static void address__is_the_kernels_if_it_has_it(void **state)
{
	struct port_settings port = { .device = "lo", .has_address = true, .address = LOOPBACK };

	(void)state;
	if (!interface_has_address("lo", LOOPBACK))
		skip(); // no loopback address: a namespace without networks
	assert_int_equal(own_address_of(&port), 0);
	port.address = LOOPBACK + 1;
	assert_int_equal(own_address_of(&port), LOOPBACK + 1);
	port.has_address = false;
	assert_int_equal(own_address_of(&port), 0);
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
		cmocka_unit_test(address__is_the_kernels_if_it_has_it),
		cmocka_unit_test(interface__that_is_not_there),
		cmocka_unit_test(causes__have_names),
	};

	return cmocka_run_group_tests_name("xdp rules", tests, NULL, NULL);
}
