// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/group.h"

static const struct metric lcore_metrics[] = {
	NUMBER("lcore", lcore, id, "number in DPDK"),
	NUMBER("cpu", lcore, cpu, "CPU that the lcore runs on"),
	{ 0 },
};

struct roles_view {
	struct metric_texts roles;
};

static const struct metric roles_metrics[] = {
	TEXTS("roles", roles_view, roles, "roles in the order in which they run"),
	{ 0 },
};

static const struct metric state_metrics[] = {
	GAUGE("adaptive", lcore, adaptive, "1 if an idle lcore yields and sleeps, 0 if it polls"),
	GAUGE("running", lcore, running, "1 if the lcore runs"),
	COUNTER("loops", lcore, counters.loops, "loops over all roles of the lcore"),
	COUNTER("sleeps", lcore, counters.sleeps, "sleeps of an idle lcore"),
	COUNTER("busy_cycles", lcore, counters.busy_cycles, "cycles of loops with work"),
	COUNTER("idle_cycles", lcore, counters.idle_cycles, "cycles of empty loops and sleeps"),
	COUNTER("backpressured_cycles", lcore, counters.backpressured_cycles,
		"cycles of loops that waited for the next role"),
	{ 0 },
};

static void view_lcore(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct roles_view view;
	const struct lcore *lcore = &appliance->lcores[index];

	view.roles.n = lcore->n_roles;
	for (unsigned i = 0; i < lcore->n_roles; i++)
		view.roles.texts[i] = lcore->roles[i]->name;
	bases[0] = bases[2] = lcore;
	bases[1] = &view;
}

const struct telemetry_group telemetry_lcore = {
	.name = "lcore",
	.things = "lcores",
	.help = "An lcore: roles, and how it spends its time",
	.note =
	    "`busy_cycles + idle_cycles + backpressured_cycles` is the time since the launch. An "
	    "lcore\n"
	    "with a busy share near 1 is the bottleneck; a backpressured one waits for another.",
	.tables = { lcore_metrics, roles_metrics, state_metrics },
	.view = view_lcore,
};
