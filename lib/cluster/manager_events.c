// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The steps of an event in the manager: granted, done, settled, published, released.
#include "cluster/manager_internal.h"

#define REPEATS_MOST 256u // builders whose grants one poll repeats
#define REPEAT_PART  2u   // of the deadline; longest time until grants are repeated
#define QUIET_NS     UINT64_C(200000000)

// The system-wide number of a node's builder, or CLUSTER_NONE.
static unsigned builder_of(const struct cluster_manager *manager, unsigned node, unsigned index)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];

	return index < at->n_builders ? at->first_builder + index : CLUSTER_NONE;
}

void manager_set_state(struct cluster_manager *manager, unsigned builder, struct entry *entry,
		       enum entry_state state)
{
	manager->builders[builder].n_publishable +=
	    (state >= ENTRY_PERMITTED) - (entry->state >= ENTRY_PERMITTED);
	entry->state = (uint8_t)state;
}

void manager_send_step(struct cluster_manager *manager, unsigned builder, uint32_t token,
		       const struct entry *entry, enum ctrl_step step)
{
	const struct cluster_system_builder *at = &manager->cluster->builders[builder];
	const struct ctrl_progress progress = {
		.event = entry->event,
		.slot = token,
		.generation = entry->generation,
		.run = manager->run,
		.builder = (uint16_t)at->index,
		.attempt = entry->attempt,
		.step = (uint16_t)step,
		.flags = step == CTRL_STEP_PUBLISH && manager_maybe_published(manager, entry->event)
			     ? CTRL_REPEATED
			     : 0,
	};
	uint8_t bytes[CTRL_PROGRESS_SIZE];

	manager_send(manager, at->node, bytes, ctrl_put_progress(bytes, sizeof(bytes), &progress));
}

// --- grants ---

// How many grants can be sent now: each node's queue has room for so many.
static unsigned grants_room(const struct cluster_manager *manager)
{
	size_t least = GRANTS_MOST * CTRL_GRANT_SIZE;

	for (unsigned i = 0; i < manager->cluster->n_nodes; i++) {
		size_t room;

		if (!manager_is_target(manager, i))
			continue;
		room = cluster_room(&manager->parameters.transport, i, CTRL_GRANT_SIZE);
		if (room < least)
			least = room;
	}
	return (unsigned)(least / CTRL_GRANT_SIZE);
}

// Encodes a grant for node `to`. The builder's node gets the rate of its link, a sending node its
// share of this rate.
static size_t put_grant(const struct cluster_manager *manager, uint8_t *bytes, size_t capacity,
			unsigned to, unsigned index, uint32_t token, const struct entry *entry,
			const struct sched_grant *grant)
{
	const struct cluster_system_builder *builder = &manager->cluster->builders[index];
	const struct placement *placement = &manager->builders[index].placement;
	struct ctrl_grant record = {
		.event = entry->event,
		.slot = token,
		.generation = entry->generation,
		.rate_kbps = to == builder->node
				 ? entry->rate_kbps
				 : cluster_share(&manager->parameters.cluster, builder->node, to,
						 entry->rate_kbps),
		.run = manager->run,
		.node = (uint16_t)builder->node,
		.builder = (uint16_t)builder->index,
		.n_positions = 1,
		.attempt = entry->attempt,
		.address = placement_of_slot(placement, token),
		.size = placement->slot_size,
		.rkey = placement->rkey,
		.flags = (placement->rkey != 0 ? CTRL_PLACED : 0) |
			 (entry->state == ENTRY_PERMITTED ? CTRL_PERMITTED : 0),
	};

	if (grant != NULL) {
		record.round = (uint32_t)grant->round;
		record.position = (uint16_t)grant->position;
		record.n_positions = (uint16_t)grant->n_positions;
		if (manager->parameters.sched.phase_barrier > 0)
			record.flags |= CTRL_BARRIER;
	}
	return ctrl_put_grant(bytes, capacity, &record);
}

static bool pushes(const struct cluster_manager *manager)
{
	return manager->parameters.cluster.mode == SCHED_PUSH;
}

bool manager_gets_all(const struct cluster_manager *manager, unsigned node)
{
	return pushes(manager) && manager->readouts.of_node[node] != CLUSTER_NONE &&
	       manager_is_target(manager, node);
}

