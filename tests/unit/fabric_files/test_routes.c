// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Routes of a file: what they say, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fabric_files/routes.h"

static const struct sim_links links = { UINT64_C(100000000000), 0 };

// Two leaves with a host each, two spines, and a second link from l1 to s1.
static const char square[] =
    "{\"hosts\": [\"a\", \"b\"], \"links\": [{\"from\": \"a\", \"to\": \"l1\", \"to_port\": 9}, "
    "{\"from\": \"b\", \"to\": \"l2\"}, {\"from\": \"l1\", \"from_port\": 1, \"to\": \"s1\"}, "
    "{\"from\": \"l1\", \"from_port\": 2, \"to\": \"s2\"}, {\"from\": \"l2\", \"to\": \"s1\"}, "
    "{\"from\": \"l2\", \"to\": \"s2\"}, {\"from\": \"l1\", \"from_port\": 3, \"to\": \"s1\"}]}";

static int parse(struct sim_route_table *table, const char *text, char *error)
{
	struct fabric_graph graph;
	int result;

	assert_int_equal(fabric_graph_parse(&graph, square, strlen(square), "net", links, error),
			 0);
	result =
	    fabric_routes_parse(table, text, strlen(text), "way", &graph.topology, &graph, error);
	fabric_graph_free(&graph);
	return result;
}

static void assert_entry(const struct sim_route_table *table, uint32_t at, uint32_t host,
			 const uint32_t *expected, uint32_t n)
{
	const struct sim_route_entry *entry = sim_route_table_entry(table, at, host);

	assert_int_equal(entry->count, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(table->links[entry->first + i], expected[i]);
}

static void ways__are_neighbours_and_ports(void **state)
{
	struct sim_route_table table;
	char error[FABRIC_GRAPH_ERROR];

	(void)state;
	if (parse(&table,
		  "{\"routes\": [{\"switch\": \"l1\", \"to\": {\"b\": \"s1\"}},"
		  "{\"switch\": \"l2\", \"to\": {\"*\": [\"s1\", \"s2\"]}},"
		  "{\"switch\": \"s1\", \"to\": {\"a\": [\"l1\"], \"*\": \"l2\"}},"
		  "{\"switch\": \"s2\", \"to\": {\"a\": \"l1\", \"b\": \"l2\"}}]}",
		  error) != 0)
		fail_msg("%s", error);
	assert_entry(&table, 0, 1, (const uint32_t[]){ 2, 6 }, 2);
	assert_entry(&table, 1, 0, (const uint32_t[]){ 4, 5 }, 2);
	assert_entry(&table, 2, 0, (const uint32_t[]){ 2, 6 }, 2);
	assert_entry(&table, 2, 1, (const uint32_t[]){ 4 }, 1);
	assert_entry(&table, 3, 1, (const uint32_t[]){ 5 }, 1);
	sim_route_table_free(&table);
	assert_int_equal(parse(&table,
			       "{\"routes\": [{\"switch\": \"l1\", \"to\": {\"b\": [3, 2]}},"
			       "{\"switch\": \"l2\", \"to\": {\"a\": \"s1\"}},"
			       "{\"switch\": \"s1\", \"to\": {\"a\": \"l1\", \"b\": \"l2\"}},"
			       "{\"switch\": \"s2\", \"to\": {\"b\": \"l2\"}}]}",
			       error),
			 0);
	assert_entry(&table, 0, 1, (const uint32_t[]){ 6, 3 }, 2);
	sim_route_table_free(&table);
}

static void wrong_routes__are_refused(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "{\"routes\": {}}", "way: expected {\"routes\": [...]}" },
		{ "{\"routes\": [\n{\"switch\": \"l1\"}]}",
		  "way:2: expected {\"switch\": NAME, \"to\": {HOST: NEIGHBOUR, ...}}" },
		{ "{\"routes\": [{\"switch\": \"a\", \"to\": {}}]}",
		  "way:1: there is no switch \"a\"" },
		{ "{\"routes\": [{\"switch\": \"l1\", \"to\": {}},\n\n{\"switch\": \"l1\", \"to\": "
		  "{}}]}",
		  "way:3: the switch \"l1\" is given twice" },
		{ "{\"routes\": [{\"switch\": \"l1\", \"to\": {\"l2\": \"s1\"}}]}",
		  "way:1: to: there is no host \"l2\"" },
		{ "{\"routes\": [{\"switch\": \"l1\", \"to\": {\"b\": \"l2\"}}]}",
		  "way:1: to.b: the switch has no link with \"l2\"" },
		{ "{\"routes\": [{\"switch\": \"l1\", \"to\": {\"b\": 7}}]}",
		  "way:1: to.b: the switch has no port 7 with a link" },
		{ "{\"routes\": [{\"switch\": \"l1\", \"to\": {\"b\": []}}]}",
		  "way:1: to.b: the list is empty" },
		{ "{\"routes\": [{\"switch\": \"l1\", \"to\": {\"b\": [\"s1\", 2, \"s1\"]}}]}",
		  "way:1: to.b: a neighbour or port is given twice" },
		{ "{\"routes\": [{\"switch\": \"l1\", \"to\": {\"b\": null}}]}",
		  "way:1: to.b: expected the name of a neighbour, the number of a port, or a list "
		  "of "
		  "these" },
		{ "{\"routes\": [{\"switch\": \"l1\", \"to\": {\"b\": \"s1\", \"b\": \"s2\"}}]}",
		  "way:1: to.b: is given twice" },
		{ "{\"routes\": [{\"switch\": \"l1\", \"to\": {\"b\": \"s1\"}}]}",
		  "way: the switch \"l2\" gets packets for the host \"a\" and has no route" },
		{ "{\"routes\": [{\"switch\": \"l1\", \"to\": {\"b\": \"s1\"}}, {\"switch\": "
		  "\"l2\", \"to\": {\"a\": \"b\"}}]}",
		  "way: the switch \"l2\" sends packets for the host \"a\" to another host" },
		{ "{\"routes\": [{\"switch\": \"l1\", \"to\": {\"b\": \"s1\"}}, {\"switch\": "
		  "\"l2\", \"to\": {\"a\": \"s1\"}}, {\"switch\": \"s1\", \"to\": {\"a\": \"l1\", "
		  "\"b\": \"l1\"}}]}",
		  "way: packets for the host \"b\" go round in a loop: l1, s1, l1" },
	};
	struct sim_route_table table;
	char error[FABRIC_GRAPH_ERROR];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(&table, cases[i].text, error), -1);
		assert_string_equal(error, cases[i].error);
		sim_route_table_free(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways__are_neighbours_and_ports),
		cmocka_unit_test(wrong_routes__are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
