// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What telemetry answers: the commands, and the keys of each answer. The tables are the one place
// where a key's name, place in memory and meaning stand; answers are made from them, and
// docs/telemetry.md is checked against them. A name, once released, is never changed.
//
// An answer is a dictionary of one or more tables, each over a structure of its own: live counters
// where they lie, and a view that is filled for the answer.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "appliance/account.h"
#include "pipeline/lcore.h"

#define TELEMETRY_MAX_TABLES 4
#define TELEMETRY_MAX_KEYS   256   // of a dictionary: DPDK's limit
#define TELEMETRY_MAX_REPLY  16384 // bytes: DPDK leaves out what does not fit

enum metric_type {
	METRIC_COUNTER,       // uint64_t that only grows
	METRIC_GAUGE,         // uint64_t
	METRIC_TEXT,          // const char *, 127 characters of it
	METRIC_TEXTS,         // struct metric_texts
	METRIC_PACKET_DROPS,  // uint64_t[PACKET_N_CAUSES]: a counter NAME_CAUSE each
	METRIC_SEGMENT_DROPS, // uint64_t[SEGMENT_N_CAUSES]: a counter NAME_CAUSE each
	METRIC_LATENCY,       // struct histogram: gauges NAME_p50_ns, _p99_ns, _p999_ns, _max_ns
};

struct metric_texts {
	const char *texts[LCORE_MAX_ROLES];
	unsigned n;
};

// A table ends with a name of NULL.
struct metric {
	const char *name;
	enum metric_type type;
	size_t offset;
	const char *help;
};

struct telemetry_quantile {
	const char *suffix;
	double share;
};

// Those of METRIC_LATENCY, ended by a suffix of NULL; the maximum is share 1.
extern const struct telemetry_quantile telemetry_quantiles[];

enum telemetry_command {
	TELEMETRY_INFO,
	TELEMETRY_SUMMARY,
	TELEMETRY_DROPS,
	TELEMETRY_LATENCY,
	TELEMETRY_ROLE_LIST,
	TELEMETRY_ROLE_INFO,
	TELEMETRY_LINK_LIST,
	TELEMETRY_LINK_INFO,
	TELEMETRY_BUILDER_LIST,
	TELEMETRY_BUILDER_INFO,
	TELEMETRY_SOURCE_LIST,
	TELEMETRY_SOURCE_INFO,
	TELEMETRY_PORT_LIST,
	TELEMETRY_PORT_INFO,
	TELEMETRY_LCORE_LIST,
	TELEMETRY_LCORE_INFO,
	TELEMETRY_GENERATOR_LIST,
	TELEMETRY_GENERATOR_INFO,
	TELEMETRY_WRITER_LIST,
	TELEMETRY_WRITER_INFO,
	TELEMETRY_EAL_LCORE_LIST,
	TELEMETRY_EAL_LCORE_INFO,
	TELEMETRY_N_COMMANDS
};

struct telemetry_answer {
	const char *command;                               // at most 55 characters
	const char *parameters;                            // for people; NULL: takes none
	const char *help;                                  // at most 127 characters
	const struct metric *tables[TELEMETRY_MAX_TABLES]; // none: the answer is of another form
	const char *nested; // dictionaries NESTED_0, NESTED_1, ... in it, or NULL
	const struct metric *nested_table;
};

extern const struct telemetry_answer telemetry_answers[TELEMETRY_N_COMMANDS];

// The views.

struct info_view {
	const char *name, *state, *configuration;
	uint64_t run_number, uptime_seconds, hugepages, lcores, roles, sources;
};

struct summary_view {
	uint64_t uptime_seconds, run_number, loss_total;
	struct account account;
};

struct role_view {
	const char *name, *kind;
	uint64_t lcore, cpu, drained;
};

struct link_view {
	const char *producer, *consumer;
	uint64_t id, lossless, depth, used;
};

struct builder_view {
	const char *name, *ring;
	uint64_t hugepages, slots, slot_bytes, slots_free, events_open, events_held;
};

struct group_view {
	const char *name;
	uint64_t configured, members, lag, delivered, released, regained;
};

struct source_view {
	uint64_t id;
	struct account_source source;
};

struct port_view {
	const char *name, *profile, *driver, *device, *mac;
	uint64_t id, numa_node, mtu, rx_queues, tx_queues, link_up, link_megabits, pool_mbufs,
	    pool_free;
	uint64_t rx_packets, rx_bytes, rx_missed, rx_errors, rx_no_buffer;
	uint64_t tx_packets, tx_bytes, tx_errors;
	char mac_text[18];
};

struct lcore_view {
	uint64_t lcore, cpu, adaptive, running;
	struct metric_texts roles;
};

struct generator_view {
	const char *name, *kind, *port;
	uint64_t finished;
};

struct writer_view {
	const char *name, *group, *directory, *format;
};
