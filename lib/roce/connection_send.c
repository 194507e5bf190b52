// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Messages to peers, and the timeouts of their responses.
#include "roce/connection_internal.h"

#define LOOK_AT_MOST     64u // connections checked per call
#define HOP_LIMIT        64u
#define TARGET_ACK_DELAY 15u // 134 ms, the value of Linux's rxe
#define MOST_CM_RETRIES  15u

struct cm_datagram *cm_next_datagram(struct cm *cm, const struct cm_peer *peer)
{
	struct cm_datagram *datagram = &cm->out[cm->out_tail % CM_OUT_SIZE];

	if (cm->out_tail - cm->out_head == CM_OUT_SIZE) {
		qp_count(&cm->counters.dropped, 1);
		return NULL;
	}
	*datagram = (struct cm_datagram){ .peer = *peer };
	return datagram;
}

void cm_send_message(struct cm *cm, const struct cm_peer *peer, const struct roce_cm *message)
{
	struct cm_datagram *datagram = cm_next_datagram(cm, peer);

	if (datagram == NULL || roce_cm_encode(datagram->mad, message) != WIRE_OK)
		return;
	datagram->header = (struct roce_packet){
		.opcode = ROCE_UD_SEND_ONLY,
		.flags = roce_opcodes[ROCE_UD_SEND_ONLY].flags,
		.service = ROCE_UD,
		.psn = cm->psn,
		.destination_qpn = ROCE_CM_QPN,
		.partition_key = ROCE_DEFAULT_P_KEY,
		.payload_offset = roce_opcodes[ROCE_UD_SEND_ONLY].headers_size,
		.payload_size = ROCE_CM_MAD_SIZE,
		.deth = { .qkey = ROCE_CM_QKEY, .source_qpn = ROCE_CM_QPN },
	};
	cm->psn = roce_psn_add(cm->psn, 1);
	cm->out_tail++;
}

void cm_send_short(struct cm *cm, const struct cm_peer *peer, enum roce_cm_attribute attribute,
		   uint64_t transaction, uint32_t local_id, uint32_t remote_id)
{
	const struct roce_cm message = {
		.transaction = transaction,
		.attribute = attribute,
		.local_id = local_id,
		.remote_id = remote_id,
	};

	cm_send_message(cm, peer, &message);
}

void cm_send_rej(struct cm *cm, const struct cm_peer *peer, const struct roce_cm *message,
		 uint32_t local_id, enum roce_cm_reason reason)
{
	const struct roce_cm rej = {
		.transaction = message->transaction,
		.attribute = ROCE_CM_REJ,
		.local_id = local_id,
		.remote_id = message->local_id,
		.rej = { .reason = (uint16_t)reason,
			 .subject = message->attribute == ROCE_CM_REQ   ? ROCE_CM_ABOUT_REQ
				    : message->attribute == ROCE_CM_REP ? ROCE_CM_ABOUT_REP
									: ROCE_CM_ABOUT_OTHER },
	};

	cm_send_message(cm, peer, &rej);
}

void cm_refuse_request(struct cm *cm, const struct connection *connection,
		       enum roce_cm_reason reason)
{
	const struct roce_cm about = {
		.transaction = connection->transaction,
		.attribute = connection->stage == CM_STAGE_ACCEPTED ? ROCE_CM_REP : ROCE_CM_REQ,
		.local_id = connection->remote_id,
	};

	cm_send_rej(cm, &connection->peer, &about, connection->id, reason);
}

// The code of the shortest timeout that is at least ns.
static uint8_t timeout_code(uint64_t ns)
{
	unsigned code = 0;

	while (code < 31 && roce_timeout_ns(code) < ns)
		code++;
	return (uint8_t)code;
}

// Stores an address in the form of the IP header in private data: 12 zero bytes precede an IPv4
// address.
static void store_ip(uint8_t to[16], const struct qp_address *address)
{
	memcpy(to, address->bytes, 16);
	if (qp_address_is_ipv4(address))
		memset(to, 0, 12);
}

static void send_req(struct cm *cm, const struct connection *connection)
{
	const struct cm_parameters *p = &cm->parameters;
	const struct qp_address *own = cm_own_address(cm, &connection->peer.address);
	uint8_t private_data[92], code = timeout_code(p->response_timeout);
	struct roce_cm message = {
		.transaction = connection->transaction,
		.attribute = ROCE_CM_REQ,
		.local_id = connection->id,
		.private_data = private_data,
		.private_size = (size_t)ROCE_CM_IP_SIZE + connection->own_size,
		.req = {
			.service_id = ROCE_CM_SERVICE_TCP | connection->port,
			.ca_guid = p->guid,
			.qpn = connection->qp->qpn,
			.starting_psn = connection->peer_psn,
			.partition_key = connection->partition_key,
			.responder_resources = connection->reads_in,
			.initiator_depth = connection->reads_out,
			.remote_response_timeout = code,
			.local_response_timeout = code,
			.transport = connection->service == ROCE_UC ? ROCE_CM_UC : ROCE_CM_RC,
			.retry_count = connection->retry_count,
			.rnr_retry_count = connection->rnr_retry,
			.path_mtu = (uint8_t)roce_mtu_code(connection->path_mtu),
			.max_cm_retries = MOST_CM_RETRIES,
			.primary = {
				.local_lid = ROCE_CM_NO_LID,
				.remote_lid = ROCE_CM_NO_LID,
				.hop_limit = HOP_LIMIT,
				.ack_timeout = connection->timeout_code,
			},
		},
	};
	struct roce_cm_ip ip = {
		.source_port = (uint16_t)(0xC000u | (connection->id & 0x3FFFu)),
		.version = qp_address_is_ipv4(own) ? 4 : 6,
	};

	memcpy(message.req.primary.local_gid, own->bytes, 16);
	memcpy(message.req.primary.remote_gid, connection->peer.address.bytes, 16);
	store_ip(ip.source, own);
	store_ip(ip.destination, &connection->peer.address);
	roce_cm_ip_encode(private_data, &ip);
	memcpy(private_data + ROCE_CM_IP_SIZE, connection->own_private, connection->own_size);
	cm_send_message(cm, &connection->peer, &message);
}

