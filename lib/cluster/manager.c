// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Nodes that come and go.
#include "cluster/manager_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void manager_send(struct cluster_manager *manager, unsigned node, const void *record, size_t size)
{
	const struct cluster_post *post = &manager->parameters.post;

	post->send(post->context, node, record, size);
}

bool manager_is_static(const struct cluster_manager *manager)
{
	return manager->parameters.config->event_manager.mode == CONFIG_MODE_STATIC;
}

bool manager_takes_part(const struct manager_node *node)
{
	return node->registered && !node->lost && !node->operator_excluded;
}

struct cluster_manager *cluster_manager_create(const struct cluster_manager_parameters *parameters,
					       char *error)
{
	const struct config_cluster *cluster = &parameters->config->cluster;
	struct cluster_manager *manager = calloc(1, sizeof(*manager));
	struct sched *trial;

	snprintf(error, CLUSTER_ERROR_SIZE, "event manager: out of memory");
	if (manager == NULL)
		return NULL;
	manager->parameters = *parameters;
	manager->cluster = cluster;
	manager->state = CTRL_CONFIGURED;
	manager->command_start = parameters->autostart;
	manager->end = UINT64_MAX;
	cluster_readouts_make(&manager->readouts, cluster);
	manager->nodes = calloc(cluster->n_nodes, sizeof(*manager->nodes));
	manager->builders = calloc(cluster->n_builders, sizeof(*manager->builders));
	if (manager->nodes == NULL || manager->builders == NULL)
		goto failed;
	for (unsigned i = 0; i < cluster->n_builders; i++) {
		struct manager_builder *builder = &manager->builders[i];

		builder->n = cluster->builders[i].slots;
		builder->entries = calloc(builder->n, sizeof(*builder->entries));
		if (builder->entries == NULL)
			goto failed;
	}
	// What is wrong with the configuration is told now, not when the nodes are there.
	trial = manager_make_sched(manager, 0, error);
	if (trial == NULL)
		goto failed;
	sched_destroy(trial);
	return manager;
failed:
	cluster_manager_destroy(manager);
	return NULL;
}

void cluster_manager_destroy(struct cluster_manager *manager)
{
	if (manager == NULL)
		return;
	for (unsigned i = 0; manager->builders != NULL && i < manager->cluster->n_builders; i++)
		free(manager->builders[i].entries);
	sched_destroy(manager->sched);
	free(manager->adopted);
	free(manager->builders);
	free(manager->nodes);
	free(manager);
}

// --- registration ---

static void say_welcome(struct cluster_manager *manager, unsigned node, enum ctrl_verdict verdict,
			const char *text)
{
	struct ctrl_welcome welcome = {
		.config_hash = manager->cluster->hash,
		.run = manager->run,
		.verdict = (uint16_t)verdict,
		.run_state = (uint16_t)manager->state,
	};
	uint8_t bytes[CTRL_WELCOME_SIZE];

	snprintf(welcome.text, sizeof(welcome.text), "%s", text);
	manager_send(manager, node, bytes, ctrl_put_welcome(bytes, sizeof(bytes), &welcome));
}

void manager_include_source(struct cluster_manager *manager, unsigned node, bool included,
			    uint64_t now)
{
	unsigned rank = manager->readouts.of_node[node];

	if (rank == CLUSTER_NONE || manager->nodes[node].source_excluded != included)
		return;
	manager->nodes[node].source_excluded = !included;
	if (manager->sched == NULL)
		return;
	if (included)
		sched_include_source(manager->sched, rank, now);
	else
		sched_exclude_source(manager->sched, rank, now);
}

