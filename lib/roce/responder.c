// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "roce/responder_internal.h"

#include <stdlib.h>

#define LONGEST_MESSAGE (1u << 31) // bytes, by the standard

uint64_t responder_memory(uint32_t n_qps, unsigned max_reads)
{
	return sizeof(struct responder) +
	       (uint64_t)n_qps * (max_reads * sizeof(struct remembered_read) + sizeof(uint32_t));
}

static bool parameters_are_valid(const struct responder_parameters *p)
{
	return p->table != NULL && p->ack_every >= 1 && p->rnr_timer < 32 && p->max_reads >= 1 &&
	       p->max_reads <= 128 && (p->max_reads & (p->max_reads - 1)) == 0 &&
	       p->largest_message <= LONGEST_MESSAGE;
}

struct responder *responder_create(const struct responder_parameters *parameters)
{
	struct responder *responder;
	size_t n_qps;

	if (!parameters_are_valid(parameters))
		return NULL;
	n_qps = (size_t)parameters->table->mask + 1;
	responder = calloc(1, sizeof(*responder));
	if (responder == NULL)
		return NULL;
	responder->parameters = *parameters;
	responder->list_mask = parameters->table->mask;
	responder->reads = calloc(n_qps * parameters->max_reads, sizeof(*responder->reads));
	responder->listed = calloc(n_qps, sizeof(*responder->listed));
	if (responder->reads == NULL || responder->listed == NULL) {
		responder_destroy(responder);
		return NULL;
	}
	return responder;
}

void responder_destroy(struct responder *responder)
{
	if (responder == NULL)
		return;
	free(responder->reads);
	free(responder->listed);
	free(responder);
}

void responder_list(struct responder *responder, struct queue_pair *qp)
{
	if (qp->responder_listed)
		return;
	qp->responder_listed = 1;
	responder->listed[responder->list_tail++ & responder->list_mask] = qp->index;
}

void responder_acknowledge(struct queue_pair *qp, uint8_t syndrome, uint32_t psn,
			   struct responder_reply *reply)
{
	reply->qp = qp;
	reply->payload = NULL;
	reply->payload_size = 0;
	reply->opcode = ROCE_RC_ACKNOWLEDGE;
	reply->syndrome = syndrome;
	reply->psn = psn;
	reply->msn = qp->msn;
	reply->send = true;
	qp->owed = 0; // a response acknowledges all before it
	if (syndrome == ROCE_ACK_NO_CREDITS)
		qp_count(&qp->counters.acks_sent, 1);
	else if (roce_syndrome_kind(syndrome) == ROCE_SYNDROME_NAK)
		qp_count(&qp->counters.naks_sent[roce_syndrome_value(syndrome)], 1);
	else
		qp_count(&qp->counters.rnr_sent, 1);
}

// Sends a NAK that does not end the connection, after the pending READ responses. Packets that
// follow it are dropped without another NAK.
static void refuse_for_now(struct responder *responder, struct queue_pair *qp, uint8_t syndrome,
			   uint32_t psn, struct responder_reply *reply)
{
	qp->silent = syndrome == ROCE_NAK_PSN_SEQUENCE || !responder->parameters.like_rxe;
	if (!has_pending_reads(qp)) {
		responder_acknowledge(qp, syndrome, psn, reply);
		return;
	}
	qp->owed_nak = syndrome;
	qp->owed_psn = psn;
	responder_list(responder, qp);
}

// Acknowledges all packets up to psn: now, or later together with others.
static void owe_ack(struct responder *responder, struct queue_pair *qp, uint32_t psn,
		    struct responder_reply *reply)
{
	if (qp->owed_nak != 0)
		return;
	qp->owed_psn = psn;
	qp->owed++;
	if (qp->owed >= responder->parameters.ack_every && !has_pending_reads(qp))
		responder_acknowledge(qp, ROCE_ACK_NO_CREDITS, psn, reply);
	else
		responder_list(responder, qp);
}

