// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The builders of the system as the event manager knows them, on its node.
#include "telemetry/group.h"

#include <stdio.h>

#include "cluster/manager.h"

#define THOUSANDTHS 1000

struct credits_view {
	const char *name;
	uint64_t number, group, rate_share, paused_share, oldest_event, oldest_ns;
	struct sched_builder_view builder;
	char name_text[2 * EVB_NAME_SIZE];
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
	      "most bytes in flight, 0 if not limited"),
	GAUGE("rate_bytes", credits_view, builder.rate,
	      "rate of grants in bytes/s on the wire, 0 if not limited"),
	GAUGE("rate_permille", credits_view, rate_share,
	      "rate, in thousandths of the rate without congestion"),
	GAUGE("paused_permille", credits_view, paused_share,
	      "share of the last heartbeat with a paused port, in thousandths"),
	GAUGE("event_bytes", credits_view, builder.mean_bytes,
	      "running mean of an event's size on the wire"),
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
		.name = view.name_text,
		.number = index,
		.group = cluster->builders[index].group,
	};
	snprintf(view.name_text, sizeof(view.name_text), "%s.%s",
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
};
