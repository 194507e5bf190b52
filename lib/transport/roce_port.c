// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "transport/roce_port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_ethdev.h>
#include <rte_random.h>

#include "pipeline/role.h"
#include "transport/event_index.h"
#include "wire/icrc.h"
#include "wire/mfp.h"

#define PIECES_MOST         16u // buffers of a packet whose ICRC is verified
#define SOURCE_PORTS        16384u
#define FIRST_PORT          49152u
#define RESPONSE_NS         100000000u // of connection messages
#define ACCEPT_NS           1000000000u
#define OPEN_NS             10000000000u
#define CM_RETRIES          7
#define PENDING_MOST        64u
#define ROCE_MANAGEMENT_QPN 1u
#define HALF_OPEN_OF_ONE    16u
#define BASE_ADDRESS        0x10000u // of the regions that connections are offered: any but 0

// What belongs to a queue pair beside the engines' state. By the same index.
struct peer {
	struct roce_way way;
	bool known;       // the way is
	uint32_t rkey;    // of its region; 0: none
	uint64_t address; // of the region
	uint64_t size;
	uint32_t connection; // of RDMA CM, 0: none
	bool established;    // CM has been told that the peer was heard
	// The message under way
	bool is_mfp;
	uint64_t event_id;
	uint32_t length;
	uint16_t source; // index, or SOURCE_UNKNOWN, SOURCE_UNEXPECTED
};

struct roce_port {
	struct roce_port_parameters parameters;
	const struct config_roce *config;
	struct qp_table table;
	struct responder *responder;
	struct cm *cm;          // NULL: not used
	struct feroce *feroce;  // the same
	struct peer *peers;     // by queue pair
	struct peer management; // QP 1: the one that was heard last
	struct divisor packing, builders;
	struct qp_address own4;
	uint32_t path_mtu;
	uint32_t sample;                        // packets until the next ICRC is verified
	uint64_t newest_event;                  // index, of messages taken
	struct peer offered;                    // to the FERoCE board that is being taken
	struct rte_mbuf *pending[PENDING_MOST]; // frames that are to leave
	unsigned n_pending;
	struct roce_port_counters counters;
};

static struct peer *peer_of(struct roce_port *port, const struct queue_pair *qp)
{
	return &port->peers[qp->index];
}

// --- receiving ---

static bool icrc_is_right(const struct rte_mbuf *mbuf, const struct net_frame *frame)
{
	struct icrc_piece pieces[PIECES_MOST];
	unsigned n = 0;

	for (; mbuf != NULL && n < PIECES_MOST; mbuf = mbuf->next)
		pieces[n++] =
		    (struct icrc_piece){ rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len };
	return mbuf == NULL && (n == 1 ? icrc_verify(pieces[0].bytes, frame)
				       : icrc_verify_pieces(pieces, n, frame));
}

static bool check_icrc(struct roce_port *port, const struct rte_mbuf *mbuf,
		       const struct net_frame *frame)
{
	if (port->config->icrc == CONFIG_ICRC_IGNORE)
		return true;
	if (port->config->icrc == CONFIG_ICRC_SAMPLE) {
		if (port->sample-- > 0)
			return true;
		port->sample = port->config->sample_one_in - 1;
	}
	return icrc_is_right(mbuf, frame);
}

static struct qp_address source_of(const uint8_t *bytes, const struct net_frame *frame)
{
	struct qp_address address;

	if (frame->kind == NET_UDP4)
		return qp_address_ipv4(load_be32(bytes + frame->l3_offset + 12));
	memcpy(address.bytes, bytes + frame->l3_offset + 8, sizeof(address.bytes));
	return address;
}

