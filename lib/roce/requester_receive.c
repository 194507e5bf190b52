// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Responses of the peer, and the timeouts when they do not arrive.
#include "roce/requester_internal.h"

#define FOR_EVER 7u // rnr_retry_count

// Sends everything again, beginning with an outstanding PSN.
static void go_back(const struct requester *requester, struct queue_pair *qp, uint32_t psn)
{
	uint32_t serial = qp->done;

	qp->reads_out = 0;
	while (serial != qp->posted && !request_has(request_at(requester, qp, serial), psn)) {
		qp->reads_out += request_at(requester, qp, serial)->operation == REQUESTER_READ;
		serial++;
	}
	qp->current = serial;
	qp->next_psn = psn;
	qp->ack_requested_psn = psn;
	qp->since_ack_request = 0;
}

// The peer has acknowledged everything before first_psn.
static void record_progress(struct queue_pair *qp, uint64_t now)
{
	qp->retries = qp->retry_count;
	qp->rnr_retries = qp->rnr_retry_count;
	qp->recovering = 0;
	qp->waits_rnr = 0;
	if (qp->window < MOST_WINDOW)
		qp->window *= 2;
	qp->deadline = UINT64_MAX;
	if (roce_psn_diff(qp->ack_requested_psn, qp->first_psn) > 0 && qp->timeout_code != 0)
		qp->deadline = now + roce_timeout_ns(qp->timeout_code);
	if (roce_psn_diff(qp->next_psn, qp->first_psn) < 0) {
		qp->next_psn = qp->first_psn; // went back too far: the peer has these packets
		qp->current = qp->done;
	}
}

// The peer has acknowledged everything before `psn`; a READ is complete only with its response.
// Completes messages up to the first outstanding READ. True if this reaches `psn`.
static bool advance(struct requester *requester, struct queue_pair *qp, uint32_t psn, uint64_t now)
{
	uint32_t before = qp->first_psn;

	while (qp->done != qp->posted && roce_psn_diff(psn, qp->first_psn) > 0) {
		const struct work_request *request = request_at(requester, qp, qp->done);
		uint32_t end = roce_psn_add(request->first_psn, request->packets);

		if (request->operation == REQUESTER_READ)
			break;
		if (roce_psn_diff(psn, end) < 0) {
			qp->first_psn = psn;
			break;
		}
		qp->first_psn = end;
		requester_finish(requester, qp, QP_NO_CAUSE);
	}
	if (qp->first_psn != before)
		record_progress(qp, now);
	return roce_psn_diff(psn, qp->first_psn) <= 0;
}

// A response beyond an outstanding READ means that the READ response was lost. The READ is
// requested again once; if the response is lost again, the timeout handles it.
static void handle_implied_nak(const struct requester *requester, struct queue_pair *qp)
{
	if (qp->recovering)
		return;
	qp_count(&qp->counters.implied_naks, 1);
	qp->recovering = 1;
	go_back(requester, qp, qp->first_psn);
}

static enum requester_verdict drop(struct queue_pair *qp, enum qp_drop cause)
{
	qp_count(&qp->counters.drops[cause], 1);
	return REQUESTER_DROPPED;
}

static enum requester_verdict take(struct queue_pair *qp)
{
	qp_count(&qp->counters.responses, 1);
	return REQUESTER_TAKEN;
}

static void retry(struct requester *requester, struct queue_pair *qp)
{
	if (qp->retries == 0) {
		requester_fail(requester, qp, qp->first_psn, QP_RETRIES_EXCEEDED);
		return;
	}
	qp->retries--;
	go_back(requester, qp, qp->first_psn);
}

void requester_time_out(struct requester *requester, struct queue_pair *qp)
{
	qp->deadline = UINT64_MAX;
	qp->recovering = 0;
	if (qp->state != QP_READY || qp->first_psn == qp->end_psn)
		return;
	qp_count(&qp->counters.timeouts, 1);
	retry(requester, qp);
}

// The receiver has no room for the message at first_psn, and drops everything that follows it. A
// full window would be wasted at each attempt: the next attempt is one packet, and the window
// doubles with each acknowledgement after it.
static void wait_for_receiver(struct requester *requester, struct queue_pair *qp, uint8_t syndrome,
			      uint64_t now)
{
	qp_count(&qp->counters.rnr_received, 1);
	if (qp->rnr_retry_count != FOR_EVER) {
		if (qp->rnr_retries == 0) {
			requester_fail(requester, qp, qp->first_psn, QP_RNR_EXCEEDED);
			return;
		}
		qp->rnr_retries--;
	}
	go_back(requester, qp, qp->first_psn);
	qp->window = 1;
	qp->resume = now + roce_rnr_ns[roce_syndrome_value(syndrome)];
	qp->waits_rnr = 1;
	qp->deadline = UINT64_MAX; // the next packet starts it again
}

