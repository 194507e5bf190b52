// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cluster/node_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void node_send_to_manager(struct cluster_node *node, const void *record, size_t size)
{
	const struct cluster_transport *transport = &node->parameters.transport;

	transport->send(transport->context, node->cluster->manager, record, size);
}

static void send_released(struct cluster_node *node)
{
	const struct ctrl_release record = { .event = node->released, .run = node->run };
	uint8_t bytes[CTRL_RELEASE_SIZE];

	node_send_to_manager(node, bytes, ctrl_put_release(bytes, sizeof(bytes), &record));
}

void node_send_register(struct cluster_node *node)
{
	const struct cluster_system_node *self = &node->cluster->nodes[node_self(node)];
	struct ctrl_register record = {
		.config_hash = node->cluster->hash,
		.run = node->run,
		.known_from = node->known_from,
		.flags = (node->operator_excluded ? CTRL_EXCLUDED : 0) |
			 (node->parameters.resumes ? CTRL_RESUMES : 0),
		.n_builders = (uint16_t)self->n_builders,
		.n_sources = (uint16_t)self->n_sources,
	};
	uint8_t bytes[CTRL_REGISTER_SIZE];

	if (node->leaving)
		return;
	if (self->n_sources > 0)
		record.roles |= CTRL_ROLE_SOURCE;
	if (self->n_builders > 0)
		record.roles |= CTRL_ROLE_BUILDER;
	if (self->manager)
		record.roles |= CTRL_ROLE_MANAGER;
	snprintf(record.name, sizeof(record.name), "%.*s", (int)sizeof(record.name) - 1,
		 self->name);
	node->registered = false;
	node->registering = true;
	// The manager reports anew which sources do not take part.
	for (unsigned rank = 0; rank < node->readouts_of_all.n; rank++)
		node_builders_set_source(node, rank, 0);
	node_send_to_manager(node, bytes, ctrl_put_register(bytes, sizeof(bytes), &record));
	if (node->run == 0)
		return;
	send_released(node);
	node_readouts_announce(node);
	node_send_state(node, NULL);
}

struct cluster_node *cluster_node_create(const struct cluster_node_parameters *parameters)
{
	struct cluster_node *node = calloc(1, sizeof(*node));

	if (node == NULL)
		return NULL;
	node->parameters = *parameters;
	node->cluster = parameters->cluster.system;
	node->n_builders = node->cluster->nodes[node_self(node)].n_builders;
	node->n_readouts = parameters->n_readouts;
	node->state = CTRL_CONFIGURED;
	cluster_readouts_make(&node->readouts_of_all, node->cluster);
	// No readout is connected yet: CONTROL_CONNECTED reports each one.
	for (unsigned rank = 0; rank < node->readouts_of_all.n; rank++)
		if (node->readouts_of_all.nodes[rank] != node_self(node))
			node->lost[rank / 64] |= UINT64_C(1) << rank % 64;
	if (!node_builders_make(node) || !node_readouts_make(node)) {
		cluster_node_destroy(node);
		return NULL;
	}
	return node;
}

void cluster_node_destroy(struct cluster_node *node)
{
	if (node == NULL)
		return;
	node_builders_free(node);
	node_readouts_free(node);
	free(node);
}

static void take_welcome(struct cluster_node *node, const struct ctrl_record *record)
{
	struct ctrl_welcome welcome;

	if (ctrl_get_welcome(record, &welcome) != WIRE_OK)
		return;
	node->registering = false;
	if (welcome.verdict == CTRL_REFUSED_NOT_NOW) {
		node->excluded = node->operator_excluded = true;
		return; // the manager sends INCLUDE later
	}
	if (welcome.verdict != CTRL_ACCEPTED) {
		snprintf(node->why, sizeof(node->why), "the event manager refuses this node: %s",
			 welcome.text);
		node->ended = true;
		return;
	}
	node->report_due = true;
	node->welcomed_run = welcome.run;
	if (node->leaving)
		return;
	node->registered = true;
	node->excluded = false;
	if (node->state == CTRL_CONFIGURED)
		node->state = CTRL_READY;
	node->announce_due = node->n_readouts > 0;
}

// The manager tells the run only to nodes with its configuration, so that a record of this node's
// run is also one of its configuration.
static bool is_in_run(struct cluster_node *node, uint32_t run)
{
	const bool is_in = node_is_in_run(node, run);

	node->view.other_run += !is_in;
	return is_in;
}

static void take_release(struct cluster_node *node, const struct ctrl_record *record)
{
	struct ctrl_release release;

	if (ctrl_get_release(record, &release) != WIRE_OK || !is_in_run(node, release.run) ||
	    release.event <= node->released)
		return;
	node->released = release.event;
	node_builders_released(node);
}

static void take_grant(struct cluster_node *node, const struct ctrl_record *record)
{
	struct ctrl_grant grant;

	if (ctrl_get_grant(record, &grant) != WIRE_OK || !is_in_run(node, grant.run))
		return;
	if (grant.node == node_self(node))
		node_builders_grant(node, &grant);
	if (node->n_readouts > 0 && node->parameters.cluster.mode == SCHED_PUSH)
		node_readouts_send(node, &grant, false);
}

static void take_progress(struct cluster_node *node, unsigned from,
			  const struct ctrl_progress *progress)
{
	if (progress->step != CTRL_STEP_UNPUBLISHED)
		node_builders_progress(node, from, progress);
	else if (from == node->cluster->manager)
		node_readouts_unpublished(node, progress);
}

static void take_heartbeat(struct cluster_node *node, const struct ctrl_record *record)
{
	struct ctrl_heartbeat heartbeat;

	if (ctrl_get_heartbeat(record, &heartbeat) == WIRE_OK &&
	    node->parameters.cluster.waits_for_sources)
		node->waits = heartbeat.waits;
}