void manager_send_grant(struct cluster_manager *manager, const struct sched_grant *grant,
			const struct entry *entry, bool in_list)
{
	unsigned to = manager->cluster->builders[grant->builder].node;
	uint8_t bytes[CTRL_GRANT_SIZE];

	// The builder gets its grant first, so that it is ready when the data arrives.
	if (!in_list || !manager->nodes[to].takes_lists)
		manager_send(manager, to, bytes,
			     put_grant(manager, bytes, sizeof(bytes), to, grant->builder,
				       grant->slot, entry, grant));
	for (unsigned i = 0; pushes(manager) && i < manager->readouts.n; i++) {
		unsigned node = manager->readouts.nodes[i];

		if (node != to && manager_is_target(manager, node) &&
		    !(in_list && manager->nodes[node].takes_lists))
			manager_send(manager, node, bytes,
				     put_grant(manager, bytes, sizeof(bytes), node, grant->builder,
					       grant->slot, entry, grant));
	}
}

// The share of data, 0 to 1, in the `bytes` bytes of an event on the builder's link; the rest are
// control messages.
static double data_share(const struct cluster_manager *manager, uint64_t bytes)
{
	double control = manager->on_wire.control;

	return (double)bytes > 2 * control ? 1 - control / (double)bytes : 0.5;
}

// The rate at which all nodes together may send to the builder, kbit/s. Half of the link's
// capacity above the target utilisation is added, so that delayed senders can catch up.
static uint32_t rate_of(const struct cluster_manager *manager, const struct sched_grant *grant)
{
	double target = manager->parameters.sched.target_utilisation, rate;

	if (grant->rate_bytes_per_second == 0)
		return 0;
	rate = (double)grant->rate_bytes_per_second / 125 * (1 + target) / (2 * target) *
	       data_share(manager, grant->bytes);

	if (rate < 1)
		return 1;
	return rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX;
}

// Notes the readout nodes that do not get the grants of now.
static void note_missed(struct cluster_manager *manager, uint64_t now)
{
	for (unsigned i = 0; pushes(manager) && i < manager->readouts.n; i++) {
		struct manager_node *node = &manager->nodes[manager->readouts.nodes[i]];

		if (node->missed_from > now &&
		    !manager_is_target(manager, manager->readouts.nodes[i]))
			node->missed_from = now;
	}
}

// Whether the builder gets the permission to publish an event with its grant. If another builder
// may have published the event, it is published by order only, with a flag.
static bool is_permitted(const struct cluster_manager *manager, const struct sched_grant *grant)
{
	const unsigned node = manager->cluster->builders[grant->builder].node;

	return manager->nodes[node].obeys_permission &&
	       !manager_maybe_published(manager, grant->event);
}

void manager_grant(struct cluster_manager *manager, uint64_t now)
{
	struct manager_grants granted;
	unsigned room;

	if (sched_waiting(manager->sched) == 0)
		return;
	room = grants_room(manager);
	if (room == 0) {
		manager->view.grants_held++;
		return;
	}
	granted.n = sched_poll(manager->sched, now, granted.grants, room);
	for (unsigned i = 0; i < granted.n; i++) {
		const struct sched_grant *grant = &granted.grants[i];
		struct entry *entry = manager_entry(manager, grant->builder, grant->slot);

		*entry = (struct entry){
			.event = grant->event,
			.granted_ns = now,
			.generation = grant->generation,
			.rate_kbps = rate_of(manager, grant),
			.attempt = (uint16_t)grant->attempt,
		};
		manager_set_state(manager, grant->builder, entry,
				  is_permitted(manager, grant) ? ENTRY_PERMITTED : ENTRY_GRANTED);
		granted.entries[i] = entry;
	}
	manager_send_grants(manager, &granted);
	if (granted.n > 0)
		note_missed(manager, now);
}

// --- grants that are repeated ---

static bool is_pending(const struct repeat *repeat)
{
	return repeat->from < repeat->end;
}

static bool is_pushed_to(const struct cluster_manager *manager, unsigned node)
{
	return pushes(manager) && manager->readouts.of_node[node] != CLUSTER_NONE;
}

void manager_repeat_missed(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	struct manager_node *node = &manager->nodes[index];
	uint64_t since = node->missed_from;

	if (since == UINT64_MAX || !is_pushed_to(manager, index))
		return;
	if (is_pending(&node->missed) && node->missed.since < since)
		since = node->missed.since;
	node->missed = (struct repeat){
		.since = since,
		.until = since < now ? now - 1 : now, // from now on the node gets all grants
		.end = manager->cluster->n_builders,
	};
	node->missed_from = UINT64_MAX;
	manager->any_repeat = true;
}

