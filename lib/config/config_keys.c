// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "config/config_keys.h"

#define FIELD(structure, member)                      \
	.offset = offsetof(struct structure, member), \
	.width = sizeof(((struct structure *)NULL)->member)
#define ELEMENTS(structure, member)                             \
	.offset = offsetof(struct structure, member),           \
	.width = sizeof(((struct structure *)NULL)->member[0]), \
	.count = offsetof(struct structure, n_##member)
#define OBJECT(name_, keys_)                                         \
	static const struct config_object name_ = { .title = #name_, \
						    .keys = keys_,   \
						    .n_keys = sizeof(keys_) / sizeof(keys_[0]) }
#define RANGE(minimum_, maximum_) .minimum = (minimum_), .maximum = (maximum_)
#define NAME                      .type = CONFIG_TYPE_NAME, RANGE(1, CONFIG_NAME_SIZE - 1)
// Names from which names of roles are made ("builder.NAME"), which must fit too.
#define ROLE_NAME     .type = CONFIG_TYPE_NAME, RANGE(1, CONFIG_NAME_SIZE - sizeof("builder."))
#define TEXT          .type = CONFIG_TYPE_TEXT, RANGE(1, CONFIG_PATH_SIZE - 1)
#define TEXT_OR_EMPTY .type = CONFIG_TYPE_TEXT, RANGE(0, CONFIG_PATH_SIZE - 1), .standard = ""
#define WHOLE(unit)   .type = CONFIG_TYPE_WHOLE, .units = UNITS_##unit
#define WORDS(...)                                               \
	.type = CONFIG_TYPE_WORD, .words = (const char *const[]) \
	{                                                        \
		__VA_ARGS__, NULL                                \
	}
#define NESTED(object_) .type = CONFIG_TYPE_OBJECT, .object = &(object_)
#define LIST(object_)   .type = CONFIG_TYPE_LIST, .object = &(object_)

#define MICROSECOND 1000ULL
#define MILLISECOND (1000 * MICROSECOND)
#define HOUR        (3600 * 1000 * MILLISECOND)
#define KIB         (1ULL << 10)
#define GIB         (1ULL << 30)
#define TIB         (1ULL << 40)

// clang-format off

static const struct config_key memory_keys[] = {
	{ .name = "kind", WORDS("auto", "hugepages", "shm"), FIELD(config_memory, kind),
	  .standard = "auto",
	  .help = "auto takes hugepages where they are there and suffice; hugepages refuses to "
		  "start without; shm never uses them." },
	{ .name = "limit", WHOLE(SIZE), RANGE(0, 64 * TIB), FIELD(config_memory, limit),
	  .standard = "0",
	  .help = "Most memory that packet pools may take without hugepages; 0: as planned." },
};
OBJECT(memory, memory_keys);

static const struct config_key port_keys[] = {
	{ .name = "name", ROLE_NAME, FIELD(config_port, name), .required = true,
	  .help = "What other keys, roles and telemetry call the port." },
	{ .name = "profile", TEXT, FIELD(config_port, profile), .required = true,
	  .help = "The driver profile: a name in pmd-config/, or the path of a profile file." },
	{ .name = "device", TEXT_OR_EMPTY, FIELD(config_port, device),
	  .help = "What the driver opens: a kernel interface, a memif socket, a PCI address, a "
		  "capture file; as the profile says." },
	{ .name = "options", .type = CONFIG_TYPE_OPTIONS, ELEMENTS(config_port, options),
	  RANGE(0, CONFIG_MAX_OPTIONS),
	  .help = "Device arguments for the driver beside the profile's, as name and value." },
	{ .name = "mtu", WHOLE(SIZE), RANGE(64, 65500), FIELD(config_port, mtu),
	  .standard = "1500",
	  .help = "Bytes of a packet behind the Ethernet header." },
	{ .name = "address", .type = CONFIG_TYPE_IPV4, FIELD(config_port, address),
	  .presence = offsetof(struct config_port, has_address),
	  .prefix = offsetof(struct config_port, prefix_length),
	  .help = "IPv4 address of the port, such as \"10.0.0.1/24\" (without a prefix: /32); ARP "
		  "and ICMP echo are answered for it." },
	{ .name = "mac", .type = CONFIG_TYPE_MAC, FIELD(config_port, mac),
	  .presence = offsetof(struct config_port, has_mac),
	  .help = "Ethernet address to set; without it the device keeps its own." },
	{ .name = "rx_queues", WHOLE(COUNT), RANGE(1, 64), FIELD(config_port, rx_queues),
	  .standard = "1",
	  .help = "Receive queues, each with a role of its own." },
	{ .name = "rx_descriptors", WHOLE(COUNT), RANGE(0, 32768),
	  FIELD(config_port, rx_descriptors), .standard = "0",
	  .help = "Descriptors of a receive queue; 0: the profile's." },
	{ .name = "tx_descriptors", WHOLE(COUNT), RANGE(0, 32768),
	  FIELD(config_port, tx_descriptors), .standard = "0",
	  .help = "Descriptors of a transmit queue; 0: the profile's." },
	{ .name = "link_timeout", WHOLE(TIME), RANGE(0, HOUR), FIELD(config_port, link_timeout_ns),
	  .standard = "5s",
	  .help = "Longest wait for the link at the start." },
	{ .name = "verify_checksums", .type = CONFIG_TYPE_BOOLEAN,
	  FIELD(config_port, verify_checksums), .standard = "true",
	  .help = "Whether IP and UDP checksums are verified and wrong packets dropped." },
};
OBJECT(port, port_keys);

static const struct config_key transport_keys[] = {
	{ .name = "kind", WORDS("udp", "eth"), FIELD(config_transport, kind), .standard = "udp",
	  .help = "How segments travel: in UDP datagrams, or right behind an EtherType." },
	{ .name = "udp_port", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_transport, udp_port),
	  .standard = "19522",
	  .help = "First UDP port that is listened to." },
	{ .name = "udp_ports", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_transport, udp_ports),
	  .standard = "1",
	  .help = "How many UDP ports are listened to." },
	{ .name = "ether_type", WHOLE(COUNT), RANGE(0x600, 0xffff),
	  FIELD(config_transport, ether_type), .standard = "0x88B5",
	  .help = "The EtherType of kind eth." },
};
OBJECT(transport, transport_keys);

