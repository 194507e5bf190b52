// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Opens and closes queue pairs: static ones from the configuration, and those of the connection
// manager.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_random.h>

#include "rdma/roce_port_internal.h"

#define RESPONSE_NS      250000000u // ns until a connection message is sent again
#define ACCEPT_NS        1000000000u
#define OPEN_NS          10000000000u
#define CM_RETRIES       15
#define SILENCE_NS       3000000000u // ns: a REQ for the queue pair of a live peer is ignored
#define HALF_OPEN        256u
#define HALF_OPEN_OF_ONE 16u
#define OF_ONE           4096u
#define BASE_ADDRESS \
	0x10000u        // virtual address of the regions offered to peers: any number except 0
#define LOOK_NS 500000u // ns between two searches for timeouts

// --- peers: the data of a queue pair outside lib/roce ---

static struct roce_peer *take_peer(struct roce_port *port)
{
	struct roce_peer *peer = port->free_peers;

	if (peer == NULL)
		return NULL;
	port->free_peers = peer->next;
	*peer = (struct roce_peer){ 0 };
	return peer;
}

static void give_back(struct roce_port *port, struct roce_peer *peer)
{
	if (peer == NULL)
		return;
	*peer = (struct roce_peer){ .next = port->free_peers };
	port->free_peers = peer;
}

static void set_region(struct roce_peer *peer, uint32_t rkey, uint64_t address, uint64_t size)
{
	peer->rkey = rkey;
	peer->address = address;
	peer->size = peer->slot_size = size;
	peer->slot_mask = UINT64_MAX;
}

// Sets the region that a peer may write. In a system of nodes it consists of the slots of the
// builder. Otherwise its address is the same for every connection and only the key differs: no
// memory lies behind it.
static void make_region(const struct roce_port *port, struct roce_peer *peer, unsigned builder)
{
	uint32_t rkey;

	if (port->parameters.placements != NULL) {
		const struct placement *placement = &port->parameters.placements[builder];

		peer->builder = (uint16_t)builder;
		peer->rkey = placement->rkey;
		peer->address = placement->address;
		peer->size = placement->stride * placement->slots;
		peer->slot_size = placement->slot_size;
		peer->slot_mask = placement->stride - 1;
		return;
	}
	do {
		rkey = (uint32_t)rte_rand();
	} while (rkey == 0);
	set_region(peer, rkey, BASE_ADDRESS, RTE_MIN(port->largest_message, (uint64_t)UINT32_MAX));
}

// --- static queue pairs ---

static bool open_static(struct roce_port *port, const struct roce_static_pair *config, char *error)
{
	const struct roce_settings *roce = port->config;
	struct roce_peer *peer = take_peer(port);
	struct qp_connection connection = {
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
		.user = peer,
	};
	struct queue_pair *qp = qp_open(&port->table, config->service, config->local_qpn, 0);

	memcpy(connection.peer.bytes, config->address, sizeof(connection.peer.bytes));
	if (peer == NULL || qp == NULL || !qp_connect(qp, &connection)) {
		snprintf(error, ROCE_PORT_ERROR_SIZE,
			 "roce.queue_pairs: queue pair %u cannot be opened: its number's place is "
			 "taken, or a number is out of range",
			 config->local_qpn);
		return false;
	}
	peer->config = config;
	set_region(peer, config->size > 0 ? config->rkey : 0, config->virtual_address,
		   config->size);
	return true;
}

// --- the connection manager ---

// Where a peer's packets come from, for the manager. False if it is no station's address.
static bool find_peer(const struct rx_packet *in, const struct qp_address *source,
		      struct cm_peer *peer)
{
	if (in->bytes[6] & 1)
		return false;
	*peer = (struct cm_peer){ .address = *source, .vlan_tci = in->frame.vlan_tci };
	memcpy(peer->mac, in->bytes + 6, sizeof(peer->mac));
	return true;
}

// The address handle of what is sent to a peer. `number` chooses the UDP source port.
static struct roce_address_handle handle_to(const struct roce_port *port,
					    const struct cm_peer *peer, uint32_t number)
{
	struct roce_address_handle handle = {
		.own = port->own4,
		.peer = peer->address,
		.vlan_tci = peer->vlan_tci,
		.source_port = roce_source_port(number),
	};

	if (!qp_address_is_ipv4(&peer->address))
		memcpy(handle.own.bytes, port->parameters.port->address6, sizeof(handle.own.bytes));
	memcpy(handle.own_mac, port->parameters.mac, sizeof(handle.own_mac));
	memcpy(handle.peer_mac, peer->mac, sizeof(handle.peer_mac));
	return handle;
}