// Answers go back the way that the packet came.
static void learn_way(struct roce_port *port, struct peer *peer, const uint8_t *bytes,
		      const struct net_frame *frame, const struct qp_address *source,
		      uint32_t number)
{
	struct roce_way *way = &peer->way;

	if (peer->known && memcmp(way->peer_mac, bytes + 6, 6) == 0 &&
	    qp_address_is(&way->peer, source))
		return;
	memcpy(way->own_mac, port->parameters.mac, sizeof(way->own_mac));
	memcpy(way->peer_mac, bytes + 6, sizeof(way->peer_mac));
	way->peer = *source;
	way->own = port->own4;
	if (frame->kind == NET_UDP6)
		memcpy(way->own.bytes, bytes + frame->l3_offset + 24, sizeof(way->own.bytes));
	way->source_port = (uint16_t)(FIRST_PORT + number % SOURCE_PORTS);
	peer->known = true;
}

// Whether consumers hold all slots of the builder of a new event.
static bool has_no_slot(const struct roce_port *port, uint64_t event_id)
{
	uint64_t index = divide(event_id, &port->packing);
	const struct evring *ring;

	if (port->parameters.n_builders == 0 || index <= port->newest_event)
		return false;
	ring = port->parameters.rings[remainder_of(index, &port->builders)];
	return evring_outstanding(ring) >= evring_slots(ring);
}

// The first packet of a message says what it is.
static void begin_message(struct roce_port *port, struct peer *peer,
			  const struct responder_delivery *delivery, const uint8_t *payload,
			  uint32_t at_hand)
{
	peer->is_mfp = false;
	if (delivery->size < MFP_HEADER_SIZE || at_hand < MFP_HEADER_SIZE ||
	    load_le16(payload) != MFP_MAGIC)
		return;
	peer->is_mfp = true;
	peer->length = load_le32(payload + 4);
	peer->event_id = load_le64(payload + 8);
	peer->source = port->parameters.sources->index[load_le16(payload + 16)];
}

static bool may_write(const struct peer *peer, const struct responder_delivery *delivery)
{
	return peer->rkey != 0 && delivery->rkey == peer->rkey &&
	       delivery->address >= peer->address && delivery->size <= peer->size &&
	       delivery->address - peer->address <= peer->size - delivery->size;
}

// A packet of a message. *refused if the responder was told to refuse it.
static enum roce_result deliver(struct roce_port *port, struct queue_pair *qp,
				const struct responder_delivery *delivery, const uint8_t *payload,
				uint32_t at_hand, struct responder_reply *reply,
				struct segment *segment)
{
	struct peer *peer = peer_of(port, qp);

	if (delivery->is_write && delivery->size > 0 && !may_write(peer, delivery)) {
		responder_refuse(port->responder, qp, delivery, RESPONDER_NO_ACCESS, reply);
		return ROCE_TAKEN;
	}
	if (delivery->begins) {
		begin_message(port, peer, delivery, payload, at_hand);
		if (peer->is_mfp && has_no_slot(port, peer->event_id)) {
			counter_add(&port->counters.rnr, 1);
			responder_refuse(port->responder, qp, delivery, RESPONDER_NO_RESOURCE,
					 reply);
			return ROCE_TAKEN;
		}
	}
	responder_accept(port->responder, qp, delivery, reply);
	if (delivery->size == 0)
		return ROCE_TAKEN;
	if (unlikely(!peer->is_mfp || peer->length < MFP_HEADER_SIZE ||
		     delivery->offset > peer->length ||
		     delivery->size > peer->length - delivery->offset))
		return ROCE_MALFORMED;
	if (unlikely(peer->source >= SOURCE_UNEXPECTED))
		return peer->source == SOURCE_UNKNOWN ? ROCE_UNKNOWN : ROCE_UNEXPECTED;
	segment->event_id = peer->event_id;
	segment->offset = delivery->offset;
	segment->size = delivery->size;
	segment->length = peer->length;
	segment->source = peer->source;
	if (peer->event_id != MFP_END_OF_RUN)
		port->newest_event =
		    RTE_MAX(port->newest_event, divide(peer->event_id, &port->packing));
	return ROCE_SEGMENT;
}

// What an engine wants sent is kept until the next poll: at most one reply a packet.
static struct rte_mbuf *make_reply(struct roce_port *port, const struct responder_reply *reply)
{
	uint8_t headers[ROCE_MAX_HEADERS_SIZE];
	size_t size = responder_reply_encode(reply, headers);

