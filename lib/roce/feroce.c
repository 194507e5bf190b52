// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "roce/feroce.h"

#include <stdlib.h>

#include "roce/seed.h"

#define NONE         UINT32_MAX
#define OUT_SIZE     64u // messages that wait to be sent, a power of two
#define LOOK_AT_MOST 64u // boards checked per call

enum stage {
	STAGE_FREE,
	STAGE_OPENED, // the board's OPEN was acknowledged
	STAGE_READY,
	STAGE_LEAVING, // our CLOSE_QP waits for its acknowledgement
	STAGE_ENDED,   // waits for feroce_release()
};

// A connection; it has the same index as its queue pair.
struct board {
	struct queue_pair *qp;
	struct feroce_qp own, its;
	uint32_t ip;
	uint32_t chain; // next of the same bucket
	uint16_t port;
	uint8_t stage; // enum stage
	uint8_t tries;
	uint8_t events; // not yet reported: bits by enum feroce_event_kind
	bool listed;
	uint8_t access;
	void *user;
	uint64_t opened, deadline; // ns
};

struct feroce {
	struct feroce_parameters parameters;
	uint64_t seed;
	struct board *boards; // by the index of the queue pair
	uint32_t *buckets;    // by IP address
	uint32_t mask;        // of boards and buckets
	uint32_t n_boards;
	uint32_t scan; // where the search for timeouts continues
	uint32_t *listed;
	uint32_t list_head, list_tail; // not wrapped
	struct feroce_datagram out[OUT_SIZE];
	uint32_t out_head, out_tail; // not wrapped
	struct feroce_counters counters;
};

struct feroce *feroce_create(const struct feroce_parameters *p)
{
	struct feroce *feroce;
	size_t n;

	if (p->table == NULL || p->boards == 0 || p->boards_of_peer == 0 || p->open_timeout == 0 ||
	    p->response_timeout == 0 || p->timeout_code > 31 || p->retry_count > 7 ||
	    p->rnr_retry > 7 || p->path_mtu == 0 ||
	    roce_mtu_bytes(roce_mtu_code(p->path_mtu)) != p->path_mtu)
		return NULL;
	feroce = calloc(1, sizeof(*feroce));
	if (feroce == NULL)
		return NULL;
	n = (size_t)p->table->mask + 1;
	feroce->parameters = *p;
	feroce->seed = p->seed;
	feroce->mask = p->table->mask;
	feroce->boards = calloc(n, sizeof(*feroce->boards));
	feroce->buckets = malloc(n * sizeof(*feroce->buckets));
	feroce->listed = calloc(n, sizeof(*feroce->listed));
	if (feroce->boards == NULL || feroce->buckets == NULL || feroce->listed == NULL) {
		feroce_destroy(feroce);
		return NULL;
	}
	memset(feroce->buckets, 0xFF, n * sizeof(*feroce->buckets)); // NONE
	return feroce;
}

void feroce_destroy(struct feroce *feroce)
{
	if (feroce == NULL)
		return;
	free(feroce->boards);
	free(feroce->buckets);
	free(feroce->listed);
	free(feroce);
}

static uint32_t *bucket_of(const struct feroce *feroce, uint32_t ip)
{
	return &feroce->buckets[seed_mix(ip + feroce->parameters.seed) & feroce->mask];
}

static void report(struct feroce *feroce, struct board *board, enum feroce_event_kind event)
{
	board->events |= (uint8_t)(1u << event);
	if (board->listed)
		return;
	board->listed = true;
	feroce->listed[feroce->list_tail++ & feroce->mask] = (uint32_t)(board - feroce->boards);
}

static void end(struct feroce *feroce, struct board *board)
{
	if (board->stage == STAGE_ENDED)
		return;
	qp_fail(board->qp, QP_CLOSED);
	board->stage = STAGE_ENDED;
	qp_count(&feroce->counters.closed, 1);
	report(feroce, board, FEROCE_CLOSED);
}

static void send_message(struct feroce *feroce, uint32_t ip, uint16_t port,
			 const struct feroce_cm *message)
{
	struct feroce_datagram *datagram = &feroce->out[feroce->out_tail % OUT_SIZE];

	if (feroce->out_tail - feroce->out_head == OUT_SIZE) {
		qp_count(&feroce->counters.dropped, 1);
		return;
	}
	datagram->ip = ip;
	datagram->port = port != 0 ? port : FEROCE_CM_UDP_PORT;
	feroce_cm_encode(datagram->bytes, message);
	feroce->out_tail++;
}

