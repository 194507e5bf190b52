// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The next packet of a queue pair.
#include "roce/requester_internal.h"

#define WIRE_OVERHEAD 66u    // bytes of Ethernet with its gap, IPv4, UDP and ICRC, for the pacing
#define PACING_SLACK  20000u // ns that a late caller may catch up

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

// place: ROCE_BEGIN and ROCE_END of the packet. An immediate makes the next opcode of it.
static uint8_t opcode_of(const struct queue_pair *qp, const struct work *work, unsigned place)
{
	bool immediate = work->has_immediate && place & ROCE_END;

	if (work->operation == REQUESTER_READ)
		return ROCE_RC_READ_REQUEST;
	return (
	    uint8_t)((work->operation == REQUESTER_WRITE ? write_opcodes : send_opcodes)[place] +
		     immediate + service_bases[qp->service]);
}

// Packets that may still be sent before one is acknowledged.
static int32_t room_in_window(const struct requester *requester, const struct queue_pair *qp)
{
	uint32_t most = requester->parameters.window;

	return (int32_t)(qp->window < most ? qp->window : most) -
	       roce_psn_diff(qp->next_psn, qp->first_psn);
}

// Whether the acknowledgements of the peer permit the next packet.
static bool is_open(const struct requester *requester, const struct queue_pair *qp,
		    const struct work *work)
{
	if (qp->service != ROCE_RC)
		return true;
	if (room_in_window(requester, qp) <= 0)
		return false;
	return work->operation != REQUESTER_READ || qp->reads_out < qp->max_reads;
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

static bool asks_for_ack(const struct requester *requester, struct queue_pair *qp, unsigned place)
{
	if (qp->service != ROCE_RC)
		return false;
	if (!(place & ROCE_END) && ++qp->since_ack_request < requester->ack_interval &&
	    room_in_window(requester, qp) > 1)
		return false;
	qp->since_ack_request = 0;
	return true;
}

// The packet of the current message at next_psn.
static void describe(const struct requester *requester, struct queue_pair *qp,
		     const struct work *work, struct requester_packet *packet)
{
	uint32_t number = (qp->next_psn - work->first_psn) & ROCE_24_BITS;
	uint32_t offset = number * qp->path_mtu, left = work->length - offset;
	bool is_read = work->operation == REQUESTER_READ;
	uint32_t size = is_read ? 0 : left < qp->path_mtu ? left : qp->path_mtu;
	unsigned place = (number == 0 || is_read ? ROCE_BEGIN : 0) |
			 (number + 1 == work->packets || is_read ? ROCE_END : 0);

	*packet = (struct requester_packet){
		.qp = qp,
		.user = work->user,
		.offset = offset,
		.size = size,
		.again = roce_psn_diff(qp->next_psn, qp->end_psn) < 0,
		.header = {
			.opcode = opcode_of(qp, work, place),
			.service = qp->service,
			.psn = qp->next_psn,
			.destination_qpn =
			    qp->service == ROCE_UD ? work->peer_qpn : qp->peer_qpn,
			.partition_key = qp->partition_key,
			.pad = (uint8_t)(-size & 3u),
			.solicited = work->solicited && place & ROCE_END,
			.ack_request = asks_for_ack(requester, qp, place),
			.payload_size = size,
			// A READ that goes on asks for the rest; a WRITE begins at its start.
			.reth = { .address = work->address + (is_read ? offset : 0),
				  .rkey = work->rkey,
				  .length = is_read ? left : work->length },
			.deth = { .qkey = work->qkey, .source_qpn = qp->qpn },
			.immediate = work->immediate,
		},
	};
	packet->header.flags = roce_opcodes[packet->header.opcode].flags;
	packet->header.payload_offset = roce_opcodes[packet->header.opcode].headers_size;
}

// next_psn and current go over the packet that was described.
static void go_on(struct requester *requester, struct queue_pair *qp, const struct work *work)
{
	uint32_t end = roce_psn_add(work->first_psn, work->packets);

	if (work->operation == REQUESTER_READ) {
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

// The packets up to next_psn have asked for an ACK: from now on one must come.
static void expect_answer(struct queue_pair *qp, uint64_t now)
{
	qp->asked_psn = qp->next_psn;
	if (qp->deadline == UINT64_MAX && qp->timeout_code != 0)
		qp->deadline = now + roce_timeout_ns(qp->timeout_code);
}

bool requester_next(struct requester *requester, struct queue_pair *qp, uint64_t now,
		    struct requester_packet *packet)
{
	const struct work *work;

	if (now >= qp->deadline)
		requester_time_out(requester, qp);
	if (qp->state != QP_READY || qp->current == qp->posted)
		return false;
	work = work_of(requester, qp, qp->current);
	if (!is_open(requester, qp, work) || must_wait(qp, now))
		return false;
	describe(requester, qp, work, packet);
	go_on(requester, qp, work);
	if (packet->header.ack_request)
		expect_answer(qp, now);
	pace(qp, now, packet->size + packet->header.payload_offset + WIRE_OVERHEAD);
	qp_count(&qp->counters.sent_packets, 1);
	qp_count(&qp->counters.sent_bytes, packet->size);
	if (packet->again)
		qp_count(&qp->counters.retransmissions, 1);
	return true;
}