	return roce_frame_make(port->parameters.pool, &peer_of(port, reply->qp)->way, headers, size,
			       reply->payload, reply->payload_size);
}

static struct rte_mbuf *make_cnp(struct roce_port *port, const struct queue_pair *qp)
{
	uint8_t headers[ROCE_CNP_SIZE];

	roce_cnp_encode(headers, qp->peer_qpn);
	return roce_frame_make(port->parameters.pool, &peer_of(port, qp)->way, headers,
			       sizeof(headers), NULL, 0);
}

static void keep(struct roce_port *port, struct rte_mbuf *mbuf)
{
	if (mbuf == NULL) {
		counter_add(&port->counters.not_sent, 1);
	} else if (port->n_pending == RTE_DIM(port->pending)) {
		counter_add(&port->counters.not_sent, 1);
		rte_pktmbuf_free(mbuf);
	} else {
		port->pending[port->n_pending++] = mbuf;
	}
}

static enum roce_result serve_request(struct roce_port *port, struct queue_pair *qp,
				      const struct roce_packet *packet, const uint8_t *payload,
				      uint32_t at_hand, const struct net_frame *frame,
				      const struct qp_address *source, uint64_t now,
				      struct segment *segment)
{
	const struct responder_arrival arrival = {
		.source = *source,
		.congested = (frame->dscp_ecn & 3) == 3,
	};
	struct responder_delivery delivery;
	struct responder_reply reply, answer = { .send = false };
	enum roce_result result = ROCE_TAKEN;

	if (responder_check(port->responder, qp, packet, &arrival, now, &delivery, &reply) ==
	    RESPONDER_DELIVER)
		result = deliver(port, qp, &delivery, payload, at_hand, &answer, segment);
	if (unlikely(reply.cnp))
		keep(port, make_cnp(port, qp));
	if (unlikely(reply.send))
		keep(port, make_reply(port, &reply));
	if (answer.send)
		keep(port, make_reply(port, &answer));
	return result;
}

// RDMA CM messages are small and lie in one buffer.
static void serve_management(struct roce_port *port, const struct rte_mbuf *mbuf,
			     const struct roce_packet *packet, const uint8_t *bytes,
			     const struct net_frame *frame, const struct qp_address *source,
			     uint64_t now)
{
	uint32_t offset = frame->payload_offset + packet->payload_offset;

	if (port->cm == NULL || mbuf->nb_segs != 1 ||
	    offset + packet->payload_size > mbuf->data_len)
		return;
	learn_way(port, &port->management, bytes, frame, source, 1);
	cm_receive(port->cm, packet, rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, offset), source,
		   now);
}

// Its RTU may have been lost: data says as much.
static void note_heard(struct roce_port *port, const struct queue_pair *qp)
{
	struct peer *peer = peer_of(port, qp);

	if (peer->established || peer->connection == 0)
		return;
	peer->established = true;
	cm_heard(port->cm, peer->connection);
}

static enum roce_result dispatch(struct roce_port *port, struct rte_mbuf *mbuf,
				 const struct roce_packet *packet, const uint8_t *bytes,
				 uint32_t header_bytes, const struct net_frame *frame, uint64_t now,
				 struct segment *segment)
{
	const struct qp_address source = source_of(bytes, frame);
	uint32_t payload = frame->payload_offset + packet->payload_offset;
	uint32_t at_hand = header_bytes > payload ? header_bytes - payload : 0;
	struct queue_pair *qp;
	enum roce_result result;

	if (packet->destination_qpn == ROCE_MANAGEMENT_QPN) {
		serve_management(port, mbuf, packet, bytes, frame, &source, now);
		counter_add(&port->counters.taken, 1);
		return ROCE_TAKEN;
	}
	qp = qp_find(&port->table, packet->destination_qpn);
	if (unlikely(qp == NULL)) {
		counter_add(&port->counters.unknown_qp, 1);
		return ROCE_TAKEN;
	}
	learn_way(port, peer_of(port, qp), bytes, frame, &source, qp->qpn);
	note_heard(port, qp);
	result =
	    serve_request(port, qp, packet, bytes + payload, at_hand, frame, &source, now, segment);
	if (result == ROCE_TAKEN) {
		counter_add(&port->counters.taken, 1);
		return ROCE_TAKEN;
	}
	segment->payload = (uint16_t)payload;
	counter_add(&port->counters.data, 1);
	return result;
}

