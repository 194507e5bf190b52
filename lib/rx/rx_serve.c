// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Serves one packet: judges a segment by its sender, finds the handler of another packet.
#include "rx/rx_internal.h"

#include <rte_ethdev.h>

#include "packet/bundle.h"
#include "rx/checksums.h"
#include "rx/classify.h"
#include "rx/segment_decode.h"

static void drop_packet(struct rx *rx, struct rte_mbuf *mbuf, enum packet_cause cause)
{
	counter_add(&rx->counters.packet_drops[cause], 1);
	rte_pktmbuf_free(mbuf);
}

void rx_drop_segment(struct rx *rx, struct rte_mbuf *mbuf, enum segment_cause cause)
{
	counter_add(&rx->counters.segments, 1);
	counter_add(&rx->counters.segment_drops[cause], 1);
	rte_pktmbuf_free(mbuf);
}

static void stage(struct rx *rx, struct rte_mbuf *mbuf, unsigned builder)
{
	if (rx->n_staged[builder] == 0)
		rx->touched[rx->n_touched++] = (uint16_t)builder;
	rx->staged[builder][rx->n_staged[builder]++] = mbuf;
}

static void admit_segment(struct rx *rx, struct segment *segment, struct rx_source *source)
{
	segment->event_index = divide(segment->event_id, &rx->packing);
	segment->arrival = rx->last_packet;
	counter_add(&rx->counters.segments, 1);
	counter_add(&source->counters.segments, 1);
}

// The id that a segment states, for the person who looks for its sender.
static uint32_t stated_id(const uint8_t *bytes, uint32_t header_bytes,
			  const struct net_frame *frame)
{
	uint32_t start = frame->payload_offset;
	struct ejfat_segment decoded;

	if (ejfat_segment_decode(bytes + start, RTE_MIN(header_bytes - start, frame->payload_size),
				 frame->payload_size, &decoded) != WIRE_OK)
		return STRANGER_NO_ID;
	return decoded.re.data_id;
}

// Drops a segment because of who sent it.
static void refuse_sender(struct rx *rx, struct rte_mbuf *mbuf, const uint8_t *bytes,
			  const struct net_frame *frame, uint32_t id, enum segment_cause cause)
{
	struct origin origin = origin_of(bytes, frame);

	strangers_note(&rx->strangers, &origin, id, cause);
	rx_drop_segment(rx, mbuf, cause);
}

// Frames behind an EtherType have no checksum.
static enum packet_cause check_sums(struct rx *rx, const struct rte_mbuf *mbuf,
				    const uint8_t *bytes, const struct net_frame *frame)
{
	if (!rx->parameters.verify_checksums || unlikely(frame->kind == NET_ETHER_PAYLOAD))
		return PACKET_N_CAUSES;
	return rx_check_sums(rx->parameters.checksums_in_hardware, &rx->counters, mbuf, bytes,
			     frame);
}

// Judges a segment by its sender. False: it has been dropped.
__attribute__((noinline)) static bool judge_sender(struct rx *rx, struct rte_mbuf *mbuf,
						   const uint8_t *bytes,
						   const struct net_frame *frame)
{
	const struct rx_parameters *p = &rx->parameters;
	unsigned source = mbuf_segment(mbuf)->source;
	enum segment_cause cause = SEGMENT_N_CAUSES;

	if (p->admission != NULL && !admission_knows(p->admission, source, bytes, frame, rx->tick))
		cause =
		    admission_judge(p->admission, source, bytes, frame, rx->tick, p->source_moves);
	if (cause != SEGMENT_N_CAUSES) {
		refuse_sender(rx, mbuf, bytes, frame, p->sources->ids[source], cause);
		return false;
	}
	// A path has neither ports nor VLANs, which rules may state.
	if (frame->kind == NET_UDP4 && (p->admission == NULL || !p->admission->has_tags))
		rx_path_set(&rx->sources[source].path, bytes, frame, rx->tick);
	return true;
}

// Judges what is not a well-formed segment on the path of its source. `error`: of its decoding.
// False: it has been dropped.
__attribute__((noinline)) static bool judge_segment(struct rx *rx, struct rte_mbuf *mbuf,
						    const uint8_t *bytes, uint32_t header_bytes,
						    const struct net_frame *frame,
						    enum wire_error error)
{
	enum packet_cause cause = PACKET_NOT_FOR_US;
	unsigned source = mbuf_segment(mbuf)->source;

