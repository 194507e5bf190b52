// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Run control: the manager brings all nodes from one run state to the next.
#include <stdio.h>

#include "cluster/manager_internal.h"

#define IDLE_BEATS 10u

// The end of the events that any source has announced: the first event of a source that joins now.
static uint64_t newest_event(const struct cluster_manager *manager)
{
	uint64_t newest = manager->sched != NULL ? sched_announced(manager->sched) : 0;

	if (manager->cluster->shares_source)
		newest = manager->next_index;
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (manager->nodes[i].end > newest)
			newest = manager->nodes[i].end;
	return newest < manager->end ? newest : manager->end;
}

// The number of the run, or of the one that is to start.
static uint32_t number_of_run(const struct cluster_manager *manager)
{
	if (manager->run != 0)
		return manager->run;
	if (manager->parameters.cluster.prepared_run != 0)
		return manager->parameters.cluster.prepared_run;
	// 0 means that there is no run
	return manager->parameters.run_number != 0 ? manager->parameters.run_number : 1;
}

static void send_command_of_run(struct cluster_manager *manager, unsigned node,
				enum ctrl_command command, uint32_t run, uint64_t event)
{
	const struct ctrl_run_command record = {
		.config_hash = manager->cluster->hash,
		.event = event,
		.run = run,
		.request = manager->request,
		.command = (uint8_t)command,
	};
	uint8_t bytes[CTRL_RUN_COMMAND_SIZE];

	manager_send(manager, node, bytes, ctrl_put_run_command(bytes, sizeof(bytes), &record));
}

static void send_command(struct cluster_manager *manager, unsigned node, enum ctrl_command command,
			 uint64_t event)
{
	// A process that joins a run knows nothing about the events before.
	if (command == CTRL_START && manager->nodes[node].run != manager->run) {
		manager->nodes[node].known_from = newest_event(manager);
		manager->nodes[node].source_from = event;
	}
	send_command_of_run(manager, node, command,
			    command == CTRL_CONFIGURE ? number_of_run(manager) : manager->run,
			    event);
}

// The first event of a node that joins now. A source that has what its process before did not send
// continues there, so that the events that wait for it become complete. In static mode it begins by
// itself with its oldest event.
static uint64_t first_event_of(const struct cluster_manager *manager, unsigned node)
{
	if (manager->nodes[node].resumes && manager->sched != NULL && !manager_is_static(manager))
		return sched_released(manager->sched);
	return newest_event(manager);
}

void manager_bring_into_line(struct cluster_manager *manager, unsigned node)
{
	// The node needs the release at once: a restarted manager may depend on this node's report.
	if (manager->sched != NULL)
		manager_send_release(manager, node);
	if (manager->state == CTRL_RUNNING || manager->state == CTRL_PAUSED ||
	    manager->state == CTRL_DRAINING)
		send_command(manager, node, CTRL_START, first_event_of(manager, node));
	if (manager->state == CTRL_PAUSED)
		send_command(manager, node, CTRL_PAUSE, 0);
	if (manager->state == CTRL_DRAINING && manager->end != UINT64_MAX)
		send_command(manager, node, CTRL_DRAIN, manager->end);
	if (manager->state == CTRL_STOPPED)
		send_command(manager, node, CTRL_STOP, 0);
}

// The order of the run states: a run moves only to a higher number, except when a pause ends.
static unsigned progress_of(enum ctrl_run_state state)
{
	switch (state) {
	case CTRL_RUNNING:
		return 1;
	case CTRL_PAUSED:
		return 2;
	case CTRL_DRAINING:
		return 3;
	case CTRL_STOPPED:
		return 4;
	default:
		return 0;
	}
}

// --- run control ---

static void command_all(struct cluster_manager *manager, enum ctrl_command command, uint64_t event)
{
	manager->request++;
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (manager->nodes[i].registered || manager->nodes[i].operator_excluded)
			send_command(manager, i, command, event);
}

