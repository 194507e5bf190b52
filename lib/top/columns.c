// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The columns of each table, and the limits beyond which an item is worth a look or has lost
// something. Metrics have the names of the telemetry tables; a unit test looks each of them up.
#include "top/table.h"

#include <float.h>

#define TOO_BUSY 0.95 // share of an lcore's time
#define TOO_HELD 0.05 // share of an lcore's time, backpressured
#define TOO_FULL 0.9  // share of slots or buffers
#define TOO_FAR  16   // events that a source is behind the first

// How a value is computed: the members of a struct table_measure.
#define VALUE(...)         .metrics = { __VA_ARGS__ }
#define RATE(...)          .metrics = { __VA_ARGS__ }, .rate = true
#define BIT_RATE(bytes)    .metrics = { bytes }, .rate = true, .scale = 8
#define SHARE(part, whole) .metrics = { part }, .of = { whole }
#define USED(left, whole)  .metrics = { left }, .of = { whole }, .complement = true
#define NOT(flag)          .metrics = { flag }, .complement = true
#define PERMILLE(metric)   .metrics = { metric }, .scale = 1e-3
#define BEHIND(...)        .metrics = { __VA_ARGS__ }, .behind = true
#define QUANTILE(of, part) .metrics = { of }, .share = part
#define OF_TIME(cycles)    RATE(cycles), .of = { "busy_cycles", "idle_cycles", "backpressured_cycles" }

#define COLUMN(title_, width_, priority_, show_, ...)                                           \
	{                                                                                       \
		.title = title_, .width = width_, .priority = priority_, .show = TABLE_##show_, \
		__VA_ARGS__                                                                     \
	}
#define FLEXIBLE .flexible = true
#define NUMBER(title_, width_, priority_, show_, ...) \
	COLUMN(title_, width_, priority_, show_, .measure = { __VA_ARGS__ })
#define BARS(title_, width_, priority_, first, ...) \
	COLUMN(title_, width_, priority_, BAR, .measure = { first }, .second = { __VA_ARGS__ })

// Events of a source that are decided: its block is whole, malformed or missing.
#define SOURCE_EVENTS "blocks_whole", "blocks_malformed", "blocks_missing"

static const struct table_column lcore_columns[] = {
	NUMBER("cpu", 3, 0, COUNT, VALUE("cpu")),
	BARS("busy, backpress.", 16, 0, OF_TIME("busy_cycles"), OF_TIME("backpressured_cycles")),
	NUMBER("busy", 6, 0, SHARE, OF_TIME("busy_cycles")),
	NUMBER("backp.", 6, 1, SHARE, OF_TIME("backpressured_cycles")),
	NUMBER("idle", 6, 3, SHARE, OF_TIME("idle_cycles")),
	NUMBER("sleep/s", 7, 4, COUNT, RATE("sleeps")),
	COLUMN("roles", 20, 0, NOTE, FLEXIBLE),
};

static const struct table_column link_columns[] = {
	COLUMN("link", 20, 0, NAME, FLEXIBLE),
	NUMBER("fill", 8, 1, BAR, SHARE("used", "depth")),
	NUMBER("high", 6, 4, SHARE, SHARE("highest", "depth")),
	NUMBER("seg/s", 6, 0, COUNT, RATE("enqueued")),
	NUMBER("full/s", 6, 0, COUNT, RATE("full")),
	NUMBER("drop/s", 6, 2, COUNT, RATE("dropped")),
	COLUMN("held by", 14, 3, CAUSE),
};

static const struct table_column builder_columns[] = {
	COLUMN("builder", 10, 0, NAME, FLEXIBLE),
	NUMBER("ev/s", 6, 0, COUNT, RATE("events_complete")),
	NUMBER("b/s", 6, 1, COUNT, BIT_RATE("bytes_built")),
	NUMBER("lost/s", 6, 1, COUNT, RATE("events_incomplete", "events_discarded")),
	NUMBER("slots used", 10, 0, BAR, USED("slots_free", "slots")),
	NUMBER("free", 5, 0, COUNT, VALUE("slots_free")),
	NUMBER("open", 5, 2, COUNT, VALUE("events_open")),
	NUMBER("held", 5, 2, COUNT, VALUE("events_held")),
};

