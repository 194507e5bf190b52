// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Frames of the control protocol on the port of a node: they carry its datagrams in UDP over IPv4
// over Ethernet. The MAC addresses of the other nodes are found by ARP (RFC 826).
#include <string.h>

#include <rte_ethdev.h>

#include "node/control_internal.h"
#include "rx/handler.h"

#define ARP_NS        100000000u  // between two requests for the same node
#define ARP_AGAIN_NS  1000000000u // and if an address of it is known; a reply counts for so long
#define REQUESTS_MOST 128u        // ARP requests in half a heartbeat interval

// --- addresses ---

// Whether frames reach the process that is in session. One that sends and does not receive does not
// hold the node's address: another one may have taken its place.
static bool in_session(const struct control *control, unsigned node)
{
	struct control_state state;

	return control_state(control->endpoint, node, control->now, &state) && state.alive;
}

static void learn(struct control *control, unsigned node, const uint8_t *mac)
{
	if (!control->system->nodes[node].has_mac)
		neighbours_set(control->parameters.neighbours, node, mac);
}

static bool was_requested(const struct control *control, unsigned node, uint64_t within_ns)
{
	return control->nodes[node].requested_at != 0 &&
	       control->now - control->nodes[node].requested_at < within_ns;
}

// --- sending ---

void control_send_mbuf(struct control *control, struct rte_mbuf *mbuf)
{
	const struct control_role_parameters *p = &control->parameters;

	if (rte_eth_tx_burst(p->port_id, p->queue, &mbuf, 1) == 1) {
		counter_add(&control->counters.sent, 1);
		return;
	}
	counter_add(&control->counters.not_sent, 1);
	rte_pktmbuf_free(mbuf);
}

static void request_address(struct control *control, unsigned node)
{
	struct net_arp arp = {
		.operation = 1,
		.sender_ip = control->system->nodes[control->system->self].address,
		.target_ip = control->system->nodes[node].address,
	};
	struct rte_mbuf *mbuf;
	char *frame;

	if (control->system->nodes[node].has_mac || was_requested(control, node, ARP_NS))
		return;
	control->nodes[node].requested_at = control->now;
	mbuf = rte_pktmbuf_alloc(control->parameters.pool);
	if (mbuf == NULL)
		return;
	frame = rte_pktmbuf_append(mbuf, NET_MIN_FRAME);
	memcpy(arp.sender_mac.bytes, control->parameters.mac, sizeof(arp.sender_mac.bytes));
	net_arp_encode((uint8_t *)frame, &arp);
	counter_add(&control->counters.arp_requests, 1);
	control_send_mbuf(control, mbuf);
}

static bool needs_address(const struct control *control, unsigned node)
{
	uint8_t mac[6];

	return node != control->system->self &&
	       (!neighbours_get(control->parameters.neighbours, node, mac) ||
		(!was_requested(control, node, ARP_AGAIN_NS) && !in_session(control, node)));
}

void control_request_addresses(struct control *control)
{
	const unsigned n_nodes = control->system->n_nodes;
	const uint64_t before = counter_read(&control->counters.arp_requests);

	for (unsigned i = 0; i < n_nodes; i++) {
		const unsigned node = control->next_requested;

		if (counter_read(&control->counters.arp_requests) - before == REQUESTS_MOST)
			return;
		if (needs_address(control, node))
			request_address(control, node);
		control->next_requested = (node + 1) % n_nodes;
	}
}

// Where to send a datagram for a node. The refusal of another process than that which is in session
// goes to the address that the other process sends from.
static bool find_address(const struct control *control, unsigned node, const uint8_t *bytes,
			 struct net_mac *mac)
{
	if (!neighbours_get(control->parameters.neighbours, node, mac->bytes))
		return false;
	if (ctrl_frame_flags(bytes) & CTRL_OCCUPIED)
		*mac = control->nodes[node].stranger;
	return true;
}

// Writes the Ethernet frame of a datagram, NET_HEADERS_SIZE + size bytes.
static void put_datagram(const struct control *control, uint8_t *frame, const struct net_mac *mac,
			 uint32_t ip, const uint8_t *bytes, size_t size)
{
	const struct control_role_parameters *p = &control->parameters;
	struct net_udp4 udp = {
		.destination_mac = *mac,
		.source_ip = control->system->nodes[control->system->self].address,
		.destination_ip = ip,
		.source_port = p->control_port,
		.destination_port = p->control_port,
		.dscp_ecn = (uint8_t)(p->control_dscp << 2),
	};

	memcpy(udp.source_mac.bytes, p->mac, sizeof(udp.source_mac.bytes));
	net_udp4_encode(frame, &udp, (uint16_t)size);
	memcpy(frame + NET_HEADERS_SIZE, bytes, size);
}

