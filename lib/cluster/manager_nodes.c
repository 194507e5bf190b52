// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Registration, silence, return and departure of nodes. manager_doubt.c decides what happens then
// with the events of their builders.
#include "cluster/manager_internal.h"

#include <stdio.h>

// --- registration ---

// A refused node learns neither the configuration nor the run, which an intruder could use.
static void send_welcome(struct cluster_manager *manager, unsigned node, enum ctrl_verdict verdict,
			 const char *text)
{
	const bool accepted = verdict == CTRL_ACCEPTED;
	struct ctrl_welcome welcome = {
		.config_hash = accepted ? manager->cluster->hash : 0,
		.run = accepted ? manager->run : 0,
		.verdict = (uint16_t)verdict,
		.run_state = (uint16_t)manager->state,
		.flags = CTRL_LISTS,
	};
	uint8_t bytes[CTRL_WELCOME_SIZE];

	snprintf(welcome.text, sizeof(welcome.text), "%s", text);
	manager_send(manager, node, bytes, ctrl_put_welcome(bytes, sizeof(bytes), &welcome));
}

void manager_welcome(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	manager->nodes[node].welcome_due = false;
	send_welcome(manager, node, CTRL_ACCEPTED, "welcome");
	manager_bring_into_line(manager, node);
	manager_send_sources(manager, node);
	// A process that is not in the run has none of its events.
	if (manager->nodes[node].run != manager->run && !manager->nodes[node].resumes)
		manager->nodes[node].missed_from = UINT64_MAX;
	manager_repeat_missed(manager, node, now);
}

// A restarted manager learns the number of the run that continues.
static void learn_run(struct cluster_manager *manager, uint32_t run)
{
	if (run == 0 || manager->run != 0 || manager->sched != NULL)
		return;
	manager->run = run;
	manager->resumed = true;
	manager->state = CTRL_RUNNING;
	manager->command_start = false;
}

// The operator excluded the node under an earlier manager. The exclusion waits until
// manager_is_ready(), because the node has to report first what it has published.
static void restore_excluded(const struct cluster_manager *manager, struct manager_node *node)
{
	node->exclude_due = !manager_is_ready(manager);
	node->operator_excluded = !node->exclude_due;
}

// Whether the manager has ended its run, and its process may begin another one, for which the node
// registers again.
static bool is_between_runs(const struct cluster_manager *manager,
			    const struct ctrl_register *received)
{
	return manager->parameters.cluster.prepared_run != 0 && manager->state == CTRL_STOPPED &&
	       (received->run == 0 || (received->flags & CTRL_PREPARED) != 0);
}

// The builders of the node will report the events that they hold.
static void expect_reports(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];

	for (unsigned i = 0; i < at->n_builders; i++) {
		manager_drop_adopted(manager, at->first_builder + i, now);
		manager->builders[at->first_builder + i].reporting = true;
		manager->builders[at->first_builder + i].n_reported = 0;
	}
}

// The node has reached no phase in its new session, and does not know what all have.
static void restart_phases(struct cluster_manager *manager, unsigned node)
{
	const unsigned rank = manager->readouts.of_node[node];

	manager->has_phase = false;
	if (rank != CLUSTER_NONE)
		sched_phases_set_part(&manager->phases, rank,
				      !manager->nodes[node].source_excluded);
}

