// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "port/af_xdp.h"
#include "port/interface.h"
#include "port/xdp.h"

#define LOOPBACK 0x7f000001u // 127.0.0.1

static uint32_t own_address_of(const struct port_settings *port)
{
	struct xdp_rules rules = { 0 };

	af_xdp_add_addresses(&rules, port);
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

static void address6__is_the_kernels_if_it_has_it(void **state)
{
	struct port_settings port = { .device = "lo", .has_address6 = true };
	struct xdp_rules rules = { 0 };

	(void)state;
	port.address6[15] = 1; // ::1
	if (!interface_has_address6("lo", port.address6))
		skip(); // no loopback address: a namespace without networks, or without IPv6
	af_xdp_add_addresses(&rules, &port);
	assert_false(rules.has_own_address6);
	port.address6[15] = 2;
	af_xdp_add_addresses(&rules, &port);
	assert_true(rules.has_own_address6);
	assert_memory_equal(rules.own_address6, port.address6, 16);
}

// getifaddrs() gives an IPv4 address with a label that label in the place of the interface's name.
static struct sockaddr_in labelled = { .sin_family = AF_INET };
static char label[IF_NAMESIZE];
static struct ifaddrs entry = { .ifa_name = label, .ifa_addr = (struct sockaddr *)&labelled };

int __wrap_getifaddrs(struct ifaddrs **list);
int __real_getifaddrs(struct ifaddrs **list);
void __wrap_freeifaddrs(struct ifaddrs *list);
void __real_freeifaddrs(struct ifaddrs *list);

int __wrap_getifaddrs(struct ifaddrs **list)
{
	if (label[0] == '\0')
		return __real_getifaddrs(list);
	*list = &entry;
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *list)
{
	if (list != &entry)
		__real_freeifaddrs(list);
}

static bool has_labelled(const char *text)
{
	bool found;

	snprintf(label, sizeof(label), "%s", text);
	labelled.sin_addr.s_addr = htonl(LOOPBACK + 5);
	found = interface_has_address("eth1", LOOPBACK + 5);
	label[0] = '\0';
	return found;
}

static void address__with_a_label_is_the_kernels(void **state)
{
	(void)state;
	assert_true(has_labelled("eth1"));
	assert_true(has_labelled("eth1:daq"));
	assert_false(has_labelled("eth10"));
	assert_false(has_labelled("eth"));
}

static void interface__of_a_device(void **state)
{
	char name[INTERFACE_NAME_SIZE] = "";

	(void)state;
	assert_true(interface_of_device("lo", name));
	assert_string_equal(name, "lo");
	assert_false(interface_of_device("", name));
	assert_false(interface_of_device("no-such-if", name));
	assert_false(interface_of_device("ffff:ff:1f.7", name));
	assert_false(interface_of_device("../../../..", name));
	assert_false(interface_of_device("/run/memif.sock", name));
}

static void interface__that_is_not_there(void **state)
{
	uint8_t mac[6];

	(void)state;
	assert_int_equal(interface_mtu("no-such-if"), 0);
	assert_int_equal(interface_link_rate("no-such-if"), 0);
	assert_true(interface_mtu("lo") > 0);
	assert_int_equal(interface_rx_queues("no-such-if"), 1);
	assert_int_equal(interface_rx_queues("lo"), 1);
	assert_false(interface_has_address("no-such-if", LOOPBACK));
	assert_false(interface_neighbour("no-such-if", LOOPBACK, mac));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address__is_the_kernels_if_it_has_it),
		cmocka_unit_test(address6__is_the_kernels_if_it_has_it),
		cmocka_unit_test(address__with_a_label_is_the_kernels),
		cmocka_unit_test(interface__of_a_device),
		cmocka_unit_test(interface__that_is_not_there),

	};

	return cmocka_run_group_tests_name("xdp rules", tests, NULL, NULL);
}
