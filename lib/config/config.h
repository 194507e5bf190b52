// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The configuration of one appliance. config_load() reads a JSON file (RFC 8259) into one validated
// struct config.
//
// A file may describe a system of several nodes. Each node is an appliance. All nodes read the same
// file; each is started with its own name and gets its own struct config, whose member `cluster`
// describes all nodes.
//
// The tables in keys*.c define the name, type, unit, range, default and meaning of each key, and
// nothing else does. The parser, the JSON Schema, the manual page and the error messages are
// derived from them (docs/tables.py).
//
// Units: times are in nanoseconds, sizes in bytes, rates in bits/s or events/s. In the file a
// quantity is a JSON number in that unit, or a string with a suffix: "100us", "64MiB", "25Gb/s".
//
// A loaded configuration is read-only and may be read by any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/memory_kind.h"
#include "base/production.h"
#include "cluster/manager.h"
#include "config/fabric.h"
#include "pacing/readout_pace.h"
#include "pacing/shift_windows.h"
#include "packet/event_rules.h"
#include "packet/source_from.h"
#include "port/settings.h"
#include "readout/readout_logic.h"
#include "record/file_name.h"
#include "roce/settings.h"
#include "sched/sched.h"
#include "source/source_set.h"

#define CONFIG_ERROR_SIZE 512
#define CONFIG_MAX_GROUP  1023 // largest number of a congestion group

#define CONFIG_MANAGER_NODE "*" // instead of a node's name: the node of the event manager

#define CONFIG_AUTO       UINT32_MAX // value of a number for which the file contains "auto"
#define CONFIG_SLOT_AUTO  0          // the same of a builder's slot_size
#define CONFIG_DEPTH_AUTO 0          // the same of links.depth

struct config_memory {
	enum memory_kind kind;
	uint64_t limit; // largest size of packet pools without hugepages, bytes; 0: as planned
};

enum config_transport_kind {
	CONFIG_TRANSPORT_UDP,  // EJFAT segments in UDP datagrams
	CONFIG_TRANSPORT_ETH,  // EJFAT segments in Ethernet frames with an EtherType of their own
	CONFIG_TRANSPORT_ROCE, // RoCE v2, see struct roce_settings
};

struct config_transport {
	enum config_transport_kind kind;
	uint16_t udp_port;  // first destination port of the received range
	uint16_t udp_ports; // number of ports in the range
	uint16_t ether_type;
};

struct config_sources {
	uint16_t ids[EVB_MAX_SOURCES]; // ascending, no duplicates
	unsigned n_ids;
	bool expected[EVB_MAX_SOURCES]; // by index into ids: the source is part of this run
	unsigned n_expected;
	uint32_t packing;       // consecutive events in an MFP
	uint32_t fragment_size; // bytes, for slots of size auto; 0: not stated
	enum payload_kind payload;
	struct source_from from[SOURCE_FROM_MOST];
	unsigned n_from; // 0: sources may send from anywhere
	enum source_moves moves;
	uint64_t move_after_ns; // silence after which a source may send from another address
};

struct config_builder {
	char name[EVB_NAME_SIZE];
	uint32_t slots;
	uint64_t slot_size;     // bytes
	bool slot_size_is_auto; // it follows from sources.fragment_size
	uint32_t group;         // congestion group; CONFIG_AUTO: a group of its own
	uint16_t weight;        // share of the events, for the policy `weighted`
};

enum on_end_of_run {
	END_OF_RUN_STOPS,   // end-of-run blocks of the sources end the run, see assembly.h
	END_OF_RUN_IGNORED, // they are counted
};

struct config_events {
	uint64_t deadline_ns; // from an event's first segment
	enum on_incomplete on_incomplete;
	enum on_no_slot on_no_slot;
	enum on_end_of_run on_end_of_run;
	uint64_t drain_timeout_ns; // from the stop until unfinished events are flushed, at most
};

// In the order of the words of event_ring.mode.
enum config_ring_mode { RING_0600, RING_0640, RING_0644, RING_0660, RING_0664, RING_0666 };

struct config_event_ring {
	char directory[EVB_PATH_SIZE]; // empty: memory.kind determines it
	char groups[EVB_MAX_GROUPS][EVB_NAME_SIZE];
	unsigned n_groups;
	enum config_ring_mode mode;
	char unix_group[EVB_NAME_SIZE]; // that gets the files, a name or a number; empty: evb's
};

// What becomes of an event that a member of a deciding group releases undecided.
enum config_undecided { CONFIG_UNDECIDED_ACCEPT, CONFIG_UNDECIDED_REJECT };

struct config_group {
	char name[EVB_NAME_SIZE];
	bool decides;
	enum config_undecided undecided;
	char after[EVB_NAME_SIZE]; // empty: gets events at once
	bool rejected_too;         // after: set by config_check(), not a key
};

