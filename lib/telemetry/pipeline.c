// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Lcores, which run roles, and the links between roles.
#include "telemetry/group.h"

#include "pipeline/link.h"

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

static const struct metric time_metrics[] = {
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
	.note = "`busy_cycles + idle_cycles + backpressured_cycles` is the time since the launch.",
	.tables = { lcore_metrics, roles_metrics, time_metrics },
	.view = view_lcore,
};

struct link_view {
	uint64_t id, used;
};

static const struct metric id_metrics[] = {
	NUMBER("id", link_view, id, "number of the link"),
	{ 0 },
};

static const struct metric link_metrics[] = {
	LABEL("producer", link, producer, "role that puts segments in"),
	LABEL("consumer", link, consumer,
	      "role that takes segments out: the slow role of a full link"),
	GAUGE("lossless", link, lossless,
	      "1 if a full link holds its producer back, 0 if it drops"),
	GAUGE("depth", link, depth, "capacity in entries"),
	{ 0 },
};

static const struct metric used_metrics[] = {
	GAUGE("used", link_view, used, "entries now"),
	{ 0 },
};

static const struct metric counter_metrics[] = {
	GAUGE("highest", link, counters.highest, "most entries seen"),
	COUNTER("enqueued", link, counters.enqueued, "segments put in"),
	COUNTER("full", link, counters.full, "polls in which the producer found the link full"),
	COUNTER("dropped", link, counters.dropped,
		"segments that a full link dropped, also in segment_drop_link_full"),
	{ 0 },
};

static void view_link(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct link_view view;
	const struct link *link = appliance->links[index];

	view = (struct link_view){ index, rte_ring_count(link->ring) };
	bases[0] = bases[2] = &view;
	bases[1] = bases[3] = link;
}

const struct telemetry_group telemetry_link = {
	.name = "link",
	.things = "links",
	.help = "A link: its ends, and how full it is",
	.tables = { id_metrics, link_metrics, used_metrics, counter_metrics },
	.view = view_link,
};
