// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Connecting the queue pairs of a readout: one to each builder of the other nodes, at the port
// number cm_service + its number on its node.
#include <string.h>

#include "rdma/readout_roce_internal.h"
#include "rdma/roce_client.h"

#define RETRY_NS     100000000u // after a connection has failed
#define LOOK_NS      500000u    // between two looks for timeouts
#define ALIVE_NS     200000000u // between two looks whether an idle builder is there
#define OFFER_SIZE   16u        // what the private data of an answer must have
#define FIRST_PORT   49152u
#define SOURCE_PORTS 16384u

static const struct config_cluster_node *node_of(const struct readout_roce *roce,
						 const struct readout_lane *lane)
{
	const struct config_cluster *cluster = &roce->parameters.config->cluster;

	return &cluster->nodes[cluster->builders[lane->builder].node];
}

// False if the address of the builder's node is not known yet.
static bool find_way(const struct readout_roce *roce, struct readout_lane *lane)
{
	const struct readout_roce_parameters *p = &roce->parameters;
	const struct config_cluster *cluster = &p->config->cluster;

	if (!neighbours_get(p->neighbours, cluster->builders[lane->builder].node,
			    lane->way.peer_mac))
		return false;
	memcpy(lane->way.own_mac, p->packets->parameters.mac, sizeof(lane->way.own_mac));
	lane->way.own = qp_address_ipv4(cluster->nodes[cluster->self].address);
	lane->way.peer = qp_address_ipv4(node_of(roce, lane)->address);
	lane->way.source_port = (uint16_t)(FIRST_PORT + lane->builder % SOURCE_PORTS);
	lane->way.dscp = p->packets->parameters.dscp;
	return true;
}

static bool ask(struct readout_roce *roce, struct readout_lane *lane, uint64_t now)
{
	const struct config_cluster *cluster = &roce->parameters.config->cluster;
	const struct cm_destination destination = {
		.peer = qp_address_ipv4(node_of(roce, lane)->address),
		.port =
		    (uint16_t)(roce->config->cm_service + cluster->builders[lane->builder].index),
		.service = roce->config->service == CONFIG_SERVICE_UC ? ROCE_UC : ROCE_RC,
		.path_mtu = roce->path_mtu,
		.access = roce->responder != NULL ? QP_MAY_READ : 0,
		.user = lane,
	};

	lane->connection = cm_connect(roce->cm, &destination, now);
	roce->n_connecting += lane->connection != 0;
	return lane->connection != 0;
}

// In turn: builders that are not there must not keep others waiting.
static void ask_for_connections(struct readout_roce *roce, uint64_t now)
{
	for (unsigned i = 0; i < roce->n_lanes && roce->n_connecting < ROCE_CLIENT_CONNECTING;
	     i++) {
		struct readout_lane *lane =
		    &roce->lanes[(roce->first_to_connect + i) % roce->n_lanes];

		if (lane->local || lane->qp != NULL || lane->connection != 0 ||
		    now < lane->retry_at || !find_way(roce, lane))
			continue;
		if (!ask(roce, lane, now))
			break;
		roce->first_to_connect = lane->builder + 1u;
	}
}

// A connection on which nothing is under way would not notice that its builder has gone. The
// message is a WRITE of nothing: it is acknowledged, and does nothing.
static void ask_whether_alive(struct readout_roce *roce, uint64_t now)
{
	const struct requester_message message = { .user = READOUT_ALIVE,
						   .operation = REQUESTER_WRITE };

	for (unsigned i = 0; i < roce->n_lanes; i++) {
		struct readout_lane *lane = &roce->lanes[i];

		if (lane->qp == NULL || now < lane->alive_at || lane->qp->service != ROCE_RC)
			continue;
		lane->alive_at = now + ALIVE_NS;
		if (requester_unfinished(lane->qp) == 0)
			(void)requester_post(roce->requester, lane->qp, &message);
	}
}

static void take_established(struct readout_roce *roce, const struct cm_event *event)
{
	struct readout_lane *lane = event->user;

	roce->n_connecting--;
	if (event->private_size >= OFFER_SIZE) {
		lane->address = load_be64(event->private_data);
		lane->rkey = load_be32(event->private_data + 8);
	}
	lane->qp = event->qp;
	lane->alive_at = 0;
	dcqcn_flow_init(&roce->dcqcn, &lane->flow);
	counter_add(&roce->counters.connected, 1);
	readout_queue_post(roce, lane);
}