bool control_send_datagram(struct control *control, const struct net_mac *mac, uint32_t ip,
			   const uint8_t *bytes, size_t size)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(control->parameters.pool);
	uint8_t *frame;

	if (mbuf == NULL) {
		counter_add(&control->counters.not_sent, 1);
		return false;
	}
	frame = (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)(NET_HEADERS_SIZE + size));
	if (frame == NULL) {
		rte_pktmbuf_free(mbuf);
		return false;
	}
	put_datagram(control, frame, mac, ip, bytes, size);
	control_send_mbuf(control, mbuf);
	return true;
}

bool control_send_frame(void *context, unsigned node, const uint8_t *bytes, size_t size)
{
	struct control *control = context;
	struct net_mac mac;

	if (!find_address(control, node, bytes, &mac)) {
		counter_add(&control->counters.no_address, 1);
		request_address(control, node);
		return true; // the endpoint sends the datagram again
	}
	return control_send_datagram(control, &mac, control->system->nodes[node].address, bytes,
				     size);
}

bool control_store_will_frame(void *context, unsigned node, const uint8_t *bytes, size_t size)
{
	const struct control *control = context;
	const struct control_role_parameters *p = &control->parameters;
	uint8_t tagged[NET_VLAN_SIZE + NET_HEADERS_SIZE + CONTROL_WILL_MOST];
	uint8_t *frame = tagged + NET_VLAN_SIZE;
	struct net_mac mac = { 0 };

	if (!neighbours_get(p->neighbours, node, mac.bytes))
		return false;
	put_datagram(control, frame, &mac, control->system->nodes[node].address, bytes, size);
	size += NET_HEADERS_SIZE;
	if (p->vlan == NULL)
		return last_will_set(p->last_will, node, frame, size);
	vlan_put_control_tag(p->vlan, tagged);
	return last_will_set(p->last_will, node, tagged, NET_VLAN_SIZE + size);
}

// --- receiving ---

static void read_arp(struct control *control, const uint8_t *bytes, size_t length,
		     const struct net_frame *frame)
{
	struct net_arp arp;
	unsigned node;

	if (length < frame->l3_offset ||
	    net_arp_decode(bytes + frame->l3_offset, length - frame->l3_offset, &arp) != WIRE_OK)
		return;
	node = cluster_node_at(control->system, arp.sender_ip);
	if (node != CLUSTER_NONE && was_requested(control, node, ARP_AGAIN_NS) &&
	    !in_session(control, node))
		learn(control, node, arp.sender_mac.bytes);
}

// A well-formed datagram came from the address `mac`. If it does not prove to be the node's and the
// node is out of session, the node may have another address than before.
static void take_address(struct control *control, unsigned node, const uint8_t *mac)
{
	uint8_t known[6];

	if (control_proven(control->endpoint)) {
		learn(control, node, mac);
		return;
	}
	memcpy(control->nodes[node].stranger.bytes, mac,
	       sizeof(control->nodes[node].stranger.bytes));
	if (neighbours_get(control->parameters.neighbours, node, known) &&
	    memcmp(known, mac, sizeof(known)) != 0 && !in_session(control, node))
		request_address(control, node);
}

static void read_datagram(struct control *control, const uint8_t *bytes, size_t length,
			  const struct net_frame *frame)
{
	const uint8_t *datagram = bytes + frame->payload_offset;
	unsigned node, sender;

	if (frame->payload_offset + frame->payload_size > length) {
		counter_add(&control->counters.malformed, 1);
		return;
	}
	sender = ctrl_frame_node(datagram, frame->payload_size);
	node = cluster_sender_of(control->system, load_be32(bytes + frame->l3_offset + 12), sender);
	if (node == CLUSTER_NONE)
		counter_add(&control->counters.foreign, 1);
	else if (control_receive(control->endpoint, datagram, frame->payload_size, control->now) !=
		 WIRE_OK)
		counter_add(&control->counters.malformed, 1);
	else
		take_address(control, node, bytes + 6);
}

void control_receive_frame(struct control *control, const struct rte_mbuf *mbuf)
{
	uint32_t length = rte_pktmbuf_pkt_len(mbuf);
	const uint8_t *bytes = NULL;
	struct net_frame frame;

	counter_add(&control->counters.frames, 1);
	if (length <= sizeof(control->copy))
		bytes = rte_pktmbuf_read(mbuf, 0, length, control->copy);
	if (bytes == NULL || net_parse(bytes, length, length, 0, &frame) != WIRE_OK ||
	    (frame.kind != NET_ARP_IP4 && frame.kind != NET_UDP4))
		counter_add(&control->counters.malformed, 1);
	else if (frame.kind == NET_UDP4)
		read_datagram(control, bytes, length, &frame);
	else
		read_arp(control, bytes, length, &frame);
}

// --- handlers of the rx role ---

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