void manager_register(struct cluster_manager *manager, unsigned from,
		      const struct ctrl_record *record, uint64_t now)
{
	struct manager_node *node = &manager->nodes[from];
	struct ctrl_register received;

	if (ctrl_get_register(record, &received) != WIRE_OK || is_between_runs(manager, &received))
		return;
	if (received.config_hash != manager->cluster->hash) {
		send_welcome(manager, from, CTRL_REFUSED_CONFIG,
			     "its configuration is not the manager's");
		return;
	}
	if ((received.flags & CTRL_EXCLUDED) != 0 && !node->operator_excluded && node->commanded) {
		// The node did not receive its INCLUDE.
		manager_send_member(manager, from, CTRL_INCLUDE, CTRL_REASON_OPERATOR);
		return;
	}
	if ((received.flags & CTRL_EXCLUDED) != 0 && !node->operator_excluded)
		restore_excluded(manager, node);
	if (node->operator_excluded) {
		send_welcome(manager, from, CTRL_REFUSED_NOT_NOW, "it is excluded");
		if (manager->state == CTRL_STOPPED)
			manager_bring_into_line(manager, from);
		return;
	}
	if ((received.flags & CTRL_PREPARED) == 0 &&
	    !manager_is_of_run(manager, from, received.run))
		return;
	if ((received.flags & CTRL_PREPARED) != 0) {
		if (!manager_takes_prepared(manager, from, received.run))
			return;
		received.run = 0;
	}
	if (!manager->any_registered)
		manager->first_registered = now;
	manager->any_registered = true;
	manager->last_registered = now;
	manager->configured = 0;
	learn_run(manager, received.run);
	expect_reports(manager, from, now);
	manager_suspend(manager, from, now);
	manager->changes++;
	node->registered = true;
	node->left = node->process_ended = false;
	node->registrations++;
	node->run = received.run;
	node->resumes = (received.flags & CTRL_RESUMES) != 0;
	node->takes_lists = (received.flags & CTRL_LISTS) != 0;
	node->obeys_permission = node->takes_lists && (received.flags & CTRL_OBEYS_PERMISSION) != 0;
	node->takes_shared = (received.flags & CTRL_MULTICAST) != 0;
	node->known_from =
	    received.run == manager->run && received.run != 0 ? received.known_from : UINT64_MAX;
	node->stated = node->begun = node->ended = false;
	node->idle_beats = 0;
	node->release_sent = 0;
	node->throttle_sent = -1;
	restart_phases(manager, from);
	manager_sync_source(manager, from, now);
	// WELCOME waits until the scheduler exists, so that all nodes get it together.
	node->welcome_due = manager->sched == NULL;
	if (!node->welcome_due)
		manager_welcome(manager, from, now);
}

static bool is_given_up(const struct cluster_manager *manager, const struct manager_node *node)
{
	return manager->parameters.takes_over && manager->run != 0 && node->lost;
}

bool manager_all_registered(const struct cluster_manager *manager, bool or_due)
{
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++) {
		const struct manager_node *node = &manager->nodes[i];

		if (!node->registered && !node->operator_excluded &&
		    !(or_due && node->exclude_due) && !is_given_up(manager, node))
			return false;
	}
	return true;
}

// --- sources ---

static bool source_takes_part(const struct cluster_manager *manager,
			      const struct manager_node *node)
{
	if (node->operator_excluded || node->left)
		return false;
	if (manager->parameters.cluster.waits_for_sources || manager->run == 0)
		return true;
	return node->registered && !node->lost && node->begun;
}

// Reports to a node's builders since which event, if any, the sources of another node take part.
static void send_source(struct cluster_manager *manager, unsigned to, unsigned index)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[index];
	const struct manager_node *node = &manager->nodes[index];
	const struct ctrl_member member = {
		.config_hash = manager->cluster->hash,
		.event = node->source_from,
		.node = (uint16_t)index,
		.subject = CTRL_SUBJECT_SOURCES,
		.first_source = manager->cluster->source_ids[at->first_source],
		.last_source = manager->cluster->source_ids[at->first_source + at->n_sources - 1],
		.reason = CTRL_REASON_SILENT,
	};
	uint8_t bytes[CTRL_MEMBER_SIZE];

	manager_send(manager, to, bytes,
		     ctrl_put_member(bytes, sizeof(bytes),
				     node->source_excluded && node->absent_at == 0 ? CTRL_EXCLUDE
										   : CTRL_INCLUDE,
				     &member));
}

// Where nodes share their source, events have no data of most of them anyway.
static bool awaits_sources(const struct cluster_manager *manager, unsigned index)
{
	return manager->cluster->nodes[index].n_builders > 0 && !manager_is_static(manager) &&
	       !manager->cluster->shares_source;
}

void manager_send_sources(struct cluster_manager *manager, unsigned to)
{
	for (unsigned i = 0; awaits_sources(manager, to) && i < manager->readouts.n; i++) {
		const struct manager_node *node = &manager->nodes[manager->readouts.nodes[i]];

		if ((node->source_excluded && node->absent_at == 0) || node->source_from > 0)
			send_source(manager, to, manager->readouts.nodes[i]);
	}
}

static void send_source_to_all(struct cluster_manager *manager, unsigned index)
{
	manager->nodes[index].absent_at = 0;
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (manager->nodes[i].registered && !manager->nodes[i].welcome_due &&
		    awaits_sources(manager, i))
			send_source(manager, i, index);
}

