// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Networks that a file describes, as JSON and as ibnetdiscover prints them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fabric_files/graph.h"

#define GBIT UINT64_C(1000000000)
#define NS   UINT64_C(1000)

static const struct sim_links links = { 100 * GBIT, 170 * NS };

static struct fabric_graph parse(const char *text)
{
	char error[FABRIC_GRAPH_ERROR];
	struct fabric_graph graph;

	if (fabric_graph_parse(&graph, text, strlen(text), "net", links, error) != 0)
		fail_msg("%s", error);
	return graph;
}

static void refuse(const char *text, const char *expected)
{
	char error[FABRIC_GRAPH_ERROR] = "";
	struct fabric_graph graph;

	assert_int_equal(fabric_graph_parse(&graph, text, strlen(text), "net", links, error), -1);
	assert_string_equal(error, expected);
	fabric_graph_free(&graph);
}

static void assert_link(const struct fabric_graph *graph, uint32_t link, const char *from,
			const char *to, uint64_t rate, uint64_t delay)
{
	const struct sim_link *found = &graph->topology.links[link];

	assert_string_equal(graph->names[found->ends[0]].text, from);
	assert_string_equal(graph->names[found->ends[1]].text, to);
	assert_int_equal(found->bits_per_second, rate);
	assert_int_equal(found->delay, delay);
}

// --- JSON ---

#define HOSTS "{\"hosts\": [\"b\", \"a\"],\n\"links\": [\n"

static void json__hosts_have_the_order_of_their_list(void **state)
{
	struct fabric_graph graph =
	    parse(HOSTS "{\"from\": \"a\", \"to\": \"s 1\", \"to_port\": 12},\n"
			"{\"from\": \"s 1\", \"to\": \"s2\", \"from_port\": 3, \"rate\": "
			"\"400Gb/s\", \"delay\": 0},\n"
			"{\"from\": \"s2\", \"to\": \"b\", \"rate\": \"10Gb/s\", \"delay\": "
			"\"1us\"}]}");

	(void)state;
	assert_int_equal(graph.topology.n_hosts, 2);
	assert_int_equal(graph.topology.n_switches, 2);
	assert_int_equal(graph.topology.n_links, 3);
	assert_string_equal(graph.names[0].text, "b");
	assert_link(&graph, 0, "a", "s 1", 100 * GBIT, 170 * NS);
	assert_link(&graph, 1, "s 1", "s2", 400 * GBIT, 0);
	assert_link(&graph, 2, "s2", "b", 10 * GBIT, 1000 * NS);
	assert_int_equal(graph.ports[0].ends[0], 0);
	assert_int_equal(graph.ports[0].ends[1], 12);
	assert_int_equal(graph.ports[1].ends[0], 3);
	assert_int_equal(fabric_graph_find(&graph, "s2"), 3);
	assert_int_equal(fabric_graph_find(&graph, "s3"), FABRIC_GRAPH_NONE);
	fabric_graph_free(&graph);
}

static void json__what_is_wrong_has_its_line(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "", "net: is neither JSON nor the output of ibnetdiscover" },
		{ "{\"hosts\": [1]\n\"links\": []}",
		  "net: line 2, column 1: no valid JSON at \"\"\"" },
		{ "{\"links\": []}", "net: hosts: required, but missing" },
		{ "{\"hosts\": 1, \"links\": []}", "net: hosts: a list is expected here" },
		{ "{\"hosts\": [], \"links\": [], \"link\": 1}",
		  "net: link: unknown key, did you mean \"links\"?" },
		{ "{\"hosts\": [\"a\",\n\"b\",\n7], \"links\": []}",
		  "net:3: hosts[2]: expected a string, found a number" },
		{ "{\"hosts\": [\"a\", \"[\",\n\"a\"], \"links\": []}",
		  "net:2: the host \"a\" is given twice" },
		{ "{\"hosts\": [\"a\",\n\"b\"], \"links\": [{\"from\": \"a\", \"to\": \"s\"}, "
		  "{\"from\": \"s\", \"to\": \"t\"}, {\"from\": \"s\", \"to\": \"t\"}]}",
		  "net:2: the host \"b\" has no link" },
		{ HOSTS "{\"from\": \"a\", \"to\": \"s\"},\n\n{\"from\": \"b\"}]}",
		  "net:5: links[1].to: required, but missing" },
		{ HOSTS "{\"from\": \"a\", \"to\": \"s\"},\n{\"from\": \"b\", \"to\": \"s\", "
			"\"rate\": \"1bit\"}]}",
		  "net:4: links[1].rate: \"1bit\" has an unknown unit, allowed are b/s, kb/s, "
		  "Mb/s, "
		  "Gb/s, Tb/s" },
		{ HOSTS "{\"from\": \"a\", \"to\": \"s\"},\n{\"from\": \"b\", \"to\": \"S\"}]}",
		  "net:3: \"s\" has one link and is not in the list of hosts" },
		{ HOSTS "{\"from\": \"a\", \"to\": \"b\"}]}",
		  "net:3: a link between the hosts \"a\" and \"b\": a host is joined to a switch" },
		{ HOSTS "{\"from\": \"a\", \"to\": \"s\"},\n{\"from\": \"s\", \"to\": \"s\"}]}",
		  "net:4: a link from \"s\" to itself" },
		{ HOSTS "{\"from\": \"a\", \"to\": \"s\"},\n{\"from\": \"b\", \"to\": \"s\"},\n"
			"{\"from\": \"a\", \"to\": \"s\"}]}",
		  "net:5: \"a\" has more than 1 link: a host has no more" },
		{ HOSTS "{\"from\": \"a\", \"to\": \"s\", \"to_port\": 1},\n{\"from\": \"b\", "
			"\"to\": \"s\", \"to_port\": 1}]}",
		  "net:4: port 1 of \"s\" has a link already, in line 3" },
		{ "{\"hosts\": [\"a\", \"b\",\n\"c\", \"d\"], \"links\": [{\"from\": \"a\", "
		  "\"to\": "
		  "\"s\"}, {\"from\": \"b\", \"to\": \"s\"}, {\"from\": \"c\", \"to\": \"t\"}, "
		  "{\"from\": \"d\", \"to\": \"t\"}]}",
		  "net:2: no links lead from the host \"a\" to the host \"c\"" },
		{ "{\"hosts\": [\"a\"], \"links\": [{\"from\": \"a\", \"to\": \"s\"}, {\"from\": "
		  "\"s\", \"to\": \"t\"}, {\"from\": \"s\", \"to\": \"t\"}]}",
		  "net: has 1 hosts: expected 2 to 1048576" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuse(cases[i].text, cases[i].error);
}

