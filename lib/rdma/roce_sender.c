// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/roce_sender.h"

#include <stdlib.h>

#include <rte_cycles.h>

#include "pipeline/role.h"
#include "wire/icrc.h"
#include "wire/net.h"
#include "wire/roce_cm.h"

#define IDLE_TEST     UINT64_MAX   // identifies the message that tests an idle connection
#define IDLE_TEST_NS  200000000u   // ns between two such messages
#define MAD_ATTRIBUTE 16u          // offset of the message type in a MAD, bytes
#define DEFAULT_RATE  12500000000u // bytes/s if the rate of the link is unknown: 100 Gb/s

// --- receiving ---

static void take_cnp(struct roce_sender *sender, struct queue_pair *qp, uint64_t tsc)
{
	struct roce_flow *flow = roce_flow_of(qp);

	counter_add(&sender->parameters.counters->cnps, 1);
	qp_count(&qp->counters.cnp_received, 1);
	if (!sender->parameters.settings->dcqcn)
		return;
	dcqcn_cnp(&sender->dcqcn, &flow->rate, tsc);
	if (!flow->is_slowed)
		sender->slowed[sender->n_slowed++] = flow;
	flow->is_slowed = true;
}

static void take_packet(struct roce_sender *sender, const struct roce_packet *packet,
			const struct qp_address *peer, uint64_t now, uint64_t tsc)
{
	const struct roce_sender_parameters *p = &sender->parameters;
	struct queue_pair *qp = qp_find(&sender->table, packet->destination_qpn);
	struct requester_data data;

	if (qp == NULL || roce_flow_of(qp) == NULL)
		counter_add(&p->counters->unknown_qp, 1);
	else if ((packet->flags & ROCE_REQUEST) != 0 && p->max_reads > 0)
		p->operations->request(p->context, qp, packet, peer, now);
	else if ((packet->flags & ROCE_IS_CNP) != 0)
		take_cnp(sender, qp, tsc);
	else // data is never returned: the sender posts no READ
		(void)requester_receive(sender->requester, qp, packet, peer, now, &data);
}

// Whether a connection message is for this sender. Connection requests are for the receiver of the
// port, if it has one.
static bool is_for_sender(const struct roce_packet *packet, const uint8_t *mad)
{
	return packet->payload_size >= MAD_ATTRIBUTE + 2 &&
	       load_be16(mad + MAD_ATTRIBUTE) != ROCE_CM_REQ;
}

static void take_mbuf(struct roce_sender *sender, const struct rte_mbuf *mbuf, uint64_t now,
		      uint64_t tsc)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *), *payload;
	struct roce_packet packet;
	struct qp_address peer;
	struct net_frame frame;

	if (mbuf->nb_segs != 1 ||
	    net_parse(bytes, mbuf->data_len, mbuf->data_len, 0, &frame) != WIRE_OK ||
	    frame.kind != NET_UDP4 ||
	    roce_parse(bytes + frame.payload_offset, frame.payload_size, frame.payload_size,
		       &packet) != WIRE_OK)
		return;
	if (sender->parameters.settings->icrc != ROCE_ICRC_IGNORE && !icrc_verify(bytes, &frame)) {
		counter_add(&sender->parameters.counters->icrc_errors, 1);
		return;
	}
	payload = bytes + frame.payload_offset + packet.payload_offset;
	peer = qp_address_ipv4(load_be32(bytes + frame.l3_offset + 12));
	if (packet.destination_qpn != ROCE_CM_QPN)
		take_packet(sender, &packet, &peer, now, tsc);
	else if (sender->cm != NULL && is_for_sender(&packet, payload))
		roce_sender_receive_cm(sender, &packet, payload, &peer, now);
}

void roce_sender_complete(struct roce_sender *sender)
{
	const struct roce_sender_parameters *p = &sender->parameters;
	struct requester_completion completion;

	while (requester_completion(sender->requester, &completion)) {
		bool failed = completion.cause != QP_NO_CAUSE;

		if (p->tests_idle && completion.user == IDLE_TEST)
			continue;
		counter_add(failed ? &p->counters->failed : &p->counters->completed, 1);
		p->operations->completed(p->context, roce_flow_of(completion.qp), completion.user,
					 failed);
	}
}

// Passes the new rates of slowed flows on to their queue pairs, and forgets flows that have the
// rate of the link again, or no connection.
static void set_rates(struct roce_sender *sender, uint64_t tsc)
{
	unsigned n = 0;

	for (unsigned i = 0; i < sender->n_slowed; i++) {
		struct roce_flow *flow = sender->slowed[i];

		if (flow->qp != NULL && dcqcn_poll(&sender->dcqcn, &flow->rate, tsc))
			requester_set_rate(flow->qp, flow->rate.limited ? flow->rate.rate : 0);
		flow->is_slowed = flow->qp != NULL && (flow->rate.limited || flow->rate.cnp_waits);
		if (flow->is_slowed)
			sender->slowed[n++] = flow;
	}
	sender->n_slowed = n;
}