// Whether a node without which events are granted may be back soon, with the data of earlier ones.
// One that has begun a new session may be the process of before, as it says when it registers.
static bool may_be_back(const struct cluster_manager *manager, const struct manager_node *node)
{
	if (node->operator_excluded || node->left || (node->process_ended && !node->resumes))
		return false;
	return node->lost || node->resumes || !node->registered ||
	       (node->run == manager->run && !node->begun);
}

// Builders do not wait any more for sources that have been silent for too long.
void manager_end_silence(struct cluster_manager *manager, uint64_t now)
{
	const bool any = manager->any_absent;

	manager->any_absent = false;
	for (unsigned i = 0; any && i < manager->readouts.n; i++) {
		unsigned index = manager->readouts.nodes[i];
		const struct manager_node *node = &manager->nodes[index];

		manager->any_absent |= node->absent_at != 0;

		if (node->absent_at != 0 && (now >= node->absent_at || !may_be_back(manager, node)))
			send_source_to_all(manager, index);
	}
}

void manager_sync_source(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	struct manager_node *node = &manager->nodes[index];
	unsigned rank = manager->readouts.of_node[index];
	bool excluded = !source_takes_part(manager, node);

	if (rank == CLUSTER_NONE || manager->sched == NULL || node->source_excluded == excluded)
		return;
	node->source_excluded = excluded;
	sched_phases_set_part(&manager->phases, rank, !excluded);
	if (manager->cluster->shares_source)
		return; // the others go on with their events
	if (excluded)
		sched_exclude_source(manager->sched, rank, now);
	else
		sched_include_source(manager->sched, rank, now);
	if (excluded && may_be_back(manager, node)) {
		node->absent_at = now + manager->parameters.in_doubt_ns;
		manager->any_absent = true;
	} else {
		send_source_to_all(manager, index);
	}
}

static bool lacks_source(const struct cluster_manager *manager)
{
	if (!manager->parameters.cluster.waits_for_sources)
		return false;
	for (unsigned i = 0; i < manager->readouts.n; i++) {
		const struct manager_node *node = &manager->nodes[manager->readouts.nodes[i]];

		if (!node->operator_excluded && !node->left &&
		    (node->lost || !node->registered || !node->begun))
			return true;
	}
	return false;
}

bool manager_waits_for_source(struct cluster_manager *manager)
{
	if (manager->lack_changes != manager->changes)
		manager->lacks_source = lacks_source(manager);
	manager->lack_changes = manager->changes;
	manager->waits += manager->lacks_source != (manager->waits % 2 != 0);
	return manager->lacks_source;
}

uint16_t cluster_manager_waits(const struct cluster_manager *manager)
{
	return manager->waits;
}

void manager_announced(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record, uint64_t now)
{
	struct manager_node *node = &manager->nodes[from];
	struct ctrl_announce received;
	unsigned rank = manager->readouts.of_node[from];

	if (rank == CLUSTER_NONE || ctrl_get_announce(record, &received) != WIRE_OK ||
	    received.run != manager->run)
		return;
	if (manager->cluster->shares_source) {
		manager_offered(manager, from, &received, now);
		return;
	}
	// Events behind the end of the run are not built.
	node->end = received.end < manager->end ? received.end : manager->end;
	node->ended = (received.flags & CTRL_END_OF_RUN) != 0;
	manager->changes += !node->begun;
	node->begun = true;
	if (manager->sched == NULL)
		return;
	sched_announce(manager->sched, rank, node->end, now);
	manager_sync_source(manager, from, now);
}

// --- heartbeats ---

void manager_heartbeat(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record, uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[from];
	unsigned priority = manager->parameters.data_priority;
	struct ctrl_heartbeat received;

	if (ctrl_get_heartbeat(record, &received) != WIRE_OK)
		return;
	manager->nodes[from].state = received.run_state;
	manager->nodes[from].slots_free = received.slots_free;
	manager->nodes[from].idle_beats = received.events_open > 0 || received.events_waiting > 0
					      ? 0
					      : manager->nodes[from].idle_beats + 1;
	if (received.n_ports == 0 || manager->sched == NULL)
		return;
	for (unsigned i = 0; i < at->n_builders; i++) {
		const struct ctrl_port *port = &received.ports[0];
		const struct sched_port state = {
			// The port sends pause frames because more arrives than it can receive.
			.paused = (port->pausing >> priority & 1) != 0,
			.paused_share = (double)port->paused_share / CTRL_FULL_SHARE,
			.occupancy = (double)port->occupancy / CTRL_FULL_SHARE,
			.marks = port->ecn_marks,
		};

		sched_port_state(manager->sched, at->first_builder + i, &state, now);
	}
}

