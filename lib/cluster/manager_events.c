// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The way of events through the manager: granted, done, settled, published, released.
#include "cluster/manager_internal.h"

static struct entry *entry_of(struct cluster_manager *manager, unsigned builder, uint32_t token)
{
	struct manager_builder *at = &manager->builders[builder];

	return token < at->n ? &at->entries[token] : NULL;
}

// The system-wide number of a node's builder, or CLUSTER_NONE.
static unsigned builder_of(const struct cluster_manager *manager, unsigned node, unsigned index)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[node];

	return index < at->n_builders ? at->first_builder + index : CLUSTER_NONE;
}

static void say_step(struct cluster_manager *manager, unsigned builder, uint32_t token,
		     const struct entry *entry, enum ctrl_step step)
{
	const struct config_cluster_builder *at = &manager->cluster->builders[builder];
	const struct ctrl_progress progress = {
		.event = entry->event,
		.slot = token,
		.generation = entry->generation,
		.run = manager->run,
		.builder = (uint16_t)at->index,
		.attempt = entry->attempt,
		.step = (uint16_t)step,
	};
	uint8_t bytes[CTRL_PROGRESS_SIZE];

	manager_send(manager, at->node, bytes, ctrl_put_progress(bytes, sizeof(bytes), &progress));
}

void manager_adopt(struct cluster_manager *manager, const struct adopted *adopted, uint64_t now)
{
	const struct ctrl_held *held = &adopted->held;
	bool built = held->holding == CTRL_HOLDS_BUILT;
	struct entry *entry = entry_of(manager, adopted->builder, held->slot);
	struct entry claimed = { .event = held->event,
				 .generation = held->generation,
				 .attempt = held->attempt,
				 .state = ENTRY_GRANTED };

	if (entry == NULL)
		return;
	if (!built && entry->state == ENTRY_GRANTED && entry->event == held->event &&
	    entry->generation == held->generation && entry->attempt == held->attempt)
		return; // as is known
	if (sched_adopt(manager->sched, held->event, adopted->builder, held->slot, held->generation,
			held->attempt, built ? SCHED_ADOPT_BUILT : SCHED_ADOPT_OPEN,
			now) == SCHED_OK) {
		if (!built)
			*entry = claimed;
	} else if (!built) {
		manager->view.stale++;
		say_step(manager, adopted->builder, held->slot, &claimed, CTRL_STEP_WITHDRAW);
	}
}

void manager_adopt_all(struct cluster_manager *manager, uint64_t now)
{
	// What is built goes first: who has built an event wins over who is about to.
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < manager->n_adopted; i++)
			if ((manager->adopted[i].held.holding == CTRL_HOLDS_BUILT) == (pass == 0))
				manager_adopt(manager, &manager->adopted[i], now);
	manager->n_adopted = 0;
}

// --- grants ---

static bool is_target(const struct cluster_manager *manager, unsigned node)
{
	return manager->nodes[node].registered && !manager->nodes[node].lost;
}

// How many grants every node would take now.
static unsigned grants_room(const struct cluster_manager *manager)
{
	const struct cluster_post *post = &manager->parameters.post;
	size_t least = GRANTS_MOST * CTRL_GRANT_SIZE;

	for (unsigned i = 0; i < manager->cluster->n_nodes; i++) {
		size_t room;

		if (!is_target(manager, i))
			continue;
		room = post->room(post->context, i, CTRL_GRANT_SIZE);
		if (room < least)
			least = room;
	}
	return (unsigned)(least / CTRL_GRANT_SIZE);
}

static void say_grant(struct cluster_manager *manager, const struct sched_grant *grant)
{
	const struct config_event_manager *config = &manager->parameters.config->event_manager;
	const struct config_cluster_builder *builder = &manager->cluster->builders[grant->builder];
	const struct ctrl_grant record = {
		.event = grant->event,
		.slot = grant->slot,
		.generation = grant->generation,
		.rate_mbps = (uint32_t)(grant->rate_bytes_per_second / 125000u),
		.round = (uint32_t)grant->round,
		.run = manager->run,
		.node = (uint16_t)builder->node,
		.builder = (uint16_t)builder->index,
		.position = (uint16_t)grant->position,
		.n_positions = (uint16_t)grant->n_positions,
		.attempt = (uint16_t)grant->attempt,
		.flags = config->barrier ? CTRL_BARRIER : 0,
	};
	uint8_t bytes[CTRL_GRANT_SIZE];
	size_t size = ctrl_put_grant(bytes, sizeof(bytes), &record);

	// The builder first, so that it is ready when data comes.
	manager_send(manager, builder->node, bytes, size);
	for (unsigned i = 0; config->mode == CONFIG_MODE_PUSH && i < manager->readouts.n; i++) {
		unsigned node = manager->readouts.nodes[i];

		if (node != builder->node && is_target(manager, node))
			manager_send(manager, node, bytes, size);
	}
}