static enum requester_verdict take_nak(struct requester *requester, struct queue_pair *qp,
				       uint32_t psn, uint8_t syndrome)
{
	static const enum qp_cause causes[] = {
		[QP_NAK_INVALID] = QP_RECEIVED_INVALID,
		[QP_NAK_ACCESS] = QP_RECEIVED_ACCESS,
		[QP_NAK_OPERATIONAL] = QP_RECEIVED_OPERATIONAL,
	};
	unsigned kind = roce_syndrome_value(syndrome);

	if (kind >= QP_N_NAKS)
		return drop(qp, QP_DROP_RESPONSE);
	qp_count(&qp->counters.naks_received[kind], 1);
	if (kind == QP_NAK_SEQUENCE && qp->waits_rnr)
		return take(qp); // caused by packets after the one that the receiver refused
	if (kind == QP_NAK_SEQUENCE)
		retry(requester, qp);
	else
		requester_fail(requester, qp, psn, causes[kind]);
	return take(qp);
}

static enum requester_verdict take_acknowledge(struct requester *requester, struct queue_pair *qp,
					       const struct roce_packet *packet, uint64_t now)
{
	uint8_t syndrome = packet->aeth.syndrome;
	uint32_t psn = packet->psn;

	switch (roce_syndrome_kind(syndrome)) {
	case ROCE_SYNDROME_ACK:
		if (!advance(requester, qp, roce_psn_add(psn, 1), now))
			handle_implied_nak(requester, qp);
		qp_count(&qp->counters.acks_received, 1);
		return take(qp);
	case ROCE_SYNDROME_RNR:
		if (advance(requester, qp, psn, now))
			wait_for_receiver(requester, qp, syndrome, now);
		else
			handle_implied_nak(requester, qp);
		return take(qp);
	case ROCE_SYNDROME_NAK:
		if (!advance(requester, qp, psn, now) && syndrome == ROCE_NAK_PSN_SEQUENCE) {
			handle_implied_nak(requester, qp);
			qp_count(&qp->counters.naks_received[QP_NAK_SEQUENCE], 1);
			return take(qp);
		}
		return take_nak(requester, qp, psn, syndrome);
	default:
		return drop(qp, QP_DROP_RESPONSE);
	}
}

// Whether a READ response has the size and the end flag of its place in the READ. When a READ is
// requested again from its middle, peers begin the responses with FIRST or with MIDDLE.
static bool is_right_response(const struct queue_pair *qp, const struct work_request *request,
			      const struct roce_packet *packet, uint32_t number)
{
	uint32_t left = request->length - number * qp->path_mtu;
	bool last = number + 1 == request->packets;

	if (packet->flags & ROCE_HAS_AETH &&
	    roce_syndrome_kind(packet->aeth.syndrome) != ROCE_SYNDROME_ACK)
		return false;
	return !!(packet->flags & ROCE_END) == last && roce_pad_ok(packet) &&
	       packet->payload_size == (last ? left : qp->path_mtu);
}

static enum requester_verdict take_data(struct requester *requester, struct queue_pair *qp,
					const struct roce_packet *packet, uint64_t now,
					struct requester_data *data)
{
	const struct work_request *request;
	uint32_t number;

	advance(requester, qp, packet->psn, now);
	request = request_at(requester, qp, qp->done);
	if (packet->psn != qp->first_psn) {
		handle_implied_nak(requester, qp);
		return drop(qp, QP_DROP_RESPONSE);
	}
	number = (packet->psn - request->first_psn) & ROCE_24_BITS;
	if (request->operation != REQUESTER_READ || !is_right_response(qp, request, packet, number))
		return drop(qp, QP_DROP_RESPONSE);
	*data = (struct requester_data){
		.user = request->user,
		.offset = number * qp->path_mtu,
		.size = packet->payload_size,
	};
	qp->first_psn = roce_psn_add(packet->psn, 1);
	if (number + 1 == request->packets)
		requester_finish(requester, qp, QP_NO_CAUSE);
	record_progress(qp, now);
	qp_count(&qp->counters.responses, 1);
	qp_count(&qp->counters.data_packets, 1);
	qp_count(&qp->counters.data_bytes, packet->payload_size);
	return REQUESTER_DATA;
}

// Checks that apply to every response. QP_N_DROPS if the packet passes.
static enum qp_drop admit(const struct queue_pair *qp, const struct roce_packet *packet,
			  const struct qp_address *source)
{
	if (((packet->partition_key ^ qp->partition_key) & 0x7FFF) != 0)
		return QP_DROP_P_KEY;
	if (qp->state != QP_READY)
		return QP_DROP_STATE;
	if (packet->service != ROCE_RC || qp->service != ROCE_RC ||
	    !(packet->flags & ROCE_RESPONSE))
		return QP_DROP_SERVICE;
	if (!qp_address_is(source, &qp->peer))
		return QP_DROP_PEER;
	if (roce_psn_diff(packet->psn, qp->first_psn) < 0 ||
	    roce_psn_diff(packet->psn, qp->end_psn) >= 0)
		return QP_DROP_GHOST;
	return QP_N_DROPS;
}

enum requester_verdict requester_receive(struct requester *requester, struct queue_pair *qp,
					 const struct roce_packet *packet,
					 const struct qp_address *source, uint64_t now,
					 struct requester_data *data)
{
	enum qp_drop cause = admit(qp, packet, source);

	if (cause != QP_N_DROPS)
		return drop(qp, cause);
	if (packet->flags & ROCE_ACKNOWLEDGE)
		return take_acknowledge(requester, qp, packet, now);
	if (packet->flags & ROCE_READ_RESPONSE)
		return take_data(requester, qp, packet, now, data);
	return drop(qp, QP_DROP_RESPONSE); // the response to an atomic
}
