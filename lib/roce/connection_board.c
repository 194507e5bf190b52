// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Messages from and to FERoCE boards. A connection is named by the number of our queue pair, in
// OPEN_QP by that of the board's.
#include "roce/connection_internal.h"

static void send_message(struct cm *cm, const struct cm_peer *peer, uint16_t port,
			 const struct feroce_cm *message)
{
	struct cm_datagram *datagram = cm_next_datagram(cm, peer);

	if (datagram == NULL)
		return;
	datagram->port = port != 0 ? port : FEROCE_CM_UDP_PORT;
	feroce_cm_encode(datagram->board, message);
	cm->out_tail++;
}

// Responds to a request. An ACK has the numbers of the two queue pairs, ours as local; a refusal
// repeats those of the request.
static void respond(struct cm *cm, const struct cm_peer *peer, const struct feroce_cm *request,
		    enum feroce_ack ack, const struct connection *connection)
{
	const struct feroce_cm message = {
		.info_valid = true,
		.request = request->request,
		.ack_valid = true,
		.ack = (uint8_t)ack,
		.local = ack == FEROCE_ACK ? connection->own_board : request->remote,
		.remote = ack == FEROCE_ACK ? connection->board : request->local,
		.port = FEROCE_CM_UDP_PORT,
	};

	send_message(cm, peer, request->port, &message);
}

void cm_refuse_board(struct cm *cm, const struct connection *connection, enum roce_cm_reason reason)
{
	const struct feroce_cm open = {
		.request = FEROCE_OPEN_QP,
		.local = connection->board,
		.port = connection->port,
	};

	respond(cm, &connection->peer, &open,
		reason == ROCE_CM_CONSUMER_DEFINED ? FEROCE_NAK : FEROCE_NO_QP, connection);
}

void cm_send_board(struct cm *cm, struct connection *connection, uint64_t now)
{
	bool opens = connection->stage == CM_STAGE_ACCEPTED;
	const struct feroce_cm message = {
		.info_valid = true,
		.request = opens ? FEROCE_OPEN_QP : FEROCE_CLOSE_QP,
		.ack_valid = opens,
		.ack = opens ? FEROCE_ACK : FEROCE_NO_ACK,
		.local = connection->own_board,
		.remote = connection->board,
		.port = FEROCE_CM_UDP_PORT,
	};

	if (opens)
		connection->deadline = now + cm->parameters.open_timeout;
	send_message(cm, &connection->peer, connection->port, &message);
}

// Whether an OPEN_QP is about this connection. One that is not established belongs to the station
// that opened it: what others say in the board's name does not delay the board.
static bool is_opened_by(const struct connection *connection, const struct feroce_cm *message,
			 const struct cm_peer *source)
{
	return connection->peer_qpn == message->local.qpn && connection->stage != CM_STAGE_ENDED &&
	       (!cm_is_half_open(connection) ||
		memcmp(connection->peer.mac, source->mac, sizeof(source->mac)) == 0);
}

// The connection of the board that an OPEN_QP is about, or the one that another message names.
static struct connection *find(struct cm *cm, const struct feroce_cm *message,
			       const struct cm_peer *source)
{
	bool is_open = message->request == FEROCE_OPEN_QP && !message->ack_valid;
	uint32_t index = cm_first_of_peer(cm, &source->address);

	for (; index != CM_NONE; index = cm->connections[index].chain) {
		struct connection *connection = &cm->connections[index];

		if (!connection->is_board ||
		    !qp_address_is(&connection->peer.address, &source->address))
			continue;
		if (is_open ? is_opened_by(connection, message, source)
			    : connection->qp != NULL && connection->qp->qpn == message->remote.qpn)
			return connection;
	}
	return NULL;
}

// Stores the numbers of a board's queue pair.
static void take_numbers(struct connection *connection, const struct feroce_qp *board)
{
	connection->board = *board;
	connection->peer_qpn = board->qpn;
	connection->peer_psn = board->psn;
}

// Whether an OPEN_QP repeats an earlier one. A restarted board opens the same queue pair with the
// same first PSN, but our expected PSN has advanced.
static bool is_repetition(const struct cm *cm, const struct connection *connection,
			  const struct feroce_cm *message, uint64_t now)
{
	return connection->peer_psn == message->local.psn &&
	       (!cm_is_used(connection) ||
		now - connection->qp->opened < cm->parameters.open_timeout);
}

static enum feroce_ack open_board(struct cm *cm, const struct feroce_cm *message,
				  const struct cm_peer *source, uint64_t now)
{
	struct connection *connection;

	cm_make_room(cm, &source->address, now);
	connection = cm_open_connection(cm, source, now);
	if (connection == NULL) {
		qp_count(&cm->counters.no_resources, 1);
		return FEROCE_NO_QP;
	}
	connection->is_board = true;
	connection->service = ROCE_RC;
	connection->port = message->port;
	connection->path_mtu = cm->parameters.path_mtu;
	connection->local_psn = (uint32_t)random_next(&cm->random) & ROCE_24_BITS;
	take_numbers(connection, &message->local);
	connection->deadline = now + cm->parameters.accept_timeout;
	cm_set_stage(cm, connection, CM_STAGE_REQUESTED);
	cm_report(cm, connection, CM_REQUESTED);
	return FEROCE_NO_ACK; // cm_accept() responds
}