static void start_drain(struct cluster_manager *manager)
{
	manager->end = newest_event(manager);
	manager->state = CTRL_DRAINING;
	sched_set_paused(manager->sched, false);
	command_all(manager, CTRL_DRAIN, manager->end);
}

// A node that was silent when the run began to drain may return with events behind the end, which
// an earlier manager had granted: they belong to the run.
static void extend_end(struct cluster_manager *manager)
{
	const uint64_t announced = sched_announced(manager->sched);

	if (announced <= manager->end)
		return;
	manager->end = announced;
	if (manager->state == CTRL_DRAINING)
		command_all(manager, CTRL_DRAIN, manager->end);
}

// Notes the state that a node of the run reports. A command of an earlier manager may have reached
// only some nodes: the most advanced state counts. The run also drains if the node that had the
// order was silent when this manager took over.
static void take_state(struct cluster_manager *manager, enum ctrl_run_state state)
{
	const bool adopts = manager->sched == NULL || manager->adopting;

	if (adopts && progress_of(state) > progress_of(manager->state))
		manager->state = state;
	else if (!adopts && state == CTRL_DRAINING &&
		 (manager->state == CTRL_RUNNING || manager->state == CTRL_PAUSED))
		start_drain(manager);
}

void manager_run_state(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record, uint64_t now)
{
	struct ctrl_run_report received;

	(void)now;
	if (ctrl_get_run_report(record, &received) != WIRE_OK)
		return;
	manager->nodes[from].state = received.state;
	manager->nodes[from].stated = true;
	if (received.command == CTRL_CONFIGURE)
		manager->nodes[from].opened = received.request;
	if (manager->run != 0 && received.run == manager->run)
		take_state(manager, received.state);
}

static void stop_all(struct cluster_manager *manager)
{
	command_all(manager, CTRL_STOP, 0);
	manager->state = CTRL_STOPPED;
}

void manager_take_over(struct cluster_manager *manager)
{
	switch (manager->state) {
	case CTRL_CONFIGURED:
		manager->state = CTRL_READY;
		break;
	case CTRL_PAUSED:
		command_all(manager, CTRL_PAUSE, 0);
		break;
	case CTRL_DRAINING:
		start_drain(manager);
		break;
	case CTRL_STOPPED:
		stop_all(manager);
		break;
	default:
		break;
	}
}

static bool has_ended(const struct cluster_manager *manager, unsigned index)
{
	const struct manager_node *node = &manager->nodes[index];

	// The node has just joined and has not announced its events yet.
	if (manager_is_target(manager, index) && !node->begun)
		return false;
	return !manager_may_have_more(manager, index) && (node->source_excluded || node->ended);
}

// Whether every source that takes part in the run has ended.
static bool sources_ended(struct cluster_manager *manager)
{
	unsigned n = 0;

	// The one that had not ended before is the first to be looked at.
	for (unsigned i = 0; i < manager->readouts.n; i++) {
		const unsigned rank = (manager->not_ended + i) % manager->readouts.n;

		if (!has_ended(manager, manager->readouts.nodes[rank])) {
			manager->not_ended = rank;
			return false;
		}
		n += !manager->nodes[manager->readouts.nodes[rank]].source_excluded;
	}
	// If no source is left, a draining run has nothing to wait for.
	return n > 0 || manager->state == CTRL_DRAINING;
}

// Whether no node has had an event for some heartbeats: the sources have sent all, and the builders
// have closed all that they have received. Packets in flight arrive in a shorter time.
static bool all_are_idle(const struct cluster_manager *manager)
{
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++) {
		const struct cluster_system_node *at = &manager->cluster->nodes[i];
		const struct manager_node *node = &manager->nodes[i];

		if ((at->n_builders == 0 && at->n_sources == 0) || node->operator_excluded ||
		    node->left)
			continue;
		if (!manager_is_target(manager, i) || node->idle_beats < IDLE_BEATS)
			return false;
	}
	return true;
}

