// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The parts of an appliance, which start.c makes one after the other. Internal to lib/appliance.
// Functions that return int return 0, or -1 with one line in error[APPLIANCE_ERROR_SIZE]; those
// that return a pointer return NULL with this line.
#pragma once

#include <rte_cycles.h>

#include "appliance/appliance.h"
#include "base/error_line.h"
#include "port/settings.h"
#include "record/event_file.h"
#include "tx/block_packets.h"

// Writes one line to error[APPLIANCE_ERROR_SIZE]. Returns -1.
#define appliance_fail(error, ...) error_line(error, APPLIANCE_ERROR_SIZE, __VA_ARGS__)

static inline uint64_t ns_to_cycles(uint64_t ns)
{
	return (uint64_t)((double)ns * 1e-9 * (double)rte_get_tsc_hz());
}

// --- notices.c ---

// Notices: lines that an operator should see, which appliance.notice prints.
// Passes on one line, cut to 511 characters. Any thread except the lcores of rx, builder and source
// roles.
void notice(const struct appliance *appliance, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Writes a line about each source that does not send what the configuration says, once per source
// and run, and for a few sources only.
void report_differences(struct appliance *appliance);

// --- system_notices.c ---

// Reports what has changed between the nodes of a system. Control thread.
void appliance_report_system(struct appliance *appliance);

// --- notices.c ---

// The notify function of event files; context is a struct appliance.
void notice_of_file(void *context, const struct event_file_notice *file);

// --- ports.c ---

// Where a port finds segments: the UDP destination ports, count 0: none, and the EtherType, 0:
// none. In a node of a cluster each builder has one UDP port; a port to which boards send has the
// segments of these.
struct port_udp_range traffic_segment_ports(const struct config *config, unsigned port);
uint16_t traffic_ether_type(const struct config *config, unsigned port);

// Derives the event traffic that a port must recognise. *traffic points into the configuration.
void traffic_make(struct port_traffic *traffic, const struct config *config, unsigned port);

// Opens the ports, and their flow control where it is configured.
int ports_open(struct appliance *appliance, char *error);
void ports_close(struct appliance *appliance);

// The flow control of a port; NULL if it has none.
struct flow_control *appliance_flow_control(struct appliance *appliance, unsigned port);

// --- start.c ---

// Makes the event rings.
int rings_make(struct appliance *appliance, char *error);
// Makes the store of a generator, and its source set if there is none.
int store_make(struct appliance *appliance, unsigned generator, char *error);
// Makes what belongs to one run: links, mailboxes, RoCE endpoints and roles; launches the lcores.
int run_parts_make(struct appliance *appliance, char *error);
// Frees these parts. The lcores have stopped.
void run_parts_free(struct appliance *appliance);

// Makes a link between two roles.
struct link *make_link(const struct plan *plan, unsigned from, unsigned to, uint32_t depth,
		       bool lossless, int node, char *error);

// The mode of the files of event rings, for evring_create().
unsigned ring_mode(const struct config *config);

// --- drain.c ---

// Time for writers to finish, in which space on a full disk can be freed.
#define WRITER_SECONDS 60

void stop_lcores(struct appliance *appliance);

// --- runs.c ---

// Closes the gates of the rx roles until a run begins, where the process serves several.
void gates_make(struct appliance *appliance);
// The gate of rx role `index`; NULL: it accepts segments at all times.
struct run_gate *gate_of(struct appliance *appliance, unsigned index);
// The account of the run begins now.
void run_has_begun(struct appliance *appliance);

// --- configure.c ---

// On the event manager's node: judges a file and asks the other nodes. *is_same: it changes
// nothing, and nobody is asked.
int configure_begin(struct appliance *appliance, const char *path, bool *is_same, char *error);
// Their responses: after CONTROL_ROLE_DONE the process prepares for the next run with the file.
enum control_role_answer configure_finish(struct appliance *appliance, char *error);

// On the other nodes: judges the file about which the event manager asks.
void configure_watch(struct appliance *appliance);
// The event manager refuses the configuration of this node. Whether the process prepares for the
// next run with the file on which the nodes have agreed.
bool configure_follows(struct appliance *appliance);

// Replaces the configuration. The lcores have stopped, and the parts of the run are freed.
void configure_adopt(struct appliance *appliance);
// No file is agreed on.
void configure_forget(struct appliance *appliance);

// --- roles.c ---

int roles_make(struct appliance *appliance, char *error);

// The parameters of the packets that a generator sends. Only for appliances outside a cluster: a
// node of a cluster sends to the addresses and UDP ports of the system's builders.
struct block_packets_parameters generator_packets(const struct appliance *appliance,
						  const struct plan_role *plan);

// --- results_parts.c ---

struct role *results_make(struct appliance *appliance, const struct plan_role *plan, char *error);
struct role *results_make_sender(struct appliance *appliance, const struct plan_role *plan,
				 char *error);

// When the lcores have stopped: writes what is left. Returns the blocks of results in event rings
// that consumers have not released.
uint64_t results_finish(const struct appliance *appliance);

// --- cluster_parts.c ---

// Makes what a node has in all its runs: the pool of control frames, and what it knows of other
// nodes. Does nothing where there is no cluster.
int cluster_common_make(struct appliance *appliance, char *error);

// Makes the last will of a node's process, if the kernel has an interface for its port. Before the
// process has threads.
void last_will_prepare(struct appliance *appliance);
void cluster_common_free(struct appliance *appliance);

// Makes the links and mailboxes of a node. Does nothing where there is no cluster.
int cluster_parts_make(struct appliance *appliance, char *error);
void cluster_parts_free(struct appliance *appliance);

struct role *cluster_make_control(struct appliance *appliance, const struct plan_role *plan,
				  char *error);

struct role *cluster_make_readout(struct appliance *appliance, const struct plan_role *plan,
				  struct link **links);

// --- event_rings.c ---

// Makes the block store of a generator that sends the built events of another appliance.
int event_rings_make_store(struct appliance *appliance, unsigned generator, char *error);

// Opens the event rings of these appliances as soon as they exist, and reports it. To be called
// about 10 times per second.
void event_rings_watch(struct appliance *appliance);

// --- keys.c ---

// Reads the node's key file; without one *keys has no key.
int keys_read(struct appliance *appliance, struct control_keys *keys, char *error);

// Once per second: reads a changed key file again, and reports the nodes whose frames are refused.
void keys_watch(struct appliance *appliance);

// False if memory ran out.
bool keys_watch_make(struct key_watch *watch, unsigned n_nodes);
void keys_watch_free(struct key_watch *watch);

// --- roce_parts.c ---

// Makes the RoCE endpoints of ports that speak RoCE.
int roce_parts_make(struct appliance *appliance, char *error);
// Creates the source role of a generator that sends by RoCE.
struct role *roce_make_source(struct appliance *appliance, const struct plan_role *plan,
			      const uint8_t destination_mac[6], char *error);
// Makes the RoCE handler of the rx roles of a port; returns their number, 0 or 1.
unsigned roce_make_handler(struct appliance *appliance, unsigned port, struct rx_handler *handler);
// The RDMA addresses and keys of the builders' slots, by builder. NULL without RoCE or without a
// system of nodes, where no peer needs them.
const struct placement *roce_placements(const struct appliance *appliance);
// Writes a line if a generator has waited 5 s for a connection; to be called repeatedly.
void roce_report_waiting(struct appliance *appliance);
// Writes the same line, if it has not been written, when the generators have ended with messages
// that were not sent.
void roce_report_unsent(struct appliance *appliance);
void roce_ports_free(struct appliance *appliance); // to be called before the ports are closed