static void take_end(struct readout_roce *roce, const struct cm_event *event, uint64_t now)
{
	struct readout_lane *lane = event->user;

	if (lane->qp != NULL) {
		requester_flush(roce->requester, lane->qp);
		readout_take_completions(roce);
		lane->qp = NULL;
		readout_queue_rewind(roce, lane);
		__atomic_store_n(&roce->counters.connected, roce->counters.connected - 1,
				 __ATOMIC_RELAXED);
		counter_add(&roce->counters.lost, roce->leaving ? 0 : 1);
	} else {
		roce->n_connecting--;
	}
	lane->connection = 0;
	lane->retry_at = now + RETRY_NS;
	cm_release(roce->cm, event->id);
}

static void serve_events(struct readout_roce *roce, uint64_t now)
{
	struct cm_event event;

	while (cm_next_event(roce->cm, &event)) {
		switch (event.kind) {
		case CM_REQUESTED: // nobody is listened to
			(void)cm_refuse(roce->cm, event.id, ROCE_CM_CONSUMER_DEFINED, NULL, 0);
			break;
		case CM_ESTABLISHED:
			take_established(roce, &event);
			break;
		case CM_REFUSED:
		case CM_FAILED:
		case CM_DISCONNECTED:
			take_end(roce, &event, now);
			break;
		}
	}
}

void readout_connect_receive(struct readout_roce *roce, const struct roce_packet *packet,
			     const uint8_t *mad, const struct qp_address *peer, uint64_t now)
{
	cm_receive(roce->cm, packet, mad, peer, now);
	serve_events(roce, now);
	roce->next_look = now;
}

// Connection messages to one node go the same way, whichever builder they are about.
static struct readout_lane *lane_to(const struct readout_roce *roce, const struct qp_address *peer)
{
	for (unsigned i = 0; i < roce->n_lanes; i++)
		if (!roce->lanes[i].local && qp_address_is(&roce->lanes[i].way.peer, peer))
			return &roce->lanes[i];
	return NULL;
}

static void send_datagram(struct readout_roce *roce, const struct cm_datagram *datagram)
{
	struct readout_lane *lane = lane_to(roce, &datagram->peer);
	uint8_t headers[ROCE_MAX_HEADERS_SIZE];
	size_t size = roce_headers_encode(headers, &datagram->header);
	struct rte_mbuf *mbuf;

	if (lane == NULL || !find_way(roce, lane))
		return; // it is sent again
	mbuf = roce_frame_make(roce->parameters.packets->parameters.headers, &lane->way, headers,
			       size, datagram->mad, sizeof(datagram->mad));
	if (mbuf != NULL)
		sender_put(roce->parameters.sender, mbuf, 0, true);
}

void readout_connect_poll(struct readout_roce *roce, uint64_t now)
{
	struct cm_datagram datagram;

	if (now < roce->next_look)
		return;
	roce->next_look = now + LOOK_NS;
	if (!roce->leaving) {
		ask_for_connections(roce, now);
		ask_whether_alive(roce, now);
	}
	while (sender_room(roce->parameters.sender, 2) && cm_poll(roce->cm, now, &datagram))
		send_datagram(roce, &datagram);
	serve_events(roce, now);
	if (!sender_room(roce->parameters.sender, 2))
		roce->next_look = now; // there may be more
}

void readout_connect_leave(struct readout_roce *roce, uint64_t now)
{
	roce->leaving = true;
	for (unsigned i = 0; i < roce->n_lanes; i++)
		if (roce->lanes[i].qp != NULL)
			(void)cm_disconnect(roce->cm, roce->lanes[i].connection, now);
	roce->next_look = now;
}

bool readout_connect_make(struct readout_roce *roce)
{
	const struct config *config = roce->parameters.config;
	const struct roce_client_parameters parameters = {
		.config = &config->roce,
		.table = &roce->table,
		.address = config->cluster.nodes[config->cluster.self].address,
		.path_mtu = roce->path_mtu,
		.max_reads = roce->responder != NULL ? READOUT_READS : 1,
	};

	roce->cm = roce_client_create_cm(&parameters);
	return roce->cm != NULL;
}
