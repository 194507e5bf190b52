// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The bytes of frames, for people who look at the network of a simulation.
#include <string.h>

#include "readout/segment_head.h"
#include "sim_system/internal.h"
#include "wire/net.h"

#define ECN_CAPABLE 2u // RFC 3168, section 5
#define ECN_MARKED  3u

// Hosts without a configured address have a locally administered one.
static struct net_mac mac_of(const struct cluster_system_node *node)
{
	struct net_mac mac = { { 0x02, 0 } };

	if (node->has_mac)
		memcpy(mac.bytes, node->mac, sizeof(mac.bytes));
	else
		store_be32(mac.bytes + 2, node->address);
	return mac;
}

static uint8_t ecn_of(const struct sim_packet *packet)
{
	return packet->marked ? ECN_MARKED : packet->may_mark ? ECN_CAPABLE : 0;
}

static size_t write_control(const struct sim_system *system, const struct sim_packet *packet,
			    uint8_t *bytes, size_t room)
{
	const struct sim_frame *frame = frames_at(&system->frames, (uint32_t)(packet->user >> 1));
	const struct cluster_system_node *from = &system->parameters.system->nodes[frame->from];
	const struct cluster_system_node *to = &system->parameters.system->nodes[frame->to];
	const struct net_udp4 udp = {
		.source_mac = mac_of(from),
		.destination_mac = mac_of(to),
		.source_ip = from->address,
		.destination_ip = to->address,
		.source_port = system->parameters.control_port,
		.destination_port = system->parameters.control_port,
		.dscp_ecn = ecn_of(packet),
	};

	if (NET_HEADERS_SIZE + frame->size > room)
		return 0;
	net_udp4_encode(bytes, &udp, (uint16_t)frame->size);
	memcpy(bytes + NET_HEADERS_SIZE, frame->bytes, frame->size);
	return NET_HEADERS_SIZE + frame->size;
}

static void write_headers(const struct sim_system *system, const struct sim_packet *packet,
			  const struct sim_segment *segment, uint8_t *bytes)
{
	const struct sim_system_parameters *p = &system->parameters;
	const struct sim_node_builder *builder = &system->builders[segment->builder];
	const struct cluster_system_node *to = &p->system->nodes[builder->node->number];
	const struct cluster_system_node *from =
	    &p->system->nodes[system->node_of_source[segment->source]];
	const struct net_udp4 udp = {
		.source_mac = mac_of(from),
		.destination_mac = mac_of(to),
		.source_ip = from->address,
		.destination_ip = to->address,
		.source_port =
		    (uint16_t)(SEGMENT_SOURCE_PORT + segment->source % SEGMENT_SOURCE_PORTS),
		.destination_port = (uint16_t)(p->udp_port + builder->index),
		.dscp_ecn = ecn_of(packet),
	};

	if (p->ethernet)
		net_eth_encode(bytes, &udp.destination_mac, &udp.source_mac, 0, p->ether_type);
	else
		net_udp4_encode(bytes, &udp, (uint16_t)(segment_head_size(false) + segment->size));
}

static size_t write_segment(const struct sim_system *system, const struct sim_packet *packet,
			    uint8_t *bytes, size_t room)
{
	const struct sim_segment *segment =
	    pool_at(&system->segments, (uint32_t)(packet->user >> 1));
	const struct ejfat_re re = {
		.event_number = segment->event * system->parameters.packing,
		.offset = segment->offset,
		.length = segment->length,
		.data_id = system->parameters.system->source_ids[segment->source],
	};

	if (system->headers > room)
		return 0;
	write_headers(system, packet, segment, bytes);
	segment_head_write(bytes + system->headers - segment_head_size(false), false, 0, 0, re);
	return system->headers;
}

size_t sim_system_frame(const struct sim_system *system, const struct sim_packet *packet,
			uint8_t *bytes, size_t room)
{
	return (packet->user & SIM_IS_CONTROL) != 0 ? write_control(system, packet, bytes, room)
						    : write_segment(system, packet, bytes, room);
}
