// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sends the blocks of a readout by RoCE, over one flow (roce_sender.h) to each builder of the other
// nodes. An event for a builder is one message per source, SEND or WRITE, posted in the order of
// the grants. A WRITE goes to the address in the grant; if the grant has none, it goes to the
// region that the builder offered when it accepted the connection.
//
// When a connection ends, the messages that were not acknowledged are posted again on the next
// connection, unless the event has been granted to another builder or is finished. No copy is
// needed: the blocks stay until their event is released.
//
// With roce.operation `read` nothing is posted: the readout offers the blocks, and the builders
// read them.
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
	bool is_local;    // on this node: nothing is sent to it by RoCE
	uint16_t node;    // index of its node
	uint16_t index;   // of the builder, among those of its node
	uint32_t address; // IPv4 of its node, host order
	uint32_t slots;
};

struct readout_roce_parameters {
	const struct roce_settings *settings;
	const struct readout_destination *builders; // [n_builders], used by create() only
	unsigned n_builders;
	struct block_packets *packets; // block_packets and sender belong to the readout
	struct sender *sender;
	const struct neighbours *neighbours;
	struct link *responses; // from the rx role of the port
	uint64_t link_rate;     // bit/s; 0: unknown
	uint64_t unfinished;    // largest number of events granted and not released, a power of two
	bool holds_until_release; // events stay valid until they are released
};

// Written by the role's lcore, read by telemetry.
struct readout_roce_counters {
	struct roce_sender_counters sender;
	uint64_t withdrawn; // events whose grant became void before all was sent
};

// Control thread. NULL if memory ran out.
struct readout_roce *readout_roce_create(const struct readout_roce_parameters *parameters);
void readout_roce_destroy(struct readout_roce *roce);

// Handles received packets and maintains the connections; connection messages leave through the
// sender. `now` is in TSC cycles. Returns the number of received packets.
unsigned readout_roce_poll(struct readout_roce *roce, uint64_t now);

// Registers a grant. Earlier grants of the event become void.
void readout_roce_granted(struct readout_roce *roce, const struct message *grant);
// Whether messages of the event wait or are not acknowledged. It may also return true for an event
// that is far from one of which this is so.
bool readout_roce_holds(const struct readout_roce *roce, uint64_t event);
// The same for any event.
bool readout_roce_holds_any(const struct readout_roce *roce);
// Records that all events below this one are finished.
void readout_roce_released(struct readout_roce *roce, uint64_t event);
// Makes all grants void: the run has ended, or another one begins.
void readout_roce_forget(struct readout_roce *roce);

// Queues the blocks of a granted event for its builder on another node. False if the queue is full.
// A void grant is accepted and not sent.
bool readout_roce_post(struct readout_roce *roce, const struct message *grant);

// The next packet to any builder; *payload is its size without headers. NULL if none may be sent
// now, or no mbuf is free.
struct rte_mbuf *readout_roce_next(struct readout_roce *roce, uint64_t now, uint32_t *payload);

// Whether the builders read the blocks: granted events are then offered instead of posted.
bool readout_roce_is_read(const struct readout_roce *roce);
// Fills address, size and rkey of the message that offers a block of a retained event.
void readout_roce_place(const struct readout_roce *roce, uint64_t event, unsigned source,
			struct message *message);

// Whether the readout may continue with the next event for a builder: the last posted event has
// been sent once, or the builder is not connected, or nothing new has been sent for some time.
bool readout_roce_is_sent(const struct readout_roce *roce, unsigned builder, uint64_t now);

// Whether each builder of the other nodes is connected.
bool readout_roce_is_connected(const struct readout_roce *roce);

// Ends the connections when all messages are acknowledged or a time limit has passed. Call it until
// it returns true. `now` is in TSC cycles.
bool readout_roce_leave(struct readout_roce *roce, uint64_t now);

const struct readout_roce_counters *readout_roce_counters(const struct readout_roce *roce);
// The queue pair to builder `index` of the system, for telemetry; NULL if it is not connected.
const struct queue_pair *readout_roce_qp(const struct readout_roce *roce, unsigned index);
