// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Adoption of events that builders hold and that this manager did not grant. After a restart of the
// manager all builders report such events, after a new registration of a node its builders do.
#include "cluster/manager_internal.h"

#include <stdlib.h>

// --- storing the reports ---

// A builder holds at most as many events as it has slots and remembers finished ones. What a faulty
// node reports beyond that is dropped, so that it cannot fill the memory of the manager.
static bool may_report(struct cluster_manager *manager, unsigned builder)
{
	struct manager_builder *at = &manager->builders[builder];

	if (at->n_reported >= at->n + cluster_finished(manager->parameters.cluster.source_buffer)) {
		manager->view.stale++;
		return false;
	}
	at->n_reported++;
	return true;
}

static void store(struct cluster_manager *manager, const struct adopted *adopted)
{
	struct manager_builder *builder = &manager->builders[adopted->builder];

	if (!may_report(manager, adopted->builder))
		return;
	if (builder->n_adopted == builder->adopted_size) {
		unsigned size = builder->adopted_size * 2 + 16;
		struct adopted *more = realloc(builder->adopted, size * sizeof(*more));

		if (more == NULL)
			return;
		builder->adopted = more;
		builder->adopted_size = size;
	}
	builder->adopted[builder->n_adopted++] = *adopted;
}

void manager_store_done(struct cluster_manager *manager, unsigned from,
			const struct ctrl_done *done)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[from];
	struct manager_builder *builder;

	if (done->builder >= at->n_builders)
		return;
	builder = &manager->builders[at->first_builder + done->builder];
	for (unsigned i = 0; i < builder->n_adopted; i++) {
		struct adopted *adopted = &builder->adopted[i];

		if (adopted->held.slot != done->slot ||
		    adopted->held.generation != done->generation)
			continue;
		adopted->done = *done;
		adopted->has_done = true;
	}
}

// --- adopting the events ---

static void withdraw(struct cluster_manager *manager, unsigned builder, uint32_t token,
		     struct entry *entry)
{
	manager->view.stale++;
	manager_send_step(manager, builder, token, entry, CTRL_STEP_WITHDRAW);
	manager_set_state(manager, builder, entry, ENTRY_NONE);
}

// A builder reports an event that it has published. The event may have been granted to another
// builder meanwhile; that grant is then withdrawn.
static void adopt_built(struct cluster_manager *manager, const struct adopted *adopted,
			uint64_t now)
{
	uint32_t builder, token;
	const bool granted = !manager->adopting &&
			     sched_in_flight(manager->sched, adopted->held.event, &builder, &token);

	if (sched_adopt(manager->sched, adopted->held.event, adopted->builder, adopted->held.slot,
			adopted->held.generation, adopted->held.attempt, SCHED_ADOPT_BUILT,
			now) != SCHED_OK)
		return;
	manager_remember(manager, adopted->held.event, adopted->builder);
	if (adopted->held.n_missing > 0)
		manager->view.incomplete++;
	else
		manager->view.complete++;
	manager->view.missing += adopted->held.n_missing;
	if (granted)
		withdraw(manager, builder, token, manager_entry(manager, builder, token));
}

static void adopt_open(struct cluster_manager *manager, const struct adopted *adopted, uint64_t now)
{
	const struct ctrl_held *held = &adopted->held;
	struct entry *entry = manager_entry(manager, adopted->builder, held->slot);
	struct entry claimed = { .event = held->event,
				 .generation = held->generation,
				 .attempt = held->attempt,
				 .state = ENTRY_GRANTED };
	uint32_t builder, token;

	if (entry == NULL)
		return;
	if ((!manager->adopting &&
	     sched_in_flight(manager->sched, held->event, &builder, &token)) ||
	    sched_adopt(manager->sched, held->event, adopted->builder, held->slot, held->generation,
			held->attempt, SCHED_ADOPT_OPEN, now) != SCHED_OK) {
		withdraw(manager, adopted->builder, held->slot, &claimed);
		return;
	}
	*entry = claimed;
	if (adopted->has_done)
		manager_take_done(manager, manager->cluster->builders[adopted->builder].node,
				  &adopted->done, now);
}

