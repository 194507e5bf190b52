// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <time.h>

#include "node/control_internal.h"

#define RENEWALS 2u // of the contents of heartbeats per interval

uint64_t control_wall_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now); // vDSO, no system call
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Whether the port keeps its link partner from sending now. A device does not report that, so for a
// device it is whether it paused the partner since the last heartbeat.
static bool is_pausing(const struct control *control, uint64_t paused_ns)
{
	const struct flow_control *fc = control->parameters.flow_control;

	if (fc->mode != FLOW_CONTROL_SOFT)
		return paused_ns > 0;
	return flow_control_holding(fc, control->parameters.data_priority);
}

static void add_port(struct control *control, struct ctrl_heartbeat *beat)
{
	struct flow_control *fc = control->parameters.flow_control;
	unsigned priority = control->parameters.data_priority;
	uint64_t passed = control->now - control->beat_before, paused;
	struct pause_counters counters;

	if (fc == NULL)
		return;
	flow_control_priority_counters(fc, priority, &counters);
	paused = counters.pausing_ns - control->paused_before;
	control->paused_before = counters.pausing_ns;
	control->pausing = is_pausing(control, paused);
	beat->n_ports = 1;
	beat->ports[0] = (struct ctrl_port){
		.pause_frames = counters.xoff_received,
		.pausing = control->pausing ? (uint8_t)(1u << priority) : 0,
	};
	if (passed > 0)
		beat->ports[0].paused_share =
		    (uint16_t)RTE_MIN(paused * CTRL_FULL_SHARE / passed, (uint64_t)CTRL_FULL_SHARE);
}

// Renews the contents of heartbeats. `at_once`: sends them to the manager without waiting for the
// next heartbeat.
static void renew(struct control *control, bool at_once)
{
	const unsigned manager = cluster_node_manager(control->node);
	struct ctrl_heartbeat beat = cluster_node_heartbeat(control->node);
	uint8_t bytes[CTRL_HEARTBEAT_MOST];
	struct ctrl_record record;
	size_t size;

	beat.time = control_wall_clock_ns();
	if (control->manager != NULL)
		beat.waits = cluster_manager_waits(control->manager);
	if (control->office != NULL)
		office_state(control->office, &beat.lease, control->now);
	add_port(control, &beat);
	control->beat_before = control->now;
	(void)control_set_heartbeat(control->endpoint, &beat);
	size = ctrl_put_heartbeat(bytes, sizeof(bytes), &beat);
	if (control->manager == NULL && at_once && manager != CLUSTER_NONE)
		cluster_send(&control->transport, manager, bytes, size);
	if (control->manager == NULL || ctrl_record_at(bytes, size, &record) != WIRE_OK)
		return;
	cluster_manager_record(control->manager, control->system->self, &record, control->now);
	cluster_node_record(control->node, control->system->self, &record, control->now);
}

// The manager grants or stops granting as soon as the port begins or ends a pause, not with the
// next heartbeat.
static bool port_changed(const struct control *control)
{
	const struct flow_control *fc = control->parameters.flow_control;

	return fc != NULL && fc->mode == FLOW_CONTROL_SOFT &&
	       is_pausing(control, 0) != control->pausing;
}

void control_heartbeat_at_once(struct control *control, unsigned to)
{
	renew(control, false);
	for (unsigned i = 0; i < control->system->n_nodes; i++)
		if (to == CLUSTER_NONE || to == i)
			control_hasten_heartbeat(control->endpoint, i);
}

void control_heartbeat_poll(struct control *control)
{
	unsigned voted_for;

	if (cluster_node_has_voted(control->node, &voted_for))
		control_heartbeat_at_once(control, voted_for);
	if (port_changed(control))
		renew(control, true);
	if (control->now < control->next_beat)
		return;
	control->next_beat = control->now + control->parameters.heartbeat_ns / RENEWALS;
	renew(control, false);
	control_request_addresses(control);
}
