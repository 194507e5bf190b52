// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The multicast group of the system. The manager sends frames to it; readout nodes are its members.
// Ports are promiscuous, so that they need no list of groups. A switch that watches memberships
// forwards the frames only to members, which therefore report their membership from time to time
// without being asked.
#include <rte_mbuf.h>

#include "node/control_internal.h"

#define REPORT_NS     10000000000u // between two reports; switches forget a member after minutes
#define EARLY_NS      1000000000u  // between the first reports
#define EARLY_REPORTS 3u

bool control_send_to_group(void *context, const uint8_t *bytes, size_t size)
{
	struct control *control = context;
	const uint32_t group = control->parameters.group;
	const struct net_mac mac = net_group_mac(group);

	return control_send_datagram(control, &mac, group, bytes, size);
}

bool control_joins_group(const struct control *control)
{
	return control->parameters.group != 0 &&
	       control->system->nodes[control->system->self].n_sources > 0;
}

static void report(struct control *control)
{
	const struct control_role_parameters *p = &control->parameters;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(p->pool);
	struct net_mac mac;

	if (mbuf == NULL)
		return;
	memcpy(mac.bytes, p->mac, sizeof(mac.bytes));
	net_igmp_report_encode((uint8_t *)rte_pktmbuf_append(mbuf, NET_IGMP_FRAME), &mac,
			       control->system->nodes[control->system->self].address, p->group);
	counter_add(&control->counters.membership_reports, 1);
	control_send_mbuf(control, mbuf);
}

void control_group_poll(struct control *control)
{
	if (!control_joins_group(control) || control->now < control->next_report)
		return;
	control->n_reports++;
	control->next_report =
	    control->now + (control->n_reports < EARLY_REPORTS ? EARLY_NS : REPORT_NS);
	report(control);
}
