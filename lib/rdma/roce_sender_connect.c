// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Connects the flows of a sender, and ends their connections.
#include <rte_random.h>

#include "pipeline/role.h"
#include "rdma/roce_sender.h"

#define CONNECTING_MOST 16u        // flows being connected at the same time
#define RETRY_NS        100000000u // ns after a connection has ended; doubles with each refusal
#define DOUBLINGS_MOST  4u         // of that time
#define LOOK_NS         500000u    // ns between two searches for timeouts
#define RESPONSE_NS     200000000u // ns until a connection message is sent again
#define RETRIES         7
#define OFFER_SIZE      16u // bytes of private data: address, rkey and size of a region

bool roce_sender_make_cm(struct roce_sender *sender)
{
	const struct roce_sender_parameters *p = &sender->parameters;
	uint32_t n = sender->table.mask + 1;
	const struct cm_parameters parameters = {
		.table = &sender->table,
		.address = qp_address_ipv4(p->address),
		.guid = rte_rand(),
		.seed = rte_rand(),
		.response_timeout = RESPONSE_NS,
		.accept_timeout = RESPONSE_NS,
		.connections = n,
		.half_open = 2 * CONNECTING_MOST,
		.half_open_of_peer = 2 * CONNECTING_MOST,
		.of_peer = n,
		.path_mtu = sender->path_mtu,
		.retries = RETRIES,
		.side = 1,
		.timeout_code = p->settings->timeout,
		.retry_count = p->settings->retry_count,
		.rnr_retry = p->settings->rnr_retry,
		.max_reads = RTE_MAX(p->max_reads, 1),
	};

	sender->cm = cm_create(&parameters);
	return sender->cm != NULL;
}

static bool resolve(const struct roce_sender *sender, struct roce_flow *flow)
{
	const struct roce_sender_parameters *p = &sender->parameters;

	return p->operations->resolve == NULL || p->operations->resolve(p->context, flow);
}

static bool request_connection(struct roce_sender *sender, struct roce_flow *flow, uint64_t now)
{
	const struct cm_destination destination = {
		.peer = flow->handle.peer,
		.port = flow->cm_port,
		.service = flow->service,
		.path_mtu = sender->path_mtu,
		.access = sender->parameters.max_reads > 0 ? QP_MAY_READ : 0,
		.user = flow,
	};

	flow->connection = cm_connect(sender->cm, &destination, now);
	sender->n_connecting += flow->connection != 0;
	return flow->connection != 0;
}

// Requests connections for the flows in turn: peers that do not respond must not delay others.
static void request_connections(struct roce_sender *sender, uint64_t now)
{
	unsigned n = sender->parameters.n_flows, first = sender->first_to_connect;

	if (counter_read(&sender->parameters.counters->connected) + sender->n_connecting == n)
		return; // as usual: a search would touch each flow
	for (unsigned i = 0; i < n && sender->n_connecting < CONNECTING_MOST; i++) {
		unsigned index = (first + i) % n;
		struct roce_flow *flow = &sender->flows[index];

		if (!flow->wanted || flow->qp != NULL || flow->connection != 0 ||
		    now < flow->retry_at || !resolve(sender, flow))
			continue;
		if (!request_connection(sender, flow, now))
			return;
		sender->first_to_connect = index + 1;
	}
}

static void set_connected(struct roce_sender *sender, struct roce_flow *flow, struct queue_pair *qp)
{
	flow->qp = qp;
	flow->refusals = 0;
	flow->alive_at = 0;
	dcqcn_flow_init(&sender->dcqcn, &flow->rate);
	counter_add(&sender->parameters.counters->connected, 1);
}

static void take_established(struct roce_sender *sender, const struct cm_event *event)
{
	const struct roce_sender_parameters *p = &sender->parameters;
	struct roce_flow *flow = event->user;

	sender->n_connecting--;
	if (event->private_size >= OFFER_SIZE) {
		flow->address = load_be64(event->private_data);
		flow->rkey = load_be32(event->private_data + 8);
		flow->size = load_be32(event->private_data + 12);
	}
	set_connected(sender, flow, event->qp);
	p->operations->connected(p->context, flow);
}

// The time until the next attempt. Flows that failed together try at different times.
static uint64_t retry_time(const struct roce_flow *flow)
{
	unsigned doublings = flow->refusals > 0 ? flow->refusals - 1 : 0;
	uint64_t wait = (uint64_t)RETRY_NS << RTE_MIN(doublings, DOUBLINGS_MOST);

	return doublings > 0 ? wait - wait / 4 + rte_rand_max(wait / 2) : wait;
}

static void count_failure(struct roce_sender_counters *counters, const struct cm_event *event)
{
	bool refused = event->kind == CM_REFUSED;

	counter_add(refused ? &counters->refused : &counters->unheard, 1);
	counter_add(&counters->reason, (refused ? event->reason : 0) - counters->reason);
}

