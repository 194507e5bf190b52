// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Creation of the manager, dispatch of records, poll and views.
#include "cluster/manager_internal.h"

#include <stdlib.h>

void manager_send(struct cluster_manager *manager, unsigned node, const void *record, size_t size)
{
	cluster_send(&manager->parameters.transport, node, record, size);
}

void manager_send_readouts(struct cluster_manager *manager,
			   bool (*wants)(const struct cluster_manager *manager, unsigned node),
			   const void *record, size_t size)
{
	const struct cluster_transport *transport = &manager->parameters.transport;
	unsigned n = 0;

	for (unsigned i = 0; i < manager->readouts.n; i++) {
		const unsigned node = manager->readouts.nodes[i];

		if (!wants(manager, node))
			continue;
		if (manager->nodes[node].takes_shared && transport->send_all != NULL)
			manager->targets[n++] = (uint16_t)node;
		else
			manager_send(manager, node, record, size);
	}
	if (n > 0)
		transport->send_all(transport->context, manager->targets, n, record, size);
}

bool manager_is_static(const struct cluster_manager *manager)
{
	return manager->parameters.cluster.mode == SCHED_STATIC;
}

bool manager_is_target(const struct cluster_manager *manager, unsigned node)
{
	return manager->nodes[node].registered && !manager->nodes[node].lost;
}

bool manager_is_ready(const struct cluster_manager *manager)
{
	return manager->sched != NULL && !manager->adopting;
}

static bool make_builders(struct cluster_manager *manager)
{
	const struct cluster_system *cluster = manager->cluster;

	manager->builders = calloc(cluster->n_builders, sizeof(*manager->builders));
	for (unsigned i = 0; manager->builders != NULL && i < cluster->n_builders; i++) {
		struct manager_builder *builder = &manager->builders[i];

		builder->n = cluster->builders[i].slots;
		builder->entries = calloc(builder->n, sizeof(*builder->entries));
		if (builder->entries == NULL)
			return false;
	}
	return manager->builders != NULL;
}

struct cluster_manager *cluster_manager_create(const struct cluster_manager_parameters *parameters)
{
	const struct cluster_system *cluster = parameters->cluster.system;
	struct cluster_manager *manager = calloc(1, sizeof(*manager));

	if (manager == NULL)
		return NULL;
	manager->parameters = *parameters;
	manager->cluster = cluster;
	manager->state = CTRL_CONFIGURED;
	manager->command_start = parameters->autostart;
	manager->end = UINT64_MAX;
	manager->changes = 1;
	cluster_positions_make(manager->positions, cluster);
	on_wire_make(&manager->on_wire, &parameters->wire);
	manager->nodes = calloc(cluster->n_nodes, sizeof(*manager->nodes));
	manager->targets = calloc(cluster->n_nodes, sizeof(*manager->targets));
	for (unsigned i = 0;
	     manager->nodes != NULL && parameters->excluded != NULL && i < cluster->n_nodes; i++)
		manager->nodes[i].operator_excluded = parameters->excluded[i];
	if (manager->nodes == NULL || manager->targets == NULL ||
	    !cluster_readouts_make(&manager->readouts, cluster) ||
	    !sched_phases_make(&manager->phases, manager->readouts.n) || !make_builders(manager) ||
	    !manager_make_maybe_published(manager) || !manager_make_publishers(manager)) {
		cluster_manager_destroy(manager);
		return NULL;
	}
	return manager;
}

void cluster_manager_destroy(struct cluster_manager *manager)
{
	if (manager == NULL)
		return;
	for (unsigned i = 0; manager->builders != NULL && i < manager->cluster->n_builders; i++) {
		free(manager->builders[i].entries);
		free(manager->builders[i].adopted);
	}
	sched_destroy(manager->sched);
	sched_phases_free(&manager->phases);
	free(manager->maybe_published);
	free(manager->publishers);
	cluster_readouts_free(&manager->readouts);
	free(manager->builders);
	free(manager->targets);
	free(manager->nodes);
	free(manager);
}

