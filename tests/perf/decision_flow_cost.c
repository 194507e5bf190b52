// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Decisions per second from one node of a system to another, in the order of events.
//
//   decision_flow_cost [--cpu N] [--seconds S]
//
// All steps of both nodes in turn, on one CPU: into the outbox, records of the control protocol,
// out of the inbox, into order, and RESULTS back to the sender. Records are passed in memory: the
// network and the endpoints of the control protocol are not part of it. The decisions of 64 events
// each come in the reverse order. The rate is per second of CPU time.
#include <getopt.h>
#include <stdio.h>
#include <time.h>

#include "decision/decision_flow.h"
#include "perf_tool.h"
#include "record/decision_order.h"

#define WINDOW  (1u << 16)
#define BURST   64u
#define NODES   2u
#define SENDER  1u
#define TIMEOUT 1000000000u
#define STEP_NS 20000u // of the clock of the flow, per round

struct node {
	struct decision_flow *flow;
	unsigned number;
};

struct bench {
	struct cluster_system systems[NODES]; // each with its own `self`
	struct cluster_system_node of_all[NODES];
	struct node nodes[NODES];
	struct decision_outbox *outbox;
	struct decision_inbox *inbox;
	struct decision_order *order;
	uint64_t added, now, next;
};

static struct bench bench;

static void deliver(void *context, unsigned to, const void *bytes, size_t size)
{
	const struct node *from = context;
	struct ctrl_record record;

	if (ctrl_record_at(bytes, size, &record) != WIRE_OK ||
	    !decision_flow_record(bench.nodes[to].flow, from->number, &record))
		perf_fail("a record of %zu bytes is not one of the flow", size);
}

static size_t room(void *context, unsigned node, size_t largest)
{
	(void)context;
	(void)node;
	return 64 * largest;
}

static void open_node(unsigned number)
{
	struct cluster_system *system = &bench.systems[number];
	struct node *node = &bench.nodes[number];
	struct decision_flow_parameters parameters = {
		.system = system,
		.transport = { .context = node, .send = deliver, .room = room },
		.run = 1,
	};

	*system = (struct cluster_system){
		.n_nodes = NODES, .self = number, .nodes = bench.of_all, .n_results = 1
	};
	system->nodes[SENDER].n_builders = 1;
	system->results[0].window = WINDOW;
	parameters.outboxes[0] = number == SENDER ? bench.outbox : NULL;
	parameters.inboxes[0] = number == SENDER ? NULL : bench.inbox;
	*node = (struct node){ decision_flow_create(&parameters), number };
	if (node->flow == NULL)
		perf_fail("out of memory");
}

static void open_bench(void)
{
	const struct decision_order_parameters order = { .window = WINDOW,
							 .packing = 1,
							 .timeout_ns = TIMEOUT };

	bench.outbox = decision_outbox_create(WINDOW, 1);
	bench.inbox = decision_inbox_create(WINDOW, 1, NODES);
	bench.order = decision_order_create(&order);
	if (bench.outbox == NULL || bench.inbox == NULL || bench.order == NULL)
		perf_fail("out of memory");
	decision_order_begin(bench.order, 0);
	for (unsigned i = 0; i < NODES; i++)
		open_node(i);
	for (unsigned i = 0; i < NODES; i++)
		decision_flow_event(bench.nodes[i].flow, 1 - i, CONTROL_CONNECTED);
}

static void close_bench(void)
{
	for (unsigned i = 0; i < NODES; i++)
		decision_flow_destroy(bench.nodes[i].flow);
	decision_outbox_destroy(bench.outbox);
	decision_inbox_destroy(bench.inbox);
	decision_order_destroy(bench.order);
}

// Adds the decisions of a group of events, the last one first.
static void add(void)
{
	const uint64_t group = bench.added / BURST * BURST;

	for (unsigned i = 0; i < BURST; i++) {
		const struct decision_result result = {
			.event_id = group + BURST - 1 - (bench.added - group),
			.lines = bench.added,
			.flags = DECISION_ACCEPTED,
		};

		if (!decision_outbox_put(bench.outbox, &result))
			return;
		bench.added++;
	}
}

static unsigned take(void)
{
	struct decision_result results[BURST];
	const struct decision_arrival *arrival;
	unsigned n, all = 0;

	while ((arrival = decision_inbox_front(bench.inbox)) != NULL &&
	       decision_order_decide(bench.order, &arrival->result, bench.now))
		decision_inbox_pop(bench.inbox);
	while ((n = decision_order_take(bench.order, bench.now, results, BURST)) > 0) {
		for (unsigned i = 0; i < n; i++)
			if (results[i].event_id != bench.next++)
				perf_fail("event %llu is out of order",
					  (unsigned long long)results[i].event_id);
		all += n;
	}
	atomic_store_explicit(&bench.inbox->written, bench.next, memory_order_release);
	return all;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t play(double seconds, uint64_t *spent)
{
	const uint64_t begin = cpu_ns();
	uint64_t done = 0;

	do {
		bench.now += STEP_NS;
		add();
		for (unsigned i = 0; i < NODES; i++)
			decision_flow_poll(bench.nodes[i].flow, false, bench.now);
		done += take();
		*spent = cpu_ns() - begin;
	} while (*spent < (uint64_t)(seconds * 1e9));
	return done;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "cpu", required_argument, NULL, 'c' },
						 { "seconds", required_argument, NULL, 's' },
						 { 0 } };
	cJSON *result = cJSON_CreateObject();
	double seconds = 0.3;
	uint64_t done, spent;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin((unsigned)perf_parse_number("cpu", optarg, 0));
		else if (option == 's')
			seconds = perf_parse_number("seconds", optarg, 1e-3);
		else
			return 1;
	}
	open_bench();
	(void)play(seconds / 10, &spent);
	done = play(seconds, &spent);
	cJSON_AddNumberToObject(result, "decisions_per_second", (double)done * 1e9 / (double)spent);
	cJSON_AddNumberToObject(result, "timed_out",
				(double)decision_order_counters(bench.order)->timed_out);
	close_bench();
	perf_print(result);
	return 0;
}
