// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/group.h"

#include "record/results_role.h"

struct results_view {
	const char *to;
	uint64_t held;
};

static const struct metric results_metrics[] = {
	TEXT("name", config_results, name, "name of the results role"),
	TEXT("group", config_results, group, "deciding group whose decisions it writes"),
	{ 0 },
};

static const struct metric view_metrics[] = {
	TEXT("to", results_view, to, "file or UDP address of the decisions"),
	GAUGE("held", results_view, held, "events that wait for their turn"),
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
		"ids of events that this node does not have"),
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
		"times that the file could not be written"),
	{ 0 },
};

static void view_results(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct results_view view;
	const struct role *role = telemetry_find_role(appliance, CONFIG_ROLE_RESULTS, index);

	view = (struct results_view){ results_role_path(role), results_role_held(role) };
	bases[0] = &appliance->config->results[index];
	bases[1] = &view;
	bases[2] = results_role_order(role);
	bases[3] = results_role_stream(role);
}

const struct telemetry_group telemetry_results = {
	.name = "results",
	.things = "results roles",
	.help = "A results role: decisions in the order of events",
	.tables = { results_metrics, view_metrics, order_metrics, stream_metrics },
	.view = view_results,
};