// --- ibnetdiscover ---

#define LEAF  "Switch\t36 \"S-00000000000000a1\"\t\t# \"leaf\" base port 0 lid 2 lmc 0\n"
#define SPINE "Switch\t36 \"S-00000000000000b1\"\t\t# \"spine\" base port 0 lid 3 lmc 0\n"

static const char ibnet[] =
    "# Topology file: generated\n\nvendid=0x2c9\nswitchguid=0xa1(a1)\n" LEAF
    "[1]\t\"H-0000000000000001\"[1](2) \t\t# \"ru0 HCA-1\" lid 6 4xEDR\n"
    "[2]\t\"H-0000000000000003\"[1](4) \t\t# \"ru1 HCA-1\" lid 7 1xFDR10\n"
    "[7]\t\"S-00000000000000b1\"[9]\t\t# \"spine\" lid 3 4xHDR\n"
    "[8]\t\"H-00000000000000ff\"[1](ff) \t\t# \"Mellanox Technologies Aggregation Node\" lid 4 "
    "4xHDR\n\n" SPINE "[9]\t\"S-00000000000000a1\"[7]\t\t# \"leaf\" lid 2 4xHDR\n"
    "[1]\t\"H-0000000000000005\"[1](6) \t\t# \"builder\" lid 9 2xHDR\n"
    "[2]\t\"H-0000000000000005\"[2](7) \t\t# \"builder\" lid 10 4xNDR\n\n"
    "caguid=0x3\nCa\t1 \"H-0000000000000003\"\t\t# \"ru1 HCA-1\"\n"
    "[1](4) \t\"S-00000000000000a1\"[2]\t\t# lid 7 lmc 0 \"leaf\" lid 2 1xFDR10\n\n"
    "caguid=0x1\nCa\t1 \"H-0000000000000001\"\t\t# \"ru0 HCA-1\"\n"
    "[1](2) \t\"S-00000000000000a1\"[1]\t\t# lid 6 lmc 0 \"leaf\" lid 2 4xEDR\n\n"
    "caguid=0x5\nCa\t2 \"H-0000000000000005\"\t\t# \"builder\"\n"
    "[1](6) \t\"S-00000000000000b1\"[1]\t\t# lid 9 lmc 0 \"spine\" lid 3 2xHDR\n"
    "[2](7) \t\"S-00000000000000b1\"[2]\t\t# lid 10 lmc 0 \"spine\" lid 3 4xNDR\n";

