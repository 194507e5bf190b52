// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "roce/requester_internal.h"

#include <stdlib.h>

#define MOST_DEPTH    65536u
#define MOST_PACKETS  (1u << 22) // per message: PSNs are compared modulo 2^24
#define MOST_PSNS     (1u << 23) // of all unfinished messages
#define MOST_LENGTH   (1u << 31) // bytes per message, by the standard
#define LOOK_AT_MOST  32u        // queue pairs checked per call
#define SLOWEST_RATE  1000u      // bytes/s; slower rates do not fit the fixed-point number
#define NS_PER_SECOND 1000000000u

uint64_t requester_memory(uint32_t n_qps, uint32_t depth)
{
	return sizeof(struct requester) +
	       (uint64_t)n_qps * (depth * sizeof(struct work_request) + 2 * sizeof(uint32_t));
}

static bool parameters_are_valid(const struct requester_parameters *p)
{
	return p->table != NULL && p->depth >= 1 && p->depth <= MOST_DEPTH &&
	       (p->depth & (p->depth - 1)) == 0 && p->window >= 2 && p->window <= MOST_WINDOW &&
	       p->ack_interval >= 1 && p->burst >= 1;
}

static bool allocate(struct requester *requester)
{
	size_t n_qps = (size_t)requester->mask + 1;

	requester->requests =
	    calloc(n_qps * requester->parameters.depth, sizeof(*requester->requests));
	requester->active.indices = calloc(n_qps, sizeof(uint32_t));
	requester->completions.indices = calloc(n_qps, sizeof(uint32_t));
	return requester->requests != NULL && requester->active.indices != NULL &&
	       requester->completions.indices != NULL;
}

struct requester *requester_create(const struct requester_parameters *parameters)
{
	struct requester *requester;

	if (!parameters_are_valid(parameters))
		return NULL;
	requester = calloc(1, sizeof(*requester));
	if (requester == NULL)
		return NULL;
	requester->parameters = *parameters;
	requester->mask = parameters->table->mask;
	// If the window ended between two requests for an ACK, the requester would wait for the
	// timeout.
	requester->ack_interval = parameters->ack_interval < parameters->window / 2
				      ? parameters->ack_interval
				      : parameters->window / 2;
	if (!allocate(requester)) {
		requester_destroy(requester);
		return NULL;
	}
	return requester;
}

void requester_destroy(struct requester *requester)
{
	if (requester == NULL)
		return;
	free(requester->requests);
	free(requester->active.indices);
	free(requester->completions.indices);
	free(requester);
}

static void push(const struct requester *requester, struct ring *ring, uint32_t index)
{
	ring->indices[ring->tail++ & requester->mask] = index;
}

static struct queue_pair *front(const struct requester *requester, const struct ring *ring)
{
	return &requester->parameters.table->qps[ring->indices[ring->head & requester->mask]];
}

uint32_t requester_room(const struct requester *requester, const struct queue_pair *qp)
{
	return qp->state == QP_READY ? requester->parameters.depth - (qp->posted - qp->reaped) : 0;
}

static bool is_of_service(const struct queue_pair *qp, const struct requester_message *message)
{
	switch (message->operation) {
	case REQUESTER_SEND:
		return qp->service != ROCE_UD ||
		       (message->length <= qp->path_mtu && message->peer_qpn <= ROCE_24_BITS);
	case REQUESTER_WRITE:
		return qp->service != ROCE_UD;
	case REQUESTER_READ:
		return qp->service == ROCE_RC && !message->has_immediate && qp->max_reads > 0;
	default:
		return false;
	}
}

bool requester_post(struct requester *requester, struct queue_pair *qp,
		    const struct requester_message *message)
{
	uint32_t packets;

	if (requester_room(requester, qp) == 0 || !is_of_service(qp, message))
		return false;
	packets = qp_count_packets(qp, message->length);
	if (message->length > MOST_LENGTH || packets > MOST_PACKETS ||
	    ((qp->post_psn - qp->first_psn) & ROCE_24_BITS) + packets > MOST_PSNS)
		return false;
	*request_at(requester, qp, qp->posted) = (struct work_request){
		.user = message->user,
		.address = message->address,
		.length = message->length,
		.packets = packets,
		.first_psn = qp->post_psn,
		.rkey = message->rkey,
		.immediate = message->immediate,
		.peer_qpn = message->peer_qpn,
		.qkey = message->qkey,
		.operation = message->operation,
		.has_immediate = message->has_immediate,
		.solicited = message->solicited,
	};
	qp->posted++;
	qp->post_psn = roce_psn_add(qp->post_psn, packets);
	if (!qp->requester_listed) {
		qp->requester_listed = 1;
		push(requester, &requester->active, qp->index);
	}
	return true;
}