static const struct config_key source_map_keys[] = {
	{ .name = "source_map", TEXT, FIELD(config_source_map, path), .required = true,
	  .help = "The source map: a JSON file {\"sources\": [{\"id\": 2049}]}." },
};
OBJECT(source_map, source_map_keys);

static const struct config_key source_keys[] = {
	{ .name = "ids", .type = CONFIG_TYPE_OWN_IDS, .object = &source_map,
	  ELEMENTS(config_sources, ids), RANGE(1, CONFIG_MAX_SOURCES), .required = true,
	  .help = "All sources that are listened to: a list of ids (2049, \"0x801\") and ranges "
		  "(\"0x801-0x840\"), or {\"source_map\": FILE} for those of a source map." },
	{ .name = "expected", .type = CONFIG_TYPE_EXPECTED, ELEMENTS(config_sources, expected),
	  RANGE(1, CONFIG_MAX_SOURCES),
	  .help = "Those among ids that take part in this run: an event is complete when it has "
		  "them all. Without it: all." },
	{ .name = "packing", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_sources, packing),
	  .standard = "1",
	  .help = "Consecutive events whose fragments a source packs into one MFP." },
	{ .name = "payload", WORDS("mfp", "opaque"), FIELD(config_sources, payload),
	  .standard = "mfp",
	  .help = "mfp: blocks are validated as MFPs when whole; opaque: any bytes." },
};
OBJECT(sources, source_keys);

// No product overflows: 2^16 slots of 2^36 bytes in 2^6 builders are 2^58 bytes.
static const struct config_key builder_keys[] = {
	{ .name = "name", ROLE_NAME, FIELD(config_builder, name), .required = true,
	  .help = "What roles, event ring and telemetry call the builder." },
	{ .name = "slots", WHOLE(COUNT), RANGE(1, 65536), FIELD(config_builder, slots),
	  .standard = "64",
	  .help = "Receive buffers: events that are being built or read at one time." },
	{ .name = "slot_size", WHOLE(SIZE), RANGE(4 * KIB, 4 * GIB),
	  FIELD(config_builder, slot_size), .standard = "4MiB",
	  .help = "Size of a slot: room for one built event (MEP)." },
};
OBJECT(builder, builder_keys);

static const struct config_key event_keys[] = {
	{ .name = "deadline", WHOLE(TIME), RANGE(MICROSECOND, HOUR),
	  FIELD(config_events, deadline_ns), .standard = "100ms",
	  .help = "How long an event waits for missing data, from its first segment." },
	{ .name = "on_incomplete", WORDS("flag", "discard"), FIELD(config_events, on_incomplete),
	  .standard = "flag",
	  .help = "flag publishes an event that misses sources, flagged, with error MFPs in their "
		  "place; discard counts and forgets it." },
	{ .name = "on_no_slot", WORDS("wait", "drop"), FIELD(config_events, on_no_slot),
	  .standard = "wait",
	  .help = "Where no slot is free: wait takes no more segments until one is released; drop "
		  "counts and drops the segment." },
	{ .name = "drain_timeout", WHOLE(TIME), RANGE(0, HOUR),
	  FIELD(config_events, drain_timeout_ns), .standard = "2s",
	  .help = "Longest time from the stop to the flush of unfinished events." },
};
OBJECT(events, event_keys);

