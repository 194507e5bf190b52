// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/readout_roce.h"

#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "rdma/readout_roce_internal.h"
#include "rdma/roce_answers.h"
#include "rdma/roce_packets.h"

#define HOLD_NS      2000000u    // without a packet, and the next event's turn comes
#define PATIENCE_NS  500000000u  // for acknowledgements, at the end
#define LEAVE_NS     1000000000u // for that and the end of the connections
#define DEPTH_LEAST  64u         // messages posted to a queue pair
#define DEPTH_MOST   4096u
#define DEFAULT_RATE 12500000000u // bytes/s of a link whose rate is not known: 100 Gb/s

// --- receiving ---

static void take_cnp(struct readout_roce *roce, struct queue_pair *qp, uint64_t tsc)
{
	counter_add(&roce->counters.cnps, 1);
	qp_count(&qp->counters.cnp_received, 1);
	if (roce->config->dcqcn)
		dcqcn_cnp(&roce->dcqcn, &readout_lane_of(qp)->flow, tsc);
}

static void take_packet(struct readout_roce *roce, const struct roce_answer *answer, uint64_t now,
			uint64_t tsc)
{
	struct queue_pair *qp = qp_find(&roce->table, answer->packet.destination_qpn);
	struct requester_data data;

	if (qp == NULL || readout_lane_of(qp) == NULL)
		counter_add(&roce->counters.unknown_qp, 1);
	else if ((answer->packet.flags & ROCE_REQUEST) != 0 && roce->responder != NULL)
		readout_serve(roce, qp, &answer->packet, &answer->peer, now);
	else if ((answer->packet.flags & ROCE_IS_CNP) != 0)
		take_cnp(roce, qp, tsc);
	else
		(void)requester_receive(roce->requester, qp, &answer->packet, &answer->peer, now,
					&data); // of a SEND or WRITE: no data
}

static void take_answer(struct readout_roce *roce, const struct rte_mbuf *mbuf, uint64_t now,
			uint64_t tsc)
{
	struct roce_answer answer;

	switch (roce_answer_take(mbuf, roce->config->icrc != CONFIG_ICRC_IGNORE, &answer)) {
	case ROCE_ANSWER_NONE:
		break;
	case ROCE_ANSWER_BAD_ICRC:
		counter_add(&roce->counters.icrc_errors, 1);
		break;
	case ROCE_ANSWER_PACKET:
		take_packet(roce, &answer, now, tsc);
		break;
	case ROCE_ANSWER_MANAGEMENT:
		readout_connect_receive(roce, &answer.packet, answer.payload, &answer.peer, now);
		break;
	}
}

void readout_take_completions(struct readout_roce *roce)
{
	struct requester_completion completion;

	while (requester_completion(roce->requester, &completion)) {
		if (completion.user == READOUT_ALIVE)
			continue;
		if (completion.cause != QP_NO_CAUSE) {
			counter_add(&roce->counters.failed, 1);
			continue; // its connection ends: what was posted waits again
		}
		counter_add(&roce->counters.completed, 1);
		readout_queue_done(roce, readout_lane_of(completion.qp));
		readout_queue_post(roce, readout_lane_of(completion.qp));
	}
}

static void set_rates(struct readout_roce *roce, uint64_t tsc)
{
	for (unsigned i = 0; roce->config->dcqcn && i < roce->n_lanes; i++) {
		struct readout_lane *lane = &roce->lanes[i];

		if (lane->qp != NULL && lane->flow.limited &&
		    dcqcn_poll(&roce->dcqcn, &lane->flow, tsc))
			requester_set_rate(lane->qp, lane->flow.limited ? lane->flow.rate : 0);
	}
}

static uint64_t to_ns(const struct readout_roce *roce, uint64_t tsc)
{
	return (uint64_t)((double)tsc * roce->ns_per_tick);
}

unsigned readout_roce_poll(struct readout_roce *roce, uint64_t tsc)
{
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n = link_dequeue(roce->parameters.responses, mbufs, ROLE_BURST);
	uint64_t now = to_ns(roce, tsc);

	for (unsigned i = 0; i < n; i++)
		take_answer(roce, mbufs[i], now, tsc);
	rte_pktmbuf_free_bulk(mbufs, n);
	readout_connect_poll(roce, now);
	readout_take_completions(roce);
	set_rates(roce, tsc);
	return n;
}

// --- sending ---

struct rte_mbuf *readout_roce_next(struct readout_roce *roce, uint64_t tsc, uint32_t *payload)
{
	static const struct source_block nothing;
	struct block_packets *packets = roce->parameters.packets;
	struct requester_packet packet;
	struct packet_segment at;
	struct source_block block;
	struct readout_lane *lane;