static void take_register(struct cluster_manager *manager, unsigned from,
			  const struct ctrl_record *record, uint64_t now)
{
	struct manager_node *node = &manager->nodes[from];
	struct ctrl_register said;

	if (ctrl_get_register(record, &said) != WIRE_OK)
		return;
	if (said.config_hash != manager->cluster->hash) {
		say_welcome(manager, from, CTRL_REFUSED_CONFIG,
			    "its configuration is not the manager's");
		return;
	}
	if (node->operator_excluded) {
		say_welcome(manager, from, CTRL_REFUSED_NOT_NOW, "it is excluded");
		return;
	}
	if (manager->first_heard == 0)
		manager->first_heard = now;
	// A run goes on under a manager that restarted.
	if (said.run != 0 && manager->run == 0) {
		manager->run = said.run;
		manager->state = CTRL_RUNNING;
		manager->command_start = false;
	}
	manager_exclude_builders(manager, from, now);
	node->registered = true;
	node->registrations++;
	node->doubt_until = 0;
	for (unsigned i = 0; i < manager->cluster->nodes[from].n_builders; i++) {
		struct manager_builder *builder =
		    &manager->builders[manager->cluster->nodes[from].first_builder + i];

		builder->reported = builder->adopted = false;
	}
	node->welcome_due = manager->sched == NULL;
	if (node->welcome_due)
		return; // all that register together are welcomed together
	say_welcome(manager, from, CTRL_ACCEPTED, "welcome");
	if (said.run != manager->run || manager->run == 0)
		manager_bring_into_line(manager, from);
}

static void register_builder(struct cluster_manager *manager, unsigned builder, uint64_t now)
{
	const struct config_cluster_builder *at = &manager->cluster->builders[builder];
	struct manager_node *node = &manager->nodes[at->node];

	sched_include(manager->sched, builder, now);
	if (sched_register(manager->sched, builder, node->registrations, at->slots, now) ==
	    SCHED_OK)
		manager->builders[builder].registered = true;
	node->builders_excluded = false;
}

static void take_builder(struct cluster_manager *manager, unsigned from,
			 const struct ctrl_record *record, uint64_t now)
{
	struct ctrl_builder said;
	unsigned builder;

	if (ctrl_get_builder(record, &said) != WIRE_OK ||
	    said.builder >= manager->cluster->nodes[from].n_builders)
		return;
	builder = manager->cluster->nodes[from].first_builder + said.builder;
	manager->builders[builder].reported = true;
	if (manager->sched != NULL)
		register_builder(manager, builder, now);
}

static void keep_adopted(struct cluster_manager *manager, const struct adopted *adopted)
{
	if (manager->n_adopted == manager->adopted_size) {
		unsigned size = manager->adopted_size * 2 + 64;
		struct adopted *more = realloc(manager->adopted, size * sizeof(*more));

		if (more == NULL)
			return;
		manager->adopted = more;
		manager->adopted_size = size;
	}
	manager->adopted[manager->n_adopted++] = *adopted;
}

static void take_adopt(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record, uint64_t now)
{
	struct ctrl_adopt said;

	if (ctrl_get_adopt(record, &said) != WIRE_OK ||
	    said.builder >= manager->cluster->nodes[from].n_builders || said.run != manager->run)
		return;
	if ((said.flags & CTRL_LAST) != 0)
		manager->builders[manager->cluster->nodes[from].first_builder + said.builder]
		    .adopted = true;
	for (unsigned i = 0; i < said.n; i++) {
		const struct adopted adopted = {
			.held = ctrl_held_at(&said, i),
			.builder =
			    (uint16_t)(manager->cluster->nodes[from].first_builder + said.builder),
		};

		if (manager->adopting_since != 0)
			keep_adopted(manager, &adopted);
		else
			manager_adopt(manager, &adopted, now);
	}
}

static void take_credits(struct cluster_manager *manager, unsigned from,
			 const struct ctrl_record *record, uint64_t now)
{
	struct ctrl_credit_list said;
	unsigned builder;

	if (ctrl_get_credit_list(record, &said) != WIRE_OK ||
	    said.builder >= manager->cluster->nodes[from].n_builders)
		return;
	builder = manager->cluster->nodes[from].first_builder + said.builder;
	for (unsigned i = 0; i < said.n; i++) {
		struct ctrl_credit credit = ctrl_credit_at(&said, i);

		sched_credit(manager->sched, builder, credit.slot, credit.generation, now);
	}
}

