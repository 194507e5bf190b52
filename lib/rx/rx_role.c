// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rx/rx_role.h"

#include <stdio.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_malloc.h>

#include "evring/evring.h"
#include "packet/event_index.h"
#include "packet/segment_mbuf.h"
#include "wire/ejfat.h"
#include "wire/net.h"

// As many bytes as the headers of a segment can have: Ethernet with two VLAN tags, IPv4 with
// options or IPv6, UDP; then LB and RE, or RoCE's.
#define HEADER_BYTES ROCE_PORT_HEADERS

#define LEAVE_NS 500000000u // that RoCE's peers get to answer our leave

#define OBSERVE_POLLS 16u // of which one looks how full links and slots are

// Frames up to this size may end in padding: the shortest that Ethernet allows, with VLAN tags.
#define PADDED_BYTES (NET_MIN_FRAME + 2 * NET_VLAN_SIZE)

struct rx {
	struct role role;
	struct rx_parameters parameters;
	struct divisor packing;
	struct divisor builders;
	uint16_t ether_type; // of segments, 0: they come in UDP
	uint16_t udp_port, udp_ports;
	uint16_t control_port; // 0: none
	bool by_port;          // the UDP port names the builder
	bool in_system;        // of nodes
	bool granted;          // by an event manager is what comes
	uint32_t polls;
	double ns_per_tick;
	uint64_t last_packet; // TSC
	uint64_t drain_start; // TSC, 0: not draining
	uint64_t leave_start; // TSC, 0: RoCE's peers have not been told

	// Segments of this burst, by builder; links are rung once a burst.
	struct rte_mbuf *staged[EVB_MAX_BUILDERS][ROLE_BURST];
	uint16_t n_staged[EVB_MAX_BUILDERS];
	uint16_t touched[ROLE_BURST]; // builders that have staged segments
	unsigned n_touched;

	struct rx_counters counters __rte_cache_aligned;
	struct rx_source_counters *source_counters;
};

static uint64_t to_ns(const struct rx *rx, uint64_t tsc)
{
	return (uint64_t)((double)tsc * rx->ns_per_tick);
}

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

// Sends an answer that was made in place, or drops it: the asker asks again.
static void reply(struct rx *rx, struct rte_mbuf *mbuf)
{
	const struct rx_parameters *p = &rx->parameters;

	if (p->reply_queue < 0 ||
	    rte_eth_tx_burst(p->port_id, (uint16_t)p->reply_queue, &mbuf, 1) == 0)
		rte_pktmbuf_free(mbuf);
}

// Hands a packet to the control role, or drops it: what matters is sent again.
static void give_to_control(struct rx *rx, struct rte_mbuf *mbuf)
{
	if (link_enqueue(rx->parameters.control, &mbuf, 1) == 1)
		return;
	counter_add(&rx->counters.control_dropped, 1);
	rte_pktmbuf_free(mbuf);
}

// Hands an answer to an ARP request of this node on. False if it is none.
static bool give_arp_reply(struct rx *rx, struct rte_mbuf *mbuf, const struct net_frame *frame)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct net_arp arp;

	if (rx->parameters.control == NULL || mbuf->nb_segs != 1 ||
	    mbuf->data_len < frame->l3_offset ||
	    net_arp_decode(bytes + frame->l3_offset, mbuf->data_len - frame->l3_offset, &arp) !=
		WIRE_OK ||
	    arp.operation != 2)
		return false;
	give_to_control(rx, mbuf);
	return true;
}

static bool take_pause(struct rx *rx, struct rte_mbuf *mbuf)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	if (rx->parameters.flow_control == NULL || !flow_control_is_for(bytes, mbuf->data_len))
		return false;
	counter_add(&rx->counters.pause, 1);
	flow_control_received(rx->parameters.flow_control, bytes, mbuf->data_len, rx->last_packet);
	rte_pktmbuf_free(mbuf);
	return true;
}

// What IPv6 neighbours ask. False, and the packet untouched, if it is not for the port's address.
static bool answer_icmp6(struct rx *rx, uint8_t *bytes, uint32_t size,
			 const struct net_frame *frame)
{
	const struct net_mac *mac = (const struct net_mac *)rx->parameters.mac;
	const uint8_t *address = rx->parameters.port->address6;

	if (net_neighbour_answer(bytes, frame, size, mac, address)) {
		counter_add(&rx->counters.arp, 1);
		return true;
	}
	if (net_icmp6_echo_answer(bytes, frame, size, mac, address)) {
		counter_add(&rx->counters.icmp_echo, 1);
		return true;
	}
	return false;
}

