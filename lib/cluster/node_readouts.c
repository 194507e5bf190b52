// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The readouts of a node: their events are announced, and they get orders to send the data of
// granted or requested events.
#include "cluster/node_internal.h"

#include <stdlib.h>

bool node_readouts_make(struct cluster_node *node)
{
	node->readouts = calloc(node->n_readouts + 1, sizeof(*node->readouts));
	// Room for all unfinished events, each granted or requested twice.
	node->sends_size = 2 * cluster_unfinished(node->parameters.cluster.source_buffer);
	node->sendings = calloc(node->sends_size, sizeof(*node->sendings));
	if (node->readouts == NULL || node->sendings == NULL)
		return false;
	for (unsigned i = 0; i < node->n_readouts; i++) {
		struct node_readout *readout = &node->readouts[i];

		readout->sends = calloc(node->sends_size, sizeof(*readout->sends));
		if (readout->sends == NULL)
			return false;
	}
	return true;
}

void node_readouts_free(struct cluster_node *node)
{
	for (unsigned i = 0; node->readouts != NULL && i < node->n_readouts; i++)
		free(node->readouts[i].sends);
	free(node->readouts);
	free(node->sendings);
}

// --- sending ---

static bool add_sending(struct cluster_node *node, const struct ctrl_grant *grant, unsigned builder)
{
	if (node->n_sendings == node->sends_size)
		return false;
	node->sendings[node->n_sendings++] = (struct sending){
		.event = grant->event,
		.run = grant->run,
		.builder = (uint16_t)builder,
		.attempt = grant->attempt,
		.left = (uint16_t)node->n_readouts,
	};
	return true;
}

static bool send_to_readout(const struct cluster_node *node, unsigned readout,
			    const struct message *message)
{
	return node->parameters.to_readout(node->parameters.context, readout, message);
}

static void flush_sends(struct cluster_node *node, unsigned index)
{
	struct node_readout *readout = &node->readouts[index];

	while (readout->n_sends > 0 &&
	       send_to_readout(node, index, &readout->sends[readout->sends_head])) {
		readout->sends_head = (readout->sends_head + 1) % node->sends_size;
		readout->n_sends--;
	}
}

// Sends an order to a readout; if the mailbox is full, the order waits. Orders stay in sequence.
static void put_send(struct cluster_node *node, unsigned index, const struct message *message)
{
	struct node_readout *readout = &node->readouts[index];

	if (readout->n_sends == 0 && send_to_readout(node, index, message))
		return;
	if (readout->n_sends == node->sends_size) {
		node->view.unknown++;
		return;
	}
	readout->sends[(readout->sends_head + readout->n_sends++) % node->sends_size] = *message;
}

void node_readouts_send(struct cluster_node *node, const struct ctrl_grant *grant, bool requested)
{
	const struct cluster_system *cluster = node->cluster;
	struct message message = {
		.kind = MESSAGE_SEND,
		.event = grant->event,
		.bytes = (uint64_t)grant->rate_kbps * 125u,
		.round = grant->round,
		.run = grant->run,
		.attempt = grant->attempt,
		.position = grant->position,
		.n_positions = grant->n_positions,
		.flags = requested                            ? MESSAGE_REQUESTED
			 : (grant->flags & CTRL_BARRIER) != 0 ? MESSAGE_BARRIER
							      : 0,
		.state = node->session,
	};

	if ((grant->flags & CTRL_PLACED) != 0) {
		message.address = grant->address;
		message.size = grant->size < UINT32_MAX ? (uint32_t)grant->size : UINT32_MAX;
		message.rkey = grant->rkey;
	}
	if (grant->node >= cluster->n_nodes ||
	    grant->builder >= cluster->nodes[grant->node].n_builders) {
		node->view.unknown++;
		return;
	}
	message.builder = (uint16_t)(cluster->nodes[grant->node].first_builder + grant->builder);
	if (requested && !add_sending(node, grant, message.builder)) {
		node->view.unknown++;
		return;
	}
	node->view.sends++;
	node_latency_ordered(node, grant->event);
	for (unsigned i = 0; i < node->n_readouts; i++)
		put_send(node, i, &message);
}