// Responds to a request with the numbers of the two queue pairs, ours as local.
static void respond(struct feroce *feroce, uint32_t ip, const struct feroce_cm *request,
		    enum feroce_ack ack, const struct board *board)
{
	struct feroce_cm message = {
		.info_valid = true,
		.request = request->request,
		.ack_valid = true,
		.ack = (uint8_t)ack,
		.local = board != NULL ? board->own : request->remote,
		.remote = board != NULL ? board->its : request->local,
		.port = FEROCE_CM_UDP_PORT,
	};

	send_message(feroce, ip, request->port, &message);
}

// Sends CLOSE_QP, and starts the timer of its acknowledgement.
static void send_close(struct feroce *feroce, struct board *board, uint64_t now)
{
	struct feroce_cm message = {
		.info_valid = true,
		.request = FEROCE_CLOSE_QP,
		.local = board->own,
		.remote = board->its,
		.port = FEROCE_CM_UDP_PORT,
	};

	board->deadline = now + feroce->parameters.response_timeout;
	send_message(feroce, board->ip, board->port, &message);
}

// Opens a queue pair for a board at an address. NULL if a bound is reached.
static struct board *open_board(struct feroce *feroce, uint32_t ip, uint64_t now)
{
	uint32_t *bucket = bucket_of(feroce, ip), n = 0;
	struct queue_pair *qp;
	struct board *board;
	bool listed;

	for (uint32_t i = *bucket; i != NONE; i = feroce->boards[i].chain)
		n += feroce->boards[i].ip == ip;
	if (n >= feroce->parameters.boards_of_peer || feroce->n_boards >= feroce->parameters.boards)
		return NULL;
	qp = qp_open(feroce->parameters.table, ROCE_RC, QP_NUMBER_AUTO, now);
	if (qp == NULL)
		return NULL;
	board = &feroce->boards[qp->index];
	listed = board->listed;
	*board = (struct board){
		.qp = qp,
		.ip = ip,
		.chain = *bucket,
		.listed = listed,
		.opened = now,
		.own = { .qpn = qp->qpn,
			 .psn = (uint32_t)seed_next(&feroce->seed) & ROCE_24_BITS,
			 .ip = feroce->parameters.ip },
	};
	*bucket = qp->index;
	feroce->n_boards++;
	return board;
}

static void forget(struct feroce *feroce, struct board *board)
{
	uint32_t index = board->qp->index, *link = bucket_of(feroce, board->ip);

	while (*link != index)
		link = &feroce->boards[*link].chain;
	*link = board->chain;
	qp_close(feroce->parameters.table, board->qp);
	board->stage = STAGE_FREE;
	board->events = 0;
	feroce->n_boards--;
}

static void take_offer(struct board *board, const struct feroce_offer *offer)
{
	board->own.rkey = offer->rkey;
	board->own.base_address = offer->base;
	board->access = offer->access;
	board->user = offer->user;
}

static bool connect_board(struct feroce *feroce, struct board *board, const struct feroce_qp *its)
{
	const struct qp_connection to = {
		.peer = qp_address_ipv4(board->ip),
		.peer_qpn = its->qpn,
		.local_psn = board->own.psn,
		.peer_psn = its->psn,
		.path_mtu = feroce->parameters.path_mtu,
		.partition_key = ROCE_DEFAULT_P_KEY,
		.access = board->access,
		.timeout_code = feroce->parameters.timeout_code,
		.retry_count = feroce->parameters.retry_count,
		.rnr_retry = feroce->parameters.rnr_retry,
		.user = board->user,
	};

	board->its = *its;
	return qp_connect(board->qp, &to);
}

static bool is_used(const struct board *board)
{
	return board->qp->expected_psn != board->its.psn;
}

// The connection with this queue pair of the board at an IP address.
static struct board *find_caller(struct feroce *feroce, uint32_t ip, uint32_t qpn)
{
	uint32_t index = *bucket_of(feroce, ip);

	for (; index != NONE; index = feroce->boards[index].chain) {
		struct board *board = &feroce->boards[index];

		if (board->ip == ip && board->its.qpn == qpn && board->stage != STAGE_ENDED)
			return board;
	}
	return NULL;
}

// The connection that a message names by our queue pair number.
static struct board *find_named(struct feroce *feroce, const struct feroce_cm *message, uint32_t ip)
{
	struct board *board = &feroce->boards[message->remote.qpn & feroce->mask];

	if (board->stage == STAGE_FREE || board->own.qpn != message->remote.qpn || board->ip != ip)
		return NULL;
	return board;
}