// Everything that is no segment.
static void serve_other(struct rx *rx, struct rte_mbuf *mbuf, const struct net_frame *frame)
{
	const struct config_port *port = rx->parameters.port;
	const struct net_mac *mac = (const struct net_mac *)rx->parameters.mac;
	uint8_t *bytes = rte_pktmbuf_mtod(mbuf, uint8_t *);
	bool answerable = port->has_address && mbuf->nb_segs == 1;

	if (frame->kind == NET_ARP_IP4) {
		counter_add(&rx->counters.arp, 1);
		if (give_arp_reply(rx, mbuf, frame))
			return;
		if (answerable && net_arp_answer(bytes, frame, mbuf->data_len, mac, port->address))
			reply(rx, mbuf);
		else
			rte_pktmbuf_free(mbuf);
		return;
	}
	if (frame->kind == NET_ICMP4 && answerable &&
	    net_icmp_echo_answer(bytes, frame, mbuf->data_len, mac, port->address)) {
		counter_add(&rx->counters.icmp_echo, 1);
		reply(rx, mbuf);
		return;
	}
	if (frame->kind == NET_ICMP6 && port->has_address6 && mbuf->nb_segs == 1 &&
	    answer_icmp6(rx, bytes, mbuf->data_len, frame)) {
		reply(rx, mbuf);
		return;
	}
	if (take_pause(rx, mbuf))
		return;
	counter_add(&rx->counters.other, 1);
	rte_pktmbuf_free(mbuf);
}

// The Internet checksum's sum over bytes of a packet, in the order of the wire. (DPDK's
// rte_raw_cksum_mbuf() loses carries behind a buffer of odd length.)
static uint16_t sum_bytes(const struct rte_mbuf *mbuf, uint32_t offset, uint32_t length)
{
	bool odd = false;
	uint32_t sum = 0;

	for (; length > 0; mbuf = mbuf->next) {
		uint32_t n;
		uint16_t part;

		if (offset >= mbuf->data_len) {
			offset -= mbuf->data_len;
			continue;
		}
		n = RTE_MIN(length, (uint32_t)mbuf->data_len - offset);
		part = rte_raw_cksum(rte_pktmbuf_mtod_offset(mbuf, const void *, offset), n);
		sum += odd ? rte_bswap16(part) : part;
		sum = (sum & 0xFFFF) + (sum >> 16);
		odd ^= n % 2 != 0;
		length -= n;
		offset = 0;
	}
	return rte_be_to_cpu_16((uint16_t)sum);
}

// In software, for ports whose hardware does not check.
static bool udp_checksum_ok(const struct rx *rx, struct rte_mbuf *mbuf, const uint8_t *bytes,
			    const struct net_frame *frame)
{
	uint16_t stated = load_be16(bytes + frame->l4_offset + 6);
	uint32_t pseudo = net_udp_pseudo_sum(bytes, frame);
	uint16_t unfinished = (uint16_t)~net_checksum_fold(pseudo);

	if (stated == 0 && frame->kind == NET_UDP4)
		return true;
	// A sender on the same host hands over the pseudo header's sum for hardware to finish.
	if (rx->parameters.partial_checksums && stated == unfinished)
		return true;
	pseudo += sum_bytes(mbuf, frame->l4_offset, NET_UDP_SIZE + frame->payload_size);
	return net_checksum_fold(pseudo) == 0;
}

// PACKET_N_CAUSES if the checksums are right. What the hardware says nothing of is checked here.
static enum packet_cause check_sums(const struct rx *rx, struct rte_mbuf *mbuf,
				    const uint8_t *bytes, const struct net_frame *frame)
{
	uint64_t told = rx->parameters.checksums_in_hardware ? mbuf->ol_flags : 0;
	uint64_t ip = told & RTE_MBUF_F_RX_IP_CKSUM_MASK;
	uint64_t udp = told & RTE_MBUF_F_RX_L4_CKSUM_MASK;

	if (ip == RTE_MBUF_F_RX_IP_CKSUM_BAD ||
	    (ip == RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN && frame->kind == NET_UDP4 &&
	     !net_ipv4_checksum_ok(bytes + frame->l3_offset)))
		return PACKET_IP_CHECKSUM;
	if (udp == RTE_MBUF_F_RX_L4_CKSUM_BAD ||
	    (udp == RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN && !udp_checksum_ok(rx, mbuf, bytes, frame)))
		return PACKET_UDP_CHECKSUM;
	return PACKET_N_CAUSES;
}

