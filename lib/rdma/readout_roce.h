// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How a readout sends by RoCE: one flow (roce_sender.h) to each builder of the other nodes. An
// event for a builder is one message per source, SEND or WRITE, posted in the order of the grants.
// A WRITE goes to the address that the grant names, or, if it names none, to the region that the
// builder offered when it accepted the connection.
//
// When a connection ends, the messages that were not acknowledged are posted again on the next one,
// unless the event has been granted to another builder or is finished. Nothing is copied for that:
// the blocks stay until their event is released.
//
// With roce.operation `read` nothing is posted: the blocks are offered to the builders, which read
// them.
//
// Thread: the readout's lcore. The counters and queue pairs may be read by any thread.
#pragma once

#include "packet/message.h"
#include "packet/neighbours.h"
#include "rdma/roce_sender.h"
#include "tx/block_packets.h"

struct readout_roce;

// A builder of the system.
struct readout_destination {
	bool is_local;    // of this node: nothing is sent to it by RoCE
	uint16_t node;    // index of its node
	uint16_t index;   // of the builder, among those of its node
	uint32_t address; // IPv4 of its node, host order
	uint32_t slots;
};

struct readout_roce_parameters {
	const struct roce_settings *settings;
	const struct readout_destination *builders; // [n_builders], used by create() only
	unsigned n_builders;
	struct block_packets *packets; // the readout's, as is the sender
	struct sender *sender;
	const struct neighbours *neighbours;
	struct link *responses;   // from the rx role of the port
	uint64_t link_rate;       // bit/s; 0: unknown
	uint64_t unfinished;      // events that can be granted and not released, a power of two
	bool holds_until_release; // events count until they are released
};

// Written by the role's lcore, read by telemetry.
struct readout_roce_counters {
	struct roce_sender_counters sender;
	uint64_t
	    withdrawn; // events not sent, or not sent again, to the builder that had them before
};

// Control thread. NULL if memory ran out.
struct readout_roce *readout_roce_create(const struct readout_roce_parameters *parameters);
void readout_roce_destroy(struct readout_roce *roce);

// Takes what has arrived and looks after the connections, whose messages go to the sender. now:
// TSC. Returns how many packets arrived.
unsigned readout_roce_poll(struct readout_roce *roce, uint64_t now);

// An event has been granted: earlier grants of it are void.
void readout_roce_granted(struct readout_roce *roce, const struct message *grant);
// All events below this one are finished.
void readout_roce_released(struct readout_roce *roce, uint64_t event);
// All grants are void: the run is over, or another one begins.
void readout_roce_forget(struct readout_roce *roce);

// Queues the blocks of a granted event for its builder on another node. False if the queue is full.
// A void grant is accepted and not sent.
bool readout_roce_post(struct readout_roce *roce, const struct message *grant);

// The next packet to any builder, and its bytes of payload; NULL if none may leave, or mbufs are
// short.
struct rte_mbuf *readout_roce_next(struct readout_roce *roce, uint64_t now, uint32_t *payload);

// Whether the builders read: then granted events are not posted but offered.
bool readout_roce_is_read(const struct readout_roce *roce);
// Fills address, size and rkey of the message that offers a block of a retained event.
void readout_roce_place(const struct readout_roce *roce, uint64_t event, unsigned source,
			struct message *message);

// Whether the readout may go on to the next event after the one that was posted last to a builder:
// all of it has left once, or the builder is not connected, or nothing new has left for a while.
bool readout_roce_is_sent(const struct readout_roce *roce, unsigned builder, uint64_t now);

// Whether each builder of the other nodes is connected.
bool readout_roce_is_connected(const struct readout_roce *roce);

// Ends the connections once all messages are acknowledged, or a time limit is over. To be called
// until it returns true.
bool readout_roce_leave(struct readout_roce *roce, uint64_t now);

const struct readout_roce_counters *readout_roce_counters(const struct readout_roce *roce);
// The queue pair to builder `index` of the system, for telemetry; NULL if it is not connected.
const struct queue_pair *readout_roce_qp(const struct readout_roce *roce, unsigned index);
