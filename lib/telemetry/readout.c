// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The generators of a node of a system, which send what the event manager grants.
#include "telemetry/group.h"

#include "node/readout_role.h"
#include "store/port_store.h"
#include "store/ring_store.h"

static const struct metric readout_metrics[] = {
	TEXT("name", config_generator, name, "name of the generator"),
	TEXT("port", config_generator, port, "port that the generator sends on"),
	{ 0 },
};

static const struct metric sent_metrics[] = {
	COUNTER("events", readout_counters, events, "events sent, once per grant"),
	COUNTER("blocks", readout_counters, blocks, "blocks (MFPs) sent"),
	COUNTER("segments", readout_counters, segments, "segments made"),
	COUNTER("payload_bytes", readout_counters, payload_bytes, "payload of the segments made"),
	COUNTER("local_segments", readout_counters, local_segments,
		"segments for builders of the same node"),
	COUNTER("no_buffer", readout_counters, no_buffer, "polls without a free mbuf"),
	COUNTER("link_full", readout_counters, link_full,
		"polls without room in the link to a builder of the same node"),
	COUNTER("held_pause", readout_counters, held_pause,
		"polls in which a pause held data back"),
	COUNTER("held_pace", readout_counters, held_pace,
		"polls in which the granted rate held data back"),
	COUNTER("held_window", readout_counters, held_window,
		"timed-shift: polls in which all events that wait were for other windows"),
	COUNTER("interrupted", readout_counters, interrupted,
		"timed-shift: events that did not end in their window"),
	COUNTER("held_phase", readout_counters, held_phase,
		"polls in which phase_barrier held the next phase"),
	COUNTER("phase_timeouts", readout_counters, phase_timeouts,
		"phases that began after their longest wait for phase_barrier"),
	COUNTER("unreachable", readout_counters, unreachable,
		"events not sent because the Ethernet address of their builder is unknown"),
	COUNTER("gone", readout_counters, gone, "grants of events that are finished or unknown"),
	COUNTER("full", readout_counters, full,
		"times that a full buffer stopped the announcements"),
	COUNTER("throttled", readout_counters, throttled,
		"polls in which the event manager throttled announcements"),
	{ 0 },
};

// Of readouts that send by RoCE.
static const struct metric roce_metrics[] = {
	GAUGE("builders_connected", readout_roce_counters, sender.connected,
	      "RoCE: connected builders of other nodes"),
	COUNTER("connections_lost", readout_roce_counters, sender.lost,
		"RoCE: connections that the readout did not end itself"),
	COUNTER("messages_completed", readout_roce_counters, sender.completed,
		"RoCE: messages acknowledged"),
	COUNTER("messages_failed", readout_roce_counters, sender.failed,
		"RoCE: messages lost with their connection"),
	COUNTER("events_withdrawn", readout_roce_counters, withdrawn,
		"RoCE: events withdrawn before they were sent to their builder"),
	COUNTER("icrc_errors", readout_roce_counters, sender.icrc_errors,
		"RoCE: responses with a wrong ICRC"),
	COUNTER("unknown_qp", readout_roce_counters, sender.unknown_qp,
		"RoCE: responses to an unknown queue pair"),
	COUNTER("cnps", readout_roce_counters, sender.cnps, "RoCE: congestion notifications"),
	{ 0 },
};

// Of blocks that come during the run.
static const struct metric store_metrics[] = {
	GAUGE("store_events", block_store_counters, events,
	      "events of which the block store holds at least one block"),
	COUNTER("store_missing", block_store_counters, missing,
		"blocks that did not come in time: error MFPs replace them, or nothing"),
	COUNTER("store_late", block_store_counters, late,
		"blocks that came after their event was announced, or twice; not sent"),
	COUNTER("store_unknown", block_store_counters, unknown,
		"blocks with an event id that belongs to no event; not sent"),
	COUNTER("store_again", block_store_counters, again,
		"built events sent again because the next stage discarded them"),
	COUNTER("store_given_up", block_store_counters, given_up,
		"built events that the next stage discarded as often as they may be sent: once "
		"if they keep their ids, otherwise 4 times"),
	{ 0 },
};

// Of kind port.
static const struct metric port_metrics[] = {
	COUNTER("boards_segments", block_assembly_counters, segments, "segments that boards sent"),
	COUNTER("boards_placed", block_assembly_counters, placed,
		"segments of boards copied to their block"),
	COUNTER("boards_placed_bytes", block_assembly_counters, placed_bytes,
		"payload of the segments of boards copied to their block"),
	CAUSES("boards_drop", block_assembly_counters, drops, metric_segment_causes,
	       "segments of boards dropped by the block store, by cause"),
	COUNTER("boards_blocks", block_assembly_counters, blocks,
		"blocks of boards that arrived whole"),
	COUNTER("boards_malformed", block_assembly_counters, malformed,
		"whole blocks of boards that are not a valid MFP, replaced by error MFPs"),
	{ 0 },
};

static const struct metric memory_metrics[] = {
	GAUGE("boards_level", block_memory, level, "used memory of the block store, in 1/1000"),
	COUNTER("boards_reached_250", block_memory, reached[0],
		"times that boards_level rose to 250"),
	COUNTER("boards_reached_500", block_memory, reached[1],
		"times that boards_level rose to 500"),
	COUNTER("boards_reached_750", block_memory, reached[2],
		"times that boards_level rose to 750"),
	COUNTER("boards_reached_875", block_memory, reached[3],
		"times that boards_level rose to 875"),
	{ 0 },
};

// Of kind producer.
static const struct metric ring_metrics[] = {
	GAUGE("ring_size_bytes", ring_store_fill, size, "room of the producer ring"),
	GAUGE("ring_used_bytes", ring_store_fill, used,
	      "room of the producer ring that blocks take until their release"),
	GAUGE("ring_highest_bytes", ring_store_fill, highest,
	      "highest value of ring_used_bytes since the start"),
	{ 0 },
};

static void view_readout(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	const struct role *role = appliance_role(appliance, CONFIG_ROLE_READOUT, index);
	const struct readout_roce *roce = readout_role_roce(role);

	bases[0] = &appliance->config->generators[index];
	bases[1] = readout_role_counters(role);
	bases[2] = roce != NULL ? readout_roce_counters(roce) : NULL;
	bases[3] = &appliance->stores[index]->counters;
	bases[6] = ring_store_fill(appliance->stores[index]);
	if (!port_store_is(appliance->stores[index]))
		return;
	bases[4] = port_store_counters(appliance->stores[index]);
	bases[5] = port_store_memory(appliance->stores[index]);
}

const struct telemetry_group telemetry_readout = {
	.name = "readout",
	.things = "readouts",
	.help = "A generator of a node of a system: what it sent, and what held it back",
	.note = "`boards_` are of kind `port` only, `ring_` of kind `producer`.",
	.tables = { readout_metrics, sent_metrics, roce_metrics, store_metrics, port_metrics,
		    memory_metrics, ring_metrics },
	.view = view_readout,
};