static const struct table_column consumers_columns[] = {
	COLUMN("consumers", 10, 0, NAME, FLEXIBLE),
	NUMBER("members", 7, 1, COUNT, VALUE("members")),
	NUMBER("lag", 6, 0, COUNT, VALUE("lag")),
	NUMBER("taken/s", 7, 0, COUNT, RATE("delivered")),
	NUMBER("freed/s", 7, 1, COUNT, RATE("released")),
	NUMBER("back/s", 6, 2, COUNT, RATE("regained")),
};

static const struct table_column source_columns[] = {
	COLUMN("source", 6, 0, NAME),
	NUMBER("seg/s", 6, 1, COUNT, RATE("segments_placed")),
	NUMBER("b/s", 6, 0, COUNT, BIT_RATE("segments_placed_bytes")),
	NUMBER("lag", 6, 0, COUNT, BEHIND(SOURCE_EVENTS)),
	NUMBER("miss/s", 6, 0, COUNT, RATE("blocks_missing", "blocks_malformed")),
	NUMBER("drop/s", 6, 0, COUNT, RATE(SAMPLE_DROPS)),
	NUMBER("lost", 6, 1, COUNT, VALUE("blocks_missing", "blocks_malformed", SAMPLE_DROPS)),
	COLUMN("mostly", 14, 3, CAUSE),
	COLUMN("detector", 10, 2, NOTE, FLEXIBLE),
};

static const struct table_column port_columns[] = {
	COLUMN("port", 10, 0, NAME, FLEXIBLE),
	COLUMN("link", 4, 2, LINK, .measure = { VALUE("link_up") }),
	NUMBER("rx/s", 6, 0, COUNT, RATE("rx_packets")),
	NUMBER("b/s", 6, 1, COUNT, BIT_RATE("rx_bytes")),
	NUMBER("miss/s", 6, 0, COUNT, RATE("rx_missed", "rx_no_buffer", "rx_errors")),
	NUMBER("tx/s", 6, 1, COUNT, RATE("tx_packets")),
	NUMBER("b/s", 6, 3, COUNT, BIT_RATE("tx_bytes")),
	NUMBER("buffers", 8, 2, BAR, USED("pool_free", "pool_mbufs")),
	NUMBER("PFC<", 5, 3, COUNT, RATE("xoff_received")),
	NUMBER("PFC>", 5, 3, COUNT, RATE("xoff_sent")),
	COLUMN("device", 18, 5, NOTE),
};

static const struct table_column generator_columns[] = {
	COLUMN("generator", 10, 0, NAME, FLEXIBLE),
	NUMBER("ev/s", 6, 0, COUNT, RATE("events")),
	NUMBER("pkt/s", 6, 1, COUNT, RATE("packets")),
	NUMBER("b/s", 6, 0, COUNT, BIT_RATE("bytes")),
	NUMBER("wait/s", 6, 3, COUNT, RATE("no_buffer")),
	COLUMN("state", 8, 2, NOTE),
};

static const struct table_column writer_columns[] = {
	COLUMN("writer", 10, 0, NAME, FLEXIBLE),
	NUMBER("ev/s", 6, 0, COUNT, RATE("events")),
	NUMBER("b/s", 6, 0, COUNT, BIT_RATE("bytes")),
	NUMBER("files", 6, 1, COUNT, VALUE("files")),
	NUMBER("pauses", 6, 2, COUNT, VALUE("pauses")),
	NUMBER("refused", 7, 3, COUNT, VALUE("refused")),
	NUMBER("failed", 6, 1, COUNT, VALUE("failures")),
};

static const struct table_column decision_columns[] = {
	COLUMN("decisions", 10, 0, NAME, FLEXIBLE),
	NUMBER("acc/s", 6, 0, COUNT, RATE("accepted")),
	NUMBER("rej/s", 6, 0, COUNT, RATE("rejected")),
	NUMBER("none/s", 6, 0, COUNT, RATE("undecided")),
	NUMBER("held", 6, 1, COUNT, VALUE("held")),
	NUMBER("members", 7, 2, COUNT, VALUE("members")),
};