// In static mode the data is sent without grants. All of it has arrived when all nodes are idle. If
// one of them is silent or goes on waiting, that is so when twice the longest wait for data has
// passed since the sources ended.
static bool static_is_over(struct cluster_manager *manager, uint64_t now)
{
	if (manager->quiet_since == 0) {
		manager->quiet_since = now;
		for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
			manager->nodes[i].idle_beats = 0;
	}
	return all_are_idle(manager) ||
	       now - manager->quiet_since > 2 * manager->parameters.deadline_ns;
}

static void start_run(struct cluster_manager *manager)
{
	manager->command_start = false;
	manager->run = number_of_run(manager);
	manager->state = CTRL_RUNNING;
	manager->changes++;
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		manager->nodes[i].begun = manager->nodes[i].registered;
	command_all(manager, CTRL_START, 0);
}

bool manager_is_of_run(struct cluster_manager *manager, unsigned node, uint32_t run)
{
	const uint32_t own = number_of_run(manager);

	if (run == 0 || run == own || manager->parameters.cluster.prepared_run == 0)
		return true;
	// The run of an earlier manager goes on: this process takes part in it.
	if (run > own && manager->run == 0)
		manager->renumbered = run;
	// The node has not learned that its run is over.
	if (run < own) {
		manager->request++;
		send_command_of_run(manager, node, CTRL_STOP, run, 0);
	}
	return false;
}

bool manager_takes_prepared(struct cluster_manager *manager, unsigned node, uint32_t run)
{
	const uint32_t own = number_of_run(manager);

	// A run of an earlier manager was over when the node prepared for a later one.
	if (run > own && (manager->run == 0 || (manager->resumed && !manager_is_ready(manager)))) {
		manager->renumbered = run;
		return false;
	}
	if (run == own)
		return true;
	manager->request++;
	send_command(manager, node, CTRL_CONFIGURE, 0);
	return false;
}

// Whether no node sends data of the run before, and each one has dropped what has arrived of it. So
// no event of the run before can be mistaken for one of the run that starts.
static bool is_fenced(struct cluster_manager *manager, uint64_t now)
{
	if (manager->parameters.cluster.prepared_run == 0)
		return true;
	if (manager->configured == 0) {
		if (now - manager->last_registered < CLUSTER_FENCE_NS)
			return false;
		command_all(manager, CTRL_CONFIGURE, 0);
		manager->configured = manager->request;
	}
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (manager->nodes[i].registered && manager->nodes[i].opened != manager->configured)
			return false;
	return true;
}

// Whether a node that is silent now would have to confirm the fence.
static bool lacks_fence(const struct cluster_manager *manager)
{
	bool lacks = false;

	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		lacks |= manager->nodes[i].registered && manager->nodes[i].lost;
	return lacks && manager->parameters.cluster.prepared_run != 0;
}

void manager_lead(struct cluster_manager *manager, uint64_t now)
{
	bool ended = sources_ended(manager);

	extend_end(manager);
	if (manager->state == CTRL_READY && manager->command_start && manager->renumbered == 0 &&
	    manager_all_registered(manager, false) && is_fenced(manager, now))
		start_run(manager);

	if (manager->state == CTRL_RUNNING && ended)
		start_drain(manager);
	if (!ended)
		manager->quiet_since = 0;
	if (manager->state != CTRL_DRAINING || !ended)
		return;
	if (manager_is_static(manager)
		? static_is_over(manager, now)
		: sched_waiting(manager->sched) == 0 && sched_outstanding(manager->sched) == 0)
		stop_all(manager);
}

static bool needs_throttle(const struct cluster_manager *manager, unsigned node)
{
	return manager_is_target(manager, node) &&
	       manager->nodes[node].throttle_sent != manager->throttle_sent;
}

void manager_throttle(struct cluster_manager *manager)
{
	bool throttled = sched_throttled(manager->sched);
	const struct ctrl_throttle record = {
		.run = manager->run,
		.share = throttled ? 0 : CTRL_FULL_SHARE,
	};
	uint8_t bytes[CTRL_THROTTLE_SIZE];
	size_t size = ctrl_put_throttle(bytes, sizeof(bytes), &record);

	if (manager->throttle_sent == throttled && manager->throttle_changes == manager->changes)
		return;
	manager->throttle_sent = throttled;
	manager->throttle_changes = manager->changes;
	manager_send_readouts(manager, needs_throttle, bytes, size);
	for (unsigned i = 0; i < manager->readouts.n; i++)
		if (manager_is_target(manager, manager->readouts.nodes[i]))
			manager->nodes[manager->readouts.nodes[i]].throttle_sent = throttled;
}