	if (!requester_poll(roce->requester, to_ns(roce, tsc), &packet))
		return roce->responder != NULL ? readout_serve_next(roce, payload) : NULL;
	lane = readout_lane_of(packet.qp);
	if (!packet.again)
		lane->left_at = tsc;
	*payload = packet.size;
	if (packet.user == READOUT_ALIVE)
		return roce_packets_make(&packets->parameters, &lane->way, &packet, &nothing, 0,
					 false);
	at = (struct packet_segment){ .event = packet.user >> 16,
				      .source = (unsigned)(packet.user & 0xFFFF) };
	block = block_packets_find(packets, &at);
	if (roce->config->dcqcn)
		dcqcn_sent(&roce->dcqcn, &lane->flow, packet.size, tsc);
	// Without an mbuf it is as if it had been lost.
	return roce_packets_make(&packets->parameters, &lane->way, &packet, &block,
				 block_packets_event_id(packets, at.event),
				 block.bytes == packets->odin_block);
}

bool readout_roce_is_sent(const struct readout_roce *roce, unsigned builder, uint64_t now)
{
	const struct readout_lane *lane = &roce->lanes[builder];

	return lane->qp == NULL || lane->qp->state != QP_READY ||
	       (lane->next == lane->tail && lane->qp->current == lane->qp->posted) ||
	       now - lane->left_at > roce->hold_ticks;
}

bool readout_roce_is_connected(const struct readout_roce *roce)
{
	for (unsigned i = 0; i < roce->n_lanes; i++)
		if (!roce->lanes[i].local && roce->lanes[i].qp == NULL)
			return false;
	return true;
}

static bool is_quiet(const struct readout_roce *roce)
{
	for (unsigned i = 0; i < roce->n_lanes; i++)
		if (roce->lanes[i].qp != NULL && requester_unfinished(roce->lanes[i].qp) > 0)
			return false;
	return true;
}

bool readout_roce_leave(struct readout_roce *roce, uint64_t tsc)
{
	uint64_t now = to_ns(roce, tsc);

	if (roce->leave_since == 0)
		roce->leave_since = now;
	if (!roce->leaving && (is_quiet(roce) || now - roce->leave_since > PATIENCE_NS))
		readout_connect_leave(roce, now);
	return roce->leaving &&
	       (roce->counters.connected == 0 || now - roce->leave_since > LEAVE_NS);
}

// --- creation ---

void readout_roce_destroy(struct readout_roce *roce)
{
	if (roce == NULL)
		return;
	cm_destroy(roce->cm);
	requester_destroy(roce->requester);
	responder_destroy(roce->responder);
	region_table_destroy(&roce->regions);
	qp_table_destroy(&roce->table);
	readout_queue_free(roce);
	rte_free(roce);
}

static bool make_requester(struct readout_roce *roce)
{
	const struct config_roce *config = roce->config;
	uint32_t depth = rte_align32pow2(2 * roce->n_sources);
	const struct requester_parameters parameters = {
		.table = &roce->table,
		.depth = RTE_MIN(RTE_MAX(depth, DEPTH_LEAST), DEPTH_MOST),
		.window = RTE_MAX(config->window, 2u),
		.ack_interval = RTE_MAX(config->window / 2, 1u),
		.burst = ROLE_BURST,
	};

	roce->requester = requester_create(&parameters);
	return roce->requester != NULL;
}

static bool make_parts(struct readout_roce *roce)
{
	const struct config *config = roce->parameters.config;
	uint64_t rate = config->ports[roce->parameters.port].link_rate / 8;
	const char *why;

	if (!qp_table_create(&roce->table,
			     RTE_MAX(2u, rte_align32pow2(2 * (uint32_t)roce->n_lanes))))
		return false;
	roce->table.fixed_mask = roce->table.fixed = QP_NUMBER_SIDE;
	return readout_queue_make(roce) &&
	       dcqcn_init(&roce->dcqcn, &dcqcn_defaults, rate != 0 ? rate : DEFAULT_RATE,
			  rte_get_tsc_hz(), &why) == 0 &&
	       make_requester(roce) &&
	       (config->roce.operation != CONFIG_OPERATION_READ || readout_serve_make(roce)) &&
	       readout_connect_make(roce);
}

struct readout_roce *readout_roce_create(const struct readout_roce_parameters *parameters,
					 char *error)
{
	const struct config *config = parameters->config;
	double hz = (double)rte_get_tsc_hz();
	struct readout_roce *roce = rte_zmalloc("readout_roce", sizeof(*roce), RTE_CACHE_LINE_SIZE);

	snprintf(error, READOUT_ROCE_ERROR_SIZE, "role %s: no memory for its queue pairs",
		 parameters->name);
	if (roce == NULL)
		return NULL;
	roce->parameters = *parameters;
	roce->config = &config->roce;
	roce->n_lanes = config->cluster.n_builders;
	roce->n_sources = parameters->packets->parameters.set->n_sources;
	roce->held = config->event_manager.mode != CONFIG_MODE_STATIC;
	roce->ns_per_tick = 1e9 / hz;
	roce->hold_ticks = (uint64_t)(HOLD_NS * hz * 1e-9);
	roce->path_mtu = config->roce.path_mtu != 0
			     ? config->roce.path_mtu
			     : roce_path_mtu(parameters->packets->parameters.mtu);
	if (!make_parts(roce)) {
		readout_roce_destroy(roce);
		return NULL;
	}
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
	return roce->lanes[index].qp;
}
