// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The settings of the kernel's network interfaces that ports use.
#include "host/stages.h"

#include <stdio.h>
#include <string.h>

#define STAGE_LINK   "link"
#define STAGE_MTU    "MTU"
#define STAGE_QUEUES "queues"
#define STAGE_PFC    "PFC"

// The interface of a port, if it exists.
static const struct host_link *link_of(const struct devices_facts *facts, unsigned port)
{
	const struct devices_port *at = &facts->ports[port];

	return at->kind == DEVICES_INTERFACE && at->exists ? &at->link : NULL;
}

static bool is_af_xdp(const struct plan *plan, unsigned port)
{
	return strcmp(plan->ports[port].profile.driver, "net_af_xdp") == 0;
}

void interfaces_judge_link(const struct devices_facts *facts, const struct plan *plan,
			   struct host_report *report)
{
	for (unsigned i = 0; plan != NULL && i < plan->config->n_ports; i++) {
		const struct port_settings *port = &plan->config->ports[i];
		const struct host_link *link = link_of(facts, i);
		struct host_finding *finding;

		if (link == NULL)
			continue;
		if (!link->up) {
			finding = report_add(report, HOST_WARN, STAGE_LINK,
					     "port %s: interface %s is down, nothing comes in",
					     port->name, port->device);
			report_remedy(finding, "as root: ip link set dev %s up", port->device);
			report_change(report, HOST_CHANGE_LINK, STAGE_LINK, port->device, "up");
		} else if (!link->running) {
			finding = report_add(report, HOST_WARN, STAGE_LINK,
					     "port %s: interface %s has no carrier", port->name,
					     port->device);
			report_remedy(finding,
				      "look at the cable, and whether the other end is up");
		} else {
			report_add(report, HOST_OK, STAGE_LINK, "port %s: interface %s is up",
				   port->name, port->device);
		}
	}
}

static void judge_mtu(const struct host_link *link, const struct plan *plan, unsigned index,
		      struct host_report *report)
{
	const struct port_settings *port = &plan->config->ports[index];
	uint32_t most = plan->ports[index].profile.maximum_mtu;
	struct host_finding *finding;

	if (link->mtu < port->mtu) {
		finding = report_add(report, HOST_FAIL, STAGE_MTU,
				     "port %s: mtu is %u, that of interface %s is %u", port->name,
				     port->mtu, port->device, link->mtu);
		report_remedy(finding,
			      "as root: ip link set dev %s mtu %u (and on the whole path), or "
			      "set ports[%u].mtu to %u",
			      port->device, port->mtu, index, link->mtu);
		report_change(report, HOST_CHANGE_MTU, STAGE_MTU, port->device, "%u", port->mtu);
	} else if (is_af_xdp(plan, index) && link->mtu > most) {
		finding = report_add(report, HOST_WARN, STAGE_MTU,
				     "port %s: the MTU of interface %s is %u; above %u its driver "
				     "may refuse XDP, and longer packets are lost",
				     port->name, port->device, link->mtu, most);
		report_remedy(finding,
			      "as root: ip link set dev %s mtu %u, or use profile "
			      "af_packet",
			      port->device, port->mtu);
	} else if (link->mtu > port->mtu) {
		finding = report_add(report, HOST_WARN, STAGE_MTU,
				     "port %s: mtu is %u, interface %s takes packets of up to %u: "
				     "longer ones are lost",
				     port->name, port->mtu, port->device, link->mtu);
		finding->quiet = true;
		report_remedy(finding, "set ports[%u].mtu to %u if senders use it", index,
			      link->mtu < most ? link->mtu : most);
	} else {
		report_add(report, HOST_OK, STAGE_MTU, "port %s: %u bytes, as interface %s",
			   port->name, port->mtu, port->device);
	}
}

void interfaces_judge_mtu(const struct devices_facts *facts, const struct plan *plan,
			  struct host_report *report)
{
	for (unsigned i = 0; plan != NULL && i < plan->config->n_ports; i++)
		if (link_of(facts, i) != NULL)
			judge_mtu(link_of(facts, i), plan, i, report);
}

// An AF_XDP port does not receive the packets of a queue without a socket.
static void judge_channels(const struct host_link *link, const struct plan *plan, unsigned index,
			   struct host_report *report)
{
	const struct port_settings *port = &plan->config->ports[index];
	uint32_t has = host_link_queues(link), wanted = plan->ports[index].n_rx_queues;
	const char *kind = link->channels.combined > 0 ? "combined" : "rx";
	struct host_finding *finding;