static void stage(struct rx *rx, struct rte_mbuf *mbuf, unsigned builder)
{
	if (rx->n_staged[builder] == 0)
		rx->touched[rx->n_touched++] = (uint16_t)builder;
	rx->staged[builder][rx->n_staged[builder]++] = mbuf;
}

// Bytes of EJFAT headers and payload. Ethernet pads short frames, and where no IP header states a
// length, only that of the block tells padding from payload.
static uint32_t size_without_padding(const uint8_t *headers, uint32_t at_hand,
				     const struct net_frame *frame)
{
	uint32_t start = ejfat_has_lb(headers, at_hand) ? EJFAT_LB_SIZE : 0;
	struct ejfat_re re;

	if (likely(frame->kind != NET_ETHER_PAYLOAD ||
		   frame->payload_offset + frame->payload_size > PADDED_BYTES))
		return frame->payload_size;
	if (at_hand < start || ejfat_re_decode(headers + start, at_hand - start, &re) != WIRE_OK ||
	    re.offset >= re.length)
		return frame->payload_size;
	return (uint32_t)RTE_MIN((uint64_t)frame->payload_size,
				 (uint64_t)start + EJFAT_RE_SIZE + re.length - re.offset);
}

// The EJFAT headers begin at the frame's payload. False as serve_bytes().
static bool serve_segment(struct rx *rx, struct rte_mbuf *mbuf, const uint8_t *bytes,
			  uint32_t header_bytes, const struct net_frame *frame, bool all_at_hand)
{
	struct segment *segment = mbuf_segment(mbuf);
	struct ejfat_segment decoded;
	uint32_t start = frame->payload_offset;
	uint32_t at_hand = RTE_MIN(header_bytes - start, frame->payload_size);
	uint32_t size = size_without_padding(bytes + start, at_hand, frame);
	enum wire_error error =
	    ejfat_segment_decode(bytes + start, RTE_MIN(at_hand, size), size, &decoded);
	uint16_t source;

	if (unlikely(error != WIRE_OK)) {
		if (error == WIRE_TRUNCATED && !all_at_hand)
			return false;
		drop_segment(rx, mbuf, SEGMENT_MALFORMED);
		return true;
	}
	source = rx->parameters.sources->index[decoded.re.data_id];
	if (unlikely(source >= SOURCE_UNEXPECTED)) {
		drop_segment(rx, mbuf,
			     source == SOURCE_UNKNOWN ? SEGMENT_UNKNOWN_SOURCE
						      : SEGMENT_UNEXPECTED_SOURCE);
		return true;
	}
	segment->event_id = decoded.re.event_number;
	segment->event_index = divide(segment->event_id, &rx->packing);
	segment->arrival = rx->last_packet;
	segment->offset = decoded.re.offset;
	segment->size = decoded.payload_size;
	segment->length = decoded.re.length;
	segment->payload = (uint16_t)(start + decoded.payload_offset);
	segment->source = source;
	counter_add(&rx->counters.segments, 1);
	counter_add(&rx->source_counters[source].segments, 1);
	stage(rx, mbuf,
	      rx->by_port ? (unsigned)(frame->destination_port - rx->udp_port)
			  : (unsigned)remainder_of(segment->event_index, &rx->builders));
	return true;
}

static bool is_listened_to(const struct rx *rx, const struct net_frame *frame)
{
	return (uint16_t)(frame->destination_port - rx->udp_port) < rx->udp_ports;
}

static bool is_control(const struct rx *rx, const struct net_frame *frame, enum packet_cause cause)
{
	return cause == PACKET_UNKNOWN_PORT && rx->control_port != 0 && frame->kind == NET_UDP4 &&
	       frame->destination_port == rx->control_port;
}

// A datagram's own checks: checksums and port. PACKET_N_CAUSES if it carries a segment.
static enum packet_cause check_datagram(const struct rx *rx, struct rte_mbuf *mbuf,
					const uint8_t *bytes, const struct net_frame *frame)
{
	enum packet_cause cause = PACKET_N_CAUSES;

	if (rx->parameters.port->verify_checksums)
		cause = check_sums(rx, mbuf, bytes, frame);
	if (likely(cause == PACKET_N_CAUSES) &&
	    unlikely(rx->ether_type != 0 || !is_listened_to(rx, frame)))
		cause = PACKET_UNKNOWN_PORT;
	return cause;
}

