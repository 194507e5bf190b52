// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/group.h"

#include "builder/assembly.h"
#include "builder/builder_role.h"
#include "telemetry/shared_metrics.h"

struct builder_view {
	const char *name, *ring;
	uint64_t hugepages, slots, slot_bytes, slots_free, events_open, events_held;
};

static const struct metric builder_metrics[] = {
	TEXT("name", builder_view, name, "name of the builder"),
	TEXT("ring", builder_view, ring, "file of the event ring"),
	GAUGE("hugepages", builder_view, hugepages, "1 if the event ring lies on hugepages"),
	GAUGE("slots", builder_view, slots, "slots of the event ring"),
	GAUGE("slot_bytes", builder_view, slot_bytes, "size of a slot"),
	GAUGE("slots_free", builder_view, slots_free,
	      "slots used neither by the builder nor by consumers"),
	GAUGE("events_open", builder_view, events_open, "events under construction"),
	GAUGE("events_held", builder_view, events_held,
	      "events published and not yet released by all consumers"),
	{ 0 },
};

#define EVENTS(name) events_##name
#define BLOCKS(name) blocks_##name

static const struct metric assembly_metrics[] = {
	COUNTER("segments_received", assembly_counters, segments, "segments received over links"),
	COUNTER("segments_placed", assembly_counters, placed, "segments copied to their slot"),
	COUNTER("segments_placed_bytes", assembly_counters, placed_bytes,
		"payload of the segments copied to their slot"),
	CAUSES("segment_drop", assembly_counters, drops, metric_segment_causes,
	       "segments dropped, by cause"),
	EVENT_METRICS(assembly_counters, EVENTS),
	COUNTER("events_ends_of_run", assembly_counters, ends_of_run, "end-of-run events"),
	BLOCK_METRICS(assembly_counters, BLOCKS),
	COUNTER("bytes_built", assembly_counters, bytes_built, "bytes of published events (MEPs)"),
	{ 0 },
};

// Of a timed shift.
static const struct metric window_metrics[] = {
	COUNTER("windows", window_watch_counters, windows,
		"timed-shift: windows in which data of other nodes arrived"),
	COUNTER("window_conflicts", window_watch_counters, conflicts,
		"timed-shift: of these, windows with data of several nodes"),
	{ 0 },
};

static const struct metric latency_metrics[] = {
	LATENCY("latency_complete", assembly_latency, complete,
		"time from the first segment of a complete event to its completion"),
	LATENCY("latency_released", assembly_latency, released,
		"time from the first segment of an event to its release by all consumers"),
	{ 0 },
};

const struct metric metric_consumers[] = {
	TEXT("name", evring_group_state, name, "name of the group of consumers"),
	GAUGE("configured", evring_group_state, persistent,
	      "1 if configured, 0 if a consumer made the group"),
	GAUGE("members", evring_group_state, members, "consumers in the group"),
	GAUGE("lag", evring_group_state, lag, "events published and not yet delivered"),
	COUNTER("delivered", evring_group_state, delivered, "events delivered to members"),
	COUNTER("released", evring_group_state, released, "events released by members"),
	COUNTER("regained", evring_group_state, regained,
		"events recovered from members that died"),
	{ 0 },
};

static void view_builder(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct builder_view view;
	const struct role *role = appliance_role(appliance, CONFIG_ROLE_BUILDER, index);
	const struct assembly *assembly = builder_role_assembly(role);
	const struct evring *ring = appliance->rings[index];

	view = (struct builder_view){
		.name = appliance->config->builders[index].name,
		.ring = evring_path(ring),
		.hugepages = evring_on_hugepages(ring),
		.slots = evring_slots(ring),
		.slot_bytes = evring_slot_size(ring),
		.slots_free = assembly_free_slots(assembly),
		.events_open = assembly_open_events(assembly),
		.events_held = evring_outstanding(ring),
	};
	bases[0] = &view;
	bases[1] = assembly_counters(assembly);
	bases[2] = assembly_latency(assembly);
	bases[3] = builder_role_windows(role);
}

static const void *view_consumers(const struct appliance *appliance, unsigned index, unsigned n)
{
	static _Thread_local struct evring_group_state state;

	return evring_group(appliance->rings[index], n, &state) ? &state : NULL;
}

const struct telemetry_group telemetry_builder = {
	.name = "builder",
	.things = "builders",
	.help = "A builder: slots, events, latency, and the groups of its event ring",
	.note =
	    "The groups are those of all consumers, with `evb record` and writers. Numbers may be\n"
	    "missing between them.",
	.tables = { builder_metrics, assembly_metrics, latency_metrics, window_metrics },
	.nested = "group",
	.nested_table = metric_consumers,
	.n_nested = EVRING_MAX_GROUPS,
	.view = view_builder,
	.view_nested = view_consumers,
};