// A node that was silent because it did not get the CPU sends late what it was granted, or has sent
// it. It sends in the order of its grants. Therefore what is open at a builder lacks data if the
// builder has completed an event that was granted later. A builder without free tokens gets no
// grants: then the node has nothing more to send if no event has been built for some time.
void manager_repeat_lacked(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[index];
	const uint64_t part = manager->parameters.deadline_ns / REPEAT_PART;
	struct manager_node *node = &manager->nodes[index];
	const struct repeat repeat = {
		.until = now - 1,
		.ordered = now,
		.latest = now + part,
		.quiet = part / 2 < QUIET_NS ? part / 2 : QUIET_NS,
		.end = manager->cluster->n_builders,
	};

	manager->built_until = manager->built_at = now;
	manager->any_repeat = true;
	node->retained = repeat;
	if (is_pushed_to(manager, index))
		node->lacked = repeat;
	if (node->missed_from <= now)
		node->lacked.until = node->missed_from - (node->missed_from > 0);
	node->retained.from = at->first_builder;
	node->retained.end = at->first_builder + at->n_builders;
}

static bool is_due(const struct cluster_manager *manager, const struct repeat *repeat, uint64_t now)
{
	return is_pending(repeat) &&
	       (now >= repeat->latest || now >= manager->built_at + repeat->quiet ||
		manager->builders[repeat->from].newest_done > repeat->ordered);
}

// Whether the process that has a builder's events is the one that has registered last.
static bool has_reported(const struct cluster_manager *manager, unsigned builder)
{
	const unsigned node = manager->cluster->builders[builder].node;

	return manager->nodes[node].registered && !manager->builders[builder].reporting;
}

// Repeats the grants of builder repeat->from and advances to the next builder. False if the node's
// queue is full. The next poll continues.
static bool repeat_builder(struct cluster_manager *manager, unsigned index, struct repeat *repeat)
{
	const struct manager_builder *builder = &manager->builders[repeat->from];
	uint8_t bytes[CTRL_GRANT_SIZE];

	for (; repeat->token < builder->n && has_reported(manager, repeat->from); repeat->token++) {
		const struct entry *entry = &builder->entries[repeat->token];

		if (!manager_is_open(entry) || entry->granted_ns < repeat->since ||
		    entry->granted_ns > repeat->until)
			continue;
		if (cluster_room(&manager->parameters.transport, index, sizeof(bytes)) <
		    sizeof(bytes))
			return false;
		manager_send(manager, index, bytes,
			     put_grant(manager, bytes, sizeof(bytes), index, repeat->from,
				       repeat->token, entry, NULL));
	}
	repeat->token = 0;
	repeat->from++;
	return true;
}

// The next three advance while *left builders may be visited.

static void repeat_due(struct cluster_manager *manager, unsigned index, struct repeat *repeat,
		       uint64_t now, unsigned *left)
{
	while (*left > 0 && is_due(manager, repeat, now) && repeat_builder(manager, index, repeat))
		--*left;
}

static void take_back_due(struct cluster_manager *manager, struct repeat *repeat, uint64_t now,
			  unsigned *left)
{
	for (; *left > 0 && is_due(manager, repeat, now); repeat->from++, --*left)
		for (uint32_t i = 0; i < manager->builders[repeat->from].n; i++)
			if (manager_entry(manager, repeat->from, i)->granted_ns <= repeat->until)
				manager_take_back(manager, repeat->from, i, now);
}

// Returns whether some grants, or some that are not due yet, are left.
static bool repeat_for_node(struct cluster_manager *manager, unsigned index, uint64_t now,
			    unsigned *left)
{
	struct manager_node *node = &manager->nodes[index];

	if (sched_outstanding(manager->sched) == 0) {
		node->retained.from = node->retained.end;
		node->missed.from = node->missed.end;
		node->lacked.from = node->lacked.end;
	} else if (manager_is_target(manager, index)) {
		take_back_due(manager, &node->retained, now, left);
		repeat_due(manager, index, &node->missed, now, left);
		repeat_due(manager, index, &node->lacked, now, left);
	}
	return is_pending(&node->retained) || is_pending(&node->missed) ||
	       is_pending(&node->lacked);
}

