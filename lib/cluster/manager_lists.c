// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Records about several events: grants of one poll, what a builder has built or published, and the
// order to publish. They need a fraction of the bytes and of the time of a record per event. Nodes
// whose REGISTER does not have CTRL_LISTS get records of one event.
#include "cluster/manager_internal.h"

#define LIST_MOST      128u    // entries; a list fits in a frame of any size
#define LIST_OFFSET    0x7FFFu // the largest offset of an event in GRANTS
#define RATE_TOLERANCE 128u    // rates that differ by less than this part are one rate

static bool takes_lists(const struct cluster_manager *manager, unsigned node)
{
	return manager->nodes[node].takes_lists;
}

// --- grants ---

// Grants of one poll that one record can hold.
struct grant_list {
	const struct manager_grants *of;
	struct ctrl_grants record;
	struct ctrl_granted entries[LIST_MOST];
	uint64_t last_round;
};

static bool is_near(uint32_t rate, uint32_t other)
{
	uint32_t difference = rate > other ? rate - other : other - rate;

	return difference <= other / RATE_TOLERANCE;
}

// Whether a record of entries can describe the grant.
static bool has_list_form(const struct cluster_manager *manager, const struct sched_grant *grant)
{
	return manager->builders[grant->builder].placement.rkey == 0 && grant->slot <= UINT16_MAX &&
	       (grant->n_positions <= 1 || grant->position == manager->positions[grant->builder]);
}

// False if the grant does not belong to the grants before it.
static bool add_grant(struct grant_list *list, unsigned index)
{
	const struct sched_grant *grant = &list->of->grants[index];
	const struct entry *entry = list->of->entries[index];
	struct ctrl_grants *record = &list->record;
	const uint16_t flags = entry->state == ENTRY_PERMITTED ? CTRL_PERMITTED : 0;

	if (record->n == 0) {
		*record = (struct ctrl_grants){
			.first = grant->event,
			.attempt = entry->attempt,
			.rate_kbps = entry->rate_kbps,
			.round = (uint32_t)grant->round,
			.n_positions = (uint16_t)grant->n_positions,
			.flags = flags,
		};
		list->last_round = grant->round;
	}
	if (record->n == LIST_MOST || record->attempt != entry->attempt || record->flags != flags ||
	    grant->event - record->first > LIST_OFFSET || grant->round - list->last_round > 1 ||
	    record->n_positions != grant->n_positions ||
	    !is_near(entry->rate_kbps, record->rate_kbps))
		return false;
	list->entries[record->n++] = (struct ctrl_granted){
		.offset = (uint16_t)((grant->event - record->first) |
				     (grant->round != list->last_round ? CTRL_NEXT_ROUND : 0)),
		.builder = (uint16_t)grant->builder,
		.slot = (uint16_t)grant->slot,
		.generation = (uint16_t)grant->generation,
	};
	list->last_round = grant->round;
	return true;
}

static bool gets_lists(const struct cluster_manager *manager, unsigned node)
{
	return manager_gets_all(manager, node) && takes_lists(manager, node);
}

// Sends the list to the nodes that get all grants, or to one.
static void send_list(struct cluster_manager *manager, struct grant_list *list, unsigned to)
{
	uint8_t bytes[CTRL_GRANTS_SIZE(LIST_MOST)];
	size_t size;

	if (list->record.n == 0)
		return;
	list->record.run = manager->run;
	list->record.flags |= manager->parameters.sched.phase_barrier > 0 ? CTRL_BARRIER : 0;
	size = ctrl_put_grants(bytes, sizeof(bytes), &list->record, list->entries);
	list->record.n = 0;
	if (to != CLUSTER_NONE) {
		manager_send(manager, to, bytes, size);
		return;
	}
	manager_send_readouts(manager, gets_lists, bytes, size);
}

// Sends the grants from `first` on: all of them, or those of the builders of node `to`.
static void send_lists(struct cluster_manager *manager, const struct manager_grants *of,
		       unsigned first, unsigned to)
{
	struct grant_list list;

	list.of = of;
	list.record = (struct ctrl_grants){ .n = 0 };
	list.last_round = 0;
	for (unsigned i = first; i < of->n; i = to == CLUSTER_NONE ? i + 1 : of->next[i]) {
		if (!has_list_form(manager, &of->grants[i]) || add_grant(&list, i))
			continue;
		send_list(manager, &list, to);
		(void)add_grant(&list, i);
	}
	send_list(manager, &list, to);
}

static unsigned node_of(const struct cluster_manager *manager, const struct sched_grant *grant)
{
	return manager->cluster->builders[grant->builder].node;
}

