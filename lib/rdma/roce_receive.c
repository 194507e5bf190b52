// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Receives the packets of queue pairs, and turns datagrams into segments and responses.
#include <string.h>

#include <rte_branch_prediction.h>

#include "packet/segment_mbuf.h"
#include "pipeline/role.h"
#include "rdma/roce_port_internal.h"
#include "wire/icrc.h"
#include "wire/mfp.h"

#define PIECES_MOST \
	32u // largest number of pieces of a packet whose ICRC is verified: headers and buffers
#define NEAR_PSNS 4096 // more than any peer has in flight

// A received datagram, passed between the functions of this file.
struct datagram {
	struct rx_packet *in;
	struct qp_address source;
	uint64_t now; // ns
};

// Verifies the ICRC. The headers are contiguous; the rest of the packet is in its buffers.
static bool icrc_is_right(const struct datagram *datagram)
{
	struct icrc_piece pieces[PIECES_MOST] = { { datagram->in->bytes,
						    datagram->in->header_bytes } };
	uint32_t skip = datagram->in->header_bytes;
	unsigned n = 1;

	if (datagram->in->mbuf->nb_segs == 1)
		return icrc_verify(datagram->in->bytes, &datagram->in->frame);
	for (const struct rte_mbuf *mbuf = datagram->in->mbuf; mbuf != NULL; mbuf = mbuf->next) {
		if (skip >= mbuf->data_len) {
			skip -= mbuf->data_len;
			continue;
		}
		if (n == PIECES_MOST)
			return false;
		pieces[n].bytes = rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, skip);
		pieces[n++].size = mbuf->data_len - skip;
		skip = 0;
	}
	return icrc_verify_pieces(pieces, n, &datagram->in->frame);
}

static bool check_icrc(struct roce_port *port, const struct datagram *datagram)
{
	if (port->config->icrc == ROCE_ICRC_IGNORE)
		return true;
	if (port->config->icrc == ROCE_ICRC_SAMPLE) {
		if (port->sample-- > 0)
			return true;
		port->sample = port->config->sample_one_in - 1;
	}
	return icrc_is_right(datagram);
}

static struct qp_address source_of(const uint8_t *bytes, const struct net_frame *frame)
{
	struct qp_address address;

	if (frame->kind == NET_UDP4)
		return qp_address_ipv4(load_be32(bytes + frame->l3_offset + 12));
	memcpy(address.bytes, bytes + frame->l3_offset + 8, sizeof(address.bytes));
	return address;
}

static uint16_t builder_of(const struct roce_port *port, const struct roce_peer *peer)
{
	if (port->parameters.placements != NULL)
		return peer->builder;
	return (uint16_t)remainder_of(divide(peer->event_id, &port->packing), &port->builders);
}

// Whether the configuration reserves the queue pair for another source.
static bool is_foreign(const struct roce_peer *peer, uint16_t source_id)
{
	return peer->config != NULL && peer->config->has_source &&
	       peer->config->source != source_id;
}

// Reads the MFP header in the first packet of a message. The length of a WRITE must be the length
// of its MFP.
static void begin_message(const struct roce_port *port, struct roce_peer *peer,
			  const struct responder_delivery *delivery, const uint8_t *payload,
			  uint32_t at_hand)
{
	peer->is_mfp = false;
	if (delivery->size < MFP_HEADER_SIZE || at_hand < MFP_HEADER_SIZE ||
	    load_le16(payload) != MFP_MAGIC)
		return;
	peer->length = load_le32(payload + 4);
	peer->event_id = load_le64(payload + 8);
	peer->source = port->parameters.sources->index[load_le16(payload + 16)];
	if (unlikely(is_foreign(peer, load_le16(payload + 16))) && peer->source < SOURCE_UNEXPECTED)
		peer->source = SOURCE_UNEXPECTED;
	peer->to = builder_of(port, peer);
	peer->is_mfp = !delivery->is_write || delivery->dma_length == peer->length;
}

// Whether a packet fits the length in the MFP header of its message; the last packet ends the MFP.
static bool fits(const struct roce_peer *peer, const struct responder_delivery *delivery)
{
	uint32_t left;

	if (!peer->is_mfp || delivery->offset >= peer->length)
		return false;
	left = peer->length - delivery->offset;
	return delivery->ends ? delivery->size == left : delivery->size < left;
}

// Whether the builder has a slot for the message that begins. Without RC the sender cannot repeat
// the message, so it is always admitted and the builder decides. Ends of runs need no slot.
static enum roce_slots_verdict find_slot(const struct roce_port *port, const struct queue_pair *qp,
					 const struct roce_peer *peer, uint64_t now)
{
	uint64_t index = divide(peer->event_id, &port->packing);

	if (!peer->is_mfp || peer->source >= SOURCE_UNEXPECTED || port->parameters.n_builders == 0)
		return ROCE_SLOTS_ADMITTED;
	if (unlikely(peer->event_id == MFP_END_OF_RUN)) {
		roce_slots_end(port->parameters.slots, peer->to);
		return ROCE_SLOTS_ADMITTED;
	}
	return roce_slots_admit(port->parameters.slots, peer->to, index, qp->service != ROCE_RC,
				now);
}

