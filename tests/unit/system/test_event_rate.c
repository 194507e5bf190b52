// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "system/event_rate.h"

#define GIGABIT 1000000000u
#define BLOCK   (9000u - 48) // one full segment
#define WIRE    (BLOCK + 86) // Ethernet 14 and 24, IPv4 and UDP 28, RE 20
#define TARGET  0.9

#define MOST_NODES 256u

static struct cluster_system_node nodes[MOST_NODES];
static struct cluster_system_builder builders_[MOST_NODES];
static struct cluster_system system_;

// Nodes with `sources` sources each, and nodes with a builder each; all links have 1 Gb/s.
static struct event_rate_parameters make(unsigned readouts, unsigned sources, unsigned builders)
{
	memset(nodes, 0, sizeof(nodes));
	memset(builders_, 0, sizeof(builders_));
	assert_true(readouts + builders <= MOST_NODES);
	system_ = (struct cluster_system){ .n_nodes = readouts + builders,
					   .nodes = nodes,
					   .builders = builders_ };
	for (unsigned i = 0; i < system_.n_nodes; i++) {
		struct cluster_system_node *node = &system_.nodes[i];

		node->mtu = 9000;
		node->link_rate = GIGABIT;
		if (i < readouts) {
			node->n_sources = sources;
			system_.n_sources += sources;
			continue;
		}
		node->n_builders = 1;
		node->first_builder = system_.n_builders;
		system_.builders[system_.n_builders++].node = i;
	}
	return (struct event_rate_parameters){
		.wire = { .system = &system_, .transport = ON_WIRE_UDP, .mode = SCHED_STATIC },
		.target = TARGET,
		.sending = 1,
		.block = BLOCK,
	};
}

static void assert_rate(const struct event_rate_parameters *parameters, double expected)
{
	double rate = event_rate(parameters);

	if (!(fabs(rate - expected) <= expected * 1e-9))
		fail_msg("%.9g is not %.9g", rate, expected);
}

static void rate__is_that_of_the_builders_links(void **state)
{
	struct event_rate_parameters p = make(4, 2, 2);

	(void)state;
	assert_rate(&p, 2 * TARGET * GIGABIT / 8 / (8.0 * WIRE));
	system_.nodes[5].link_rate = GIGABIT / 2;
	assert_rate(&p, 1.5 * TARGET * GIGABIT / 8 / (8.0 * WIRE));
	p.sending = 0.5;
	assert_rate(&p, 0.75 * TARGET * GIGABIT / 8 / (8.0 * WIRE));
}

// Control messages of pushed events take a little of the link.
static void rate__counts_control_messages(void **state)
{
	struct event_rate_parameters p = make(1, 1, 1);
	double without = event_rate(&p);

	(void)state;
	p.wire.mode = SCHED_PUSH;
	assert_true(event_rate(&p) < without);
	assert_true(event_rate(&p) > without * WIRE / (WIRE + 1000.0));
}

static void rate__is_that_of_a_nodes_link(void **state)
{
	struct event_rate_parameters p = make(2, 1, 8);

	(void)state;
	// No node sends faster than the link of a builder, with half of its headroom.
	assert_rate(&p, (1 + TARGET) / 2 * GIGABIT / 8 / WIRE);
	system_.nodes[1].link_rate = GIGABIT / 10;
	assert_rate(&p, GIGABIT / 80.0 / WIRE);
}

// The builders of a node share its link.
static void rate__of_builders_on_one_node(void **state)
{
	struct event_rate_parameters p = make(2, 1, 1);
	double of_one = event_rate(&p);

	(void)state;
	for (unsigned n = 2; n <= 3; n++) {
		system_.nodes[2].n_builders = n;
		system_.builders[system_.n_builders++].node = 2;
		assert_rate(&p, of_one);
	}
	assert_rate(&p, TARGET * GIGABIT / 8 / (2.0 * WIRE));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(cluster_link_of(&system_, i).rate, GIGABIT);
		assert_int_equal(cluster_link_of(&system_, i).first_builder, 0);
		assert_int_equal(cluster_link_of(&system_, i).n_builders, 3);
	}
}

// What stays on its node crosses no link.
static void rate__of_nodes_that_also_build(void **state)
{
	struct event_rate_parameters p = make(0, 0, 4);

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		system_.nodes[i].n_sources = 1;
	system_.n_sources = 4;
	assert_rate(&p, 4 * TARGET * GIGABIT / 8 / (3.0 * WIRE));
	p = make(0, 0, 1);
	system_.nodes[0].n_sources = system_.n_sources = 4;
	assert_true(isinf(event_rate(&p)));
}

static void rate__is_not_limited_by_unknown_links(void **state)
{
	struct event_rate_parameters p = make(1, 1, 2);

	(void)state;
	system_.nodes[1].link_rate = 0;
	system_.nodes[2].link_rate = 0;
	assert_rate(&p, GIGABIT / 8.0 / WIRE);
	system_.nodes[0].link_rate = 0;
	assert_true(isinf(event_rate(&p)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate__is_that_of_the_builders_links),
		cmocka_unit_test(rate__counts_control_messages),
		cmocka_unit_test(rate__is_that_of_a_nodes_link),
		cmocka_unit_test(rate__of_builders_on_one_node),
		cmocka_unit_test(rate__of_nodes_that_also_build),
		cmocka_unit_test(rate__is_not_limited_by_unknown_links),
	};

	return cmocka_run_group_tests_name("event_rate", tests, NULL, NULL);
}