// Tests idle connections: a queue pair without outstanding messages does not detect that its peer
// is gone. The test message is a WRITE of zero bytes, which the peer acknowledges without an
// effect.
static void test_idle(struct roce_sender *sender, uint64_t now)
{
	const struct requester_message message = { .user = IDLE_TEST,
						   .operation = REQUESTER_WRITE };

	for (unsigned i = 0; i < sender->parameters.n_flows; i++) {
		struct roce_flow *flow = &sender->flows[i];

		if (flow->qp == NULL || now < flow->alive_at || flow->qp->service != ROCE_RC)
			continue;
		flow->alive_at = now + IDLE_TEST_NS;
		if (requester_unfinished(flow->qp) == 0)
			(void)requester_post(sender->requester, flow->qp, &message);
	}
}

unsigned roce_sender_poll(struct roce_sender *sender, uint64_t tsc)
{
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n = link_dequeue(sender->parameters.responses, mbufs, ROLE_BURST);
	uint64_t now = roce_sender_ns(sender, tsc);

	for (unsigned i = 0; i < n; i++)
		take_mbuf(sender, mbufs[i], now, tsc);
	rte_pktmbuf_free_bulk(mbufs, n);
	if (sender->cm != NULL && now >= sender->next_look) {
		if (sender->parameters.tests_idle && !sender->leaving)
			test_idle(sender, now);
		roce_sender_poll_cm(sender, now);
	}
	roce_sender_complete(sender);
	set_rates(sender, tsc);
	return n;
}

// --- sending ---

struct requester_message roce_sender_message(const struct roce_sender *sender,
					     const struct roce_flow *flow, uint64_t user,
					     uint32_t length)
{
	enum roce_operation operation = sender->parameters.settings->operation;

	return (struct requester_message){
		.user = user,
		.address = flow->address,
		.rkey = flow->rkey,
		.length = length,
		.immediate = (uint32_t)user,
		.operation = roce_operation_writes(operation) ? REQUESTER_WRITE : REQUESTER_SEND,
		.has_immediate = roce_operation_has_immediate(operation),
	};
}

bool roce_sender_post(struct roce_sender *sender, struct roce_flow *flow,
		      struct requester_message *message)
{
	if (flow->qp == NULL)
		return false;
	message->peer_qpn = flow->qp->peer_qpn; // UD
	message->qkey = sender->parameters.settings->q_key;
	return requester_post(sender->requester, flow->qp, message);
}

bool roce_sender_next(struct roce_sender *sender, uint64_t tsc, struct roce_outgoing *outgoing)
{
	const struct roce_sender_parameters *p = &sender->parameters;
	struct requester_packet packet;
	struct roce_block block = { 0 };
	struct roce_flow *flow;

	if (!requester_poll(sender->requester, roce_sender_ns(sender, tsc), &packet))
		return false;
	flow = roce_flow_of(packet.qp);
	if (!p->tests_idle || packet.user != IDLE_TEST)
		block = p->operations->find_block(p->context, flow, packet.user);
	if (flow->is_slowed)
		dcqcn_sent(&sender->dcqcn, &flow->rate, packet.size, tsc);
	*outgoing = (struct roce_outgoing){
		.mbuf = roce_packets_make(&p->pools, &flow->handle, &packet, &block),
		.flow = flow,
		.message = packet.user,
		.size = packet.size,
		.again = packet.again,
	};
	return true;
}

bool roce_sender_is_idle(const struct roce_sender *sender)
{
	for (unsigned i = 0; i < sender->parameters.n_flows; i++) {
		const struct queue_pair *qp = sender->flows[i].qp;

		if (qp != NULL && requester_unfinished(qp) > 0)
			return false;
	}
	return true;
}

// --- creation ---

bool roce_sender_init(struct roce_sender *sender, const struct roce_sender_parameters *p)
{
	const struct roce_settings *settings = p->settings;
	const struct requester_parameters requester = {
		.table = &sender->table,
		.depth = p->depth,
		.window = RTE_MAX(settings->window, 2u),
		.ack_interval = RTE_MAX(settings->window / 2, 1u),
		.burst = ROLE_BURST,
	};
	uint64_t rate = p->link_rate != 0 ? p->link_rate / 8 : DEFAULT_RATE;
	const char *why;

	*sender = (struct roce_sender){
		.parameters = *p,
		.path_mtu = settings->path_mtu != 0 ? settings->path_mtu : roce_path_mtu(p->mtu),
		.ns_per_tick = 1e9 / (double)rte_get_tsc_hz(),
		.connects = true,
	};
	sender->flows = calloc(p->n_flows, sizeof(*sender->flows));
	sender->slowed = calloc(p->n_flows, sizeof(struct roce_flow *));
	if (sender->flows == NULL || sender->slowed == NULL ||
	    !qp_table_create(&sender->table, RTE_MAX(2u, rte_align32pow2(2 * p->n_flows))) ||
	    dcqcn_init(&sender->dcqcn, &dcqcn_defaults, rate, rte_get_tsc_hz(), &why) != 0)
		return false;
	if (p->shares_port)
		sender->table.fixed_mask = sender->table.fixed = QP_NUMBER_SIDE;
	sender->requester = requester_create(&requester);
	return sender->requester != NULL &&
	       (settings->connection != ROCE_CONNECTION_CM || roce_sender_make_cm(sender));
}

void roce_sender_fini(struct roce_sender *sender)
{
	cm_destroy(sender->cm);
	requester_destroy(sender->requester);
	qp_table_destroy(&sender->table);
	free(sender->slowed);
	free(sender->flows);
}
