// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which role runs where, which queues and links join them, and how it is printed.
#include "plan_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// "CPU: role role | CPU: role ..."
static void assert_placed(const struct plan *plan, const char *expected)
{
	char text[1024] = "";
	size_t used = 0;

	for (unsigned i = 0; i < plan->n_lcores; i++) {
		const struct plan_lcore *lcore = &plan->lcores[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%u:", i > 0 ? " | " : "", lcore->cpu);
		for (unsigned j = 0; j < lcore->n_roles; j++) {
			const struct plan_role *role = &plan->roles[lcore->roles[j]];

			assert_int_equal(role->lcore, i);
			used +=
			    (size_t)snprintf(text + used, sizeof(text) - used, " %s", role->name);
		}
	}
	assert_string_equal(text, expected);
}

// Where five roles are placed on a machine with so many CPUs.
static void assert_five_placed(unsigned n_cpus, const char *expected)
{
	struct plan *plan;

	machine_make(n_cpus);
	plan = plan_of(plan_five_roles);
	assert_placed(plan, expected);
	plan_free(plan);
}

static void placing__on_one_cpu(void **state)
{
	(void)state;
	assert_five_placed(1, "0: source.g rx.wire builder.b0 builder.b1 writer.w");
}

static void placing__on_two_cpus(void **state)
{
	(void)state;
	assert_five_placed(2, "0: source.g rx.wire | 1: builder.b0 builder.b1 writer.w");
}

// Two folded nodes; `paths`: of the memif sockets of a and b, and b's role.
static void assert_node_placed(const char *path_of_b, const char *role_of_b, const char *node,
			       const char *expected)
{
	char text[1024];
	struct plan *plan;

	snprintf(
	    text, sizeof(text),
	    "{\"sources\": {\"ids\": [\"1-2\"]}, \"builders\": [{\"name\": \"b0\"}], \"nodes\": ["
	    "{\"name\": \"a\", \"manager\": true, \"ports\": [{\"name\": \"w\", \"profile\": "
	    "\"memif\", \"device\": \"/tmp/s\", \"address\": \"10.0.0.1/24\", "
	    "\"options\": {\"role\": \"server\"}}],"
	    "\"generators\": [{\"name\": \"g\", \"port\": \"w\", \"ids\": [1]}]},"
	    "{\"name\": \"b\", \"ports\": [{\"name\": \"w\", \"profile\": "
	    "\"memif\", \"device\": \"%s\", \"address\": \"10.0.0.2/24\", "
	    "\"options\": {\"role\": \"%s\"}}],"
	    "\"generators\": [{\"name\": \"g\", \"port\": \"w\", \"ids\": [2]}]}]}",
	    path_of_b, role_of_b);
	plan = plan_of_node(text, node);
	assert_placed(plan, expected);
	plan_free(plan);
}

static void placing__nodes_that_a_memif_joins_share_the_machine(void **state)
{
	const char *on_two = "0: control readout.g rx.w | 1: builder.b0";

	(void)state;
	machine_make(2);
	assert_node_placed("/tmp/s", "client", "a", "0: control readout.g rx.w builder.b0");
	assert_node_placed("/tmp/s", "client", "b", "1: control readout.g rx.w builder.b0");
	// The peers of these sockets are others.
	assert_node_placed("/tmp/other", "client", "b", on_two);
	assert_node_placed("/tmp/s", "server", "b", on_two);
	machine_make(4);
	assert_node_placed("/tmp/s", "client", "b", "2: control readout.g rx.w | 3: builder.b0");
	// These CPUs are the process's own.
	machine_forbid_cpu(2);
	machine_forbid_cpu(3);
	assert_node_placed("/tmp/s", "client", "b", on_two);
	machine_make(1);
	assert_node_placed("/tmp/s", "client", "b", "0: control readout.g rx.w builder.b0");
}

// Three folded nodes, each with a port on the interface PREFIX0, PREFIX1 or PREFIX2.
static void assert_on_interface(const char *prefix, const char *node, const char *expected)
{
	char text[1536];
	size_t used;
	struct plan *plan;

	used = (size_t)snprintf(text, sizeof(text),
				"{\"sources\": {\"ids\": [\"1-3\"]}, \"builders\": [{\"name\": "
				"\"b0\"}], \"nodes\": [");
	for (unsigned i = 0; i < 3; i++)
		used += (size_t)snprintf(
		    text + used, sizeof(text) - used,
		    "%s{\"name\": \"%c\", \"manager\": %s, \"ports\": [{\"name\": \"w\", "
		    "\"profile\": \"af_packet\", \"device\": \"%s%u\", \"address\": "
		    "\"10.0.0.%u/24\"}], \"generators\": [{\"name\": \"g\", \"port\": \"w\", "
		    "\"ids\": [%u]}]}",
		    i > 0 ? "," : "", 'a' + i, i == 0 ? "true" : "false", prefix, i, i + 1, i + 1);
	snprintf(text + used, sizeof(text) - used, "]}");
	plan = plan_of_node(text, node);
	assert_placed(plan, expected);
	plan_free(plan);
}

static void placing__nodes_in_network_namespaces_share_the_machine(void **state)
{
	const char *on_two = "0: control readout.g rx.w | 1: builder.b0";

	(void)state;
	machine_make(2);
	// Three nodes are too many for two CPUs.
	assert_on_interface("veth", "a", on_two);
	assert_on_interface("veth", "b", on_two);
	assert_on_interface("veth", "c", on_two);
	// These nodes have machines of their own.
	assert_on_interface("eth", "a", on_two);
	assert_on_interface("eth", "b", on_two);
	machine_make(3);
	assert_on_interface("veth", "a", "0: control readout.g rx.w builder.b0");
	assert_on_interface("veth", "b", "1: control readout.g rx.w builder.b0");
	assert_on_interface("veth", "c", "2: control readout.g rx.w builder.b0");
	machine_make(7);
	assert_on_interface("veth", "a", on_two);
	assert_on_interface("veth", "b", "2: control readout.g rx.w | 3: builder.b0");
	assert_on_interface("veth", "c", "5: control readout.g rx.w | 6: builder.b0");
	// These CPUs are the process's own.
	for (unsigned i = 2; i < 7; i++)
		machine_forbid_cpu(i);
	assert_on_interface("veth", "b", on_two);
}

static void placing__deals_round_where_cpus_are_short(void **state)
{
	(void)state;
	assert_five_placed(3, "0: source.g builder.b1 | 1: rx.wire writer.w | 2: builder.b0");
}

static void placing__one_role_each_where_there_are_enough(void **state)
{
	(void)state;
	assert_five_placed(5, "0: source.g | 1: rx.wire | 2: builder.b0 | 3: builder.b1 | "
			      "4: writer.w");
	// The first is left to the control thread.
	assert_five_placed(20, "1: source.g | 2: rx.wire | 3: builder.b0 | 4: builder.b1 | "
			       "5: writer.w");
}

static void placing__on_the_cpus_of_the_cpuset(void **state)
{
	struct plan *plan;

	(void)state;
	machine_make(0);
	machine_allow_cpu(3);
	machine_allow_cpu(9);
	plan = plan_of(plan_five_roles);
	assert_placed(plan, "3: source.g rx.wire | 9: builder.b0 builder.b1 writer.w");
	plan_free(plan);
}

static void placing__of_a_generator_alone(void **state)
{
	struct plan *plan;

	(void)state;
	machine_make(2);
	plan = plan_of("{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\"}]," SOURCES
		       ", \"generators\": [{\"name\": \"g\", \"port\": \"wire\"}]}");
	assert_placed(plan, "0: source.g");
	assert_int_equal(plan->n_rx, 0);
	plan_free(plan);
}

static void placing__as_configured(void **state)
{
	struct plan *plan;

	(void)state;
	machine_make(1); // not asked
	plan = plan_of("{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\"}]," SOURCES
		       "," BUILDERS
		       ", \"lcores\": [{\"cpu\": 7, \"roles\": [\"builder.b1\", \"rx.wire\"]},"
		       "{\"cpu\": 5, \"roles\": [\"builder.b0\"]}]}");
	assert_placed(plan, "7: builder.b1 rx.wire | 5: builder.b0");
	assert_int_equal(plan_find_role(plan, "builder.b1"),
			 plan_role_of(plan, CONFIG_ROLE_BUILDER, 1));
	assert_int_equal(plan_find_role(plan, "builder.b2"), PLAN_NONE);
	assert_int_equal(plan_role_of(plan, CONFIG_ROLE_WRITER, 0), PLAN_NONE);
	plan_free(plan);
}

// Two ports, one with an address, one with two queues; generators on both.
static const char two_ports[] =
    "{\"ports\": [{\"name\": \"a\", \"profile\": \"ring\", \"address\": \"10.0.0.1\"},"
    "{\"name\": \"b\", \"profile\": \"ring\", \"rx_queues\": 2}]," SOURCES "," BUILDERS
    ", \"generators\": [{\"name\": \"g0\", \"port\": \"a\"}, {\"name\": \"g1\", \"port\": \"a\"},"
    "{\"name\": \"g2\", \"port\": \"b\"}]}";

static void assert_tx_queue(const struct plan *plan, const char *role, int queue)
{
	assert_int_equal(plan->roles[plan_find_role(plan, role)].tx_queue, queue);
}

static void tx_queues__one_for_each_lcore_that_sends(void **state)
{
	struct plan *plan;

	(void)state;
	machine_make(20);
	plan = plan_of(two_ports);
	assert_int_equal(plan->ports[0].n_rx_queues, 1);
	assert_int_equal(plan->ports[0].n_tx_queues, 3); // the role rx.a answers
	assert_tx_queue(plan, "source.g0", 0);
	assert_tx_queue(plan, "source.g1", 1);
	assert_tx_queue(plan, "rx.a", 2);
	assert_int_equal(plan->ports[1].n_rx_queues, 2);
	assert_int_equal(plan->ports[1].n_tx_queues, 1);
	assert_tx_queue(plan, "source.g2", 0);
	assert_tx_queue(plan, "rx.b.0", -1);
	assert_tx_queue(plan, "rx.b.1", -1);
	assert_int_equal(plan->roles[plan_find_role(plan, "rx.b.1")].queue, 1);
	assert_int_equal(plan->roles[plan_find_role(plan, "rx.b.1")].port, 1);
	assert_int_equal(plan->n_rx, 3);
	plan_free(plan);
}

static void tx_queues__shared_by_the_roles_of_an_lcore(void **state)
{
	struct plan *plan;

	(void)state;
	machine_make(1);
	plan = plan_of(two_ports);
	assert_int_equal(plan->ports[0].n_tx_queues, 1);
	assert_tx_queue(plan, "source.g0", 0);
	assert_tx_queue(plan, "source.g1", 0);
	assert_tx_queue(plan, "rx.a", 0);
	assert_tx_queue(plan, "source.g2", 0);
	assert_tx_queue(plan, "rx.b.0", -1);
	plan_free(plan);
}

static void tx_queues__at_least_one(void **state)
{
	struct plan *plan;

	(void)state;
	machine_make(2);
	plan = plan_of("{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\"}]," SOURCES
		       "," BUILDERS "}");
	assert_int_equal(plan->ports[0].n_tx_queues, 1);
	assert_tx_queue(plan, "rx.wire", -1);
	plan_free(plan);
}

static char *print(const struct plan *plan)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	plan_print(plan, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void print__names_every_link(void **state)
{
	static const char *const lines[] = {
		"  rx.a -> builder.b0\n",   "  rx.a -> builder.b1\n",   "  rx.b.0 -> builder.b0\n",
		"  rx.b.0 -> builder.b1\n", "  rx.b.1 -> builder.b0\n", "  rx.b.1 -> builder.b1\n",
	};
	struct plan *plan;
	unsigned n = 0;
	char *text;

	(void)state;
	machine_make(2);
	plan = plan_of(two_ports);
	text = print(plan);
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_non_null(strstr(text, lines[i]));
	for (const char *at = text; (at = strstr(at, " -> ")) != NULL; at++)
		n++;
	assert_int_equal(n, 6);
	free(text);
	plan_free(plan);
}

static void print__tells_the_whole_plan(void **state)
{
	struct plan *plan;
	char *text;

	(void)state;
	machine_make(2);
	plan = plan_of(plan_five_roles);
	text = print(plan);
	assert_non_null(strstr(text, "appliance evb, run 1: x.json\n"));
	assert_non_null(strstr(text, "lcores (idle policy adaptive)\n"
				     "  CPU 0   source.g rx.wire\n"
				     "  CPU 1   builder.b0 builder.b1 writer.w\n"));
	assert_non_null(strstr(text, "  wire         ring (net_ring), mtu 1500, 1 rx and 1 tx "
				     "queues\n"));
	assert_non_null(strstr(text, "  g            on wire, pre-filled blocks "));
	assert_non_null(strstr(text, "links (4096 entries, lossless)\n"));
	assert_non_null(strstr(text, ", event ring evb-evb/ring.1\n"));
	assert_non_null(strstr(text, "  an event: 8 sources, packing 10, deadline "));
	assert_non_null(strstr(text, "hugepages are too few, ordinary memory is used\n"));
	free(text);
	plan_free(plan);
}

static void print__tells_which_groups_decide(void **state)
{
	struct plan *plan;
	char *text;

	(void)state;
	machine_make(2);
	plan = plan_of("{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\"}]," SOURCES
		       "," BUILDERS
		       ", \"groups\": [{\"name\": \"f\", \"decides\": true, \"undecided\": "
		       "\"reject\"}, {\"name\": \"m\"}],"
		       " \"writers\": [{\"name\": \"w\", \"after\": \"f\"}],"
		       " \"results\": [{\"name\": \"r\", \"group\": \"f\"}]}");
	text = print(plan);
	assert_non_null(strstr(text, "consumer groups\n"
				     "  f            decides; undecided events are rejected\n"
				     "  m            gets all events\n"
				     "  w            gets events that f has accepted\n"
				     "  r            gets events that f has decided\n"));
	assert_non_null(strstr(text, "  CPU 1   builder.b0 builder.b1 writer.w results.r\n"));
	free(text);
	plan_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placing__on_one_cpu),
		cmocka_unit_test(placing__on_two_cpus),
		cmocka_unit_test(placing__nodes_that_a_memif_joins_share_the_machine),
		cmocka_unit_test(placing__nodes_in_network_namespaces_share_the_machine),
		cmocka_unit_test(placing__deals_round_where_cpus_are_short),
		cmocka_unit_test(placing__one_role_each_where_there_are_enough),
		cmocka_unit_test(placing__on_the_cpus_of_the_cpuset),
		cmocka_unit_test(placing__of_a_generator_alone),
		cmocka_unit_test(placing__as_configured),
		cmocka_unit_test(tx_queues__one_for_each_lcore_that_sends),
		cmocka_unit_test(tx_queues__shared_by_the_roles_of_an_lcore),
		cmocka_unit_test(tx_queues__at_least_one),
		cmocka_unit_test(print__names_every_link),
		cmocka_unit_test(print__tells_the_whole_plan),
		cmocka_unit_test(print__tells_which_groups_decide),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
