// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The orders to the readouts of a node: to send the data of granted or requested events. An order
// waits while the readout's mailbox is full, and until the readout has announced the event. When
// all readouts have sent what a builder requested, the builder gets PROGRESS (SENT).
#include "cluster/node_internal.h"

#include <stdlib.h>

bool node_orders_make(struct cluster_node *node)
{
	// Room for all unfinished events, each granted or requested twice.
	node->sends_size = 2 * cluster_unfinished(node->parameters.cluster.source_buffer);
	node->sendings = calloc(node->sends_size, sizeof(*node->sendings));
	if (node->sendings == NULL)
		return false;
	for (unsigned i = 0; i < node->n_readouts; i++) {
		struct node_readout *readout = &node->readouts[i];

		readout->sends = calloc(node->sends_size, sizeof(*readout->sends));
		readout->early = calloc(node->sends_size, sizeof(*readout->early));
		if (readout->sends == NULL || readout->early == NULL)
			return false;
	}
	return true;
}

void node_orders_free(struct cluster_node *node)
{
	for (unsigned i = 0; node->readouts != NULL && i < node->n_readouts; i++) {
		free(node->readouts[i].sends);
		free(node->readouts[i].early);
	}
	free(node->sendings);
}

void node_orders_drop(struct cluster_node *node)
{
	for (unsigned i = 0; i < node->n_readouts; i++)
		node->readouts[i].n_sends = node->readouts[i].n_early = 0;
	node->n_sendings = 0;
}

static void flush_sends(struct cluster_node *node, unsigned index)
{
	struct node_readout *readout = &node->readouts[index];

	while (readout->n_sends > 0 &&
	       node_send_to_readout(node, index, &readout->sends[readout->sends_head])) {
		readout->sends_head = (readout->sends_head + 1) % node->sends_size;
		readout->n_sends--;
	}
}

void node_orders_put(struct cluster_node *node, unsigned index, const struct message *message)
{
	struct node_readout *readout = &node->readouts[index];

	if (readout->n_sends == 0 && node_send_to_readout(node, index, message))
		return;
	if (readout->n_sends == node->sends_size) {
		node->view.unknown++;
		return;
	}
	readout->sends[(readout->sends_head + readout->n_sends++) % node->sends_size] = *message;
}

// --- orders for events that are not announced yet ---

// A node that was silent gets orders for events that the others had meanwhile. Its readouts
// announce these events next; before that, they would take an event for one that they never had.
// What an earlier process announced, a readout that resumes can send before it announces it again.
static bool is_early(const struct cluster_node *node, const struct node_readout *readout,
		     uint64_t event)
{
	const uint64_t inherited = node->parameters.resumes
				       ? node->start_event + node->parameters.cluster.source_buffer
				       : 0;

	return event >= readout->announced && event >= node->released && event >= inherited &&
	       !readout->ended && !node->cluster->shares_source;
}

// False if there is no room.
static bool put_early(const struct cluster_node *node, struct node_readout *readout,
		      const struct message *message)
{
	if (readout->n_early == node->sends_size)
		return false;
	if (readout->n_early == 0 || message->event < readout->early_first)
		readout->early_first = message->event;
	readout->early[readout->n_early++] = *message;
	return true;
}

// An order that waits misses its place in the round, and is given as one that is repeated.
static bool hold_back(const struct cluster_node *node, struct node_readout *readout,
		      struct message message)
{
	message.round = 0;
	message.position = 0;
	message.n_positions = 1;
	message.flags &= (uint16_t)~MESSAGE_BARRIER;
	return put_early(node, readout, &message);
}

// Without room for more orders that wait, the readout gets the order at once.
static void order(struct cluster_node *node, unsigned index, const struct message *message)
{
	struct node_readout *readout = &node->readouts[index];

	if (!is_early(node, readout, message->event) || !hold_back(node, readout, *message))
		node_orders_put(node, index, message);
}

// Gives the orders for events that are announced now, or that the readout will not have.
static void flush_early(struct cluster_node *node, unsigned index)
{
	struct node_readout *readout = &node->readouts[index];
	const unsigned n = readout->n_early;

	if (n == 0 || is_early(node, readout, readout->early_first))
		return;
	readout->n_early = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct message message = readout->early[i];

		if (is_early(node, readout, message.event))
			(void)put_early(node, readout, &message); // in the place of one before
		else
			node_orders_put(node, index, &message);
	}
}

void node_orders_flush(struct cluster_node *node, unsigned readout)
{
	flush_early(node, readout);
	flush_sends(node, readout);
}

// --- orders of the manager and of builders ---

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

void node_orders_send(struct cluster_node *node, const struct ctrl_grant *grant, bool requested)
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
		order(node, i, &message);
}

void node_orders_unpublished(struct cluster_node *node, const struct ctrl_progress *progress)
{
	const struct message message = {
		.kind = MESSAGE_UNPUBLISHED,
		.event = progress->event,
		.flags = (progress->flags & CTRL_REPEATED) != 0 ? MESSAGE_REPEATED : 0,
	};

	for (unsigned i = 0; i < node->n_readouts; i++)
		node_orders_put(node, i, &message);
}

// --- requested events that are sent ---

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
	uint8_t bytes[CTRL_PROGRESS_SIZE];

	cluster_send(&node->parameters.transport, builder->node, bytes,
		     ctrl_put_progress(bytes, sizeof(bytes), &progress));
}

void node_orders_sent(struct cluster_node *node, const struct message *message)
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