static const struct table_column scheduler_columns[] = {
	COLUMN("scheduler", 10, 0, NAME, FLEXIBLE),
	NUMBER("value", 7, 0, COUNT, VALUE(NULL)),
	NUMBER("/s", 7, 0, COUNT, RATE(NULL)),
};

static const struct table_column credits_columns[] = {
	COLUMN("system", 10, 0, NAME, FLEXIBLE),
	NUMBER("grant/s", 7, 0, COUNT, RATE("grants")),
	NUMBER("slots used", 10, 0, BAR, USED("free", "slots")),
	NUMBER("credit", 6, 0, COUNT, VALUE("free")),
	NUMBER("flying", 6, 1, COUNT, VALUE("granted")),
	NUMBER("bytes", 5, 4, COUNT, VALUE("in_flight_bytes")),
	NUMBER("rate", 6, 2, SHARE, PERMILLE("rate_permille"), .known = "rate_bytes"),
	NUMBER("paused", 6, 2, SHARE, PERMILLE("paused_permille")),
	NUMBER("oldest", 6, 1, TIME, VALUE("oldest_ns")),
	COLUMN("state", 8, 3, NOTE),
};

static const struct table_column readout_columns[] = {
	COLUMN("readout", 10, 0, NAME, FLEXIBLE),
	NUMBER("ev/s", 6, 0, COUNT, RATE("events")),
	NUMBER("b/s", 6, 0, COUNT, BIT_RATE("payload_bytes")),
	NUMBER("paused", 6, 1, COUNT, RATE("held_pause")),
	NUMBER("paced", 6, 2, COUNT, RATE("held_pace")),
	NUMBER("full/s", 6, 1, COUNT, RATE("full")),
	NUMBER("thrott", 6, 2, COUNT, RATE("throttled")),
	NUMBER("nobody", 6, 3, COUNT, RATE("unreachable")),
	NUMBER("ring", 6, 3, SHARE, SHARE("ring_used_bytes", "ring_size_bytes")),
	NUMBER("rg.max", 6, 3, SHARE, SHARE("ring_highest_bytes", "ring_size_bytes")),
};

static const struct table_column roce_columns[] = {
	COLUMN("RoCE", 10, 0, NAME, FLEXIBLE),
	NUMBER("pairs", 5, 1, COUNT, VALUE("queue_pairs")),
	NUMBER("pkt/s", 6, 0, COUNT, RATE("packets")),
	NUMBER("b/s", 6, 0, COUNT, BIT_RATE("bytes")),
	NUMBER("msg/s", 6, 2, COUNT, RATE("messages")),
	NUMBER("ack/s", 6, 3, COUNT, RATE("acks_sent")),
	NUMBER("RNR/s", 6, 1, COUNT, RATE("rnr_sent")),
	NUMBER("CNP/s", 6, 2, COUNT, RATE("cnps_sent")),
	NUMBER("ICRC/s", 6, 1, COUNT, RATE("icrc_errors")),
};

static const struct table_column step_columns[] = {
	COLUMN("step", 13, 0, NAME, FLEXIBLE),
	COLUMN("since", 13, 1, NOTE),
	NUMBER("p50", 6, 0, TIME, QUANTILE("latency", 0.5)),
	NUMBER("p99", 6, 0, TIME, QUANTILE("latency", 0.99)),
	NUMBER("max", 6, 0, TIME, VALUE("latency_max_ns")),
};

#define TABLE(name_, key_, rows_, columns_, ...)                                   \
	{                                                                          \
		.name = name_, .key = key_, .rows = rows_, .columns = columns_,    \
		.n_columns = sizeof(columns_) / sizeof((columns_)[0]), __VA_ARGS__ \
	}

