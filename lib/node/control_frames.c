// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/control_frames.h"

#include <string.h>

#include <rte_ethdev.h>

#define ARP_NS 100000000u // between two requests for the same node

void control_frames_init(struct control_frames *frames,
			 const struct control_role_parameters *parameters,
			 struct control_role_counters *counters)
{
	frames->parameters = parameters;
	frames->counters = counters;
	memcpy(frames->addresses, parameters->addresses,
	       parameters->n_nodes * sizeof(*frames->addresses));
}

// --- sending ---

static void send_mbuf(struct control_frames *frames, struct rte_mbuf *mbuf)
{
	const struct control_role_parameters *p = frames->parameters;

	if (rte_eth_tx_burst(p->port_id, p->queue, &mbuf, 1) == 1) {
		counter_add(&frames->counters->sent, 1);
		return;
	}
	counter_add(&frames->counters->not_sent, 1);
	rte_pktmbuf_free(mbuf);
}

static void request_address(struct control_frames *frames, unsigned node, uint64_t now)
{
	struct net_arp arp = {
		.operation = 1,
		.sender_ip = frames->addresses[frames->parameters->self],
		.target_ip = frames->addresses[node],
	};
	struct rte_mbuf *mbuf;
	char *frame;

	if (frames->requested_at[node] != 0 && now - frames->requested_at[node] < ARP_NS)
		return;
	frames->requested_at[node] = now;
	mbuf = rte_pktmbuf_alloc(frames->parameters->pool);
	if (mbuf == NULL)
		return;
	frame = rte_pktmbuf_append(mbuf, NET_MIN_FRAME);
	memcpy(arp.sender_mac.bytes, frames->parameters->mac, sizeof(arp.sender_mac.bytes));
	net_arp_encode((uint8_t *)frame, &arp);
	counter_add(&frames->counters->arp_requests, 1);
	send_mbuf(frames, mbuf);
}

void control_frames_request_addresses(struct control_frames *frames, uint64_t now)
{
	const struct control_role_parameters *p = frames->parameters;
	uint8_t mac[6];

	for (unsigned i = 0; i < p->n_nodes; i++)
		if (i != p->self && !neighbours_get(p->neighbours, i, mac))
			request_address(frames, i, now);
}

bool control_frames_send(struct control_frames *frames, unsigned node, const uint8_t *bytes,
			 size_t size, uint64_t now)
{
	const struct control_role_parameters *p = frames->parameters;
	struct net_udp4 udp = {
		.source_ip = frames->addresses[p->self],
		.destination_ip = frames->addresses[node],
		.source_port = p->control_port,
		.destination_port = p->control_port,
		.dscp_ecn = (uint8_t)(p->control_dscp << 2),
	};
	struct rte_mbuf *mbuf;
	uint8_t *frame;

	if (!neighbours_get(p->neighbours, node, udp.destination_mac.bytes)) {
		counter_add(&frames->counters->no_address, 1);
		request_address(frames, node, now);
		return true; // the endpoint sends the datagram again
	}
	memcpy(udp.source_mac.bytes, p->mac, sizeof(udp.source_mac.bytes));
	mbuf = rte_pktmbuf_alloc(p->pool);
	if (mbuf == NULL) {
		counter_add(&frames->counters->not_sent, 1);
		return false;
	}
	frame = (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)(NET_HEADERS_SIZE + size));
	if (frame == NULL) {
		rte_pktmbuf_free(mbuf);
		return false;
	}
	net_udp4_encode(frame, &udp, (uint16_t)size);
	memcpy(frame + NET_HEADERS_SIZE, bytes, size);
	send_mbuf(frames, mbuf);
	return true;
}

// --- receiving ---

// The node that has an address; CLUSTER_NONE if that is this node or none.
static unsigned other_node_of(const struct control_frames *frames, uint32_t address)
{
	for (unsigned i = 0; i < frames->parameters->n_nodes; i++)
		if (frames->addresses[i] == address && i != frames->parameters->self)
			return i;
	return CLUSTER_NONE;
}

static void read_arp(struct control_frames *frames, const uint8_t *bytes, size_t length,
		     const struct net_frame *frame)
{
	struct net_arp arp;
	unsigned node;

	if (length < frame->l3_offset ||
	    net_arp_decode(bytes + frame->l3_offset, length - frame->l3_offset, &arp) != WIRE_OK)
		return;
	node = other_node_of(frames, arp.sender_ip);
	if (node != CLUSTER_NONE)
		neighbours_set(frames->parameters->neighbours, node, arp.sender_mac.bytes);
}

static bool read_datagram(struct control_frames *frames, const uint8_t *bytes, size_t length,
			  const struct net_frame *frame, struct control_datagram *datagram)
{
	const uint8_t *ip = bytes + frame->l3_offset;
	unsigned node = other_node_of(frames, load_be32(ip + 12));

	if (node == CLUSTER_NONE) {
		counter_add(&frames->counters->foreign, 1);
		return false;
	}
	// A node that came back may have another MAC address than before.
	neighbours_set(frames->parameters->neighbours, node, bytes + 6);
	if (frame->payload_offset + frame->payload_size > length) {
		counter_add(&frames->counters->malformed, 1);
		return false;
	}
	*datagram = (struct control_datagram){ bytes + frame->payload_offset, frame->payload_size };
	return true;
}

bool control_frames_receive(struct control_frames *frames, const struct rte_mbuf *mbuf,
			    struct control_datagram *datagram)
{
	uint32_t length = rte_pktmbuf_pkt_len(mbuf);
	const uint8_t *bytes = NULL;
	struct net_frame frame;

	counter_add(&frames->counters->frames, 1);
	if (length <= sizeof(frames->copy))
		bytes = rte_pktmbuf_read(mbuf, 0, length, frames->copy);
	if (bytes == NULL || net_parse(bytes, length, length, 0, &frame) != WIRE_OK ||
	    (frame.kind != NET_ARP_IP4 && frame.kind != NET_UDP4)) {
		counter_add(&frames->counters->malformed, 1);
		return false;
	}
	if (frame.kind == NET_UDP4)
		return read_datagram(frames, bytes, length, &frame, datagram);
	read_arp(frames, bytes, length, &frame);
	return false;
}