static bool may_write(const struct roce_peer *peer, const struct responder_delivery *delivery)
{
	uint64_t at = delivery->address - peer->address;

	return peer->rkey != 0 && delivery->rkey == peer->rkey &&
	       delivery->address >= peer->address && at < peer->size &&
	       delivery->size <= peer->slot_size &&
	       (at & peer->slot_mask) <= peer->slot_size - delivery->size;
}

static enum rx_verdict drop_segment(const struct datagram *datagram, enum segment_cause cause)
{
	datagram->in->cause = cause;
	return RX_DROP_SEGMENT;
}

// Bytes of the payload that are contiguous.
static uint32_t bytes_at_hand(const struct datagram *datagram, uint32_t payload)
{
	uint32_t header_bytes = datagram->in->header_bytes;

	return header_bytes > payload ? header_bytes - payload : 0;
}

// Delivers a packet that passed the checks of the queue pair, or refuses it. Its payload begins at
// offset `payload` of the datagram.
static enum rx_verdict deliver(struct roce_port *port, struct queue_pair *qp,
			       const struct responder_delivery *delivery,
			       const struct datagram *datagram, uint32_t payload,
			       struct responder_reply *reply)
{
	struct segment *segment = mbuf_segment(datagram->in->mbuf);
	struct roce_peer *peer = roce_peer_of(qp);
	enum roce_slots_verdict verdict;

	if (delivery->is_write && delivery->size > 0 && !may_write(peer, delivery)) {
		responder_refuse(port->responder, qp, delivery, RESPONDER_NO_ACCESS, reply);
		return RX_FREE;
	}
	if (delivery->begins) {
		begin_message(port, peer, delivery, datagram->in->bytes + payload,
			      bytes_at_hand(datagram, payload));
		verdict = find_slot(port, qp, peer, datagram->now);
		peer->is_passed = verdict == ROCE_SLOTS_PASSED;
		if (unlikely(verdict == ROCE_SLOTS_WAIT)) {
			counter_add(&port->counters.rnr, 1);
			responder_refuse(port->responder, qp, delivery, RESPONDER_NO_RESOURCE,
					 reply);
			return RX_FREE;
		}
	}
	responder_accept(port->responder, qp, delivery, reply);
	if (delivery->size == 0)
		return RX_FREE;
	if (unlikely(!fits(peer, delivery)))
		return drop_segment(datagram, SEGMENT_MALFORMED);
	if (unlikely(peer->source >= SOURCE_UNEXPECTED))
		return drop_segment(datagram, peer->source == SOURCE_UNKNOWN
						  ? SEGMENT_UNKNOWN_SOURCE
						  : SEGMENT_UNEXPECTED_SOURCE);
	if (unlikely(peer->is_passed))
		return drop_segment(datagram, SEGMENT_NO_SLOT);
	segment->payload = (uint16_t)payload;
	segment->event_id = peer->event_id;
	segment->offset = delivery->offset;
	segment->size = delivery->size;
	segment->length = peer->length;
	segment->source = peer->source;
	segment->builder = peer->to;
	segment->flags = 0;
	return RX_SEGMENT;
}

static enum rx_verdict serve_request(struct roce_port *port, struct queue_pair *qp,
				     const struct roce_packet *packet,
				     const struct datagram *datagram)
{
	const struct net_frame *frame = &datagram->in->frame;
	const struct responder_arrival arrival = {
		.source = datagram->source,
		.congested = (frame->dscp_ecn & 3) == 3,
	};
	struct responder_delivery delivery;
	struct responder_reply reply, response = { .send = false };
	enum rx_verdict verdict = RX_FREE;

	if (responder_check(port->responder, qp, packet, &arrival, datagram->now, &delivery,
			    &reply) == RESPONDER_DELIVER)
		verdict = deliver(port, qp, &delivery, datagram,
				  frame->payload_offset + packet->payload_offset, &response);
	if (unlikely(reply.cnp))
		roce_enqueue_cnp(port, qp);
	if (unlikely(reply.send))
		roce_enqueue_reply(port, &reply);
	if (response.send)
		roce_enqueue_reply(port, &response);
	return verdict;
}

static enum rx_verdict take_response(struct roce_port *port, struct queue_pair *qp,
				     const struct roce_packet *packet,
				     const struct datagram *datagram)
{
	struct segment *segment = mbuf_segment(datagram->in->mbuf);
	uint32_t payload = datagram->in->frame.payload_offset + packet->payload_offset;

	if (!roce_reader_receive(port->reader, qp, packet, &datagram->source, datagram->now,
				 datagram->in->bytes + payload, bytes_at_hand(datagram, payload),
				 segment))
		return RX_FREE;
	segment->payload = (uint16_t)payload;
	segment->flags = 0;
	return RX_SEGMENT;
}