// Whether an OPEN repeats an earlier one. A restarted board opens the same queue pair with the same
// first PSN, but our expected PSN has advanced.
static bool is_repetition(const struct feroce *feroce, const struct board *board,
			  const struct feroce_cm *message, uint64_t now)
{
	return board->its.psn == message->local.psn &&
	       (!is_used(board) || now - board->opened < feroce->parameters.open_timeout);
}

static void open_for_caller(struct feroce *feroce, const struct feroce_cm *message, uint32_t ip,
			    uint64_t now)
{
	struct feroce_offer offer = { 0 };
	struct board *board;

	if (feroce->parameters.judge == NULL ||
	    !feroce->parameters.judge(feroce->parameters.judge_context, ip, &message->local,
				      &offer)) {
		qp_count(&feroce->counters.refused, 1);
		respond(feroce, ip, message, FEROCE_NAK, NULL);
		return;
	}
	board = open_board(feroce, ip, now);
	if (board == NULL) {
		qp_count(&feroce->counters.no_qp, 1);
		respond(feroce, ip, message, FEROCE_NO_QP, NULL);
		return;
	}
	take_offer(board, &offer);
	board->port = message->port;
	if (!connect_board(feroce, board, &message->local)) {
		forget(feroce, board);
		qp_count(&feroce->counters.refused, 1);
		respond(feroce, ip, message, FEROCE_NAK, NULL);
		return;
	}
	board->stage = STAGE_OPENED;
	board->deadline = now + feroce->parameters.open_timeout;
	qp_count(&feroce->counters.opened, 1);
	report(feroce, board, FEROCE_OPENED);
	respond(feroce, ip, message, FEROCE_ACK, board);
}

static void receive_open(struct feroce *feroce, const struct feroce_cm *message, uint32_t ip,
			 uint64_t now)
{
	struct board *board = find_caller(feroce, ip, message->local.qpn);

	if (!message->info_valid || (message->local.ip != 0 && message->local.ip != ip)) {
		qp_count(&feroce->counters.refused, 1);
		respond(feroce, ip, message, FEROCE_NAK, NULL);
		return;
	}
	if (board != NULL && is_repetition(feroce, board, message, now)) {
		qp_count(&feroce->counters.again, 1);
		respond(feroce, ip, message, FEROCE_ACK, board);
		return;
	}
	if (board != NULL) {
		qp_count(&feroce->counters.restarted, 1);
		end(feroce, board);
	}
	open_for_caller(feroce, message, ip, now);
}

// The board sends the numbers of its queue pair, as in OPEN. They may change until the queue pair
// is used.
static void receive_info(struct feroce *feroce, const struct feroce_cm *message, uint32_t ip)
{
	struct board *board = find_named(feroce, message, ip);

	if (board == NULL || board->stage != STAGE_OPENED || !message->info_valid ||
	    (is_used(board) &&
	     (message->local.qpn != board->its.qpn || message->local.psn != board->its.psn))) {
		qp_count(&feroce->counters.strangers, 1);
		respond(feroce, ip, message, board == NULL ? FEROCE_NO_QP : FEROCE_NAK, NULL);
		return;
	}
	if (!is_used(board) && !connect_board(feroce, board, &message->local)) {
		qp_count(&feroce->counters.refused, 1);
		respond(feroce, ip, message, FEROCE_NAK, NULL);
		return;
	}
	respond(feroce, ip, message, FEROCE_ACK, board);
}

static void become_ready(struct feroce *feroce, struct board *board)
{
	board->stage = STAGE_READY;
	report(feroce, board, FEROCE_READY);
}

static void receive_ready(struct feroce *feroce, const struct feroce_cm *message, uint32_t ip)
{
	struct board *board = find_named(feroce, message, ip);

	if (board == NULL || (board->stage != STAGE_OPENED && board->stage != STAGE_READY)) {
		qp_count(&feroce->counters.strangers, 1);
		respond(feroce, ip, message, FEROCE_NO_QP, NULL);
		return;
	}
	if (board->stage == STAGE_OPENED)
		become_ready(feroce, board);
	else
		qp_count(&feroce->counters.again, 1);
	respond(feroce, ip, message, FEROCE_ACK, board);
}

static void receive_close(struct feroce *feroce, const struct feroce_cm *message, uint32_t ip)
{
	struct board *board = find_named(feroce, message, ip);

	if (board == NULL) {
		qp_count(&feroce->counters.strangers, 1);
		respond(feroce, ip, message, FEROCE_NO_QP, NULL);
		return;
	}
	if (board->its.qpn != message->local.qpn) {
		qp_count(&feroce->counters.strangers, 1);
		respond(feroce, ip, message, FEROCE_NAK, board);
		return;
	}
	if (board->stage == STAGE_ENDED)
		qp_count(&feroce->counters.again, 1);
	end(feroce, board);
	respond(feroce, ip, message, FEROCE_ACK, board);
}

