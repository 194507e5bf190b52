// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RoCE sender: one queue pair per flow, connected to a peer, and the messages that its user
// posts to the flows. Its users are the generator (roce_source_role.h) and the readout of a system
// of nodes (readout_roce.h). They decide what is sent to whom and when.
//
// A flow is connected by RDMA CM, and connected again 100 ms after its connection ended; after each
// refusal it waits twice as long, up to 2 s. Or it is connected once by an entry of
// `roce.queue_pairs`. Packets are sent at the rate that DCQCN permits. Responses and connection
// messages arrive through a link from the rx role of the port.
//
// Thread: the user's lcore. Any thread may read the counters and queue pairs.
#pragma once

#include "pacing/dcqcn.h"
#include "pipeline/link.h"
#include "rdma/roce_frame.h"
#include "rdma/roce_packets.h"
#include "roce/connection.h"
#include "roce/requester.h"
#include "roce/settings.h"
#include "tx/sender.h"

// The connection of a flow; the user sets `wanted`, `service` and `cm_port` before the first poll.
struct roce_flow {
	bool wanted;         // connect it by RDMA CM whenever it is not connected
	bool is_slowed;      // the sender's: in roce_sender.slowed
	uint8_t service;     // enum roce_service
	uint16_t cm_port;    // of the peer
	uint32_t connection; // id in RDMA CM; 0: none
	// Also set by the user, here or in resolve().
	struct roce_address_handle handle;
	struct queue_pair *qp; // NULL: not connected
	uint64_t address;      // virtual address of the region that the peer offered
	uint64_t size;         // bytes of the region; 0: no region
	uint32_t rkey;
	uint64_t retry_at; // ns; no connection attempt before
	unsigned refusals; // since it was connected last
	uint64_t alive_at; // ns; time of the next message that tests an idle connection
	struct dcqcn_flow rate;
};

// Written by the user's lcore, read by telemetry.
struct roce_sender_counters {
	uint64_t connected; // number of connected flows now
	uint64_t lost;      // connections that we did not end
	uint64_t unsent;    // messages never posted, when the user has ended; counted by the user
	uint64_t refused;   // connection attempts that the peer refused
	uint64_t unheard;   // connection attempts without a response
	uint64_t reason;    // enum roce_cm_reason of the last refusal; 0: none
	uint64_t completed; // messages acknowledged, or sent without RC
	uint64_t failed;    // messages whose connection ended before their acknowledgement
	uint64_t icrc_errors;
	uint64_t unknown_qp;
	uint64_t cnps;
};

// Callbacks of the user; `context` is its own.
struct roce_sender_operations {
	// Fills the address handle of a flow. False if the MAC address of its peer is unknown yet.
	// NULL: the handles do not change.
	bool (*resolve)(void *context, struct roce_flow *flow);
	struct roce_block (*find_block)(void *context, const struct roce_flow *flow,
					uint64_t message);
	void (*connected)(void *context, struct roce_flow *flow);
	// The connection ended or was refused; flow->qp is NULL.
	void (*ended)(void *context, struct roce_flow *flow, bool was_connected);
	// A message was acknowledged, or its connection ended first (failed).
	void (*completed)(void *context, struct roce_flow *flow, uint64_t message, bool failed);
	// Handles a request from the peer; only if peers may read. Otherwise requests are dropped
	// and counted.
	void (*request)(void *context, struct queue_pair *qp, const struct roce_packet *packet,
			const struct qp_address *peer, uint64_t now);
};

struct roce_sender_parameters {
	const struct roce_settings *settings;
	const struct roce_sender_operations *operations;
	void *context;
	struct sender *sender;  // the user's; connection messages are sent through it
	struct link *responses; // from the rx role of the port
	struct roce_sender_counters *counters;
	struct roce_pools pools;
	unsigned n_flows;
	uint32_t depth;     // largest number of messages posted per flow, a power of two
	uint32_t address;   // IPv4 of the port, host order
	uint32_t mtu;       // of the port
	uint64_t link_rate; // bit/s; 0: unknown
	uint8_t max_reads;  // largest number of READs outstanding per peer; 0: peers may not read
	bool shares_port;   // a receiver on the same port also has queue pairs
	bool tests_idle;    // idle RC connections are tested by empty WRITEs
};

struct roce_sender {
	struct roce_sender_parameters parameters;
	struct qp_table table;
	struct requester *requester;
	struct cm *cm; // NULL: flows are connected statically
	struct dcqcn dcqcn;
	struct roce_flow *flows; // [n_flows]
	// [n_flows]; the flows whose rate is below that of the link, so that a poll costs nothing
	// for the others
	struct roce_flow **slowed;
	unsigned n_slowed;
	unsigned n_connecting, first_to_connect;
	uint32_t path_mtu;
	uint64_t next_look; // ns; connections are not polled before
	double ns_per_tick;
	bool connects; // false: ended flows are not connected again
	bool leaving;
};

// A packet to send.
struct roce_outgoing {
	struct rte_mbuf *mbuf; // NULL: no mbuf was free; the packet counts as lost
	struct roce_flow *flow;
	uint64_t message;
	uint32_t size; // bytes of payload
	bool again;    // retransmission
};

// Control thread. False if memory ran out; call roce_sender_fini() even then.
bool roce_sender_init(struct roce_sender *sender, const struct roce_sender_parameters *parameters);
void roce_sender_fini(struct roce_sender *sender);

static inline struct roce_flow *roce_flow_of(const struct queue_pair *qp)
{
	return qp->user;
}

static inline uint64_t roce_sender_ns(const struct roce_sender *sender, uint64_t tsc)
{
	return (uint64_t)((double)tsc * sender->ns_per_tick);
}

// Handles received packets, and maintains connections and rates. Returns the number of received
// packets.
unsigned roce_sender_poll(struct roce_sender *sender, uint64_t tsc);

// Reports completed messages to the user. roce_sender_poll() does this, too.
void roce_sender_complete(struct roce_sender *sender);

// Makes a message of the configured operation to the region of the flow's peer. `user` identifies
// it: any number except UINT64_MAX. Its lower half is the immediate data.
struct requester_message roce_sender_message(const struct roce_sender *sender,
					     const struct roce_flow *flow, uint64_t user,
					     uint32_t length);

// Posts a message. False if the flow is not connected or has no room.
bool roce_sender_post(struct roce_sender *sender, struct roce_flow *flow,
		      struct requester_message *message);

// The next packet of any flow; false if none may be sent now.
bool roce_sender_next(struct roce_sender *sender, uint64_t tsc, struct roce_outgoing *outgoing);

// Whether no flow has a posted message that is not acknowledged.
bool roce_sender_is_idle(const struct roce_sender *sender);

// Connects a flow with the numbers of the configuration. False if a number is out of range or in
// use.
bool roce_sender_connect_statically(struct roce_sender *sender, struct roce_flow *flow,
				    const struct roce_static_pair *pair);

// Begins the end of all connections; when they have ended, counters.connected is 0.
void roce_sender_leave(struct roce_sender *sender, uint64_t now);

// roce_sender_connect.c, for roce_sender.c

bool roce_sender_make_cm(struct roce_sender *sender);
void roce_sender_poll_cm(struct roce_sender *sender, uint64_t now);
void roce_sender_receive_cm(struct roce_sender *sender, const struct roce_packet *packet,
			    const uint8_t *mad, const struct qp_address *peer, uint64_t now);
