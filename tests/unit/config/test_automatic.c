// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What "auto" becomes: the MTU and the rate of a port's interface, the size of slots, the depth of
// links.
#include <string.h>

#include "helpers.h"

#define ON(device, keys)                                                                         \
	"ports[0]={\"name\": \"wire\", \"profile\": \"af_packet\", \"device\": \"" device "\", " \
	"\"address\": \"10.0.0.1/24\", " keys "}"

static struct config *load_all(const char *const *overrides, unsigned n)
{
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	if (config_parse(&config, base_text, strlen(base_text), "x.json", NULL, overrides, n,
			 error))
		fail_msg("%s", error);
	return config;
}

// The loopback interface has an MTU of 64 KiB, and no rate.
static void mtu__is_that_of_the_interface(void **state)
{
	struct config *config = load_with(ON("lo", "\"mtu\": \"auto\""));

	(void)state;
	assert_int_equal(config->ports[0].mtu, PORT_MTU_MOST);
	assert_true(config->ports[0].mtu_is_auto);
	config_free(config);
}

static void mtu__without_an_interface_is_usual(void **state)
{
	struct config *config = load_with(ON("no-such-if", "\"mtu\": \"auto\""));

	(void)state;
	assert_int_equal(config->ports[0].mtu, 1500);
	assert_false(config->ports[0].mtu_is_auto);
	config_free(config);
}

static void mtu__of_a_truncated_name_is_not_found(void **state)
{
	struct config *config =
	    load_with(ON("lo/../../../../../class/net/lo/device", "\"mtu\": \"auto\""));

	(void)state;
	assert_false(config->ports[0].mtu_is_auto);
	config_free(config);
}

static void mtu__that_the_file_states_stays(void **state)
{
	struct config *config = load_with(ON("lo", "\"mtu\": 9000"));

	(void)state;
	assert_int_equal(config->ports[0].mtu, 9000);
	assert_false(config->ports[0].mtu_is_auto);
	config_free(config);
}

static void link_rate__auto_may_be_unknown(void **state)
{
	struct config *config = load_with(ON("lo", "\"link_rate\": \"auto\""));

	(void)state;
	assert_int_equal(config->ports[0].link_rate, 0);
	assert_int_equal(port_settings_rate(&config->ports[0]), 0);
	assert_true(config->ports[0].link_rate_is_auto);
	config_free(config);
	config = load_with(ON("lo", "\"link_rate\": \"1Gb/s\""));
	assert_int_equal(port_settings_rate(&config->ports[0]), 1000000000);
	assert_false(config->ports[0].link_rate_is_auto);
	config_free(config);
}

// The rate of a node's link is not that of an interface where the file is read.
static void link_rate__of_a_node_is_reported_by_it(void **state)
{
	struct config *config = load_node("a", ALL("nodes[2].ports[0].link_rate=auto"));

	(void)state;
	assert_false(config->cluster.nodes[0].reports_link_rate);
	assert_true(config->cluster.nodes[2].reports_link_rate);
	assert_int_equal(config->cluster.nodes[2].link_rate, 0);
	assert_true(cluster_link_of(&config->cluster, 2).is_reported);
	assert_false(cluster_link_of(&config->cluster, 0).is_reported);
	config_free(config);
}

static void slot_size__without_a_hint_is_usual(void **state)
{
	struct config *config = load_with("builders[0].slot_size=auto");

	(void)state;
	assert_int_equal(config->builders[0].slot_size, 4 << 20);
	assert_false(config->builders[0].slot_size_is_auto);
	config_free(config);
	config = load_with("sources.packing=100");
	assert_int_equal(config->builders[0].slot_size, 4 << 20);
	config_free(config);
}

// 8 MFPs of 500 fragments of 101 bytes: 20 bytes of header, 500 types, 1000 bytes of sizes, and
// 104 bytes per fragment, which is 428160 bytes; the header of a MEP of 8 is 96 bytes at most.
static void slot_size__has_room_for_an_event(void **state)
{
	const char *const hints[] = { "sources.packing=500", "sources.fragment_size=101" };
	struct config *config = load_all(hints, 2);

	(void)state;
	assert_true(config->builders[0].slot_size_is_auto);
	assert_true(config->builders[0].slot_size >= 428160 * 5 / 4);
	assert_true(config->builders[0].slot_size <= (428160 + 96) * 5 / 4 + 4096);
	assert_int_equal(config->builders[0].slot_size % 4096, 0);
	config_free(config);
}

