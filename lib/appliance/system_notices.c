// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What a node of a system reports about the other nodes while it runs.
#include "appliance/parts.h"

#include <stdio.h>
#include <time.h>

#define TIME_SIZE 40u

static void report_second_process(const struct appliance *appliance, struct role *control)
{
	const struct cluster_system *system = &appliance->config->cluster;
	unsigned node;

	if (control_role_refused(control, &node))
		notice(appliance,
		       "node %s refuses this process: another one runs as node %s; it is accepted "
		       "when that one has ended",
		       system->nodes[node].name, system->nodes[system->self].name);
}

// A time of the control role's clock as UTC, to the microsecond: logs of nodes are compared.
static const char *utc(const struct role *control, uint64_t time, char text[TIME_SIZE])
{
	const uint64_t wall_us = control_role_wall_clock(control, time) / 1000;
	const time_t seconds = (time_t)(wall_us / 1000000);
	struct tm parts;
	size_t length;

	gmtime_r(&seconds, &parts);
	length = strftime(text, TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text + length, TIME_SIZE - length, ".%06uZ", (unsigned)(wall_us % 1000000));
	return text;
}

// Where the event manager is elected: which node comes into office, and when this one has left it.
static void report_office(struct appliance *appliance, const struct role *control)
{
	const struct cluster_system *system = &appliance->config->cluster;
	char from[TIME_SIZE], until[TIME_SIZE];
	struct control_office_view view;

	control_role_office(control, &view);
	if (view.take_overs != appliance->take_overs) {
		appliance->take_overs = view.take_overs;
		notice(appliance, "node %s is the event manager in office since %s, epoch %u",
		       system->nodes[view.manager].name, utc(control, view.since, from),
		       view.epoch);
	}
	if (view.own.state == ELECTION_HELD || view.own.n_terms == appliance->terms_ended)
		return;
	appliance->terms_ended = view.own.n_terms;
	notice(appliance, "this node was the event manager in office from %s to %s, epoch %u",
	       utc(control, view.own.from, from), utc(control, view.own.until, until),
	       view.own.of_epoch);
}

void appliance_report_system(struct appliance *appliance)
{
	struct role *control = appliance_control(appliance);

	if (control == NULL)
		return;
	report_second_process(appliance, control);
	if (cluster_elects(&appliance->config->cluster))
		report_office(appliance, control);
}
