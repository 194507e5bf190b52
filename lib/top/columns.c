// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The columns of each table, and when a thing is badly off.
#include "top/table.h"

#include <math.h>
#include <stddef.h>

#define TOO_BUSY    0.95 // share of an lcore's time
#define TOO_HELD    0.05
#define TOO_FEW     0.1 // share of slots or buffers that are left
#define TOO_FAR     16  // events that a source is behind the first
#define BITS        8
#define THOUSANDTHS 1000.0
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

// A column of one field.
#define VALUE(function, field)                                \
	static double function(const struct table_line *line) \
	{                                                     \
		return table_value(line, field);              \
	}
#define RATE(function, field)                                 \
	static double function(const struct table_line *line) \
	{                                                     \
		return table_rate(line, field);               \
	}
#define BIT_RATE(function, field)                             \
	static double function(const struct table_line *line) \
	{                                                     \
		return table_rate(line, field) * BITS;        \
	}

static const char *name(const struct table_line *line)
{
	return line->now->name;
}

static const char *note(const struct table_line *line)
{
	return line->now->note;
}

static bool grows(double rate)
{
	return rate > 0; // NAN does not
}

static double known(double value)
{
	return isnan(value) ? 0 : value;
}

// What of all causes was dropped since the last sample.
static double drop_rate(const struct table_line *line)
{
	if (line->before == NULL || line->seconds <= 0)
		return (double)NAN;
	return (line->now->drops - line->before->drops) / line->seconds;
}

// --- lcores --------------------------------------------------------------------------------------

static double share_of_time(const struct table_line *line, unsigned field)
{
	double all = table_rate(line, LCORE_BUSY) + table_rate(line, LCORE_IDLE) +
		     table_rate(line, LCORE_HELD);

	return all > 0 ? table_rate(line, field) / all : (double)NAN;
}

static double lcore_busy(const struct table_line *line)
{
	return share_of_time(line, LCORE_BUSY);
}

static double lcore_held(const struct table_line *line)
{
	return share_of_time(line, LCORE_HELD);
}

static double lcore_idle(const struct table_line *line)
{
	return share_of_time(line, LCORE_IDLE);
}

VALUE(lcore_cpu, LCORE_CPU)
RATE(lcore_sleeps, LCORE_SLEEPS)

static unsigned lcore_severity(const struct table_line *line)
{
	return lcore_busy(line) > TOO_BUSY || lcore_held(line) > TOO_HELD;
}

static const struct table_column lcore_columns[] = {
	{ "cpu", 3, false, 0, TABLE_COUNT, lcore_cpu, NULL, NULL },
	{ "busy, backpress.", 16, false, 0, TABLE_BAR, lcore_busy, lcore_held, NULL },
	{ "busy", 6, false, 0, TABLE_SHARE, lcore_busy, NULL, NULL },
	{ "backp.", 6, false, 1, TABLE_SHARE, lcore_held, NULL, NULL },
	{ "idle", 6, false, 3, TABLE_SHARE, lcore_idle, NULL, NULL },
	{ "sleep/s", 7, false, 4, TABLE_COUNT, lcore_sleeps, NULL, NULL },
	{ "roles", 20, true, 0, TABLE_TEXT, NULL, NULL, note },
};

// --- links ---------------------------------------------------------------------------------------

static double link_fill(const struct table_line *line)
{
	return table_value(line, LINK_USED) / table_value(line, LINK_DEPTH);
}

static double link_highest(const struct table_line *line)
{
	return table_value(line, LINK_HIGHEST) / table_value(line, LINK_DEPTH);
}

RATE(link_rate, LINK_ENQUEUED)
RATE(link_full, LINK_FULL)
RATE(link_dropped, LINK_DROPPED)

static const char *link_slow(const struct table_line *line)
{
	return grows(link_full(line)) || grows(link_dropped(line)) ? line->now->note : "-";
}

static unsigned link_severity(const struct table_line *line)
{
	return grows(link_dropped(line)) ? 2 : grows(link_full(line));
}

static const struct table_column link_columns[] = {
	{ "link", 20, true, 0, TABLE_TEXT, NULL, NULL, name },
	{ "fill", 8, false, 1, TABLE_BAR, link_fill, NULL, NULL },
	{ "high", 6, false, 4, TABLE_SHARE, link_highest, NULL, NULL },
	{ "seg/s", 6, false, 0, TABLE_COUNT, link_rate, NULL, NULL },
	{ "full/s", 6, false, 0, TABLE_COUNT, link_full, NULL, NULL },
	{ "drop/s", 6, false, 2, TABLE_COUNT, link_dropped, NULL, NULL },
	{ "slow", 14, false, 3, TABLE_TEXT, NULL, NULL, link_slow },
};