enum adopted_part { ADOPTED_PUBLISHED, ADOPTED_OPEN, ADOPTED_DROPPED };

// Removes events that a builder has reported from the store, and adopts them: the published ones
// at once, the others when all are known. ADOPTED_DROPPED: removes all, and adopts none.
static void take(struct cluster_manager *manager, unsigned index, enum adopted_part part,
		 uint64_t now)
{
	struct manager_builder *builder = &manager->builders[index];
	unsigned n = 0;

	for (unsigned i = 0; i < builder->n_adopted; i++) {
		const struct adopted adopted = builder->adopted[i];
		bool published = adopted.held.holding == CTRL_HOLDS_BUILT;

		if (part == ADOPTED_PUBLISHED && !published)
			builder->adopted[n++] = adopted;
		else if (part == ADOPTED_PUBLISHED)
			adopt_built(manager, &adopted, now);
		else if (part == ADOPTED_OPEN)
			adopt_open(manager, &adopted, now);
	}
	builder->n_adopted = n;
}

void manager_drop_adopted(struct cluster_manager *manager, unsigned builder, uint64_t now)
{
	if (manager->builders[builder].n_adopted == 0)
		return;
	// A published event stays published even if its builder does not take part again.
	manager_enter(manager, builder, now);
	take(manager, builder, ADOPTED_PUBLISHED, now);
	take(manager, builder, ADOPTED_DROPPED, now);
}

void manager_adopt(struct cluster_manager *manager, unsigned from, const struct ctrl_record *record,
		   uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[from];
	struct ctrl_adopt received;
	unsigned builder;

	if (ctrl_get_adopt(record, &received) != WIRE_OK || received.builder >= at->n_builders)
		return;
	builder = at->first_builder + received.builder;
	if (manager->sched == NULL || !manager->builders[builder].reporting)
		return;
	// A process that has just started reports no events, and run 0.
	for (unsigned i = 0; received.run == manager->run && i < received.n; i++) {
		const struct adopted adopted = {
			.held = ctrl_held_at(&received, i),
			.builder = (uint16_t)builder,
		};

		store(manager, &adopted);
	}
	if ((received.flags & CTRL_LAST) == 0)
		return;
	manager_readmit(manager, builder, now);
	take(manager, builder, ADOPTED_PUBLISHED, now);
	if (!manager->adopting)
		take(manager, builder, ADOPTED_OPEN, now);
	// The node was excluded while its builder was reporting.
	if (!manager->nodes[from].registered)
		manager_suspend(manager, from, now);
}

// --- creating and starting the scheduler ---

// Whether every builder of a registered node has reported the events that it holds.
static bool all_adopted(const struct cluster_manager *manager)
{
	for (unsigned i = 0; i < manager->cluster->n_builders; i++)
		if (manager->nodes[manager->cluster->builders[i].node].registered &&
		    manager->builders[i].reporting)
			return false;
	return true;
}

// The highest release that a node knows. All events below it are finished.
static uint64_t newest_released(const struct cluster_manager *manager)
{
	uint64_t newest = 0;

	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (manager->nodes[i].released > newest)
			newest = manager->nodes[i].released;
	return newest;
}

// Whether each registered node of a run has reported its run state and, if it is a source, the
// events that it has.
static bool all_begun(const struct cluster_manager *manager)
{
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++) {
		const struct manager_node *node = &manager->nodes[i];
		bool is_source = manager->readouts.of_node[i] != CLUSTER_NONE;

		if (node->registered && node->run != 0 &&
		    (!node->stated || (is_source && !node->begun)))
			return false;
	}
	return true;
}

// Adopts an event of which no node reports any more where it was built. False if no builder is
// registered with the scheduler.
static bool adopt_released(struct cluster_manager *manager, uint64_t event, uint64_t now)
{
	uint32_t builder, token;
	const bool granted =
	    !manager->adopting && sched_in_flight(manager->sched, event, &builder, &token);

	for (unsigned i = 0; i < manager->cluster->n_builders; i++) {
		const enum sched_result result =
		    sched_adopt(manager->sched, event, i, 0, 0, 0, SCHED_ADOPT_BUILT, now);

		if (result == SCHED_UNKNOWN)
			continue;
		if (granted && result == SCHED_OK)
			withdraw(manager, builder, token, manager_entry(manager, builder, token));
		return true;
	}
	return false;
}

