// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The state that the files of the control role share: control_role.c (polls, drain, creation),
// control_mailboxes.c (builders and readouts), control_heartbeat.c (heartbeats and pauses of the
// port), control_command.c (commands of the operator), control_views.c (what telemetry reads),
// control_agreement.c (another configuration file), control_office.c (the manager of this node),
// control_frames.c (frames and addresses) and control_group.c (multicast).
#pragma once

#include "base/seqlock.h"
#include "cluster/office.h"
#include "node/control_role.h"
#include "wire/net.h"

// The state of the logic as other threads see it.
struct control_views {
	struct seqlock lock;
	struct cluster_node_view node;
	struct control_office_view office;
	struct control_manager_view manager_link;
	struct decision_flow_view decisions[EVB_MAX_RESULTS];
	// On the manager's node
	struct cluster_manager_view manager;
	struct sched_counters counters;
	struct cluster_node_state *nodes;    // [n_nodes]
	struct sched_builder_view *builders; // [n_builders of the system]
};

// What the role knows of the address of a node.
struct control_address {
	uint64_t requested_at; // ns of the last ARP request; 0: none
	// Where the last frame of the node came from that did not prove to be its own.
	struct net_mac stranger;
};

enum command_step { COMMAND_NONE, COMMAND_REQUESTED, COMMAND_FINISHED };

static inline int command_step_of(const atomic_int *step)
{
	return atomic_load_explicit(step, memory_order_acquire);
}

static inline void command_set_step(atomic_int *step, enum command_step to)
{
	atomic_store_explicit(step, to, memory_order_release);
}

// Another configuration file, and which nodes agree on it (control_agreement.c). The control thread
// owns the fields except between COMMAND_REQUESTED and COMMAND_FINISHED, when the role does.
struct control_asking {
	atomic_int step; // enum command_step
	struct control_file file;
	uint32_t request;
	uint64_t since;            // ns
	bool waits[EVB_MAX_NODES]; // for the verdict of the node
	unsigned n_waits;
	bool is_asked; // the nodes have been asked
	bool refused;
	char error[CONTROL_ERROR_SIZE];
};

// The file about which the manager asks this node. The role owns the fields except between
// COMMAND_REQUESTED and COMMAND_FINISHED, when the control thread does.
struct control_asked {
	atomic_int step; // enum command_step
	struct control_file file;
	uint32_t request;
	unsigned from;
	bool refused;
	char reason[CTRL_PATH_SIZE];
	// Owned by the role. A node with the configuration of this hash, on which this node has
	// agreed, shows that the others take it. 0: none.
	uint64_t agreed;
	bool is_void;  // the manager has withdrawn the file while this node judged it
	bool has_next; // the manager asks about another one meanwhile
	unsigned next_from;
	struct ctrl_configuration next;
	atomic_bool follows; // some node has it: this one is to take it
};

struct control {
	struct role role;
	struct control_role_parameters parameters;
	const struct cluster_system *system;
	struct control_endpoint *endpoint;
	struct cluster_transport transport; // by the endpoint
	struct cluster_node *node;
	struct cluster_manager *manager; // NULL: on another node, or another one is in office
	struct office *office;           // NULL: the manager is not elected, or this node cannot be
	atomic_bool in_office;           // there is a manager
	struct decision_flow *flow;      // NULL: the system has no results
	bool lingers;                    // only the flow is served
	double ns_per_tick;
	uint64_t start_tsc, start_ns;
	uint64_t now;     // ns
	uint64_t now_tsc; // the TSC at `now`
	uint64_t next_poll, next_beat, next_publish, next_clock;
	uint64_t next_report; // of the membership in the multicast group
	unsigned n_reports;
	uint64_t paused_before;              // ns that the port had paused its partner at the last
	uint64_t beat_before;                // heartbeat, and the time of that heartbeat
	bool pausing;                        // as last reported to the manager
	bool connected_self;                 // the only manager's node is connected to itself
	bool drain_requested;                // of the run
	uint64_t drain_since, leaving_since; // ns, 0: not
	atomic_bool ended;
	atomic_bool decisions_asked, decisions_done;
	uint32_t next_run;      // control_role_next_run(); written before `ended`
	bool replaced;          // another manager is in office; written before `ended`
	atomic_uint refused_by; // node that refuses this process, + 1; 0: none, or reported already

	// A command. The control thread owns the fields except between COMMAND_REQUESTED and
	// COMMAND_FINISHED, when the role does.
	struct {
		atomic_int step; // enum command_step
		enum cluster_command command;
		unsigned node;
		int result;
		bool not_manager; // refused for this reason
		char error[CLUSTER_ERROR_SIZE];
	} command;

