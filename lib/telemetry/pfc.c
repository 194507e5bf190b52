// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Ports with flow control.
#include "telemetry/group.h"

#include <rte_cycles.h>

#include "port/flow_control.h"

struct pfc_view {
	const char *name, *mode, *report;
	uint64_t priority, paused, pausing;
	struct pause_counters priority_counters;
	struct flow_control_counters counters;
};

struct priority_view {
	uint64_t priority, paused, pausing;
	struct pause_counters counters;
};

// Metrics of one priority, for that of the data and for each.
#define PAUSES(view, counters_of)                                                             \
	GAUGE("paused", view, paused, "soft only: 1 while the link partner stops this port"), \
	    GAUGE("pausing", view, pausing,                                                   \
		  "soft only: 1 while this port stops the link partner"),                     \
	    COUNTER("xoff_sent", view, counters_of.xoff_sent,                                 \
		    "pause frames sent that stop the priority, with repetitions"),            \
	    COUNTER("xon_sent", view, counters_of.xon_sent,                                   \
		    "pause frames sent that release the priority"),                           \
	    COUNTER("xoff_received", view, counters_of.xoff_received,                         \
		    "pause frames received that stop the priority"),                          \
	    COUNTER("xon_received", view, counters_of.xon_received,                           \
		    "pause frames received that release the priority"),                       \
	    COUNTER("paused_ns", view, counters_of.paused_ns,                                 \
		    "time in which the link partner stopped this port"),                      \
	    COUNTER("pausing_ns", view, counters_of.pausing_ns,                               \
		    "time in which the link partner was stopped")

static const struct metric pfc_metrics[] = {
	TEXT("name", pfc_view, name, "name of the port"),
	TEXT("mode", pfc_view, mode, "back-end: off, hw, external or soft"),
	TEXT("report", pfc_view, report, "back-end that was chosen, with the reason"),
	NUMBER("priority", pfc_view, priority, "priority of the data"),
	PAUSES(pfc_view, priority_counters),
	COUNTER("lapsed", pfc_view, priority_counters.lapsed,
		"pauses of the link partner that expired before their renewal"),
	COUNTER("malformed", pfc_view, counters.malformed,
		"MAC control frames that are not a valid pause frame"),
	COUNTER("ignored", pfc_view, counters.ignored,
		"valid pause frames of another kind or for other priorities"),
	COUNTER("send_failed", pfc_view, counters.send_failed, "pause frames that were sent late"),
	{ 0 },
};

static const struct metric priority_metrics[] = {
	NUMBER("priority", priority_view, priority, "number of the priority"),
	PAUSES(priority_view, counters),
	{ 0 },
};

// Port number `index` among those with flow control; n_ports if there is none.
static unsigned port_of(const struct appliance *appliance, unsigned index)
{
	for (unsigned i = 0; i < appliance->config->n_ports; i++)
		if (appliance->config->ports[i].flow_control.mode != FLOW_CONTROL_OFF &&
		    index-- == 0)
			return i;
	return appliance->config->n_ports;
}

static void view_port(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct pfc_view view;
	unsigned port = port_of(appliance, index);
	const struct flow_control *fc;
	unsigned priority;

	if (port == appliance->config->n_ports)
		return;
	fc = &appliance->flow_controls[port];
	priority = appliance->config->ports[port].flow_control.priority;
	view = (struct pfc_view){
		.name = appliance->config->ports[port].name,
		.mode = flow_control_mode_name(fc->mode),
		.report = fc->report,
		.priority = priority,
		.paused = flow_control_paused(fc, priority, rte_rdtsc()),
		.pausing = flow_control_holding(fc, priority),
	};
	flow_control_priority_counters(fc, priority, &view.priority_counters);
	flow_control_counters(fc, &view.counters);
	bases[0] = &view;
}

// Soft flow control handles the configured priority only; a device may handle any.
static const void *view_priority(const struct appliance *appliance, unsigned index, unsigned n)
{
	static _Thread_local struct priority_view view;
	const struct flow_control *fc = &appliance->flow_controls[port_of(appliance, index)];

	if (fc->mode == FLOW_CONTROL_SOFT && n != fc->parameters.pause.priority)
		return NULL;
	view = (struct priority_view){
		.priority = n,
		.paused = flow_control_paused(fc, n, rte_rdtsc()),
		.pausing = flow_control_holding(fc, n),
	};
	flow_control_priority_counters(fc, n, &view.counters);
	return &view;
}

const struct telemetry_group telemetry_pfc = {
	.name = "pfc",
	.things = "ports with flow control",
	.help = "Flow control of a port: pauses sent and received",
	.note = "Counters of the port are those of the priority of the data. With `hw` and "
		"`external` the\n"
		"device counts, with `soft` evb does, for that priority only.",
	.tables = { pfc_metrics },
	.nested = "priority",
	.nested_table = priority_metrics,
	.n_nested = PFC_PRIORITIES,
	.view = view_port,
	.view_nested = view_priority,
};
