// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Keys of the file itself, of a node, and of all objects that have no keys*.c of their own.
#include "config/key_macros.h"

// clang-format off

static const struct config_key memory_keys[] = {
	{ .name = "kind", WORDS("auto", "hugepages", "shm"), FIELD(config_memory, kind),
	  .standard = "auto",
	  .help = "hugepages: evb does not start without them; auto: if enough are free; shm:"
		  " never." },
	{ .name = "limit", WHOLE(SIZE), RANGE(0, 64 * TIB), FIELD(config_memory, limit),
	  .standard = "0",
	  .help = "Largest packet pools without hugepages; 0: as planned." },
};
static OBJECT(memory, memory_keys);

static const struct config_key source_map_keys[] = {
	{ .name = "source_map", TEXT, FIELD(config_source_map, path), .required = true,
	  .help = "The source map: a JSON file {\"sources\": [{\"id\": 2049}]}." },
};
static OBJECT(source_map, source_map_keys);

static const struct config_key source_from_keys[] = {
	{ .name = "ids", .type = CONFIG_TYPE_ID_RANGES, ELEMENTS(source_from, ids),
	  RANGE(1, SOURCE_FROM_RANGES),
	  .help = "The sources. Without it: all." },
	{ .name = "addresses", .type = CONFIG_TYPE_ADDRESSES, ELEMENTS(source_from, addresses),
	  RANGE(1, SOURCE_FROM_ADDRESSES),
	  .help = "Their IPv4 or IPv6 addresses, with or without prefix, such as "
		  "\"10.0.0.0/24\"; for transport eth Ethernet addresses. Without it: any." },
	{ .name = "udp_port", WHOLE(COUNT), RANGE(1, 65535), OPTIONAL(source_from, udp_port),
	  .help = "First UDP port that they send from. Without it: any." },
	{ .name = "udp_ports", WHOLE(COUNT), RANGE(1, 65535), FIELD(source_from, udp_ports),
	  .standard = "1", .needs = "udp_port",
	  .help = "Number of these UDP ports." },
	{ .name = "vlan", WHOLE(COUNT), RANGE(0, 4094), OPTIONAL(source_from, vlan),
	  .help = "VLAN of the outermost tag; 0: untagged. Without it: any." },
};
static OBJECT(source_from_object, source_from_keys);

static const struct config_key source_keys[] = {
	{ .name = "ids", .type = CONFIG_TYPE_OWN_IDS, .object = &source_map,
	  ELEMENTS(config_sources, ids), RANGE(1, EVB_MAX_SOURCES), .required = true,
	  .help = "All known sources: a list of ids (2049, \"0x801\") and ranges "
		  "(\"0x801-0x840\"), or {\"source_map\": FILE} for those of a source map." },
	{ .name = "expected", .type = CONFIG_TYPE_EXPECTED, ELEMENTS(config_sources, expected),
	  RANGE(1, EVB_MAX_SOURCES),
	  .help = "Sources of a complete event. Without it: all." },
	{ .name = "packing", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_sources, packing),
	  .standard = "1",
	  .help = "Consecutive events per MFP." },
	{ .name = "fragment_size", WHOLE(SIZE), RANGE(0, GIB), FIELD(config_sources, fragment_size),
	  .standard = "0",
	  .help = "Mean size of a fragment in the largest built events, for which builders with "
		  "slot_size auto have room, and a quarter more; 0: not stated." },
	{ .name = "payload", WORDS("mfp", "opaque"), FIELD(config_sources, payload),
	  .standard = "mfp",
	  .help = "mfp: whole blocks are validated as MFPs; opaque: any bytes." },
	{ .name = "from", LIST(source_from_object), ELEMENTS(config_sources, from),
	  RANGE(0, SOURCE_FROM_MOST),
	  .help = "From where sources may send; other segments are dropped as not_admitted. "
		  "Sources in no entry may send from anywhere." },
	{ .name = "moves", WORDS("refuse", "allow"), FIELD(config_sources, moves),
	  .standard = "refuse",
	  .help = "A source sends from another address than before: refuse drops its segments"
		  " as moved_source until the first was silent for `move_after`; allow "
		  "follows it. Profiles pcap, ring and null allow it." },
	{ .name = "move_after", WHOLE(TIME), RANGE(100 * MILLISECOND, HOUR),
	  FIELD(config_sources, move_after_ns), .standard = "10s",
	  .help = "Silence after which a source may move." },
};
static OBJECT(sources, source_keys);

