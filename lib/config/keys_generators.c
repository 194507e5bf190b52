// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Keys of generators, which simulate readout boards.
#include "config/key_macros.h"

// The member of a key that may change between two runs.
#define OF_RUN(member) FIELD(config_generator, member), BETWEEN_RUNS

// clang-format off

static const struct config_key size_keys[] = {
	{ .name = "law", WORDS("fixed", "gaussian", "lhcb"), FIELD(fragment_sizes, law),
	  .standard = "fixed",
	  .help = "fixed: mean bytes; gaussian: mean and sigma, cut at 0 and maximum; lhcb: "
		  "the measured profile of each subdetector." },
	{ .name = "mean", WHOLE(SIZE), RANGE(0, 65535), FIELD(fragment_sizes, mean),
	  .standard = "100",
	  .help = "Mean size of a fragment." },
	{ .name = "sigma", WHOLE(SIZE), RANGE(0, 65535), FIELD(fragment_sizes, sigma),
	  .standard = "20",
	  .help = "Width of law gaussian." },
	{ .name = "maximum", WHOLE(SIZE), RANGE(0, 65535), FIELD(fragment_sizes, maximum),
	  .standard = "240",
	  .help = "Largest fragment of law gaussian." },
	{ .name = "outliers", .type = CONFIG_TYPE_REAL, RANGE(0, 1),
	  FIELD(fragment_sizes, outliers), .standard = "0",
	  .help = "Probability that a fragment has the size outlier, with any law. Rare ones need "
		  "many variants." },
	{ .name = "outlier", WHOLE(SIZE), RANGE(0, 65535), FIELD(fragment_sizes, outlier),
	  .standard = "5000",
	  .help = "Size of these." },
};
static OBJECT(size, size_keys);

static const struct config_key destination_keys[] = {
	{ .name = "address", .type = CONFIG_TYPE_IPV4,
	  FIELD(config_generator, destination_address), .standard = "10.0.0.1",
	  .help = "IPv4 address of the receiver." },
	{ .name = "mac", .type = CONFIG_TYPE_MAC, OPTIONAL(config_generator, destination_mac),
	  .help = "Ethernet address of the receiver. Without it: by ARP." },
};
static OBJECT(destination, destination_keys);

static const struct config_key fault_keys[] = {
	{ .name = "loss", .type = CONFIG_TYPE_REAL, RANGE(0, 1), FIELD(faults, loss),
	  .standard = "0",
	  .help = "Probability that a segment is not sent." },
	{ .name = "duplicate", .type = CONFIG_TYPE_REAL, RANGE(0, 1),
	  FIELD(faults, duplicate), .standard = "0",
	  .help = "Probability that a segment is sent twice." },
	{ .name = "corrupt", .type = CONFIG_TYPE_REAL, RANGE(0, 1), FIELD(faults, corrupt),
	  .standard = "0",
	  .help = "Probability that a byte of a segment is changed." },
	{ .name = "reorder_window", WHOLE(COUNT), RANGE(0, FAULTS_MAX_REORDER),
	  FIELD(faults, reorder_window), .standard = "0",
	  .help = "Segments that are shuffled; 0 or 1: none." },
	{ .name = "silent_source", WHOLE(COUNT), RANGE(0, 65535),
	  OPTIONAL(faults, silent_source),
	  .help = "Source that never sends." },
	{ .name = "late_source", WHOLE(COUNT), RANGE(0, 65535), OPTIONAL(faults, late_source),
	  .help = "Source that sends late_delay after the others." },
	{ .name = "late_delay", WHOLE(TIME), RANGE(0, HOUR), FIELD(faults, late_delay_ns),
	  .standard = "0",
	  .help = "Delay of the late source." },
};
static OBJECT(faults, fault_keys);