static void take_feroce(struct roce_port *port, const struct rte_mbuf *mbuf, const uint8_t *bytes,
			const struct net_frame *frame, uint64_t now)
{
	const struct qp_address source = source_of(bytes, frame);

	if (port->feroce == NULL || mbuf->nb_segs != 1 || frame->kind != NET_UDP4 ||
	    frame->payload_offset + frame->payload_size > mbuf->data_len)
		return;
	learn_way(port, &port->management, bytes, frame, &source, 1);
	feroce_receive(port->feroce, bytes + frame->payload_offset, frame->payload_size,
		       load_be32(source.bytes + 12), now);
}

enum roce_result roce_port_receive(struct roce_port *port, struct rte_mbuf *mbuf,
				   const uint8_t *bytes, uint32_t header_bytes,
				   const struct net_frame *frame, uint64_t now,
				   struct segment *segment)
{
	struct roce_packet packet;
	struct queue_pair *qp;

	counter_add(&port->counters.packets, 1);
	if (frame->destination_port != port->config->udp_port) {
		take_feroce(port, mbuf, bytes, frame, now);
		counter_add(&port->counters.taken, 1);
		return ROCE_TAKEN;
	}
	if (unlikely(header_bytes < frame->payload_offset ||
		     roce_parse(bytes + frame->payload_offset,
				RTE_MIN(header_bytes - frame->payload_offset, frame->payload_size),
				frame->payload_size, &packet) != WIRE_OK)) {
		counter_add(&port->counters.malformed, 1);
		return ROCE_TAKEN;
	}
	if (unlikely(!check_icrc(port, mbuf, frame))) {
		counter_add(&port->counters.icrc_errors, 1);
		qp = qp_find(&port->table, packet.destination_qpn);
		if (qp != NULL)
			qp_count(&qp->counters.icrc_errors, 1);
		return ROCE_TAKEN;
	}
	return dispatch(port, mbuf, &packet, bytes, header_bytes, frame, now, segment);
}

// --- connections ---

// What a peer that writes has to know: 16 bytes, big-endian, of private data in our REP.
struct offer {
	uint8_t bytes[16]; // u64 virtual address | u32 rkey | u32 bytes
};

static struct offer make_offer(const struct peer *peer)
{
	struct offer offer;

	store_be64(offer.bytes, peer->address);
	store_be32(offer.bytes + 8, peer->rkey);
	store_be32(offer.bytes + 12, (uint32_t)peer->size);
	return offer;
}

// The largest message: a slot of the smallest builder.
static uint64_t largest_message(const struct config *config)
{
	uint64_t size = 1u << 31;

	for (unsigned i = 0; i < config->n_builders; i++)
		size = RTE_MIN(size, config->builders[i].slot_size);
	return size;
}

static void make_region(struct roce_port *port, struct peer *peer)
{
	do {
		peer->rkey = (uint32_t)rte_rand();
	} while (peer->rkey == 0);
	peer->address = BASE_ADDRESS;
	peer->size = RTE_MIN(largest_message(port->parameters.config), (uint64_t)UINT32_MAX);
}

// The queue pair of a connection that was just accepted gets what it was offered.
static void adopt_peer(struct roce_port *port, const struct peer *fresh)
{
	for (uint32_t i = 0; i <= port->table.mask; i++) {
		const struct queue_pair *qp = &port->table.qps[i];

		if (qp->state != QP_FREE && qp->user == (void *)(uintptr_t)fresh->connection)
			port->peers[i] = *fresh;
	}
}

