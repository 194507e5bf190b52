// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/telemetry_tables.h"

#include "appliance/writer_role.h"
#include "builder/assembly.h"
#include "transport/pcap_role.h"
#include "transport/rx_role.h"
#include "transport/source_role.h"

#define COUNTER(name, structure, field, help)                                 \
	{                                                                     \
		name, METRIC_COUNTER, offsetof(struct structure, field), help \
	}
#define GAUGE(name, structure, field, help)                                 \
	{                                                                   \
		name, METRIC_GAUGE, offsetof(struct structure, field), help \
	}
#define TEXT(name, structure, field, help)                                 \
	{                                                                  \
		name, METRIC_TEXT, offsetof(struct structure, field), help \
	}
#define PACKET_DROPS(structure, field)                                                 \
	{                                                                              \
		"packet_drop", METRIC_PACKET_DROPS, offsetof(struct structure, field), \
		    "packets dropped for this cause"                                   \
	}
#define SEGMENT_DROPS(structure, field)                                                  \
	{                                                                                \
		"segment_drop", METRIC_SEGMENT_DROPS, offsetof(struct structure, field), \
		    "segments dropped for this cause"                                    \
	}
#define LATENCY(name, structure, field, help)                                 \
	{                                                                     \
		name, METRIC_LATENCY, offsetof(struct structure, field), help \
	}

static const struct metric info_metrics[] = {
	TEXT("name", info_view, name, "of the appliance"),
	TEXT("state", info_view, state, "`starting`, `running`, `draining` or `stopped`"),
	TEXT("configuration", info_view, configuration, "file"),
	GAUGE("run_number", info_view, run_number, "as configured"),
	GAUGE("uptime_seconds", info_view, uptime_seconds, "since the lcores were launched"),
	GAUGE("hugepages", info_view, hugepages, "1 if packets lie on hugepages, else 0"),
	GAUGE("lcores", info_view, lcores, "number of lcores"),
	GAUGE("roles", info_view, roles, "number of roles"),
	GAUGE("sources", info_view, sources, "number of expected sources"),
	{ 0 },
};

static const struct metric summary_metrics[] = {
	GAUGE("uptime_seconds", summary_view, uptime_seconds, "since the lcores were launched"),
	GAUGE("run_number", summary_view, run_number, "as configured"),
	COUNTER("loss_total", summary_view, loss_total,
		"sum of all `packet_drop_` and `segment_drop_` causes"),
	COUNTER("packets_received", summary_view, account.packets.received, "taken from the ports"),
	COUNTER("packets_received_bytes", summary_view, account.packets.bytes,
		"of them, without FCS"),
	COUNTER("packets_arp", summary_view, account.packets.arp, "ARP packets"),
	COUNTER("packets_icmp_echo", summary_view, account.packets.icmp_echo,
		"echo requests answered"),
	COUNTER("packets_other", summary_view, account.packets.other,
		"frames that evb does not speak"),
	COUNTER("packets_missed", summary_view, account.packets.missed,
		"lost by the ports, before evb saw them"),
	PACKET_DROPS(summary_view, account.packets.drops),
	COUNTER("segments_received", summary_view, account.segments.received, "recognised by rx"),
	COUNTER("segments_placed", summary_view, account.segments.placed, "copied to their slot"),
	COUNTER("segments_placed_bytes", summary_view, account.segments.placed_bytes,
		"payload of them"),
	SEGMENT_DROPS(summary_view, account.segments.drops),
	COUNTER("events_opened", summary_view, account.events.opened,
		"events that got a slot, ends of run included"),
	COUNTER("events_complete", summary_view, account.events.complete,
		"published, of all sources"),
	COUNTER("events_incomplete", summary_view, account.events.incomplete,
		"published with flags: something is missing or malformed"),
	COUNTER("events_discarded", summary_view, account.events.discarded,
		"incomplete and not published"),
	COUNTER("events_flushed", summary_view, account.events.flushed,
		"of those incomplete and discarded: closed by the end of the run"),
	COUNTER("events_overtaken", summary_view, account.events.overtaken,
		"of those incomplete and discarded: closed early, for their slot was needed"),
	COUNTER("events_ends_of_run", summary_view, account.events.ends_of_run,
		"end-of-run events"),
	GAUGE("events_open", summary_view, account.events.open, "being built now"),
	COUNTER("blocks_whole", summary_view, account.blocks.whole,
		"blocks (MFPs) that arrived whole"),
	COUNTER("blocks_malformed", summary_view, account.blocks.malformed, "of them no valid MFP"),
	COUNTER("blocks_missing", summary_view, account.blocks.missing,
		"not whole when their event was closed"),
	COUNTER("bytes_built", summary_view, account.bytes_built, "of published events (MEPs)"),
	GAUGE("slots_free", summary_view, account.free_slots, "of all builders"),
	LATENCY("latency_complete", summary_view, account.complete,
		"first segment to completion, of complete events"),
	LATENCY("latency_released", summary_view, account.released,
		"first segment to release by all consumers"),
	COUNTER("sent_events", summary_view, account.sent.events,
		"sent by this process' generators"),
	COUNTER("sent_packets", summary_view, account.sent.packets,
		"handed to the ports by generators"),
	COUNTER("sent_bytes", summary_view, account.sent.bytes, "of them, without FCS"),
	COUNTER("sent_lost", summary_view, account.sent.lost, "faults on demand: packets not sent"),
	COUNTER("sent_duplicated", summary_view, account.sent.duplicated,
		"faults on demand: packets sent twice"),
	COUNTER("sent_corrupted", summary_view, account.sent.corrupted,
		"faults on demand: packets with a changed byte"),
	COUNTER("sent_reordered", summary_view, account.sent.reordered,
		"faults on demand: packets sent after a later one"),
	COUNTER("written_events", summary_view, account.written.events,
		"in files of this process' writers"),
	COUNTER("written_bytes", summary_view, account.written.bytes, "in these files"),
	COUNTER("written_files", summary_view, account.written.files, "finished"),
	COUNTER("written_refused", summary_view, account.written.refused,
		"events that have no form in the file's format"),
	COUNTER("written_failures", summary_view, account.written.failures,
		"files that could not be finished"),
	{ 0 },
};