	struct control_asking asking;
	struct control_asked asked;

	// The control thread writes the keys unless they are new, when the role takes them.
	atomic_bool keys_are_new;
	struct control_keys keys;

	struct control_views views;

	// control_frames.c
	struct control_address *nodes; // [n_nodes]
	unsigned next_requested;       // node with which the next search for due requests begins
	uint8_t copy[NET_HEADERS_SIZE + NET_VLAN_SIZE * 2 + CLUSTER_MTU_MOST]; // of a frame
	struct control_role_counters counters __rte_cache_aligned;
};

static inline bool control_elects(const struct control *control)
{
	return cluster_elects(control->system);
}

static inline struct control *control_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct control, role));
}

// --- control_role.c ---

// The time of a TSC value on the role's clock, ns; at least 1.
uint64_t control_ns(const struct control *control, uint64_t tsc);

// --- control_frames.c ---

// Sends a datagram to a node (control_handlers.emit). False if it cannot be sent now. If the MAC
// address of the node is not known, it is requested and the datagram is dropped.
bool control_send_frame(void *context, unsigned node, const uint8_t *bytes, size_t size);

// Stores a datagram for a node in the last will of the process (control_handlers.store_will).
bool control_store_will_frame(void *context, unsigned node, const uint8_t *bytes, size_t size);

// Sends a datagram to any address; the ports and the source are those of the role. False if it
// cannot be sent now.
bool control_send_datagram(struct control *control, const struct net_mac *mac, uint32_t ip,
			   const uint8_t *bytes, size_t size);

// Passes a frame to the port, which takes it or not.
void control_send_mbuf(struct control *control, struct rte_mbuf *mbuf);

// Requests the MAC addresses of the nodes for which none is known, and those that are out of
// session and may have another one now.
void control_request_addresses(struct control *control);

// Passes the datagram of a received frame to the endpoint. Stores the MAC address of its sender if
// the datagram proves to be the node's, or the frame is a reply to an ARP request; never that of a
// node for which the configuration has one.
void control_receive_frame(struct control *control, const struct rte_mbuf *mbuf);

// --- control_group.c ---

// Sends a datagram to the multicast group (control_handlers.emit_shared).
bool control_send_to_group(void *context, const uint8_t *bytes, size_t size);

// Whether shared frames are for this node.
bool control_joins_group(const struct control *control);

// Reports the membership in the group where that is due.
void control_group_poll(struct control *control);

// --- control_mailboxes.c ---

// Sets the functions by which the logic sends messages to builders, readouts and the port.
void control_set_mailboxes(struct control *control, struct cluster_node_parameters *node);

// Passes the messages of builders and readouts to the logic; returns their number.
unsigned control_take_messages(struct control *control);

// --- control_office.c ---

// Creates the manager of this node, which is the only one that can manage. False if memory ran out.
bool control_make_manager(struct control *control);

// Epochs grow with the time at which a manager starts, so that the epoch of an earlier manager is
// recognised as old.
uint32_t control_new_epoch(void);

// Prepares the office, if this node can be elected. False if memory ran out.
bool control_office_make(struct control *control);

// Frees the office and the manager.
void control_office_free(struct control *control);

// Comes into office and leaves it. To be called before the manager does anything.
void control_office_poll(struct control *control);

// Another manager has a higher epoch.
void control_office_fenced(struct control *control);

// --- control_heartbeat.c ---

// CLOCK_REALTIME, ns.
uint64_t control_wall_clock_ns(void);

// Renews the contents of heartbeats, and sends one to a node (CLUSTER_NONE: to all) at once.
void control_heartbeat_at_once(struct control *control, unsigned to);

// Renews the contents of heartbeats where that is due or the port began or ended a pause.
void control_heartbeat_poll(struct control *control);

// --- control_clock.c ---

// Timed shift: tells the readouts the manager's clock where that is due.
void control_clock_poll(struct control *control);

// --- control_views.c ---

// Allocates the views of the manager and publishes the first ones. False if memory ran out.
bool control_views_make(struct control *control);
void control_views_free(struct control *control);

// Publishes the present state of the logic.
void control_publish(struct control *control);

// --- control_command.c ---

// Executes the command that waits.
void control_serve_command(struct control *control);

// --- control_agreement.c ---

// Handles a record. False: it is of another type.
bool control_agreement_record(struct control *control, unsigned from,
			      const struct ctrl_record *record);

// Asks the nodes, and passes on the verdict of this one.
void control_agreement_poll(struct control *control);
