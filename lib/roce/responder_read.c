// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// READ requests. A request is accepted at once; responder_poll() fetches its responses packet by
// packet, in the order of their PSNs.
#include "roce/responder_internal.h"

#define LONGEST_READ (1u << 31) // bytes, by the standard
#define MOST_PACKETS (1u << 22) // responses per READ: PSNs are compared modulo 2^24

static struct remembered_read *read_of(const struct responder *responder,
				       const struct queue_pair *qp, uint16_t number)
{
	uint32_t n = responder->parameters.max_reads;

	return &responder->reads[(size_t)qp->index * n + (number & (n - 1))];
}

static bool is_full(const struct responder *responder, const struct queue_pair *qp)
{
	return (uint16_t)(qp->read_tail - qp->read_head) == responder->parameters.max_reads;
}

// Forgets the oldest READ: the peer sends another one, so it has received this response.
static void forget_oldest(struct queue_pair *qp)
{
	if (qp->read_next == qp->read_head)
		qp->read_next++;
	qp->read_head++;
}

// The reason to refuse a new READ; QP_N_DROPS if there is none.
static enum qp_drop judge(const struct responder *responder, const struct queue_pair *qp,
			  const struct roce_packet *packet)
{
	const struct region_table *regions = responder->parameters.regions;
	const struct roce_reth *reth = &packet->reth;

	if (!(qp->access & QP_MAY_READ) || regions == NULL)
		return QP_DROP_UNSUPPORTED;
	if (is_full(responder, qp) && !read_of(responder, qp, qp->read_head)->responded)
		return QP_DROP_SEQUENCE; // more READs outstanding than agreed
	if (packet->payload_size != 0 || packet->pad != 0 || reth->length > LONGEST_READ ||
	    qp_count_packets(qp, reth->length) > MOST_PACKETS)
		return QP_DROP_LENGTH;
	if (reth->length != 0 &&
	    region_at(regions, reth->rkey, REGION_READ, reth->address, reth->length) == NULL)
		return QP_DROP_ACCESS;
	return QP_N_DROPS;
}

enum responder_verdict responder_read(struct responder *responder, struct queue_pair *qp,
				      const struct roce_packet *packet,
				      struct responder_reply *reply)
{
	enum qp_drop drop = judge(responder, qp, packet);
	uint32_t packets = qp_count_packets(qp, packet->reth.length);

	if (drop != QP_N_DROPS)
		return responder_end(qp, drop, packet->psn, reply);
	// The first response of a READ acknowledges all before it, but only if it is the next
	// response.
	if (qp->owed != 0 && !has_pending_reads(qp))
		responder_acknowledge(qp, ROCE_ACK_NO_CREDITS, qp->owed_psn, reply);
	if (is_full(responder, qp))
		forget_oldest(qp);
	qp->msn = roce_psn_add(qp->msn, 1);
	*read_of(responder, qp, qp->read_tail) = (struct remembered_read){
		.address = packet->reth.address,
		.length = packet->reth.length,
		.rkey = packet->reth.rkey,
		.first_psn = packet->psn,
		.packets = packets,
		.msn = qp->msn,
		.end = packet->reth.length,
		.pending = true,
	};
	qp->read_tail++;
	qp->expected_psn = roce_psn_add(packet->psn, packets);
	qp_count(&qp->counters.packets, 1);
	qp_count(&qp->counters.messages, 1);
	qp_count(&qp->counters.reads, 1);
	responder_list(responder, qp);
	return RESPONDER_SERVED;
}

// Finds the READ that a PSN belongs to; false if it is not remembered.
static bool find_read(const struct responder *responder, const struct queue_pair *qp, uint32_t psn,
		      uint16_t *number)
{
	for (uint16_t i = qp->read_head; i != qp->read_tail; i++) {
		const struct remembered_read *read = read_of(responder, qp, i);

		if (((psn - read->first_psn) & ROCE_24_BITS) < read->packets) {
			*number = i;
			return true;
		}
	}
	return false;
}

enum responder_verdict responder_read_again(struct responder *responder, struct queue_pair *qp,
					    const struct roce_packet *packet)
{
	const struct roce_reth *reth = &packet->reth;
	struct remembered_read *read;
	uint32_t packet_number;
	uint64_t offset;
	uint16_t number;

	if (!find_read(responder, qp, packet->psn, &number))
		return responder_drop(qp, QP_DROP_STALE_READ);
	read = read_of(responder, qp, number);
	packet_number = (packet->psn - read->first_psn) & ROCE_24_BITS;
	offset = (uint64_t)packet_number * qp->path_mtu;
	if (reth->rkey != read->rkey || reth->address != read->address + offset ||
	    offset > read->length || reth->length > read->length - offset ||
	    (reth->length == 0 && read->length != 0))
		return responder_drop(qp, QP_DROP_STALE_READ);
	read->done = (uint32_t)offset;
	read->end = (uint32_t)offset + reth->length;
	read->packet = packet_number;
	read->pending = true;
	read->begun = packet_number != 0 && responder->parameters.like_rxe;
	read->msn = qp->msn;
	if ((uint16_t)(qp->read_next - qp->read_head) > (uint16_t)(number - qp->read_head))
		qp->read_next = number;
	qp_count(&qp->counters.reads_again, 1);
	qp_count(&qp->counters.drops[QP_DROP_DUPLICATE], 1);
	responder_list(responder, qp);
	return RESPONDER_SERVED;
}

// The opcode of the next response.
static uint8_t next_opcode(const struct queue_pair *qp, const struct remembered_read *read)
{
	bool last = read->end - read->done <= qp->path_mtu;

	if (read->begun)
		return last ? ROCE_RC_READ_RESPONSE_LAST : ROCE_RC_READ_RESPONSE_MIDDLE;
	return last ? ROCE_RC_READ_RESPONSE_ONLY : ROCE_RC_READ_RESPONSE_FIRST;
}

static void skip_responded(const struct responder *responder, struct queue_pair *qp)
{
	while (has_pending_reads(qp) && !read_of(responder, qp, qp->read_next)->pending)
		qp->read_next++;
}

bool responder_read_response(struct responder *responder, struct queue_pair *qp,
			     struct responder_reply *reply)
{
	struct remembered_read *read;
	uint32_t size;

	skip_responded(responder, qp);
	if (!has_pending_reads(qp))
		return false;
	read = read_of(responder, qp, qp->read_next);
	size = read->end - read->done < qp->path_mtu ? read->end - read->done : qp->path_mtu;
	reply->psn = roce_psn_add(read->first_psn, read->packet);
	if (size > 0) {
		reply->payload = region_at(responder->parameters.regions, read->rkey, REGION_READ,
					   read->address + read->done, size);
		if (reply->payload == NULL) {
			responder_fail(qp, QP_SENT_ACCESS, reply->psn, reply);
			return true;
		}
	}
	reply->payload_size = size;
	reply->opcode = next_opcode(qp, read);
	reply->syndrome = ROCE_ACK_NO_CREDITS;
	reply->msn = read->msn;
	reply->send = true;
	read->done += size;
	read->packet++;
	read->begun = true;
	read->pending = read->done != read->end;
	read->responded |= !read->pending;
	qp_count(&qp->counters.read_packets, 1);
	qp_count(&qp->counters.read_bytes, size);
	skip_responded(responder, qp);
	return true;
}