static const struct metric drop_metrics[] = {
	COUNTER("loss_total", summary_view, loss_total, "sum of all causes"),
	PACKET_DROPS(summary_view, account.packets.drops),
	SEGMENT_DROPS(summary_view, account.segments.drops),
	{ 0 },
};

static const struct metric role_metrics[] = {
	TEXT("name", role_view, name, "KIND.OBJECT"),
	TEXT("kind", role_view, kind, "`rx`, `builder`, `source` or `writer`"),
	GAUGE("lcore", role_view, lcore, "that it runs on"),
	GAUGE("cpu", role_view, cpu, "of that lcore"),
	GAUGE("drained", role_view, drained, "1 once it has nothing left to do, else 0"),
	{ 0 },
};

static const struct metric role_counter_metrics[] = {
	COUNTER("polls", role_counters, polls, "calls by its lcore"),
	COUNTER("empty_polls", role_counters, empty_polls,
		"of them, those that found nothing to do"),
	COUNTER("items", role_counters, items, "packets, segments or events that it dealt with"),
	COUNTER("busy_cycles", role_counters, busy_cycles,
		"TSC cycles of polls that did something"),
	COUNTER("idle_cycles", role_counters, idle_cycles,
		"TSC cycles of polls that found nothing to do"),
	COUNTER("backpressured_cycles", role_counters, backpressured_cycles,
		"TSC cycles of polls that could not go on"),
	{ 0 },
};

static const struct metric rx_metrics[] = {
	COUNTER("packets_received", rx_counters, packets, "rx only: taken from its queue"),
	COUNTER("packets_received_bytes", rx_counters, bytes, "rx only: of them, without FCS"),
	COUNTER("packets_arp", rx_counters, arp, "rx only: ARP packets"),
	COUNTER("packets_icmp_echo", rx_counters, icmp_echo, "rx only: echo requests answered"),
	COUNTER("packets_other", rx_counters, other, "rx only: frames that evb does not speak"),
	PACKET_DROPS(rx_counters, packet_drops),
	COUNTER("segments_received", rx_counters, segments, "rx only: recognised"),
	SEGMENT_DROPS(rx_counters, segment_drops),
	{ 0 },
};

static const struct metric link_metrics[] = {
	GAUGE("id", link_view, id, "number of the link"),
	TEXT("producer", link_view, producer, "role that puts segments in"),
	TEXT("consumer", link_view, consumer,
	     "role that takes them out: the slow one where a link is full"),
	GAUGE("lossless", link_view, lossless,
	      "1: a full link holds its producer back; 0: it drops"),
	GAUGE("depth", link_view, depth, "entries that it has room for"),
	GAUGE("used", link_view, used, "entries in it now"),
	{ 0 },
};

static const struct metric link_counter_metrics[] = {
	COUNTER("highest", link, counters.highest, "most entries seen in it"),
	COUNTER("enqueued", link, counters.enqueued, "segments put in"),
	COUNTER("full", link, counters.full, "polls in which the producer found no room"),
	COUNTER("dropped", link, counters.dropped,
		"segments that did not fit; also `segment_drop_link_full`"),
	{ 0 },
};