static const struct config_key event_ring_keys[] = {
	{ .name = "directory", TEXT_OR_EMPTY, FIELD(config_event_ring, directory),
	  .help = "Where the event ring's files lie; empty: chosen by memory.kind." },
	{ .name = "groups", .type = CONFIG_TYPE_NAMES, ELEMENTS(config_event_ring, groups),
	  RANGE(0, CONFIG_MAX_GROUPS), .standard = "[]",
	  .help = "Consumer groups that are there from the start: events are kept for them until "
		  "a member comes. Those of the writers are added." },
};
OBJECT(event_ring, event_ring_keys);

static const struct config_key size_keys[] = {
	{ .name = "law", WORDS("fixed", "gaussian", "lhcb"), FIELD(config_generator, size_law),
	  .standard = "fixed",
	  .help = "fixed: every fragment has mean bytes; gaussian: mean and sigma, cut at 0 and "
		  "maximum; lhcb: the measured profile of each subdetector." },
	{ .name = "mean", WHOLE(SIZE), RANGE(0, 65535), FIELD(config_generator, size_mean),
	  .standard = "100",
	  .help = "Mean size of a fragment." },
	{ .name = "sigma", WHOLE(SIZE), RANGE(0, 65535), FIELD(config_generator, size_sigma),
	  .standard = "20",
	  .help = "Width of the distribution, of law gaussian." },
	{ .name = "maximum", WHOLE(SIZE), RANGE(0, 65535), FIELD(config_generator, size_maximum),
	  .standard = "240",
	  .help = "Largest fragment, of law gaussian." },
};
OBJECT(size, size_keys);

static const struct config_key destination_keys[] = {
	{ .name = "address", .type = CONFIG_TYPE_IPV4,
	  FIELD(config_generator, destination_address), .standard = "10.0.0.1",
	  .help = "IPv4 address that segments are sent to." },
	{ .name = "mac", .type = CONFIG_TYPE_MAC, FIELD(config_generator, destination_mac),
	  .presence = offsetof(struct config_generator, has_destination_mac),
	  .help = "Ethernet address that segments are sent to; without it ARP asks for it." },
};
OBJECT(destination, destination_keys);

static const struct config_key fault_keys[] = {
	{ .name = "loss", .type = CONFIG_TYPE_REAL, RANGE(0, 1), FIELD(config_faults, loss),
	  .standard = "0",
	  .help = "Probability that a segment is not sent." },
	{ .name = "duplicate", .type = CONFIG_TYPE_REAL, RANGE(0, 1),
	  FIELD(config_faults, duplicate), .standard = "0",
	  .help = "Probability that a segment is sent twice." },
	{ .name = "corrupt", .type = CONFIG_TYPE_REAL, RANGE(0, 1), FIELD(config_faults, corrupt),
	  .standard = "0",
	  .help = "Probability that one byte of a segment's payload is changed." },
	{ .name = "reorder_window", WHOLE(COUNT), RANGE(0, CONFIG_MAX_REORDER),
	  FIELD(config_faults, reorder_window), .standard = "0",
	  .help = "Segments are shuffled over this many; 0 or 1: not at all." },
	{ .name = "silent_source", WHOLE(COUNT), RANGE(0, 65535),
	  FIELD(config_faults, silent_source),
	  .presence = offsetof(struct config_faults, has_silent_source),
	  .help = "Id of a source that never sends." },
	{ .name = "late_source", WHOLE(COUNT), RANGE(0, 65535), FIELD(config_faults, late_source),
	  .presence = offsetof(struct config_faults, has_late_source),
	  .help = "Id of a source that sends late_delay after the others." },
	{ .name = "late_delay", WHOLE(TIME), RANGE(0, HOUR), FIELD(config_faults, late_delay_ns),
	  .standard = "0",
	  .help = "How late the late source is." },
};
OBJECT(faults, fault_keys);