	if (rx_is_own(&rx->own, bytes, frame))
		cause = check_sums(rx, mbuf, bytes, frame);
	if (cause != PACKET_N_CAUSES) {
		drop_packet(rx, mbuf, cause);
		return false;
	}
	if (error != WIRE_OK) {
		rx_drop_segment(rx, mbuf, SEGMENT_MALFORMED);
		return false;
	}
	if (source >= SOURCE_UNEXPECTED) {
		refuse_sender(rx, mbuf, bytes, frame, stated_id(bytes, header_bytes, frame),
			      source == SOURCE_UNKNOWN ? SEGMENT_UNKNOWN_SOURCE
						       : SEGMENT_UNEXPECTED_SOURCE);
		return false;
	}
	return judge_sender(rx, mbuf, bytes, frame);
}

static inline unsigned builder_of(const struct rx *rx, const struct segment *segment,
				  const struct net_frame *frame)
{
	return rx->parameters.builder_by_udp_port
		   ? (unsigned)(frame->destination_port - rx->parameters.udp_port)
		   : (unsigned)remainder_of(segment->event_index, &rx->builders);
}

// --- bundles ---

// The number of blocks of a bundle; 0 if it is malformed.
static unsigned count_blocks(const struct rx *rx, const struct rte_mbuf *mbuf,
			     const struct net_frame *frame)
{
	const uint32_t end = frame->payload_offset + frame->payload_size;
	struct segment at = *mbuf_segment((struct rte_mbuf *)(uintptr_t)mbuf);
	struct ejfat_re re;
	unsigned n = 1;

	for (; bundle_has_more(&at); n++) {
		if (n == BUNDLE_MOST || !bundle_decode_next(mbuf, &at, end, &re))
			return 0;
		bundle_go_on(&at, &re, rx->parameters.sources, &rx->packing);
	}
	return rx->parameters.takes_bundles ? n : 0;
}

// Why a block behind the first one of its packet is refused; SEGMENT_N_CAUSES: it is not.
static enum segment_cause judge_block(struct rx *rx, const struct segment *segment, uint32_t id,
				      const uint8_t *bytes, const struct net_frame *frame)
{
	const struct rx_parameters *p = &rx->parameters;
	const struct origin origin = origin_of(bytes, frame);
	enum segment_cause cause = SEGMENT_N_CAUSES;

	if (segment->source >= SOURCE_UNEXPECTED)
		cause = segment->source == SOURCE_UNKNOWN ? SEGMENT_UNKNOWN_SOURCE
							  : SEGMENT_UNEXPECTED_SOURCE;
	else if (p->admission != NULL &&
		 !admission_knows(p->admission, segment->source, bytes, frame, rx->tick))
		cause = admission_judge(p->admission, segment->source, bytes, frame, rx->tick,
					p->source_moves);
	if (cause != SEGMENT_N_CAUSES)
		strangers_note(&rx->strangers, &origin, id, cause);
	return cause;
}

// Admits or refuses the blocks behind the first one, which is admitted.
__attribute__((noinline)) static void admit_others(struct rx *rx, struct rte_mbuf *mbuf,
						   const uint8_t *bytes,
						   const struct net_frame *frame, unsigned builder)
{
	struct segment *first = mbuf_segment(mbuf), at = *first;
	struct ejfat_re re;

	for (unsigned n = 0; bundle_has_more(&at); n++) {
		enum segment_cause cause;

		if (!bundle_decode_next(mbuf, &at, rte_pktmbuf_pkt_len(mbuf), &re))
			return; // not reached: count_blocks() has decoded it
		bundle_go_on(&at, &re, rx->parameters.sources, &rx->packing);
		counter_add(&rx->counters.segments, 1);
		counter_add(&rx->counters.bundled, 1);
		cause = judge_block(rx, &at, re.data_id, bytes, frame);
		if (unlikely(cause != SEGMENT_N_CAUSES)) {
			counter_add(&rx->counters.segment_drops[cause], 1);
			first->refused = (uint16_t)(first->refused | 1u << n);
			continue;
		}
		counter_add(&rx->sources[at.source].counters.segments, 1);
		// A link counts segments.
		counter_add(&rx->parameters.links[builder]->counters.enqueued, 1);
	}
}

__attribute__((noinline)) static void serve_bundle(struct rx *rx, struct rte_mbuf *mbuf,
						   const uint8_t *bytes, uint32_t header_bytes,
						   const struct net_frame *frame)
{
	struct segment *segment = mbuf_segment(mbuf);
	const enum wire_error error = count_blocks(rx, mbuf, frame) > 0 ? WIRE_OK : WIRE_BAD_LENGTH;
	unsigned builder;

	segment->refused = 0;
	if (!judge_segment(rx, mbuf, bytes, header_bytes, frame, error))
		return;
	admit_segment(rx, segment, &rx->sources[segment->source]);
	builder = builder_of(rx, segment, frame);
	admit_others(rx, mbuf, bytes, frame, builder);
	stage(rx, mbuf, builder);
}