// Handles the end of a connection. Messages that were acknowledged before are completed, the others
// fail.
static void take_end(struct roce_sender *sender, const struct cm_event *event, uint64_t now)
{
	const struct roce_sender_parameters *p = &sender->parameters;
	struct roce_flow *flow = event->user;
	bool was_connected = flow->qp != NULL;

	if (was_connected) {
		requester_flush(sender->requester, flow->qp);
		roce_sender_complete(sender);
		flow->qp = NULL;
		counter_add(&p->counters->connected, UINT64_MAX); // decrements it
	} else {
		sender->n_connecting--;
		flow->refusals += event->kind == CM_REFUSED;
		count_failure(p->counters, event);
	}
	counter_add(&p->counters->lost, was_connected && !sender->leaving);
	flow->connection = 0;
	flow->retry_at = now + retry_time(flow);
	cm_release(sender->cm, event->id);
	p->operations->ended(p->context, flow, was_connected);
}

static void serve_events(struct roce_sender *sender, uint64_t now)
{
	struct cm_event event;

	while (cm_next_event(sender->cm, &event)) {
		switch (event.kind) {
		case CM_REQUESTED: // a sender accepts no connections
			(void)cm_refuse(sender->cm, event.id, ROCE_CM_CONSUMER_DEFINED);
			break;
		case CM_ESTABLISHED:
			take_established(sender, &event);
			break;
		case CM_REFUSED:
		case CM_FAILED:
		case CM_DISCONNECTED:
			take_end(sender, &event, now);
			break;
		}
	}
}

void roce_sender_receive_cm(struct roce_sender *sender, const struct roce_packet *packet,
			    const uint8_t *mad, const struct qp_address *peer, uint64_t now)
{
	const struct cm_peer source = { .address = *peer };

	cm_receive(sender->cm, packet, mad, &source, now);
	serve_events(sender, now);
	sender->next_look = now;
}

// The flow whose address handle a connection message to a peer uses: any flow to that peer.
static struct roce_flow *flow_to(const struct roce_sender *sender, const struct qp_address *peer)
{
	for (unsigned i = 0; i < sender->parameters.n_flows; i++)
		if (qp_address_is(&sender->flows[i].handle.peer, peer))
			return &sender->flows[i];
	return NULL;
}

static void send_datagram(struct roce_sender *sender, const struct cm_datagram *datagram)
{
	struct roce_flow *flow = flow_to(sender, &datagram->peer.address);
	uint8_t headers[ROCE_MAX_HEADERS_SIZE];
	size_t size = roce_headers_encode(headers, &datagram->header);
	struct rte_mbuf *mbuf;

	if (flow == NULL || !resolve(sender, flow))
		return; // the manager sends it again
	mbuf = roce_frame_make(sender->parameters.pools.headers, &flow->handle, headers, size,
			       datagram->mad, sizeof(datagram->mad));
	if (mbuf != NULL)
		sender_put(sender->parameters.sender, mbuf, 0, true);
}

void roce_sender_poll_cm(struct roce_sender *sender, uint64_t now)
{
	struct sender *out = sender->parameters.sender;
	struct cm_datagram datagram;

	sender->next_look = now + LOOK_NS;
	if (sender->connects && !sender->leaving)
		request_connections(sender, now);
	while (sender_room(out, 2) && cm_poll(sender->cm, now, &datagram))
		send_datagram(sender, &datagram);
	serve_events(sender, now);
	if (!sender_room(out, 2))
		sender->next_look = now; // more may wait
}

bool roce_sender_connect_statically(struct roce_sender *sender, struct roce_flow *flow,
				    const struct roce_static_pair *pair)
{
	const struct roce_settings *settings = sender->parameters.settings;
	const struct qp_connection connection = {
		.peer = flow->handle.peer,
		.peer_qpn = pair->remote_qpn,
		.local_psn = pair->local_psn,
		.peer_psn = pair->remote_psn,
		.path_mtu = sender->path_mtu,
		.qkey = settings->q_key,
		.partition_key = settings->partition_key,
		.timeout_code = settings->timeout,
		.retry_count = settings->retry_count,
		.rnr_retry = settings->rnr_retry,
		.max_reads = 1,
		.user = flow,
	};
	struct queue_pair *qp = qp_open(&sender->table, pair->service, pair->local_qpn, 0);

	if (qp == NULL || !qp_connect(qp, &connection))
		return false;
	flow->rkey = pair->rkey;
	flow->address = pair->virtual_address;
	flow->size = pair->size;
	set_connected(sender, flow, qp);
	return true;
}

void roce_sender_leave(struct roce_sender *sender, uint64_t now)
{
	sender->leaving = true;
	for (unsigned i = 0; sender->cm != NULL && i < sender->parameters.n_flows; i++)
		if (sender->flows[i].qp != NULL)
			(void)cm_disconnect(sender->cm, sender->flows[i].connection, now);
	sender->next_look = now;
}
