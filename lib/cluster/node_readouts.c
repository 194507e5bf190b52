// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The readouts' side of a node: what they have is announced, what is granted or asked for is sent.
#include "cluster/node_internal.h"

#include <stdlib.h>

bool node_readouts_make(struct cluster_node *node)
{
	node->readouts = calloc(node->n_readouts + 1, sizeof(*node->readouts));
	node->sendings_size = 1024;
	node->sendings = calloc(node->sendings_size, sizeof(*node->sendings));
	return node->readouts != NULL && node->sendings != NULL;
}

void node_readouts_free(struct cluster_node *node)
{
	free(node->readouts);
	free(node->sendings);
}

static bool note_sending(struct cluster_node *node, const struct ctrl_grant *grant,
			 unsigned builder)
{
	if (node->n_sendings == node->sendings_size)
		return false;
	node->sendings[node->n_sendings++] = (struct sending){
		.event = grant->event,
		.builder = (uint16_t)builder,
		.attempt = grant->attempt,
		.left = (uint16_t)node->n_readouts,
	};
	return true;
}

void node_readouts_send(struct cluster_node *node, const struct ctrl_grant *grant, bool requested)
{
	const struct config_cluster *cluster = node->cluster;
	struct note note = {
		.kind = NOTE_SEND,
		.event = grant->event,
		.bytes = (uint64_t)grant->rate_mbps * 125000u,
		.round = grant->round,
		.run = grant->run,
		.attempt = grant->attempt,
		.position = grant->position,
		.n_positions = grant->n_positions,
		.flags = requested ? NOTE_REQUESTED : 0,
	};

	if (grant->node >= cluster->n_nodes ||
	    grant->builder >= cluster->nodes[grant->node].n_builders) {
		node->view.unknown++;
		return;
	}
	note.builder = (uint16_t)(cluster->nodes[grant->node].first_builder + grant->builder);
	if (requested && !note_sending(node, grant, note.builder)) {
		node->view.unknown++;
		return;
	}
	node->view.sends++;
	for (unsigned i = 0; i < node->n_readouts; i++)
		if (!node->parameters.to_readout(node->parameters.context, i, &note))
			node->view.unknown++;
}

// All local readouts have sent an event that a builder asked for.
static void say_sent(struct cluster_node *node, const struct sending *sending)
{
	const struct config_cluster_builder *builder = &node->cluster->builders[sending->builder];
	const struct ctrl_progress progress = {
		.step = CTRL_STEP_SENT,
		.event = sending->event,
		.builder = (uint16_t)builder->index,
		.attempt = sending->attempt,
		.run = node->run,
	};
	const struct cluster_post *post = &node->parameters.post;
	uint8_t bytes[CTRL_PROGRESS_SIZE];

	post->send(post->context, builder->node, bytes,
		   ctrl_put_progress(bytes, sizeof(bytes), &progress));
}

static void take_sent(struct cluster_node *node, const struct note *note)
{
	for (unsigned i = 0; i < node->n_sendings; i++) {
		struct sending *sending = &node->sendings[i];

		if (sending->event != note->event || sending->builder != note->builder ||
		    sending->attempt != note->attempt)
			continue;
		if (--sending->left > 0)
			return;
		say_sent(node, sending);
		*sending = node->sendings[--node->n_sendings];
		return;
	}
}

void cluster_node_readout_note(struct cluster_node *node, unsigned readout, const struct note *note)
{
	struct node_readout *at = &node->readouts[readout];

	if (note->kind == NOTE_SENT)
		take_sent(node, note);
	if (note->kind != NOTE_ANNOUNCE || note->run != node->run)
		return;
	at->announced = note->event;
	at->ended = (note->flags & NOTE_LAST) != 0;
}

void node_readouts_run(struct cluster_node *node)
{
	for (unsigned i = 0; i < node->n_readouts; i++) {
		struct node_readout *readout = &node->readouts[i];

		readout->told_run = false;
		if (node->state == CTRL_RUNNING && readout->announced < node->announced) {
			readout->announced = node->announced;
			readout->ended = false;
		}
	}
	if (node->state == CTRL_STOPPED)
		node->n_sendings = 0;
}

static void tell_readout(struct cluster_node *node, unsigned index)
{
	struct node_readout *readout = &node->readouts[index];
	struct note run = { .kind = NOTE_RUN,
			    .state = (uint16_t)node->state,
			    .run = node->run,
			    .event = node->run_event };
	struct note release = { .kind = NOTE_RELEASE, .event = node->released };
	struct note throttle = { .kind = NOTE_THROTTLE, .state = node->throttled };
	void *context = node->parameters.context;

	if (!readout->told_run)
		readout->told_run = node->parameters.to_readout(context, index, &run);
	if (readout->told_release != node->released &&
	    node->parameters.to_readout(context, index, &release))
		readout->told_release = node->released;
	if (readout->told_throttle != node->throttled &&
	    node->parameters.to_readout(context, index, &throttle))
		readout->told_throttle = node->throttled;
}

static void announce(struct cluster_node *node, uint64_t end, bool ended)
{
	const struct config_cluster_node *self = &node->cluster->nodes[node_self(node)];
	const uint16_t *ids = &node->cluster->source_ids[self->first_source];
	const struct ctrl_announce record = {
		.begin = node->released < end ? node->released : end,
		.end = end,
		.run = node->run,
		.first_source = ids[0],
		.last_source = ids[self->n_sources - 1],
		.flags = ended ? CTRL_END_OF_RUN : 0,
	};
	uint8_t bytes[CTRL_ANNOUNCE_SIZE];

	node->announced = end;
	node->announced_end = ended;
	node->announce_due = false;
	node_tell_manager(node, bytes, ctrl_put_announce(bytes, sizeof(bytes), &record));
}

void node_readouts_announce(struct cluster_node *node)
{
	if (node->n_readouts > 0)
		announce(node, node->announced, node->announced_end);
}

void node_readouts_poll(struct cluster_node *node)
{
	uint64_t end = UINT64_MAX;
	bool ended = true;

	if (node->n_readouts == 0)
		return;
	for (unsigned i = 0; i < node->n_readouts; i++) {
		tell_readout(node, i);
		if (node->readouts[i].announced < end)
			end = node->readouts[i].announced;
		ended &= node->readouts[i].ended;
	}
	if (node->registered && node->run != 0 &&
	    (node->announce_due || end > node->announced || ended != node->announced_end))
		announce(node, end, ended);
}