// is_ip4: the frame is of kind NET_UDP4, as the usual segment. False if header_bytes were too few;
// nothing has been done then.
static inline __attribute__((always_inline)) bool serve_segment(
    struct rx *rx, struct rte_mbuf *mbuf, const uint8_t *bytes, uint32_t header_bytes,
    const struct net_frame *frame, bool all_at_hand, bool is_ip4)
{
	struct segment *segment = mbuf_segment(mbuf);
	struct rx_source *source = NULL;
	bool on_path = false;
	enum wire_error error =
	    rx_segment_decode(bytes, header_bytes, frame, rx->parameters.sources, segment);
	enum packet_cause cause;

	if (unlikely(error == WIRE_TRUNCATED && !all_at_hand))
		return false;
	if (likely(error == WIRE_OK && segment->source < SOURCE_UNEXPECTED)) {
		if (unlikely(bundle_has_more(segment))) {
			serve_bundle(rx, mbuf, bytes, header_bytes, frame);
			return true;
		}
		source = &rx->sources[segment->source];
		on_path = is_ip4 && rx_path_has(&source->path, bytes, frame, rx->tick);
	}
	if (likely(on_path)) {
		cause = check_sums(rx, mbuf, bytes, frame);
		if (unlikely(cause != PACKET_N_CAUSES)) {
			drop_packet(rx, mbuf, cause);
			return true;
		}
	} else if (!judge_segment(rx, mbuf, bytes, header_bytes, frame, error)) {
		return true;
	}
	admit_segment(rx, segment, source);
	stage(rx, mbuf, builder_of(rx, segment, frame));
	return true;
}

static void reply(struct rx *rx, struct rte_mbuf *mbuf)
{
	const struct rx_parameters *p = &rx->parameters;

	// A reply that the port does not accept is lost: the peer repeats its request.
	if (p->reply_queue < 0 ||
	    rte_eth_tx_burst(p->port_id, (uint16_t)p->reply_queue, &mbuf, 1) == 0)
		rte_pktmbuf_free(mbuf);
}

static void take_segment(struct rx *rx, const struct rx_packet *packet)
{
	struct segment *segment = mbuf_segment(packet->mbuf);
	struct rx_source *source = &rx->sources[segment->source];

	if (unlikely(packet->frame.kind != NET_UDP4 ||
		     !rx_path_has(&source->path, packet->bytes, &packet->frame, rx->tick)) &&
	    !judge_sender(rx, packet->mbuf, packet->bytes, &packet->frame))
		return;
	admit_segment(rx, segment, source);
	stage(rx, packet->mbuf, segment->builder);
}

// Returns the verdict. The packet is finished unless that is RX_NOT_MINE or RX_MORE_BYTES.
static enum rx_verdict run_handler(struct rx *rx, const struct rx_handler *handler,
				   struct rx_packet *packet)
{
	enum rx_verdict verdict = handler->receive(handler->context, packet);

	if (likely(verdict == RX_SEGMENT)) {
		take_segment(rx, packet);
		return verdict;
	}
	switch (verdict) {
	case RX_NOT_MINE:
	case RX_MORE_BYTES:
		return verdict;
	case RX_DROP_SEGMENT:
		if (packet->cause == SEGMENT_UNKNOWN_SOURCE ||
		    packet->cause == SEGMENT_UNEXPECTED_SOURCE)
			refuse_sender(rx, packet->mbuf, packet->bytes, &packet->frame,
				      STRANGER_NO_ID, packet->cause);
		else
			rx_drop_segment(rx, packet->mbuf, packet->cause);
		return verdict;
	default:
		break;
	}
	counter_add(RTE_PTR_ADD(&rx->counters, handler->counter), 1);
	if (verdict == RX_REPLY)
		reply(rx, packet->mbuf);
	else if (verdict != RX_PASSED_ON)
		rte_pktmbuf_free(packet->mbuf);
	if (verdict == RX_NO_ROOM)
		counter_add(&rx->counters.control_dropped, 1);
	return verdict;
}

// A packet of a protocol that evb does not speak.
static void free_other(struct rx *rx, struct rte_mbuf *mbuf)
{
	counter_add(&rx->counters.other, 1);
	rte_pktmbuf_free(mbuf);
}

