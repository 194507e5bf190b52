// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cluster/node_internal.h"

#include <stdio.h>
#include <stdlib.h>

#define PERMIT_MARGIN 16u // part of the heartbeat timeout

void node_send_to_manager(struct cluster_node *node, const void *record, size_t size)
{
	node_reports_flush(node); // records stay in order
	node_send_now(node, record, size);
}

void node_send_now(struct cluster_node *node, const void *record, size_t size)
{
	if (node->manager != CLUSTER_NONE)
		cluster_send(&node->parameters.transport, node->manager, record, size);
}

static void send_released(struct cluster_node *node)
{
	const struct ctrl_release record = { .event = node->released, .run = node->run };
	uint8_t bytes[CTRL_RELEASE_SIZE];

	node_send_to_manager(node, bytes, ctrl_put_release(bytes, sizeof(bytes), &record));
}

static bool serves_several_runs(const struct cluster_node *node)
{
	return node->parameters.cluster.prepared_run != 0;
}

void node_send_register(struct cluster_node *node)
{
	const struct cluster_system_node *self = &node->cluster->nodes[node_self(node)];
	struct ctrl_register record = {
		.config_hash = node->cluster->hash,
		.run = node->run,
		.known_from = node->known_from,
		.flags = (node->operator_excluded ? CTRL_EXCLUDED : 0) |
			 (node->parameters.resumes ? CTRL_RESUMES : 0) |
			 (node->parameters.takes_shared ? CTRL_MULTICAST : 0) | CTRL_LISTS |
			 CTRL_OBEYS_PERMISSION,
		.n_builders = (uint16_t)self->n_builders,
		.n_sources = (uint16_t)self->n_sources,
	};
	uint8_t bytes[CTRL_REGISTER_SIZE];

	if (node->leaving || (serves_several_runs(node) && node->ended))
		return;
	if (serves_several_runs(node) && node->run == 0) {
		record.run = node->parameters.cluster.prepared_run;
		record.flags |= CTRL_PREPARED;
	}
	if (self->n_sources > 0)
		record.roles |= CTRL_ROLE_SOURCE;
	if (self->n_builders > 0)
		record.roles |= CTRL_ROLE_BUILDER;
	if (self->manager)
		record.roles |= CTRL_ROLE_MANAGER;
	snprintf(record.name, sizeof(record.name), "%.*s", (int)sizeof(record.name) - 1,
		 self->name);
	node->registered = node->manager_takes_lists = false;
	node_readouts_begin_session(node);
	node->registering = true;
	node_builders_end_permissions(node);
	// The manager will report again which sources do not take part.
	for (unsigned rank = 0; rank < node->readouts_of_all.n; rank++)
		node_builders_set_source(node, rank, 0);
	node_send_to_manager(node, bytes, ctrl_put_register(bytes, sizeof(bytes), &record));
	if (node->run == 0)
		return;
	send_released(node);
	node_readouts_announce(node);
	node_send_state(node, NULL);
}

