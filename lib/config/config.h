// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The configuration of one appliance: one JSON file (RFC 8259) becomes one validated struct.
//
// The table in config_keys.c is the one place where a key's name, type, unit, range, default and
// meaning stand; parser, JSON Schema, manual page and error messages are made from it.
//
// Units: times in nanoseconds, sizes in bytes, rates in bits/s or events/s as named. In the file a
// quantity is a JSON number in that unit, or a string with a suffix: "100us", "64MiB", "25Gb/s".
//
// A loaded configuration is read-only and may be read by any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_NAME_SIZE      32 // with the closing 0; names are [A-Za-z0-9_-]
#define CONFIG_PATH_SIZE      256
#define CONFIG_ERROR_SIZE     512
#define CONFIG_MAX_PORTS      16
#define CONFIG_MAX_BUILDERS   64
#define CONFIG_MAX_GENERATORS 16
#define CONFIG_MAX_WRITERS    16
#define CONFIG_MAX_GROUPS     8
#define CONFIG_MAX_CPUS       64
#define CONFIG_MAX_ROLES      64 // on one lcore
#define CONFIG_MAX_SOURCES    4096
#define CONFIG_MAX_OPTIONS    16
#define CONFIG_MAX_REORDER    1024 // segments that a generator shuffles over

enum config_memory_kind {
	CONFIG_MEMORY_AUTO,      // hugepages where they are there and suffice
	CONFIG_MEMORY_HUGEPAGES, // refuse to start without
	CONFIG_MEMORY_SHM,       // never use hugepages
};

struct config_memory {
	enum config_memory_kind kind;
	uint64_t limit; // bytes that packet pools may take without hugepages, 0: as planned
};

// A free "name": "value" pair given through to the driver as a device argument.
struct config_option {
	char name[CONFIG_NAME_SIZE];
	char value[CONFIG_PATH_SIZE];
};

struct config_port {
	char name[CONFIG_NAME_SIZE];
	char profile[CONFIG_PATH_SIZE]; // of pmd-config/, or the path of a profile file
	char device[CONFIG_PATH_SIZE];  // kernel interface, memif socket, PCI address, capture file
	struct config_option options[CONFIG_MAX_OPTIONS]; // device arguments beside the profile's
	unsigned n_options;
	uint32_t mtu; // bytes of payload behind the Ethernet header
	bool has_address;
	uint32_t address; // IPv4, host order; answers ARP and ICMP echo for it
	uint8_t prefix_length;
	bool has_mac;
	uint8_t mac[6];
	uint32_t rx_queues;
	uint32_t rx_descriptors; // 0: the profile's
	uint32_t tx_descriptors; // 0: the profile's
	uint64_t link_timeout_ns;
	bool verify_checksums;
};

enum config_transport_kind {
	CONFIG_TRANSPORT_UDP, // EJFAT segments in UDP datagrams
	CONFIG_TRANSPORT_ETH, // the same behind an EtherType
};

struct config_transport {
	enum config_transport_kind kind;
	uint16_t udp_port;  // first of the range that is listened to
	uint16_t udp_ports; // how many
	uint16_t ether_type;
};

enum config_payload {
	CONFIG_PAYLOAD_MFP,    // blocks are MFPs and are validated when whole
	CONFIG_PAYLOAD_OPAQUE, // any bytes
};

struct config_sources {
	uint16_t ids[CONFIG_MAX_SOURCES]; // ascending, no duplicates
	unsigned n_ids;
	bool expected[CONFIG_MAX_SOURCES]; // by index into ids: part of this run?
	unsigned n_expected;
	uint32_t packing; // consecutive events in an MFP
	enum config_payload payload;
};

struct config_builder {
	char name[CONFIG_NAME_SIZE];
	uint32_t slots;
	uint64_t slot_size; // bytes
};

enum config_on_incomplete {
	CONFIG_INCOMPLETE_FLAG,    // publish, flagged, error MFPs in the place of what is missing
	CONFIG_INCOMPLETE_DISCARD, // count and forget
};

enum config_on_no_slot {
	CONFIG_NO_SLOT_WAIT, // stop taking segments until consumers release a slot
	CONFIG_NO_SLOT_DROP, // drop the segment, counted
};

struct config_events {
	uint64_t deadline_ns; // from an event's first segment
	enum config_on_incomplete on_incomplete;
	enum config_on_no_slot on_no_slot;
	uint64_t drain_timeout_ns; // longest time from the stop to the flush of unfinished events
};

struct config_event_ring {
	char directory[CONFIG_PATH_SIZE]; // empty: chosen by memory.kind
	char groups[CONFIG_MAX_GROUPS][CONFIG_NAME_SIZE];
	unsigned n_groups;
};

enum config_generator_kind {
	CONFIG_GENERATOR_SYNTHETIC, // made up by a size law
	CONFIG_GENERATOR_MDF,       // events of an MDF file, packed anew
	CONFIG_GENERATOR_MFP,       // .mfp files
	CONFIG_GENERATOR_PCAP,      // packets of a capture file
};