// --- builders ------------------------------------------------------------------------------------

static double slots_used(const struct table_line *line)
{
	return 1 - table_value(line, BUILDER_FREE) / table_value(line, BUILDER_SLOTS);
}

static double builder_lost(const struct table_line *line)
{
	return table_rate(line, BUILDER_INCOMPLETE) + table_rate(line, BUILDER_DISCARDED);
}

RATE(builder_events, BUILDER_COMPLETE)
BIT_RATE(builder_bits, BUILDER_BYTES)
VALUE(builder_free, BUILDER_FREE)
VALUE(builder_open, BUILDER_OPEN)
VALUE(builder_held, BUILDER_HELD)

static unsigned builder_severity(const struct table_line *line)
{
	if (grows(builder_lost(line)))
		return 2;
	return builder_free(line) < TOO_FEW * table_value(line, BUILDER_SLOTS);
}

static const struct table_column builder_columns[] = {
	{ "builder", 10, true, 0, TABLE_TEXT, NULL, NULL, name },
	{ "ev/s", 6, false, 0, TABLE_COUNT, builder_events, NULL, NULL },
	{ "bit/s", 6, false, 1, TABLE_COUNT, builder_bits, NULL, NULL },
	{ "lost/s", 6, false, 1, TABLE_COUNT, builder_lost, NULL, NULL },
	{ "slots used", 10, false, 0, TABLE_BAR, slots_used, NULL, NULL },
	{ "free", 5, false, 0, TABLE_COUNT, builder_free, NULL, NULL },
	{ "open", 5, false, 2, TABLE_COUNT, builder_open, NULL, NULL },
	{ "held", 5, false, 2, TABLE_COUNT, builder_held, NULL, NULL },
};

// --- consumers -----------------------------------------------------------------------------------

VALUE(consumers_members, CONSUMERS_MEMBERS)
VALUE(consumers_lag, CONSUMERS_LAG)
RATE(consumers_delivered, CONSUMERS_DELIVERED)
RATE(consumers_released, CONSUMERS_RELEASED)
RATE(consumers_regained, CONSUMERS_REGAINED)

static unsigned consumers_severity(const struct table_line *line)
{
	if (consumers_members(line) == 0 && consumers_lag(line) > 0)
		return 2; // events wait for nobody
	return grows(consumers_regained(line));
}

static const struct table_column consumers_columns[] = {
	{ "consumers", 10, true, 0, TABLE_TEXT, NULL, NULL, name },
	{ "members", 7, false, 1, TABLE_COUNT, consumers_members, NULL, NULL },
	{ "lag", 6, false, 0, TABLE_COUNT, consumers_lag, NULL, NULL },
	{ "taken/s", 7, false, 0, TABLE_COUNT, consumers_delivered, NULL, NULL },
	{ "freed/s", 7, false, 1, TABLE_COUNT, consumers_released, NULL, NULL },
	{ "back/s", 6, false, 2, TABLE_COUNT, consumers_regained, NULL, NULL },
};

// --- sources -------------------------------------------------------------------------------------

// Events for which a source has sent, or was given up.
static double source_blocks(const struct table_line *line)
{
	return table_value(line, SOURCE_WHOLE) + table_value(line, SOURCE_MALFORMED) +
	       table_value(line, SOURCE_MISSING);
}

static double source_leader(const struct table_line *lines, unsigned n)
{
	double most = 0;

	for (unsigned i = 0; i < n; i++)
		most = fmax(most, known(source_blocks(&lines[i])));
	return most;
}

static double source_lag(const struct table_line *line)
{
	return line->leader - source_blocks(line);
}

static double source_missing(const struct table_line *line)
{
	return table_rate(line, SOURCE_MISSING) + table_rate(line, SOURCE_MALFORMED);
}

static double source_lost(const struct table_line *line)
{
	return table_value(line, SOURCE_MISSING) + table_value(line, SOURCE_MALFORMED) +
	       line->now->drops;
}

RATE(source_segments, SOURCE_SEGMENTS)
BIT_RATE(source_bits, SOURCE_BYTES)

static const char *source_cause(const struct table_line *line)
{
	return line->now->cause[0] != '\0' ? line->now->cause : "-";
}

static unsigned source_severity(const struct table_line *line)
{
	if (grows(source_missing(line)) || grows(drop_rate(line)))
		return 2;
	return source_lag(line) > TOO_FAR;
}