enum config_producer_mode {
	PRODUCER_0600,
	PRODUCER_0660,
	PRODUCER_0666,
};

// The ring that the producer of a generator fills.
struct config_producer {
	uint64_t size; // bytes for blocks
	uint32_t blocks;
	uint32_t max_block; // bytes
	enum config_producer_mode mode;
	char unix_group[EVB_NAME_SIZE]; // that gets the file, a name or a number; empty: evb's
};

// What the index of a built event that a generator sends follows from.
enum config_number_by {
	CONFIG_NUMBER_BY_ARRIVAL, // events of several rings get indices in the order of arrival
	CONFIG_NUMBER_BY_EVENT_ID,
};

// The event rings whose built events a generator sends.
struct config_egress {
	char appliance[EVB_NAME_SIZE];
	char group[EVB_NAME_SIZE];
	char directory[EVB_PATH_SIZE]; // empty: searched for
	uint32_t max_event;            // bytes
	enum config_number_by number_by;
};

// Where the boards of a generator of kind port send their segments, and the memory for these.
struct config_listen {
	char port[EVB_NAME_SIZE]; // empty: that of the generator
	uint16_t udp_port;        // first destination port of the received range
	uint16_t udp_ports;       // number of ports in the range
	bool roce;                // RoCE as config.roce says, not segments over UDP
	bool has_ether_type;      // segments behind this EtherType, not over UDP
	uint16_t ether_type;
	uint64_t size;      // bytes for blocks
	uint32_t max_block; // bytes
};

// A burst, then nothing, again and again: how the events of kinds synthetic, mdf and mfp come, and
// what other processes or boards bring into the store of a generator, for `evb check` alone.
struct config_spill {
	uint64_t size;   // bytes of blocks of all sources; 0: not stated, or kind synthetic, ...
	uint64_t events; // blocks of each source
	uint64_t duration_ns; // in which they come, evenly
	uint64_t period_ns;   // from the beginning of a spill to that of the next one
};

struct config_generator {
	char name[EVB_NAME_SIZE];
	char port[EVB_NAME_SIZE];
	enum generator_kind kind;
	char file[EVB_PATH_SIZE];
	uint16_t ids[EVB_MAX_SOURCES]; // sources that the generator simulates
	unsigned n_ids;                // 0: all sources
	double rate;                   // events (MEPs) per second; 0: as fast as possible
	double speed;         // pcap, roce: factor on the captured speed; 0: as fast as possible
	uint64_t events;      // MFPs per source, then the run ends; 0: no end
	uint64_t first_event; // event id of the first fragment
	uint64_t window;      // bytes; mdf, mfp: a larger file is not loaded
	struct fragment_sizes sizes;
	uint32_t variants; // pre-filled MFPs per source
	uint64_t seed;
	uint32_t destination_address; // IPv4, host order
	bool has_destination_mac;
	uint8_t destination_mac[6];
	bool load_balancer_header;
	struct faults faults;
	struct config_producer producer;
	struct config_egress egress;
	struct config_listen listen;
	struct config_spill spill;
};

struct config_writer {
	char name[EVB_NAME_SIZE];
	char group[EVB_NAME_SIZE];
	char after[EVB_NAME_SIZE]; // group whose decision its group waits for; empty: none
	char directory[EVB_PATH_SIZE];
	char prefix[EVB_NAME_SIZE];
	enum file_format format;
	uint64_t rotate_size;           // a file of this size ends, bytes; 0: no limit
	uint64_t rotate_time_ns;        // a file ends so long after its first event; 0: no limit
	char source_map[EVB_PATH_SIZE]; // mdf: maps the ids back to those of banks, source_map.h
};

// Where a results role writes. In the order of the words of results[].to.
enum config_results_to { CONFIG_RESULTS_FILE, CONFIG_RESULTS_UDP, CONFIG_RESULTS_RING };

// Whose decisions they are, in a system of nodes. In the order of the words of results[].of.
enum config_results_of { CONFIG_RESULTS_OF_SYSTEM, CONFIG_RESULTS_OF_NODE };

// The event ring of a results role. It has directory, mode and unix_group of the event rings.
struct config_results_ring {
	char name[EVB_NAME_SIZE];
	char groups[EVB_MAX_GROUPS][EVB_NAME_SIZE];
	unsigned n_groups;
	uint32_t slots; // blocks
};