void manager_send_member(struct cluster_manager *manager, unsigned node, enum ctrl_type type,
			 enum ctrl_reason reason)
{
	const struct ctrl_member member = {
		.config_hash = manager->cluster->hash,
		.node = (uint16_t)node,
		.subject = CTRL_SUBJECT_NODE,
		.reason = (uint8_t)reason,
	};
	uint8_t bytes[CTRL_MEMBER_SIZE];

	manager_send(manager, node, bytes, ctrl_put_member(bytes, sizeof(bytes), type, &member));
}

// --- silence, return, departure ---

static void node_lost(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	manager->nodes[node].lost = true;
	manager_set_aside(manager, node, now);
	if (manager->nodes[node].in_doubt_until == 0)
		manager_exclude_silent(manager, node);
	manager_sync_source(manager, node, now);
}

static void node_back(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	struct manager_node *node = &manager->nodes[index];
	bool goes_on =
	    node->registered && !manager_is_reporting(manager, index) &&
	    (node->in_doubt_until != 0 || manager->cluster->nodes[index].n_builders == 0);

	node->lost = false;
	if (goes_on)
		manager_end_suspension(manager, index, now);
	manager_repeat_lacked(manager, index, now);
	if (node->registered)
		manager_repeat_missed(manager, index, now);
	manager_sync_source(manager, index, now);
}

// The peer began a new session. Either it is a new process, and the events of the old one are gone,
// or it is the same process, which will report the events that it holds.
static void node_restarted(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[index];
	struct manager_node *node = &manager->nodes[index];

	node->lost = node->registered = node->begun = false;
	node->missed_from = 0;
	node->lacked.from = node->lacked.end;
	node->retained.from = node->retained.end;
	for (unsigned i = 0; i < at->n_builders; i++) {
		manager_drop_adopted(manager, at->first_builder + i, now);
		manager->builders[at->first_builder + i].reporting = false;
	}
	manager_suspend(manager, index, now);
	manager_sync_source(manager, index, now);
}

// As if it had restarted, but nobody will report what its builders have published.
static void node_process_ended(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	struct manager_node *node = &manager->nodes[index];

	node->process_ended = !node->left;
	node_restarted(manager, index, now);
	node->lost = true;
	manager_expel_suspended(manager, index, UINT64_MAX, now);
}

void manager_bye(struct cluster_manager *manager, unsigned index, const struct ctrl_record *record,
		 uint64_t now)
{
	struct manager_node *node = &manager->nodes[index];
	// Before BYE the node has reported all events that it has published; it publishes no more.
	// If it has not reported what it holds, its events are those of an earlier process.
	const uint64_t known_from = manager_is_reporting(manager, index) ? node->known_from : 0;

	(void)record;
	manager->changes++;
	node->registered = false;
	node->left = true;
	manager_suspend(manager, index, now);
	manager_expel_suspended(manager, index, known_from, now);
	manager_sync_source(manager, index, now);
}

void cluster_manager_event(struct cluster_manager *manager, unsigned peer, enum control_event event,
			   uint64_t now)
{
	if (peer >= manager->cluster->n_nodes)
		return;
	manager->changes++;
	switch (event) {
	case CONTROL_LOST:
		node_lost(manager, peer, now);
		break;
	case CONTROL_BACK:
		node_back(manager, peer, now);
		break;
	case CONTROL_RESTARTED:
		node_restarted(manager, peer, now);
		break;
	case CONTROL_PROCESS_ENDED:
		node_process_ended(manager, peer, now);
		break;
	case CONTROL_CONNECTED:
		manager->nodes[peer].lost = false;
		manager->nodes[peer].missed_from = 0;
		break;
	default:
		break;
	}
}

bool cluster_manager_in_office(const struct cluster_manager *manager)
{
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (i != manager->cluster->self && manager->nodes[i].registered)
			return true;
	return false;
}
