// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Messages from peers. A message is checked completely before any state changes. A message that
// does not come from the peer of the connection that it names does not affect that connection.
#include "roce/connection_internal.h"

#define LONGEST_MRA 60000000000u // ns; the peers of a connection cannot delay it by more, in all

struct received_message {
	const struct roce_cm *message;
	const struct cm_peer *source;
	uint64_t now;
};

static bool is_listened_to(const struct cm *cm, uint64_t service_id, uint16_t *port)
{
	if (!roce_cm_ip_service(service_id, port) || service_id - *port != ROCE_CM_SERVICE_TCP)
		return false;
	return *port - (unsigned)cm->parameters.port < cm->parameters.n_ports;
}

// Compares the addresses in the private data with those of the packet: the last 4 bytes for IPv4,
// all 16 for IPv6.
static bool are_addresses_right(const struct cm *cm, const struct received_message *received)
{
	const struct roce_cm_path *path = &received->message->req.primary;
	const uint8_t *source = received->source->address.bytes;
	const struct qp_address *own = cm_own_address(cm, &received->source->address);
	struct roce_cm_ip ip;
	unsigned skip;

	if (roce_cm_ip_decode(received->message->private_data, received->message->private_size,
			      &ip) != WIRE_OK)
		return false;
	skip = ip.version == 4 ? 12 : 0;
	return (load_le64(own->bytes) | load_le64(own->bytes + 8)) != 0 &&
	       memcmp(path->local_gid, source, 16) == 0 &&
	       memcmp(path->remote_gid, own->bytes, 16) == 0 &&
	       memcmp(ip.source + skip, source + skip, 16 - skip) == 0 &&
	       memcmp(ip.destination + skip, own->bytes + skip, 16 - skip) == 0;
}

// The reason to refuse a REQ; 0 if there is none.
static unsigned judge(const struct cm *cm, const struct received_message *received, uint16_t *port)
{
	const struct roce_cm_req *req = &received->message->req;
	uint32_t mtu = roce_mtu_bytes(req->path_mtu);

	if (!is_listened_to(cm, req->service_id, port))
		return ROCE_CM_INVALID_SERVICE_ID;
	if (req->transport != ROCE_CM_RC && req->transport != ROCE_CM_UC)
		return ROCE_CM_INVALID_TRANSPORT;
	if (!are_addresses_right(cm, received))
		return ROCE_CM_INVALID_GID;
	if (mtu == 0 || mtu > cm->parameters.path_mtu)
		return ROCE_CM_INVALID_MTU;
	return 0;
}

// The connection that a REQ repeats, or else one that it must not replace, because it is not
// silent. NULL if there is neither.
static struct connection *find_other(struct cm *cm, const struct received_message *received,
				     bool *same)
{
	const struct roce_cm *message = received->message;
	uint32_t index = cm_first_of_peer(cm, &received->source->address);
	struct connection *alive = NULL;

	*same = false;
	for (; index != CM_NONE; index = cm->connections[index].chain) {
		struct connection *connection = &cm->connections[index];
		bool has_id;

		if (!qp_address_is(&connection->peer.address, &received->source->address) ||
		    connection->stage == CM_STAGE_ENDED)
			continue;
		has_id = !connection->active && connection->remote_id == message->local_id;
		if (!has_id && connection->peer_qpn != message->req.qpn)
			continue;
		if (cm_is_alive(cm, connection, received->now))
			alive = connection;
		*same = has_id && connection->peer_qpn == message->req.qpn &&
			connection->local_psn == message->req.starting_psn &&
			(connection->stage != CM_STAGE_ESTABLISHED || alive == connection);
		if (*same)
			return connection;
	}
	return alive;
}

static void refuse(struct cm *cm, const struct received_message *received,
		   enum roce_cm_reason reason)
{
	cm_send_rej(cm, received->source, received->message, 0, reason);
	qp_count(&cm->counters.refused, 1);
}