struct config_results {
	char name[EVB_NAME_SIZE];  // also of its group of consumers
	char group[EVB_NAME_SIZE]; // whose decisions it writes; empty: those of `from`
	char from[EVB_NAME_SIZE];  // event ring of another evb's results
	enum config_results_to to;
	char directory[EVB_PATH_SIZE];
	char prefix[EVB_NAME_SIZE];
	uint32_t address; // IPv4, host order
	bool has_address;
	uint16_t udp_port;
	struct config_results_ring ring;
	uint32_t window; // events, a power of two
	uint64_t timeout_ns;
	uint32_t origin_packing; // of the first stage; 0: event ids are those of this system
	enum config_results_of of;
	// Set by config_load(), not a key: index in cluster.results + 1; 0: results of this node
	// alone. They are written on the node cluster.results[].node; if that is another one, this
	// entry has only names, `window`, `origin_packing` and `of`.
	unsigned system;
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
	uint32_t yields;   // adaptive: empty polls that yield the CPU before the first sleep
	uint64_t sleep_ns; // adaptive: duration of each sleep after these
};

enum config_link_policy {
	CONFIG_LINK_LOSSLESS, // a producer with a full link stops receiving
	CONFIG_LINK_DROP,     // a producer with a full link drops the segment and counts the drop
};

struct config_links {
	uint32_t depth; // segments per link, power of two; the parser replaces `auto`
	enum config_link_policy policy;
};

enum config_on_source_silent {
	CONFIG_SOURCE_SILENT_CONTINUE, // events are granted, and are incomplete without the source
	CONFIG_SOURCE_SILENT_PAUSE,    // no event is granted until the source sends again
};

// When the run starts.
enum config_start {
	CONFIG_START_AUTO,   // when all nodes are connected
	CONFIG_START_MANUAL, // at the operator's command, after all nodes are connected
};

// The runs of a process.
enum config_runs {
	CONFIG_RUNS_ONE,  // it ends with its run
	CONFIG_RUNS_MANY, // it prepares for the next run, which starts at the operator's command
};

struct config_event_manager {
	enum config_start start;
	enum config_runs runs;
	struct sched_parameters sched; // without the builders and sources, which the manager adds
	uint64_t window;               // bytes in flight per builder port; 0: no limit
	uint32_t parallel_sends;       // sources that send for one event at the same time
	uint64_t heartbeat_ns;         // interval of heartbeats
	uint64_t heartbeat_timeout_ns; // at least 2 * heartbeat_ns
	uint64_t in_doubt_ns;          // longest wait of events for a silent node
	enum config_on_source_silent on_source_silent;
	uint32_t source_buffer; // MFPs that a source stores until their events are released
	uint16_t control_port;  // UDP
	uint32_t multicast;     // IPv4 group of shared control frames, host order
	bool has_multicast;
	char key_file[EVB_PATH_SIZE]; // see control/keys.h; empty: no key
	uint8_t control_dscp;
	uint8_t control_priority; // 802.1p
	uint8_t data_dscp;
	uint8_t data_priority; // 802.1p
};

struct config {
	char path[EVB_PATH_SIZE]; // of the file, for messages
	char name[EVB_NAME_SIZE]; // of the appliance, its event ring and its telemetry;
				  // for a node of a system: "SYSTEM-NODE"
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
	struct config_group groups[EVB_MAX_GROUPS]; // after config_check(): with all rules
	unsigned n_groups;
	struct config_writer writers[EVB_MAX_WRITERS];
	unsigned n_writers;
	struct config_results results[EVB_MAX_RESULTS];
	unsigned n_results;
	struct config_lcore lcores[EVB_MAX_CPUS];
	unsigned n_lcores; // 0: the plan places the roles
	struct config_idle idle;
	struct config_links links;
	struct roce_settings roce;
	struct config_event_manager event_manager; // used in a cluster only
	struct cluster_system cluster;
	struct config_fabric fabric; // for `evb sim` alone
};

// Loads the file, applies the overrides and validates the result. `overrides` are "path=value"
// strings ("builders[0].slots=16", "transport.kind=eth"; the value is JSON, or a bare string).
// `node` is the name of the node to load from a file that describes several nodes. NULL is allowed
// for files without nodes or with one node. CONFIG_MANAGER_NODE is allowed for all files and
// selects the event manager's node. All nodes of the file are validated, whichever is loaded.
// Returns 0, or -1 with one line in error[CONFIG_ERROR_SIZE]: "FILE: PATH: what is wrong".
// On success the caller frees *config with config_free().
int config_load(struct config **config, const char *path, const char *node,
		const char *const *overrides, unsigned n_overrides, char *error);

// As config_load(), from text in memory. Messages contain `name` instead of the file's path.
int config_parse(struct config **config, const char *text, size_t length, const char *name,
		 const char *node, const char *const *overrides, unsigned n_overrides, char *error);

// Visits the nodes of a system.
struct config_visitor {
	// `node` is valid until the call returns. Of node->cluster only `self` and the node's own
	// entry in `nodes` are set. Returns 0, or -1 with one line in error[CONFIG_ERROR_SIZE],
	// which ends the loading.
	int (*visit)(void *context, const struct config *node, char *error);
	void *context;
};

