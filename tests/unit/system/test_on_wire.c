// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "config/config.h"
#include "system/on_wire.h"
#include "wire/mep.h"

// Ethernet 14, preamble, FCS and gap 24, IPv4 and UDP 28, RE 20.
#define OVERHEAD 86u
// Of control messages: Ethernet 14 and 24, IPv4 and UDP 28, header and CRC 68.
#define FRAME 134u

// A manager of MTU 1500 and 4 nodes of MTU 9000 with a source each, all by UDP.
static struct config *system_of_four(void)
{
	struct config *config = calloc(1, sizeof(*config));

	assert_non_null(config);
	config->transport.kind = CONFIG_TRANSPORT_UDP;
	config->sources.n_expected = 4;
	config->cluster.n_sources = 4;
	config->cluster.n_nodes = 5;
	config->cluster.nodes = calloc(5, sizeof(*config->cluster.nodes));
	assert_non_null(config->cluster.nodes);
	config->cluster.nodes[0].mtu = 1500;
	for (unsigned i = 1; i < 5; i++) {
		config->cluster.nodes[i].mtu = 9000;
		config->cluster.nodes[i].n_sources = 1;
	}
	return config;
}

static void make(struct on_wire *wire, const struct config *config)
{
	const struct on_wire_parameters parameters = config_on_wire_parameters(config);

	on_wire_make(wire, &parameters);
}

static uint32_t share(const struct config *config, unsigned to, unsigned sender, uint32_t rate)
{
	const struct cluster_parameters parameters = config_cluster_parameters(config);

	return cluster_share(&parameters, to, sender, rate);
}

static uint64_t mep_of(uint64_t block)
{
	return mep_header_size(4, MEP_DEFAULT_ALIGN) + 4 * block;
}

static void bytes__count_each_segment(void **state)
{
	struct config *config = system_of_four();
	struct on_wire wire;

	(void)state;
	make(&wire, config);
	assert_int_equal(on_wire_bytes(&wire, mep_of(1000), 0), 4 * (1000 + OVERHEAD));
	assert_int_equal(on_wire_bytes(&wire, mep_of(8952), 0), 4 * (8952 + OVERHEAD));
	assert_int_equal(on_wire_bytes(&wire, mep_of(8953), 0), 4 * (8953 + 2 * OVERHEAD));
	config_free(config);
}

static void bytes__of_the_own_node_are_not_counted(void **state)
{
	struct config *config = system_of_four();
	struct on_wire wire;

	(void)state;
	make(&wire, config);
	assert_int_equal(on_wire_bytes(&wire, mep_of(1000), 1), 3 * (1000 + OVERHEAD));
	assert_int_equal(on_wire_bytes(&wire, mep_of(1000), 4), 0);
	config_free(config);
}

static void bytes__go_by_the_smallest_mtu_of_those_that_send(void **state)
{
	struct config *config = system_of_four();
	struct on_wire wire;

	(void)state;
	config->cluster.nodes[3].mtu = 1500;
	make(&wire, config);
	assert_int_equal(on_wire_bytes(&wire, mep_of(1453), 0), 4 * (1453 + 2 * OVERHEAD));
	config_free(config);
}

static void bytes__with_other_headers(void **state)
{
	struct config *config = system_of_four();
	struct on_wire wire;

	(void)state;
	config->transport.kind = CONFIG_TRANSPORT_ETH;
	make(&wire, config);
	assert_int_equal(on_wire_bytes(&wire, mep_of(1000), 0), 4 * (1000 + OVERHEAD - 28));
	config->cluster.nodes[2].load_balancer = true;
	make(&wire, config);
	assert_int_equal(on_wire_bytes(&wire, mep_of(1000), 0), 4 * (1000 + OVERHEAD - 28 + 16));
	// A VLAN tag takes of the link, not of the MTU.
	config->cluster.nodes[2].tagged = true;
	make(&wire, config);
	assert_int_equal(on_wire_bytes(&wire, mep_of(9000 - 20 - 16), 0),
			 4 * (9000 - 20 - 16 + OVERHEAD - 28 + 16 + 4));
	config_free(config);
}

