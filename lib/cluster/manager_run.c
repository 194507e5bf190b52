// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Run control: the manager leads all nodes from one state to the next.
#include <stdio.h>

#include "cluster/manager_internal.h"

static void say_command(struct cluster_manager *manager, unsigned node, enum ctrl_command command,
			uint64_t event)
{
	const struct ctrl_run_command record = {
		.config_hash = manager->cluster->hash,
		.event = event,
		.run = manager->run,
		.request = manager->request,
		.command = (uint8_t)command,
	};
	uint8_t bytes[CTRL_RUN_COMMAND_SIZE];

	manager_send(manager, node, bytes, ctrl_put_run_command(bytes, sizeof(bytes), &record));
}

// The first event that a source which comes now shall have: the newest that any has announced.
static uint64_t newest_event(const struct cluster_manager *manager)
{
	uint64_t newest = manager->sched != NULL ? sched_announced(manager->sched) : 0;

	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (manager->nodes[i].end > newest)
			newest = manager->nodes[i].end;
	return newest;
}

void manager_bring_into_line(struct cluster_manager *manager, unsigned node)
{
	if (manager->state == CTRL_RUNNING || manager->state == CTRL_PAUSED ||
	    manager->state == CTRL_DRAINING)
		say_command(manager, node, CTRL_START, newest_event(manager));
	if (manager->state == CTRL_PAUSED)
		say_command(manager, node, CTRL_PAUSE, 0);
	if (manager->state == CTRL_DRAINING)
		say_command(manager, node, CTRL_DRAIN, manager->end);
}

// --- run control ---

static void command_all(struct cluster_manager *manager, enum ctrl_command command, uint64_t event)
{
	manager->request++;
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++)
		if (manager->nodes[i].registered)
			say_command(manager, i, command, event);
}

static void start_drain(struct cluster_manager *manager)
{
	manager->end = newest_event(manager);
	manager->state = CTRL_DRAINING;
	if (manager->sched != NULL)
		sched_set_paused(manager->sched, false);
	command_all(manager, CTRL_DRAIN, manager->end);
}

static void stop_all(struct cluster_manager *manager)
{
	command_all(manager, CTRL_STOP, 0);
	manager->state = CTRL_STOPPED;
}

// Whether every source that takes part has ended.
static bool sources_ended(const struct cluster_manager *manager)
{
	unsigned n = 0;

	for (unsigned i = 0; i < manager->readouts.n; i++) {
		const struct manager_node *node = &manager->nodes[manager->readouts.nodes[i]];

		if (!manager_takes_part(node) || node->source_excluded)
			continue;
		if (!node->ended)
			return false;
		n++;
	}
	return n > 0;
}

// What was sent without being granted has arrived once the longest wait for data has passed.
static bool static_is_over(struct cluster_manager *manager, uint64_t now)
{
	if (manager->quiet_since == 0)
		manager->quiet_since = now;
	return now - manager->quiet_since > 2 * manager->parameters.config->events.deadline_ns;
}

static void start_run(struct cluster_manager *manager)
{
	manager->command_start = false;
	manager->run = manager->parameters.config->run_number;
	manager->state = CTRL_RUNNING;
	command_all(manager, CTRL_START, 0);
}

void manager_lead(struct cluster_manager *manager, uint64_t now)
{
	bool ended = sources_ended(manager);

	if (manager->state == CTRL_READY && manager->command_start &&
	    manager_all_registered(manager))
		start_run(manager);

	if (manager->state == CTRL_RUNNING && ended)
		start_drain(manager);
	if (manager->state != CTRL_DRAINING || !ended)
		return;
	if (manager_is_static(manager)
		? static_is_over(manager, now)
		: sched_waiting(manager->sched) == 0 && sched_outstanding(manager->sched) == 0)
		stop_all(manager);
}

void manager_throttle(struct cluster_manager *manager)
{
	bool throttled = sched_throttled(manager->sched);
	const struct ctrl_throttle record = {
		.run = manager->run,
		.share = throttled ? 0 : CTRL_FULL_SHARE,
		.level = 0,
	};
	uint8_t bytes[CTRL_THROTTLE_SIZE];
	size_t size;

	if (throttled == manager->told_throttle)
		return;
	manager->told_throttle = throttled;
	size = ctrl_put_throttle(bytes, sizeof(bytes), &record);
	for (unsigned i = 0; i < manager->readouts.n; i++)
		if (manager->nodes[manager->readouts.nodes[i]].registered)
			manager_send(manager, manager->readouts.nodes[i], bytes, size);
}

static int refuse(char *error, const char *text)
{
	snprintf(error, CLUSTER_ERROR_SIZE, "%s", text);
	return -1;
}

static int command_member(struct cluster_manager *manager, bool include, unsigned index,
			  uint64_t now, char *error)
{
	struct manager_node *node;

	if (index >= manager->cluster->n_nodes)
		return refuse(error, "there is no such node");
	node = &manager->nodes[index];
	if (node->operator_excluded != include)
		return refuse(error, include ? "it is not excluded" : "it is excluded already");
	node->operator_excluded = !include;
	if (!include) {
		manager_exclude_builders(manager, index, now);
		manager_include_source(manager, index, false, now);
		node->registered = false;
	}
	manager_say_member(manager, index, include ? CTRL_INCLUDE : CTRL_EXCLUDE,
			   CTRL_REASON_OPERATOR);
	return 0;
}

int cluster_manager_command(struct cluster_manager *manager, enum cluster_command command,
			    unsigned node, uint64_t now, char *error)
{
	switch (command) {
	case CLUSTER_START:
		if (manager->run != 0)
			return refuse(error,
				      "a run is there already: resume it, or drain it first");
		if (!manager_all_registered(manager))
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
		stop_all(manager);
		return 0;
	case CLUSTER_EXCLUDE:
		return command_member(manager, false, node, now, error);
	case CLUSTER_INCLUDE:
		return command_member(manager, true, node, now, error);
	}
	return refuse(error, "unknown command");
}