static const struct config_key producer_keys[] = {
	{ .name = "size", WHOLE(SIZE), RANGE(64 * KIB, TIB), FIELD(config_producer, size),
	  .standard = "256MiB",
	  .help = "Room for blocks." },
	{ .name = "blocks", WHOLE(COUNT), RANGE(2, 1 << 22), FIELD(config_producer, blocks),
	  .standard = "16384",
	  .help = "Blocks for which the ring has room." },
	{ .name = "max_block", WHOLE(SIZE), RANGE(64, 1 << 30),
	  FIELD(config_producer, max_block), .standard = "4MiB",
	  .help = "Largest block." },
	{ .name = "mode", WORDS("rw-------", "rw-rw----", "rw-rw-rw-"),
	  FIELD(config_producer, mode), .standard = "rw-rw----",
	  .help = "Mode of the ring's file." },
	{ .name = "unix_group", .type = CONFIG_TYPE_TEXT, RANGE(0, EVB_NAME_SIZE - 1),
	  .standard = "", FIELD(config_producer, unix_group),
	  .help = "Unix group of the ring's file; empty: evb's." },
};
static OBJECT(producer, producer_keys);

static const struct config_key egress_keys[] = {
	{ .name = "appliance", NAME, FIELD(config_egress, appliance),
	  .help = "Name of the appliance that builds the events; of a node of a system, SYSTEM-NODE." },
	{ .name = "group", NAME, FIELD(config_egress, group), .standard = "egress",
	  .help = "Group of consumers of that appliance to which the generator belongs." },
	{ .name = "directory", TEXT_OR_EMPTY, FIELD(config_egress, directory),
	  .help = "Directory of the event ring's files; empty: searched for." },
	{ .name = "max_event", WHOLE(SIZE), RANGE(64, 1 << 30), FIELD(config_egress, max_event),
	  .standard = "4MiB",
	  .help = "Largest slot_size of that appliance's builders." },
	{ .name = "number_by", WORDS("arrival", "event_id"), FIELD(config_egress, number_by),
	  .standard = "arrival",
	  .help = "arrival: events get new ids, in the order in which they come; event_id: they "
		  "keep theirs, so that the events of several appliances with the same id "
		  "become one." },
};
static OBJECT(egress, egress_keys);

static const struct config_key listen_keys[] = {
	{ .name = "port", NAME, FIELD(config_listen, port),
	  .help = "Name of the port to which the boards send; without it that of the generator." },
	{ .name = "udp_port", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_listen, udp_port),
	  .standard = "19522",
	  .help = "First UDP port to which the boards send." },
	{ .name = "udp_ports", WHOLE(COUNT), RANGE(1, 65535), FIELD(config_listen, udp_ports),
	  .standard = "1",
	  .help = "Number of these UDP ports." },
	{ .name = "roce", .type = CONFIG_TYPE_BOOLEAN, FIELD(config_listen, roce),
	  .standard = "false",
	  .help = "The boards send RoCE messages, as `roce` says, to a port for boards only." },
	{ .name = "ether_type", WHOLE(COUNT), RANGE(0x600, 0xffff),
	  OPTIONAL(config_listen, ether_type),
	  .help = "The boards send behind this EtherType, not over UDP." },
	{ .name = "size", WHOLE(SIZE), RANGE(64 * KIB, 256 * GIB), FIELD(config_listen, size),
	  .standard = "256MiB",
	  .help = "Memory for blocks." },
	{ .name = "max_block", WHOLE(SIZE), RANGE(64, 1 << 30), FIELD(config_listen, max_block),
	  .standard = "4MiB",
	  .help = "Largest block." },
};
static OBJECT(listen, listen_keys);

static const struct config_key spill_keys[] = {
	{ .name = "size", WHOLE(SIZE), RANGE(0, TIB), FIELD(config_spill, size), .standard = "0",
	  .help = "Kinds producer and port: bytes of blocks that all sources bring in a spill." },
	{ .name = "events", WHOLE(COUNT), RANGE(0, 1ULL << 32), FIELD(config_spill, events),
	  .standard = "0",
	  .help = "Blocks (MFPs) that each source brings in a spill." },
	{ .name = "duration", WHOLE(TIME), RANGE(0, HOUR), FIELD(config_spill, duration_ns),
	  .standard = "0",
	  .help = "Length of a spill, in which the blocks come evenly." },
	{ .name = "period", WHOLE(TIME), RANGE(0, 24 * HOUR), FIELD(config_spill, period_ns),
	  .standard = "0",
	  .help = "Time from the beginning of a spill to that of the next one." },
};
static OBJECT(spill, spill_keys);

