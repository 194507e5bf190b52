// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The event manager, on its node: its totals, and the builders of the system as it knows them.
#include "telemetry/group.h"

#include <stdio.h>

#include "cluster/manager.h"

#define THOUSANDTHS 1000

// --- the totals ----------------------------------------------------------------------------------

struct sched_totals {
	const char *node, *state;
	struct cluster_manager_view manager;
	char scarce[2 * EVB_NAME_SIZE];
};

static const char *const run_states[] = { "idle",     "configured", "ready",  "running", "paused",
					  "draining", "stopped",    "failed", NULL };

static const struct metric total_metrics[] = {
	TEXT("node", sched_totals, node, "node of the event manager"),
	STATE("state", sched_totals, state, run_states, "state of the run"),
	NUMBER("run_number", sched_totals, manager.run, "number of the run, 0 before the first"),
	GAUGE("nodes", sched_totals, manager.n_nodes, "nodes of the system"),
	GAUGE("nodes_registered", sched_totals, manager.n_registered, "nodes that have registered"),
	GAUGE("events_announced", sched_totals, manager.announced,
	      "events that all sources have announced, from event 0 on"),
	GAUGE("events_released", sched_totals, manager.released,
	      "events finished, from event 0 on"),
	GAUGE("events_outstanding", sched_totals, manager.outstanding,
	      "events granted and not finished"),
	GAUGE("events_waiting", sched_totals, manager.waiting, "events announced and not granted"),
	GAUGE("level", sched_totals, manager.level,
	      "bits 0 to 3: waiting events fill 25, 50, 75, 87.5 % of the queue"),
	GAUGE("throttled", sched_totals, manager.throttled, "1 while announcements are throttled"),
	COUNTER("events_complete", sched_totals, manager.complete, "events built complete"),
	COUNTER("events_incomplete", sched_totals, manager.incomplete, "events built incomplete"),
	COUNTER("events_discarded", sched_totals, manager.discarded,
		"incomplete events that builders discarded"),
	COUNTER("blocks_missing", sched_totals, manager.missing,
		"sources missing in incomplete events"),
	COUNTER("events_repeated", sched_totals, manager.repeated,
		"events built and flagged because consumers may already have them"),
	GAUGE("builders_in_doubt", sched_totals, manager.in_doubt,
	      "silent nodes whose events wait for them"),
	COUNTER("nodes_excluded", sched_totals, manager.excluded, "exclusions of silent nodes"),
	COUNTER("records_stale", sched_totals, manager.stale, "records of outdated attempts"),
	COUNTER("grants_held", sched_totals, manager.grants_held,
		"polls without grants because a node's window is full"),
	TEXT("scarce", sched_totals, scarce,
	     "slow builder, which holds most of its slots, and for more than twice as long as the "
	     "others do, or none"),
	{ 0 },
};

static const struct metric grant_metrics[] = {
	COUNTER("grants", sched_counters, grants, "grants"),
	COUNTER("regrants", sched_counters, regrants, "repeated grants of an event"),
	COUNTER("requeued", sched_counters, requeued,
		"events recovered from builders that were excluded or restarted"),
	COUNTER("credits_taken", sched_counters, credits[SCHED_OK], "valid credits"),
	COUNTER("credits_duplicate", sched_counters, credits[SCHED_DUPLICATE], "duplicate credits"),
	COUNTER("credits_stale", sched_counters, credits[SCHED_STALE], "outdated credits"),
	COUNTER("credits_unknown", sched_counters, credits[SCHED_UNKNOWN],
		"credits of unknown builders or slots"),
	COUNTER("credits_purged", sched_counters, purged_credits,
		"credits lost with the session of their builder"),
	COUNTER("skips", sched_counters, skips,
		"round-robin only: turns of builders without a credit"),
	COUNTER("relaxed", sched_counters, relaxed,
		"grants with a reduced distance of congestion groups"),
	COUNTER("relaxed_steps", sched_counters, relaxed_steps,
		"steps by which that distance was reduced"),
	COUNTER("strict_timeouts", sched_counters, strict_timeouts,
		"strict round-robin only: turns given up"),
	COUNTER("rounds", sched_counters, rounds, "rounds of sending begun"),
	COUNTER("empty_positions", sched_counters, empty_positions,
		"positions of rounds without an event"),
	COUNTER("pauses", sched_counters, pauses, "pauses of builders' ports"),
	COUNTER("cuts", sched_counters, cuts,
		"cuts of a builder's rate because its port was congested"),
	COUNTER("stalls_no_credit", sched_counters, stalls_no_credit,
		"stalls, polls with events waiting, because no builder had a credit"),
	COUNTER("stalls_blocked", sched_counters, stalls_blocked,
		"stalls because builders with credits were paused or at their rate or window"),
	COUNTER("stalls_group", sched_counters, stalls_group,
		"stalls because of the distance of groups or a strict turn"),
	COUNTER("stalls_round", sched_counters, stalls_round, "stalls until the next round"),
	COUNTER("stalls_window", sched_counters, stalls_window,
		"stalls because too many events are unfinished"),
	{ 0 },
};