void manager_repeat(struct cluster_manager *manager, uint64_t now)
{
	const unsigned n_nodes = manager->cluster->n_nodes;
	const bool any = manager->any_repeat;
	unsigned left = REPEATS_MOST;

	manager->any_repeat = false;
	for (unsigned i = 0; any && i < n_nodes; i++)
		manager->any_repeat |=
		    repeat_for_node(manager, (manager->repeat_next + i) % n_nodes, now, &left);
	manager->repeat_next += manager->any_repeat;
}

// --- granted events ---

// Tells the nodes that send built events that nobody publishes the event: the one that has it may
// send it as another event. A silent node gets the record when it is back.
static void tell_unpublished(struct cluster_manager *manager, const struct entry *entry)
{
	const struct ctrl_progress progress = {
		.event = entry->event,
		.run = manager->run,
		.step = CTRL_STEP_UNPUBLISHED,
		.flags = manager_maybe_published(manager, entry->event) ? CTRL_REPEATED : 0,
	};
	uint8_t bytes[CTRL_PROGRESS_SIZE];

	for (unsigned i = 0; i < manager->readouts.n; i++) {
		unsigned node = manager->readouts.nodes[i];

		if (manager->cluster->nodes[node].sends_built && manager->nodes[node].registered)
			manager_send(manager, node, bytes,
				     ctrl_put_progress(bytes, sizeof(bytes), &progress));
	}
}

// Events of one size often follow each other.
static uint64_t bytes_on_wire(struct cluster_manager *manager, unsigned index, uint64_t bytes)
{
	const struct cluster_system *cluster = manager->cluster;
	struct manager_builder *builder = &manager->builders[index];

	if (bytes != builder->last_bytes) {
		builder->last_bytes = bytes;
		builder->last_on_wire =
		    on_wire_bytes(&manager->on_wire, bytes,
				  cluster->nodes[cluster->builders[index].node].n_sources);
	}
	return builder->last_on_wire;
}

static void finish(struct cluster_manager *manager, unsigned builder, uint32_t token,
		   struct entry *entry, enum sched_outcome outcome, uint64_t now)
{
	if (sched_done(manager->sched, builder, entry->event, token, entry->generation,
		       entry->attempt, outcome, bytes_on_wire(manager, builder, entry->bytes),
		       now) != SCHED_OK) {
		manager->view.stale++;
	} else if (outcome != SCHED_FAILED) {
		manager_remember(manager, entry->event,
				 entry->outcome == CTRL_DISCARDED ? CTRL_UNPUBLISHED : builder);
		if (entry->outcome == CTRL_DISCARDED)
			tell_unpublished(manager, entry);
	}
	manager_set_state(manager, builder, entry, ENTRY_NONE);
}

void manager_take_back(struct cluster_manager *manager, unsigned builder, uint32_t token,
		       uint64_t now)
{
	struct entry *entry = manager_entry(manager, builder, token);

	if (!manager_is_open(entry))
		return;
	manager_send_step(manager, builder, token, entry, CTRL_STEP_WITHDRAW);
	if (entry->state == ENTRY_PERMITTED)
		manager_set_state(manager, builder, entry, ENTRY_RECALLED);
	else
		finish(manager, builder, token, entry, SCHED_FAILED, now);
}

static bool is_current(const struct entry *entry, uint64_t event, uint32_t generation,
		       uint16_t attempt)
{
	return entry != NULL && entry->state != ENTRY_NONE && entry->event == event &&
	       entry->generation == generation && entry->attempt == attempt;
}

static void note_built(struct cluster_manager *manager, struct manager_builder *builder,
		       struct entry *entry, const struct ctrl_done *done, uint64_t now)
{
	if (entry->granted_ns <= manager->built_until)
		manager->built_at = now;
	if (done->outcome == CTRL_COMPLETE && entry->granted_ns > builder->newest_done)
		builder->newest_done = entry->granted_ns;
	entry->bytes = done->bytes;
	entry->outcome = done->outcome;
	entry->n_missing = (uint16_t)done->n_missing;
}

void manager_done(struct cluster_manager *manager, unsigned node, const struct ctrl_done *done,
		  struct manager_steps *steps, uint64_t now)
{
	unsigned builder = builder_of(manager, node, done->builder);
	struct entry *entry;