static const struct config_key generator_keys[] = {
	{ .name = "name", ROLE_NAME, FIELD(config_generator, name),
	  .help = "Name of the generator. A single one needs none: boards." },
	{ .name = "port", NAME, FIELD(config_generator, port),
	  .help = "Port to send on. Not needed if there is a single one." },
	{ .name = "kind", WORDS("synthetic", "mdf", "mfp", "pcap", "roce", "producer",
		"event_ring", "port"),
	  FIELD(config_generator, kind),
	  .standard = "synthetic",
	  .help = "synthetic: by a size law; mdf: events of an MDF file, packed again; mfp: "
		  "MFPs of a file; pcap: packets of a capture, unchanged; roce: messages of a"
		  " RoCE capture, over new connections (in a node of a system, both: the whole "
		  "MFPs of the capture, once); producer: blocks of a process on the "
		  "same machine, from the ring of the generator's name; event_ring: "
		  "built events of another evb on the same machine; port: segments of boards." },
	{ .name = "file", TEXT_OR_EMPTY, FIELD(config_generator, file),
	  .help = "File of kinds mdf, mfp, pcap and roce." },
	{ .name = "window", WHOLE(SIZE), RANGE(64 * KIB, 16 * GIB), FIELD(config_generator, window),
	  .standard = "256MiB",
	  .help = "Kinds mdf and mfp: a larger file is read during the run, through a window "
		  "of this size. A RoCE generator outside of a system loads any file." },
	{ .name = "ids", .type = CONFIG_TYPE_IDS, ELEMENTS(config_generator, ids),
	  RANGE(1, EVB_MAX_SOURCES),
	  .help = "Its sources. Without it: all." },
	{ .name = "rate", .type = CONFIG_TYPE_REAL, .units = UNITS_FREQUENCY,
	  RANGE(0, 1000000000), OF_RUN(rate), .standard = "0",
	  .help = "Built events (MEPs) per second; 0: highest." },
	{ .name = "speed", .type = CONFIG_TYPE_REAL, RANGE(0, 1000000),
	  FIELD(config_generator, speed), .standard = "1",
	  .help = "Kinds pcap and roce: factor on the captured speed; 0: highest." },
	{ .name = "events", WHOLE(COUNT), RANGE(0, UINT64_MAX), OF_RUN(events),
	  .standard = "0",
	  .help = "MFPs per source before the end of run; 0: no end." },
	{ .name = "first_event", WHOLE(COUNT), RANGE(0, UINT64_MAX - 1),
	  FIELD(config_generator, first_event), .standard = "0",
	  .help = "Event id of the first fragment." },
	{ .name = "size", NESTED(size), OF_RUN(sizes),
	  .help = "Fragment sizes of kind synthetic." },
	{ .name = "variants", WHOLE(COUNT), RANGE(1, 1024), OF_RUN(variants),
	  .standard = "4",
	  .help = "Different MFPs per source, sent in turn." },
	{ .name = "seed", WHOLE(COUNT), RANGE(0, UINT64_MAX), OF_RUN(seed),
	  .standard = "1",
	  .help = "Seed of sizes, contents and faults." },
	{ .name = "destination", NESTED(destination),
	  .help = "Receiver of the segments; in a system the grants name it." },
	{ .name = "load_balancer_header", .type = CONFIG_TYPE_BOOLEAN,
	  FIELD(config_generator, load_balancer_header), .standard = "false",
	  .help = "Whether segments have an LB header for an EJFAT load balancer." },
	{ .name = "faults", NESTED(faults), FIELD(config_generator, faults),
	  .help = "Faults on demand." },
	{ .name = "producer", NESTED(producer), FIELD(config_generator, producer),
	  .help = "Ring of kind producer." },
	{ .name = "event_ring", NESTED(egress), FIELD(config_generator, egress),
	  .help = "What kind event_ring sends." },
	{ .name = "listen", NESTED(listen), FIELD(config_generator, listen),
	  .help = "Port and memory of kind port." },
	{ .name = "spill", NESTED(spill), OF_RUN(spill),
	  .help = "Kinds synthetic, mdf and mfp: events come in spills, not at a rate. Kinds producer and "
		  "port: the bursts that come. evb check then states, and checks, how full the store "
		  "gets." },
};
OBJECT(config_generator_object, generator_keys);