static void send_rep(struct cm *cm, const struct connection *connection)
{
	const struct roce_cm message = {
		.transaction = connection->transaction,
		.attribute = ROCE_CM_REP,
		.local_id = connection->id,
		.remote_id = connection->remote_id,
		.private_data = connection->own_private,
		.private_size = connection->own_size,
		.rep = {
			.ca_guid = cm->parameters.guid,
			.qpn = connection->qp->qpn,
			.starting_psn = connection->peer_psn,
			.responder_resources = connection->reads_in,
			.initiator_depth = connection->reads_out,
			.target_ack_delay = TARGET_ACK_DELAY,
			.rnr_retry_count = connection->rnr_retry,
			.flow_control = connection->flow_control,
		},
	};

	cm_send_message(cm, &connection->peer, &message);
}

static void send_dreq(struct cm *cm, const struct connection *connection)
{
	const struct roce_cm message = {
		.transaction = connection->transaction,
		.attribute = ROCE_CM_DREQ,
		.local_id = connection->id,
		.remote_id = connection->remote_id,
		.dreq = { .remote_qpn = connection->peer_qpn },
	};

	cm_send_message(cm, &connection->peer, &message);
}

void cm_send(struct cm *cm, struct connection *connection, uint64_t now)
{
	connection->deadline = now + cm->parameters.response_timeout;
	if (connection->is_board)
		cm_send_board(cm, connection, now);
	else if (connection->stage == CM_STAGE_CONNECTING)
		send_req(cm, connection);
	else if (connection->stage == CM_STAGE_ACCEPTED)
		send_rep(cm, connection);
	else
		send_dreq(cm, connection);
}

// Gives the connection up. The peer is notified if it has sent a REQ.
static void give_up(struct cm *cm, struct connection *connection)
{
	bool was_leaving = connection->stage == CM_STAGE_LEAVING;

	qp_count(&cm->counters.timed_out, 1);
	if (!connection->is_board &&
	    (connection->stage == CM_STAGE_REQUESTED || connection->stage == CM_STAGE_ACCEPTED))
		cm_refuse_request(cm, connection, ROCE_CM_TIMEOUT);
	connection->reason = ROCE_CM_TIMEOUT;
	cm_end(cm, connection, was_leaving ? CM_DISCONNECTED : CM_FAILED);
}

static void look_at(struct cm *cm, struct connection *connection, uint64_t now)
{
	bool waits = cm_is_half_open(connection) || connection->stage == CM_STAGE_LEAVING;
	bool is_opened = connection->stage == CM_STAGE_ACCEPTED && connection->is_board;

	if (cm_establish_by_data(cm, connection))
		return;
	if ((connection->stage == CM_STAGE_ESTABLISHED || is_opened) &&
	    connection->qp->state == QP_ERROR) {
		cm_disconnect(cm, connection->id, now);
		return;
	}
	if (connection->stage == CM_STAGE_ESTABLISHED)
		cm_judge_silence(cm, connection, now);
	if (!waits || now < connection->deadline)
		return;
	if (connection->stage == CM_STAGE_REQUESTED || is_opened || connection->tries == 0) {
		give_up(cm, connection);
		return;
	}
	connection->tries--;
	qp_count(&cm->counters.sent_again, 1);
	cm_send(cm, connection, now);
}

static void find_timeouts(struct cm *cm, uint64_t now)
{
	uint32_t n = cm->parameters.connections;

	for (uint32_t i = 0; i < LOOK_AT_MOST && i < n; i++) {
		look_at(cm, &cm->connections[cm->scan], now);
		cm->scan = cm->scan + 1 < n ? cm->scan + 1 : 0;
	}
}

bool cm_poll(struct cm *cm, uint64_t now, struct cm_datagram *datagram)
{
	if (cm->out_head == cm->out_tail)
		find_timeouts(cm, now);
	if (cm->out_head == cm->out_tail)
		return false;
	*datagram = cm->out[cm->out_head++ % CM_OUT_SIZE];
	qp_count(&cm->counters.sent, 1);
	return true;
}