void manager_grant(struct cluster_manager *manager, uint64_t now)
{
	struct sched_grant grants[GRANTS_MOST];
	unsigned room = grants_room(manager), n;

	if (room == 0) {
		manager->view.grants_held++;
		return;
	}
	n = sched_poll(manager->sched, now, grants, room);
	for (unsigned i = 0; i < n; i++) {
		struct entry *entry = entry_of(manager, grants[i].builder, grants[i].slot);

		*entry = (struct entry){
			.event = grants[i].event,
			.generation = grants[i].generation,
			.attempt = (uint16_t)grants[i].attempt,
			.state = ENTRY_GRANTED,
		};
		say_grant(manager, &grants[i]);
	}
}

// --- what becomes of them ---

static void finish(struct cluster_manager *manager, unsigned builder, uint32_t token,
		   enum sched_outcome outcome, uint64_t now)
{
	struct entry *entry = entry_of(manager, builder, token);

	if (sched_done(manager->sched, builder, entry->event, token, entry->generation,
		       entry->attempt, outcome, entry->bytes, now) != SCHED_OK)
		manager->view.stale++;
	if (entry->state == ENTRY_SETTLED)
		manager->builders[builder].n_settled--;
	entry->state = ENTRY_NONE;
}

static bool is_current(const struct entry *entry, uint64_t event, uint32_t generation,
		       uint16_t attempt)
{
	return entry != NULL && entry->state != ENTRY_NONE && entry->event == event &&
	       entry->generation == generation && entry->attempt == attempt;
}

void manager_done(struct cluster_manager *manager, unsigned node, const struct ctrl_done *done,
		  uint64_t now)
{
	unsigned builder = builder_of(manager, node, done->builder);
	struct entry *entry;

	if (builder == CLUSTER_NONE)
		return;
	entry = entry_of(manager, builder, done->slot);
	if (!is_current(entry, done->event, done->generation, done->attempt)) {
		const struct entry stale = { .event = done->event,
					     .generation = done->generation,
					     .attempt = done->attempt };

		manager->view.stale++;
		if (done->outcome == CTRL_COMPLETE || done->outcome == CTRL_INCOMPLETE)
			say_step(manager, builder, done->slot, &stale, CTRL_STEP_WITHDRAW);
		return;
	}
	entry->bytes = done->bytes;
	entry->outcome = done->outcome;
	switch (done->outcome) {
	case CTRL_COMPLETE:
	case CTRL_INCOMPLETE:
		if (entry->state != ENTRY_SETTLED)
			manager->builders[builder].n_settled++;
		entry->state = ENTRY_SETTLED;
		say_step(manager, builder, done->slot, entry, CTRL_STEP_PUBLISH);
		manager->view.missing += done->n_missing;
		break;
	case CTRL_DISCARDED:
		manager->view.discarded++;
		finish(manager, builder, done->slot, SCHED_INCOMPLETE, now);
		break;
	default:
		finish(manager, builder, done->slot, SCHED_FAILED, now);
		break;
	}
}

void manager_published(struct cluster_manager *manager, unsigned node,
		       const struct ctrl_progress *progress, uint64_t now)
{
	unsigned builder = builder_of(manager, node, progress->builder);
	struct entry *entry;

	if (builder == CLUSTER_NONE || progress->step != CTRL_STEP_PUBLISHED)
		return;
	entry = entry_of(manager, builder, progress->slot);
	if (!is_current(entry, progress->event, progress->generation, progress->attempt)) {
		manager->view.stale++;
		return;
	}
	if (entry->outcome == CTRL_INCOMPLETE) {
		manager->view.incomplete++;
		finish(manager, builder, progress->slot, SCHED_INCOMPLETE, now);
	} else {
		manager->view.complete++;
		finish(manager, builder, progress->slot, SCHED_COMPLETE, now);
	}
}

// Tells all nodes which events are finished: readouts forget them, builders forget having built.
void manager_release(struct cluster_manager *manager)
{
	uint64_t released = sched_released(manager->sched);
	const struct ctrl_release record = { .event = released, .run = manager->run };
	uint8_t bytes[CTRL_RELEASE_SIZE];
	size_t size;

	if (released == manager->told_release)
		return;
	size = ctrl_put_release(bytes, sizeof(bytes), &record);
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (is_target(manager, i))
			manager_send(manager, i, bytes, size);
	manager->told_release = released;
}

bool manager_in_doubt(const struct cluster_manager *manager, unsigned node)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[node];

	for (unsigned i = 0; i < at->n_builders; i++)
		if (manager->builders[at->first_builder + i].n_settled > 0)
			return true;
	return false;
}

void manager_exclude_builders(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[node];

	manager->nodes[node].builders_excluded = true;
	manager->nodes[node].doubt_until = 0;
	for (unsigned i = 0; i < at->n_builders; i++) {
		struct manager_builder *builder = &manager->builders[at->first_builder + i];

		for (uint32_t j = 0; j < builder->n; j++)
			builder->entries[j].state = ENTRY_NONE;
		builder->n_settled = 0;
		builder->registered = false;
		if (manager->sched != NULL)
			sched_exclude(manager->sched, at->first_builder + i, now);
	}
}