static bool make_readouts_of_all(struct cluster_node *node)
{
	const struct cluster_readouts *readouts = &node->readouts_of_all;

	if (!cluster_readouts_make(&node->readouts_of_all, node->cluster))
		return false;
	node->words = tokens_words(readouts->n);
	node->source_from = calloc(readouts->n + 1, sizeof(*node->source_from));
	node->lost = calloc(node->words, sizeof(*node->lost));
	if (node->source_from == NULL || node->lost == NULL)
		return false;
	// No readout is connected yet: CONTROL_CONNECTED reports each one.
	for (unsigned rank = 0; rank < readouts->n; rank++)
		if (readouts->nodes[rank] != node_self(node))
			node->lost[rank / 64] |= UINT64_C(1) << rank % 64;
	return true;
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
	node->operator_excluded = parameters->excluded;
	cluster_positions_make(node->positions, node->cluster);
	node_vote_make(node);
	if (!make_readouts_of_all(node) || !node_builders_make(node) || !node_readouts_make(node) ||
	    !node_latency_make(node)) {
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
	node_latency_free(node);
	cluster_readouts_free(&node->readouts_of_all);
	free(node->source_from);
	free(node->lost);
	free(node);
}

static void take_welcome(struct cluster_node *node, const struct ctrl_record *record)
{
	struct ctrl_welcome welcome;

	if (ctrl_get_welcome(record, &welcome) != WIRE_OK)
		return;
	node->registering = false;
	node->manager_takes_lists = (welcome.flags & CTRL_LISTS) != 0;
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

static void use_grant(struct cluster_node *node, const struct ctrl_grant *grant)
{
	if (grant->node == node_self(node))
		node_builders_grant(node, grant);
	if (node->n_readouts > 0 && node->parameters.cluster.mode == SCHED_PUSH)
		node_orders_send(node, grant, false);
}

static void take_grant(struct cluster_node *node, const struct ctrl_record *record)
{
	struct ctrl_grant grant;

	if (ctrl_get_grant(record, &grant) == WIRE_OK && is_in_run(node, grant.run))
		use_grant(node, &grant);
}

// Fills in the grant what an entry of GRANTS has. The rate is this node's share, or, for a builder
// of this node, that of all. False if there is no such builder.
static bool take_granted(const struct cluster_node *node, const struct ctrl_grants *list,
			 unsigned index, struct ctrl_grant *grant)
{
	const struct ctrl_granted at = ctrl_granted_at(list, index);
	const struct cluster_system_builder *builder;

	if (at.builder >= node->cluster->n_builders)
		return false;
	builder = &node->cluster->builders[at.builder];
	grant->event = list->first + (at.offset & (CTRL_NEXT_ROUND - 1u));
	grant->round += (at.offset & CTRL_NEXT_ROUND) != 0;
	grant->node = (uint16_t)builder->node;
	grant->builder = (uint16_t)builder->index;
	grant->slot = at.slot;
	grant->position = list->n_positions > 1 ? node->positions[at.builder] : 0;
	if (builder->node == node_self(node)) {
		grant->generation =
		    node_builders_generation(node, builder->index, at.slot, at.generation);
		grant->rate_kbps = list->rate_kbps;
	} else {
		grant->rate_kbps = cluster_share(&node->parameters.cluster, builder->node,
						 node_self(node), list->rate_kbps);
	}
	return true;
}

static void take_grants(struct cluster_node *node, const struct ctrl_record *record)
{
	struct ctrl_grants list;
	struct ctrl_grant grant;

	if (ctrl_get_grants(record, &list) != WIRE_OK || !is_in_run(node, list.run))
		return;
	grant = (struct ctrl_grant){
		.run = list.run,
		.round = list.round,
		.n_positions = list.n_positions,
		.attempt = list.attempt,
		.flags = list.flags & (CTRL_BARRIER | CTRL_PERMITTED),
	};
	for (unsigned i = 0; i < list.n; i++) {
		if (take_granted(node, &list, i, &grant))
			use_grant(node, &grant);
		else
			node->view.unknown++;
	}
}

static void take_steps(struct cluster_node *node, unsigned from, const struct ctrl_record *record)
{
	struct ctrl_steps list;

	// PUBLISHED is only for the manager, which may run on this node.
	if (ctrl_get_steps(record, &list) != WIRE_OK || !is_in_run(node, list.run) ||
	    list.step == CTRL_STEP_PUBLISHED)
		return;
	for (unsigned i = 0; i < list.n; i++) {
		const struct ctrl_progress progress = ctrl_progress_at(&list, i);

		node_builders_progress(node, from, &progress);
	}
}

static void take_progress(struct cluster_node *node, unsigned from,
			  const struct ctrl_progress *progress)
{
	if (progress->step != CTRL_STEP_UNPUBLISHED)
		node_builders_progress(node, from, progress);
	else if (from == node->manager)
		node_orders_unpublished(node, progress);
}

static void take_throttle(struct cluster_node *node, const struct ctrl_record *record)
{
	struct ctrl_throttle throttle;

	if (ctrl_get_throttle(record, &throttle) != WIRE_OK || !is_in_run(node, throttle.run))
		return;
	node->throttled = throttle.share == 0;
	node->view.throttled += node->throttled;
}

static void take_heartbeat(struct cluster_node *node, unsigned from,
			   const struct ctrl_record *record, uint64_t now)
{
	struct ctrl_heartbeat heartbeat;

	if (ctrl_get_heartbeat(record, &heartbeat) != WIRE_OK)
		return;
	if (heartbeat.has_lease)
		node_take_lease(node, from, &heartbeat.lease, now);
	if (from == node->manager && node->parameters.cluster.waits_for_sources)
		node->waits = heartbeat.waits;
}

void cluster_node_record(struct cluster_node *node, unsigned from, const struct ctrl_record *record,
			 uint64_t now)
{
	struct ctrl_progress progress;
	struct ctrl_request request;
	struct ctrl_offer offer;

	node->now = now;
	if (record->type == CTRL_HEARTBEAT) {
		take_heartbeat(node, from, record, now);
		return;
	}
	if (record->type == CTRL_PROGRESS) {
		if (ctrl_get_progress(record, &progress) == WIRE_OK &&
		    is_in_run(node, progress.run))
			take_progress(node, from, &progress);
		return;
	}
	if (record->type == CTRL_STEPS) {
		take_steps(node, from, record);
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
			node_orders_send(node, &request.grant, true);
		return;
	}
	if (node_command(node, from, record) || from != node->manager)
		return;
	switch (record->type) {
	case CTRL_WELCOME:
		take_welcome(node, record);
		break;
	case CTRL_GRANT:
		take_grant(node, record);
		break;
	case CTRL_GRANTS:
		take_grants(node, record);
		break;
	case CTRL_RELEASE:
		take_release(node, record);
		break;
	case CTRL_ANNOUNCE:
		node_readouts_assigned(node, record);
		break;
	case CTRL_PHASE:
		node_readouts_phase(node, record);
		break;
	case CTRL_THROTTLE:
		take_throttle(node, record);
		break;
	default:
		break;
	}
}

void cluster_node_event(struct cluster_node *node, unsigned peer, enum control_event event)
{
	unsigned rank =
	    peer < node->cluster->n_nodes ? node->readouts_of_all.of_node[peer] : CLUSTER_NONE;

	const bool is_lost = event == CONTROL_LOST || event == CONTROL_PROCESS_ENDED;

	if (rank != CLUSTER_NONE) {
		uint64_t bit = UINT64_C(1) << rank % 64;

		// The manager may have died before it could miss the source.
		if (is_lost) {
			node->lost[rank / 64] |= bit;
			node->waits |= node->parameters.cluster.waits_for_sources;
		} else if (event != CONTROL_EPOCH && event != CONTROL_OCCUPIED)
			node->lost[rank / 64] &= ~bit;
		if (event == CONTROL_CONNECTED || event == CONTROL_RESTARTED ||
		    event == CONTROL_BACK)
			node_builders_request_again(node, rank);
	}
	if (event == CONTROL_CONNECTED || event == CONTROL_RESTARTED)
		vote_session_began(&node->vote, peer);
	if (peer != node->manager)
		return;
	if (event != CONTROL_BACK)
		node_latency_forget_credits(node);
	// Nobody else knows whether all sources take part.
	if (is_lost || event == CONTROL_RESTARTED)
		node->waits |= node->parameters.cluster.waits_for_sources;
	// A restarted manager knows nothing: it gets all reports again.
	if (event == CONTROL_CONNECTED || event == CONTROL_RESTARTED) {
		node_reports_drop(node);
		node_send_register(node);
	}
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

// The manager reports this node as lost, and regards its permissions as ended, a heartbeat timeout
// after the last frame that it has received, at the earliest. Less a margin for the rates of the
// two clocks, as in election/election.h.
static uint64_t permit_until(const struct cluster_node *node)
{
	const struct control_endpoint *endpoint = node->parameters.transport.endpoint;
	const uint64_t lease = node->parameters.lease_ns;
	uint64_t reached;

	if (node->manager == CLUSTER_NONE)
		return 0;
	reached = endpoint != NULL ? control_reached(endpoint, node->manager) : UINT64_MAX;
	if (reached == 0 || reached == UINT64_MAX)
		return reached;
	return reached + lease - lease / PERMIT_MARGIN;
}

void cluster_node_poll(struct cluster_node *node, uint64_t now)
{
	node->now = now;
	node->permit_until = permit_until(node);
	node_latency_poll(node);
	node_readouts_poll(node);
	node_builders_await(node);
	node_builders_send_sources(node);
	if (node->leaving)
		send_bye(node);
	else if (node->registered)
		node_builders_poll(node);
	node_reports_flush(node);
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

uint32_t cluster_node_next_run(const struct cluster_node *node)
{
	if (node->renumbered != 0 || !serves_several_runs(node) || node->why[0] != '\0')
		return node->renumbered;
	return node->parameters.cluster.prepared_run + 1;
}

bool cluster_node_accepts_data(const struct cluster_node *node)
{
	return node->accepts_data;
}

void cluster_node_opened(struct cluster_node *node)
{
	const struct ctrl_run_command command = { .request = node->configured,
						  .command = CTRL_CONFIGURE };

	if (!node->opening)
		return;
	node->opening = false;
	node_send_state(node, &command);
}

void cluster_node_view(const struct cluster_node *node, struct cluster_node_view *view)
{
	*view = node->view;
	view->state = node->state;
	view->run = node->run;
	view->registered = node->registered;
	view->excluded = node->excluded;
	view->manager = (uint16_t)node->manager;
	view->epoch = node->manager_epoch;
	view->announced = node->announced;
	view->released = node->released;
	view->tokens_free = view->tokens_used = 0;
	for (unsigned i = 0; i < node->n_builders; i++) {
		view->tokens_free += node->builders[i].tokens.n_free;
		view->tokens_used += node->builders[i].tokens.n - node->builders[i].tokens.n_free;
	}
}

const struct cluster_latency *cluster_node_latency(const struct cluster_node *node)
{
	return &node->latency.measured;
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
		.has_lease = cluster_elects(node->cluster),
	};
	heartbeat.lease.config_hash = node->cluster->hash;
	vote_state(&node->vote, &heartbeat.lease);
	for (unsigned i = 0; i < node->n_builders; i++)
		heartbeat.events_open += node->builders[i].is_open;
	for (unsigned i = 0; i < node->n_readouts; i++)
		heartbeat.events_waiting += node->readouts[i].unsent;
	return heartbeat;
}