void node_readouts_unpublished(struct cluster_node *node, const struct ctrl_progress *progress)
{
	const struct message message = {
		.kind = MESSAGE_UNPUBLISHED,
		.event = progress->event,
		.flags = (progress->flags & CTRL_REPEATED) != 0 ? MESSAGE_REPEATED : 0,
	};

	for (unsigned i = 0; i < node->n_readouts; i++)
		put_send(node, i, &message);
}

// All readouts of this node have sent an event that a builder requested.
static void send_sent(struct cluster_node *node, const struct sending *sending)
{
	const struct cluster_system_builder *builder = &node->cluster->builders[sending->builder];
	const struct ctrl_progress progress = {
		.step = CTRL_STEP_SENT,
		.event = sending->event,
		.builder = (uint16_t)builder->index,
		.attempt = sending->attempt,
		.run = sending->run,
	};
	const struct cluster_transport *transport = &node->parameters.transport;
	uint8_t bytes[CTRL_PROGRESS_SIZE];

	transport->send(transport->context, builder->node, bytes,
			ctrl_put_progress(bytes, sizeof(bytes), &progress));
}

static void take_sent(struct cluster_node *node, const struct message *message)
{
	for (unsigned i = 0; i < node->n_sendings; i++) {
		struct sending *sending = &node->sendings[i];

		if (sending->event != message->event || sending->builder != message->builder ||
		    sending->attempt != message->attempt)
			continue;
		if (--sending->left > 0)
			return;
		send_sent(node, sending);
		*sending = node->sendings[--node->n_sendings];
		return;
	}
}

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
	const struct cluster_transport *transport = &node->parameters.transport;
	uint8_t bytes[CTRL_OFFER_SIZE(1)];

	transport->send(transport->context, builder->node, bytes,
			ctrl_put_offer(bytes, sizeof(bytes), &offer, &block));
}

void cluster_node_readout_message(struct cluster_node *node, unsigned readout,
				  const struct message *message, uint64_t now)
{
	struct node_readout *at = &node->readouts[readout];

	node->now = now;
	if (message->kind == MESSAGE_SENT)
		take_sent(node, message);
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
	for (unsigned i = 0; i < node->n_readouts; i++) {
		node->readouts[i].run_sent = false;
		if (node->state == CTRL_STOPPED)
			node->readouts[i].n_sends = 0;
	}
	if (node->state == CTRL_STOPPED)
		node->n_sendings = 0;
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
		readout->start_sent = send_to_readout(node, index, &message);
	if (readout->run_sent || !readout->start_sent)
		return;
	message.state = (uint16_t)node->state;
	if (node->state == CTRL_DRAINING)
		message.event = node->end_event;
	readout->run_sent = send_to_readout(node, index, &message);
}

static void update_readout(struct cluster_node *node, unsigned index)
{
	struct node_readout *readout = &node->readouts[index];
	struct message limit = { .kind = MESSAGE_PHASE,
				 .event = node->limit,
				 .state = node->session };
	struct message release = { .kind = MESSAGE_RELEASE, .event = node->released };
	struct message throttle = { .kind = MESSAGE_THROTTLE, .state = node->throttled };

	send_run(node, index);
	flush_sends(node, index);
	// What became of the events comes before their release.
	if (readout->n_sends > 0 && node->cluster->nodes[node_self(node)].sends_built)
		return;
	if (readout->release_sent != node->released && send_to_readout(node, index, &release))
		readout->release_sent = node->released;
	if (readout->limit_due && send_to_readout(node, index, &limit))
		readout->limit_due = false;
	if (readout->throttle_sent != node->throttled && send_to_readout(node, index, &throttle))
		readout->throttle_sent = node->throttled;
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
	    node->n_readouts == 0 || !node_is_in_run(node, received.run))
		return;
	message.event = received.begin;
	message.bytes = received.end - received.begin;
	node_latency_assigned(node, node->assigned, received.begin, received.end);
	node->assigned += message.bytes;
	node->assigned_end = received.end;
	put_send(node, 0, &message);
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