// What is lost counts most, then what is late, then what was lost before.
static double source_badness(const struct table_line *line)
{
	return (known(source_missing(line)) + known(drop_rate(line))) * 1e12 +
	       known(source_lag(line)) * 1e3 + log1p(known(source_lost(line)));
}

static const struct table_column source_columns[] = {
	{ "source", 6, false, 0, TABLE_TEXT, NULL, NULL, name },
	{ "seg/s", 6, false, 1, TABLE_COUNT, source_segments, NULL, NULL },
	{ "bit/s", 6, false, 0, TABLE_COUNT, source_bits, NULL, NULL },
	{ "lag", 6, false, 0, TABLE_COUNT, source_lag, NULL, NULL },
	{ "miss/s", 6, false, 0, TABLE_COUNT, source_missing, NULL, NULL },
	{ "drop/s", 6, false, 0, TABLE_COUNT, drop_rate, NULL, NULL },
	{ "lost", 6, false, 1, TABLE_COUNT, source_lost, NULL, NULL },
	{ "mostly", 14, false, 3, TABLE_TEXT, NULL, NULL, source_cause },
	{ "detector", 10, true, 2, TABLE_TEXT, NULL, NULL, note },
};

// --- ports ---------------------------------------------------------------------------------------

static double pool_used(const struct table_line *line)
{
	return 1 - table_value(line, PORT_POOL_FREE) / table_value(line, PORT_POOL);
}

static double port_missed(const struct table_line *line)
{
	return known(table_rate(line, PORT_MISSED)) + known(table_rate(line, PORT_NO_BUFFER)) +
	       known(table_rate(line, PORT_ERRORS));
}

RATE(port_rx, PORT_RX_PACKETS)
BIT_RATE(port_rx_bits, PORT_RX_BYTES)
RATE(port_tx, PORT_TX_PACKETS)
BIT_RATE(port_tx_bits, PORT_TX_BYTES)
RATE(port_paused, PORT_PAUSED)
RATE(port_pausing, PORT_PAUSING)

static const char *port_link(const struct table_line *line)
{
	return table_value(line, PORT_LINK_UP) == 0 ? "down" : "up";
}

static unsigned port_severity(const struct table_line *line)
{
	if (grows(port_missed(line)) || table_value(line, PORT_LINK_UP) == 0)
		return 2;
	return grows(port_paused(line)) || pool_used(line) > 1 - TOO_FEW;
}

static const struct table_column port_columns[] = {
	{ "port", 10, true, 0, TABLE_TEXT, NULL, NULL, name },
	{ "link", 4, false, 2, TABLE_TEXT, NULL, NULL, port_link },
	{ "rx/s", 6, false, 0, TABLE_COUNT, port_rx, NULL, NULL },
	{ "bit/s", 6, false, 1, TABLE_COUNT, port_rx_bits, NULL, NULL },
	{ "miss/s", 6, false, 0, TABLE_COUNT, port_missed, NULL, NULL },
	{ "tx/s", 6, false, 1, TABLE_COUNT, port_tx, NULL, NULL },
	{ "bit/s", 6, false, 3, TABLE_COUNT, port_tx_bits, NULL, NULL },
	{ "buffers", 8, false, 2, TABLE_BAR, pool_used, NULL, NULL },
	{ "PFC<", 5, false, 3, TABLE_COUNT, port_paused, NULL, NULL },
	{ "PFC>", 5, false, 3, TABLE_COUNT, port_pausing, NULL, NULL },
	{ "device", 18, false, 5, TABLE_TEXT, NULL, NULL, note },
};

// --- generators and writers ----------------------------------------------------------------------

RATE(generator_events, GENERATOR_EVENTS)
RATE(generator_packets, GENERATOR_PACKETS)
BIT_RATE(generator_bits, GENERATOR_BYTES)
RATE(generator_waits, GENERATOR_NO_BUFFER)

static const char *generator_state(const struct table_line *line)
{
	return table_value(line, GENERATOR_FINISHED) == 1 ? "finished" : "sending";
}

static unsigned no_severity(const struct table_line *line)
{
	(void)line;
	return 0;
}

static const struct table_column generator_columns[] = {
	{ "generator", 10, true, 0, TABLE_TEXT, NULL, NULL, name },
	{ "ev/s", 6, false, 0, TABLE_COUNT, generator_events, NULL, NULL },
	{ "pkt/s", 6, false, 1, TABLE_COUNT, generator_packets, NULL, NULL },
	{ "bit/s", 6, false, 0, TABLE_COUNT, generator_bits, NULL, NULL },
	{ "wait/s", 6, false, 3, TABLE_COUNT, generator_waits, NULL, NULL },
	{ "state", 8, false, 2, TABLE_TEXT, NULL, NULL, generator_state },
};