static int refuse(char *error, const char *text)
{
	snprintf(error, CLUSTER_ERROR_SIZE, "%s", text);
	return -1;
}

static void exclude(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	struct manager_node *node = &manager->nodes[index];

	manager->changes++;
	node->operator_excluded = true;
	node->exclude_due = node->registered = node->begun = false;
	manager_suspend(manager, index, now);
	manager_recall(manager, index, now);
	manager_sync_source(manager, index, now);
	manager_send_member(manager, index, CTRL_EXCLUDE, CTRL_REASON_OPERATOR);
}

static void include(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	manager->changes++;
	manager->nodes[index].operator_excluded = false;
	manager_sync_source(manager, index, now);
	manager_send_member(manager, index, CTRL_INCLUDE, CTRL_REASON_OPERATOR);
}

void manager_exclude_due(struct cluster_manager *manager, uint64_t now)
{
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (manager->nodes[i].exclude_due)
			exclude(manager, i, now);
}

static int command_member(struct cluster_manager *manager, bool included, unsigned index,
			  uint64_t now, char *error)
{
	struct manager_node *node;

	if (index >= manager->cluster->n_nodes)
		return refuse(error, "there is no such node");
	node = &manager->nodes[index];
	if ((node->operator_excluded || node->exclude_due) != included)
		return refuse(error, included ? "it is not excluded" : "it is excluded already");
	node->commanded = true;
	if (node->operator_excluded)
		include(manager, index, now);
	else if (included)
		node->exclude_due = false;
	else if (manager_is_ready(manager))
		exclude(manager, index, now);
	else
		node->exclude_due = true; // it has to report the events that it holds first
	return 0;
}

int cluster_manager_command(struct cluster_manager *manager, enum cluster_command command,
			    unsigned node, uint64_t now, char *error)
{
	if (!manager_is_ready(manager) &&
	    (command == CLUSTER_PAUSE || command == CLUSTER_RESUME || command == CLUSTER_DRAIN))
		return refuse(error, "the nodes are not all known yet: try again");
	switch (command) {
	case CLUSTER_START:
		if (manager->run != 0)
			return refuse(error,
				      "a run is there already: resume it, or drain it first");
		if (!manager_all_registered(manager, false) || lacks_fence(manager))
			return refuse(error,
				      "not all nodes are there: start them, or exclude them");
		manager->command_start = true;
		return 0;
	case CLUSTER_PAUSE:
		if (manager->state != CTRL_RUNNING)
			return refuse(error, "no run is going on");
		manager->state = CTRL_PAUSED;
		sched_set_paused(manager->sched, true);
		command_all(manager, CTRL_PAUSE, 0);
		return 0;
	case CLUSTER_RESUME:
		if (manager->state != CTRL_PAUSED)
			return refuse(error, "the run is not paused");
		manager->state = CTRL_RUNNING;
		sched_set_paused(manager->sched, false);
		command_all(manager, CTRL_RESUME, 0);
		return 0;
	case CLUSTER_DRAIN:
		if (manager->state != CTRL_RUNNING && manager->state != CTRL_PAUSED)
			return refuse(error, "no run is going on");
		start_drain(manager);
		return 0;
	case CLUSTER_STOP:
		if (manager->run == 0 && manager->parameters.cluster.prepared_run != 0)
			return refuse(error, "no run is going on");
		stop_all(manager);
		return 0;
	case CLUSTER_EXCLUDE:
		return command_member(manager, false, node, now, error);
	case CLUSTER_INCLUDE:
		return command_member(manager, true, node, now, error);
	}
	return refuse(error, "unknown command");
}
