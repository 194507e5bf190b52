// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The readouts of a node: their events are announced, and they learn the state of the run.
#include "cluster/node_internal.h"

#include <stdlib.h>

bool node_readouts_make(struct cluster_node *node)
{
	node->readouts = calloc(node->n_readouts + 1, sizeof(*node->readouts));
	return node->readouts != NULL && node_orders_make(node);
}

void node_readouts_free(struct cluster_node *node)
{
	node_orders_free(node);
	free(node->readouts);
}

// --- messages of the readouts ---

// A readout reports that a block of an event is ready to be read; the builder gets an OFFER.
static void send_offer(struct cluster_node *node, const struct message *message)
{
	const struct cluster_system_builder *builder = &node->cluster->builders[message->builder];
	const struct ctrl_block block = {
		.address = message->address,
		.length = message->size,
		.source = message->source,
	};
	const struct ctrl_offer offer = {
		.event = message->event,
		.rkey = message->rkey,
		.run = message->run,
		.builder = (uint16_t)builder->index,
		.attempt = message->attempt,
		.n = 1,
	};
	uint8_t bytes[CTRL_OFFER_SIZE(1)];

	cluster_send(&node->parameters.transport, builder->node, bytes,
		     ctrl_put_offer(bytes, sizeof(bytes), &offer, &block));
}

void cluster_node_readout_message(struct cluster_node *node, unsigned readout,
				  const struct message *message, uint64_t now)
{
	struct node_readout *at = &node->readouts[readout];

	node->now = now;
	if (message->kind == MESSAGE_SENT)
		node_orders_sent(node, message);
	if (message->kind == MESSAGE_PHASE && message->state == node->session) {
		at->has_phase = true;
		at->phase = (uint32_t)message->event;
	}
	if (message->kind == MESSAGE_OFFER)
		send_offer(node, message);
	if (message->kind != MESSAGE_ANNOUNCE || message->run != node->run)
		return;
	at->announced = message->event;
	at->ended = (message->flags & MESSAGE_LAST) != 0;
	at->unsent = (message->flags & MESSAGE_UNSENT) != 0;
}

// --- messages to the readouts, and announcements ---

void node_readouts_start(struct cluster_node *node)
{
	for (unsigned i = 0; i < node->n_readouts; i++) {
		node->readouts[i].announced = node->announced;
		node->readouts[i].ended = node->readouts[i].unsent = false;
		node->readouts[i].start_sent = false;
	}
}

void node_readouts_send_run(struct cluster_node *node)
{
	for (unsigned i = 0; i < node->n_readouts; i++)
		node->readouts[i].run_sent = false;
	if (node->state == CTRL_STOPPED)
		node_orders_drop(node);
}

// A readout gets the start of each run first, even if the run has changed its state since.
static void send_run(struct cluster_node *node, unsigned index)
{
	struct node_readout *readout = &node->readouts[index];
	struct message message = { .kind = MESSAGE_RUN,
				   .state = CTRL_RUNNING,
				   .run = node->run,
				   .event = node->start_event };

	if (!readout->start_sent && node->run != 0)
		readout->start_sent = node_send_to_readout(node, index, &message);
	if (readout->run_sent || !readout->start_sent)
		return;
	message.state = (uint16_t)node->state;
	if (node->state == CTRL_DRAINING)
		message.event = node->end_event;
	readout->run_sent = node_send_to_readout(node, index, &message);
}

static void update_readout(struct cluster_node *node, unsigned index)
{
	struct node_readout *readout = &node->readouts[index];
	struct message limit = { .kind = MESSAGE_PHASE,
				 .event = node->limit,
				 .state = node->session };
	struct message release = { .kind = MESSAGE_RELEASE, .event = node->released };
	// Orders wait for what the readout announces, and the manager throttles because of the
	// events that wait for these orders.
	const bool throttled = node->throttled && readout->n_early == 0;
	struct message throttle = { .kind = MESSAGE_THROTTLE, .state = throttled };

	send_run(node, index);
	node_orders_flush(node, index);
	// What became of the events comes before their release.
	if (readout->n_sends > 0 && node->cluster->nodes[node_self(node)].sends_built)
		return;
	if (readout->release_sent != node->released && node_send_to_readout(node, index, &release))
		readout->release_sent = node->released;
	if (readout->limit_due && node_send_to_readout(node, index, &limit))
		readout->limit_due = false;
	if (readout->throttle_sent != throttled && node_send_to_readout(node, index, &throttle))
		readout->throttle_sent = throttled;
}