static void accept_peer(struct roce_port *port, const struct cm_event *event, uint64_t now)
{
	struct peer fresh = { .connection = event->id };
	struct offer offer;
	struct cm_acceptance acceptance = {
		.access = QP_MAY_WRITE,
		.private_size = sizeof(offer.bytes),
		.private_data = offer.bytes,
	};

	acceptance.user = (void *)(uintptr_t)event->id;
	make_region(port, &fresh);
	offer = make_offer(&fresh);
	if (cm_accept(port->cm, event->id, &acceptance, now))
		adopt_peer(port, &fresh);
}

static void serve_cm_events(struct roce_port *port, uint64_t now)
{
	struct cm_event event;

	while (cm_next_event(port->cm, &event)) {
		switch (event.kind) {
		case CM_REQUESTED:
			accept_peer(port, &event, now);
			break;
		case CM_ESTABLISHED:
			break;
		case CM_REFUSED:
		case CM_FAILED:
		case CM_DISCONNECTED:
			if (event.qp != NULL)
				*peer_of(port, event.qp) = (struct peer){ 0 };
			cm_release(port->cm, event.id);
			break;
		}
	}
}

static bool judge_board(void *context, uint32_t source_ip, const struct feroce_qp *board,
			struct feroce_offer *offer)
{
	struct roce_port *port = context;
	struct peer fresh = { 0 };

	(void)source_ip;
	(void)board;
	make_region(port, &fresh);
	port->offered = fresh;
	*offer = (struct feroce_offer){
		.base = fresh.address,
		.rkey = fresh.rkey,
		.access = QP_MAY_WRITE,
	};
	return true;
}

static void serve_feroce_events(struct roce_port *port)
{
	struct feroce_event event;

	while (feroce_next_event(port->feroce, &event)) {
		struct peer *peer = peer_of(port, event.qp);

		if (event.kind == FEROCE_OPENED) {
			*peer = port->offered;
		} else if (event.kind == FEROCE_CLOSED) {
			*peer = (struct peer){ 0 };
			feroce_release(port->feroce, event.qp);
		}
	}
}

// --- what is due ---

// Answers to connection messages go back to whoever was heard last; where that is another one by
// now, the peer asks again.
static bool is_heard_last(const struct roce_port *port, const struct qp_address *peer)
{
	return port->management.known && qp_address_is(&port->management.way.peer, peer);
}

static void poll_cm(struct roce_port *port, uint64_t now)
{
	struct cm_datagram datagram;

	while (port->n_pending < RTE_DIM(port->pending) && cm_poll(port->cm, now, &datagram)) {
		uint8_t headers[ROCE_MAX_HEADERS_SIZE];
		size_t size = roce_headers_encode(headers, &datagram.header);

		if (is_heard_last(port, &datagram.peer))
			keep(port,
			     roce_frame_make(port->parameters.pool, &port->management.way, headers,
					     size, datagram.mad, sizeof(datagram.mad)));
		serve_cm_events(port, now);
	}
	serve_cm_events(port, now);
}

static void poll_feroce(struct roce_port *port, uint64_t now)
{
	struct feroce_datagram datagram;

	while (port->n_pending < RTE_DIM(port->pending) &&
	       feroce_poll(port->feroce, now, &datagram)) {
		const struct qp_address to = qp_address_ipv4(datagram.ip);
		struct rte_mbuf *mbuf;
		uint8_t *bytes;
		struct net_udp4 udp = {
			.source_ip = load_be32(port->own4.bytes + 12),
			.destination_ip = datagram.ip,
			.source_port = FEROCE_CM_UDP_PORT,
			.destination_port = datagram.port,
		};

		if (!is_heard_last(port, &to))
			continue;
		mbuf = rte_pktmbuf_alloc(port->parameters.pool);
		if (mbuf == NULL)
			break;
		memcpy(udp.source_mac.bytes, port->parameters.mac, sizeof(udp.source_mac.bytes));
		memcpy(udp.destination_mac.bytes, port->management.way.peer_mac,
		       sizeof(udp.destination_mac.bytes));
		bytes =
		    (uint8_t *)rte_pktmbuf_append(mbuf, NET_HEADERS_SIZE + sizeof(datagram.bytes));
		net_udp4_encode(bytes, &udp, sizeof(datagram.bytes));
		memcpy(bytes + NET_HEADERS_SIZE, datagram.bytes, sizeof(datagram.bytes));
		keep(port, mbuf);
	}
	serve_feroce_events(port);
}

