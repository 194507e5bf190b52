// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/group.h"

#include <stdio.h>

#include "appliance/account.h"

struct decision_view {
	const char *group, *undecided_as;
	struct account_decisions sums;
};

static const char *line_name(unsigned line)
{
	static _Thread_local char text[4];

	snprintf(text, sizeof(text), "%u", line % 64);
	return text;
}

static const struct metric_causes lines = { EVRING_N_LINES, line_name };

static const struct metric decision_metrics[] = {
	TEXT("name", decision_view, group, "name of the deciding group"),
	TEXT("undecided_as", decision_view, undecided_as,
	     "what undecided events count as: accept or reject"),
	GAUGE("members", decision_view, sums.members, "consumers in the group"),
	COUNTER("published", decision_view, sums.published, "events published to the group"),
	COUNTER("accepted", decision_view, sums.accepted, "events accepted by members"),
	COUNTER("rejected", decision_view, sums.rejected, "events rejected by members"),
	COUNTER("undecided", decision_view, sums.undecided, "events that no member decided about"),
	GAUGE("held", decision_view, sums.held,
	      "events that are not decided or not released by all consumers yet"),
	LATENCY("time_to_decide", decision_view, sums.time,
		"time from the completion of an event to its decision"),
	CAUSES("line", decision_view, sums.lines, lines,
	       "events with this bit in the lines of the decision"),
	{ 0 },
};

static void view_decision(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct decision_view view;

	if (!account_take_decisions(appliance, index, &view.sums))
		return;
	view.group = view.sums.group->name;
	view.undecided_as =
	    view.sums.group->undecided == CONFIG_UNDECIDED_REJECT ? "reject" : "accept";
	bases[0] = &view;
}

const struct telemetry_group telemetry_decision = {
	.name = "decision",
	.things = "deciding groups",
	.help = "A group of consumers that decides about events",
	.note = "An event is counted when all consumers have released it: published = accepted +\n"
		"rejected + undecided + held.",
	.tables = { decision_metrics },
	.view = view_decision,
};