enum config_size_law {
	CONFIG_SIZE_FIXED,
	CONFIG_SIZE_GAUSSIAN,
	CONFIG_SIZE_LHCB, // measured profile of each subdetector
};

// Faults on demand; each ratio is a probability a segment, 0 to 1.
struct config_faults {
	double loss;
	double duplicate;
	double corrupt;          // one byte of the payload is changed
	uint32_t reorder_window; // segments are shuffled over this many, 0 or 1: none
	bool has_silent_source;
	uint16_t silent_source; // source id that never sends
	bool has_late_source;
	uint16_t late_source; // source id that sends late_delay_ns after the others
	uint64_t late_delay_ns;
};

struct config_generator {
	char name[CONFIG_NAME_SIZE];
	char port[CONFIG_NAME_SIZE];
	enum config_generator_kind kind;
	char file[CONFIG_PATH_SIZE];
	uint16_t ids[CONFIG_MAX_SOURCES]; // sources that it stands for; none: all
	unsigned n_ids;
	double rate;          // events (MEPs) a second; 0: as fast as possible
	double speed;         // pcap: factor on the captured speed; 0: as fast as possible
	uint64_t events;      // MFPs a source to send, then end of run; 0: no end
	uint64_t first_event; // event id of the first fragment
	enum config_size_law size_law;
	uint32_t size_mean; // bytes of a fragment
	uint32_t size_sigma;
	uint32_t size_maximum;
	uint32_t variants; // pre-filled MFPs a source
	uint64_t seed;
	uint32_t destination_address; // IPv4, host order
	bool has_destination_mac;
	uint8_t destination_mac[6];
	bool load_balancer_header;
	struct config_faults faults;
};

enum config_file_format {
	CONFIG_FILE_MEP,
	CONFIG_FILE_MDF,
};

struct config_writer {
	char name[CONFIG_NAME_SIZE];
	char group[CONFIG_NAME_SIZE];
	char directory[CONFIG_PATH_SIZE];
	char prefix[CONFIG_NAME_SIZE];
	enum config_file_format format;
	uint64_t rotate_size;              // bytes, 0: never
	uint64_t rotate_time_ns;           // 0: never
	char source_map[CONFIG_PATH_SIZE]; // mdf: restores bank source ids, see source_map.h
};

struct config_lcore {
	uint32_t cpu;
	char roles[CONFIG_MAX_ROLES][CONFIG_NAME_SIZE]; // "rx.PORT", "builder.NAME", ...
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

struct config {
	char path[CONFIG_PATH_SIZE]; // of the file, for messages
	char name[CONFIG_NAME_SIZE]; // of the appliance: event ring and telemetry go by it
	uint32_t run_number;
	struct config_memory memory;
	struct config_port ports[CONFIG_MAX_PORTS];
	unsigned n_ports;
	struct config_transport transport;
	struct config_sources sources;
	struct config_builder builders[CONFIG_MAX_BUILDERS];
	unsigned n_builders;
	struct config_events events;
	struct config_event_ring event_ring;
	struct config_generator generators[CONFIG_MAX_GENERATORS];
	unsigned n_generators;
	struct config_writer writers[CONFIG_MAX_WRITERS];
	unsigned n_writers;
	struct config_lcore lcores[CONFIG_MAX_CPUS];
	unsigned n_lcores; // 0: placed automatically
	struct config_idle idle;
	struct config_links links;
};

// Loads, overrides and validates. `overrides` are "path=value" strings ("builders[0].slots=16",
// "transport.kind=eth"; the value is JSON, or a bare string), applied before validation.
// Returns 0, or -1 with one line in error[CONFIG_ERROR_SIZE]: "FILE: PATH: what is wrong".
// On success *config is to be freed with config_free().
int config_load(struct config **config, const char *path, const char *const *overrides,
		unsigned n_overrides, char *error);

// The same from text in memory; `name` stands for the file in messages.
int config_parse(struct config **config, const char *text, size_t length, const char *name,
		 const char *const *overrides, unsigned n_overrides, char *error);

void config_free(struct config *config);

enum config_role_kind {
	CONFIG_ROLE_SOURCE,
	CONFIG_ROLE_RX,
	CONFIG_ROLE_BUILDER,
	CONFIG_ROLE_WRITER,
};

struct config_role {
	char name[CONFIG_NAME_SIZE + 16];
	enum config_role_kind kind;
	unsigned object; // index into the generators, ports, builders or writers
	unsigned queue;  // rx only
};

// Role number `index` of the appliance, in the order of the data's way: "source.GENERATOR"; where
// there are builders "rx.PORT" of each port, or "rx.PORT.QUEUE" where it has several rx queues;
// "builder.NAME"; "writer.NAME". Returns false behind the last. Configured lcores hold each of
// these exactly once.
bool config_role(const struct config *config, unsigned index, struct config_role *role);

// The JSON Schema (draft 2020-12) of the file, and the manual's table of all keys in Markdown,
// made from the key table. The caller frees the string. NULL if memory ran out.
char *config_schema(void);
char *config_reference(void);