// The ranges are such that no product overflows 64 bits: 2^6 builders have at most 2^16 slots each.
static const struct config_key builder_keys[] = {
	{ .name = "name", ROLE_NAME, FIELD(config_builder, name),
	  .help = "Name of the builder. A single one needs none: b0." },
	{ .name = "slots", WHOLE(COUNT), RANGE(1, 65536), FIELD(config_builder, slots),
	  .standard = "64",
	  .help = "Events under construction or read at one time." },
	{ .name = "slot_size", WHOLE(SIZE), RANGE(4 * KIB, 4 * GIB), OR_AUTO(CONFIG_SLOT_AUTO),
	  FIELD(config_builder, slot_size), .standard = "auto",
	  .help = "Size of a slot: the largest built event (MEP); auto: 4MiB, or by "
		  "sources.fragment_size." },
	{ .name = "group", WHOLE(COUNT), RANGE(0, CONFIG_MAX_GROUP), OR_AUTO(CONFIG_AUTO),
	  FIELD(config_builder, group), .standard = "0",
	  BETWEEN_RUNS,
	  .help = "Congestion group: builders behind one bottleneck, such as a leaf switch; "
		  "auto: a group of its own." },
	{ .name = "weight", WHOLE(COUNT), RANGE(1, SCHED_MAX_WEIGHT), FIELD(config_builder, weight),
	  .standard = "1",
	  BETWEEN_RUNS,
	  .help = "Share of the events with policy weighted." },
};
static OBJECT(builder, builder_keys);

static const struct config_key event_keys[] = {
	{ .name = "deadline", WHOLE(TIME), RANGE(MICROSECOND, HOUR), OR_AUTO(0),
	  FIELD(config_events, deadline_ns), .standard = "auto",
	  .help = "Longest wait for the missing data of an event, from its first segment on; "
		  "auto: 100ms, in a system heartbeat_timeout + 100ms." },
	{ .name = "on_incomplete", WORDS("flag", "discard"), FIELD(config_events, on_incomplete),
	  .standard = "flag",
	  .help = "Events with missing sources: flag publishes them with flags and error "
		  "MFPs; discard discards them." },
	{ .name = "on_no_slot", WORDS("wait", "drop"), FIELD(config_events, on_no_slot),
	  .standard = "wait",
	  .help = "Without a free slot: wait holds segments back; drop drops them." },
	{ .name = "on_end_of_run", WORDS("stop", "ignore"), FIELD(config_events, on_end_of_run),
	  .standard = "stop",
	  .help = "End-of-run MFPs: stop ends the run when all sources have sent theirs, or "
		  "most have and none sends data for `deadline`; ignore counts them. In a "
		  "system that grants events the manager ends the run." },
	{ .name = "drain_timeout", WHOLE(TIME), RANGE(0, HOUR),
	  FIELD(config_events, drain_timeout_ns), .standard = "2s",
	  .help = "Longest time from stop to flush of unfinished events." },
};
static OBJECT(events, event_keys);

static const struct config_key event_ring_keys[] = {
	{ .name = "directory", TEXT_OR_EMPTY, FIELD(config_event_ring, directory),
	  .help = "Directory of the event ring's files; empty: chosen by memory.kind." },
	{ .name = "groups", .type = CONFIG_TYPE_NAMES, ELEMENTS(config_event_ring, groups),
	  RANGE(0, EVB_MAX_GROUPS), .standard = "[]",
	  .help = "Consumer groups, besides writers', for which events are retained from the "
		  "start." },
	{ .name = "mode", WORDS("rw-------", "rw-r-----", "rw-r--r--", "rw-rw----", "rw-rw-r--",
				"rw-rw-rw-"),
	  FIELD(config_event_ring, mode), .standard = "rw-rw----",
	  .help = "Mode of the files for evb's user, their Unix group and all others: rw "
		  "allows consumers, r spies only." },
	{ .name = "unix_group", .type = CONFIG_TYPE_TEXT, RANGE(0, EVB_NAME_SIZE - 1),
	  .standard = "", FIELD(config_event_ring, unix_group),
	  .help = "Unix group of these files, a name or a number; empty: evb's." },
};
static OBJECT(event_ring, event_ring_keys);