RATE(writer_events, WRITER_EVENTS)
BIT_RATE(writer_bits, WRITER_BYTES)
VALUE(writer_files, WRITER_FILES)
VALUE(writer_pauses, WRITER_PAUSES)
VALUE(writer_refused, WRITER_REFUSED)
VALUE(writer_failures, WRITER_FAILURES)

static unsigned writer_severity(const struct table_line *line)
{
	if (writer_failures(line) > 0)
		return 2;
	return grows(table_rate(line, WRITER_PAUSES)) || grows(table_rate(line, WRITER_REFUSED));
}

static const struct table_column writer_columns[] = {
	{ "writer", 10, true, 0, TABLE_TEXT, NULL, NULL, name },
	{ "ev/s", 6, false, 0, TABLE_COUNT, writer_events, NULL, NULL },
	{ "bit/s", 6, false, 0, TABLE_COUNT, writer_bits, NULL, NULL },
	{ "files", 6, false, 1, TABLE_COUNT, writer_files, NULL, NULL },
	{ "pauses", 6, false, 2, TABLE_COUNT, writer_pauses, NULL, NULL },
	{ "refused", 7, false, 3, TABLE_COUNT, writer_refused, NULL, NULL },
	{ "failed", 6, false, 1, TABLE_COUNT, writer_failures, NULL, NULL },
};

// --- scheduler -----------------------------------------------------------------------------------

VALUE(scheduler_value, SCHEDULER_VALUE)
RATE(scheduler_rate, SCHEDULER_VALUE)

static const struct table_column scheduler_columns[] = {
	{ "scheduler", 10, true, 0, TABLE_TEXT, NULL, NULL, name },
	{ "value", 7, false, 0, TABLE_COUNT, scheduler_value, NULL, NULL },
	{ "/s", 7, false, 0, TABLE_COUNT, scheduler_rate, NULL, NULL },
};

// --- the system ----------------------------------------------------------------------------------

static double credits_used(const struct table_line *line)
{
	return 1 - table_value(line, CREDITS_FREE) / table_value(line, CREDITS_SLOTS);
}

static double credits_rate(const struct table_line *line)
{
	return table_value(line, CREDITS_RATE) / THOUSANDTHS;
}

static double credits_paused(const struct table_line *line)
{
	return table_value(line, CREDITS_PAUSED) / THOUSANDTHS;
}

VALUE(credits_free, CREDITS_FREE)
VALUE(credits_granted, CREDITS_GRANTED)
VALUE(credits_in_flight, CREDITS_IN_FLIGHT)
RATE(credits_grants, CREDITS_GRANTS)
VALUE(credits_oldest, CREDITS_OLDEST)

static const char *credits_state(const struct table_line *line)
{
	if (table_value(line, CREDITS_EXCLUDED) > 0)
		return "excluded";
	return table_value(line, CREDITS_REGISTERED) > 0 ? "there" : "missing";
}

static unsigned credits_severity(const struct table_line *line)
{
	if (table_value(line, CREDITS_EXCLUDED) > 0 || table_value(line, CREDITS_REGISTERED) == 0)
		return 2;
	return credits_free(line) == 0 || credits_paused(line) > 0;
}

static const struct table_column credits_columns[] = {
	{ "system", 10, true, 0, TABLE_TEXT, NULL, NULL, name },
	{ "grant/s", 7, false, 0, TABLE_COUNT, credits_grants, NULL, NULL },
	{ "slots used", 10, false, 0, TABLE_BAR, credits_used, NULL, NULL },
	{ "credit", 6, false, 0, TABLE_COUNT, credits_free, NULL, NULL },
	{ "flying", 6, false, 1, TABLE_COUNT, credits_granted, NULL, NULL },
	{ "bytes", 5, false, 4, TABLE_COUNT, credits_in_flight, NULL, NULL },
	{ "rate", 6, false, 2, TABLE_SHARE, credits_rate, NULL, NULL },
	{ "paused", 6, false, 2, TABLE_SHARE, credits_paused, NULL, NULL },
	{ "oldest", 6, false, 1, TABLE_TIME, credits_oldest, NULL, NULL },
	{ "state", 8, false, 3, TABLE_TEXT, NULL, NULL, credits_state },
};

RATE(readout_events, READOUT_EVENTS)
BIT_RATE(readout_bits, READOUT_BYTES)
RATE(readout_pause, READOUT_PAUSE)
RATE(readout_pace, READOUT_PACE)
RATE(readout_full, READOUT_FULL)
RATE(readout_throttled, READOUT_THROTTLED)
RATE(readout_unreachable, READOUT_UNREACHABLE)