// A datagram to a port that carries no segments. False if more bytes must be contiguous; nothing
// has been done then.
static bool serve_datagram(struct rx *rx, struct rx_packet *packet)
{
	enum packet_cause cause = PACKET_N_CAUSES;
	enum rx_verdict verdict = RX_NOT_MINE;
	const struct rx_handler *handler = rx->handlers, *end = handler + rx->n_handlers;

	while (handler < end && !rx_accepts(handler, &packet->frame))
		handler++;
	if (packet->is_partial && (handler == end || !handler->takes_parts))
		return false;
	if (handler == end || !handler->has_own_checksum)
		cause = check_sums(rx, packet->mbuf, packet->bytes, &packet->frame);
	if (cause == PACKET_N_CAUSES && handler < end)
		verdict = run_handler(rx, handler, packet);
	if (verdict == RX_NOT_MINE && cause == PACKET_N_CAUSES &&
	    rx->parameters.others_are_expected)
		free_other(rx, packet->mbuf);
	else if (verdict == RX_NOT_MINE)
		drop_packet(rx, packet->mbuf,
			    cause == PACKET_N_CAUSES ? PACKET_UNKNOWN_PORT : cause);
	return verdict != RX_MORE_BYTES;
}

// A frame that is neither a UDP datagram nor a segment.
static void serve_other(struct rx *rx, struct rx_packet *packet)
{
	for (unsigned i = 0; i < rx->n_handlers; i++)
		if (rx_accepts(&rx->handlers[i], &packet->frame) &&
		    run_handler(rx, &rx->handlers[i], packet) != RX_NOT_MINE)
			return;
	free_other(rx, packet->mbuf);
}

__attribute__((noinline)) static bool serve_other_segment(struct rx *rx, struct rte_mbuf *mbuf,
							  const uint8_t *bytes,
							  uint32_t header_bytes,
							  const struct net_frame *frame,
							  bool all_at_hand)
{
	return serve_segment(rx, mbuf, bytes, header_bytes, frame, all_at_hand, false);
}

// Serves a packet of which header_bytes are contiguous at `bytes`; all_at_hand: these are
// RX_HEADER_BYTES at least, or the whole packet. False if they are too few to classify the packet;
// nothing has been done then.
static bool serve_bytes(struct rx *rx, struct rte_mbuf *mbuf, const uint8_t *bytes,
			uint32_t header_bytes, bool all_at_hand)
{
	uint32_t length = rte_pktmbuf_pkt_len(mbuf);
	struct rx_packet packet;
	enum wire_error error =
	    net_parse(bytes, header_bytes, length, rx->parameters.ether_type, &packet.frame);

	if (unlikely(error != WIRE_OK)) {
		if (error == WIRE_TRUNCATED && !all_at_hand)
			return false;
		drop_packet(rx, mbuf,
			    error == WIRE_UNSUPPORTED ? PACKET_IP_FRAGMENT
						      : PACKET_MALFORMED_FRAME);
		return true;
	}
	if (likely(packet.frame.kind == NET_UDP4 &&
		   rx_carries_segment(&rx->parameters, &packet.frame)))
		return serve_segment(rx, mbuf, bytes, header_bytes, &packet.frame, all_at_hand,
				     true);
	if (rx_carries_segment(&rx->parameters, &packet.frame))
		return serve_other_segment(rx, mbuf, bytes, header_bytes, &packet.frame,
					   all_at_hand);
	if (!rx_is_own(&rx->own, bytes, &packet.frame) &&
	    !rx_is_group(&rx->own, bytes, &packet.frame)) {
		drop_packet(rx, mbuf, PACKET_NOT_FOR_US);
		return true;
	}
	packet.mbuf = mbuf;
	packet.bytes = bytes;
	packet.header_bytes = header_bytes;
	packet.is_partial = !all_at_hand;
	packet.now = rx->last_packet;
	if (likely(rx_is_udp(&packet.frame)))
		return serve_datagram(rx, &packet);
	if (!all_at_hand)
		return false;
	serve_other(rx, &packet);
	return true;
}

// A sender may keep the headers in a buffer of their own, with the payload in another: such a
// packet is served without a look at the payload, which is in no cache yet. Only if the first
// buffer does not have all headers, a copy of them is made.
void rx_serve(struct rx *rx, struct rte_mbuf *mbuf)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t length = rte_pktmbuf_pkt_len(mbuf);
	uint32_t wanted = RTE_MIN(length, RX_HEADER_BYTES);
	uint8_t copy[RX_HEADER_BYTES];

	counter_add(&rx->counters.bytes, length);
	if (likely(serve_bytes(rx, mbuf, bytes, mbuf->data_len, mbuf->data_len >= wanted)))
		return;
	bytes = rte_pktmbuf_read(mbuf, 0, wanted, copy);
	(void)serve_bytes(rx, mbuf, bytes, wanted, true);
}
