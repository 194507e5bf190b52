// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/group.h"

#include "rdma/source_roles.h"
#include "tx/pcap_role.h"

struct generator_view {
	const char *name, *kind, *port;
	uint64_t finished;
};

static const struct metric generator_metrics[] = {
	TEXT("name", generator_view, name, "name of the generator"),
	TEXT("kind", generator_view, kind,
	     "kind of generator: synthetic, mdf, mfp, pcap, roce, producer or event_ring"),
	TEXT("port", generator_view, port, "port that the generator sends on"),
	GAUGE("finished", generator_view, finished, "1 once everything is sent"),
	{ 0 },
};

static const struct metric sender_metrics[] = {
	COUNTER("packets", sender_counters, packets, "packets passed to the port"),
	COUNTER("bytes", sender_counters, bytes,
		"bytes of packets passed to the port, without FCS"),
	COUNTER("lost", sender_counters, lost, "fault on demand: packets not sent"),
	COUNTER("duplicated", sender_counters, duplicated, "fault on demand: packets sent twice"),
	COUNTER("corrupted", sender_counters, corrupted,
		"fault on demand: packets sent with a changed byte"),
	COUNTER("reordered", sender_counters, reordered,
		"fault on demand: packets sent after a later one"),
	{ 0 },
};

static const struct metric source_role_metrics[] = {
	COUNTER("events", source_counters, events, "events sent by all its sources"),
	GAUGE("tick", source_counters, tick,
	      "tick of the event that is sent now or next: event number / packing"),
	COUNTER("blocks", source_counters, blocks, "blocks (MFPs) sent"),
	COUNTER("segments", source_counters, segments, "segments made"),
	COUNTER("payload_bytes", source_counters, payload_bytes, "payload of the segments made"),
	COUNTER("no_buffer", source_counters, no_buffer, "polls without a free mbuf"),
	{ 0 },
};

static const struct metric pcap_metrics[] = {
	COUNTER("packets_read", pcap_counters, packets, "packets read from the capture"),
	COUNTER("oversized", pcap_counters, oversized,
		"packets larger than the port's MTU, not sent"),
	COUNTER("truncated", pcap_counters, truncated,
		"packets cut short in the capture, not sent"),
	{ 0 },
};

static void view_generator(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static const char *const kinds[] = {
		[GENERATOR_SYNTHETIC] = "synthetic",
		[GENERATOR_MDF] = "mdf",
		[GENERATOR_MFP] = "mfp",
		[GENERATOR_PCAP] = "pcap",
		[GENERATOR_ROCE] = "roce",
		[GENERATOR_PRODUCER] = "producer",
		[GENERATOR_EVENT_RING] = "event_ring",
		[GENERATOR_PORT] = "port",
	};
	static _Thread_local struct generator_view view;
	const struct config_generator *generator = &appliance->config->generators[index];
	const struct role *role = appliance_role(appliance, CONFIG_ROLE_SOURCE, index);
	bool pcap = generator->kind == GENERATOR_PCAP;

	view = (struct generator_view){
		.name = generator->name,
		.kind = kinds[generator->kind],
		.port = generator->port,
		.finished = pcap ? pcap_role_finished(role) : any_source_finished(role),
	};
	bases[0] = &view;
	bases[1] = pcap ? pcap_role_sender_counters(role) : any_source_sender_counters(role);
	if (pcap)
		bases[3] = pcap_role_counters(role);
	else
		bases[2] = any_source_counters(role);
}

const struct telemetry_group telemetry_generator = {
	.name = "generator",
	.things = "generators",
	.help = "A generator: what it sent",
	.note =
	    "Only kind `pcap` has `packets_read`, `oversized` and `truncated`; it lacks `events` "
	    "and the five\nkeys behind it. Kind `roce` sends no ticks.",
	.tables = { generator_metrics, sender_metrics, source_role_metrics, pcap_metrics },
	.view = view_generator,
};
