// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/roce_port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/role.h"
#include "rdma/roce_port_internal.h"

#define LARGEST_MESSAGE (1u << 31) // bytes, by the standard

// --- sending ---

void roce_learn_handle(const struct roce_port *port, struct roce_address_handle *handle,
		       const struct rx_packet *in, const struct qp_address *source, uint32_t number)
{
	const uint8_t *bytes = in->bytes;

	if (bytes[6] & 1)
		return;
	memcpy(handle->own_mac, port->parameters.mac, sizeof(handle->own_mac));
	memcpy(handle->peer_mac, bytes + 6, sizeof(handle->peer_mac));
	handle->peer = *source;
	handle->vlan_tci = in->frame.vlan_tci;
	handle->own = port->own4;
	if (in->frame.kind == NET_UDP6)
		memcpy(handle->own.bytes, bytes + in->frame.l3_offset + 24,
		       sizeof(handle->own.bytes));
	handle->source_port = roce_source_port(number);
}

void roce_enqueue(struct roce_port *port, struct rte_mbuf *mbuf)
{
	if (mbuf == NULL) {
		counter_add(&port->counters.not_sent, 1);
	} else if (port->n_pending == ROCE_PENDING_MOST) {
		counter_add(&port->counters.not_sent, 1);
		rte_pktmbuf_free(mbuf);
	} else {
		port->pending[port->n_pending++] = mbuf;
	}
}

// Sends a packet without payload. Our responses have none, because READs are refused.
static void send_headers(struct roce_port *port, const struct roce_address_handle *handle,
			 const uint8_t *headers, size_t size)
{
	roce_enqueue(port, handle->source_port == 0 ? NULL
						    : roce_frame_make(port->parameters.pool, handle,
								      headers, size, NULL, 0));
}

void roce_enqueue_reply(struct roce_port *port, const struct responder_reply *reply)
{
	const struct roce_address_handle *handle = &roce_peer_of(reply->qp)->handle;
	uint8_t headers[ROCE_MAX_HEADERS_SIZE];
	size_t size = responder_reply_encode(reply, headers);

	send_headers(port, handle, headers, size);
}

void roce_enqueue_cnp(struct roce_port *port, const struct queue_pair *qp)
{
	uint8_t headers[ROCE_CNP_SIZE];

	roce_cnp_encode(headers, qp->peer_qpn);
	send_headers(port, &roce_peer_of(qp)->handle, headers, sizeof(headers));
}

// Takes the offers of blocks, and sends READ requests for them.
static void poll_reader(struct roce_port *port, uint64_t now)
{
	struct message messages[ROLE_BURST];
	unsigned n = mailbox_take(port->parameters.offers, messages, ROLE_BURST);
	struct requester_packet packet;

	for (unsigned i = 0; i < n; i++)
		roce_reader_offer(port->reader, &messages[i]);
	while (port->n_pending < ROCE_PENDING_MOST &&
	       roce_reader_poll(port->reader, now, &packet)) {
		uint8_t headers[ROCE_MAX_HEADERS_SIZE];

		send_headers(port, &roce_peer_of(packet.qp)->handle, headers,
			     roce_headers_encode(headers, &packet.header));
	}
}

static void poll_responder(struct roce_port *port, bool more)
{
	struct responder_reply reply;

	while (port->n_pending < ROCE_PENDING_MOST &&
	       (more ? responder_poll_aged(port->responder, &reply)
		     : responder_poll(port->responder, &reply))) {
		if (reply.send)
			roce_enqueue_reply(port, &reply);
		if (reply.cnp)
			roce_enqueue_cnp(port, reply.qp);
	}
	responder_age(port->responder);
}

unsigned roce_port_poll(struct roce_port *port, uint64_t now, bool more, struct rte_mbuf **mbufs,
			unsigned max)
{
	unsigned n;

	poll_responder(port, more);
	roce_connect_poll(port, now);
	if (port->reader != NULL)
		poll_reader(port, now);
	n = RTE_MIN(max, port->n_pending);
	memcpy(mbufs, port->pending, n * sizeof(*mbufs));
	port->n_pending -= n;
	memmove(port->pending, port->pending + n, port->n_pending * sizeof(*mbufs));
	return n;
}

void roce_port_sent(struct roce_port *port, unsigned sent, unsigned not_sent)
{
	counter_add(&port->counters.sent, sent);
	counter_add(&port->counters.not_sent, not_sent);
}