void responder_fail(struct queue_pair *qp, enum qp_cause cause, uint32_t psn,
		    struct responder_reply *reply)
{
	static const uint8_t syndromes[] = {
		[QP_SENT_INVALID] = ROCE_NAK_INVALID_REQUEST,
		[QP_SENT_ACCESS] = ROCE_NAK_REMOTE_ACCESS,
		[QP_SENT_OPERATIONAL] = ROCE_NAK_REMOTE_OPERATIONAL,
	};

	qp->state = QP_ERROR;
	qp->cause = (uint8_t)cause;
	qp->owed_nak = 0;
	qp->read_next = qp->read_tail;
	responder_acknowledge(qp, syndromes[cause], psn, reply);
}

enum responder_verdict responder_end(struct queue_pair *qp, enum qp_drop drop, uint32_t psn,
				     struct responder_reply *reply)
{
	responder_fail(qp, drop == QP_DROP_ACCESS ? QP_SENT_ACCESS : QP_SENT_INVALID, psn, reply);
	return responder_drop(qp, drop);
}

// Handles an RC packet whose PSN is not the expected one.
static enum responder_verdict unexpected(struct responder *responder, struct queue_pair *qp,
					 const struct roce_packet *packet, int32_t ahead,
					 struct responder_reply *reply)
{
	if (ahead > 0) {
		if (!qp->silent)
			refuse_for_now(responder, qp, ROCE_NAK_PSN_SEQUENCE, qp->expected_psn,
				       reply);
		return responder_drop(qp, QP_DROP_AHEAD);
	}
	if (packet->flags & ROCE_READ_REQUEST)
		return responder_read_again(responder, qp, packet);
	if (packet->flags & (ROCE_SEND | ROCE_WRITE))
		owe_ack(responder, qp, qp->newest_psn, reply);
	return responder_drop(qp, QP_DROP_DUPLICATE);
}

// UC: the rest of the message is useless.
static void lose_message(struct queue_pair *qp)
{
	if (qp->receiving != 0) {
		qp_count(&qp->counters.aborted, 1);
		qp->receiving = 0;
	}
	qp->silent = 1;
}

// Applies the PSN rules of UC. True if the packet may be accepted. A PSN before the expected one is
// a copy or late, and is dropped, unless a message begins there: its sender has restarted.
static bool follow_gaps(struct queue_pair *qp, const struct roce_packet *packet)
{
	int32_t ahead = roce_psn_diff(packet->psn, qp->expected_psn);

	if (packet->flags & ROCE_BEGIN) {
		if (ahead > 0)
			qp_count(&qp->counters.lost, (uint64_t)ahead);
		if (qp->receiving != 0)
			lose_message(qp);
		qp->silent = 0;
		qp->expected_psn = packet->psn;
		return true;
	}
	if (ahead > 0) {
		qp_count(&qp->counters.lost, (uint64_t)ahead);
		lose_message(qp);
	}
	if (ahead >= 0)
		qp->expected_psn = roce_psn_add(packet->psn, 1);
	return ahead == 0 && !qp->silent;
}

// Whether a packet continues the message that has begun, or begins one where none has.
static bool is_in_sequence(const struct queue_pair *qp, const struct roce_packet *packet)
{
	uint8_t kind = packet->flags & ROCE_WRITE ? QP_RECEIVING_WRITE : QP_RECEIVING_SEND;

	return qp->receiving == (packet->flags & ROCE_BEGIN ? 0 : kind);
}

static bool is_well_sized(const struct queue_pair *qp, const struct roce_packet *packet)
{
	uint32_t size = packet->payload_size;

	if (!roce_pad_ok(packet))
		return false;
	switch (packet->flags & (ROCE_BEGIN | ROCE_END)) {
	case ROCE_BEGIN | ROCE_END:
		return size <= qp->path_mtu;
	case ROCE_END:
		return size >= 1 && size <= qp->path_mtu;
	default:
		return size == qp->path_mtu;
	}
}

// Whether the packet fits the length that its WRITE announced.
static bool write_adds_up(const struct roce_packet *packet, uint32_t left)
{
	return packet->flags & ROCE_END ? packet->payload_size == left
					: packet->payload_size < left;
}