static const struct config_key group_keys[] = {
	{ .name = "name", NAME, FIELD(config_group, name), .required = true,
	  .help = "Name of the group, for which events are retained from the start." },
	{ .name = "decides", .type = CONFIG_TYPE_BOOLEAN, FIELD(config_group, decides),
	  .standard = "false",
	  .help = "Whether its members decide which events groups after it get." },
	{ .name = "undecided", WORDS("accept", "reject"), FIELD(config_group, undecided),
	  .standard = "accept",
	  .help = "How an event counts that is released without a decision, or about which "
		  "nobody decides before the end." },
	{ .name = "after", NAME, FIELD(config_group, after),
	  .help = "The deciding group whose accepted events it gets. Without it: all events." },
};
static OBJECT(group, group_keys);

static const struct config_key writer_keys[] = {
	{ .name = "name", ROLE_NAME, FIELD(config_writer, name),
	  .help = "Name of the writer. A single one needs none: files." },
	{ .name = "group", NAME, FIELD(config_writer, group),
	  .help = "Consumer group; writers of one group share the events. Without it: the "
		  "writer's name." },
	{ .name = "after", NAME, FIELD(config_writer, after),
	  .help = "The deciding group whose accepted events its group gets. Without it: as in"
		  " `groups`, else all events." },
	{ .name = "directory", TEXT, FIELD(config_writer, directory), .standard = ".",
	  .help = "Directory of the files." },
	{ .name = "prefix", NAME, FIELD(config_writer, prefix), .standard = "events",
	  .help = "First part of the files' names." },
	{ .name = "format", WORDS("mep", "mdf"), FIELD(config_writer, format), .standard = "mep",
	  .help = "mep: built events as in memory; mdf: one record per event." },
	{ .name = "rotate_size", WHOLE(SIZE), RANGE(0, 64 * TIB),
	  FIELD(config_writer, rotate_size), .standard = "1GiB",
	  .help = "File size at which the next file begins; 0: never." },
	{ .name = "rotate_time", WHOLE(TIME), RANGE(0, 8760 * HOUR),
	  FIELD(config_writer, rotate_time_ns), .standard = "0",
	  .help = "File age at which the next file begins; 0: never." },
	{ .name = "source_map", TEXT_OR_EMPTY, FIELD(config_writer, source_map),
	  .help = "Format mdf: source map that restores the ids of banks." },
};
static OBJECT(writer, writer_keys);

static const struct config_key results_ring_keys[] = {
	{ .name = "name", NAME, FIELD(config_results_ring, name),
	  .help = "Name of the ring, by which consumers open it." },
	{ .name = "groups", .type = CONFIG_TYPE_NAMES, ELEMENTS(config_results_ring, groups),
	  RANGE(0, EVB_MAX_GROUPS), .standard = "[]",
	  .help = "Consumer groups for which results are retained from the start." },
	{ .name = "slots", WHOLE(COUNT), RANGE(2, 65536), FIELD(config_results_ring, slots),
	  .standard = "1024",
	  .help = "Blocks of up to 127 decisions, 4 KiB of shared memory each." },
};
static OBJECT(results_ring, results_ring_keys);

static const struct config_key results_keys[] = {
	{ .name = "name", ROLE_NAME, FIELD(config_results, name), .required = true,
	  .help = "Name of the role and of its consumer group." },
	{ .name = "group", NAME, FIELD(config_results, group),
	  .help = "The deciding group whose decisions are written. Needed without `from`." },
	{ .name = "from", NAME, FIELD(config_results, from),
	  .help = "Instead of `group`: the event ring in which another evb on the same machine "
		  "writes its results, by the event ids, and with the run_number, of this one. "
		  "What it does not decide within `timeout` is accepted." },
	{ .name = "of", WORDS("system", "node"), FIELD(config_results, of), .standard = "system",
	  .help = "In a system of nodes: system takes the decisions of all nodes with builders; one "
		  "node may have such results. node takes those of its own builders." },
	{ .name = "to", WORDS("file", "udp", "ring"), FIELD(config_results, to), .standard = "file",
	  .help = "Where the decisions go; ring: to consumers on the same machine." },
	{ .name = "directory", TEXT, FIELD(config_results, directory), .standard = ".",
	  .help = "Directory of the file." },
	{ .name = "prefix", NAME, FIELD(config_results, prefix), .standard = "events",
	  .help = "First part of the file's name." },
	{ .name = "address", .type = CONFIG_TYPE_IPV4, OPTIONAL(config_results, address),
	  .help = "udp: destination of the datagrams." },
	{ .name = "udp_port", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_results, udp_port),
	  .standard = "23500",
	  .help = "udp: destination port." },
	{ .name = "ring", NESTED(results_ring), FIELD(config_results, ring),
	  .help = "ring: an event ring of blocks of decisions, with directory, mode and "
		  "unix_group of `event_ring`." },
	{ .name = "window", WHOLE(COUNT), RANGE(64, 16777216), .power_of_two = true,
	  FIELD(config_results, window), .standard = "65536",
	  .help = "Consecutive events that may wait; at least event rate times `timeout`." },
	{ .name = "timeout", WHOLE(TIME), RANGE(MILLISECOND, HOUR),
	  FIELD(config_results, timeout_ns), .standard = "1s",
	  .help = "Longest wait for the decision about an event, which then counts as "
		  "`undecided` of the group, or for an id that does not exist here." },
	{ .name = "origin_packing", WHOLE(COUNT), RANGE(0, 65535),
	  FIELD(config_results, origin_packing), .standard = "0",
	  .help = "If blocks are events that another evb has built: decisions are written under "
		  "the ids of those, with this `sources.packing` of the first stage. 0: under the "
		  "ids of this system." },
};
static OBJECT(results, results_keys);