uint32_t cluster_manager_renumbered(const struct cluster_manager *manager)
{
	return manager->renumbered;
}

// --- records ---

static void take_builder(struct cluster_manager *manager, unsigned from,
			 const struct ctrl_record *record, uint64_t now)
{
	struct ctrl_builder received;
	struct manager_builder *builder;

	(void)now;
	if (ctrl_get_builder(record, &received) != WIRE_OK ||
	    received.builder >= manager->cluster->nodes[from].n_builders)
		return;
	builder =
	    &manager->builders[manager->cluster->nodes[from].first_builder + received.builder];
	builder->slots = received.slots;
	builder->link_mbps = received.link_mbps;
	if (manager->sched != NULL && manager->cluster->nodes[from].reports_link_rate)
		sched_set_link_rate(manager->sched, (uint32_t)(builder - manager->builders),
				    manager_link_rate(received.link_mbps));
	builder->placement = (struct placement){
		.address = received.address,
		.stride = received.stride,
		.slot_size = received.slot_size,
		.slots = received.slots,
		.rkey = received.address != 0 ? received.rkey : 0,
	};
}

static void take_credits(struct cluster_manager *manager, unsigned from,
			 const struct ctrl_record *record, uint64_t now)
{
	struct ctrl_credit_list received;
	unsigned builder;

	if (manager->sched == NULL || ctrl_get_credit_list(record, &received) != WIRE_OK ||
	    received.builder >= manager->cluster->nodes[from].n_builders)
		return;
	builder = manager->cluster->nodes[from].first_builder + received.builder;
	for (unsigned i = 0; i < received.n; i++) {
		struct ctrl_credit credit = ctrl_credit_at(&received, i);

		sched_credit(manager->sched, builder, credit.slot, credit.generation, now);
	}
}

// A node reports which events it knows as released. The scheduler is later created from this. A
// node that was silent when this manager took over may know more of them.
static void take_release(struct cluster_manager *manager, unsigned from,
			 const struct ctrl_record *record, uint64_t now)
{
	struct ctrl_release received;

	if (ctrl_get_release(record, &received) != WIRE_OK || received.run != manager->run)
		return;
	manager->nodes[from].released = received.event;
	if (manager->sched != NULL && !manager->adopting &&
	    received.event > sched_released(manager->sched))
		manager_adopt_released(manager, now);
}

static void take_done(struct cluster_manager *manager, unsigned from,
		      const struct ctrl_record *record, uint64_t now)
{
	struct ctrl_done received;

	if (ctrl_get_done(record, &received) != WIRE_OK || received.run != manager->run ||
	    manager->sched == NULL)
		return;
	if (manager->adopting)
		manager_store_done(manager, from, &received);
	else
		manager_take_done(manager, from, &received, now);
}

static void take_progress(struct cluster_manager *manager, unsigned from,
			  const struct ctrl_record *record, uint64_t now)
{
	struct ctrl_progress received;

	if (ctrl_get_progress(record, &received) == WIRE_OK && received.run == manager->run &&
	    received.step == CTRL_STEP_PUBLISHED)
		manager_published(manager, from, &received, now);
}

static void take_phase(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record, uint64_t now)
{
	const unsigned rank = manager->readouts.of_node[from];
	struct ctrl_phase received;

	(void)now;
	if (rank != CLUSTER_NONE && ctrl_get_phase(record, &received) == WIRE_OK &&
	    received.run == manager->run && (received.flags & CTRL_OF_ALL) == 0)
		sched_phases_reach(&manager->phases, rank, received.phase);
}

struct record_handler {
	void (*take)(struct cluster_manager *manager, unsigned from,
		     const struct ctrl_record *record, uint64_t now);
	// Events that a node published shortly before its exclusion count too, and those that it
	// gave up then are granted again.
	bool from_excluded;
};