static bool is_roce(const struct rx *rx, const struct net_frame *frame)
{
	return (frame->kind == NET_UDP4 || frame->kind == NET_UDP6) &&
	       roce_port_is_for(rx->parameters.config, frame->destination_port);
}

// Answers to what this process sends by RoCE go to its source; connection messages may be for
// either side. True if the packet was given away.
static bool give_response(struct rx *rx, struct rte_mbuf *mbuf, const uint8_t *bytes,
			  uint32_t header_bytes, const struct net_frame *frame)
{
	const uint8_t *bth = bytes + frame->payload_offset;
	bool all = rx->parameters.roce == NULL, both = false;

	if (!all && header_bytes >= frame->payload_offset + ROCE_BTH_SIZE) {
		uint32_t flags = roce_opcodes[bth[0]].flags;

		uint32_t qpn = load_be32(bth + 4) & ROCE_24_BITS;

		// In a system the number tells, else the kind.
		all = rx->in_system ? (qpn & QP_NUMBER_SIDE) != 0
				    : (flags & (ROCE_RESPONSE | ROCE_IS_CNP)) != 0;
		both = !all && qpn == 1;
	}
	if (both) {
		struct rte_mbuf *copy = rte_pktmbuf_copy(mbuf, mbuf->pool, 0, UINT32_MAX);

		if (copy != NULL && link_enqueue(rx->parameters.roce_responses, &copy, 1) == 0)
			rte_pktmbuf_free(copy); // it is sent again
	}
	if (!all)
		return false;
	counter_add(&rx->counters.roce, 1);
	if (link_enqueue(rx->parameters.roce_responses, &mbuf, 1) == 0)
		rte_pktmbuf_free(mbuf); // the same
	return true;
}

// RoCE packets have a checksum of their own.
static void serve_roce(struct rx *rx, struct rte_mbuf *mbuf, const uint8_t *bytes,
		       uint32_t header_bytes, const struct net_frame *frame)
{
	struct segment *segment = mbuf_segment(mbuf);

	if (rx->parameters.roce_responses != NULL &&
	    give_response(rx, mbuf, bytes, header_bytes, frame))
		return;
	switch (roce_port_receive(rx->parameters.roce, mbuf, bytes, header_bytes, frame,
				  to_ns(rx, rx->last_packet), segment)) {
	case ROCE_TAKEN:
		counter_add(&rx->counters.roce, 1);
		rte_pktmbuf_free(mbuf);
		return;
	case ROCE_MALFORMED:
		drop_segment(rx, mbuf, SEGMENT_MALFORMED);
		return;
	case ROCE_UNKNOWN:
		drop_segment(rx, mbuf, SEGMENT_UNKNOWN_SOURCE);
		return;
	case ROCE_UNEXPECTED:
		drop_segment(rx, mbuf, SEGMENT_UNEXPECTED_SOURCE);
		return;
	case ROCE_SEGMENT:
		break;
	}
	segment->event_index = divide(segment->event_id, &rx->packing);
	segment->arrival = rx->last_packet;
	counter_add(&rx->counters.segments, 1);
	counter_add(&rx->source_counters[segment->source].segments, 1);
	stage(rx, mbuf, segment->builder);
}

