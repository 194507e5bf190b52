// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The control role of a node of a system. It connects the logic of lib/cluster to the data plane:
// it receives control frames from the rx roles, sends its own out of the port
// of the node, finds the MAC addresses of the other nodes, and passes messages between that logic
// and the builders and readouts of the node.
//
// The role ends when the manager stops the run. If it is drained before that, the node leaves the
// system: the events of its builders that are not published are given back. The node of the manager
// first lets the whole run drain.
#pragma once

#include "cluster/manager.h"
#include "cluster/node.h"
#include "cluster/office.h"
#include "control/keys.h"
#include "decision/decision_flow.h"
#include "packet/mailbox.h"
#include "packet/neighbours.h"
#include "packet/run_gate.h"
#include "pipeline/link.h"
#include "pipeline/role.h"
#include "port/flow_control.h"
#include "port/last_will.h"
#include "port/vlan.h"
#include "rdma/roce_slots.h"
#include "rx/handler.h"

#define CONTROL_ERROR_SIZE 320
#define CONTROL_MAX_LINKS  64
#define CONTROL_PUBLISH_NS 10000000u

struct control_role_parameters {
	const char *name;
	uint16_t control_port; // UDP
	uint8_t control_dscp;
	uint32_t group; // IPv4 multicast address of shared frames, host order; 0: none
	uint64_t heartbeat_ns, heartbeat_timeout_ns;
	bool shares_clock;               // timed shift: the readouts need the manager's clock
	const struct control_keys *keys; // copied; without a key: frames are not authenticated
	// The logic and its system; transport, context, functions and `now` are filled in.
	struct cluster_node_parameters node;
	struct cluster_manager_parameters manager; // used on the manager's node
	// Used if the system has results; system, transport and manager are filled in.
	struct decision_flow_parameters decisions;
	uint64_t drain_ns; // longest drain of the run
	// Where the process serves several runs: the session of the endpoint, 0 in the first run;
	// and what opens and closes with the run.
	uint64_t session;
	struct run_gate *gates; // [n_gates]
	unsigned n_gates;
	// The port of the node
	uint16_t port_id;
	uint16_t queue;     // tx queue of this lcore
	const uint8_t *mac; // 6 bytes
	uint32_t mtu;
	struct rte_mempool *pool;          // mbufs of control_role_frame_size() bytes of room
	struct flow_control *flow_control; // NULL: none
	unsigned data_priority;            // 802.1p, whose pauses heartbeats report
	struct neighbours *neighbours;     // outlives the role
	struct last_will *last_will;       // of n_nodes frames; NULL: there is none
	const struct vlan_tagger *vlan;    // of the port; NULL: it tags no frames
	// The other roles of the node
	struct link **links; // from each rx role
	unsigned n_links;
	struct mailbox (*builder_mail)[2]; // [n_builders]: to the builder, from it
	unsigned n_builders;
	struct mailbox (*readout_mail)[2]; // [n_readouts]: to the readout, from it
	unsigned n_readouts;
	struct mailbox *offers;   // to the port of the builders; NULL: nothing is read by RDMA
	struct roce_slots *slots; // of the builders; NULL: no RoCE
	int numa_node;
};

// Written by the role's lcore, read by telemetry.
struct control_role_counters {
	uint64_t frames;     // received
	uint64_t malformed;  // received frames that are not control datagrams of this system
	uint64_t foreign;    // received frames from an address that no node, or another one, has
	uint64_t sent;       // passed to the port
	uint64_t not_sent;   // no mbuf was free, or the port was full; they are sent again
	uint64_t no_address; // not sent: the MAC address of the node is not known yet
	uint64_t arp_requests;
	uint64_t membership_reports; // of the multicast group, sent
	uint64_t clock_error;        // timed shift: of the manager's clock as it is known here, ns
};

// Where the event manager is elected. Times are those of control_role_now().
struct control_office_view {
	unsigned manager;    // node in office, as this node knows; CLUSTER_NONE: none
	uint32_t epoch;      // its epoch
	uint64_t take_overs; // times that this node has begun to follow a manager
	uint64_t since;      // it is in office, or this node follows it, since this time; 0: none
	unsigned n_standbys; // nodes that are not silent and can take over
	uint16_t standbys[EVB_MAX_MANAGERS];
	struct office_view own; // of this node, if it can be elected
};

// The event manager as this node hears it.
struct control_manager_view {
	uint64_t
	    heard_at; // time of its last frame; 0: the manager is on this node, or there is none
	uint64_t is_silent; // 1: for longer than heartbeat_timeout
};

// Handlers of the rx role that pass frames on to the control role by `link`, which outlives them:
// datagrams of the control protocol, and replies to the ARP requests that the control role sends.
struct rx_handler control_frame_handler(struct link *link, uint16_t control_port);
struct rx_handler control_arp_handler(struct link *link);