static const struct record_handler handlers[CTRL_N_TYPES] = {
	[CTRL_REGISTER] = { manager_register, false },
	[CTRL_PROGRESS] = { take_progress, true },
	[CTRL_STEPS] = { manager_steps, true },
	[CTRL_ADOPT] = { manager_adopt, true },
	[CTRL_RELEASE] = { take_release, false },
	[CTRL_RUN_STATE] = { manager_run_state, false },
	[CTRL_ANNOUNCE] = { manager_announced, false },
	[CTRL_BUILDER] = { take_builder, false },
	[CTRL_CREDIT_LIST] = { take_credits, false },
	[CTRL_DONE] = { take_done, true },
	[CTRL_BUILT] = { manager_built, true },
	[CTRL_PHASE] = { take_phase, false },
	[CTRL_HEARTBEAT] = { manager_heartbeat, false },
	[CTRL_BYE] = { manager_bye, false },
};

void cluster_manager_record(struct cluster_manager *manager, unsigned from,
			    const struct ctrl_record *record, uint64_t now)
{
	const struct record_handler *handler;
	const struct manager_node *node;

	if (from >= manager->cluster->n_nodes || record->type >= CTRL_N_TYPES)
		return;
	node = &manager->nodes[from];
	handler = &handlers[record->type];
	if (handler->take != NULL && (node->registered || record->type == CTRL_REGISTER ||
				      (node->operator_excluded && handler->from_excluded)))
		handler->take(manager, from, record, now);
}

// Tells the readout nodes which phases all of them have finished.
static void send_phase(struct cluster_manager *manager)
{
	struct ctrl_phase record = { .run = manager->run, .flags = CTRL_OF_ALL };
	uint8_t bytes[CTRL_PHASE_SIZE];

	if (!manager->phases.is_due || !sched_phases_least(&manager->phases, &record.phase) ||
	    (manager->has_phase && record.phase == manager->phase))
		return;
	manager->has_phase = true;
	manager->phase = record.phase;
	manager_send_readouts(manager, manager_is_target, bytes,
			      ctrl_put_phase(bytes, sizeof(bytes), &record));
}

void cluster_manager_poll(struct cluster_manager *manager, uint64_t now)
{
	const bool waits = manager_waits_for_source(manager);

	if (manager->sched == NULL) {
		manager_begin(manager, now);
		return;
	}
	manager_end_in_doubt(manager, now);
	manager_end_silence(manager, now);
	if (manager->adopting) {
		manager_end_adoption(manager, now);
		return;
	}
	if (!manager_is_static(manager)) {
		if ((manager->state == CTRL_RUNNING || manager->state == CTRL_DRAINING) && !waits)
			manager_grant(manager, now);
		manager_repeat(manager, now);
		manager_release(manager);
		manager_throttle(manager);
		send_phase(manager);
	}
	manager_lead(manager, now);
}

// --- views ---

void cluster_manager_view(const struct cluster_manager *manager, struct cluster_manager_view *view)
{
	*view = manager->view;
	view->state = manager->state;
	view->run = manager->run;
	view->end = manager->end;
	view->n_nodes = manager->cluster->n_nodes;
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++) {
		view->n_registered += manager->nodes[i].registered && !manager->nodes[i].lost;
		view->in_doubt += manager->nodes[i].in_doubt_until != 0;
	}
	if (manager->sched == NULL)
		return;
	view->released = sched_released(manager->sched);
	view->announced = sched_announced(manager->sched);
	view->outstanding = sched_outstanding(manager->sched);
	view->waiting = sched_waiting(manager->sched);
	view->level = sched_level(manager->sched);
	view->throttled = !manager_is_static(manager) && sched_throttled(manager->sched);
}

void cluster_manager_node(const struct cluster_manager *manager, unsigned node,
			  struct cluster_node_state *state)
{
	const struct manager_node *at = &manager->nodes[node];

	*state = (struct cluster_node_state){
		.registered = at->registered,
		.lost = at->lost,
		.process_ended = at->process_ended,
		.excluded = at->operator_excluded,
		.in_doubt = at->lost ? manager_count_events(manager, node) : 0,
		.in_doubt_until = at->in_doubt_until,
		.slots_free = at->slots_free,
		.state = at->state,
	};
}

const struct sched *cluster_manager_sched(const struct cluster_manager *manager)
{
	return manager->sched;
}
