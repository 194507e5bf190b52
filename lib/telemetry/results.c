// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/group.h"

#include <stdio.h>

#include "record/results_role.h"
#include "record/results_sender_role.h"
#include "telemetry/shared_metrics.h"

struct results_view {
	const char *to;
	uint64_t reads, held, blocks_held;
	struct decision_flow_view flow;
};

static const struct metric results_metrics[] = {
	TEXT("name", config_results, name, "name of the results role"),
	TEXT("group", config_results, group, "deciding group whose decisions it writes"),
	TEXT("from", config_results, from, "event ring of another evb whose decisions it writes"),
	{ 0 },
};

static const struct metric view_metrics[] = {
	TEXT("to", results_view, to,
	     "file, UDP address or event ring of the decisions, or the node that "
	     "writes them"),
	GAUGE("reads", results_view, reads, "1 if the ring of the other evb is open"),
	GAUGE("held", results_view, held,
	      "events that wait for their turn, or, sent to another node, to be written there"),
	GAUGE("blocks_held", results_view, blocks_held,
	      "blocks of decisions in the event ring, not yet released by all groups"),
	COUNTER("sent", results_view, flow.sent, "decisions sent to another node"),
	COUNTER("sent_again", results_view, flow.sent_again,
		"of them, those that were sent before: one of the nodes was restarted or cut off"),
	COUNTER("refused", results_view, flow.refused,
		"decisions and events of nodes that do not obey the flow control"),
	{ 0 },
};

static const struct metric order_metrics[] = {
	COUNTER("accepted", decision_order_counters, accepted, "accepted events, in order"),
	COUNTER("rejected", decision_order_counters, rejected, "rejected events, in order"),
	COUNTER("undecided", decision_order_counters, undecided,
		"events released without a decision, in order"),
	COUNTER("timed_out", decision_order_counters, timed_out,
		"events that were not decided within the timeout"),
	COUNTER("skipped", decision_order_counters, skipped,
		"ids of events that do not exist here"),
	COUNTER("late", decision_order_counters, late,
		"announcements and decisions that came after the turn of their event"),
	COUNTER("repeated", decision_order_counters, repeated,
		"further decisions about an event that is decided"),
	{ 0 },
};

static const struct metric stream_metrics[] = {
	COUNTER("records", decision_stream_counters, records, "decisions written or sent"),
	COUNTER("lost", decision_stream_counters, lost,
		"decisions that could not be written or sent"),
	COUNTER("pauses", decision_stream_counters, pauses,
		"times that the file could not be written, or groups held all slots of the ring"),
	{ 0 },
};

static const char *node_of(const struct cluster_system *system, unsigned results)
{
	return system->nodes[system->results[results].node].name;
}

static void view_results(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct results_view view;
	const struct config_results *results = &appliance->config->results[index];
	const bool is_sent = config_results_are_sent(appliance->config, results);
	const struct role *role = appliance_role(
	    appliance, is_sent ? CONFIG_ROLE_RESULTS_SENDER : CONFIG_ROLE_RESULTS, index);

	view = (struct results_view){ 0 };
	if (results->system > 0)
		control_role_decisions(appliance_control(appliance), results->system - 1,
				       &view.flow);
	bases[0] = results;
	bases[1] = &view;
	if (is_sent) {
		view.to = node_of(&appliance->config->cluster, results->system - 1);
		view.held = results_sender_role_waiting(role);
		return;
	}
	if (results_role_ring(role) != NULL)
		view.blocks_held = evring_outstanding(results_role_ring(role));
	view.reads = results_role_reads(role);
	view.to = results_role_path(role);
	view.held = results_role_held(role);
	bases[2] = results_role_order(role);
	bases[3] = results_role_stream(role);
}

static const void *view_consumers(const struct appliance *appliance, unsigned index, unsigned n)
{
	static _Thread_local struct evring_group_state state;
	const struct role *role = appliance_role(appliance, CONFIG_ROLE_RESULTS, index);
	const struct evring *ring = role != NULL ? results_role_ring(role) : NULL;

	return ring != NULL && evring_group(ring, n, &state) ? &state : NULL;
}

const struct telemetry_group telemetry_results = {
	.name = "results",
	.things = "results roles",
	.help = "A results role: decisions in the order of events",
	.note = "The groups are those of the event ring, whose events are blocks of decisions.",
	.tables = { results_metrics, view_metrics, order_metrics, stream_metrics },
	.nested = "group",
	.nested_table = metric_consumers,
	.n_nested = EVRING_MAX_GROUPS,
	.view = view_results,
	.view_nested = view_consumers,
};

// --- the decisions of a node, on the node that writes them ---

struct node_view {
	char name[2 * EVB_NAME_SIZE];
	const char *node;
	uint64_t received;
};

static const struct metric node_metrics[] = {
	TEXT("name", node_view, name, "results and node"),
	TEXT("node", node_view, node, "node whose consumers decided"),
	COUNTER("received", node_view, received, "decisions received, repeated ones included"),
	{ 0 },
};

static void fill(struct node_view *view, const struct appliance *appliance, unsigned results,
		 unsigned node)
{
	const struct cluster_system *system = &appliance->config->cluster;

	snprintf(view->name, sizeof(view->name), "%s/%s", system->results[results].name,
		 system->nodes[node].name);
	view->node = system->nodes[node].name;
	view->received = counter_read(&appliance->inboxes[results]->received[node]);
}

static void view_node(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct node_view view;
	const struct cluster_system *system = &appliance->config->cluster;

	for (unsigned i = 0; i < system->n_results; i++)
		for (unsigned n = 0; appliance->inboxes[i] != NULL && n < system->n_nodes; n++) {
			if (system->nodes[n].n_builders == 0 || n == system->self ||
			    system->results[i].is_from_ring || index-- > 0)
				continue;
			fill(&view, appliance, i, n);
			bases[0] = &view;
			return;
		}
}

const struct telemetry_group telemetry_results_node = {
	.name = "results_node",
	.things = "nodes whose decisions are written here",
	.help = "Decisions of another node, in the results of the system",
	.tables = { node_metrics },
	.view = view_node,
};
