// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rx/own_handlers.h"

// All ARP packets end here, whether they get a reply or not.
static enum rx_verdict receive(void *context, struct rx_packet *packet)
{
	const struct rx_addresses *own = context;
	uint8_t *bytes = rx_packet_in_place(packet);

	if (bytes != NULL && own->has_ip4 &&
	    net_arp_answer(bytes, &packet->frame, packet->mbuf->data_len, &own->mac, own->ip4))
		return RX_REPLY;
	return RX_FREE;
}

struct rx_handler rx_arp_handler(struct rx_addresses *addresses)
{
	return (struct rx_handler){
		.context = addresses,
		.kinds = RX_ACCEPTS(NET_ARP_IP4),
		.counter = offsetof(struct rx_counters, arp),
		.receive = receive,
	};
}
