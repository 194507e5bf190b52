// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The configuration of one appliance: one JSON file (RFC 8259) becomes one validated struct.
//
// A file may describe a whole system of nodes, each of which is an appliance: all of them read the
// same file, each names itself, and gets its own struct, in which `cluster` describes them all.
//
// The tables in keys*.c are the one place where a key's name, type, unit, range, default
// and meaning stand; parser, JSON Schema, manual page and error messages are made from them.
//
// Units: times in nanoseconds, sizes in bytes, rates in bits/s or events/s as named. In the file a
// quantity is a JSON number in that unit, or a string with a suffix: "100us", "64MiB", "25Gb/s".
//
// A loaded configuration is read-only and may be read by any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/memory_kind.h"
#include "cluster/system.h"
#include "packet/event_rules.h"
#include "port/settings.h"
#include "record/file_name.h"
#include "roce/settings.h"
#include "sched/sched.h"
#include "source/source_set.h"

#define CONFIG_ERROR_SIZE 512
#define CONFIG_MAX_GROUP  1023 // congestion group that a builder may be put in by number

#define CONFIG_MANAGER_NODE "*" // in the place of a node's name

#define CONFIG_AUTO UINT32_MAX // what a number holds for which the file says "auto"

struct config_memory {
	enum memory_kind kind;
	uint64_t limit; // bytes that packet pools may take without hugepages, 0: as planned
};

enum config_transport_kind {
	CONFIG_TRANSPORT_UDP,  // EJFAT segments in UDP datagrams
	CONFIG_TRANSPORT_ETH,  // the same behind an EtherType
	CONFIG_TRANSPORT_ROCE, // RoCE v2, see struct roce_settings
};

struct config_transport {
	enum config_transport_kind kind;
	uint16_t udp_port;  // first of the range that is listened to
	uint16_t udp_ports; // how many
	uint16_t ether_type;
};

struct config_sources {
	uint16_t ids[EVB_MAX_SOURCES]; // ascending, no duplicates
	unsigned n_ids;
	bool expected[EVB_MAX_SOURCES]; // by index into ids: part of this run?
	unsigned n_expected;
	uint32_t packing; // consecutive events in an MFP
	enum payload_kind payload;
};

struct config_builder {
	char name[EVB_NAME_SIZE];
	uint32_t slots;
	uint64_t slot_size; // bytes
	uint32_t group;     // congestion group; CONFIG_AUTO: one of its own
	uint16_t weight;    // of policy weighted
};

struct config_events {
	uint64_t deadline_ns; // from an event's first segment
	enum on_incomplete on_incomplete;
	enum on_no_slot on_no_slot;
	uint64_t drain_timeout_ns; // longest time from the stop to the flush of unfinished events
};

struct config_event_ring {
	char directory[EVB_PATH_SIZE]; // empty: chosen by memory.kind
	char groups[EVB_MAX_GROUPS][EVB_NAME_SIZE];
	unsigned n_groups;
};

struct config_generator {
	char name[EVB_NAME_SIZE];
	char port[EVB_NAME_SIZE];
	enum generator_kind kind;
	char file[EVB_PATH_SIZE];
	uint16_t ids[EVB_MAX_SOURCES]; // sources that it stands for; none: all
	unsigned n_ids;
	double rate;          // events (MEPs) a second; 0: as fast as possible
	double speed;         // pcap, roce: factor on the captured speed; 0: as fast as possible
	uint64_t events;      // MFPs a source to send, then end of run; 0: no end
	uint64_t first_event; // event id of the first fragment
	struct fragment_sizes sizes;
	uint32_t variants; // pre-filled MFPs a source
	uint64_t seed;
	uint32_t destination_address; // IPv4, host order
	bool has_destination_mac;
	uint8_t destination_mac[6];
	bool load_balancer_header;
	struct faults faults;
};

struct config_writer {
	char name[EVB_NAME_SIZE];
	char group[EVB_NAME_SIZE];
	char directory[EVB_PATH_SIZE];
	char prefix[EVB_NAME_SIZE];
	enum file_format format;
	uint64_t rotate_size;           // bytes, 0: never
	uint64_t rotate_time_ns;        // 0: never
	char source_map[EVB_PATH_SIZE]; // mdf: restores bank source ids, see source_map.h
};

struct config_lcore {
	uint32_t cpu;
	char roles[EVB_MAX_ROLES][EVB_NAME_SIZE]; // "rx.PORT", "builder.NAME", ...
	unsigned n_roles;
};

enum config_idle_policy {
	CONFIG_IDLE_ADAPTIVE,
	CONFIG_IDLE_POLL,
};

struct config_idle {
	enum config_idle_policy policy;
	uint32_t yields;   // empty polls that yield before the first sleep
	uint64_t sleep_ns; // of each sleep then
};

enum config_link_policy {
	CONFIG_LINK_LOSSLESS, // the producer stops taking input
	CONFIG_LINK_DROP,     // counted
};

struct config_links {
	uint32_t depth; // power of two
	enum config_link_policy policy;
};

enum config_on_source_silent {
	CONFIG_SOURCE_SILENT_CONTINUE, // events go on without it, incomplete
	CONFIG_SOURCE_SILENT_PAUSE,    // no grants until it is back
};