// The private data of our REP offers the region to a peer that writes: 16 bytes, big-endian, u64
// virtual address | u32 rkey | u32 bytes. In a system of nodes this is the first slot of the
// builder.
static void accept_peer(struct roce_port *port, const struct cm_event *event, uint64_t now)
{
	struct roce_peer *peer = take_peer(port);
	uint8_t offer[16];
	struct cm_acceptance acceptance = {
		.user = peer,
		.access = QP_MAY_WRITE,
		.private_size = sizeof(offer),
		.private_data = offer,
	};

	if (peer == NULL) {
		(void)cm_refuse(port->cm, event->id, ROCE_CM_NO_RESOURCES);
		return;
	}
	peer->connection = event->id;
	peer->handle = handle_to(port, &event->peer, event->id);
	make_region(port, peer, (uint16_t)(event->port - port->config->cm_service));
	store_be64(offer, peer->address);
	store_be32(offer + 8, peer->rkey);
	store_be32(offer + 12, (uint32_t)RTE_MIN(peer->slot_size, (uint64_t)UINT32_MAX));
	acceptance.address = peer->address;
	acceptance.rkey = peer->rkey;
	(void)cm_accept(port->cm, event->id, &acceptance,
			now); // if it fails, an event reports the end
}

// The index of the node with this address; n_nodes if there is none.
static unsigned node_of(const struct roce_port *port, const struct qp_address *peer)
{
	const struct cluster_system *cluster = port->parameters.system;
	unsigned node = 0;

	for (; node < cluster->n_nodes; node++) {
		const struct qp_address address = qp_address_ipv4(cluster->nodes[node].address);

		if (qp_address_is(&address, peer))
			break;
	}
	return node;
}

static void begin_reading(struct roce_port *port, const struct cm_event *event)
{
	const struct roce_peer *peer = roce_peer_of(event->qp);
	unsigned node = node_of(port, &event->peer.address);

	if (node == port->parameters.system->n_nodes)
		return; // unknown peer: it cannot be read from
	roce_reader_connected(port->reader, node, peer->builder, event->qp);
}

static void end_reading(struct roce_port *port, const struct cm_event *event)
{
	unsigned node = node_of(port, &event->peer.address);

	if (node < port->parameters.system->n_nodes)
		roce_reader_gone(port->reader, node, roce_peer_of(event->qp)->builder, event->qp);
}

// Adds the counters of a queue pair to port->closed and closes it. Telemetry reads again if it was
// interrupted.
static void close_connection(struct roce_port *port, const struct cm_event *event)
{
	const uint64_t *from = (const uint64_t *)&event->qp->counters;
	uint64_t *to = (uint64_t *)&port->closed;

	seqlock_begin_write(&port->closing);
	for (unsigned i = 0; i < sizeof(port->closed) / sizeof(*to); i++)
		qp_count(&to[i], from[i]);
	cm_release(port->cm, event->id);
	seqlock_end_write(&port->closing);
}

static void end_connection(struct roce_port *port, const struct cm_event *event)
{
	if (event->qp == NULL) {
		cm_release(port->cm, event->id);
	} else {
		if (port->reader != NULL)
			end_reading(port, event);
		close_connection(port, event);
	}
	give_back(port, event->user);
}

static void serve_events(struct roce_port *port, uint64_t now)
{
	struct cm_event event;

	while (cm_next_event(port->cm, &event)) {
		switch (event.kind) {
		case CM_REQUESTED:
			if (port->leaving)
				(void)cm_refuse(port->cm, event.id, ROCE_CM_CONSUMER_DEFINED);
			else
				accept_peer(port, &event, now);
			break;
		case CM_ESTABLISHED:
			if (port->reader != NULL)
				begin_reading(port, &event);
			break;
		case CM_REFUSED:
		case CM_FAILED:
		case CM_DISCONNECTED:
			end_connection(port, &event);
			break;
		}
	}
}

bool roce_connect_receive(struct roce_port *port, const struct rx_packet *in,
			  const struct roce_packet *packet, const struct qp_address *source,
			  uint64_t now)
{
	uint32_t offset = in->frame.payload_offset + packet->payload_offset;
	uint32_t size = RTE_MIN(packet->payload_size, ROCE_CM_MAD_SIZE);
	uint8_t copy[ROCE_CM_MAD_SIZE];
	struct roce_packet message = *packet;
	struct cm_peer peer;

	if (!find_peer(in, source, &peer))
		return false;
	message.payload_size = size; // a MAD is not larger
	cm_receive(port->cm, &message, rte_pktmbuf_read(in->mbuf, offset, size, copy), &peer, now);
	serve_events(port, now);
	port->next_look = now;
	return true;
}

void roce_connect_board(struct roce_port *port, const struct rx_packet *in,
			const struct qp_address *source, uint64_t now)
{
	struct cm_peer peer;

	if (port->config->connection != ROCE_CONNECTION_FEROCE || in->mbuf->nb_segs != 1 ||
	    in->frame.kind != NET_UDP4 || !find_peer(in, source, &peer))
		return;
	cm_receive_board(port->cm, in->bytes + in->frame.payload_offset, in->frame.payload_size,
			 &peer, now);
	serve_events(port, now);
	port->next_look = now;
}

