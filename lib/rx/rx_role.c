// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rx/rx_role.h"

#include <stdio.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "packet/bundle.h"
#include "rx/checksums.h"
#include "rx/classify.h"
#include "rx/destination.h"
#include "rx/hold.h"
#include "rx/path.h"
#include "rx/pressure.h"
#include "rx/segment_decode.h"
#include "rx/strangers.h"

#define LEAVE_US 500000u // longest time for peers to respond when handlers leave

#define OBSERVE_POLLS 16u // polls between two observations of links and slots

// What the role has per expected source.
struct rx_source {
	struct rx_source_counters counters;
	struct rx_path path;
} __rte_cache_aligned;

struct rx {
	struct role role;
	struct rx_parameters parameters;
	struct divisor packing;
	struct divisor builders;
	struct rx_destination own;
	uint32_t polls;
	struct rx_pressure pressure; // used if this role owns the port's flow control
	uint64_t last_packet;        // TSC
	uint32_t tick;               // admission_tick() of last_packet
	uint64_t drain_start;        // TSC, 0: not draining
	uint64_t leave_start;        // TSC, 0: handlers do not leave yet
	uint64_t leave_cycles;

	struct rx_handler handlers[RX_MAX_HANDLERS + RX_OWN_HANDLERS];
	unsigned n_handlers;
	bool handlers_send; // one of them has poll()
	bool is_open;       // as the gate says
	struct rx_hold hold;

	// Segments of this burst, by builder; each link is filled once per burst.
	struct rte_mbuf *staged[EVB_MAX_BUILDERS][ROLE_BURST];
	uint16_t n_staged[EVB_MAX_BUILDERS];
	uint32_t
	    n_behind[EVB_MAX_BUILDERS]; // staged segments behind the first ones of their packets
	uint16_t touched[ROLE_BURST];   // builders that have staged segments
	unsigned n_touched;

	struct rx_counters counters __rte_cache_aligned;
	struct rx_source *sources;
	struct strangers strangers;
};

static struct rx *rx_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct rx, role));
}

static void drop_packet(struct rx *rx, struct rte_mbuf *mbuf, enum packet_cause cause)
{
	counter_add(&rx->counters.packet_drops[cause], 1);
	rte_pktmbuf_free(mbuf);
}

static void drop_segment(struct rx *rx, struct rte_mbuf *mbuf, enum segment_cause cause)
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
	drop_segment(rx, mbuf, cause);
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
		drop_segment(rx, mbuf, SEGMENT_MALFORMED);
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
			drop_segment(rx, packet->mbuf, packet->cause);
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
	if (verdict == RX_NOT_MINE)
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
	counter_add(&rx->counters.other, 1);
	rte_pktmbuf_free(packet->mbuf);
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
static void serve(struct rx *rx, struct rte_mbuf *mbuf)
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

// Drops the segments that a link did not accept. This never happens to a lossless link: poll()
// checks before that it has room for a whole burst.
static void drop_overflow(struct rx *rx, struct link *link, struct rte_mbuf **mbufs, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct segment *segment = mbuf_segment(mbufs[i]);
		uint64_t blocks = 0;

		do {
			counter_add(&rx->sources[segment->source].counters.link_full, 1);
			blocks++;
		} while (bundle_next(mbufs[i], segment, rx->parameters.sources, &rx->packing));
		counter_add(&rx->counters.segment_drops[SEGMENT_LINK_FULL], blocks);
		counter_add(&link->counters.dropped, blocks);
		counter_add(&link->counters.enqueued, 1 - blocks); // as if none of them were
	}
	rte_pktmbuf_free_bulk(mbufs, n);
}

static void flush_staged(struct rx *rx)
{
	for (unsigned i = 0; i < rx->n_touched; i++) {
		unsigned builder = rx->touched[i];
		unsigned n = rx->n_staged[builder];
		struct link *link = rx->parameters.links[builder];
		unsigned done = link_enqueue(link, rx->staged[builder], n);

		if (unlikely(done < n))
			drop_overflow(rx, link, rx->staged[builder] + done, n - done);
		rx->n_staged[builder] = 0;
	}
	rx->n_touched = 0;
}