static unsigned readout_severity(const struct table_line *line)
{
	if (grows(readout_unreachable(line)))
		return 2;
	return grows(readout_full(line)) || grows(readout_pause(line));
}

static const struct table_column readout_columns[] = {
	{ "readout", 10, true, 0, TABLE_TEXT, NULL, NULL, name },
	{ "ev/s", 6, false, 0, TABLE_COUNT, readout_events, NULL, NULL },
	{ "bit/s", 6, false, 0, TABLE_COUNT, readout_bits, NULL, NULL },
	{ "paused", 6, false, 1, TABLE_COUNT, readout_pause, NULL, NULL },
	{ "paced", 6, false, 2, TABLE_COUNT, readout_pace, NULL, NULL },
	{ "full/s", 6, false, 1, TABLE_COUNT, readout_full, NULL, NULL },
	{ "thrott", 6, false, 2, TABLE_COUNT, readout_throttled, NULL, NULL },
	{ "nobody", 6, false, 3, TABLE_COUNT, readout_unreachable, NULL, NULL },
};

VALUE(roce_pairs, ROCE_PAIRS)
RATE(roce_packets, ROCE_PACKETS)
BIT_RATE(roce_bits, ROCE_BYTES)
RATE(roce_messages, ROCE_MESSAGES)
RATE(roce_acks, ROCE_ACKS)
RATE(roce_rnr, ROCE_RNR)
RATE(roce_cnps, ROCE_CNPS)
RATE(roce_icrc, ROCE_ICRC)

static unsigned roce_severity(const struct table_line *line)
{
	return grows(roce_icrc(line)) ? 2 : grows(roce_rnr(line)) || grows(roce_cnps(line));
}

static const struct table_column roce_columns[] = {
	{ "RoCE", 10, true, 0, TABLE_TEXT, NULL, NULL, name },
	{ "pairs", 5, false, 1, TABLE_COUNT, roce_pairs, NULL, NULL },
	{ "pkt/s", 6, false, 0, TABLE_COUNT, roce_packets, NULL, NULL },
	{ "bit/s", 6, false, 0, TABLE_COUNT, roce_bits, NULL, NULL },
	{ "msg/s", 6, false, 2, TABLE_COUNT, roce_messages, NULL, NULL },
	{ "ack/s", 6, false, 3, TABLE_COUNT, roce_acks, NULL, NULL },
	{ "RNR/s", 6, false, 1, TABLE_COUNT, roce_rnr, NULL, NULL },
	{ "CNP/s", 6, false, 2, TABLE_COUNT, roce_cnps, NULL, NULL },
	{ "ICRC/s", 6, false, 1, TABLE_COUNT, roce_icrc, NULL, NULL },
};

const struct table tables[SAMPLE_N_GROUPS] = {
	[SAMPLE_LCORES] = { "lcores", lcore_columns, COUNT_OF(lcore_columns), lcore_severity, NULL,
			    NULL },
	[SAMPLE_LINKS] = { "links", link_columns, COUNT_OF(link_columns), link_severity, link_full,
			   NULL },
	[SAMPLE_BUILDERS] = { "builders", builder_columns, COUNT_OF(builder_columns),
			      builder_severity, NULL, NULL },
	[SAMPLE_CONSUMERS] = { "consumers", consumers_columns, COUNT_OF(consumers_columns),
			       consumers_severity, consumers_lag, NULL },
	[SAMPLE_SOURCES] = { "sources, the worst first", source_columns, COUNT_OF(source_columns),
			     source_severity, source_badness, source_leader },
	[SAMPLE_PORTS] = { "ports", port_columns, COUNT_OF(port_columns), port_severity, NULL,
			   NULL },
	[SAMPLE_GENERATORS] = { "generators", generator_columns, COUNT_OF(generator_columns),
				no_severity, NULL, NULL },
	[SAMPLE_WRITERS] = { "writers", writer_columns, COUNT_OF(writer_columns), writer_severity,
			     NULL, NULL },
	[SAMPLE_CREDITS] = { "builders of the system", credits_columns, COUNT_OF(credits_columns),
			     credits_severity, NULL, NULL },
	[SAMPLE_READOUTS] = { "readouts", readout_columns, COUNT_OF(readout_columns),
			      readout_severity, NULL, NULL },
	[SAMPLE_ROCE] = { "RoCE", roce_columns, COUNT_OF(roce_columns), roce_severity, NULL, NULL },
	[SAMPLE_SCHEDULER] = { "scheduler", scheduler_columns, COUNT_OF(scheduler_columns),
			       no_severity, NULL, NULL },
};
