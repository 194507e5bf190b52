// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/group.h"

#include "rx/rx_role.h"

struct role_view {
	const char *name, *kind;
	uint64_t lcore, cpu, drained;
};

static const struct metric role_metrics[] = {
	TEXT("name", role_view, name, "name of the role, KIND.OBJECT"),
	TEXT("kind", role_view, kind, "kind of role: rx, builder, source, writer, ..."),
	NUMBER("lcore", role_view, lcore, "lcore that the role runs on"),
	NUMBER("cpu", role_view, cpu, "CPU of that lcore"),
	GAUGE("drained", role_view, drained, "1 once the role has finished"),
	{ 0 },
};

static const struct metric role_counter_metrics[] = {
	COUNTER("polls", role_counters, polls, "polls by the lcore"),
	COUNTER("empty_polls", role_counters, empty_polls, "empty polls"),
	COUNTER("items", role_counters, items, "packets, segments or events processed"),
	COUNTER("busy_cycles", role_counters, busy_cycles, "cycles of polls with work"),
	COUNTER("idle_cycles", role_counters, idle_cycles, "cycles of empty polls"),
	COUNTER("backpressured_cycles", role_counters, backpressured_cycles,
		"cycles of polls that waited for the next role"),
	{ 0 },
};

static const struct metric rx_metrics[] = {
	COUNTER("packets_received", rx_counters, packets, "packets received"),
	COUNTER("packets_received_bytes", rx_counters, bytes,
		"bytes of packets received, without FCS"),
	COUNTER("packets_arp", rx_counters, arp,
		"ARP packets, and IPv6 neighbour solicitations to which evb replied"),
	COUNTER("packets_icmp_echo", rx_counters, icmp_echo,
		"ICMP echo requests to which evb replied"),
	COUNTER("packets_other", rx_counters, other, "frames of other protocols"),
	COUNTER("checksums_unfinished", rx_counters, checksums_unfinished,
		"packets accepted with an unfinished UDP checksum"),
	GAUGE("packets_held", rx_counters, held,
	      "packets of a node that wait for room in links to builders"),
	CAUSES("packet_drop", rx_counters, packet_drops, metric_packet_causes,
	       "packets dropped, by cause"),
	COUNTER("segments_received", rx_counters, segments,
		"segments recognised among the packets"),
	CAUSES("segment_drop", rx_counters, segment_drops, metric_segment_causes,
	       "segments dropped, by cause"),
	{ 0 },
};

static void view_role(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct role_view view;
	const struct plan_role *planned = &appliance->plan->roles[index];
	const struct role *role = appliance->roles[index];

	view = (struct role_view){
		.name = role->name,
		.kind = role->operations->kind,
		.lcore = appliance->lcores[planned->lcore].id,
		.cpu = appliance->lcores[planned->lcore].cpu,
		.drained = atomic_load(&role->drained),
	};
	bases[0] = &view;
	bases[1] = &role->counters;
	if (planned->kind == CONFIG_ROLE_RX)
		bases[2] = rx_role_counters(role);
}

const struct telemetry_group telemetry_role = {
	.name = "role",
	.things = "roles",
	.help = "A role: place, time, and what an rx role received",
	.note =
	    "The time of a role is the time of its polls, without sleeps. Only rx roles have the "
	    "keys of\n"
	    "packets and segments.",
	.tables = { role_metrics, role_counter_metrics, rx_metrics },
	.view = view_role,
};