static bool links_have_room(struct rx *rx)
{
	for (unsigned i = 0; i < rx->parameters.n_builders; i++) {
		struct link *link = rx->parameters.links[i];

		if (link->lossless && !link_room(link, ROLE_BURST))
			return false;
	}
	return true;
}

// Reports occupancies and sends pause frames. It is also called while links are full, when pause
// frames matter most.
static void serve_flow_control(struct rx *rx, uint64_t now)
{
	struct flow_control *flow_control = rx->parameters.flow_control;
	struct pause_occupancy occupancy;

	if (++rx->polls % OBSERVE_POLLS == 0) {
		rx_pressure_observe(&rx->pressure, &occupancy);
		flow_control_observe(flow_control, rx->parameters.data_priority, &occupancy);
	}
	(void)flow_control_poll(flow_control, now);
}

static unsigned send_from(struct rx *rx, const struct rx_handler *handler, uint64_t now)
{
	const struct rx_parameters *p = &rx->parameters;
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n = handler->poll(handler->context, now, mbufs, ROLE_BURST);
	unsigned sent = 0;

	if (n == 0)
		return 0;
	if (p->reply_queue >= 0)
		sent = rte_eth_tx_burst(p->port_id, (uint16_t)p->reply_queue, mbufs, (uint16_t)n);
	handler->sent(handler->context, sent, n - sent);
	if (unlikely(sent < n))
		rte_pktmbuf_free_bulk(mbufs + sent, n - sent);
	return n;
}

// Sends the packets of the handlers' poll() functions. Returns their number.
static unsigned poll_handlers(struct rx *rx, uint64_t now)
{
	unsigned n = 0;

	if (likely(!rx->handlers_send))
		return 0;
	for (unsigned i = 0; i < rx->n_handlers; i++)
		if (rx->handlers[i].poll != NULL)
			n += send_from(rx, &rx->handlers[i], now);
	return n;
}

// While links are full, only what cannot be a segment is served. What waited for room is served
// before what comes from the port.
static unsigned receive(struct rx *rx, struct rte_mbuf **mbufs, uint64_t now, bool full)
{
	if (unlikely(full))
		return rx_hold_receive(&rx->hold, mbufs, now, &rx->counters);
	if (unlikely(rx->counters.held > 0))
		return rx_hold_take(&rx->hold, mbufs, &rx->counters);
	return rte_eth_rx_burst(rx->parameters.port_id, rx->parameters.queue, mbufs, ROLE_BURST);
}

static void set_open(struct rx *rx, bool is_open)
{
	rx->is_open = is_open;
	atomic_store_explicit(&rx->parameters.gate->is_open, is_open, memory_order_release);
}

static bool carries_segment(const struct rx *rx, const struct rte_mbuf *mbuf)
{
	struct net_frame frame;

	return net_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len,
			 rte_pktmbuf_pkt_len(mbuf), rx->parameters.ether_type, &frame) == WIRE_OK &&
	       rx_carries_segment(&rx->parameters, &frame);
}

// The gate is closed, or was. An empty queue shows that nothing is left of the time before the
// order to open it.
static unsigned poll_closed(struct rx *rx, uint64_t now)
{
	const bool wanted =
	    atomic_load_explicit(&rx->parameters.gate->wanted, memory_order_acquire);
	struct rte_mbuf *mbufs[ROLE_BURST];
	const unsigned n = receive(rx, mbufs, now, false);

	if (rx->is_open)
		set_open(rx, false);
	if (rx->parameters.flow_control != NULL)
		serve_flow_control(rx, now);
	if (n > 0)
		rx->last_packet = now;
	rx->tick = admission_tick(now);
	counter_add(&rx->counters.packets, n);
	for (unsigned i = 0; i < n; i++) {
		if (carries_segment(rx, mbufs[i])) {
			counter_add(&rx->counters.bytes, rte_pktmbuf_pkt_len(mbufs[i]));
			drop_segment(rx, mbufs[i], SEGMENT_OUTSIDE_RUN);
		} else {
			serve(rx, mbufs[i]);
		}
	}
	if (n < ROLE_BURST && wanted)
		set_open(rx, true);
	flush_staged(rx);
	return n + poll_handlers(rx, now);
}

