// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Captures: segments in UDP datagrams or in frames of their own EtherType.

#include <inttypes.h>
#include <pcap/pcap.h>

#include "inspect/inspect_internal.h"

// UDP port of RoCE v2 (IANA), whose headers can look like those of a segment.
#define ROCE_PORT 4791

static void decode_segment(struct inspect_packet *packet)
{
	const struct net_frame *frame = &packet->frame;
	const uint8_t *payload = packet->bytes + frame->payload_offset;
	size_t at_hand =
	    packet->captured > frame->payload_offset ? packet->captured - frame->payload_offset : 0;

	if (frame->kind != NET_UDP4 && frame->kind != NET_UDP6 && frame->kind != NET_ETHER_PAYLOAD)
		return;
	if (frame->kind != NET_ETHER_PAYLOAD && frame->destination_port == ROCE_PORT)
		return;
	if (at_hand > frame->payload_size)
		at_hand = frame->payload_size;
	packet->is_segment =
	    !ejfat_segment_decode(payload, at_hand, frame->payload_size, &packet->segment);
	packet->has_lb = packet->is_segment && ejfat_has_lb(payload, at_hand) &&
			 !ejfat_lb_decode(payload, at_hand, &packet->lb);
}

static void verify_udp(struct inspect *inspect, const struct inspect_packet *packet)
{
	enum net_checksum judged = net_udp_checksum(packet->bytes, &packet->frame);

	if (judged == NET_CHECKSUM_WRONG)
		inspect_report(inspect, 0, packet->number, WIRE_BAD_CHECKSUM, "UDP checksum");
	inspect->summary.checksums_unfinished += judged == NET_CHECKSUM_UNFINISHED;
}

static void verify(struct inspect *inspect, const struct inspect_packet *packet)
{
	const struct net_frame *frame = &packet->frame;
	bool udp = !packet->reason && (frame->kind == NET_UDP4 || frame->kind == NET_UDP6);

	if (packet->captured < packet->length) {
		inspect_report(inspect, 0, packet->number, WIRE_TRUNCATED,
			       "the capture holds %u of the packet's %u bytes", packet->captured,
			       packet->length);
		return;
	}
	if (packet->reason) {
		inspect_report(inspect, 0, packet->number, packet->reason, "malformed frame");
		return;
	}
	if (udp && frame->kind == NET_UDP4 &&
	    !net_ipv4_checksum_ok(packet->bytes + frame->l3_offset))
		inspect_report(inspect, 0, packet->number, WIRE_BAD_CHECKSUM, "IPv4 checksum");
	if (udp)
		verify_udp(inspect, packet);
	if (frame->kind == NET_ETHER_PAYLOAD && !packet->is_segment)
		inspect_report(inspect, 0, packet->number, WIRE_BAD_LENGTH,
			       "EtherType of segments, but no segment");
}

static void visit(struct inspect *inspect, struct inspect_packet *packet)
{
	const struct inspect_visitor *visitor = &inspect->visitor;

	packet->reason = net_parse(packet->bytes, packet->captured, packet->length, NET_TYPE_EVB,
				   &packet->frame);
	if (!packet->reason)
		decode_segment(packet);
	if (!inspect_wanted(inspect, packet->is_segment, packet->segment.re.event_number, 1))
		return;
	inspect->n_visited++;
	inspect->summary.packets++;
	inspect->summary.segments += packet->is_segment;
	if (visitor->packet)
		visitor->packet(visitor->context, packet);
	if (inspect->options.verify)
		verify(inspect, packet);
}

static void read_packets(struct inspect *inspect, pcap_t *capture)
{
	uint64_t number = 0;
	int got = 1;

	while (!inspect_limit_reached(inspect)) {
		struct pcap_pkthdr *header;
		const uint8_t *bytes;
		struct inspect_packet packet = { 0 };

		got = pcap_next_ex(capture, &header, &bytes);
		if (got != 1)
			break;
		packet.number = ++number;
		// With nanosecond precision tv_usec holds nanoseconds.
		packet.time_ns =
		    (uint64_t)header->ts.tv_sec * 1000000000u + (uint64_t)header->ts.tv_usec;
		packet.captured = header->caplen < header->len ? header->caplen : header->len;
		packet.length = header->len;
		packet.bytes = bytes;
		visit(inspect, &packet);
	}
	if (got == PCAP_ERROR)
		inspect_report(inspect, inspect->file.size, number + 1, WIRE_TRUNCATED, "%s",
			       pcap_geterr(capture));
}

void inspect_capture_file(struct inspect *inspect)
{
	char cause[PCAP_ERRBUF_SIZE];
	pcap_t *capture = pcap_open_offline_with_tstamp_precision(
	    inspect->file.path, PCAP_TSTAMP_PRECISION_NANO, cause);

	if (!capture) {
		inspect_report(inspect, 0, 0, WIRE_BAD_LENGTH, "%s", cause);
		return;
	}
	if (pcap_datalink(capture) == DLT_EN10MB)
		read_packets(inspect, capture);
	else
		inspect_report(inspect, 0, 0, WIRE_UNSUPPORTED, "link type %s, expected Ethernet",
			       pcap_datalink_val_to_name(pcap_datalink(capture)) ?: "unknown");
	pcap_close(capture);
}