bool roce_port_leave(struct roce_port *port, uint64_t now)
{
	if (!port->leaving) {
		port->leaving = true;
		roce_connect_leave(port, now);
		port->next_look = now;
	}
	return port->cm == NULL || cm_open_connections(port->cm) == 0;
}

// --- creation ---

static bool make_engines(struct roce_port *port, char *error)
{
	const struct roce_settings *roce = port->config;
	const struct responder_parameters responder = {
		.table = &port->table,
		.cnp_interval = roce->cnp_interval_ns,
		.largest_message = (uint32_t)port->largest_message,
		.ack_every = (uint16_t)RTE_MIN(roce->ack_every, (uint32_t)UINT16_MAX),
		.rnr_timer = roce->rnr_timer,
		.max_reads = 1,
	};

	const struct roce_reader_parameters reader = {
		.settings = roce,
		.table = &port->table,
		.sources = port->parameters.sources,
		.placements = port->parameters.placements,
		.n_builders = port->parameters.n_builders,
		.n_nodes = port->parameters.system->n_nodes,
		.n_sources = port->parameters.system->n_sources,
		.packing = port->parameters.packing,
	};

	if (!qp_table_create(&port->table, RTE_MAX(roce->max_queue_pairs, 2u)))
		return false;
	if (port->parameters.placements != NULL)
		port->table.fixed_mask = QP_NUMBER_SIDE;
	port->responder = responder_create(&responder);
	if (port->parameters.offers != NULL) {
		port->reader = roce_reader_create(&reader);
		if (port->reader == NULL)
			return false;
	}
	return port->responder != NULL && roce_connect_create(port, error);
}

struct roce_port *roce_port_create(const struct roce_port_parameters *parameters, char *error)
{
	const struct roce_settings *roce = parameters->settings;
	struct roce_port *port = calloc(1, sizeof(*port));

	snprintf(error, ROCE_PORT_ERROR_SIZE, "ports: no memory for the queue pairs of port %s",
		 parameters->port->name);
	if (port == NULL)
		return NULL;
	port->parameters = *parameters;
	port->config = roce;
	port->packing = divisor_make(parameters->packing);
	port->builders = divisor_make(RTE_MAX(parameters->n_builders, 1u));
	port->own4 = qp_address_ipv4(parameters->port->address);
	port->largest_message = RTE_MIN((uint64_t)LARGEST_MESSAGE, parameters->smallest_slot);
	port->path_mtu =
	    roce->path_mtu != 0 ? roce->path_mtu : roce_path_mtu(parameters->port->mtu);
	if (!make_engines(port, error)) {
		roce_port_destroy(port);
		return NULL;
	}
	return port;
}

void roce_port_destroy(struct roce_port *port)
{
	if (port == NULL)
		return;
	rte_pktmbuf_free_bulk(port->pending, port->n_pending);
	cm_destroy(port->cm);
	free(port->peers);
	roce_reader_destroy(port->reader);
	responder_destroy(port->responder);
	qp_table_destroy(&port->table);
	free(port);
}

// --- for telemetry ---

const struct roce_reader_counters *roce_port_reader_counters(const struct roce_port *port)
{
	return port->reader != NULL ? roce_reader_counters(port->reader) : NULL;
}

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

unsigned roce_port_open_qps(const struct roce_port *port)
{
	return __atomic_load_n(&port->table.n_open, __ATOMIC_RELAXED);
}

static void add_counters(struct qp_counters *sums, const struct qp_counters *counters)
{
	const uint64_t *from = (const uint64_t *)counters;
	uint64_t *to = (uint64_t *)sums;

	for (unsigned i = 0; i < sizeof(*sums) / sizeof(*to); i++)
		to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

static void sum_counters(const struct roce_port *port, struct qp_counters *sums)
{
	*sums = (struct qp_counters){ 0 };
	add_counters(sums, &port->closed);
	for (unsigned i = 0; i <= port->table.mask; i++)
		if (port->table.qps[i].state != QP_FREE)
			add_counters(sums, &port->table.qps[i].counters);
}

void roce_port_totals(const struct roce_port *port, struct qp_counters *sums)
{
	unsigned begun;

	do {
		begun = seqlock_begin_read(&port->closing);
		sum_counters(port, sums);
	} while (seqlock_is_disturbed(&port->closing, begun));
}

const struct queue_pair *roce_port_qp(const struct roce_port *port, unsigned index)
{
	return &port->table.qps[index];
}