static void announce(struct cluster_node *node, uint64_t end, bool ended)
{
	const struct cluster_system_node *self = &node->cluster->nodes[node_self(node)];
	const uint16_t *ids = &node->cluster->source_ids[self->first_source];
	const struct ctrl_announce record = {
		.begin = node->cluster->shares_source ? node->assigned
			 : node->released < end       ? node->released
						      : end,
		.end = end,
		.run = node->run,
		.first_source = ids[0],
		.last_source = ids[self->n_sources - 1],
		.flags = ended ? CTRL_END_OF_RUN : 0,
	};
	uint8_t bytes[CTRL_ANNOUNCE_SIZE];

	node_latency_announced(node, node->announced, end);
	node->announced = end;
	node->announced_end = ended;
	node->announce_due = false;
	node_send_to_manager(node, bytes, ctrl_put_announce(bytes, sizeof(bytes), &record));
}

static void report_assigned(struct cluster_node *node)
{
	const struct ctrl_announce record = {
		.begin = node->assigned_end,
		.end = node->assigned_end,
		.run = node->run,
		.flags = CTRL_ASSIGNED,
	};
	uint8_t bytes[CTRL_ANNOUNCE_SIZE];

	node_send_to_manager(node, bytes, ctrl_put_announce(bytes, sizeof(bytes), &record));
}

void node_readouts_assigned(struct cluster_node *node, const struct ctrl_record *record)
{
	struct ctrl_announce received;
	struct message message = { .kind = MESSAGE_ASSIGN };

	if (ctrl_get_announce(record, &received) != WIRE_OK || !node->cluster->shares_source ||
	    node->n_readouts == 0 || !node_is_in_run(node, received.run) ||
	    (received.flags & CTRL_ASSIGNED) == 0)
		return;
	message.event = received.begin;
	message.bytes = received.end - received.begin;
	node_latency_assigned(node, node->assigned, received.begin, received.end);
	node->assigned += message.bytes;
	node->assigned_end = received.end;
	node_orders_put(node, 0, &message);
}

void node_readouts_announce(struct cluster_node *node)
{
	if (node->n_readouts > 0 && node->cluster->shares_source)
		report_assigned(node);
	if (node->n_readouts > 0)
		announce(node, node->announced, node->announced_end);
}

// --- the barrier of the phases ---

void node_readouts_begin_session(struct cluster_node *node)
{
	node->session++;
	node->has_phase = false;
	for (unsigned i = 0; i < node->n_readouts; i++)
		node->readouts[i].has_phase = node->readouts[i].limit_due = false;
}

void node_readouts_phase(struct cluster_node *node, const struct ctrl_record *record)
{
	struct ctrl_phase received;

	if (ctrl_get_phase(record, &received) != WIRE_OK || !node_is_in_run(node, received.run))
		return;
	// On the manager's node this may be the report of this node. Managers of earlier versions
	// send no flag.
	if ((received.flags & CTRL_OF_ALL) == 0 && node->manager == node_self(node))
		return;
	node->limit = received.phase;
	for (unsigned i = 0; i < node->n_readouts; i++)
		node->readouts[i].limit_due = true;
}

// Reports the phases that all readouts of this node have finished.
static void report_phase(struct cluster_node *node)
{
	struct ctrl_phase record = { .run = node->run, .phase = node->readouts[0].phase };
	uint8_t bytes[CTRL_PHASE_SIZE];

	for (unsigned i = 0; i < node->n_readouts; i++) {
		if (!node->readouts[i].has_phase)
			return;
		if ((int32_t)(node->readouts[i].phase - record.phase) < 0)
			record.phase = node->readouts[i].phase;
	}
	if (!node->registered || (node->has_phase && node->phase == record.phase))
		return;
	node->has_phase = true;
	node->phase = record.phase;
	node_send_to_manager(node, bytes, ctrl_put_phase(bytes, sizeof(bytes), &record));
}

void node_readouts_poll(struct cluster_node *node)
{
	uint64_t end = UINT64_MAX;
	bool ended = true;

	if (node->n_readouts == 0)
		return;
	for (unsigned i = 0; i < node->n_readouts; i++) {
		update_readout(node, i);
		if (node->readouts[i].announced < end)
			end = node->readouts[i].announced;
		ended &= node->readouts[i].ended;
	}
	if (node->registered && node->run != 0 &&
	    (node->announce_due || end != node->announced || ended != node->announced_end))
		announce(node, end, ended);
	report_phase(node);
}