static enum feroce_ack receive_open(struct cm *cm, struct connection *connection,
				    const struct feroce_cm *message, const struct cm_peer *source,
				    uint64_t now)
{
	if (!message->info_valid || (message->local.ip != 0 &&
				     message->local.ip != load_be32(source->address.bytes + 12))) {
		qp_count(&cm->counters.refused, 1);
		return FEROCE_NAK;
	}
	if (connection != NULL && is_repetition(cm, connection, message, now)) {
		qp_count(&cm->counters.duplicates, 1);
		return connection->stage == CM_STAGE_REQUESTED ? FEROCE_NO_ACK : FEROCE_ACK;
	}
	if (connection != NULL && cm_is_alive(cm, connection, now)) {
		qp_count(&cm->counters.kept, 1);
		return FEROCE_NO_ACK;
	}
	qp_count(&cm->counters.requests, 1);
	return open_board(cm, message, source, now);
}

// The board sends the numbers of its queue pair, as in OPEN_QP. They may change until the queue
// pair is used.
static enum feroce_ack receive_info(struct cm *cm, struct connection *connection,
				    const struct feroce_cm *message)
{
	if (connection->stage != CM_STAGE_ACCEPTED || !message->info_valid ||
	    (cm_is_used(connection) && (message->local.qpn != connection->peer_qpn ||
					message->local.psn != connection->peer_psn))) {
		qp_count(&cm->counters.strangers, 1);
		return FEROCE_NAK;
	}
	if (cm_is_used(connection))
		return FEROCE_ACK;
	take_numbers(connection, &message->local);
	return cm_connect_qp(connection) ? FEROCE_ACK : FEROCE_NAK;
}

static enum feroce_ack receive_ready(struct cm *cm, struct connection *connection)
{
	if (connection->stage == CM_STAGE_ACCEPTED) {
		cm_establish(cm, connection);
	} else if (connection->stage == CM_STAGE_ESTABLISHED) {
		qp_count(&cm->counters.duplicates, 1);
	} else {
		qp_count(&cm->counters.strangers, 1);
		return FEROCE_NO_QP;
	}
	return FEROCE_ACK;
}

static enum feroce_ack receive_close(struct cm *cm, struct connection *connection,
				     const struct feroce_cm *message)
{
	if (connection->peer_qpn != message->local.qpn) {
		qp_count(&cm->counters.strangers, 1);
		return FEROCE_NAK;
	}
	if (connection->stage == CM_STAGE_ENDED)
		qp_count(&cm->counters.duplicates, 1);
	else
		cm_end_by_peer(cm, connection);
	return FEROCE_ACK;
}

static enum feroce_ack receive_named(struct cm *cm, struct connection *connection,
				     const struct feroce_cm *message)
{
	if (connection == NULL) {
		qp_count(&cm->counters.strangers, 1);
		return FEROCE_NO_QP;
	}
	if (message->request == FEROCE_SEND_QP_INFO)
		return receive_info(cm, connection, message);
	if (message->request == FEROCE_READY_TO_SEND)
		return receive_ready(cm, connection);
	return receive_close(cm, connection, message);
}

// The board's response to our CLOSE_QP. Both ACK and NAK end the connection.
static void receive_response(struct cm *cm, struct connection *connection,
			     const struct feroce_cm *message)
{
	if (connection == NULL || connection->stage != CM_STAGE_LEAVING ||
	    message->request != FEROCE_CLOSE_QP)
		qp_count(&cm->counters.strangers, 1);
	else
		cm_end_by_peer(cm, connection);
}

void cm_receive_board(struct cm *cm, const uint8_t *bytes, size_t size,
		      const struct cm_peer *source, uint64_t now)
{
	struct connection *connection;
	struct feroce_cm message;
	enum feroce_ack ack;

	qp_count(&cm->counters.received, 1);
	if (size != FEROCE_CM_SIZE || feroce_cm_decode(bytes, size, &message) != WIRE_OK ||
	    (!message.ack_valid &&
	     (message.request < FEROCE_OPEN_QP || message.request > FEROCE_CLOSE_QP))) {
		qp_count(&cm->counters.malformed, 1);
		return;
	}
	connection = find(cm, &message, source);
	if (message.ack_valid) {
		receive_response(cm, connection, &message);
		return;
	}
	ack = message.request == FEROCE_OPEN_QP
		  ? receive_open(cm, connection, &message, source, now)
		  : receive_named(cm, connection, &message);
	// Anybody may repeat an OPEN_QP: only the board learns the number of our queue pair.
	if (message.request == FEROCE_OPEN_QP && ack == FEROCE_ACK)
		source = &connection->peer;
	if (ack != FEROCE_NO_ACK)
		respond(cm, source, &message, ack, connection);
}
