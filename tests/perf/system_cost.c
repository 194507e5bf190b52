// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the logic of a system costs against its number of nodes, without network and endpoints: the
// whole system runs in this process (tests/unit/cluster/crowd.h). After half of the events the
// manager's process is replaced.
//
//   system_cost [--cpu N] [--nodes N,...] [--events N] [--pull]
#include <getopt.h>

#include "crowd.h"
#include "perf_tool.h"

#define SOURCE_BUFFER 16384u

static cJSON *measure(unsigned n_nodes, uint64_t events, enum sched_mode mode)
{
	const struct crowd_options options = {
		.n_nodes = n_nodes,
		.n_sources = EVB_MAX_SOURCES / EVB_MAX_NODES * n_nodes,
		.mode = mode,
		.source_buffer = SOURCE_BUFFER,
		.events = events,
		.restart = events / 2,
	};
	cJSON *result = cJSON_CreateObject();
	double n = (double)events;
	struct crowd crowd;

	if (!crowd_open(&crowd, &options))
		perf_fail("no system of %u nodes: %s", n_nodes,
			  crowd.broken[0] != '\0' ? crowd.broken : "out of memory");
	crowd_run(&crowd, 100 * events);
	if (crowd.broken[0] != '\0')
		perf_fail("%u nodes: %s", n_nodes, crowd.broken);
	cJSON_AddNumberToObject(result, "nodes", n_nodes);
	cJSON_AddNumberToObject(result, "manager_ns", (double)crowd.manager_ns / n);
	cJSON_AddNumberToObject(result, "node_ns", (double)crowd.nodes_ns / n / n_nodes);
	cJSON_AddNumberToObject(result, "records", (double)crowd.n_records / n);
	cJSON_AddNumberToObject(result, "record_bytes", (double)crowd.n_bytes / n);
	cJSON_AddNumberToObject(result, "manager_bytes", (double)crowd.manager_bytes);
	cJSON_AddNumberToObject(result, "node_bytes", (double)crowd.node_bytes);
	cJSON_AddNumberToObject(result, "restart_ns", (double)crowd.restart_ns);
	cJSON_AddNumberToObject(result, "start_ns", (double)crowd.start_ns);
	crowd_close(&crowd);
	return result;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "events", required_argument, NULL, 'e' },
		{ "pull", no_argument, NULL, 'p' },
		{ NULL, 0, NULL, 0 },
	};
	cJSON *result = cJSON_CreateObject(), *cases = cJSON_AddArrayToObject(result, "cases");
	struct perf_list nodes = { { 4, 36, 256, 1024 }, 4 };
	enum sched_mode mode = SCHED_PUSH;
	uint64_t events = 100000;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin(perf_parse_list("cpu", optarg).values[0]);
		else if (option == 'n')
			nodes = perf_parse_list("nodes", optarg);
		else if (option == 'e')
			events = (uint64_t)perf_parse_number("events", optarg, 1);
		else if (option == 'p')
			mode = SCHED_PULL;
		else
			return 1;
	}
	for (unsigned i = 0; i < nodes.n; i++) {
		if (nodes.values[i] < 2 || nodes.values[i] > EVB_MAX_NODES)
			perf_fail("--nodes: 2 to %u", EVB_MAX_NODES);
		cJSON_AddItemToArray(cases, measure(nodes.values[i], events, mode));
	}
	perf_print(result);
	return 0;
}
