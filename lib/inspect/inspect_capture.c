// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Captures: segments in UDP datagrams or in frames of their own EtherType.

#include <pcap/pcap.h>

#include "inspect/inspect_internal.h"
#include "wire/icrc.h"

const char *inspect_roce_operation(const struct roce_packet *packet)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{ ROCE_SEND, "SEND" },
		{ ROCE_WRITE, "WRITE" },
		{ ROCE_READ_REQUEST, "READ" },
		{ ROCE_READ_RESPONSE, "READ response" },
		{ ROCE_ACKNOWLEDGE, "ACK" },
		{ ROCE_ATOMIC, "atomic" },
		{ ROCE_ATOMIC_RESULT, "atomic response" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (packet->flags & names[i].flag)
			return names[i].name;
	return "notification";
}

const char *inspect_roce_part(const struct roce_packet *packet)
{
	static const char *const parts[] = { "middle", "first", "last", "only" };
	bool begins = packet->flags & ROCE_BEGIN, ends = packet->flags & ROCE_END;

	if (!(packet->flags & (ROCE_SEND | ROCE_WRITE | ROCE_READ_RESPONSE)))
		return "";
	return parts[begins + 2 * ends];
}

const char *inspect_roce_service(const struct roce_packet *packet)
{
	static const char *const services[] = {
		[ROCE_RC] = "RC", [ROCE_UC] = "UC", [ROCE_UD] = "UD", [ROCE_CONGESTION] = "CNP"
	};

	return services[packet->service];
}

// Headers of RoCE can look like those of a segment: the port decides.
static bool is_roce_port(const struct net_frame *frame)
{
	return (frame->kind == NET_UDP4 || frame->kind == NET_UDP6) &&
	       frame->destination_port == ROCE_UDP_PORT;
}

// Bytes behind the headers that the capture holds.
static size_t payload_at_hand(const struct inspect_packet *packet)
{
	const struct net_frame *frame = &packet->frame;
	size_t at_hand =
	    packet->captured > frame->payload_offset ? packet->captured - frame->payload_offset : 0;

	return at_hand < frame->payload_size ? at_hand : frame->payload_size;
}

static void decode_roce(struct inspect_packet *packet)
{
	const struct net_frame *frame = &packet->frame;
	size_t at_hand = payload_at_hand(packet);

	if (at_hand < frame->payload_size && at_hand < ROCE_MAX_HEADERS_SIZE)
		return;
	packet->is_roce = !roce_parse(packet->bytes + frame->payload_offset, at_hand,
				      frame->payload_size, &packet->roce);
}

// The bytes behind a segment, which are those of the segments that follow it.
static size_t bytes_behind(const struct inspect_packet *packet, const struct ejfat_segment *segment)
{
	return packet->frame.payload_size - segment->payload_offset - segment->payload_size;
}

bool inspect_next_segment(const struct inspect_packet *packet, struct ejfat_segment *segment)
{
	const size_t size = bytes_behind(packet, segment);
	const uint32_t start = segment->payload_offset + segment->payload_size;
	struct ejfat_segment next;
	size_t at_hand = payload_at_hand(packet);

	if (!packet->is_segment || size == 0 || at_hand < start ||
	    ejfat_segment_decode(packet->bytes + packet->frame.payload_offset + start,
				 at_hand - start, size, &next) ||
	    next.payload_offset != EJFAT_RE_SIZE || next.payload_size != next.re.length)
		return false;
	next.payload_offset += start;
	*segment = next;
	return true;
}

static void decode_segment(struct inspect_packet *packet)
{
	const struct net_frame *frame = &packet->frame;
	const uint8_t *payload = packet->bytes + frame->payload_offset;
	size_t at_hand = payload_at_hand(packet);

	if (frame->kind != NET_UDP4 && frame->kind != NET_UDP6 && frame->kind != NET_ETHER_PAYLOAD)
		return;
	packet->is_segment =
	    !ejfat_segment_decode(payload, at_hand, frame->payload_size, &packet->segment);
	packet->has_lb = packet->is_segment && ejfat_has_lb(payload, at_hand) &&
			 !ejfat_lb_decode(payload, at_hand, &packet->lb);
}

// RoCE v2 has its own checksum and may leave out that of UDP, also over IPv6 (InfiniBand
// Architecture Specification, annex A17).
static void verify_udp(struct inspect *inspect, const struct inspect_packet *packet)
{
	enum net_checksum judged;

	if (packet->is_roce && !icrc_verify(packet->bytes, &packet->frame))
		inspect_report(inspect, 0, packet->number, WIRE_BAD_CHECKSUM, "ICRC");
	if (packet->is_roce && load_be16(packet->bytes + packet->frame.l4_offset + 6) == 0)
		return;
	judged = net_udp_checksum(packet->bytes, &packet->frame);
	if (judged == NET_CHECKSUM_WRONG)
		inspect_report(inspect, 0, packet->number, WIRE_BAD_CHECKSUM, "UDP checksum");
	inspect->summary.checksums_unfinished += judged == NET_CHECKSUM_UNFINISHED;
}

static void verify(struct inspect *inspect, const struct inspect_packet *packet, bool whole)
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
	if (!whole)
		inspect_report(inspect, 0, packet->number, WIRE_BAD_LENGTH,
			       "a block behind the first one is not whole");
}

// Counts the segments. *whole: nothing of the packet is left behind the last one. Returns whether
// the options select one of them, or the packet.
static bool look_at_segments(const struct inspect *inspect, const struct inspect_packet *packet,
			     unsigned *n, bool *whole)
{
	struct ejfat_segment segment = packet->segment;
	bool wanted = inspect_wanted(inspect, packet->is_segment, segment.re.event_number, 1);

	*n = packet->is_segment;
	while (inspect_next_segment(packet, &segment)) {
		wanted = wanted || inspect_wanted(inspect, true, segment.re.event_number, 1);
		++*n;
	}
	*whole = !packet->is_segment || bytes_behind(packet, &segment) == 0;
	return wanted;
}

static void visit(struct inspect *inspect, struct inspect_packet *packet)
{
	const struct inspect_visitor *visitor = &inspect->visitor;
	unsigned n;
	bool whole;

	packet->reason = net_parse(packet->bytes, packet->captured, packet->length, NET_TYPE_EVB,
				   &packet->frame);
	if (!packet->reason && is_roce_port(&packet->frame))
		decode_roce(packet);
	else if (!packet->reason)
		decode_segment(packet);
	if (!look_at_segments(inspect, packet, &n, &whole))
		return;
	inspect->n_visited++;
	inspect->summary.packets++;
	inspect->summary.segments += n;
	if (visitor->packet)
		visitor->packet(visitor->context, packet);
	if (inspect->options.verify)
		verify(inspect, packet, whole);
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