static const struct metric builder_metrics[] = {
	TEXT("name", builder_view, name, "of the builder"),
	TEXT("ring", builder_view, ring, "file of its event ring"),
	GAUGE("hugepages", builder_view, hugepages, "1 if the ring lies on hugepages, else 0"),
	GAUGE("slots", builder_view, slots, "of the ring"),
	GAUGE("slot_bytes", builder_view, slot_bytes, "size of each"),
	GAUGE("slots_free", builder_view, slots_free, "that neither builder nor consumers use"),
	GAUGE("events_open", builder_view, events_open, "being built now"),
	GAUGE("events_held", builder_view, events_held,
	      "published and not yet released by all groups"),
	{ 0 },
};

static const struct metric assembly_metrics[] = {
	COUNTER("segments_received", assembly_counters, segments, "taken from its links"),
	COUNTER("segments_placed", assembly_counters, placed, "copied to their slot"),
	COUNTER("segments_placed_bytes", assembly_counters, placed_bytes, "payload of them"),
	SEGMENT_DROPS(assembly_counters, drops),
	COUNTER("events_opened", assembly_counters, events_opened,
		"events that got a slot, ends of run included"),
	COUNTER("events_complete", assembly_counters, events_complete, "published, of all sources"),
	COUNTER("events_incomplete", assembly_counters, events_incomplete, "published with flags"),
	COUNTER("events_discarded", assembly_counters, events_discarded,
		"incomplete and not published"),
	COUNTER("events_flushed", assembly_counters, events_flushed,
		"of those two: closed by the end of the run"),
	COUNTER("events_overtaken", assembly_counters, events_overtaken,
		"of those two: closed early, for their slot was needed"),
	COUNTER("events_ends_of_run", assembly_counters, ends_of_run, "end-of-run events"),
	COUNTER("blocks_whole", assembly_counters, blocks_whole,
		"blocks (MFPs) that arrived whole"),
	COUNTER("blocks_malformed", assembly_counters, blocks_malformed, "of them no valid MFP"),
	COUNTER("blocks_missing", assembly_counters, blocks_missing,
		"not whole when their event was closed"),
	COUNTER("bytes_built", assembly_counters, bytes_built, "of published events (MEPs)"),
	{ 0 },
};

static const struct metric latency_metrics[] = {
	LATENCY("latency_complete", assembly_latency, complete,
		"first segment to completion, of complete events"),
	LATENCY("latency_released", assembly_latency, released,
		"first segment to release by all consumers"),
	{ 0 },
};

static const struct metric group_metrics[] = {
	TEXT("name", group_view, name, "of the group"),
	GAUGE("configured", group_view, configured,
	      "1 if the configuration names it, 0 if a consumer made it"),
	GAUGE("members", group_view, members, "consumers in it now"),
	GAUGE("lag", group_view, lag, "events published and not yet taken by a member"),
	COUNTER("delivered", group_view, delivered, "events taken by members"),
	COUNTER("released", group_view, released, "events released by members"),
	COUNTER("regained", group_view, regained, "events taken back from members that died"),
	{ 0 },
};

static const struct metric source_metrics[] = {
	GAUGE("id", source_view, id, "source id"),
	COUNTER("segments_received", source_view, source.segments, "recognised by rx"),
	COUNTER("segments_placed", source_view, source.placed, "copied to their slot"),
	COUNTER("segments_placed_bytes", source_view, source.placed_bytes, "payload of them"),
	SEGMENT_DROPS(source_view, source.drops),
	COUNTER("blocks_whole", source_view, source.blocks, "blocks (MFPs) that arrived whole"),
	COUNTER("blocks_malformed", source_view, source.malformed, "of them no valid MFP"),
	COUNTER("blocks_missing", source_view, source.missing, "events closed without its block"),
	{ 0 },
};