static uint8_t least(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static void store_private(struct connection *connection, const uint8_t *data, size_t size)
{
	connection->peer_size = (uint8_t)(size < CM_PRIVATE_SIZE ? size : CM_PRIVATE_SIZE);
	memcpy(connection->peer_private, data, connection->peer_size);
}

static void open_requested(struct cm *cm, const struct received_message *received, uint16_t port)
{
	const struct roce_cm_req *req = &received->message->req;
	struct connection *connection;

	cm_make_room(cm, &received->source->address, received->now);
	connection = cm_open_connection(cm, received->source, received->now);
	if (connection == NULL) {
		qp_count(&cm->counters.no_resources, 1);
		refuse(cm, received, ROCE_CM_NO_RESOURCES);
		return;
	}
	connection->remote_id = received->message->local_id;
	connection->transaction = received->message->transaction;
	connection->guid = req->ca_guid;
	connection->service = req->transport == ROCE_CM_UC ? ROCE_UC : ROCE_RC;
	connection->port = port;
	connection->peer_qpn = req->qpn;
	connection->local_psn = req->starting_psn;
	connection->path_mtu = roce_mtu_bytes(req->path_mtu);
	connection->partition_key = req->partition_key;
	connection->timeout_code = req->primary.ack_timeout;
	connection->retry_count = req->retry_count;
	connection->rnr_retry = req->rnr_retry_count;
	connection->reads_in = least(req->initiator_depth, cm->parameters.max_reads);
	connection->reads_out = least(req->responder_resources, cm->parameters.max_reads);
	connection->flow_control = req->flow_control;
	store_private(connection, received->message->private_data + ROCE_CM_IP_SIZE,
		      received->message->private_size - ROCE_CM_IP_SIZE);
	connection->deadline = received->now + cm->parameters.accept_timeout;
	cm_set_stage(cm, connection, CM_STAGE_REQUESTED);
	cm_report(cm, connection, CM_REQUESTED);
}

static void receive_req(struct cm *cm, const struct received_message *received)
{
	uint16_t port;
	unsigned reason = judge(cm, received, &port);
	struct connection *other;
	bool same;

	if (reason != 0) {
		qp_count(&cm->counters.requests, 1);
		refuse(cm, received, (enum roce_cm_reason)reason);
		return;
	}
	other = find_other(cm, received, &same);
	if (other != NULL && same) {
		qp_count(&cm->counters.duplicates, 1);
		if (other->stage == CM_STAGE_ACCEPTED)
			cm_send(cm, other, received->now); // the REP was lost
		return;
	}
	if (other != NULL) {
		qp_count(&cm->counters.kept, 1);
		return;
	}
	qp_count(&cm->counters.requests, 1);
	open_requested(cm, received, port);
}

// The connection that a message names, if it comes from its peer.
static struct connection *find_named(struct cm *cm, const struct received_message *received)
{
	struct connection *connection = cm_find(cm, received->message->remote_id);

	if (connection == NULL ||
	    !qp_address_is(&connection->peer.address, &received->source->address))
		return NULL;
	if (connection->remote_id != 0 && connection->remote_id != received->message->local_id)
		return NULL;
	connection->peer = *received->source; // its Ethernet address may have changed
	return connection;
}

static void send_rtu(struct cm *cm, const struct connection *connection,
		     const struct roce_cm *message)
{
	cm_send_short(cm, &connection->peer, ROCE_CM_RTU, message->transaction, connection->id,
		      connection->remote_id);
}

static void take_rep(struct cm *cm, struct connection *connection,
		     const struct received_message *received)
{
	const struct roce_cm *message = received->message;
	const struct roce_cm_rep *rep = &message->rep;

	connection->remote_id = message->local_id;
	connection->peer_qpn = rep->qpn;
	connection->local_psn = rep->starting_psn;
	connection->reads_in = least(connection->reads_in, rep->initiator_depth);
	connection->reads_out = least(connection->reads_out, rep->responder_resources);
	connection->rnr_retry = rep->rnr_retry_count;
	store_private(connection, message->private_data, message->private_size);
	if (!cm_connect_qp(connection)) {
		refuse(cm, received, ROCE_CM_UNSUPPORTED);
		cm_end(cm, connection, CM_FAILED);
		return;
	}
	cm_establish(cm, connection);
	send_rtu(cm, connection, message);
}

static void receive_rep(struct cm *cm, const struct received_message *received)
{
	struct connection *connection = find_named(cm, received);

	if (connection == NULL || !connection->active) {
		qp_count(&cm->counters.strangers, 1);
		refuse(cm, received, ROCE_CM_INVALID_COMM_ID);
	} else if (connection->stage == CM_STAGE_CONNECTING) {
		take_rep(cm, connection, received);
	} else {
		qp_count(&cm->counters.duplicates, 1);
		if (connection->stage == CM_STAGE_ESTABLISHED)
			send_rtu(cm, connection, received->message); // the first was lost
	}
}

static void receive_rtu(struct cm *cm, const struct received_message *received)
{
	const struct roce_cm *message = received->message;
	struct connection *connection = find_named(cm, received);

	if (connection == NULL || connection->active) {
		// Its connection was dropped for others: with a REJ the peer connects again at
		// once.
		qp_count(&cm->counters.strangers, 1);
		cm_send_rej(cm, received->source, message, message->remote_id,
			    ROCE_CM_INVALID_COMM_ID);
	} else if (connection->stage == CM_STAGE_ACCEPTED) {
		cm_establish(cm, connection);
	} else {
		qp_count(&cm->counters.duplicates, 1);
	}
}

static void receive_rej(struct cm *cm, const struct received_message *received)
{
	struct connection *connection = cm_find(cm, received->message->remote_id);

	// A peer that refused our REQ has no id for the connection.
	if (connection == NULL ||
	    !qp_address_is(&connection->peer.address, &received->source->address) ||
	    (connection->stage != CM_STAGE_CONNECTING &&
	     connection->remote_id != received->message->local_id)) {
		qp_count(&cm->counters.strangers, 1);
		return;
	}
	if (!cm_is_half_open(connection)) {
		// Only a peer that does not know the connection, or has given it up, sends a REJ
		// now.
		if (connection->stage == CM_STAGE_ESTABLISHED)
			cm_end(cm, connection, CM_DISCONNECTED);
		return;
	}
	connection->reason = received->message->rej.reason;
	store_private(connection, received->message->private_data, received->message->private_size);
	cm_end(cm, connection, connection->active ? CM_REFUSED : CM_FAILED);
}

static void receive_mra(struct cm *cm, const struct received_message *received)
{
	struct connection *connection = cm_find(cm, received->message->remote_id);
	uint64_t wait = roce_timeout_ns(received->message->mra.service_timeout), until;

	if (connection == NULL ||
	    !qp_address_is(&connection->peer.address, &received->source->address) ||
	    (!connection->active && connection->remote_id != received->message->local_id)) {
		qp_count(&cm->counters.strangers, 1);
		return;
	}
	until = connection->opened + LONGEST_MRA;
	if ((connection->stage != CM_STAGE_CONNECTING && connection->stage != CM_STAGE_ACCEPTED) ||
	    until < received->now)
		return;
	connection->deadline = until - received->now < wait ? until : received->now + wait;
}

static void receive_dreq(struct cm *cm, const struct received_message *received)
{
	const struct roce_cm *message = received->message;
	struct connection *connection = find_named(cm, received);

	if (connection != NULL && connection->qp != NULL &&
	    connection->qp->qpn != message->dreq.remote_qpn)
		connection = NULL;
	// Each DREQ gets a DREP, even for an unknown connection: an earlier DREP may have been
	// lost.
	cm_send_short(cm, received->source, ROCE_CM_DREP, message->transaction, message->remote_id,
		      message->local_id);
	if (connection == NULL) {
		qp_count(&cm->counters.strangers, 1);
		return;
	}
	if (connection->stage == CM_STAGE_ENDED) {
		qp_count(&cm->counters.duplicates, 1);
		return;
	}
	if (connection->stage == CM_STAGE_ESTABLISHED || connection->stage == CM_STAGE_LEAVING ||
	    connection->stage == CM_STAGE_ACCEPTED)
		cm_end_by_peer(cm, connection);
}

static void receive_drep(struct cm *cm, const struct received_message *received)
{
	struct connection *connection = find_named(cm, received);

	if (connection == NULL || connection->stage != CM_STAGE_LEAVING) {
		qp_count(&cm->counters.strangers, 1);
		return;
	}
	cm_end_by_peer(cm, connection);
}

// evb offers no UD service. Each request for one is refused, so that the peer does not wait for its
// timeout.
static void refuse_sidr(struct cm *cm, const struct received_message *received)
{
	const struct roce_cm rep = {
		.transaction = received->message->transaction,
		.attribute = ROCE_CM_SIDR_REP,
		.local_id = received->message->local_id,
		.sidr_rep = { .service_id = received->message->sidr_req.service_id,
			      .status = ROCE_CM_SIDR_NO_SERVICE },
	};

	cm_send_message(cm, received->source, &rep);
}

// We send no SIDR_REQ.
static void receive_sidr_rep(struct cm *cm, const struct received_message *received)
{
	(void)received;
	qp_count(&cm->counters.strangers, 1);
}

// By the attributes that roce_cm_decode() accepts.
static void (*const receivers[])(struct cm *cm, const struct received_message *received) = {
	[ROCE_CM_REQ] = receive_req,           [ROCE_CM_MRA] = receive_mra,
	[ROCE_CM_REJ] = receive_rej,           [ROCE_CM_REP] = receive_rep,
	[ROCE_CM_RTU] = receive_rtu,           [ROCE_CM_DREQ] = receive_dreq,
	[ROCE_CM_DREP] = receive_drep,         [ROCE_CM_SIDR_REQ] = refuse_sidr,
	[ROCE_CM_SIDR_REP] = receive_sidr_rep,
};

// Whether a message names a connection of another manager at our address.
static bool is_for_other(const struct cm *cm, const struct roce_cm *message)
{
	return message->remote_id != 0 &&
	       ((message->remote_id & CM_ID_SIDE) != 0) != (cm->parameters.side != 0);
}

void cm_receive(struct cm *cm, const struct roce_packet *packet, const uint8_t *payload,
		const struct cm_peer *source, uint64_t now)
{
	struct roce_cm message;
	const struct received_message received = { &message, source, now };

	qp_count(&cm->counters.received, 1);
	if (packet->opcode != ROCE_UD_SEND_ONLY || packet->deth.qkey != ROCE_CM_QKEY ||
	    packet->deth.source_qpn != ROCE_CM_QPN ||
	    roce_cm_decode(payload, packet->payload_size, &message) != WIRE_OK) {
		qp_count(&cm->counters.malformed, 1);
		return;
	}
	if (!is_for_other(cm, &message))
		receivers[message.attribute](cm, &received);
}
