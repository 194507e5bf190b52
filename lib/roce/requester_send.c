// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The next packet of a queue pair.
#include "roce/requester_internal.h"

#define WIRE_OVERHEAD 66u    // bytes around RoCE: Ethernet with gap, IPv4, UDP, ICRC
#define PACING_SLACK  20000u // ns; a late caller catches up this much at most

static const uint8_t send_opcodes[] = {
	[0] = ROCE_RC_SEND_MIDDLE,
	[ROCE_BEGIN] = ROCE_RC_SEND_FIRST,
	[ROCE_END] = ROCE_RC_SEND_LAST,
	[ROCE_BEGIN | ROCE_END] = ROCE_RC_SEND_ONLY,
};

static const uint8_t write_opcodes[] = {
	[0] = ROCE_RC_WRITE_MIDDLE,
	[ROCE_BEGIN] = ROCE_RC_WRITE_FIRST,
	[ROCE_END] = ROCE_RC_WRITE_LAST,
	[ROCE_BEGIN | ROCE_END] = ROCE_RC_WRITE_ONLY,
};

static const uint8_t service_bases[] = {
	[ROCE_RC] = 0,
	[ROCE_UC] = ROCE_UC_BASE,
	[ROCE_UD] = ROCE_UD_BASE,
};

// `place` holds ROCE_BEGIN and ROCE_END of the packet. The opcode with immediate follows the one
// without.
static uint8_t opcode_of(const struct queue_pair *qp, const struct work_request *request,
			 unsigned place)
{
	bool immediate = request->has_immediate && place & ROCE_END;

	if (request->operation == REQUESTER_READ)
		return ROCE_RC_READ_REQUEST;
	return (
	    uint8_t)((request->operation == REQUESTER_WRITE ? write_opcodes : send_opcodes)[place] +
		     immediate + service_bases[qp->service]);
}

// The number of packets that may be sent before the next acknowledgement.
static int32_t room_in_window(const struct requester *requester, const struct queue_pair *qp)
{
	uint32_t most = requester->parameters.window;

	return (int32_t)(qp->window < most ? qp->window : most) -
	       roce_psn_diff(qp->next_psn, qp->first_psn);
}

// Whether the window and the limit of READs permit the next packet.
static bool is_open(const struct requester *requester, const struct queue_pair *qp,
		    const struct work_request *request)
{
	if (qp->service != ROCE_RC)
		return true;
	if (room_in_window(requester, qp) <= 0)
		return false;
	return request->operation != REQUESTER_READ || qp->reads_out < qp->max_reads;
}

static bool must_wait(struct queue_pair *qp, uint64_t now)
{
	if (qp->waits_rnr) {
		if (now < qp->resume)
			return true;
		qp->waits_rnr = 0;
	}
	return qp->ns_per_byte != 0 && now < qp->next_send;
}

static void pace(struct queue_pair *qp, uint64_t now, uint32_t bytes)
{
	if (qp->ns_per_byte == 0)
		return;
	if (qp->next_send + PACING_SLACK < now)
		qp->next_send = now - PACING_SLACK;
	qp->next_send += (bytes * qp->ns_per_byte) >> 32;
}

static bool requests_ack(const struct requester *requester, struct queue_pair *qp, unsigned place)
{
	if (qp->service != ROCE_RC)
		return false;
	if (!(place & ROCE_END) && ++qp->since_ack_request < requester->ack_interval &&
	    room_in_window(requester, qp) > 1)
		return false;
	qp->since_ack_request = 0;
	return true;
}

// Fills the packet of the current message at next_psn.
static void describe(const struct requester *requester, struct queue_pair *qp,
		     const struct work_request *request, struct requester_packet *packet)
{
	uint32_t number = (qp->next_psn - request->first_psn) & ROCE_24_BITS;
	uint32_t offset = number * qp->path_mtu, left = request->length - offset;
	bool is_read = request->operation == REQUESTER_READ;
	uint32_t size = is_read ? 0 : left < qp->path_mtu ? left : qp->path_mtu;
	unsigned place = (number == 0 || is_read ? ROCE_BEGIN : 0) |
			 (number + 1 == request->packets || is_read ? ROCE_END : 0);

	*packet = (struct requester_packet){
		.qp = qp,
		.user = request->user,
		.offset = offset,
		.size = size,
		.again = roce_psn_diff(qp->next_psn, qp->end_psn) < 0,
		.header = {
			.opcode = opcode_of(qp, request, place),
			.service = qp->service,
			.psn = qp->next_psn,
			.destination_qpn =
			    qp->service == ROCE_UD ? request->peer_qpn : qp->peer_qpn,
			.partition_key = qp->partition_key,
			.pad = (uint8_t)(-size & 3u),
			.solicited = request->solicited && place & ROCE_END,
			.ack_request = requests_ack(requester, qp, place),
			.payload_size = size,
			// A READ that is continued requests the rest; a WRITE has its first
			// address.
			.reth = { .address = request->address + (is_read ? offset : 0),
				  .rkey = request->rkey,
				  .length = is_read ? left : request->length },
			.deth = { .qkey = request->qkey, .source_qpn = qp->qpn },
			.immediate = request->immediate,
		},
	};
	packet->header.flags = roce_opcodes[packet->header.opcode].flags;
	packet->header.payload_offset = roce_opcodes[packet->header.opcode].headers_size;
}

// Advances next_psn, and current at the end of the message, past the described packet.
static void advance_next_psn(struct requester *requester, struct queue_pair *qp,
			     const struct work_request *request)
{
	uint32_t end = roce_psn_add(request->first_psn, request->packets);

	if (request->operation == REQUESTER_READ) {
		qp->next_psn = end;
		qp->reads_out++;
	} else {
		qp->next_psn = roce_psn_add(qp->next_psn, 1);
	}
	if (roce_psn_diff(qp->next_psn, qp->end_psn) > 0)
		qp->end_psn = qp->next_psn;
	if (qp->next_psn != end)
		return;
	qp->current++;
	if (qp->service != ROCE_RC) {
		qp->first_psn = qp->next_psn;
		requester_finish(requester, qp, QP_NO_CAUSE);
	}
}

// The packets up to next_psn have requested an ACK: starts the ACK timeout.
static void expect_response(struct queue_pair *qp, uint64_t now)
{
	qp->ack_requested_psn = qp->next_psn;
	if (qp->deadline == UINT64_MAX && qp->timeout_code != 0)
		qp->deadline = now + roce_timeout_ns(qp->timeout_code);
}

bool requester_next(struct requester *requester, struct queue_pair *qp, uint64_t now,
		    struct requester_packet *packet)
{
	const struct work_request *request;

	if (now >= qp->deadline)
		requester_time_out(requester, qp);
	if (qp->state != QP_READY || qp->current == qp->posted)
		return false;
	request = request_at(requester, qp, qp->current);
	if (!is_open(requester, qp, request) || must_wait(qp, now))
		return false;
	describe(requester, qp, request, packet);
	advance_next_psn(requester, qp, request);
	if (packet->header.ack_request)
		expect_response(qp, now);
	pace(qp, now, packet->size + packet->header.payload_offset + WIRE_OVERHEAD);
	qp_count(&qp->counters.sent_packets, 1);
	qp_count(&qp->counters.sent_bytes, packet->size);
	if (packet->again)
		qp_count(&qp->counters.retransmissions, 1);
	return true;
}