// The board's response to our CLOSE_QP. Both ACK and NAK end the connection.
static void receive_response(struct feroce *feroce, const struct feroce_cm *message, uint32_t ip)
{
	struct board *board = find_named(feroce, message, ip);

	if (board == NULL || board->stage != STAGE_LEAVING || message->request != FEROCE_CLOSE_QP)
		qp_count(&feroce->counters.strangers, 1);
	else
		end(feroce, board);
}

void feroce_receive(struct feroce *feroce, const uint8_t *bytes, size_t size, uint32_t source_ip,
		    uint64_t now)
{
	struct feroce_cm message;

	qp_count(&feroce->counters.received, 1);
	if (size != FEROCE_CM_SIZE || feroce_cm_decode(bytes, size, &message) != WIRE_OK) {
		qp_count(&feroce->counters.malformed, 1);
		return;
	}
	if (message.ack_valid) {
		receive_response(feroce, &message, source_ip);
		return;
	}
	switch (message.request) {
	case FEROCE_OPEN_QP:
		receive_open(feroce, &message, source_ip, now);
		break;
	case FEROCE_SEND_QP_INFO:
		receive_info(feroce, &message, source_ip);
		break;
	case FEROCE_READY_TO_SEND:
		receive_ready(feroce, &message, source_ip);
		break;
	case FEROCE_CLOSE_QP:
		receive_close(feroce, &message, source_ip);
		break;
	default:
		qp_count(&feroce->counters.malformed, 1);
	}
}

static void look_at(struct feroce *feroce, struct board *board, uint64_t now)
{
	bool opened = board->stage == STAGE_OPENED;

	if (opened && is_used(board)) {
		become_ready(feroce, board);
		return;
	}
	if ((opened || board->stage == STAGE_READY) && board->qp->state == QP_ERROR) {
		feroce_hang_up(feroce, board->qp, now);
		return;
	}
	if (board->stage == STAGE_FREE || board->stage == STAGE_READY ||
	    board->stage == STAGE_ENDED || now < board->deadline)
		return;
	if (opened || board->tries == 0) {
		qp_count(&feroce->counters.timed_out, 1);
		end(feroce, board);
		return;
	}
	board->tries--;
	qp_count(&feroce->counters.sent_again, 1);
	send_close(feroce, board, now);
}

bool feroce_poll(struct feroce *feroce, uint64_t now, struct feroce_datagram *datagram)
{
	uint32_t n = feroce->mask + 1 < LOOK_AT_MOST ? feroce->mask + 1 : LOOK_AT_MOST;

	for (; n > 0 && feroce->out_head == feroce->out_tail; n--) {
		look_at(feroce, &feroce->boards[feroce->scan], now);
		feroce->scan = (feroce->scan + 1) & feroce->mask;
	}
	if (feroce->out_head == feroce->out_tail)
		return false;
	*datagram = feroce->out[feroce->out_head++ % OUT_SIZE];
	qp_count(&feroce->counters.sent, 1);
	return true;
}

bool feroce_next_event(struct feroce *feroce, struct feroce_event *event)
{
	while (feroce->list_head != feroce->list_tail) {
		struct board *board =
		    &feroce->boards[feroce->listed[feroce->list_head & feroce->mask]];

		if (board->events == 0) {
			board->listed = false;
			feroce->list_head++;
			continue;
		}
		*event = (struct feroce_event){
			.kind = (enum feroce_event_kind)__builtin_ctz(board->events),
			.qp = board->qp,
			.board = board->its,
		};
		board->events &= (uint8_t)(board->events - 1);
		return true;
	}
	return false;
}

void feroce_hang_up(struct feroce *feroce, struct queue_pair *qp, uint64_t now)
{
	struct board *board = &feroce->boards[qp->index];

	if (board->qp != qp || board->stage == STAGE_FREE || board->stage == STAGE_ENDED ||
	    board->stage == STAGE_LEAVING)
		return;
	board->stage = STAGE_LEAVING;
	board->tries = feroce->parameters.retries;
	send_close(feroce, board, now);
}

void feroce_release(struct feroce *feroce, struct queue_pair *qp)
{
	struct board *board = &feroce->boards[qp->index];

	if (board->qp == qp && board->stage == STAGE_ENDED)
		forget(feroce, board);
}

const struct feroce_counters *feroce_counters(const struct feroce *feroce)
{
	return &feroce->counters;
}