static const struct metric port_metrics[] = {
	TEXT("name", port_view, name, "of the port"),
	TEXT("profile", port_view, profile, "as configured"),
	TEXT("driver", port_view, driver, "DPDK's name of it"),
	TEXT("device", port_view, device, "as configured, `none` where the driver takes none"),
	TEXT("mac", port_view, mac, "address"),
	GAUGE("id", port_view, id, "DPDK's number of it, for /ethdev/info, /ethdev/xstats"),
	GAUGE("numa_node", port_view, numa_node, "of its memory"),
	GAUGE("mtu_bytes", port_view, mtu, "payload behind the Ethernet header"),
	GAUGE("rx_queues", port_view, rx_queues, "number of receive queues"),
	GAUGE("tx_queues", port_view, tx_queues, "number of transmit queues"),
	GAUGE("link_up", port_view, link_up, "1 or 0"),
	GAUGE("link_megabits", port_view, link_megabits, "a second; 0: unknown"),
	GAUGE("pool_mbufs", port_view, pool_mbufs, "receive buffers"),
	GAUGE("pool_free", port_view, pool_free,
	      "of them free; those in lcores' caches are among them"),
	COUNTER("rx_packets", port_view, rx_packets, "received, as the driver counts"),
	COUNTER("rx_bytes", port_view, rx_bytes, "of them"),
	COUNTER("rx_missed", port_view, rx_missed, "lost because no descriptor was free"),
	COUNTER("rx_no_buffer", port_view, rx_no_buffer,
		"receive buffers that the pool did not have"),
	COUNTER("rx_errors", port_view, rx_errors, "received with errors"),
	COUNTER("tx_packets", port_view, tx_packets, "sent, as the driver counts"),
	COUNTER("tx_bytes", port_view, tx_bytes, "of them"),
	COUNTER("tx_errors", port_view, tx_errors, "not sent"),
	{ 0 },
};

static const struct metric lcore_metrics[] = {
	GAUGE("lcore", lcore_view, lcore, "DPDK's number of it"),
	GAUGE("cpu", lcore_view, cpu, "that it runs on"),
	{ "roles", METRIC_TEXTS, offsetof(struct lcore_view, roles),
	  "list: its roles, in the order in which they run" },
	GAUGE("adaptive", lcore_view, adaptive,
	      "1: yields and sleeps when idle; 0: polls without end"),
	GAUGE("running", lcore_view, running, "1 or 0"),
	{ 0 },
};

static const struct metric lcore_counter_metrics[] = {
	COUNTER("loops", lcore, counters.loops, "over all its roles"),
	COUNTER("sleeps", lcore, counters.sleeps, "when idle"),
	COUNTER("busy_cycles", lcore, counters.busy_cycles,
		"TSC cycles of loops that did something"),
	COUNTER("idle_cycles", lcore, counters.idle_cycles,
		"TSC cycles of loops that did nothing, sleeps included"),
	COUNTER("backpressured_cycles", lcore, counters.backpressured_cycles,
		"TSC cycles of loops that could not go on"),
	{ 0 },
};

static const struct metric generator_metrics[] = {
	TEXT("name", generator_view, name, "of the generator"),
	TEXT("kind", generator_view, kind, "`synthetic`, `mdf`, `mfp` or `pcap`"),
	TEXT("port", generator_view, port, "that it sends on"),
	GAUGE("finished", generator_view, finished, "1 once all is sent, else 0"),
	{ 0 },
};

static const struct metric sender_metrics[] = {
	COUNTER("packets", sender_counters, packets, "handed to the port"),
	COUNTER("bytes", sender_counters, bytes, "of them, without FCS"),
	COUNTER("lost", sender_counters, lost, "faults on demand: packets not sent"),
	COUNTER("duplicated", sender_counters, duplicated, "faults on demand: packets sent twice"),
	COUNTER("corrupted", sender_counters, corrupted,
		"faults on demand: packets with a changed byte"),
	COUNTER("reordered", sender_counters, reordered,
		"faults on demand: packets sent after a later one"),
	{ 0 },
};

static const struct metric source_role_metrics[] = {
	COUNTER("events", source_counters, events, "all but pcap: sent by all sources"),
	COUNTER("blocks", source_counters, blocks, "all but pcap: blocks (MFPs) sent"),
	COUNTER("segments", source_counters, segments, "all but pcap: segments made"),
	COUNTER("payload_bytes", source_counters, payload_bytes, "all but pcap: payload of them"),
	COUNTER("no_buffer", source_counters, no_buffer,
		"all but pcap: polls that found no mbuf: all are under way"),
	{ 0 },
};

static const struct metric pcap_metrics[] = {
	COUNTER("packets_read", pcap_counters, packets, "pcap only: packets read from the capture"),
	COUNTER("oversized", pcap_counters, oversized, "pcap only: not sent, above the port's MTU"),
	COUNTER("truncated", pcap_counters, truncated,
		"pcap only: not sent, the capture holds only their beginning"),
	{ 0 },
};

static const struct metric writer_metrics[] = {
	TEXT("name", writer_view, name, "of the writer"),
	TEXT("group", writer_view, group, "whose events it writes"),
	TEXT("directory", writer_view, directory, "of its files"),
	TEXT("format", writer_view, format, "`mep` or `mdf`"),
	{ 0 },
};