static bool is_closed(const struct rx *rx)
{
	return !rx->is_open ||
	       (rx->parameters.gate != NULL &&
		!atomic_load_explicit(&rx->parameters.gate->wanted, memory_order_relaxed));
}

static unsigned rx_poll(struct role *role, uint64_t now)
{
	struct rx *rx = rx_of(role);
	struct rte_mbuf *mbufs[ROLE_BURST];
	bool full = !links_have_room(rx);
	unsigned n;

	if (unlikely(is_closed(rx)))
		return poll_closed(rx, now);
	if (rx->parameters.flow_control != NULL)
		serve_flow_control(rx, now);
	if (unlikely(full)) {
		role->backpressured = true;
		rx->last_packet = now; // packets may wait, so the port is not quiet
	}
	n = receive(rx, mbufs, now, full);
	if (n == 0)
		return poll_handlers(rx, now);
	rx->last_packet = now;
	rx->tick = admission_tick(now);
	counter_add(&rx->counters.packets, n);
	for (unsigned i = 0; i < n; i++) {
		if (i + 2 < n)
			rte_prefetch0(rte_pktmbuf_mtod(mbufs[i + 2], void *));
		serve(rx, mbufs[i]);
	}
	flush_staged(rx);
	(void)poll_handlers(rx, now);
	return n;
}

// Whether all handlers have left, or their peers did not respond in time.
static bool has_left(struct rx *rx, uint64_t now)
{
	bool all = true;

	if (rx->leave_start == 0)
		rx->leave_start = now;
	for (unsigned i = 0; i < rx->n_handlers; i++)
		if (rx->handlers[i].leave != NULL)
			all &= rx->handlers[i].leave(rx->handlers[i].context, now);
	return all || now - rx->leave_start > rx->leave_cycles;
}

static bool holds_the_peer(const struct rx *rx)
{
	const struct rx_parameters *p = &rx->parameters;

	return p->flow_control != NULL && flow_control_holding(p->flow_control, p->data_priority);
}

// Resumes a peer that evb has paused, after the last packet was received; what the peer sends later
// is lost. Also returns true if the frame could not be sent in time.
static bool has_released(struct rx *rx, uint64_t now)
{
	const struct rx_parameters *p = &rx->parameters;

	return p->flow_control == NULL || flow_control_release(p->flow_control, now) ||
	       now - rx->drain_start > p->drain_cycles + rx->leave_cycles;
}

// Packets but those of the control protocol, which the nodes of a system never stop sending, and
// those of sources that send outside runs.
static uint64_t packets_of_events(const struct rx *rx)
{
	return rx->counters.packets - rx->counters.control - rx->counters.arp -
	       rx->counters.segment_drops[SEGMENT_OUTSIDE_RUN];
}

static bool rx_drain(struct role *role, uint64_t now)
{
	struct rx *rx = rx_of(role);
	uint64_t packets = rx->counters.packets, of_events = packets_of_events(rx);
	uint64_t last_packet = rx->last_packet;

	if (rx->drain_start == 0) {
		rx->drain_start = now;
		last_packet = rx->last_packet = now;
	}
	rx_poll(role, now);
	if (rx->counters.packets > packets && packets_of_events(rx) == of_events)
		rx->last_packet = last_packet;
	if (holds_the_peer(rx) || rx->counters.held > 0)
		rx->last_packet = now; // a paused peer may still have packets to send
	if (rx->leave_start == 0 && now - rx->last_packet <= rx->parameters.quiet_cycles &&
	    now - rx->drain_start <= rx->parameters.drain_cycles)
		return false;
	if (!has_left(rx, now) || !has_released(rx, now))
		return false;
	rx_hold_drop(&rx->hold, &rx->counters); // the longest time of a drain is over
	return true;
}

