// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The handlers that every rx role has, with its struct rx_parameters as context. They reply to ARP,
// neighbour discovery and ICMP echo for the port's own addresses, so that a kernel host can send to
// the port, and pass pause frames to the port's flow control. Packets of ICMP that need no reply go
// to the next handler, and count as `other`.
#include "rx/rx_role.h"

// All ARP packets end here, whether they get a reply or not.
static enum rx_verdict receive_arp(void *context, struct rx_packet *packet)
{
	const struct rx_addresses *own = &((const struct rx_parameters *)context)->addresses;
	uint8_t *bytes = rx_packet_in_place(packet);

	if (bytes != NULL && own->has_ip4 &&
	    net_arp_answer(bytes, &packet->frame, packet->mbuf->data_len, &own->mac, own->ip4))
		return RX_REPLY;
	return RX_FREE;
}

static enum rx_verdict receive_icmp4(void *context, struct rx_packet *packet)
{
	const struct rx_addresses *own = &((const struct rx_parameters *)context)->addresses;
	uint8_t *bytes = rx_packet_in_place(packet);

	if (bytes != NULL && own->has_ip4 &&
	    net_icmp_echo_answer(bytes, &packet->frame, packet->mbuf->data_len, &own->mac,
				 own->ip4))
		return RX_REPLY;
	return RX_NOT_MINE;
}

// `answer`: net_icmp6_echo_answer() or net_neighbour_answer().
static enum rx_verdict receive_icmp6(const struct rx_parameters *parameters,
				     struct rx_packet *packet, typeof(net_neighbour_answer) *answer)
{
	const struct rx_addresses *own = &parameters->addresses;
	uint8_t *bytes = rx_packet_in_place(packet);

	if (bytes != NULL && own->has_ip6 &&
	    answer(bytes, &packet->frame, packet->mbuf->data_len, &own->mac, own->ip6))
		return RX_REPLY;
	return RX_NOT_MINE;
}

static enum rx_verdict receive_neighbour(void *context, struct rx_packet *packet)
{
	return receive_icmp6(context, packet, net_neighbour_answer);
}

static enum rx_verdict receive_echo6(void *context, struct rx_packet *packet)
{
	return receive_icmp6(context, packet, net_icmp6_echo_answer);
}

// Only the rx role that owns the port's flow control receives pause frames.
static enum rx_verdict receive_pause(void *context, struct rx_packet *packet)
{
	const struct rx_parameters *parameters = context;

	if (parameters->flow_control == NULL ||
	    !pfc_is_mac_control(packet->bytes, packet->header_bytes))
		return RX_NOT_MINE;
	flow_control_received(parameters->flow_control, packet->bytes, packet->header_bytes,
			      packet->now);
	return RX_FREE;
}

#define HANDLER(kind, counter_, receive_)                                                     \
	{                                                                                     \
		.kinds = RX_ACCEPTS(kind), .counter = offsetof(struct rx_counters, counter_), \
		.receive = receive_,                                                          \
	}

const struct rx_handler rx_own_handlers[RX_OWN_HANDLERS] = {
	HANDLER(NET_ARP_IP4, arp, receive_arp),     HANDLER(NET_ICMP4, icmp_echo, receive_icmp4),
	HANDLER(NET_ICMP6, arp, receive_neighbour), HANDLER(NET_ICMP6, icmp_echo, receive_echo6),
	HANDLER(NET_OTHER, pause, receive_pause),
};
