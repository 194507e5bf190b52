// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The settings of the kernel's network interfaces that ports use.
#include "host/stages.h"

#include "port/af_xdp.h"

void interfaces_judge_link(struct check *check, unsigned index, const struct host_link *link)
{
	const struct port_settings *port = &check->plan->config->ports[index];

	if (!link->up) {
		report_add(check->report, HOST_WARN,
			   "port %s: interface %s is down, nothing comes in" REMEDY
			   "as root: ip link set dev %s up",
			   port->name, port->device, port->device);
		report_change(check->report, HOST_CHANGE_LINK, port->device, "up");
	} else if (!link->running) {
		report_add(check->report, HOST_WARN,
			   "port %s: interface %s has no carrier" REMEDY
			   "look at the cable, and whether the other end is up",
			   port->name, port->device);
	} else {
		report_add(check->report, HOST_OK, "port %s: interface %s is up", port->name,
			   port->device);
	}
}

void interfaces_judge_mtu(struct check *check, unsigned index, const struct host_link *link)
{
	const struct port_settings *port = &check->plan->config->ports[index];
	uint32_t most = check->plan->ports[index].profile.maximum_mtu;

	if (link->mtu < port->mtu) {
		report_add(check->report, HOST_FAIL,
			   "port %s: mtu is %u, that of interface %s is %u" REMEDY
			   "as root: ip link set dev %s mtu %u (and on the whole path), or set "
			   "ports[%u].mtu to %u",
			   port->name, port->mtu, port->device, link->mtu, port->device, port->mtu,
			   index, link->mtu);
		report_change(check->report, HOST_CHANGE_MTU, port->device, "%u", port->mtu);
	} else if (af_xdp_is_driver(&check->plan->ports[index].profile) && link->mtu > most) {
		report_add(check->report, HOST_WARN,
			   "port %s: the MTU of interface %s is %u; above %u its driver may "
			   "refuse XDP, and longer packets are lost" REMEDY
			   "as root: ip link set dev %s mtu %u, or use profile af_packet",
			   port->name, port->device, link->mtu, most, port->device, port->mtu);
	} else if (link->mtu > port->mtu) {
		report_add(check->report, HOST_WARN,
			   "port %s: mtu is %u, interface %s takes packets of up to %u: longer "
			   "ones are lost" REMEDY "set ports[%u].mtu to %u if senders use it",
			   port->name, port->mtu, port->device, link->mtu, index,
			   link->mtu < most ? link->mtu : most)
		    ->quiet = true;
	} else {
		report_add(check->report, HOST_OK, "port %s: %u bytes, as interface %s", port->name,
			   port->mtu, port->device);
	}
}

// An AF_XDP port does not receive the packets of a queue without a socket.
static void judge_channels(struct check *check, const struct host_link *link, unsigned index)
{
	const struct port_settings *port = &check->plan->config->ports[index];
	uint32_t has = host_link_queues(link), wanted = check->plan->ports[index].n_rx_queues;
	const char *kind = link->channels.combined > 0 ? "combined" : "rx";
	struct host_finding *finding;

	if (has == wanted || !link->has_channels)
		return;
	if (has < wanted)
		finding = report_add(check->report, HOST_FAIL,
				     "port %s: %u rx queues asked for, interface %s has %u" REMEDY
				     "as root: ethtool -L %s %s %u, or set ports[%u].rx_queues to "
				     "%u",
				     port->name, wanted, port->device, has, port->device, kind,
				     wanted, index, has);
	else
		finding = report_add(check->report, HOST_WARN,
				     "port %s: interface %s has %u rx queues, of which %u are "
				     "read" REMEDY "as root: ethtool -L %s %s %u, or set "
				     "ports[%u].rx_queues to %u",
				     port->name, port->device, has, wanted, port->device, kind,
				     wanted, index, has);
	finding->quiet = true; // the port reports it when it starts
	report_change(check->report, HOST_CHANGE_CHANNELS, port->device, "%s %u", kind, wanted);
}

void interfaces_judge_queues(struct check *check, unsigned index, const struct host_link *link)
{
	const struct port_settings *port = &check->plan->config->ports[index];
	unsigned before = check->report->n_findings;

	if (af_xdp_is_driver(&check->plan->ports[index].profile))
		judge_channels(check, link, index);
	if (link->has_rings && link->rx_ring < link->most_rx_ring) {
		report_add(check->report, HOST_WARN,
			   "port %s: interface %s has %u rx descriptors of %u that it could "
			   "have" REMEDY "as root: ethtool -G %s rx %u",
			   port->name, port->device, link->rx_ring, link->most_rx_ring,
			   port->device, link->most_rx_ring)
		    ->quiet = true;
		report_change(check->report, HOST_CHANGE_RINGS, port->device, "rx %u",
			      link->most_rx_ring);
	}
	if (check->report->n_findings == before)
		report_add(check->report, HOST_OK, "port %s: %u rx queues of interface %s",
			   port->name, host_link_queues(link), port->device);
}

void interfaces_judge_pfc(struct check *check, unsigned index, const struct host_link *link)
{
	const struct port_settings *port = &check->plan->config->ports[index];
	unsigned priority = port->flow_control.priority;

	if (port->flow_control.mode == FLOW_CONTROL_OFF)
		return;
	if (link->has_pfc && (link->pfc & 1u << priority) != 0)
		report_add(check->report, HOST_OK, "port %s: interface %s pauses priority %u",
			   port->name, port->device, priority);
	else if (port->flow_control.mode != FLOW_CONTROL_EXTERNAL)
		report_add(
		    check->report, HOST_OK, "port %s: interface %s %s", port->name, port->device,
		    link->has_pfc ? "does not pause the data's priority" : "does not report PFC");
	else if (!link->has_pfc)
		report_add(check->report, HOST_WARN,
			   "port %s: flow control is external, and the driver of interface %s does "
			   "not report PFC" REMEDY
			   "set it up with the vendor's tool and at the switch, or set "
			   "flow_control.mode to \"soft\" or \"off\"",
			   port->name, port->device);
	else
		report_add(check->report, HOST_WARN,
			   "port %s: flow control is external, and interface %s does not pause "
			   "priority %u" REMEDY
			   "as root: dcb pfc set dev %s prio-pfc %u:on, and the same at the switch",
			   port->name, port->device, priority, port->device, priority);
}