// Serves a packet of which header_bytes are at hand. False if those were too few to tell what it
// is; nothing has been done then.
static bool serve_bytes(struct rx *rx, struct rte_mbuf *mbuf, const uint8_t *bytes,
			uint32_t header_bytes, bool all_at_hand)
{
	uint32_t length = rte_pktmbuf_pkt_len(mbuf);
	struct net_frame frame;
	enum wire_error error = net_parse(bytes, header_bytes, length, rx->ether_type, &frame);
	enum packet_cause cause;

	if (unlikely(error != WIRE_OK)) {
		if (error == WIRE_TRUNCATED && !all_at_hand)
			return false;
		drop_packet(rx, mbuf,
			    error == WIRE_UNSUPPORTED ? PACKET_IP_FRAGMENT
						      : PACKET_MALFORMED_FRAME);
		return true;
	}
	if ((rx->parameters.roce != NULL || rx->parameters.roce_responses != NULL) &&
	    is_roce(rx, &frame)) {
		if (unlikely(!all_at_hand))
			return false;
		serve_roce(rx, mbuf, bytes, header_bytes, &frame);
		return true;
	}
	if (likely(frame.kind == NET_UDP4 || frame.kind == NET_UDP6)) {
		cause = check_datagram(rx, mbuf, bytes, &frame);
		if (unlikely(cause != PACKET_N_CAUSES)) {
			if (is_control(rx, &frame, cause)) {
				counter_add(&rx->counters.control, 1);
				give_to_control(rx, mbuf);
				return true;
			}
			drop_packet(rx, mbuf, cause);
			return true;
		}
	} else if (frame.kind != NET_ETHER_PAYLOAD) {
		serve_other(rx, mbuf, &frame);
		return true;
	}
	return serve_segment(rx, mbuf, bytes, header_bytes, &frame, all_at_hand);
}

// Headers are nearly always in the packet's first buffer; where they are scattered over several,
// they are looked at in a copy.
static void serve(struct rx *rx, struct rte_mbuf *mbuf)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t length = rte_pktmbuf_pkt_len(mbuf);
	uint32_t wanted = RTE_MIN(length, HEADER_BYTES);
	uint8_t copy[HEADER_BYTES];

	counter_add(&rx->counters.bytes, length);
	if (likely(serve_bytes(rx, mbuf, bytes, mbuf->data_len, mbuf->data_len >= wanted)))
		return;
	bytes = rte_pktmbuf_read(mbuf, 0, wanted, copy);
	(void)serve_bytes(rx, mbuf, bytes, wanted, true); // everything is at hand now
}