static void take_announce(struct cluster_manager *manager, unsigned from,
			  const struct ctrl_record *record, uint64_t now)
{
	struct manager_node *node = &manager->nodes[from];
	struct ctrl_announce said;
	unsigned rank = manager->readouts.of_node[from];

	if (rank == CLUSTER_NONE || ctrl_get_announce(record, &said) != WIRE_OK ||
	    said.run != manager->run)
		return;
	node->begin = said.begin;
	node->end = said.end;
	node->ended = (said.flags & CTRL_END_OF_RUN) != 0;
	if (manager->sched != NULL) {
		sched_announce(manager->sched, rank, said.end, now);
		if (manager_takes_part(node))
			manager_include_source(manager, from, true, now);
	}
}

static void take_heartbeat(struct cluster_manager *manager, unsigned from,
			   const struct ctrl_record *record, uint64_t now)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[from];
	struct ctrl_heartbeat said;

	if (ctrl_get_heartbeat(record, &said) != WIRE_OK)
		return;
	manager->nodes[from].state = said.run_state;
	manager->nodes[from].slots_free = said.slots_free;
	if (said.n_ports == 0 || manager->sched == NULL)
		return;
	for (unsigned i = 0; i < at->n_builders; i++) {
		const struct ctrl_port *port = &said.ports[0];
		unsigned priority = manager->parameters.config->event_manager.data_priority;
		const struct sched_port state = {
			// Pausing its own partner means that what it receives is too much.
			.paused = (port->pausing >> priority & 1) != 0,
			.paused_share = (double)port->paused_share / CTRL_FULL_SHARE,
			.occupancy = (double)port->occupancy / CTRL_FULL_SHARE,
			.marks = port->ecn_marks,
		};

		sched_port_state(manager->sched, at->first_builder + i, &state, now);
	}
}

static void take_bye(struct cluster_manager *manager, unsigned from, uint64_t now)
{
	manager->nodes[from].registered = false;
	manager_exclude_builders(manager, from, now);
	manager_include_source(manager, from, false, now);
}

void cluster_manager_record(struct cluster_manager *manager, unsigned from,
			    const struct ctrl_record *record, uint64_t now)
{
	struct ctrl_done done;
	struct ctrl_progress progress;

	if (from >= manager->cluster->n_nodes)
		return;
	if (record->type == CTRL_REGISTER) {
		take_register(manager, from, record, now);
		return;
	}
	if (!manager->nodes[from].registered)
		return;
	switch (record->type) {
	case CTRL_BUILDER:
		take_builder(manager, from, record, now);
		break;
	case CTRL_ADOPT:
		take_adopt(manager, from, record, now);
		break;
	case CTRL_CREDIT_LIST:
		if (manager->sched != NULL)
			take_credits(manager, from, record, now);
		break;
	case CTRL_ANNOUNCE:
		take_announce(manager, from, record, now);
		break;
	case CTRL_DONE:
		if (manager->sched != NULL && ctrl_get_done(record, &done) == WIRE_OK &&
		    done.run == manager->run)
			manager_done(manager, from, &done, now);
		break;
	case CTRL_PROGRESS:
		if (manager->sched != NULL && ctrl_get_progress(record, &progress) == WIRE_OK &&
		    progress.run == manager->run)
			manager_published(manager, from, &progress, now);
		break;
	case CTRL_HEARTBEAT:
		take_heartbeat(manager, from, record, now);
		break;
	case CTRL_BYE:
		take_bye(manager, from, now);
		break;
	default:
		break;
	}
}

// --- silence ---

void manager_say_member(struct cluster_manager *manager, unsigned node, enum ctrl_type type,
			enum ctrl_reason reason)
{
	const struct ctrl_member member = {
		.node = (uint16_t)node,
		.subject = CTRL_SUBJECT_NODE,
		.reason = (uint8_t)reason,
	};
	uint8_t bytes[CTRL_MEMBER_SIZE];