unsigned roce_port_poll(struct roce_port *port, uint64_t now, struct rte_mbuf **mbufs, unsigned max)
{
	struct responder_reply reply;
	unsigned n;

	while (port->n_pending < RTE_DIM(port->pending) &&
	       responder_poll(port->responder, &reply)) {
		if (reply.send)
			keep(port, make_reply(port, &reply));
		if (reply.cnp)
			keep(port, make_cnp(port, reply.qp));
	}
	if (port->cm != NULL)
		poll_cm(port, now);
	if (port->feroce != NULL)
		poll_feroce(port, now);
	n = RTE_MIN(max, port->n_pending);
	memcpy(mbufs, port->pending, n * sizeof(*mbufs));
	port->n_pending -= n;
	memmove(port->pending, port->pending + n, port->n_pending * sizeof(*mbufs));
	counter_add(&port->counters.sent, n);
	return n;
}

// --- creation ---

static bool open_static(struct roce_port *port, const struct config_queue_pair *config, char *error)
{
	static const enum roce_service services[] = {
		[CONFIG_SERVICE_RC] = ROCE_RC,
		[CONFIG_SERVICE_UC] = ROCE_UC,
		[CONFIG_SERVICE_UD] = ROCE_UD,
	};
	const struct config_roce *roce = port->config;
	const struct qp_connection connection = {
		.peer = qp_address_ipv4(config->address),
		.peer_qpn = config->remote_qpn,
		.local_psn = config->local_psn,
		.peer_psn = config->remote_psn,
		.path_mtu = port->path_mtu,
		.qkey = roce->q_key,
		.partition_key = roce->partition_key,
		.access = config->size > 0 ? QP_MAY_WRITE : 0,
		.timeout_code = roce->timeout,
		.retry_count = roce->retry_count,
		.rnr_retry = roce->rnr_retry,
		.max_reads = 1,
	};
	struct queue_pair *qp =
	    qp_open(&port->table, services[config->service], config->local_qpn, 0);
	struct peer *peer;

	if (qp == NULL || !qp_connect(qp, &connection)) {
		snprintf(error, ROCE_PORT_ERROR_SIZE,
			 "roce.queue_pairs: queue pair %u cannot be opened: its number's place is "
			 "taken, or a number is out of range",
			 config->local_qpn);
		return false;
	}
	peer = peer_of(port, qp);
	peer->rkey = config->size > 0 ? config->rkey : 0;
	peer->address = config->virtual_address;
	peer->size = config->size;
	return true;
}