// Fills the delivery of a packet of a WRITE. QP_N_DROPS if the packet passes all checks.
static enum qp_drop check_write(const struct responder *responder, const struct queue_pair *qp,
				const struct roce_packet *packet,
				struct responder_delivery *delivery)
{
	uint32_t left = qp->left;

	delivery->rkey = qp->rkey;
	delivery->address = qp->address;
	delivery->dma_length = qp->offset + qp->left;
	if (packet->flags & ROCE_BEGIN) {
		left = packet->reth.length;
		delivery->rkey = packet->reth.rkey;
		delivery->address = packet->reth.address;
		delivery->dma_length = left;
		if (left > LONGEST_MESSAGE)
			return QP_DROP_LENGTH;
	}
	if (!write_adds_up(packet, left))
		return QP_DROP_LENGTH;
	if (responder->parameters.regions == NULL || left == 0)
		return QP_N_DROPS;
	delivery->to = region_at(responder->parameters.regions, delivery->rkey, REGION_WRITE,
				 delivery->address, left);
	return delivery->to == NULL ? QP_DROP_ACCESS : QP_N_DROPS;
}

// Checks a SEND or WRITE with the expected PSN. QP_N_DROPS if it passes.
static enum qp_drop check_message(const struct responder *responder, const struct queue_pair *qp,
				  const struct roce_packet *packet,
				  struct responder_delivery *delivery)
{
	uint32_t flags = packet->flags;
	bool begins = flags & ROCE_BEGIN;

	if (!is_in_sequence(qp, packet))
		return QP_DROP_SEQUENCE;
	if (flags & ROCE_HAS_IETH || (flags & ROCE_WRITE && !(qp->access & QP_MAY_WRITE)))
		return QP_DROP_UNSUPPORTED;
	if (!is_well_sized(qp, packet))
		return QP_DROP_LENGTH;
	*delivery = (struct responder_delivery){
		.offset = begins ? 0 : qp->offset,
		.size = packet->payload_size,
		.immediate = packet->immediate,
		.is_write = flags & ROCE_WRITE,
		.begins = begins,
		.ends = flags & ROCE_END,
		.has_immediate = flags & ROCE_HAS_IMM,
		.ack_request = packet->ack_request,
		.psn = packet->psn,
	};
	if (flags & ROCE_WRITE)
		return check_write(responder, qp, packet, delivery);
	if (packet->payload_size > responder->parameters.largest_message - delivery->offset)
		return QP_DROP_LENGTH;
	return QP_N_DROPS;
}

static enum responder_verdict check_rc(struct responder *responder, struct queue_pair *qp,
				       const struct roce_packet *packet,
				       struct responder_delivery *delivery,
				       struct responder_reply *reply)
{
	int32_t ahead = roce_psn_diff(packet->psn, qp->expected_psn);
	enum qp_drop drop;

	if (__builtin_expect(ahead != 0, 0))
		return unexpected(responder, qp, packet, ahead, reply);
	qp->silent = 0;
	if (packet->flags & ROCE_READ_REQUEST) {
		if (qp->receiving != 0)
			return responder_end(qp, QP_DROP_SEQUENCE, packet->psn, reply);
		return responder_read(responder, qp, packet, reply);
	}
	if (!(packet->flags & (ROCE_SEND | ROCE_WRITE)))
		return responder_end(qp, QP_DROP_UNSUPPORTED, packet->psn, reply); // atomics
	drop = check_message(responder, qp, packet, delivery);
	if (__builtin_expect(drop != QP_N_DROPS, 0))
		return responder_end(qp, drop, packet->psn, reply);
	return RESPONDER_DELIVER;
}

static enum responder_verdict check_uc(struct responder *responder, struct queue_pair *qp,
				       const struct roce_packet *packet,
				       struct responder_delivery *delivery)
{
	enum qp_drop drop;

	if (!follow_gaps(qp, packet))
		return responder_drop(qp, QP_DROP_GAP);
	drop = check_message(responder, qp, packet, delivery);
	if (drop == QP_N_DROPS)
		return RESPONDER_DELIVER;
	lose_message(qp);
	qp->expected_psn = roce_psn_add(packet->psn, 1);
	return responder_drop(qp, drop);
}