void requester_finish(struct requester *requester, struct queue_pair *qp, enum qp_cause cause)
{
	struct work_request *request = request_at(requester, qp, qp->done);

	request->cause = (uint8_t)cause;
	if (request->operation == REQUESTER_READ && qp->done != qp->current)
		qp->reads_out--; // its request has been sent since the last go-back
	qp->done++;
	qp_count(cause == QP_NO_CAUSE ? &qp->counters.sent_messages : &qp->counters.failed_messages,
		 1);
	if (!qp->completion_listed) {
		qp->completion_listed = 1;
		push(requester, &requester->completions, qp->index);
	}
}

static void forget_all(struct queue_pair *qp)
{
	qp->current = qp->posted;
	qp->first_psn = qp->post_psn;
	qp->next_psn = qp->post_psn;
	qp->end_psn = qp->post_psn;
	qp->ack_requested_psn = qp->post_psn;
	qp->reads_out = 0;
	qp->deadline = UINT64_MAX;
}

void requester_fail(struct requester *requester, struct queue_pair *qp, uint32_t psn,
		    enum qp_cause cause)
{
	qp->state = QP_ERROR;
	qp->cause = (uint8_t)cause;
	while (qp->done != qp->posted) {
		bool guilty = request_has(request_at(requester, qp, qp->done), psn);

		requester_finish(requester, qp, guilty ? cause : QP_CLOSED);
	}
	forget_all(qp);
}

void requester_flush(struct requester *requester, struct queue_pair *qp)
{
	while (qp->done != qp->posted)
		requester_finish(requester, qp, QP_CLOSED);
	forget_all(qp);
}

// Ends the turn of the first active queue pair. A queue pair without unfinished messages leaves the
// ring.
static void next_turn(struct requester *requester, struct queue_pair *qp)
{
	requester->turn = 0;
	requester->active.head++;
	if (requester_unfinished(qp) != 0 && qp->state == QP_READY)
		push(requester, &requester->active, qp->index);
	else
		qp->requester_listed = 0;
}

bool requester_poll(struct requester *requester, uint64_t now, struct requester_packet *packet)
{
	struct ring *active = &requester->active;
	uint32_t n = active->tail - active->head;

	if (n > LOOK_AT_MOST)
		n = LOOK_AT_MOST;
	for (; n > 0; n--) {
		struct queue_pair *qp = front(requester, active);
		bool found = requester_next(requester, qp, now, packet);

		if (!found || ++requester->turn >= requester->parameters.burst)
			next_turn(requester, qp);
		if (found)
			return true;
	}
	return false;
}

bool requester_completion(struct requester *requester, struct requester_completion *completion)
{
	struct ring *completions = &requester->completions;

	while (completions->head != completions->tail) {
		struct queue_pair *qp = front(requester, completions);
		const struct work_request *request;

		if (qp->reaped == qp->done) {
			qp->completion_listed = 0;
			completions->head++;
			continue;
		}
		request = request_at(requester, qp, qp->reaped++);
		*completion = (struct requester_completion){
			.qp = qp,
			.user = request->user,
			.length = request->length,
			.operation = request->operation,
			.cause = request->cause,
		};
		return true;
	}
	return false;
}

void requester_set_rate(struct queue_pair *qp, uint64_t bytes_per_second)
{
	if (bytes_per_second != 0 && bytes_per_second < SLOWEST_RATE)
		bytes_per_second = SLOWEST_RATE;
	qp->ns_per_byte =
	    bytes_per_second == 0 ? 0 : ((uint64_t)NS_PER_SECOND << 32) / bytes_per_second;
}