static const struct config_key lcore_keys[] = {
	{ .name = "cpu", WHOLE(COUNT), RANGE(0, 1023), FIELD(config_lcore, cpu), .required = true,
	  .help = "CPU of the lcore." },
	{ .name = "roles", .type = CONFIG_TYPE_ROLES, ELEMENTS(config_lcore, roles),
	  RANGE(1, EVB_MAX_ROLES), .required = true,
	  .help = "Its roles, polled in this order: rx.PORT (rx.PORT.QUEUE if the port has "
		  "several queues; only with builders), builder.NAME, source.GENERATOR, "
		  "writer.NAME, results.NAME. On a node of a system also control, always "
		  "rx.PORT, and readout.GENERATOR instead of source.GENERATOR." },
};
static OBJECT(lcore, lcore_keys);

static const struct config_key idle_keys[] = {
	{ .name = "policy", WORDS("adaptive", "poll"), FIELD(config_idle, policy),
	  .standard = "adaptive",
	  .help = "Without work: adaptive yields and then sleeps; poll never does, for lcores"
		  " that own their CPU." },
	{ .name = "yields", WHOLE(COUNT), RANGE(0, 1000000), FIELD(config_idle, yields),
	  .standard = "100",
	  .help = "Empty polls that yield before the first sleep." },
	{ .name = "sleep", WHOLE(TIME), RANGE(20 * MICROSECOND, 10 * MILLISECOND),
	  FIELD(config_idle, sleep_ns), .standard = "50us",
	  .help = "Length of each sleep." },
};
static OBJECT(idle, idle_keys);

static const struct config_key link_keys[] = {
	{ .name = "depth", WHOLE(COUNT), RANGE(64, 1048576), .power_of_two = true,
	  OR_AUTO(CONFIG_DEPTH_AUTO), FIELD(config_links, depth), .standard = "auto",
	  .help = "Entries of a link; auto: 4096 (1024 with an MTU above 9600), or for the "
		  "packets of as many events as an event manager may grant, up to 32 MiB." },
	{ .name = "policy", WORDS("lossless", "drop"), FIELD(config_links, policy),
	  .standard = "lossless",
	  .help = "With a full link: lossless stops rx; drop drops." },
};
static OBJECT(links, link_keys);

// Keys of the file that a node may also have, and then replace the file's.
#define MEMORY                                                                           \
	.name = "memory", NESTED(memory), FIELD(config, memory), .is_local = true,       \
	.help = "Memory of packet buffers and slots."
#define PORTS                                                                            \
	.name = "ports", LIST(config_port_object), ELEMENTS(config, ports),              \
	RANGE(1, EVB_MAX_PORTS), .help = "The network ports."
#define BUILDERS                                                                         \
	.name = "builders", LIST(builder), ELEMENTS(config, builders),                   \
	RANGE(0, EVB_MAX_BUILDERS),                                                   \
	.help = "The builders, each with an event ring."
#define EVENT_RING                                                                       \
	.name = "event_ring", NESTED(event_ring), FIELD(config, event_ring),             \
	.is_local = true, .help = "The shared memory in which consumers read built events."
#define GENERATORS                                                                       \
	.name = "generators", LIST(config_generator_object), ELEMENTS(config, generators), \
	RANGE(0, EVB_MAX_GENERATORS), .help = "Substitutes for readout boards."
#define GROUPS                                                                           \
	.name = "groups", LIST(group), ELEMENTS(config, groups),                         \
	RANGE(0, EVB_MAX_GROUPS), .is_local = true,                                      \
	.help = "Consumer groups that decide, or come after such a group."