static const struct metric writer_counter_metrics[] = {
	COUNTER("events", writer_counters, events, "in files"),
	COUNTER("bytes", writer_counters, bytes, "in files"),
	COUNTER("files", writer_counters, files, "finished"),
	COUNTER("refused", writer_counters, refused,
		"events that have no form in the file's format"),
	COUNTER("pauses", writer_counters, pauses,
		"times that it had to wait for room on the disk"),
	COUNTER("failures", writer_counters, failures, "files that could not be finished"),
	{ 0 },
};

const struct telemetry_quantile telemetry_quantiles[] = {
	{ "p50_ns", 0.5 }, { "p99_ns", 0.99 }, { "p999_ns", 0.999 }, { "max_ns", 1 }, { 0 },
};

#define LIST(group, things)                                                          \
	{                                                                            \
		.command = "/evb/" group "/list", .parameters = "[,OFFSET[,COUNT]]", \
		.help = things ", a page of at most COUNT from OFFSET"               \
	}

const struct telemetry_answer telemetry_answers[TELEMETRY_N_COMMANDS] = {
	[TELEMETRY_INFO] = { "/evb/info", NULL, "What runs", .tables = { info_metrics } },
	[TELEMETRY_SUMMARY] = { "/evb/summary", NULL,
				"All counters, summed over roles; numbers only",
				.tables = { summary_metrics } },
	[TELEMETRY_DROPS] = { "/evb/drops", NULL,
			      "Every cause for which packets and segments are dropped",
			      .tables = { drop_metrics } },
	[TELEMETRY_LATENCY] = { .command = "/evb/latency",
				.parameters = "[,BUILDER]",
				.help =
				    "Histograms of the latency of a builder, or of all together" },
	[TELEMETRY_ROLE_LIST] = LIST("role", "Names of the roles"),
	[TELEMETRY_ROLE_INFO] = { "/evb/role/info", ",NAME",
				  "A role: place, time, and what an rx role received",
				  .tables = { role_metrics, role_counter_metrics, rx_metrics } },
	[TELEMETRY_LINK_LIST] = LIST("link", "Numbers of the links"),
	[TELEMETRY_LINK_INFO] = { "/evb/link/info", ",ID", "A link: its ends, and how full it is",
				  .tables = { link_metrics, link_counter_metrics } },
	[TELEMETRY_BUILDER_LIST] = LIST("builder", "Names of the builders"),
	[TELEMETRY_BUILDER_INFO] = { "/evb/builder/info", ",NAME",
				     "A builder: slots, events, latency, and the groups of its "
				     "event ring",
				     .tables = { builder_metrics, assembly_metrics,
						 latency_metrics },
				     .nested = "group", .nested_table = group_metrics },
	[TELEMETRY_SOURCE_LIST] = LIST("source", "Ids of the expected sources"),
	[TELEMETRY_SOURCE_INFO] = { "/evb/source/info", ",ID",
				    "A source: what came, and what is missing",
				    .tables = { source_metrics } },
	[TELEMETRY_PORT_LIST] = LIST("port", "Names of the ports"),
	[TELEMETRY_PORT_INFO] = { "/evb/port/info", ",NAME",
				  "A port: device, buffers, and what its driver counts",
				  .tables = { port_metrics } },
	[TELEMETRY_LCORE_LIST] = LIST("lcore", "Numbers of the lcores"),
	[TELEMETRY_LCORE_INFO] = { "/evb/lcore/info", ",ID",
				   "An lcore: roles, and how it spends its time",
				   .tables = { lcore_metrics, lcore_counter_metrics } },
	[TELEMETRY_GENERATOR_LIST] = LIST("generator", "Names of the generators"),
	[TELEMETRY_GENERATOR_INFO] = { "/evb/generator/info", ",NAME", "A generator: what it sent",
				       .tables = { generator_metrics, sender_metrics,
						   source_role_metrics, pcap_metrics } },
	[TELEMETRY_WRITER_LIST] = LIST("writer", "Names of the writers"),
	[TELEMETRY_WRITER_INFO] = { "/evb/writer/info", ",NAME", "A writer: what is in its files",
				    .tables = { writer_metrics, writer_counter_metrics } },
	[TELEMETRY_EAL_LCORE_LIST] = { .command = "/eal/lcore/list",
				       .help = "Numbers of DPDK's lcores, the main one included" },
	[TELEMETRY_EAL_LCORE_INFO] = { .command = "/eal/lcore/info",
				       .parameters = ",ID",
				       .help = "An lcore: CPUs and cycles, as newer releases of "
					       "DPDK answer" },
};