const struct table tables[SAMPLE_N_GROUPS] = {
	[SAMPLE_LCORES] = TABLE("lcores", '1', 5, lcore_columns,
		.rules = {
			{ TABLE_LOOK, TOO_BUSY, { OF_TIME("busy_cycles") } },
			{ TABLE_LOOK, TOO_HELD, { OF_TIME("backpressured_cycles") } },
		}),
	[SAMPLE_LINKS] = TABLE("links", '2', 3, link_columns,
		.rules = {
			{ TABLE_LOST, 0, { RATE("dropped") } },
			{ TABLE_LOOK, 0, { RATE("full") } },
		},
		.badness = { { RATE("full") } }),
	[SAMPLE_BUILDERS] = TABLE("builders", '3', 4, builder_columns,
		.rules = {
			{ TABLE_LOST, 0, { RATE("events_incomplete", "events_discarded") } },
			{ TABLE_LOOK, TOO_FULL, { USED("slots_free", "slots") } },
		}),
	[SAMPLE_CONSUMERS] = TABLE("consumers", '4', 2, consumers_columns,
		.rules = {
			// Events wait, and the group has no members: infinitely many per member.
			{ TABLE_LOST, DBL_MAX, { SHARE("lag", "members") } },
			{ TABLE_LOOK, 0, { RATE("regained") } },
		},
		.badness = { { VALUE("lag") } }),
	[SAMPLE_SOURCES] = TABLE("sources", '5', 5, source_columns,
		.rules = {
			{ TABLE_LOST, 0, { RATE("blocks_missing", "blocks_malformed") } },
			{ TABLE_LOST, 0, { RATE(SAMPLE_DROPS) } },
			{ TABLE_LOOK, TOO_FAR, { BEHIND(SOURCE_EVENTS) } },
		},
		.badness = {
			{ RATE("blocks_missing", "blocks_malformed", SAMPLE_DROPS) },
			{ BEHIND(SOURCE_EVENTS) },
			{ VALUE("blocks_missing", "blocks_malformed", SAMPLE_DROPS) },
		}),
	[SAMPLE_PORTS] = TABLE("ports", '6', 3, port_columns,
		.rules = {
			{ TABLE_LOST, 0, { RATE("rx_missed", "rx_no_buffer", "rx_errors") } },
			{ TABLE_LOST, 0, { NOT("link_up") } },
			{ TABLE_LOOK, 0, { RATE("xoff_received") } },
			{ TABLE_LOOK, TOO_FULL, { USED("pool_free", "pool_mbufs") } },
		}),
	[SAMPLE_GENERATORS] = TABLE("generators", '7', 2, generator_columns),
	[SAMPLE_WRITERS] = TABLE("writers", '8', 2, writer_columns,
		.rules = {
			{ TABLE_LOST, 0, { VALUE("failures") } },
			{ TABLE_LOOK, 0, { RATE("pauses") } },
			{ TABLE_LOOK, 0, { RATE("refused") } },
		}),
	[SAMPLE_DECISIONS] = TABLE("decisions", 'd', 2, decision_columns,
		.rules = {
			{ TABLE_LOST, DBL_MAX, { SHARE("held", "members") } },
			{ TABLE_LOOK, 0, { RATE("undecided") } },
		}),
	[SAMPLE_SCHEDULER] = TABLE("scheduler", '9', 0, scheduler_columns),
	[SAMPLE_CREDITS] = TABLE("system", 'c', 5, credits_columns,
		.rules = {
			{ TABLE_LOST, 0, { VALUE("excluded") } },
			{ TABLE_LOST, 0, { NOT("registered") } },
			{ TABLE_LOOK, 0, { NOT("free") } },
			{ TABLE_LOOK, 0, { VALUE("paused_permille") } },
		}),
	[SAMPLE_READOUTS] = TABLE("readouts", 'u', 3, readout_columns,
		.rules = {
			{ TABLE_LOST, 0, { RATE("unreachable") } },
			{ TABLE_LOOK, 0, { RATE("full") } },
			{ TABLE_LOOK, 0, { RATE("held_pause") } },
		}),
	[SAMPLE_ROCE] = TABLE("RoCE", 'o', 2, roce_columns,
		.rules = {
			{ TABLE_LOST, 0, { RATE("icrc_errors") } },
			{ TABLE_LOOK, 0, { RATE("rnr_sent") } },
			{ TABLE_LOOK, 0, { RATE("cnps_sent") } },
		}),
	[SAMPLE_STEPS] = TABLE("steps", 't', 2, step_columns),
};