static bool make_engines(struct roce_port *port)
{
	const struct config_roce *roce = port->config;
	const struct responder_parameters responder = {
		.table = &port->table,
		.cnp_interval = roce->cnp_interval_ns,
		.largest_message = (uint32_t)largest_message(port->parameters.config),
		.ack_every = (uint16_t)roce->ack_every,
		.rnr_timer = roce->rnr_timer,
		.max_reads = 1,
	};
	const struct cm_parameters cm = {
		.table = &port->table,
		.address = port->own4,
		.guid = rte_rand(),
		.seed = rte_rand(),
		.response_timeout = RESPONSE_NS,
		.accept_timeout = ACCEPT_NS,
		.connections = roce->max_queue_pairs,
		.half_open = RTE_MIN(roce->max_queue_pairs, 256u),
		.half_open_of_peer = HALF_OPEN_OF_ONE,
		.of_peer = roce->max_queue_pairs,
		.path_mtu = port->path_mtu,
		.retries = CM_RETRIES,
		.timeout_code = roce->timeout,
		.retry_count = roce->retry_count,
		.rnr_retry = roce->rnr_retry,
		.max_reads = 1,
	};
	const struct feroce_parameters feroce = {
		.table = &port->table,
		.judge = judge_board,
		.judge_context = port,
		.ip = port->parameters.port->address,
		.path_mtu = port->path_mtu,
		.boards = roce->max_queue_pairs,
		.boards_of_peer = roce->max_queue_pairs,
		.open_timeout = OPEN_NS,
		.response_timeout = RESPONSE_NS,
		.seed = rte_rand(),
		.retries = CM_RETRIES,
		.timeout_code = roce->timeout,
		.retry_count = roce->retry_count,
		.rnr_retry = roce->rnr_retry,
	};

	if (!qp_table_create(&port->table, roce->max_queue_pairs))
		return false;
	port->peers = calloc(roce->max_queue_pairs, sizeof(*port->peers));
	port->responder = responder_create(&responder);
	if (roce->connection == CONFIG_CONNECTION_CM) {
		port->cm = cm_create(&cm);
		if (port->cm == NULL || !cm_listen(port->cm, roce->cm_service))
			return false;
	}
	if (roce->connection == CONFIG_CONNECTION_FEROCE) {
		port->feroce = feroce_create(&feroce);
		if (port->feroce == NULL)
			return false;
	}
	return port->peers != NULL && port->responder != NULL;
}

struct roce_port *roce_port_create(const struct roce_port_parameters *parameters, char *error)
{
	const struct config_roce *roce = &parameters->config->roce;
	struct roce_port *port = calloc(1, sizeof(*port));

	snprintf(error, ROCE_PORT_ERROR_SIZE, "ports: no memory for the queue pairs of port %s",
		 parameters->port->name);
	if (port == NULL)
		return NULL;
	port->parameters = *parameters;
	port->config = roce;
	port->packing = divisor_make(parameters->config->sources.packing);
	port->builders = divisor_make(RTE_MAX(parameters->n_builders, 1u));
	port->own4 = qp_address_ipv4(parameters->port->address);
	port->path_mtu =
	    roce->path_mtu != 0 ? roce->path_mtu : roce_path_mtu(parameters->port->mtu);
	if (!make_engines(port)) {
		roce_port_destroy(port);
		return NULL;
	}
	for (unsigned i = 0; i < roce->n_queue_pairs; i++) {
		if (!open_static(port, &roce->queue_pairs[i], error)) {
			roce_port_destroy(port);
			return NULL;
		}
	}
	return port;
}

void roce_port_destroy(struct roce_port *port)
{
	if (port == NULL)
		return;
	rte_pktmbuf_free_bulk(port->pending, port->n_pending);
	feroce_destroy(port->feroce);
	cm_destroy(port->cm);
	responder_destroy(port->responder);
	qp_table_destroy(&port->table);
	free(port->peers);
	free(port);
}

uint64_t roce_port_memory(const struct config *config)
{
	return sizeof(struct roce_port) + qp_table_memory(config->roce.max_queue_pairs) +
	       config->roce.max_queue_pairs * sizeof(struct peer) +
	       responder_memory(config->roce.max_queue_pairs, 1);
}

// --- for telemetry ---

const struct roce_port_counters *roce_port_counters(const struct roce_port *port)
{
	return &port->counters;
}

const struct cm_counters *roce_port_cm_counters(const struct roce_port *port)
{
	return port->cm != NULL ? cm_counters(port->cm) : NULL;
}

unsigned roce_port_qps(const struct roce_port *port)
{
	return port->table.mask + 1;
}

bool roce_port_qp(const struct roce_port *port, unsigned index, struct roce_port_qp *out)
{
	const struct queue_pair *qp = &port->table.qps[index];

	if (qp->state == QP_FREE)
		return false;
	*out = (struct roce_port_qp){
		.qpn = qp->qpn,
		.peer_qpn = qp->peer_qpn,
		.state = qp->state,
		.service = qp->service,
		.cause = qp->cause,
		.expected_psn = qp->expected_psn,
		.msn = qp->msn,
		.path_mtu = qp->path_mtu,
		.peer = qp->peer,
		.counters = qp->counters,
	};
	return true;
}
