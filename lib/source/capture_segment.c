// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "source/capture_segment.h"

#include "wire/icrc.h"
#include "wire/net.h"
#include "wire/roce.h"

// Headers of RoCE can look like those of a segment; its checksum decides.
static bool is_roce(const struct capture_packet *packet, const struct net_frame *frame)
{
	return (frame->kind == NET_UDP4 || frame->kind == NET_UDP6) &&
	       frame->destination_port == ROCE_UDP_PORT && packet->captured == packet->length &&
	       icrc_verify(packet->bytes, frame);
}

struct capture_sight capture_look(const struct capture_packet *packet)
{
	struct capture_sight sight = { .port = CAPTURE_NO_PORT };
	struct net_frame frame;
	const uint8_t *bytes;
	size_t captured;

	if (net_parse(packet->bytes, packet->captured, packet->length, NET_TYPE_EVB, &frame))
		return sight;
	if (is_roce(packet, &frame))
		return sight;
	if (frame.kind == NET_UDP4 || frame.kind == NET_UDP6)
		sight.port = frame.destination_port;
	else if (frame.kind == NET_ETHER_PAYLOAD)
		sight.port = CAPTURE_ETHERNET;
	else
		return sight;
	if (frame.payload_offset > packet->captured)
		return sight;
	bytes = packet->bytes + frame.payload_offset;
	captured = packet->captured - frame.payload_offset;
	if (captured > frame.payload_size)
		captured = frame.payload_size;
	if (ejfat_segment_decode(bytes, captured, frame.payload_size, &sight.segment) ||
	    sight.segment.payload_offset > captured)
		return sight;
	sight.plausible = true;
	sight.payload = bytes + sight.segment.payload_offset;
	sight.captured = captured - sight.segment.payload_offset;
	return sight;
}