	manager_send(manager, node, bytes,
		     type == CTRL_EXCLUDE ? ctrl_put_exclude(bytes, sizeof(bytes), &member)
					  : ctrl_put_include(bytes, sizeof(bytes), &member));
}

static void exclude_silent(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	manager->view.excluded++;
	manager_exclude_builders(manager, node, now);
	// It hears of it when it is back, behind what was said before.
	manager_say_member(manager, node, CTRL_EXCLUDE, CTRL_REASON_SILENT);
}

static void node_lost(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	const struct config_event_manager *config = &manager->parameters.config->event_manager;
	const struct config_cluster_node *at = &manager->cluster->nodes[node];
	const struct sched_port paused = { .paused = true };

	manager->nodes[node].lost = true;
	if (config->on_source_silent == CONFIG_SOURCE_SILENT_CONTINUE)
		manager_include_source(manager, node, false, now);
	if (!manager->nodes[node].registered || at->n_builders == 0)
		return;
	if (!manager_in_doubt(manager, node)) {
		exclude_silent(manager, node, now);
		return;
	}
	manager->nodes[node].doubt_until = now + CLUSTER_IN_DOUBT_NS;
	for (unsigned i = 0; manager->sched != NULL && i < at->n_builders; i++)
		sched_port_state(manager->sched, at->first_builder + i, &paused, now);
}

static void node_back(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[node];
	const struct sched_port open = { .paused = false };

	manager->nodes[node].lost = false;
	if (manager->nodes[node].doubt_until == 0)
		return; // EXCLUDE makes it register anew
	manager->nodes[node].doubt_until = 0;
	for (unsigned i = 0; manager->sched != NULL && i < at->n_builders; i++)
		sched_port_state(manager->sched, at->first_builder + i, &open, now);
	if (manager->nodes[node].registered)
		manager_include_source(manager, node, true, now);
}

void cluster_manager_event(struct cluster_manager *manager, unsigned peer, enum control_event event,
			   uint64_t now)
{
	if (peer >= manager->cluster->n_nodes)
		return;
	switch (event) {
	case CONTROL_LOST:
		node_lost(manager, peer, now);
		break;
	case CONTROL_BACK:
		node_back(manager, peer, now);
		break;
	case CONTROL_RESTARTED:
		// Another process: what the one before held is gone.
		manager->nodes[peer].lost = false;
		manager->nodes[peer].registered = false;
		manager_exclude_builders(manager, peer, now);
		manager_include_source(manager, peer, false, now);
		break;
	case CONTROL_CONNECTED:
		manager->nodes[peer].lost = false;
		break;
	default:
		break;
	}
}

// --- the scheduler's beginning ---

bool manager_all_registered(const struct cluster_manager *manager)
{
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (!manager->nodes[i].registered && !manager->nodes[i].operator_excluded)
			return false;
	return true;
}

// Whether every builder that is there has said what it holds.
static bool all_adopted(const struct cluster_manager *manager)
{
	for (unsigned i = 0; i < manager->cluster->n_builders; i++)
		if (manager->nodes[manager->cluster->builders[i].node].registered &&
		    !manager->builders[i].adopted)
			return false;
	return true;
}

// What no source holds any longer has been finished.
static uint64_t oldest_held(const struct cluster_manager *manager)
{
	uint64_t oldest = UINT64_MAX;

	for (unsigned i = 0; i < manager->readouts.n; i++) {
		const struct manager_node *node = &manager->nodes[manager->readouts.nodes[i]];

		if (node->registered && node->begin < oldest)
			oldest = node->begin;
	}
	return oldest == UINT64_MAX ? 0 : oldest;
}

static bool announced_all(const struct cluster_manager *manager)
{
	for (unsigned i = 0; i < manager->readouts.n; i++) {
		const struct manager_node *node = &manager->nodes[manager->readouts.nodes[i]];

		if (node->registered && node->end == 0)
			return false;
	}
	return true;
}