static const struct config_key generator_keys[] = {
	{ .name = "name", ROLE_NAME, FIELD(config_generator, name), .required = true,
	  .help = "What roles and telemetry call the generator." },
	{ .name = "port", NAME, FIELD(config_generator, port), .required = true,
	  .help = "Name of the port that it sends from." },
	{ .name = "kind", WORDS("synthetic", "mdf", "mfp", "pcap"), FIELD(config_generator, kind),
	  .standard = "synthetic",
	  .help = "synthetic: made up by a size law; mdf: events of an MDF file, packed anew; mfp: "
		  "MFPs of a file; pcap: packets of a capture." },
	{ .name = "file", TEXT_OR_EMPTY, FIELD(config_generator, file),
	  .help = "The file of kinds mdf, mfp and pcap." },
	{ .name = "ids", .type = CONFIG_TYPE_IDS, ELEMENTS(config_generator, ids),
	  RANGE(1, CONFIG_MAX_SOURCES),
	  .help = "Those among sources.ids that it stands for. Without it: all." },
	{ .name = "rate", .type = CONFIG_TYPE_REAL, .units = UNITS_FREQUENCY,
	  RANGE(0, 1000000000), FIELD(config_generator, rate), .standard = "0",
	  .help = "Built events (MEPs) a second; 0: as fast as possible." },
	{ .name = "speed", .type = CONFIG_TYPE_REAL, RANGE(0, 1000000),
	  FIELD(config_generator, speed), .standard = "1",
	  .help = "Of kind pcap: factor on the captured speed; 0: as fast as possible." },
	{ .name = "events", WHOLE(COUNT), RANGE(0, UINT64_MAX), FIELD(config_generator, events),
	  .standard = "0",
	  .help = "MFPs that each source sends before the end of run; 0: no end." },
	{ .name = "first_event", WHOLE(COUNT), RANGE(0, UINT64_MAX - 1),
	  FIELD(config_generator, first_event), .standard = "0",
	  .help = "Event id of the first fragment." },
	{ .name = "size", NESTED(size),
	  .help = "Sizes of the fragments of kind synthetic." },
	{ .name = "variants", WHOLE(COUNT), RANGE(1, 64), FIELD(config_generator, variants),
	  .standard = "4",
	  .help = "Different MFPs that are made for each source before the run and sent in turn." },
	{ .name = "seed", WHOLE(COUNT), RANGE(0, UINT64_MAX), FIELD(config_generator, seed),
	  .standard = "1",
	  .help = "Seed of sizes, contents and faults." },
	{ .name = "destination", NESTED(destination),
	  .help = "Where segments are sent." },
	{ .name = "load_balancer_header", .type = CONFIG_TYPE_BOOLEAN,
	  FIELD(config_generator, load_balancer_header), .standard = "false",
	  .help = "Whether segments carry the header of the EJFAT load balancer." },
	{ .name = "faults", NESTED(faults), .offset = offsetof(struct config_generator, faults),
	  .help = "Faults on demand; probabilities are those of each segment." },
};
OBJECT(generator, generator_keys);

static const struct config_key writer_keys[] = {
	{ .name = "name", ROLE_NAME, FIELD(config_writer, name), .required = true,
	  .help = "What roles and telemetry call the writer." },
	{ .name = "group", NAME, FIELD(config_writer, group),
	  .help = "Consumer group that it reads as; writers of one group share the events. "
		  "Without it: the writer's name." },
	{ .name = "directory", TEXT, FIELD(config_writer, directory), .standard = ".",
	  .help = "Where the files are written." },
	{ .name = "prefix", NAME, FIELD(config_writer, prefix), .standard = "events",
	  .help = "How the files' names begin." },
	{ .name = "format", WORDS("mep", "mdf"), FIELD(config_writer, format), .standard = "mep",
	  .help = "mep: built events as in memory; mdf: one record an event." },
	{ .name = "rotate_size", WHOLE(SIZE), RANGE(0, 64 * TIB),
	  FIELD(config_writer, rotate_size), .standard = "1GiB",
	  .help = "Size at which the next file is begun; 0: never." },
	{ .name = "rotate_time", WHOLE(TIME), RANGE(0, 8760 * HOUR),
	  FIELD(config_writer, rotate_time_ns), .standard = "0",
	  .help = "Age at which the next file is begun; 0: never." },
	{ .name = "source_map", TEXT_OR_EMPTY, FIELD(config_writer, source_map),
	  .help = "Of format mdf: the source map that restores the source ids of banks." },
};
OBJECT(writer, writer_keys);

static const struct config_key lcore_keys[] = {
	{ .name = "cpu", WHOLE(COUNT), RANGE(0, 1023), FIELD(config_lcore, cpu), .required = true,
	  .help = "The CPU that the lcore runs on." },
	{ .name = "roles", .type = CONFIG_TYPE_ROLES, ELEMENTS(config_lcore, roles),
	  RANGE(1, CONFIG_MAX_ROLES), .required = true,
	  .help = "Its roles, polled in this order: rx.PORT (rx.PORT.QUEUE where a port has several "
		  "queues; only where there are builders), builder.NAME, source.GENERATOR, "
		  "writer.NAME." },
};
OBJECT(lcore, lcore_keys);

