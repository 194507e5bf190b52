// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The appliance as a whole: its state, and the sums of all counters.
#include "telemetry/group.h"

#include "appliance/account.h"
#include "telemetry/shared_metrics.h"
#include "version/build.h"

struct info_view {
	const char *name, *state, *configuration;
	uint64_t run_number, uptime_seconds, hugepages, lcores, roles, sources;
};

struct summary_view {
	uint64_t uptime_seconds, run_number, loss_total;
	struct account account;
};

static const char *const states[] = {
	[APPLIANCE_STARTING] = "starting", [APPLIANCE_RUNNING] = "running",
	[APPLIANCE_DRAINING] = "draining", [APPLIANCE_STOPPED] = "stopped",
	[APPLIANCE_STOPPED + 1] = NULL,
};

static const struct metric info_metrics[] = {
	AGAIN(TEXT, "name", info_view, name, "name of the appliance"),
	STATE("state", info_view, state, states, "starting, running, draining or stopped"),
	TEXT("configuration", info_view, configuration, "configuration file"),
	NUMBER("run_number", info_view, run_number, "number of the run"),
	GAUGE("uptime_seconds", info_view, uptime_seconds, "time since the lcores were launched"),
	GAUGE("hugepages", info_view, hugepages, "1 if packets lie on hugepages"),
	GAUGE("lcores", info_view, lcores, "lcores that run roles"),
	GAUGE("roles", info_view, roles, "roles of the appliance"),
	GAUGE("sources", info_view, sources, "expected sources"),
	{ 0 },
};

static const struct metric build_metrics[] = {
	TEXT("version", build, version, "version of evb"),
	TEXT("commit", build, commit, "commit that was built, -dirty: with changes"),
	TEXT("dpdk", build, dpdk, "version of DPDK"),
	TEXT("xdp", build, xdp,
	     "yes: AF_XDP ports are steered by evb's program; no: built without it"),
	{ 0 },
};

#define EVENTS(name) account.built.events_##name
#define BLOCKS(name) account.built.blocks_##name

static const struct metric summary_metrics[] = {
	AGAIN(GAUGE, "uptime_seconds", summary_view, uptime_seconds,
	      "time since the lcores were launched"),
	AGAIN(NUMBER, "run_number", summary_view, run_number, "number of the run"),
	COUNTER("loss_total", summary_view, loss_total,
		"packets and segments dropped, of all causes"),
	COUNTER("packets_received", summary_view, account.rx.packets, "packets received"),
	COUNTER("packets_received_bytes", summary_view, account.rx.bytes,
		"bytes of packets received, without FCS"),
	COUNTER("packets_arp", summary_view, account.rx.arp,
		"ARP packets, and IPv6 neighbour solicitations to which evb replied"),
	COUNTER("packets_icmp_echo", summary_view, account.rx.icmp_echo,
		"ICMP echo requests to which evb replied"),
	COUNTER("packets_control", summary_view, account.rx.control,
		"frames of the control protocol"),
	COUNTER("packets_pause", summary_view, account.rx.pause,
		"pause frames of the link partner"),
	COUNTER("packets_roce", summary_view, account.rx.roce,
		"RoCE packets without a segment: connections, responses, dropped packets"),
	COUNTER("packets_other", summary_view, account.rx.other, "frames of other protocols"),
	COUNTER("packets_missed", summary_view, account.missed, "packets lost in the ports"),
	COUNTER("checksums_unfinished", summary_view, account.rx.checksums_unfinished,
		"packets accepted with an unfinished UDP checksum"),
	CAUSES("packet_drop", summary_view, account.rx.packet_drops, metric_packet_causes,
	       "packets dropped, by cause"),
	COUNTER("segments_received", summary_view, account.segments_received,
		"segments recognised among the packets"),
	COUNTER("segments_placed", summary_view, account.built.placed,
		"segments copied to their slot"),
	COUNTER("segments_placed_bytes", summary_view, account.built.placed_bytes,
		"payload of the segments copied to their slot"),
	CAUSES("segment_drop", summary_view, account.segment_drops, metric_segment_causes,
	       "segments dropped, by cause"),
	EVENT_METRICS(summary_view, EVENTS),
	COUNTER("events_ends_of_run", summary_view, account.built.ends_of_run, "end-of-run events"),
	GAUGE("events_open", summary_view, account.events_open, "events under construction"),
	BLOCK_METRICS(summary_view, BLOCKS),
	COUNTER("bytes_built", summary_view, account.built.bytes_built,
		"bytes of published events (MEPs)"),
	GAUGE("slots_free", summary_view, account.free_slots, "free slots of all builders"),
	AGAIN(LATENCY, "latency_complete", summary_view, account.latency.complete,
	      "time from the first segment of a complete event to its completion"),
	AGAIN(LATENCY, "latency_released", summary_view, account.latency.released,
	      "time from the first segment of an event to its release by all consumers"),
	COUNTER("sent_events", summary_view, account.sent_events, "events sent by the generators"),
	COUNTER("sent_packets", summary_view, account.sent.packets,
		"packets that generators passed to ports"),
	COUNTER("sent_bytes", summary_view, account.sent.bytes,
		"bytes of packets that generators passed to ports, without FCS"),
	COUNTER("sent_lost", summary_view, account.sent.lost, "fault on demand: packets not sent"),
	COUNTER("sent_duplicated", summary_view, account.sent.duplicated,
		"fault on demand: packets sent twice"),
	COUNTER("sent_corrupted", summary_view, account.sent.corrupted,
		"fault on demand: packets sent with a changed byte"),
	COUNTER("sent_reordered", summary_view, account.sent.reordered,
		"fault on demand: packets sent after a later one"),
	COUNTER("written_events", summary_view, account.written.events, "events written to files"),
	COUNTER("written_bytes", summary_view, account.written.bytes,
		"bytes of events written to files"),
	COUNTER("written_files", summary_view, account.written.files, "files finished"),
	COUNTER("written_refused", summary_view, account.written.refused,
		"events that the file format cannot hold"),
	COUNTER("written_failures", summary_view, account.written.failures, "files that failed"),
	COUNTER("written_lost", summary_view, account.written.lost,
		"events in files whose sync failed"),
	{ 0 },
};

