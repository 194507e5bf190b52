// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/group.h"

#include "pipeline/link.h"

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
	.note = "Where `full` grows, the consumer is too slow.",
	.tables = { id_metrics, link_metrics, used_metrics, counter_metrics },
	.view = view_link,
};