static void slot_size__that_the_file_states_stays(void **state)
{
	const char *const hints[] = { "builders[0].slot_size=8KiB",
				      "sources.fragment_size=100000" };
	struct config *config = load_all(hints, 2);

	(void)state;
	assert_int_equal(config->builders[0].slot_size, 8192);
	assert_false(config->builders[0].slot_size_is_auto);
	config_free(config);
}

static void slot_size__of_a_node_is_known_to_all(void **state)
{
	struct config *config = load_node("b", ALL("sources.fragment_size=100000"));
	const struct cluster_system *cluster = &config->cluster;

	(void)state;
	assert_true(cluster->builders[2].slot_size >= 4 * 100000 * 5 / 4);
	assert_true(cluster->builders[2].slot_size < 4 << 20);
	assert_int_equal(cluster->builders[0].slot_size, cluster->builders[2].slot_size);
	config_free(config);
}

static void slot_size__beyond_the_largest_is_refused(void **state)
{
	char error[CONFIG_ERROR_SIZE] = "";
	const char *const hints[] = { "sources.packing=1000", "sources.fragment_size=1MiB" };
	struct config *config;

	(void)state;
	assert_int_equal(
	    config_parse(&config, base_text, strlen(base_text), "x.json", NULL, hints, 2, error),
	    -1);
	assert_string_equal(error, "x.json: builders[0].slot_size: auto is 9.8 GiB for 8 sources, "
				   "packing 1000 and fragment_size 1048576: at most 4 GiB are "
				   "possible");
}

// --- links.depth ---

static void assert_depth(const char *const *overrides, uint32_t depth)
{
	struct config *config = load_node("c", overrides);

	assert_int_equal(config->links.depth, depth);
	config_free(config);
}

#define NODE_C(slots, mtu)                                                              \
	"nodes[2].builders=[{\"name\": \"b\", \"slots\": " slots ", "                   \
	"\"slot_size\": \"512KiB\"}]",                                                  \
	    "nodes[2].ports=[{\"name\": \"wire\", \"profile\": \"ring\", \"mtu\": " mtu \
	    ", \"address\": \"10.0.0.3/24\"}]"

static void depth__has_room_for_what_slots_hold(void **state)
{
	(void)state;
	// An event has 524288 / 1420 packets and a part of one of each of 4 sources: 373.
	assert_depth(ALL(NODE_C("20", "1500")), 8192);
	assert_depth(ALL(NODE_C("22", "1500")), 16384);
	assert_depth(ALL(NODE_C("10", "1500")), 4096);
	assert_depth(ALL(NODE_C("64", "9000")), 4096);
}

static void depth__is_limited_by_the_bytes_of_the_packets(void **state)
{
	(void)state;
	assert_depth(ALL(NODE_C("1024", "1500")), 16384); // 32 MiB / 1500 = 22369
	assert_depth(ALL(NODE_C("1024", "9000")), 4096);
	assert_depth(ALL(NODE_C("1024", "65000")), 1024);
}

static void depth__without_grants_is_usual(void **state)
{
	struct config *config = load_with("builders[0].slots=1024");

	(void)state;
	assert_int_equal(config->links.depth, 4096);
	config_free(config);
	assert_depth(ALL(NODE_C("1024", "1500"), "event_manager.mode=static"), 4096);
}

static void depth__that_the_file_states_stays(void **state)
{
	(void)state;
	assert_depth(ALL(NODE_C("1024", "1500"), "links.depth=64"), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mtu__is_that_of_the_interface),
		cmocka_unit_test(mtu__without_an_interface_is_usual),
		cmocka_unit_test(mtu__of_a_truncated_name_is_not_found),
		cmocka_unit_test(mtu__that_the_file_states_stays),
		cmocka_unit_test(link_rate__auto_may_be_unknown),
		cmocka_unit_test(link_rate__of_a_node_is_reported_by_it),
		cmocka_unit_test(slot_size__without_a_hint_is_usual),
		cmocka_unit_test(slot_size__has_room_for_an_event),
		cmocka_unit_test(slot_size__that_the_file_states_stays),
		cmocka_unit_test(slot_size__of_a_node_is_known_to_all),
		cmocka_unit_test(slot_size__beyond_the_largest_is_refused),
		cmocka_unit_test(depth__has_room_for_what_slots_hold),
		cmocka_unit_test(depth__is_limited_by_the_bytes_of_the_packets),
		cmocka_unit_test(depth__without_grants_is_usual),
		cmocka_unit_test(depth__that_the_file_states_stays),
	};

	return cmocka_run_group_tests_name("automatic", tests, NULL, NULL);
}