static void name_scarce(const struct appliance *appliance, struct sched_totals *view)
{
	const struct cluster_system *cluster = &appliance->config->cluster;
	const struct cluster_system_builder *builder;
	struct sched_slow slow = { 0 };

	for (unsigned i = 0; i < cluster->n_builders; i++) {
		struct sched_builder_view one;

		control_role_builder(appliance_control(appliance), i, &one);
		sched_slow_add(&slow, i, &one);
	}
	if (!sched_slow_is_found(&slow))
		return;
	builder = &cluster->builders[slow.builder];
	snprintf(view->scarce, sizeof(view->scarce), "%s.%s", cluster->nodes[builder->node].name,
		 builder->name);
}

// An elected manager comes into office and leaves it.
static bool may_manage(const struct appliance *appliance)
{
	const struct cluster_system *cluster = &appliance->config->cluster;

	return cluster->n_nodes > 0 && cluster->nodes[cluster->self].manager;
}

static void view_manager(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct sched_totals view;
	static _Thread_local struct sched_counters counters;
	const struct cluster_system *cluster = &appliance->config->cluster;
	const struct role *manager = appliance_control(appliance);

	(void)index;
	view =
	    (struct sched_totals){ .node = cluster->nodes[cluster->self].name, .scarce = "none" };
	control_role_manager_view(manager, &view.manager);
	control_role_sched_counters(manager, &counters);
	view.state = ctrl_run_state_name(view.manager.state);
	name_scarce(appliance, &view);
	bases[0] = &view;
	bases[1] = &counters;
}

const struct telemetry_group telemetry_sched = {
	.name = "sched",
	.things = "event managers",
	.help = "The event manager: events, grants, and what they wait for",
	.note = "On the node of the event manager only. Values are up to 10 ms old.",
	.tables = { total_metrics, grant_metrics },
	.view = view_manager,
	.comes_and_goes = may_manage,
};

// --- the builders --------------------------------------------------------------------------------

struct credits_view {
	char name[2 * EVB_NAME_SIZE];
	uint64_t number, group, rate_share, paused_share, oldest_event, oldest_ns;
	struct sched_builder_view builder;
};

static const struct metric credits_metrics[] = {
	TEXT("name", credits_view, name, "node and name of the builder"),
	NUMBER("number", credits_view, number, "number of the builder in the system"),
	NUMBER("group", credits_view, group, "congestion group of the builder"),
	GAUGE("registered", credits_view, builder.registered, "1 if registered"),
	GAUGE("excluded", credits_view, builder.excluded, "1 if excluded"),
	GAUGE("paused", credits_view, builder.paused, "1 while the builder's port is paused"),
	GAUGE("slots", credits_view, builder.slots, "slots registered by the builder"),
	GAUGE("free", credits_view, builder.free, "credits of the builder: slots known as free"),
	GAUGE("granted", credits_view, builder.granted, "events in flight to the builder"),
	GAUGE("in_flight_bytes", credits_view, builder.in_flight_bytes,
	      "estimated bytes on the wire of the events in flight"),
	GAUGE("window_bytes", credits_view, builder.window,
	      "most bytes in flight to all builders of its node, 0 if not limited"),
	GAUGE("rate_bytes", credits_view, builder.rate,
	      "rate of grants to all builders of its node, bytes/s, 0 if not limited"),
	GAUGE("rate_permille", credits_view, rate_share,
	      "rate, in thousandths of the rate without congestion"),
	GAUGE("paused_permille", credits_view, paused_share,
	      "share of the last heartbeat with a paused port, in thousandths"),
	GAUGE("event_bytes", credits_view, builder.mean_bytes,
	      "running mean of an event's size on the wire"),
	GAUGE("slot_ns", credits_view, builder.slot_ns,
	      "mean time from the grant of a slot to its credit, of the last second, or 0"),
	COUNTER("grants", credits_view, builder.grants, "events granted to the builder"),
	COUNTER("skips", credits_view, builder.skips, "round-robin only: turns without a grant"),
	GAUGE("oldest_event", credits_view, oldest_event,
	      "number of the builder's oldest event in flight, or 0"),
	GAUGE("oldest_ns", credits_view, oldest_ns,
	      "time since the grant of the builder's oldest event in flight, or 0"),
	{ 0 },
};

static void view_credits(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct credits_view view;
	const struct cluster_system *cluster = &appliance->config->cluster;
	const struct role *control = appliance_control(appliance);
	uint64_t now = control_role_now(control);
	struct sched_builder_view *builder = &view.builder;

	view = (struct credits_view){
		.number = index,
		.group = cluster->builders[index].group,
	};
	snprintf(view.name, sizeof(view.name), "%s.%s",
		 cluster->nodes[cluster->builders[index].node].name, cluster->builders[index].name);
	control_role_builder(control, index, builder);
	view.rate_share = (uint64_t)(builder->rate_share * THOUSANDTHS);
	view.paused_share = (uint64_t)(builder->paused_share * THOUSANDTHS);
	if (builder->oldest_event != SCHED_NEVER) {
		view.oldest_event = builder->oldest_event;
		view.oldest_ns = now > builder->oldest_since ? now - builder->oldest_since : 0;
	}
	bases[0] = &view;
}

const struct telemetry_group telemetry_credits = {
	.name = "credits",
	.things = "builders of the system",
	.help = "A builder as the event manager knows it: credits, rate, pauses",
	.note = "On the node of the event manager only. Values are up to 10 ms old.",
	.tables = { credits_metrics },
	.view = view_credits,
	.comes_and_goes = may_manage,
};