	if (builder == CLUSTER_NONE)
		return;
	entry = manager_entry(manager, builder, done->slot);
	if (!is_current(entry, done->event, done->generation, done->attempt)) {
		const struct entry stale = { .event = done->event,
					     .generation = done->generation,
					     .attempt = done->attempt };

		manager->view.stale++;
		if (done->outcome == CTRL_COMPLETE || done->outcome == CTRL_INCOMPLETE)
			manager_send_step(manager, builder, done->slot, &stale, CTRL_STEP_WITHDRAW);
		return;
	}
	note_built(manager, &manager->builders[builder], entry, done, now);
	switch (done->outcome) {
	case CTRL_COMPLETE:
	case CTRL_INCOMPLETE:
		if (entry->state == ENTRY_RECALLED) {
			finish(manager, builder, done->slot, entry, SCHED_FAILED,
			       now); // it is held
			break;
		}
		manager_set_state(manager, builder, entry, ENTRY_SETTLED);
		manager_publish(manager, builder, done->slot, entry, steps);
		break;
	case CTRL_DISCARDED:
		manager->view.discarded++;
		finish(manager, builder, done->slot, entry, SCHED_INCOMPLETE, now);
		break;
	default:
		finish(manager, builder, done->slot, entry, SCHED_FAILED, now);
		break;
	}
}

static void count_published(struct cluster_manager *manager, unsigned builder, uint32_t token,
			    struct entry *entry, uint64_t now)
{
	const bool incomplete = entry->outcome == CTRL_INCOMPLETE;

	manager->view.incomplete += incomplete;
	manager->view.complete += !incomplete;
	manager->view.missing += entry->n_missing;
	manager->view.repeated += manager_maybe_published(manager, entry->event);
	finish(manager, builder, token, entry, incomplete ? SCHED_INCOMPLETE : SCHED_COMPLETE, now);
}

void manager_published(struct cluster_manager *manager, unsigned node,
		       const struct ctrl_progress *progress, uint64_t now)
{
	unsigned builder = builder_of(manager, node, progress->builder);
	struct entry *entry;

	if (manager->sched == NULL || builder == CLUSTER_NONE)
		return;
	entry = manager_entry(manager, builder, progress->slot);
	if (is_current(entry, progress->event, progress->generation, progress->attempt))
		count_published(manager, builder, progress->slot, entry, now);
	else
		manager->view.stale++;
}

void manager_published_unasked(struct cluster_manager *manager, unsigned node,
			       const struct ctrl_done *done, uint64_t now)
{
	unsigned builder = builder_of(manager, node, done->builder);
	struct entry *entry;

	if (builder == CLUSTER_NONE)
		return;
	entry = manager_entry(manager, builder, done->slot);
	if (!is_current(entry, done->event, done->generation, done->attempt)) {
		manager->view.stale++;
		return;
	}
	note_built(manager, &manager->builders[builder], entry, done, now);
	count_published(manager, builder, done->slot, entry, now);
}

static size_t put_release(const struct cluster_manager *manager, uint8_t bytes[CTRL_RELEASE_SIZE])
{
	const struct ctrl_release record = {
		.event = sched_released(manager->sched),
		.run = manager->run,
	};

	return ctrl_put_release(bytes, CTRL_RELEASE_SIZE, &record);
}

void manager_send_release(struct cluster_manager *manager, unsigned node)
{
	uint64_t released = sched_released(manager->sched);
	uint8_t bytes[CTRL_RELEASE_SIZE];

	if (manager->nodes[node].release_sent == released)
		return;
	manager->nodes[node].release_sent = released;
	manager_send(manager, node, bytes, put_release(manager, bytes));
}

static bool needs_release(const struct cluster_manager *manager, unsigned node)
{
	return manager_is_target(manager, node) &&
	       manager->nodes[node].release_sent != manager->release_sent;
}

void manager_release(struct cluster_manager *manager)
{
	const uint64_t released = sched_released(manager->sched);
	uint8_t bytes[CTRL_RELEASE_SIZE];

	if (manager->release_sent == released && manager->release_changes == manager->changes)
		return;
	manager->release_sent = released;
	manager->release_changes = manager->changes;
	manager_send_readouts(manager, needs_release, bytes, put_release(manager, bytes));
	for (unsigned i = 0; i < manager->readouts.n; i++)
		if (manager_is_target(manager, manager->readouts.nodes[i]))
			manager->nodes[manager->readouts.nodes[i]].release_sent = released;
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (manager_is_target(manager, i))
			manager_send_release(manager, i);
}