static enum responder_verdict check_ud(const struct responder *responder, struct queue_pair *qp,
				       const struct roce_packet *packet,
				       struct responder_delivery *delivery)
{
	if (packet->deth.qkey != qp->qkey)
		return responder_drop(qp, QP_DROP_Q_KEY);
	if (!roce_pad_ok(packet) || packet->payload_size > qp->path_mtu ||
	    packet->payload_size > responder->parameters.largest_message)
		return responder_drop(qp, QP_DROP_LENGTH);
	*delivery = (struct responder_delivery){
		.size = packet->payload_size,
		.immediate = packet->immediate,
		.begins = true,
		.ends = true,
		.has_immediate = packet->flags & ROCE_HAS_IMM,
		.psn = packet->psn,
	};
	return RESPONDER_DELIVER;
}

// Checks that apply to every request. QP_N_DROPS if the packet passes.
static enum qp_drop admit(const struct queue_pair *qp, const struct roce_packet *packet,
			  const struct responder_arrival *arrival)
{
	if (((packet->partition_key ^ qp->partition_key) & 0x7FFF) != 0)
		return QP_DROP_P_KEY;
	if (qp->state != QP_READY)
		return QP_DROP_STATE;
	if (packet->service != qp->service || !(packet->flags & ROCE_REQUEST))
		return QP_DROP_SERVICE;
	if (qp->service != ROCE_UD && !qp_address_is(&arrival->source, &qp->peer))
		return QP_DROP_PEER;
	return QP_N_DROPS;
}

// Whether a CNP must be sent to qp->peer_qpn, for a request that carried a congestion mark.
static bool wants_cnp(const struct responder *responder, struct queue_pair *qp, uint64_t now)
{
	if (responder->parameters.cnp_interval == 0 || now < qp->next_cnp)
		return false;
	qp->next_cnp = now + responder->parameters.cnp_interval;
	qp_count(&qp->counters.cnp_sent, 1);
	return true;
}

enum responder_verdict responder_check(struct responder *responder, struct queue_pair *qp,
				       const struct roce_packet *packet,
				       const struct responder_arrival *arrival, uint64_t now,
				       struct responder_delivery *delivery,
				       struct responder_reply *reply)
{
	enum qp_drop drop = admit(qp, packet, arrival);

	*reply = (struct responder_reply){ .qp = qp };
	if (__builtin_expect(drop != QP_N_DROPS, 0))
		return responder_drop(qp, drop);
	// A datagram does not name a queue pair that could receive a notification, so none is sent.
	if (arrival->congested && qp->service != ROCE_UD)
		reply->cnp = wants_cnp(responder, qp, now);
	switch (qp->service) {
	case ROCE_RC:
		return check_rc(responder, qp, packet, delivery, reply);
	case ROCE_UC:
		return check_uc(responder, qp, packet, delivery);
	default:
		return check_ud(responder, qp, packet, delivery);
	}
}

void responder_accept(struct responder *responder, struct queue_pair *qp,
		      const struct responder_delivery *delivery, struct responder_reply *reply)
{
	reply->send = false;
	qp_count(&qp->counters.packets, 1);
	qp_count(&qp->counters.bytes, delivery->size);
	if (delivery->ends)
		qp_count(&qp->counters.messages, 1);
	if (qp->service == ROCE_UD)
		return;
	qp->expected_psn = roce_psn_add(delivery->psn, 1);
	qp->newest_psn = delivery->psn;
	qp->offset = delivery->offset + delivery->size;
	if (delivery->is_write) {
		qp->rkey = delivery->rkey;
		qp->address = delivery->address + delivery->size;
		qp->left = delivery->dma_length - qp->offset;
	}
	if (delivery->ends) {
		qp->receiving = 0;
		qp->msn = roce_psn_add(qp->msn, 1);
	} else {
		qp->receiving = delivery->is_write ? QP_RECEIVING_WRITE : QP_RECEIVING_SEND;
	}
	if (qp->service == ROCE_RC && delivery->ack_request)
		owe_ack(responder, qp, delivery->psn, reply);
}

