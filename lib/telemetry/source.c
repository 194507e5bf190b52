// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/group.h"

#include "appliance/account.h"

static const struct metric source_metrics[] = {
	NUMBER("id", account_source, id, "id of the source"),
	COUNTER("segments_received", account_source, segments, "segments recognised by rx"),
	COUNTER("segments_placed", account_source, built.placed, "segments copied to their slot"),
	COUNTER("segments_placed_bytes", account_source, built.placed_bytes,
		"payload of the segments copied to their slot"),
	CAUSES("segment_drop", account_source, built.drops, metric_segment_causes,
	       "segments dropped, by cause"),
	COUNTER("blocks_whole", account_source, built.blocks, "blocks (MFPs) that arrived whole"),
	COUNTER("blocks_malformed", account_source, built.malformed,
		"whole blocks that are not a valid MFP"),
	COUNTER("blocks_missing", account_source, built.missing,
		"events closed without a whole block of the source"),
	{ 0 },
};

static void view_source(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct account_source view;

	account_take_source(appliance, index, &view);
	bases[0] = &view;
}

const struct telemetry_group telemetry_source = {
	.name = "source",
	.things = "expected sources",
	.help = "A source: what arrived, and what is missing",
	.note = "Ids are decimal. Segments that are malformed, or of unknown or unexpected "
		"sources, are not\n"
		"counted here.",
	.tables = { source_metrics },
	.view = view_source,
};