void cluster_node_record(struct cluster_node *node, unsigned from, const struct ctrl_record *record,
			 uint64_t now)
{
	struct ctrl_throttle throttle;
	struct ctrl_progress progress;
	struct ctrl_request request;
	struct ctrl_offer offer;

	(void)now;
	if (record->type == CTRL_PROGRESS) {
		if (ctrl_get_progress(record, &progress) == WIRE_OK &&
		    is_in_run(node, progress.run))
			take_progress(node, from, &progress);
		return;
	}
	if (record->type == CTRL_OFFER) {
		if (ctrl_get_offer(record, &offer) == WIRE_OK && is_in_run(node, offer.run))
			node_builders_offer(node, from, &offer);
		return;
	}
	if (record->type == CTRL_REQUEST) {
		if (ctrl_get_request(record, &request) == WIRE_OK &&
		    is_in_run(node, request.grant.run))
			node_readouts_send(node, &request.grant, true);
		return;
	}
	if (node_command(node, from, record) || from != node->cluster->manager)
		return;
	switch (record->type) {
	case CTRL_WELCOME:
		take_welcome(node, record);
		break;
	case CTRL_GRANT:
		take_grant(node, record);
		break;
	case CTRL_RELEASE:
		take_release(node, record);
		break;
	case CTRL_ANNOUNCE:
		node_readouts_assigned(node, record);
		break;
	case CTRL_HEARTBEAT:
		take_heartbeat(node, record);
		break;
	case CTRL_THROTTLE:
		if (ctrl_get_throttle(record, &throttle) == WIRE_OK &&
		    is_in_run(node, throttle.run)) {
			node->throttled = throttle.share == 0;
			node->view.throttled += node->throttled;
		}
		break;
	default:
		break;
	}
}

void cluster_node_event(struct cluster_node *node, unsigned peer, enum control_event event)
{
	unsigned rank =
	    peer < node->cluster->n_nodes ? node->readouts_of_all.of_node[peer] : CLUSTER_NONE;

	if (rank != CLUSTER_NONE) {
		uint64_t bit = UINT64_C(1) << rank % 64;

		if (event == CONTROL_LOST)
			node->lost[rank / 64] |= bit;
		else if (event != CONTROL_EPOCH && event != CONTROL_OCCUPIED)
			node->lost[rank / 64] &= ~bit;
		if (event == CONTROL_CONNECTED || event == CONTROL_RESTARTED ||
		    event == CONTROL_BACK)
			node_builders_request_again(node, rank);
	}
	if (peer != node->cluster->manager)
		return;
	// Nobody else knows whether all sources take part.
	if (event == CONTROL_LOST || event == CONTROL_RESTARTED)
		node->waits |= node->parameters.cluster.waits_for_sources;
	// A restarted manager knows nothing: it gets all reports again.
	if (event == CONTROL_CONNECTED || event == CONTROL_RESTARTED)
		node_send_register(node);
}

// Sends BYE once no event is about to be published, and after the report that a manager which has
// just accepted this node waits for.
static void send_bye(struct cluster_node *node)
{
	const struct ctrl_bye bye = { .reason = CTRL_BYE_END, .text = "stopped" };
	uint8_t bytes[CTRL_BYE_SIZE];

	if (node->left || node->registering || node_builders_are_settled(node))
		return;
	if (node->report_due)
		node_builders_report(node);
	node->left = true;
	node_send_to_manager(node, bytes, ctrl_put_bye(bytes, sizeof(bytes), &bye));
}

void cluster_node_poll(struct cluster_node *node, uint64_t now)
{
	(void)now;
	node_readouts_poll(node);
	node_builders_await(node);
	node_builders_send_sources(node);
	if (node->leaving)
		send_bye(node);
	else if (node->registered)
		node_builders_poll(node);
}

void cluster_node_leave(struct cluster_node *node)
{
	if (node->leaving)
		return;
	node->leaving = true;
	node->registered = false;
	node_builders_withdraw(node);
	send_bye(node);
}

bool cluster_node_left(const struct cluster_node *node)
{
	return node->left;
}

bool cluster_node_ended(const struct cluster_node *node, const char **why)
{
	if (why != NULL)
		*why = node->why[0] != '\0' ? node->why : NULL;
	return node->ended;
}

void cluster_node_view(const struct cluster_node *node, struct cluster_node_view *view)
{
	*view = node->view;
	view->state = node->state;
	view->run = node->run;
	view->registered = node->registered;
	view->excluded = node->excluded;
	view->announced = node->announced;
	view->released = node->released;
	view->tokens_free = view->tokens_used = 0;
	for (unsigned i = 0; i < node->n_builders; i++) {
		view->tokens_free += node->builders[i].tokens.n_free;
		view->tokens_used += node->builders[i].tokens.n - node->builders[i].tokens.n_free;
	}
}

struct ctrl_heartbeat cluster_node_heartbeat(const struct cluster_node *node)
{
	struct cluster_node_view view;
	struct ctrl_heartbeat heartbeat;

	cluster_node_view(node, &view);
	heartbeat = (struct ctrl_heartbeat){
		.run = view.run,
		.run_state = (uint8_t)view.state,
		.slots_free = view.tokens_free,
		.events_open = view.tokens_used,
	};
	for (unsigned i = 0; i < node->n_builders; i++)
		heartbeat.events_open += node->builders[i].is_open;
	for (unsigned i = 0; i < node->n_readouts; i++)
		heartbeat.events_waiting += node->readouts[i].unsent;
	return heartbeat;
}