#define WRITERS                                                                          \
	.name = "writers", LIST(writer), ELEMENTS(config, writers),                      \
	RANGE(0, EVB_MAX_WRITERS), .is_local = true, .help = "Writers of files."
#define RESULTS                                                                          \
	.name = "results", LIST(results), ELEMENTS(config, results),                     \
	RANGE(0, EVB_MAX_RESULTS), .is_local = true,                                     \
	.help = "Decisions of consumers, written in the order of events."
#define LCORES                                                                           \
	.name = "lcores", .type = CONFIG_TYPE_LIST_OR_AUTO, .object = &lcore,            \
	ELEMENTS(config, lcores), RANGE(1, EVB_MAX_CPUS), .standard = "auto",         \
	.is_local = true,                                                                \
	.help = "The CPU of each role; auto distributes them over the CPUs of the " \
		"process."
#define IDLE                                                                             \
	.name = "idle", NESTED(idle), FIELD(config, idle), .is_local = true,             \
	.help = "Behaviour of an lcore without work."
#define LINKS                                                                            \
	.name = "links", NESTED(links), FIELD(config, links), .is_local = true,          \
	.help = "The links between roles."
#define ROCE                                                                             \
	.name = "roce", NESTED(config_roce_object), FIELD(config, roce),                 \
	.help = "RoCE v2, for transport kind roce."

static const struct config_key node_keys[] = {
	{ .name = "name", NAME, FIELD(cluster_system_node, name), .required = true,
	  .help = "Name of the node; its appliance is SYSTEM-NODE." },
	{ .name = "manager", .type = CONFIG_TYPE_BOOLEAN, FIELD(cluster_system_node, manager),
	  .standard = "false",
	  .help = "Whether the event manager may run here. With 2 or 3 such nodes it is elected." },
	{ .name = "port", NESTED(config_port_object), .is_partial = true,
	  .help = "Keys of `ports[]` that replace those of the only port in `ports` of the file." },
	{ MEMORY, .as_root = true },
	{ PORTS, .as_root = true },
	{ BUILDERS, .as_root = true },
	{ EVENT_RING, .as_root = true },
	{ GENERATORS, .as_root = true },
	{ GROUPS, .as_root = true },
	{ WRITERS, .as_root = true },
	{ RESULTS, .as_root = true },
	{ LCORES, .as_root = true },
	{ IDLE, .as_root = true },
	{ LINKS, .as_root = true },
	{ ROCE, .as_root = true },
};
OBJECT(config_node_object, node_keys);

static const struct config_key root_keys[] = {
	{ .name = "$schema", .type = CONFIG_TYPE_IGNORED, .is_local = true,
	  .help = "For editors: the path of schema.json." },
	{ .name = "name", NAME, FIELD(config, name), .standard = "evb",
	  .help = "Name of the appliance or system." },
	{ .name = "run_number", WHOLE(COUNT), RANGE(0, UINT32_MAX), FIELD(config, run_number),
	  .standard = "1",
	  .help = "Run number in the data." },
	{ MEMORY },
	{ PORTS, .required = true, .unless = "nodes" },
	{ .name = "transport", NESTED(config_transport_object), FIELD(config, transport),
	  .help = "Transport of the segments." },
	{ .name = "sources", NESTED(sources), FIELD(config, sources), .required = true,
	  .help = "The sources of data." },
	{ BUILDERS },
	{ .name = "events", NESTED(events), FIELD(config, events),
	  BETWEEN_RUNS,
	  .help = "Treatment of late events and full builders." },
	{ EVENT_RING },
	{ GENERATORS },
	{ GROUPS },
	{ WRITERS },
	{ RESULTS },
	{ LCORES },
	{ IDLE },
	{ LINKS },
	{ ROCE },
	{ .name = "nodes", .type = CONFIG_TYPE_NODES, .object = &config_node_object,
	  RANGE(1, EVB_MAX_NODES),
	  .help = "The nodes of a system, each started with --node NAME." },
	{ .name = "event_manager", NESTED(config_event_manager_object),
	  FIELD(config, event_manager), .needs = "nodes",
	  .help = "Assignment of events to builders, and traffic shaping." },
	{ .name = "fabric", NESTED(config_fabric_object), FIELD(config, fabric), .is_local = true,
	  .help = "The network for `evb sim`." },
};
OBJECT(config_root, root_keys);