// What a link did not take. A lossless link has room for a whole burst: poll() looked.
static void drop_overflow(struct rx *rx, struct link *link, struct rte_mbuf **mbufs, unsigned n)
{
	counter_add(&rx->counters.segment_drops[SEGMENT_LINK_FULL], n);
	counter_add(&link->counters.dropped, n);
	for (unsigned i = 0; i < n; i++)
		counter_add(&rx->source_counters[mbuf_segment(mbufs[i])->source].link_full, 1);
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

// Of a builder. Slots of events that are granted and not built are promised, and not what runs out.
static uint64_t slots_in_use(const struct rx *rx, const struct evring *ring)
{
	return rx->granted ? evring_outstanding(ring) : evring_used(ring);
}

// How full things are behind the port: the fullest link, and the builder with the fewest free
// slots.
static void observe(struct rx *rx)
{
	const struct rx_parameters *p = &rx->parameters;
	struct pause_occupancy occupancy = { 0 };

	for (unsigned i = 0; i < p->n_builders; i++) {
		const struct link *link = p->links[i];
		uint64_t links = (uint64_t)rte_ring_count(link->ring) * PAUSE_FULL / link->depth;
		uint64_t slots =
		    RTE_MIN(slots_in_use(rx, p->rings[i]) * PAUSE_FULL / evring_slots(p->rings[i]),
			    (uint64_t)PAUSE_FULL);

		occupancy.links = RTE_MAX(occupancy.links, (uint32_t)links);
		occupancy.slots = RTE_MAX(occupancy.slots, (uint32_t)slots);
	}
	flow_control_observe(p->flow_control, p->port->flow_control.priority, &occupancy);
}

// Also, and above all, while links are full.
static void serve_flow_control(struct rx *rx, uint64_t now)
{
	if (++rx->polls % OBSERVE_POLLS == 0)
		observe(rx);
	(void)flow_control_poll(rx->parameters.flow_control, now);
}

// Answers of the RoCE endpoint. What the port does not take is asked for again.
static unsigned send_roce(struct rx *rx, uint64_t now)
{
	const struct rx_parameters *p = &rx->parameters;
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n = roce_port_poll(p->roce, to_ns(rx, now), mbufs, ROLE_BURST);
	unsigned sent = 0;

	if (n == 0)
		return 0;
	if (p->reply_queue >= 0)
		sent = rte_eth_tx_burst(p->port_id, (uint16_t)p->reply_queue, mbufs, (uint16_t)n);
	roce_port_sent(p->roce, sent, n - sent);
	if (unlikely(sent < n))
		rte_pktmbuf_free_bulk(mbufs + sent, n - sent);
	return n;
}

static unsigned rx_poll(struct role *role, uint64_t now)
{
	struct rx *rx = rx_of(role);
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n;

	if (rx->parameters.flow_control != NULL)
		serve_flow_control(rx, now);
	if (unlikely(!links_have_room(rx))) {
		role->backpressured = true;
		rx->last_packet = now; // what waits behind a full link is not quiet
		if (rx->parameters.roce != NULL)
			(void)send_roce(rx, now);
		return 0;
	}
	n = rte_eth_rx_burst(rx->parameters.port_id, rx->parameters.queue, mbufs, ROLE_BURST);
	if (n == 0)
		return rx->parameters.roce != NULL ? send_roce(rx, now) : 0;
	rx->last_packet = now;
	counter_add(&rx->counters.packets, n);
	for (unsigned i = 0; i < n; i++) {
		if (i + 2 < n)
			rte_prefetch0(rte_pktmbuf_mtod(mbufs[i + 2], void *));
		serve(rx, mbufs[i]);
	}
	flush_staged(rx);
	if (rx->parameters.roce != NULL)
		(void)send_roce(rx, now);
	return n;
}

// True when peers that connected have been told of the end, or do not answer.
static bool has_left(struct rx *rx, uint64_t now)
{
	if (rx->parameters.roce == NULL)
		return true;
	if (rx->leave_start == 0)
		rx->leave_start = now;
	return roce_port_leave(rx->parameters.roce, to_ns(rx, now)) ||
	       to_ns(rx, now - rx->leave_start) > LEAVE_NS;
}

static bool rx_drain(struct role *role, uint64_t now)
{
	struct rx *rx = rx_of(role);

	if (rx->drain_start == 0) {
		rx->drain_start = now;
		rx->last_packet = now;
	}
	rx_poll(role, now);
	if (rx->parameters.flow_control != NULL)
		(void)flow_control_release(rx->parameters.flow_control, now);
	if (rx->leave_start == 0 && now - rx->last_packet <= rx->parameters.quiet_cycles &&
	    now - rx->drain_start <= rx->parameters.drain_cycles)
		return false;
	return has_left(rx, now);
}

static void rx_fini(struct role *role)
{
	struct rx *rx = rx_of(role);

	rte_free(rx->source_counters);
	rte_free(rx);
}

static const struct role_operations rx_operations = {
	.kind = "rx",
	.poll = rx_poll,
	.drain = rx_drain,
	.fini = rx_fini,
};

struct role *rx_role_create(const struct rx_parameters *parameters)
{
	const struct config_transport *transport = &parameters->config->transport;
	struct rx *rx =
	    rte_zmalloc_socket("rx", sizeof(*rx), RTE_CACHE_LINE_SIZE, parameters->numa_node);

	if (rx == NULL)
		return NULL;
	rx->source_counters =
	    rte_zmalloc_socket("rx", parameters->sources->n_expected * sizeof(*rx->source_counters),
			       RTE_CACHE_LINE_SIZE, parameters->numa_node);
	if (rx->source_counters == NULL) {
		rte_free(rx);
		return NULL;
	}
	rx->role.operations = &rx_operations;
	snprintf(rx->role.name, sizeof(rx->role.name), "%s", parameters->name);
	rx->parameters = *parameters;
	rx->packing = divisor_make(parameters->config->sources.packing);
	rx->builders = divisor_make(RTE_MAX(parameters->n_builders, 1u));
	rx->ns_per_tick = 1e9 / (double)rte_get_tsc_hz();
	rx->granted = parameters->config->cluster.n_nodes > 0 &&
		      parameters->config->event_manager.mode != CONFIG_MODE_STATIC;
	rx->in_system = parameters->config->cluster.n_nodes > 0;
	if (transport->kind == CONFIG_TRANSPORT_ETH)
		rx->ether_type = transport->ether_type;
	rx->udp_port = transport->udp_port;
	rx->udp_ports = transport->udp_ports;
	if (parameters->control != NULL) {
		rx->control_port = parameters->config->event_manager.control_port;
		rx->by_port = transport->kind == CONFIG_TRANSPORT_UDP;
		rx->udp_ports = (uint16_t)parameters->n_builders;
	}
	return &rx->role;
}

const struct rx_counters *rx_role_counters(const struct role *role)
{
	return &rx_of(role)->counters;
}

const struct rx_source_counters *rx_role_source_counters(const struct role *role)
{
	return rx_of(role)->source_counters;
}