	if (has == wanted || !link->has_channels)
		return;
	if (has < wanted)
		finding = report_add(report, HOST_FAIL, STAGE_QUEUES,
				     "port %s: %u rx queues asked for, interface %s has %u",
				     port->name, wanted, port->device, has);
	else
		finding = report_add(report, HOST_WARN, STAGE_QUEUES,
				     "port %s: interface %s has %u rx queues, of which %u are read",
				     port->name, port->device, has, wanted);
	finding->quiet = true; // the port reports it when it starts
	report_remedy(finding, "as root: ethtool -L %s %s %u, or set ports[%u].rx_queues to %u",
		      port->device, kind, wanted, index, has);
	report_change(report, HOST_CHANGE_CHANNELS, STAGE_QUEUES, port->device, "%s %u", kind,
		      wanted);
}

static void judge_ring(const struct host_link *link, const struct port_settings *port,
		       struct host_report *report)
{
	struct host_finding *finding;

	if (!link->has_rings || link->rx_ring >= link->most_rx_ring)
		return;
	finding = report_add(report, HOST_WARN, STAGE_QUEUES,
			     "port %s: interface %s has %u rx descriptors of %u that it could have",
			     port->name, port->device, link->rx_ring, link->most_rx_ring);
	finding->quiet = true;
	report_remedy(finding, "as root: ethtool -G %s rx %u", port->device, link->most_rx_ring);
	report_change(report, HOST_CHANGE_RINGS, STAGE_QUEUES, port->device, "rx %u",
		      link->most_rx_ring);
}

void interfaces_judge_queues(const struct devices_facts *facts, const struct plan *plan,
			     struct host_report *report)
{
	for (unsigned i = 0; plan != NULL && i < plan->config->n_ports; i++) {
		const struct host_link *link = link_of(facts, i);
		unsigned before = report->n_findings;

		if (link == NULL)
			continue;
		if (is_af_xdp(plan, i))
			judge_channels(link, plan, i, report);
		judge_ring(link, &plan->config->ports[i], report);
		if (report->n_findings == before)
			report_add(report, HOST_OK, STAGE_QUEUES,
				   "port %s: %u rx queues of interface %s",
				   plan->config->ports[i].name, host_link_queues(link),
				   plan->config->ports[i].device);
	}
}

static void judge_pfc(const struct host_link *link, const struct port_settings *port,
		      struct host_report *report)
{
	bool wanted = port->flow_control.mode == FLOW_CONTROL_EXTERNAL;
	unsigned priority = port->flow_control.priority;
	struct host_finding *finding;

	if (link->has_pfc && (link->pfc & 1u << priority) != 0) {
		report_add(report, HOST_OK, STAGE_PFC, "port %s: interface %s pauses priority %u",
			   port->name, port->device, priority);
	} else if (!wanted) {
		report_add(report, HOST_OK, STAGE_PFC, "port %s: interface %s %s", port->name,
			   port->device,
			   link->has_pfc ? "does not pause the data's priority"
					 : "does not report PFC");
	} else if (!link->has_pfc) {
		finding = report_add(report, HOST_WARN, STAGE_PFC,
				     "port %s: flow control is external, and the driver of "
				     "interface %s does not report PFC",
				     port->name, port->device);
		report_remedy(finding, "set it up with the vendor's tool and at the switch, or set "
				       "flow_control.mode to \"soft\" or \"off\"");
	} else {
		finding = report_add(report, HOST_WARN, STAGE_PFC,
				     "port %s: flow control is external, and interface %s does not "
				     "pause priority %u",
				     port->name, port->device, priority);
		report_remedy(finding,
			      "as root: dcb pfc set dev %s prio-pfc %u:on, and the same at "
			      "the switch",
			      port->device, priority);
	}
}

void interfaces_judge_pfc(const struct devices_facts *facts, const struct plan *plan,
			  struct host_report *report)
{
	for (unsigned i = 0; plan != NULL && i < plan->config->n_ports; i++) {
		const struct port_settings *port = &plan->config->ports[i];

		if (link_of(facts, i) != NULL && port->flow_control.mode != FLOW_CONTROL_OFF)
			judge_pfc(link_of(facts, i), port, report);
	}
}