void responder_refuse(struct responder *responder, struct queue_pair *qp,
		      const struct responder_delivery *delivery, enum responder_refusal reason,
		      struct responder_reply *reply)
{
	static const enum qp_drop drops[] = {
		[RESPONDER_NO_RESOURCE] = QP_DROP_NO_RESOURCE,
		[RESPONDER_NO_ACCESS] = QP_DROP_ACCESS,
		[RESPONDER_INVALID] = QP_DROP_REFUSED,
		[RESPONDER_NOT_OPERATIONAL] = QP_DROP_REFUSED,
	};
	static const enum qp_cause causes[] = {
		[RESPONDER_NO_ACCESS] = QP_SENT_ACCESS,
		[RESPONDER_INVALID] = QP_SENT_INVALID,
		[RESPONDER_NOT_OPERATIONAL] = QP_SENT_OPERATIONAL,
	};

	reply->send = false;
	responder_drop(qp, drops[reason]);
	if (qp->service == ROCE_UC) {
		lose_message(qp);
		qp->expected_psn = roce_psn_add(delivery->psn, 1);
	} else if (qp->service == ROCE_RC && reason == RESPONDER_NO_RESOURCE) {
		refuse_for_now(responder, qp, roce_rnr_syndrome(responder->parameters.rnr_timer),
			       delivery->psn, reply);
	} else if (qp->service == ROCE_RC) {
		responder_fail(qp, causes[reason], delivery->psn, reply);
	}
}

// The next response that the queue pair must send; false if there is none.
static bool next_response(struct responder *responder, struct queue_pair *qp,
			  struct responder_reply *reply)
{
	if (qp->state != QP_READY)
		return false;
	if (responder_read_response(responder, qp, reply))
		return true;
	if (qp->owed_nak != 0) {
		responder_acknowledge(qp, qp->owed_nak, qp->owed_psn, reply);
		qp->owed_nak = 0;
		return true;
	}
	if (qp->owed != 0) {
		responder_acknowledge(qp, ROCE_ACK_NO_CREDITS, qp->owed_psn, reply);
		return true;
	}
	return false;
}

// The next response of the queue pairs in the list before `end`.
static bool poll_before(struct responder *responder, uint32_t end, struct responder_reply *reply)
{
	while (responder->list_head != end) {
		uint32_t index = responder->listed[responder->list_head++ & responder->list_mask];
		struct queue_pair *qp = &responder->parameters.table->qps[index];

		*reply = (struct responder_reply){ .qp = qp };
		qp->responder_listed = 0;
		if (!next_response(responder, qp, reply))
			continue;
		if (has_pending_reads(qp) || qp->owed_nak != 0 || qp->owed != 0)
			responder_list(responder, qp);
		return true;
	}
	return false;
}

bool responder_poll(struct responder *responder, struct responder_reply *reply)
{
	return poll_before(responder, responder->list_tail, reply);
}

bool responder_poll_aged(struct responder *responder, struct responder_reply *reply)
{
	return (int32_t)(responder->list_aged - responder->list_head) > 0 &&
	       poll_before(responder, responder->list_aged, reply);
}

void responder_age(struct responder *responder)
{
	responder->list_aged = responder->list_tail;
}

struct roce_packet responder_reply_header(const struct responder_reply *reply)
{
	return (struct roce_packet){
		.flags = roce_opcodes[reply->opcode].flags,
		.service = ROCE_RC,
		.opcode = reply->opcode,
		.payload_offset = roce_opcodes[reply->opcode].headers_size,
		.payload_size = reply->payload_size,
		.pad = (uint8_t)(-reply->payload_size & 3u),
		.partition_key = reply->qp->partition_key,
		.destination_qpn = reply->qp->peer_qpn,
		.psn = reply->psn,
		.aeth = { .msn = reply->msn, .syndrome = reply->syndrome },
	};
}

size_t responder_reply_encode(const struct responder_reply *reply,
			      uint8_t bytes[ROCE_MAX_HEADERS_SIZE])
{
	const struct roce_packet header = responder_reply_header(reply);

	return roce_headers_encode(bytes, &header);
}