static void bytes__where_boards_send(void **state)
{
	struct config *config = system_of_four();
	struct on_wire wire;

	(void)state;
	config->cluster.n_sources = 0;
	for (unsigned i = 0; i < 5; i++)
		config->cluster.nodes[i].n_sources = 0;
	make(&wire, config);
	assert_int_equal(on_wire_bytes(&wire, mep_of(1453), 0), 4 * (1453 + 2 * OVERHEAD));
	config_free(config);
}

// Frames with the grant, progress, a release and nothing; then also of each node that sends.
static void bytes__of_control_messages(void **state)
{
	struct config *config = system_of_four();
	struct on_wire wire;

	(void)state;
	config->event_manager.sched.mode = SCHED_PUSH;
	make(&wire, config);
	assert_int_equal(on_wire_bytes(&wire, mep_of(1000), 0),
			 4 * (1000 + OVERHEAD) + 4 * FRAME + 64 + 32 + 16);
	config->event_manager.key_file[0] = 'k';
	make(&wire, config);
	assert_int_equal(on_wire_bytes(&wire, mep_of(1000), 0),
			 4 * (1000 + OVERHEAD) + 4 * (FRAME + 20) + 64 + 32 + 16);
	config->event_manager.key_file[0] = '\0';
	config->event_manager.sched.mode = SCHED_PULL;
	make(&wire, config);
	assert_int_equal(on_wire_bytes(&wire, mep_of(1000), 1),
			 3 * (1000 + OVERHEAD) + 4 * FRAME + 64 + 32 + 16 + 4 * (FRAME + 32));
	assert_int_equal(on_wire_bytes(&wire, mep_of(1000), 4), 0);
	assert_int_equal(on_wire_bytes(&wire, 0, 0), 0);
	config_free(config);
}

static void bytes__of_nothing(void **state)
{
	struct config *config = system_of_four();
	struct on_wire wire;

	(void)state;
	make(&wire, config);
	assert_int_equal(on_wire_bytes(&wire, 0, 0), 0);
	assert_int_equal(on_wire_bytes(&wire, 5, 0), 0);
	config_free(config);
}

// Nodes 1 to 4 have 1, 1, 1 and 5 sources.
static void share__goes_by_the_sources_of_a_node(void **state)
{
	struct config *config = system_of_four();

	(void)state;
	config->event_manager.sched.shaping = SCHED_LINEAR_SHIFT;
	config->cluster.nodes[4].n_sources = 5;
	config->cluster.n_sources = 8;
	assert_int_equal(share(config, 0, 1, 8000), 1000);
	assert_int_equal(share(config, 0, 4, 8000), 5000);
	// The builder's own node sends nothing over its link.
	assert_int_equal(share(config, 4, 1, 9000), 3000);
	assert_int_equal(share(config, 3, 4, 7000), 5000);
	assert_int_equal(share(config, 0, 1, 0), 0); // any
	assert_int_equal(share(config, 0, 1, 3), 1);
	assert_int_equal(share(config, 0, 4, UINT32_MAX), UINT64_C(5) * UINT32_MAX / 8);
	config->event_manager.sched.shaping = SCHED_TIMED_SHIFT;
	assert_int_equal(share(config, 0, 1, 8000), 8000);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes__count_each_segment),
		cmocka_unit_test(bytes__of_the_own_node_are_not_counted),
		cmocka_unit_test(bytes__go_by_the_smallest_mtu_of_those_that_send),
		cmocka_unit_test(bytes__with_other_headers),
		cmocka_unit_test(bytes__where_boards_send),
		cmocka_unit_test(bytes__of_control_messages),
		cmocka_unit_test(bytes__of_nothing),
		cmocka_unit_test(share__goes_by_the_sources_of_a_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