void manager_adopt_released(struct cluster_manager *manager, uint64_t now)
{
	uint64_t event = sched_released(manager->sched), end = newest_released(manager);

	if (manager_is_static(manager))
		return;
	// No manager has granted events beyond this limit, whatever a faulty node reports.
	if (end > event + manager->n_maybe_published)
		end = event + manager->n_maybe_published;
	while (event < end && adopt_released(manager, event, now))
		event++;
}

static void make_scheduler(struct cluster_manager *manager, uint64_t now)
{
	manager->first_event = newest_released(manager);
	manager->sched = manager_make_sched(manager, manager->first_event);
	if (manager->sched == NULL) {
		manager->state = CTRL_FAILED;
		return;
	}
	manager->adopting = true;
	manager->adopting_since = now;
	sched_set_paused(manager->sched, true);
	manager_adopt_indices(manager, now);
	for (unsigned i = 0; i < manager->readouts.n; i++) {
		unsigned node = manager->readouts.nodes[i];

		if (!manager->cluster->shares_source)
			sched_announce(manager->sched, i, manager->nodes[node].end, now);
		manager_sync_source(manager, node, now);
	}
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (manager->nodes[i].welcome_due)
			manager_welcome(manager, i, now);
}

// Waits for all nodes, because each of them may hold events that the scheduler has to know. After
// CLUSTER_SETTLE_NS it no longer waits for nodes that the operator has excluded, and, if a run of
// an earlier manager continues, for none.
void manager_begin(struct cluster_manager *manager, uint64_t now)
{
	bool settled =
	    manager->any_registered && now - manager->first_registered > CLUSTER_SETTLE_NS;
	bool all = manager_all_registered(manager, settled) && all_begun(manager);

	if (manager->any_registered && manager->state != CTRL_FAILED &&
	    (all || (settled && manager->run != 0)))
		make_scheduler(manager, now);
}

// If two builders report the same event, the later attempt is the valid one.
static int by_attempt(const void *left, const void *right)
{
	const struct adopted *a = *(const struct adopted *const *)left;
	const struct adopted *b = *(const struct adopted *const *)right;

	return (a->held.attempt < b->held.attempt) - (a->held.attempt > b->held.attempt);
}

static size_t list_held(const struct cluster_manager *manager, const struct adopted **held)
{
	size_t n = 0;

	for (unsigned i = 0; i < manager->cluster->n_builders; i++)
		for (unsigned j = 0; j < manager->builders[i].n_adopted; j++, n++)
			if (held != NULL)
				held[n] = &manager->builders[i].adopted[j];
	return n;
}

// False if memory ran out: nothing was adopted.
static bool take_all_held(struct cluster_manager *manager, uint64_t now)
{
	const struct adopted **held = malloc((list_held(manager, NULL) + 1) * sizeof(*held));
	size_t n;

	if (held == NULL)
		return false;
	n = list_held(manager, held);
	qsort(held, n, sizeof(held[0]), by_attempt);
	for (size_t i = 0; i < n; i++)
		adopt_open(manager, held[i], now);
	for (unsigned i = 0; i < manager->cluster->n_builders; i++)
		manager->builders[i].n_adopted = 0;
	free(held);
	return true;
}

void manager_end_adoption(struct cluster_manager *manager, uint64_t now)
{
	if (!all_adopted(manager) && now - manager->adopting_since < CLUSTER_SETTLE_NS)
		return;
	manager_adopt_released(manager, now);
	manager_mark_unreported(manager);
	if (!take_all_held(manager, now))
		return; // the next poll tries again
	manager->adopting = false;
	manager_take_over(manager);
	manager_exclude_due(manager, now);
	sched_set_paused(manager->sched, manager->state == CTRL_PAUSED);
	manager_assign(manager, now);
}