static const struct config_key idle_keys[] = {
	{ .name = "policy", WORDS("adaptive", "poll"), FIELD(config_idle, policy),
	  .standard = "adaptive",
	  .help = "adaptive yields and then sleeps while there is nothing to do; poll never does, "
		  "for lcores that own their CPU." },
	{ .name = "yields", WHOLE(COUNT), RANGE(0, 1000000), FIELD(config_idle, yields),
	  .standard = "100",
	  .help = "Empty polls that yield before the first sleep." },
	{ .name = "sleep", WHOLE(TIME), RANGE(20 * MICROSECOND, 10 * MILLISECOND),
	  FIELD(config_idle, sleep_ns), .standard = "50us",
	  .help = "Length of each sleep." },
};
OBJECT(idle, idle_keys);

static const struct config_key link_keys[] = {
	{ .name = "depth", WHOLE(COUNT), RANGE(64, 1048576), .power_of_two = true,
	  FIELD(config_links, depth), .standard = "4096",
	  .help = "Entries of a link, a power of two." },
	{ .name = "policy", WORDS("lossless", "drop"), FIELD(config_links, policy),
	  .standard = "lossless",
	  .help = "At a full link: lossless, the producer stops taking input; drop, counted." },
};
OBJECT(links, link_keys);

static const struct config_key root_keys[] = {
	{ .name = "$schema", .type = CONFIG_TYPE_IGNORED,
	  .help = "For editors: where schema.json lies." },
	{ .name = "name", NAME, FIELD(config, name), .standard = "evb",
	  .help = "Name of the appliance: event ring and telemetry go by it." },
	{ .name = "run_number", WHOLE(COUNT), RANGE(0, UINT32_MAX), FIELD(config, run_number),
	  .standard = "1",
	  .help = "The run that is written into the data." },
	{ .name = "memory", NESTED(memory), .offset = offsetof(struct config, memory),
	  .help = "Where packet buffers and slots lie." },
	{ .name = "ports", LIST(port), ELEMENTS(config, ports), RANGE(1, CONFIG_MAX_PORTS),
	  .required = true,
	  .help = "The network ports." },
	{ .name = "transport", NESTED(transport), .offset = offsetof(struct config, transport),
	  .help = "How segments travel." },
	{ .name = "sources", NESTED(sources), .offset = offsetof(struct config, sources),
	  .required = true,
	  .help = "The sources of data." },
	{ .name = "builders", LIST(builder), ELEMENTS(config, builders),
	  RANGE(0, CONFIG_MAX_BUILDERS),
	  .help = "The builders; each has an event ring of its own." },
	{ .name = "events", NESTED(events), .offset = offsetof(struct config, events),
	  .help = "What happens to events that are late or do not fit." },
	{ .name = "event_ring", NESTED(event_ring), .offset = offsetof(struct config, event_ring),
	  .help = "The shared memory in which consumers read built events." },
	{ .name = "generators", LIST(generator), ELEMENTS(config, generators),
	  RANGE(0, CONFIG_MAX_GENERATORS),
	  .help = "What stands for readout boards." },
	{ .name = "writers", LIST(writer), ELEMENTS(config, writers),
	  RANGE(0, CONFIG_MAX_WRITERS),
	  .help = "Writers of files." },
	{ .name = "lcores", .type = CONFIG_TYPE_LIST_OR_AUTO, .object = &lcore,
	  ELEMENTS(config, lcores), RANGE(1, CONFIG_MAX_CPUS), .standard = "auto",
	  .help = "Which role runs where; auto places them on the CPUs that the process may use." },
	{ .name = "idle", NESTED(idle), .offset = offsetof(struct config, idle),
	  .help = "What an lcore does without work." },
	{ .name = "links", NESTED(links), .offset = offsetof(struct config, links),
	  .help = "The links between roles." },
};

// clang-format on

const struct config_object config_root = {
	.title = "",
	.keys = root_keys,
	.n_keys = sizeof(root_keys) / sizeof(root_keys[0]),
};

_Static_assert(sizeof(root_keys) / sizeof(root_keys[0]) <= CONFIG_KEYS_MAXIMUM, "");
_Static_assert(sizeof(generator_keys) / sizeof(generator_keys[0]) <= CONFIG_KEYS_MAXIMUM, "");