// As config_load() of the event manager's node; the visitor sees each node of a system, in the
// order of the file. The file is read once: to load each node with config_load() would take a time
// that is quadratic in their number.
int config_load_system(struct config **config, const char *path, const char *const *overrides,
		       unsigned n_overrides, const struct config_visitor *visitor, char *error);

void config_free(struct config *config);

// Whether `next` may replace `now`, the configuration of a node of a system, between two runs of
// its process: they differ only in keys that the key tables permit (between_runs). Returns 0, or -1
// with one line in error[CONFIG_ERROR_SIZE] that names the first other key.
int config_check_change(const struct config *now, const struct config *next, char *error);

// Replaces the content of a configuration, at the same address, and frees `next`. Nobody may use
// what the pointers in config->cluster lead to.
void config_replace(struct config *config, struct config *next);

enum config_role_kind {
	CONFIG_ROLE_SOURCE,
	CONFIG_ROLE_RX,
	CONFIG_ROLE_BUILDER,
	CONFIG_ROLE_WRITER,
	CONFIG_ROLE_CONTROL,
	CONFIG_ROLE_READOUT,
	CONFIG_ROLE_RESULTS,
	CONFIG_ROLE_RESULTS_SENDER, // of results that another node writes
};

struct config_role {
	char name[EVB_NAME_SIZE + 16];
	enum config_role_kind kind;
	unsigned object; // index into the generators, ports, builders, ...; control: 0
	unsigned queue;  // rx only
};

// Fills *role with role number `index` of the appliance. Returns false if index is too large.
// Configured lcores contain each role exactly once. The order is that of the data flow:
//
//   control              only in a node of a system
//   source.GENERATOR     per generator; in a node of a system it is "readout.GENERATOR"
//   rx.PORT              per port, where there are builders, in a node of a system (which receives
//                        grants), and for RoCE (which receives acknowledgements);
//                        "rx.PORT.QUEUE" per queue of a port with several rx queues
//   builder.NAME         per builder
//   writer.NAME          per writer
//   results.NAME         per entry of results
bool config_role(const struct config *config, unsigned index, struct config_role *role);

// The number of the port of this name; n_ports: there is none.
unsigned config_port(const struct config *config, const char *name);

// The name of the port to which the boards of a generator of kind port send.
const char *config_listen_port(const struct config_generator *generator);

// The number of the generator of kind port whose boards send to a port; n_generators: there is
// none.
unsigned config_listener(const struct config *config, unsigned port);

// Whether a port is for boards only, so that nothing is sent on it but replies.
bool config_is_for_boards(const struct config *config, unsigned port);

// Whether a port speaks RoCE, with boards or with other nodes.
bool config_has_roce(const struct config *config, unsigned port);

// Whether the process serves several runs, one after the other.
static inline bool config_serves_several_runs(const struct config *config)
{
	return config->cluster.n_nodes > 0 && config->event_manager.runs == CONFIG_RUNS_MANY;
}

// Whether another node writes these results, and this one sends its decisions there.
bool config_results_are_sent(const struct config *config, const struct config_results *results);

// The difference of the event ids of consecutive events in the results.
uint32_t config_results_packing(const struct config *config, const struct config_results *results);

// The rules of a group; NULL: it has none. A valid configuration only.
const struct config_group *config_group(const struct config *config, const char *name);

// The spills in which the generator sends; none with kinds that do not decide that themselves.
struct production_spill config_production(const struct config_generator *generator);

// The parameters of a generator's source set. Their pointers lead into the configuration.
struct source_set_parameters config_source_set(const struct config *config,
					       const struct config_generator *generator);

// Parameters of lib/cluster. The results point into the configuration, which must outlive them.
// config_manager_parameters() leaves the transport and the time zero; the caller sets them.
struct cluster_parameters config_cluster_parameters(const struct config *config);
struct on_wire_parameters config_on_wire_parameters(const struct config *config);
struct cluster_manager_parameters config_manager_parameters(const struct config *config);

// Of all readouts; the caller sets the numbers of builders, of the readout's sources and of ticks,
// and the MTU.
struct readout_pace_parameters config_readout_pace(const struct config *config);
// Of a timed shift, otherwise send_ns is 0; the caller sets the rank and the ticks.
struct shift_windows_parameters config_shift_windows(const struct config *config);

// Of the readout of a generator. The caller sets what does not follow from the configuration:
// store, pace.n_sources, pace.mtu, segment_size, overhead, ticks_per_second, output and context.
struct readout_logic_parameters config_readout_logic(const struct config *config,
						     const struct config_generator *generator);

// Mode pull: the nodes that send to the builders of one node at one time, at most. 0: not limited.
unsigned config_senders_at_once(const struct config *config);