static bool is_known(const struct roce_address_handle *handle, const struct datagram *datagram)
{
	return handle->source_port != 0 && handle->vlan_tci == datagram->in->frame.vlan_tci &&
	       memcmp(handle->peer_mac, datagram->in->bytes + 6, 6) == 0;
}

// Whether the PSN is one that the peer may send now, or may have sent a moment ago. A stranger that
// does not know it cannot redirect the responses.
static bool is_near(const struct queue_pair *qp, const struct roce_packet *packet)
{
	bool is_response = packet->flags & ROCE_RESPONSE;
	int32_t ahead = roce_psn_diff(packet->psn, is_response ? qp->first_psn : qp->expected_psn);

	return packet->service != ROCE_RC || (ahead > -NEAR_PSNS && ahead < NEAR_PSNS);
}

// Sets the address handle for responses: the sender of the packet, or the MAC address in the
// configuration.
static void learn_handle(const struct roce_port *port, struct roce_peer *peer,
			 const struct datagram *datagram, uint32_t qpn)
{
	roce_learn_handle(port, &peer->handle, datagram->in, &datagram->source, qpn);
	if (peer->config != NULL && peer->config->has_mac)
		memcpy(peer->handle.peer_mac, peer->config->mac, sizeof(peer->handle.peer_mac));
}

static enum rx_verdict dispatch(struct roce_port *port, const struct roce_packet *packet,
				const struct datagram *datagram)
{
	struct queue_pair *qp;
	struct roce_peer *peer;
	enum rx_verdict verdict;

	if (packet->destination_qpn == ROCE_CM_QPN &&
	    port->config->connection == ROCE_CONNECTION_CM) {
		bool taken = roce_connect_receive(port, datagram->in, packet, &datagram->source,
						  datagram->now);

		counter_add(taken ? &port->counters.taken : &port->counters.malformed, 1);
		return RX_FREE;
	}
	qp = qp_find(&port->table, packet->destination_qpn);
	peer = qp != NULL ? roce_peer_of(qp) : NULL;
	if (unlikely(peer == NULL)) {
		counter_add(&port->counters.unknown_qp, 1);
		return RX_FREE;
	}
	if (qp_address_is(&datagram->source, &qp->peer) && !is_known(&peer->handle, datagram) &&
	    (peer->handle.source_port == 0 || is_near(qp, packet)))
		learn_handle(port, peer, datagram, qp->qpn);
	verdict = port->reader != NULL && (packet->flags & ROCE_RESPONSE) != 0
		      ? take_response(port, qp, packet, datagram)
		      : serve_request(port, qp, packet, datagram);
	counter_add(verdict == RX_FREE ? &port->counters.taken : &port->counters.data, 1);
	return verdict;
}

// Whether all bytes that are read of this packet are contiguous: its headers, and the header of the
// MFP if a message begins.
static bool is_at_hand(const struct rx_packet *in, const struct roce_packet *packet)
{
	uint32_t payload = in->frame.payload_offset + packet->payload_offset;

	return (packet->flags & ROCE_BEGIN) == 0 ||
	       in->header_bytes >= payload + RTE_MIN(packet->payload_size, MFP_HEADER_SIZE);
}

// A message of a FERoCE board.
static enum rx_verdict take_board(struct roce_port *port, const struct datagram *datagram)
{
	if (datagram->in->is_partial)
		return RX_MORE_BYTES;
	counter_add(&port->counters.packets, 1);
	roce_connect_board(port, datagram->in, &datagram->source, datagram->now);
	counter_add(&port->counters.taken, 1);
	return RX_FREE;
}

enum rx_verdict roce_port_receive(struct roce_port *port, struct rx_packet *in, uint64_t now)
{
	const struct net_frame *frame = &in->frame;
	const struct datagram datagram = {
		.in = in,
		.source = source_of(in->bytes, frame),
		.now = now,
	};
	uint32_t at_hand = bytes_at_hand(&datagram, frame->payload_offset);
	enum wire_error error;
	struct roce_packet packet;
	struct queue_pair *qp;

	if (unlikely(frame->destination_port != port->config->udp_port))
		return take_board(port, &datagram);
	error = roce_parse(in->bytes + frame->payload_offset, RTE_MIN(at_hand, frame->payload_size),
			   frame->payload_size, &packet);
	if (in->is_partial &&
	    (error == WIRE_TRUNCATED || (error == WIRE_OK && !is_at_hand(in, &packet))))
		return RX_MORE_BYTES;
	counter_add(&port->counters.packets, 1);
	if (unlikely(error != WIRE_OK)) {
		counter_add(&port->counters.malformed, 1);
		return RX_FREE;
	}
	if (unlikely(!check_icrc(port, &datagram))) {
		counter_add(&port->counters.icrc_errors, 1);
		qp = qp_find(&port->table, packet.destination_qpn);
		if (qp != NULL)
			qp_count(&qp->counters.icrc_errors, 1);
		return RX_FREE;
	}
	return dispatch(port, &packet, &datagram);
}
