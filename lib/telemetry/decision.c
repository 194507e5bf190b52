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

// --- the members of deciding groups ---

struct decision_member_view {
	char name[3 * EVB_NAME_SIZE];
	const char *group, *builder;
	uint32_t pid;
};

static const struct metric member_view_metrics[] = {
	TEXT("name", decision_member_view, name, "group, builder and number of the member"),
	TEXT("group", decision_member_view, group, "name of the deciding group"),
	TEXT("builder", decision_member_view, builder, "builder whose events it decides about"),
	NUMBER("pid", decision_member_view, pid, "process that is this member now, 0: none"),
	{ 0 },
};

static const struct metric member_metrics[] = {
	COUNTER("accepted", evring_member_decisions, accepted, "events that it accepted"),
	COUNTER("rejected", evring_member_decisions, rejected, "events that it rejected"),
	COUNTER("undecided", evring_member_decisions, undecided,
		"events that it released without a decision"),
	{ 0 },
};

// Whether a process is this member, or one was that has decided.
static bool is_member(const struct evring *ring, unsigned group,
		      const struct evring_decisions *counts, unsigned member)
{
	const struct evring_member_decisions *of = &counts->members[member];

	return evring_member_pid(ring, group, member) != 0 || counter_read(&of->accepted) > 0 ||
	       counter_read(&of->rejected) > 0 || counter_read(&of->undecided) > 0;
}

static void fill_member(struct decision_member_view *view, const struct appliance *appliance,
			unsigned builder, unsigned group, unsigned member)
{
	static _Thread_local struct evring_group_state state;

	(void)evring_group(appliance->rings[builder], group, &state);
	view->group = state.name;
	view->builder = appliance->config->builders[builder].name;
	view->pid = evring_member_pid(appliance->rings[builder], group, member);
	snprintf(view->name, sizeof(view->name), "%s/%s/%u", view->group, view->builder, member);
}

static void view_member(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct decision_member_view view;
	const struct evring_decisions *counts;
	unsigned group;

	for (unsigned b = 0; b < appliance->config->n_builders; b++) {
		const struct evring *ring = appliance->rings[b];

		for (unsigned d = 0;
		     ring != NULL && (counts = evring_decisions(ring, d, &group)) != NULL; d++)
			for (unsigned m = 0; m < EVRING_MAX_MEMBERS; m++) {
				if (!is_member(ring, group, counts, m) || index-- > 0)
					continue;
				fill_member(&view, appliance, b, group, m);
				bases[0] = &view;
				bases[1] = &counts->members[m];
				return;
			}
	}
}

static bool has_deciders(const struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->config->n_groups; i++)
		if (appliance->config->groups[i].decides)
			return true;
	return false;
}

const struct telemetry_group telemetry_decision_member = {
	.name = "decision_member",
	.things = "members of deciding groups",
	.help = "A consumer that decides about the events of a builder",
	.note =
	    "An event is counted when all consumers have released it. The next process that gets\n"
	    "the number of a member that has ended counts on.",
	.tables = { member_view_metrics, member_metrics },
	.comes_and_goes = has_deciders,
	.view = view_member,
};

const struct telemetry_group telemetry_decision = {
	.name = "decision",
	.things = "deciding groups",
	.help = "A group of consumers that decides about events",
	.note = "An event is counted when all consumers have released it: published = accepted +\n"
		"rejected + undecided + held.",
	.tables = { decision_metrics },
	.view = view_decision,
};