// Bytes of room that its mbufs need: an Ethernet frame on a port of this MTU.
uint32_t control_role_frame_size(uint32_t mtu);

// Bytes of ordinary memory for the endpoint of one of n_nodes nodes, with the MTU of its port.
uint64_t control_role_memory(uint32_t mtu, unsigned n_nodes);

// Control thread. NULL with one line in error[CONTROL_ERROR_SIZE].
struct role *control_role_create(const struct control_role_parameters *parameters, char *error);

const struct control_role_counters *control_role_counters(const struct role *role);

// Whether the manager stopped the run or refused this node, or is this node's and has been
// replaced. *why is NULL after a stop, otherwise one line. Any thread.
bool control_role_ended(const struct role *role, const char **why);

// The run for which the process is to prepare next; 0: for none, it ends. After
// control_role_ended(). Any thread.
uint32_t control_role_next_run(const struct role *role);

// control_role_parameters.session of the next run, when the lcore has stopped.
uint64_t control_role_following_session(const struct role *role);

// After the results roles of the node have drained: whether the decisions of the node have arrived
// where they are written, and what it has written is known to the others. The role must linger.
// Control thread.
bool control_role_decisions_are_done(struct role *role);

// By index of the system's results. Any thread.
void control_role_decisions(const struct role *role, unsigned results,
			    struct decision_flow_view *view);

// Replaces the keys by which frames are authenticated. False if the keys before have not been taken
// yet: try again later. Control thread.
bool control_role_set_keys(struct role *role, const struct control_keys *keys);

// Whether a node has refused this process since the last call, because it is in session with
// another process of this node's number: *node is then the index of that node. Control thread.
bool control_role_refused(struct role *role, unsigned *node);

enum control_role_answer {
	CONTROL_ROLE_WAITS, // no response yet
	CONTROL_ROLE_DONE,
	// Refused: error[CONTROL_ERROR_SIZE] holds one line with the reason.
	CONTROL_ROLE_REFUSED,
	CONTROL_ROLE_NOT_MANAGER, // this node is not the event manager, or not any more
};

// Passes a command to the manager, which must be on this node, without waiting for the response.
// Control thread. Returns CONTROL_ROLE_WAITS, or why the command was refused.
enum control_role_answer control_role_ask(struct role *role, enum cluster_command command,
					  unsigned node, char *error);

// The response to the last command. It is returned once, and need not be fetched. Control thread.
enum control_role_answer control_role_answer(struct role *role, char *error);

// A configuration file for the runs behind the present one, or that behind the next one.
struct control_file {
	char path[CTRL_PATH_SIZE];
	uint64_t hash; // cluster_system.hash, as the manager's node has read it
};

// On the manager's node, between two runs: asks all nodes whether they can use a file, which this
// one can. Control thread. Returns 0, or -1 with one line in error[CONTROL_ERROR_SIZE].
int control_role_propose(struct role *role, const struct control_file *file, char *error);

// Whether they can: CONTROL_ROLE_DONE if all have agreed. It is returned once. Control thread.
enum control_role_answer control_role_agreement(struct role *role, char *error);

// On another node: whether the manager asks about a file. The response is control_role_judge(),
// with the reason of a refusal as one line, of which 255 characters are sent, or NULL. Control
// thread.
bool control_role_proposal(const struct role *role, struct control_file *file);
void control_role_judge(struct role *role, const char *reason);

// Where the manager is elected, on a node that has agreed: whether another node has the file, so
// that this one is to take it. Control thread.
bool control_role_follows(const struct role *role);

// The clock of the role, in ns: that of the times in the views below. Any thread.
uint64_t control_role_now(const struct role *role);

// For telemetry, any thread: the counters are written by the role's lcore.
const struct control_endpoint *control_role_endpoint(const struct role *role);
const struct cluster_latency *control_role_latency(const struct role *role);

// The logic as it was at most CONTROL_PUBLISH_NS before the role's last poll, after the last
// command, and when the role had ended. Any thread.
void control_role_node_view(const struct role *role, struct cluster_node_view *view);
void control_role_manager_link(const struct role *role, struct control_manager_view *view);
// Zero where the manager is not elected.
void control_role_office(const struct role *role, struct control_office_view *view);
// The time of the wall clock (CLOCK_REALTIME, ns) at a time of the role's clock.
uint64_t control_role_wall_clock(const struct role *role, uint64_t time);
// Whether the manager is on this node. The functions below require that it is, or was: where it is
// elected, it may leave at any time, and they then report the last state.
bool control_role_manages(const struct role *role);
void control_role_manager_view(const struct role *role, struct cluster_manager_view *view);
void control_role_sched_counters(const struct role *role, struct sched_counters *counters);
void control_role_member(const struct role *role, unsigned node, struct cluster_node_state *state);
// `builder`: system-wide number. Until the nodes have registered, nothing is known of it.
void control_role_builder(const struct role *role, unsigned builder,
			  struct sched_builder_view *view);