// Sends the nodes that do not get all grants those of their builders.
static void send_own(struct cluster_manager *manager, struct manager_grants *of)
{
	uint16_t heads[GRANTS_MOST];
	unsigned n = 0;

	for (unsigned i = 0; i < of->n; i++) {
		unsigned node = node_of(manager, &of->grants[i]);
		uint16_t *last;

		if (!takes_lists(manager, node) || manager_gets_all(manager, node))
			continue;
		last = &manager->nodes[node].last_grant;
		if (*last == 0)
			heads[n++] = (uint16_t)i;
		else
			of->next[*last - 1] = (uint16_t)i;
		of->next[i] = UINT16_MAX;
		*last = (uint16_t)(i + 1);
	}
	for (unsigned i = 0; i < n; i++) {
		unsigned node = node_of(manager, &of->grants[heads[i]]);

		manager->nodes[node].last_grant = 0;
		send_lists(manager, of, heads[i], node);
	}
}

static bool all_take_lists(const struct cluster_manager *manager)
{
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (manager->nodes[i].registered && !takes_lists(manager, i))
			return false;
	return true;
}

void manager_send_grants(struct cluster_manager *manager, struct manager_grants *of)
{
	bool all = all_take_lists(manager);

	if (of->n == 0)
		return;
	// Builders get their grants first, so that they are ready when the data arrives.
	send_own(manager, of);
	if (manager->parameters.cluster.mode == SCHED_PUSH)
		send_lists(manager, of, 0, CLUSTER_NONE);
	for (unsigned i = 0; i < of->n; i++) {
		bool in_list = has_list_form(manager, &of->grants[i]);

		if (!all || !in_list)
			manager_send_grant(manager, &of->grants[i], of->entries[i], in_list);
	}
}

// --- steps ---

static void send_steps(struct cluster_manager *manager, struct manager_steps *steps)
{
	uint8_t bytes[CTRL_STEPS_SIZE(MANAGER_STEPS_MOST)];

	if (steps->record.n == 0)
		return;
	manager_send(manager, manager->cluster->builders[steps->builder].node, bytes,
		     ctrl_put_steps(bytes, sizeof(bytes), &steps->record, steps->entries));
	steps->record.n = 0;
}

void manager_publish(struct cluster_manager *manager, unsigned builder, uint32_t token,
		     const struct entry *entry, struct manager_steps *steps)
{
	struct ctrl_steps *record = &steps->record;

	if (!takes_lists(manager, manager->cluster->builders[builder].node) ||
	    manager_maybe_published(manager, entry->event) || token > UINT16_MAX) {
		manager_send_step(manager, builder, token, entry, CTRL_STEP_PUBLISH);
		return;
	}
	if (record->n == MANAGER_STEPS_MOST ||
	    (record->n > 0 &&
	     (record->attempt != entry->attempt ||
	      ctrl_event_at(record->first, (uint16_t)(entry->event - record->first)) !=
		  entry->event)))
		send_steps(manager, steps);
	if (record->n == 0) {
		steps->builder = builder;
		*record = (struct ctrl_steps){
			.first = entry->event,
			.run = manager->run,
			.builder = (uint16_t)manager->cluster->builders[builder].index,
			.step = CTRL_STEP_PUBLISH,
			.attempt = entry->attempt,
		};
	}
	steps->entries[record->n++] = (struct ctrl_step_event){
		.offset = (uint16_t)(entry->event - record->first),
		.slot = (uint16_t)token,
		.generation = entry->generation,
	};
}

void manager_built(struct cluster_manager *manager, unsigned from, const struct ctrl_record *record,
		   uint64_t now)
{
	struct manager_steps steps;
	struct ctrl_built received;
	bool is_published;

	if (ctrl_get_built(record, &received) != WIRE_OK || received.run != manager->run ||
	    manager->sched == NULL)
		return;
	is_published = (received.flags & CTRL_ALREADY_PUBLISHED) != 0;
	steps.record.n = 0;
	for (unsigned i = 0; i < received.n; i++) {
		const struct ctrl_built_event at = ctrl_built_event_at(&received, i);
		const struct ctrl_done done = {
			.event = ctrl_event_at(received.first, at.offset),
			.bytes = at.bytes,
			.slot = at.slot,
			.generation = at.generation,
			.run = received.run,
			.n_missing = at.n_missing,
			.builder = received.builder,
			.attempt = at.attempt,
			.outcome = at.n_missing > 0 ? CTRL_INCOMPLETE : CTRL_COMPLETE,
		};

		if (is_published)
			manager_published_unasked(manager, from, &done, now);
		else if (manager->adopting)
			manager_store_done(manager, from, &done);
		else
			manager_done(manager, from, &done, &steps, now);
	}
	send_steps(manager, &steps);
}

void manager_take_done(struct cluster_manager *manager, unsigned from, const struct ctrl_done *done,
		       uint64_t now)
{
	struct manager_steps steps;

	steps.record.n = 0;
	manager_done(manager, from, done, &steps, now);
	send_steps(manager, &steps);
}

void manager_steps(struct cluster_manager *manager, unsigned from, const struct ctrl_record *record,
		   uint64_t now)
{
	struct ctrl_steps received;

	if (ctrl_get_steps(record, &received) != WIRE_OK || received.run != manager->run ||
	    received.step != CTRL_STEP_PUBLISHED)
		return;
	for (unsigned i = 0; i < received.n; i++) {
		const struct ctrl_progress progress = ctrl_progress_at(&received, i);

		manager_published(manager, from, &progress, now);
	}
}
