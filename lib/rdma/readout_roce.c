// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/readout_roce.h"

#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "base/counter.h"
#include "rdma/readout_roce_internal.h"
#include "rdma/roce_port.h"

#define HOLD_NS     2000000u    // ns without a packet until the next event may follow
#define PATIENCE_NS 500000000u  // ns to wait for acknowledgements at the end
#define LEAVE_NS    1000000000u // ns for acknowledgements and the end of the connections

// --- callbacks of the sender ---

static bool resolve(void *context, struct roce_flow *flow)
{
	const struct readout_roce *roce = context;

	return neighbours_get(roce->parameters.neighbours, readout_queue_of(roce, flow)->node,
			      flow->handle.peer_mac);
}

struct roce_block readout_block(const struct readout_roce *roce, const struct packet_segment *at)
{
	const struct block_packets *packets = roce->parameters.packets;

	return (struct roce_block){
		.block = block_packets_find(packets, at),
		.event_id = block_packets_event_id(packets, at->event),
	};
}

static struct roce_block find_block(void *context, const struct roce_flow *flow, uint64_t message)
{
	const struct packet_segment at = { .event = message >> 16,
					   .source = (unsigned)(message & 0xFFFF) };

	(void)flow;
	return readout_block(context, &at);
}

static void connected(void *context, struct roce_flow *flow)
{
	readout_queue_post(context, readout_queue_of(context, flow));
}

static void ended(void *context, struct roce_flow *flow, bool was_connected)
{
	if (was_connected)
		readout_queue_rewind(context, readout_queue_of(context, flow));
}

static void completed(void *context, struct roce_flow *flow, uint64_t message, bool failed)
{
	struct readout_queue *queue = readout_queue_of(context, flow);

	(void)message; // messages of a flow are completed in the order of its queue
	if (failed)
		return; // the connection ends, and the queue is rewound
	readout_queue_done(context, queue);
	readout_queue_post(context, queue);
}

static const struct roce_sender_operations operations = {
	.resolve = resolve,
	.find_block = find_block,
	.connected = connected,
	.ended = ended,
	.completed = completed,
	.request = readout_serve,
};

unsigned readout_roce_poll(struct readout_roce *roce, uint64_t now)
{
	return roce_sender_poll(&roce->sender, now);
}

// --- sending ---

struct rte_mbuf *readout_roce_next(struct readout_roce *roce, uint64_t now, uint32_t *payload)
{
	struct roce_outgoing outgoing;

	if (!roce_sender_next(&roce->sender, now, &outgoing))
		return roce->responder != NULL ? readout_serve_next(roce, payload) : NULL;
	if (!outgoing.again)
		readout_queue_of(roce, outgoing.flow)->left_at = now;
	*payload = outgoing.size;
	return outgoing.mbuf;
}

bool readout_roce_is_sent(const struct readout_roce *roce, unsigned builder, uint64_t now)
{
	const struct readout_queue *queue = &roce->queues[builder];
	const struct queue_pair *qp = queue->flow->qp;

	return qp == NULL || qp->state != QP_READY ||
	       (queue->next == queue->tail && qp->current == qp->posted) ||
	       now - queue->left_at > roce->hold_ticks;
}

bool readout_roce_is_connected(const struct readout_roce *roce)
{
	for (unsigned i = 0; i < roce->n_builders; i++)
		if (!roce->queues[i].is_local && roce->queues[i].flow->qp == NULL)
			return false;
	return true;
}

bool readout_roce_leave(struct readout_roce *roce, uint64_t tsc)
{
	struct roce_sender *sender = &roce->sender;
	uint64_t now = roce_sender_ns(sender, tsc);

	if (roce->leave_since == 0)
		roce->leave_since = now;
	if (!sender->leaving &&
	    (roce_sender_is_idle(sender) || now - roce->leave_since > PATIENCE_NS))
		roce_sender_leave(sender, now);
	return sender->leaving &&
	       (roce->counters.sender.connected == 0 || now - roce->leave_since > LEAVE_NS);
}

// --- creation ---

void readout_roce_destroy(struct readout_roce *roce)
{
	if (roce == NULL)
		return;
	roce_sender_fini(&roce->sender);
	responder_destroy(roce->responder);
	readout_queues_free(roce);
	rte_free(roce);
}

static void make_flow(struct readout_roce *roce, unsigned builder)
{
	const struct readout_roce_parameters *p = &roce->parameters;
	const struct block_packets_parameters *packets = &p->packets->parameters;
	const struct readout_destination *to = &p->builders[builder];
	struct roce_flow *flow = roce->queues[builder].flow;

	flow->wanted = !to->is_local;
	flow->service = p->settings->service == ROCE_UC ? ROCE_UC : ROCE_RC;
	flow->cm_port = (uint16_t)(p->settings->cm_service + to->index);
	flow->handle = (struct roce_address_handle){
		.own = qp_address_ipv4(packets->address),
		.peer = qp_address_ipv4(to->address),
		.source_port = roce_source_port(builder),
		.dscp = packets->dscp,
	};
	memcpy(flow->handle.own_mac, packets->mac, sizeof(flow->handle.own_mac));
}

static bool make_parts(struct readout_roce *roce)
{
	const struct readout_roce_parameters *p = &roce->parameters;
	const struct block_packets_parameters *packets = &p->packets->parameters;
	bool reads = p->settings->operation == ROCE_OPERATION_READ;
	uint32_t depth = rte_align32pow2(2 * roce->n_sources);
	const struct roce_sender_parameters sender = {
		.settings = p->settings,
		.operations = &operations,
		.context = roce,
		.sender = p->sender,
		.responses = p->responses,
		.counters = &roce->counters.sender,
		.pools = { .headers = packets->headers, .payloads = packets->payloads },
		.n_flows = p->n_builders,
		.depth = RTE_MIN(RTE_MAX(depth, ROCE_DEPTH), ROCE_DEPTH_MOST),
		.address = packets->address,
		.mtu = packets->mtu,
		.link_rate = p->link_rate,
		.max_reads = reads ? READOUT_READS : 0,
		.shares_port = true,
		.tests_idle = true,
	};

	if (!roce_sender_init(&roce->sender, &sender) || !readout_queues_make(roce))
		return false;
	for (unsigned i = 0; i < roce->n_builders; i++)
		make_flow(roce, i);
	return !reads || readout_serve_make(roce);
}

struct readout_roce *readout_roce_create(const struct readout_roce_parameters *parameters)
{
	struct readout_roce *roce = rte_zmalloc("readout_roce", sizeof(*roce), RTE_CACHE_LINE_SIZE);

	if (roce == NULL)
		return NULL;
	roce->parameters = *parameters;
	roce->n_builders = parameters->n_builders;
	roce->n_sources = parameters->packets->parameters.store->n_sources;
	roce->hold_ticks = (uint64_t)(HOLD_NS * 1e-9 * (double)rte_get_tsc_hz());
	if (!make_parts(roce)) {
		readout_roce_destroy(roce);
		return NULL;
	}
	roce->parameters.builders = NULL;
	return roce;
}

bool readout_roce_is_read(const struct readout_roce *roce)
{
	return roce->responder != NULL;
}

const struct readout_roce_counters *readout_roce_counters(const struct readout_roce *roce)
{
	return &roce->counters;
}

const struct queue_pair *readout_roce_qp(const struct readout_roce *roce, unsigned index)
{
	return roce->queues[index].flow->qp;
}