static struct rte_mbuf *make_board_message(const struct roce_port *port,
					   const struct roce_address_handle *handle,
					   const struct cm_datagram *datagram)
{
	struct net_udp4 udp = {
		.source_ip = load_be32(handle->own.bytes + 12),
		.destination_ip = load_be32(handle->peer.bytes + 12),
		.source_port = FEROCE_CM_UDP_PORT,
		.destination_port = datagram->port,
		.vlan_tci = handle->vlan_tci,
	};
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(port->parameters.pool);
	uint8_t *bytes;
	size_t size;

	if (mbuf == NULL)
		return NULL;
	memcpy(udp.source_mac.bytes, handle->own_mac, sizeof(udp.source_mac.bytes));
	memcpy(udp.destination_mac.bytes, handle->peer_mac, sizeof(udp.destination_mac.bytes));
	bytes = rte_pktmbuf_mtod(mbuf, uint8_t *);
	size = net_udp4_encode(bytes, &udp, sizeof(datagram->board));
	memcpy(bytes + size, datagram->board, sizeof(datagram->board));
	rte_pktmbuf_append(mbuf, (uint16_t)(size + sizeof(datagram->board)));
	return mbuf;
}

// NULL if no mbuf is free.
static struct rte_mbuf *make_message(struct roce_port *port, const struct cm_datagram *datagram)
{
	const struct roce_address_handle handle = handle_to(port, &datagram->peer, 1);
	uint8_t headers[ROCE_MAX_HEADERS_SIZE];

	if (datagram->port != 0)
		return make_board_message(port, &handle, datagram);
	return roce_frame_make(port->parameters.pool, &handle, headers,
			       roce_headers_encode(headers, &datagram->header), datagram->mad,
			       sizeof(datagram->mad));
}

void roce_connect_poll(struct roce_port *port, uint64_t now)
{
	struct cm_datagram datagram;

	if (port->cm == NULL || now < port->next_look)
		return;
	port->next_look = now + LOOK_NS;
	while (port->n_pending < ROCE_PENDING_MOST && cm_poll(port->cm, now, &datagram))
		roce_enqueue(port, make_message(port, &datagram));
	serve_events(port, now);
	if (port->n_pending == ROCE_PENDING_MOST)
		port->next_look = now; // more messages may wait
}

void roce_connect_leave(struct roce_port *port, uint64_t now)
{
	for (uint32_t i = 0; i <= port->table.mask; i++) {
		struct queue_pair *qp = &port->table.qps[i];
		const struct roce_peer *peer = roce_peer_of(qp);

		if (qp->state != QP_FREE && peer != NULL && peer->connection != 0)
			(void)cm_disconnect(port->cm, peer->connection,
					    now); // fails if it has ended
	}
}

static bool make_cm(struct roce_port *port)
{
	const struct roce_settings *roce = port->config;
	const uint32_t n = port->table.mask + 1, of_one = RTE_MIN(n - n / 4, OF_ONE);
	bool of_boards = roce->connection == ROCE_CONNECTION_FEROCE;
	struct cm_parameters parameters = {
		.table = &port->table,
		.address = port->own4,
		.guid = rte_rand(),
		.seed = rte_rand(),
		.response_timeout = RESPONSE_NS,
		.accept_timeout = ACCEPT_NS,
		.open_timeout = OPEN_NS,
		.silence = SILENCE_NS,
		.idle_timeout = roce->idle_timeout_ns,
		.connections = n + 1,
		.half_open = of_boards ? n : RTE_MIN(n, HALF_OPEN),
		.half_open_of_peer = of_boards ? of_one : HALF_OPEN_OF_ONE,
		.of_peer = of_one,
		.path_mtu = port->path_mtu,
		.port = roce->cm_service,
		.n_ports = of_boards ? 0
			   : port->parameters.placements != NULL
			       ? (uint16_t)RTE_MAX(port->parameters.n_builders, 1u)
			       : 1,
		.retries = CM_RETRIES,
		.timeout_code = roce->timeout,
		.retry_count = roce->retry_count,
		.rnr_retry = roce->rnr_retry,
		.max_reads = port->reader != NULL ? ROCE_READS : 1,
	};

	// Without an IPv4 address `address` is the IPv6 one, and IPv4 peers are refused.
	if (port->parameters.port->has_address6)
		memcpy(port->parameters.port->has_address ? parameters.address6.bytes
							  : parameters.address.bytes,
		       port->parameters.port->address6, sizeof(parameters.address6.bytes));
	port->cm = cm_create(&parameters);
	return port->cm != NULL;
}

// One peer per queue pair, and one for a connection that is requested when all are open.
static bool make_peers(struct roce_port *port)
{
	port->n_peers = port->table.mask + 2;
	port->peers = aligned_alloc(QP_CACHE_LINE, port->n_peers * sizeof(*port->peers));
	if (port->peers == NULL)
		return false;
	for (uint32_t i = port->n_peers; i-- > 0;)
		give_back(port, &port->peers[i]);
	return true;
}

bool roce_connect_create(struct roce_port *port, char *error)
{
	const struct roce_settings *roce = port->config;

	if (!make_peers(port) || (roce->connection != ROCE_CONNECTION_STATIC && !make_cm(port)))
		return false;
	for (unsigned i = 0; i < roce->n_queue_pairs; i++)
		if (!open_static(port, &roce->queue_pairs[i], error))
			return false;
	return true;
}