// When the run starts.
enum config_start {
	CONFIG_START_AUTO,   // all nodes are there
	CONFIG_START_MANUAL, // and the operator says so
};

struct config_event_manager {
	enum sched_mode mode;
	enum config_start start;
	enum sched_policy policy;
	bool strict; // round-robin waits for the builder whose turn it is instead of skipping it
	uint32_t distance; // grants within which no congestion group comes again; or CONFIG_AUTO
	uint64_t relax_after_ns;
	enum sched_shaping shaping;
	bool barrier;              // linear-shift: a phase begins when all have ended the last
	uint32_t parallel_sends;   // sources that send for one event at once
	uint32_t credits;          // events in flight a builder, 0: all its slots
	uint64_t send_window_ns;   // timed-shift
	uint64_t idle_window_ns;   // timed-shift
	double target_utilisation; // of a builder port's link rate, above 0
	uint64_t window;           // bytes in flight a builder port, 0: not limited
	uint32_t queue;            // events that wait for a grant, power of two
	enum sched_throttle throttle_level;
	uint64_t heartbeat_ns;         // between two
	uint64_t heartbeat_timeout_ns; // at least twice as long
	enum config_on_source_silent on_source_silent;
	uint32_t source_buffer; // MFPs that a source holds until they are released
	uint16_t control_port;  // UDP
	uint8_t control_dscp;
	uint8_t control_priority; // 802.1p
	uint8_t data_dscp;
	uint8_t data_priority; // 802.1p
};

struct config {
	char path[EVB_PATH_SIZE]; // of the file, for messages
	char name[EVB_NAME_SIZE]; // of the appliance: event ring and telemetry go by it;
				  // "SYSTEM-NODE" of a node
	uint32_t run_number;
	struct config_memory memory;
	struct port_settings ports[EVB_MAX_PORTS];
	unsigned n_ports;
	struct config_transport transport;
	struct config_sources sources;
	struct config_builder builders[EVB_MAX_BUILDERS];
	unsigned n_builders;
	struct config_events events;
	struct config_event_ring event_ring;
	struct config_generator generators[EVB_MAX_GENERATORS];
	unsigned n_generators;
	struct config_writer writers[EVB_MAX_WRITERS];
	unsigned n_writers;
	struct config_lcore lcores[EVB_MAX_CPUS];
	unsigned n_lcores; // 0: placed automatically
	struct config_idle idle;
	struct config_links links;
	struct roce_settings roce;
	struct config_event_manager event_manager; // of use in a cluster only
	struct cluster_system cluster;
};

// Loads, overrides and validates. `overrides` are "path=value" strings ("builders[0].slots=16",
// "transport.kind=eth"; the value is JSON, or a bare string), applied before validation. `node` is
// the name of the node to load of a file that describes several; NULL for other files, allowed
// where there is just one node; CONFIG_MANAGER_NODE for the event manager's, allowed for all files.
// All nodes of the file are validated, whichever is loaded.
// Returns 0, or -1 with one line in error[CONFIG_ERROR_SIZE]: "FILE: PATH: what is wrong".
// On success *config is to be freed with config_free().
int config_load(struct config **config, const char *path, const char *node,
		const char *const *overrides, unsigned n_overrides, char *error);

// The same from text in memory; `name` stands for the file in messages. config_parse() is without
// a node.
int config_parse_node(struct config **config, const char *text, size_t length, const char *name,
		      const char *node, const char *const *overrides, unsigned n_overrides,
		      char *error);
int config_parse(struct config **config, const char *text, size_t length, const char *name,
		 const char *const *overrides, unsigned n_overrides, char *error);

void config_free(struct config *config);

enum config_role_kind {
	CONFIG_ROLE_SOURCE,
	CONFIG_ROLE_RX,
	CONFIG_ROLE_BUILDER,
	CONFIG_ROLE_WRITER,
	CONFIG_ROLE_CONTROL,
	CONFIG_ROLE_READOUT,
};

struct config_role {
	char name[EVB_NAME_SIZE + 16];
	enum config_role_kind kind;
	unsigned object; // index into the generators, ports, builders or writers; 0 of control
	unsigned queue;  // rx only
};

// Role number `index` of the appliance, in the order of the data's way: "source.GENERATOR"; where
// there are builders "rx.PORT" of each port, or "rx.PORT.QUEUE" where it has several rx queues;
// "builder.NAME"; "writer.NAME". A node of a system has "control" before all of these,
// "readout.GENERATOR" in the place of "source.GENERATOR", and "rx.PORT" also without builders, for
// grants come in there. Returns false behind the last. Configured lcores hold each of these exactly
// once.
bool config_role(const struct config *config, unsigned index, struct config_role *role);

// What the source set of a generator is made of; the pointers lead into the configuration.
struct source_set_parameters config_source_set(const struct config *config,
					       const struct config_generator *generator);

// The JSON Schema (draft 2020-12) of the file, and the manual's table of all keys in Markdown,
// made from the key table. The caller frees the string. NULL if memory ran out.
char *config_schema(void);
char *config_reference(void);