static void make_scheduler(struct cluster_manager *manager, uint64_t now)
{
	char error[CLUSTER_ERROR_SIZE];

	manager->sched = manager_make_sched(manager, oldest_held(manager), error);
	if (manager->sched == NULL) {
		manager->state = CTRL_FAILED;
		return;
	}
	manager->told_release = sched_released(manager->sched);
	manager->adopting_since = now;
	sched_set_paused(manager->sched, true);
	for (unsigned i = 0; i < manager->readouts.n; i++) {
		unsigned index = manager->readouts.nodes[i];
		struct manager_node *node = &manager->nodes[index];

		if (node->end > 0)
			sched_announce(manager->sched, i, node->end, now);
		if (!node->registered)
			manager_include_source(manager, index, false, now);
	}
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++) {
		if (!manager->nodes[i].welcome_due)
			continue;
		manager->nodes[i].welcome_due = false;
		say_welcome(manager, i, CTRL_ACCEPTED, "welcome");
		if (manager->run != 0)
			manager_bring_into_line(manager, i);
	}
}

// Waits for the nodes, but not for ever where a run goes on that another manager has led.
static void begin(struct cluster_manager *manager, uint64_t now)
{
	bool all = manager_all_registered(manager);

	if (manager->first_heard == 0)
		return;
	if (manager->run != 0)
		all = (all && announced_all(manager)) ||
		      now - manager->first_heard > CLUSTER_SETTLE_NS;
	if (all)
		make_scheduler(manager, now);
}

static void end_adoption(struct cluster_manager *manager, uint64_t now)
{
	if (!all_adopted(manager) && now - manager->adopting_since < CLUSTER_SETTLE_NS)
		return;
	manager->adopting_since = 0;
	manager_adopt_all(manager, now);
	sched_set_paused(manager->sched, manager->state == CTRL_PAUSED);
	if (manager->state == CTRL_CONFIGURED)
		manager->state = CTRL_READY;
}

// Whether the configuration wants the run to stand still while a source is silent.
static bool waits_for_source(const struct cluster_manager *manager)
{
	const struct config_event_manager *config = &manager->parameters.config->event_manager;

	if (config->on_source_silent != CONFIG_SOURCE_SILENT_PAUSE)
		return false;
	for (unsigned i = 0; i < manager->readouts.n; i++)
		if (manager->nodes[manager->readouts.nodes[i]].lost)
			return true;
	return false;
}

void cluster_manager_poll(struct cluster_manager *manager, uint64_t now)
{
	if (manager->sched == NULL) {
		begin(manager, now);
		return;
	}
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++) {
		struct manager_node *node = &manager->nodes[i];

		if (node->doubt_until != 0 &&
		    (now >= node->doubt_until || !manager_in_doubt(manager, i)) && node->lost)
			exclude_silent(manager, i, now);
	}
	if (manager->adopting_since != 0) {
		end_adoption(manager, now);
		return;
	}
	if (!manager_is_static(manager) &&
	    (manager->state == CTRL_RUNNING || manager->state == CTRL_DRAINING) &&
	    !waits_for_source(manager))
		manager_grant(manager, now);
	manager_release(manager);
	manager_throttle(manager);
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
		view->n_registered += manager->nodes[i].registered;
		view->in_doubt += manager->nodes[i].doubt_until != 0;
	}
	if (manager->sched == NULL)
		return;
	view->released = sched_released(manager->sched);
	view->announced = sched_announced(manager->sched);
	view->outstanding = sched_outstanding(manager->sched);
	view->waiting = sched_waiting(manager->sched);
	view->level = sched_level(manager->sched);
	view->throttled = sched_throttled(manager->sched);
}

void cluster_manager_node(const struct cluster_manager *manager, unsigned node,
			  struct cluster_node_state *state)
{
	const struct manager_node *at = &manager->nodes[node];

	*state = (struct cluster_node_state){
		.registered = at->registered,
		.lost = at->lost,
		.excluded = at->operator_excluded,
		.slots_free = at->slots_free,
		.state = at->state,
	};
}

const struct sched *cluster_manager_sched(const struct cluster_manager *manager)
{
	return manager->sched;
}