static const struct metric drop_metrics[] = {
	COUNTER("loss_total", summary_view, loss_total,
		"packets and segments dropped, of all causes"),
	CAUSES("packet_drop", summary_view, account.rx.packet_drops, metric_packet_causes,
	       "packets dropped, by cause"),
	CAUSES("segment_drop", summary_view, account.segment_drops, metric_segment_causes,
	       "segments dropped, by cause"),
	{ 0 },
};

static const void *view_info(const struct appliance *appliance)
{
	static _Thread_local struct info_view view;

	view = (struct info_view){
		.name = appliance->config->name,
		.state = states[atomic_load(&appliance->state)],
		.configuration = appliance->config->path,
		.run_number = appliance->run,
		.uptime_seconds = (uint64_t)appliance_seconds(appliance),
		.hugepages = appliance->eal.hugepages,
		.lcores = appliance->plan->n_lcores,
		.roles = appliance->plan->n_roles,
		.sources = appliance->sources.n_expected,
	};
	return &view;
}

static const void *view_build(const struct appliance *appliance)
{
	(void)appliance;
	return build_get();
}

static const void *view_summary(const struct appliance *appliance)
{
	static _Thread_local struct summary_view view;

	account_take(appliance, &view.account);
	view.uptime_seconds = (uint64_t)view.account.seconds;
	view.run_number = appliance->run;
	view.loss_total = account_losses(&view.account);
	return &view;
}

const struct telemetry_whole telemetry_wholes[] = {
	{ .command = "/evb/info", .help = "What runs", .table = info_metrics, .view = view_info },
	{ .command = "/evb/build",
	  .help = "What the program was built from",
	  .prefix = "evb_build",
	  .table = build_metrics,
	  .view = view_build },
	{ .command = "/evb/summary",
	  .help = "All counters, summed over roles; numbers only",
	  .table = summary_metrics,
	  .view = view_summary },
	{ .command = "/evb/drops",
	  .help = "Every cause for which packets and segments are dropped",
	  .table = drop_metrics,
	  .hidden = true,
	  .view = view_summary },
	{ 0 },
};
