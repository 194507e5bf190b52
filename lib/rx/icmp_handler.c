// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Replies to ICMP echo over IPv4 and IPv6, and to neighbour discovery. Packets that need no reply
// go to the next handler, and count as `other`.
#include "rx/own_handlers.h"

static enum rx_verdict receive4(void *context, struct rx_packet *packet)
{
	const struct rx_addresses *own = context;
	uint8_t *bytes = rx_packet_in_place(packet);

	if (bytes != NULL && own->has_ip4 &&
	    net_icmp_echo_answer(bytes, &packet->frame, packet->mbuf->data_len, &own->mac,
				 own->ip4))
		return RX_REPLY;
	return RX_NOT_MINE;
}

static enum rx_verdict receive6(void *context, struct rx_packet *packet)
{
	const struct rx_addresses *own = context;
	uint8_t *bytes = rx_packet_in_place(packet);

	if (bytes != NULL && own->has_ip6 &&
	    net_icmp6_echo_answer(bytes, &packet->frame, packet->mbuf->data_len, &own->mac,
				  own->ip6))
		return RX_REPLY;
	return RX_NOT_MINE;
}

static enum rx_verdict receive_neighbour(void *context, struct rx_packet *packet)
{
	const struct rx_addresses *own = context;
	uint8_t *bytes = rx_packet_in_place(packet);

	if (bytes != NULL && own->has_ip6 &&
	    net_neighbour_answer(bytes, &packet->frame, packet->mbuf->data_len, &own->mac,
				 own->ip6))
		return RX_REPLY;
	return RX_NOT_MINE;
}

struct rx_handler rx_icmp4_handler(struct rx_addresses *addresses)
{
	return (struct rx_handler){
		.context = addresses,
		.kinds = RX_ACCEPTS(NET_ICMP4),
		.counter = offsetof(struct rx_counters, icmp_echo),
		.receive = receive4,
	};
}

struct rx_handler rx_icmp6_handler(struct rx_addresses *addresses)
{
	return (struct rx_handler){
		.context = addresses,
		.kinds = RX_ACCEPTS(NET_ICMP6),
		.counter = offsetof(struct rx_counters, icmp_echo),
		.receive = receive6,
	};
}

struct rx_handler rx_neighbour_handler(struct rx_addresses *addresses)
{
	return (struct rx_handler){
		.context = addresses,
		.kinds = RX_ACCEPTS(NET_ICMP6),
		.counter = offsetof(struct rx_counters, arp),
		.receive = receive_neighbour,
	};
}
