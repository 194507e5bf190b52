// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/control_handler.h"

// A frame for which the link has no room is lost: the control protocol and ARP send it again.
static enum rx_verdict pass_on(struct link *link, struct rte_mbuf *mbuf)
{
	return link_enqueue(link, &mbuf, 1) == 1 ? RX_PASSED_ON : RX_NO_ROOM;
}

static enum rx_verdict receive_control(void *context, struct rx_packet *packet)
{
	return pass_on(context, packet->mbuf);
}

static enum rx_verdict receive_arp(void *context, struct rx_packet *packet)
{
	const uint8_t *bytes = rx_packet_in_place(packet);
	uint16_t offset = packet->frame.l3_offset, size = packet->mbuf->data_len;
	struct net_arp arp;

	if (bytes == NULL || size < offset ||
	    net_arp_decode(bytes + offset, size - offset, &arp) != WIRE_OK || arp.operation != 2)
		return RX_NOT_MINE;
	return pass_on(context, packet->mbuf);
}

struct rx_handler control_frame_handler(struct link *link, uint16_t control_port)
{
	return (struct rx_handler){
		.context = link,
		.kinds = RX_ACCEPTS(NET_UDP4),
		.udp_ports = { control_port, control_port },
		.counter = offsetof(struct rx_counters, control),
		.receive = receive_control,
	};
}

struct rx_handler control_arp_handler(struct link *link)
{
	return (struct rx_handler){
		.context = link,
		.kinds = RX_ACCEPTS(NET_ARP_IP4),
		.counter = offsetof(struct rx_counters, arp),
		.receive = receive_arp,
	};
}