// Whether a packet is for a handler that does not fill slots.
static bool is_for_others(const struct rx *rx, const struct rte_mbuf *mbuf)
{
	struct net_frame frame;

	if (net_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len,
		      rte_pktmbuf_pkt_len(mbuf), rx->parameters.ether_type, &frame) != WIRE_OK ||
	    rx_carries_segment(&rx->parameters, &frame))
		return false;
	for (unsigned i = 0; i < rx->n_handlers; i++)
		if (rx_accepts(&rx->handlers[i], &frame))
			return !rx->handlers[i].brings_segments;
	return false;
}

// The builders have drained or will soon: segments that still arrive are dropped unseen, as by a
// port that is closed.
static void rx_linger(struct role *role, uint64_t now)
{
	struct rx *rx = rx_of(role);
	struct rte_mbuf *mbufs[ROLE_BURST];
	const unsigned n =
	    rte_eth_rx_burst(rx->parameters.port_id, rx->parameters.queue, mbufs, ROLE_BURST);

	rx->last_packet = now;
	for (unsigned i = 0; i < n; i++) {
		if (!is_for_others(rx, mbufs[i])) {
			rte_pktmbuf_free(mbufs[i]);
			continue;
		}
		counter_add(&rx->counters.packets, 1);
		serve(rx, mbufs[i]);
	}
}

static void rx_fini(struct role *role)
{
	struct rx *rx = rx_of(role);

	rx_hold_destroy(&rx->hold);
	rte_free(rx->sources);
	rte_free(rx);
}

static const struct role_operations rx_operations = {
	.kind = "rx",
	.poll = rx_poll,
	.drain = rx_drain,
	.linger = rx_linger,
	.fini = rx_fini,
};

static void make_handlers(struct rx *rx)
{
	for (unsigned i = 0; i < rx->parameters.n_handlers; i++) {
		rx->handlers[rx->n_handlers++] = rx->parameters.handlers[i];
		rx->handlers_send |= rx->parameters.handlers[i].poll != NULL;
	}
	for (unsigned i = 0; i < RX_OWN_HANDLERS; i++) {
		rx->handlers[rx->n_handlers] = rx_own_handlers[i];
		rx->handlers[rx->n_handlers++].context = &rx->parameters;
	}
}

static bool make_sources(struct rx *rx)
{
	unsigned n = rx->parameters.sources->n_expected;

	rx->sources = rte_zmalloc_socket("rx", n * sizeof(*rx->sources), RTE_CACHE_LINE_SIZE,
					 rx->parameters.numa_node);
	if (rx->sources == NULL)
		return false;
	for (unsigned i = 0; i < n; i++)
		rx->sources[i].path.tick = RX_PATH_NONE;
	return true;
}

struct role *rx_role_create(const struct rx_parameters *parameters)
{
	struct rx *rx =
	    rte_zmalloc_socket("rx", sizeof(*rx), RTE_CACHE_LINE_SIZE, parameters->numa_node);

	if (rx == NULL)
		return NULL;
	rx->parameters = *parameters;
	make_handlers(rx);
	if (!make_sources(rx) || !rx_hold_make(&rx->hold, &rx->parameters, rx->handlers)) {
		rx_fini(&rx->role);
		return NULL;
	}
	rx->role.operations = &rx_operations;
	rx->is_open = parameters->gate == NULL;
	snprintf(rx->role.name, sizeof(rx->role.name), "%s", parameters->name);
	rx->packing = divisor_make(parameters->packing);
	rx->builders = divisor_make(RTE_MAX(parameters->n_builders, 1u));
	if (parameters->own_only)
		rx->own = rx_destination_make(&parameters->addresses);
	rx->leave_cycles = LEAVE_US * rte_get_tsc_hz() / US_PER_S;
	if (parameters->flow_control != NULL)
		rx_pressure_make(&rx->pressure, &rx->parameters);
	return &rx->role;
}

const struct rx_counters *rx_role_counters(const struct role *role)
{
	return &rx_of(role)->counters;
}

const struct rx_source_counters *rx_role_source_counters(const struct role *role, unsigned source)
{
	return &rx_of(role)->sources[source].counters;
}

const struct strangers *rx_role_strangers(const struct role *role)
{
	return &rx_of(role)->strangers;
}
