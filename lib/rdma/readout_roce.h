// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How a readout sends by RoCE: a queue pair to each builder of the other nodes, connected by RDMA
// CM and connected anew whenever it is lost. An event for a builder is a message a source, SEND or
// WRITE, posted in the order of the grants; a WRITE goes to where the grant says, or, without that,
// where the connection says.
//
// A message that its connection took with it is posted again on the next one, from the first that
// was not acknowledged, unless the event has been granted to another builder or is finished.
// Nothing is copied for that: blocks are held until their event is released.
//
// With roce.operation `read` it posts nothing: builders read the blocks that they were offered.
//
// What comes for its queue pairs it gets from the rx role of the port.
//
// Threads: one, the readout's; the counters and queue pairs may be read by others at any time.
#pragma once

#include "config/config.h"
#include "packet/message.h"
#include "packet/neighbours.h"
#include "pipeline/link.h"
#include "roce/queue_pair.h"
#include "tx/block_packets.h"
#include "tx/sender.h"

#define READOUT_ROCE_ERROR_SIZE 256

struct readout_roce;

struct readout_roce_parameters {
	const char *name; // of the role
	const struct config *config;
	unsigned port;                 // index
	struct block_packets *packets; // the readout's, as are the next two
	struct sender *sender;
	const struct neighbours *neighbours;
	struct link *responses; // from the rx role of the port
};

// Written by the role's lcore, read by telemetry.
struct readout_roce_counters {
	uint64_t connected;   // builders, now
	uint64_t lost;        // connections that were, and ended otherwise than by us
	uint64_t completed;   // messages acknowledged, or sent where nobody acknowledges
	uint64_t failed;      // messages that their connection took with it
	uint64_t withdrawn;   // events not sent, or not again, to the builder that had them before
	uint64_t icrc_errors; // of responses
	uint64_t unknown_qp;
	uint64_t cnps;
};

// Control thread. NULL with one line in error[READOUT_ROCE_ERROR_SIZE].
struct readout_roce *readout_roce_create(const struct readout_roce_parameters *parameters,
					 char *error);
void readout_roce_destroy(struct readout_roce *roce);

// Takes what has come, keeps the connections up; connection messages go to the sender. now: TSC.
unsigned readout_roce_poll(struct readout_roce *roce, uint64_t now);

// An event has been granted: what was granted of it before counts no more.
void readout_roce_granted(struct readout_roce *roce, const struct message *grant);
// Events below are finished.
void readout_roce_released(struct readout_roce *roce, uint64_t event);
// What has been granted counts no more: the run is over, or another one begins.
void readout_roce_forget(struct readout_roce *roce);

// Puts the blocks of a granted event behind what waits for its builder on another node. False if
// too much waits. What does not count any more is taken and not sent.
bool readout_roce_post(struct readout_roce *roce, const struct message *grant);

// The next packet of any builder's, with so many bytes of payload; NULL if there is none that may
// leave, or mbufs are short.
struct rte_mbuf *readout_roce_next(struct readout_roce *roce, uint64_t now, uint32_t *payload);

// Whether builders read; the rest of what is granted is then not posted, but offered.
bool readout_roce_is_read(const struct readout_roce *roce);
// Where a block of a held event lies for them: address, size and rkey of the message.
void readout_roce_place(const struct readout_roce *roce, uint64_t event, unsigned source,
			struct message *message);

// Whether the event that was posted last to a builder need not be waited for: all has left once,
// or there is no connection, or nothing new has left for a while.
bool readout_roce_is_sent(const struct readout_roce *roce, unsigned builder, uint64_t now);

// Whether there is a connection to each builder of other nodes.
bool readout_roce_is_connected(const struct readout_roce *roce);

// Ends the connections once all is acknowledged, or patience ends; to be called until true.
bool readout_roce_leave(struct readout_roce *roce, uint64_t now);

const struct readout_roce_counters *readout_roce_counters(const struct readout_roce *roce);
// The queue pair to builder `index` of the system, for telemetry; NULL if there is none.
const struct queue_pair *readout_roce_qp(const struct readout_roce *roce, unsigned index);