// Hosts have the order of the records Ca; each cable is one link, in the order of the lines.
static void ibnet__adapters_are_hosts_and_speeds_are_rates(void **state)
{
	struct fabric_graph graph = parse(ibnet);

	(void)state;
	assert_int_equal(graph.topology.n_hosts, 4);
	assert_int_equal(graph.topology.n_switches, 2);
	assert_int_equal(graph.topology.n_links, 5);
	assert_string_equal(graph.names[0].text, "ru1 HCA-1");
	assert_string_equal(graph.names[1].text, "ru0 HCA-1");
	assert_string_equal(graph.names[2].text, "builder:1");
	assert_string_equal(graph.names[3].text, "builder:2");
	assert_link(&graph, 0, "leaf", "ru0 HCA-1", 100 * GBIT, 170 * NS);
	assert_link(&graph, 1, "leaf", "ru1 HCA-1", 10 * GBIT, 170 * NS);
	assert_link(&graph, 2, "leaf", "spine", 200 * GBIT, 170 * NS);
	assert_link(&graph, 3, "spine", "builder:1", 100 * GBIT, 170 * NS);
	assert_link(&graph, 4, "spine", "builder:2", 400 * GBIT, 170 * NS);
	assert_int_equal(graph.ports[2].ends[0], 7);
	assert_int_equal(graph.ports[2].ends[1], 9);
	assert_int_equal(fabric_graph_find(&graph, "S-00000000000000b1"), 5);
	assert_int_equal(fabric_graph_find(&graph, "H-0000000000000005:2"), 3);
	fabric_graph_free(&graph);
}

#define TWO_HOSTS                                                 \
	"Ca\t1 \"H-01\"\t# \"same\"\n[1]\t\"S-a1\"[1]\t# 4xEDR\n" \
	"Ca\t1 \"H-02\"\t# \"same\"\n[1]\t\"S-a1\"[2]\t# 4xEDR\n"

static void ibnet__equal_descriptions_become_ids(void **state)
{
	struct fabric_graph graph = parse("Switch\t2 \"S-a1\"\t# \"x\"\n" TWO_HOSTS);

	(void)state;
	assert_string_equal(graph.names[0].text, "H-01");
	assert_string_equal(graph.names[1].text, "H-02");
	assert_string_equal(graph.names[2].text, "x");
	assert_int_equal(graph.topology.n_links, 2);
	fabric_graph_free(&graph);
}

static void ibnet__what_is_wrong_has_its_line(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "hello\n", "net: is neither JSON nor the output of ibnetdiscover" },
		{ "\n[1]\t\"S-a1\"[1]\n", "net:2: a port in front of the first Switch or Ca" },
		{ "Switch\t2 \"H-a1\"\n",
		  "net:1: expected: Switch N \"S-GUID\", or Ca N \"H-GUID\"" },
		{ "Switch\t2 \"S-a1\"\n[x]\t\"S-b1\"[1]\n",
		  "net:2: expected: [PORT] \"S-GUID\"[PORT], or [PORT] \"H-GUID\"[PORT]" },
		{ "Switch\t2 \"S-a1\"\n" TWO_HOSTS "Switch\t2 \"S-a1\"\n",
		  "net:6: \"S-a1\" is described twice" },
		{ TWO_HOSTS, "net:2: \"S-a1\" has no record in this file that names this link" },
		{ "Switch\t2 \"S-a1\"\n[3]\t\"H-03\"[1]\n" TWO_HOSTS,
		  "net:2: \"H-03:1\" has no record in this file that names this link" },
		{ "Switch\t2 \"S-a1\"\n" TWO_HOSTS "Ca\t1 \"H-03\"\n[1]\t\"S-a1\"[2]\n",
		  "net:7: port 2 of \"S-a1\" has a link already, in line 5" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuse(cases[i].text, cases[i].error);
}

// --- levels ---

// Two leaves with a host each below two spines, and a switch above these.
static void levels__are_distances_from_the_hosts(void **state)
{
	struct fabric_graph graph = parse(
	    HOSTS "{\"from\": \"a\", \"to\": \"l1\"}, {\"from\": \"b\", \"to\": \"l2\"}, "
		  "{\"from\": \"l1\", \"to\": \"m1\"}, {\"from\": \"l1\", \"to\": \"m2\"}, "
		  "{\"from\": \"l2\", \"to\": \"m1\"}, {\"from\": \"l2\", \"to\": \"m2\"}, "
		  "{\"from\": \"m1\", \"to\": \"top\"}, {\"from\": \"m2\", \"to\": \"top\"}]}");
	static const uint8_t expected[] = { 0, 0, 1, 1, 2 }, rooted[] = { 1, 1, 2, 2, 1 };
	const uint32_t roots[] = { 2, 3 };

	(void)state;
	assert_memory_equal(graph.topology.level, expected, sizeof(expected));
	assert_true(graph.topology.guesses_levels);
	assert_true(sim_topology_set_roots(&graph.topology, roots, 2));
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(graph.topology.level[i] + 1, rooted[i]);
	fabric_graph_free(&graph);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json__hosts_have_the_order_of_their_list),
		cmocka_unit_test(json__what_is_wrong_has_its_line),
		cmocka_unit_test(ibnet__adapters_are_hosts_and_speeds_are_rates),
		cmocka_unit_test(ibnet__equal_descriptions_become_ids),
		cmocka_unit_test(ibnet__what_is_wrong_has_its_line),
		cmocka_unit_test(levels__are_distances_from_the_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
