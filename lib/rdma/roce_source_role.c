// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_random.h>

#include "rdma/roce_answers.h"
#include "rdma/roce_packets.h"
#include "rdma/roce_source_internal.h"
#include "wire/mfp.h"

static struct roce_source *source_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct roce_source, role));
}

static bool all_ready(const struct roce_source *source)
{
	return source->counters.connected + source->n_given_up == source->n_lanes;
}

// --- receiving ---

static void take_cnp(struct roce_source *source, struct queue_pair *qp, uint64_t tsc)
{
	counter_add(&source->counters.cnps, 1);
	qp_count(&qp->counters.cnp_received, 1);
	if (source->config->dcqcn)
		dcqcn_cnp(&source->dcqcn, &lane_of(qp)->flow, tsc);
}

static void take_packet(struct roce_source *source, const struct roce_answer *answer, uint64_t now,
			uint64_t tsc)
{
	struct queue_pair *qp = qp_find(&source->table, answer->packet.destination_qpn);
	struct requester_data data;

	if (qp == NULL || lane_of(qp) == NULL)
		counter_add(&source->counters.unknown_qp, 1);
	else if ((answer->packet.flags & ROCE_IS_CNP) != 0)
		take_cnp(source, qp, tsc);
	else
		(void)requester_receive(source->requester, qp, &answer->packet, &answer->peer, now,
					&data); // of a SEND or WRITE: no data
}

static void take_answer(struct roce_source *source, const struct rte_mbuf *mbuf, uint64_t now,
			uint64_t tsc)
{
	struct roce_answer answer;

	switch (roce_answer_take(mbuf, source->config->icrc != CONFIG_ICRC_IGNORE, &answer)) {
	case ROCE_ANSWER_NONE:
		break;
	case ROCE_ANSWER_BAD_ICRC:
		counter_add(&source->counters.icrc_errors, 1);
		break;
	case ROCE_ANSWER_PACKET:
		take_packet(source, &answer, now, tsc);
		break;
	case ROCE_ANSWER_MANAGEMENT:
		if (source->cm != NULL)
			cm_receive(source->cm, &answer.packet, answer.payload, &answer.peer, now);
		break;
	}
}

static unsigned take_responses(struct roce_source *source, uint64_t now, uint64_t tsc)
{
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n = link_dequeue(source->responses, mbufs, ROLE_BURST);

	for (unsigned i = 0; i < n; i++)
		take_answer(source, mbufs[i], now, tsc);
	rte_pktmbuf_free_bulk(mbufs, n);
	return n;
}

// --- sending ---

static struct source_block block_of(struct roce_source *source, const struct lane *lane,
				    uint64_t event)
{
	const struct packet_segment at = { .event = event,
					   .source = (unsigned)(lane - source->lanes) };

	if (source->script != NULL)
		return roce_source_script_block(source, event);
	if (event == END_MESSAGE)
		return (struct source_block){ .bytes = lane->end, .size = sizeof(lane->end) };
	return block_packets_find(&source->packets, &at);
}

bool roce_source_post(struct roce_source *source, struct lane *lane,
		      struct requester_message *message)
{
	if (lane->qp->service == ROCE_UD) {
		message->peer_qpn = lane->qp->peer_qpn;
		message->qkey = source->config->q_key;
	}
	if (!requester_post(source->requester, lane->qp, message))
		return false;
	source->outstanding++;
	return true;
}

static bool post(struct roce_source *source, struct lane *lane, uint64_t event)
{
	static const bool writes[] = {
		[CONFIG_OPERATION_WRITE] = true, [CONFIG_OPERATION_WRITE_IMM] = true
	};
	static const bool immediates[] = {
		[CONFIG_OPERATION_SEND_IMM] = true, [CONFIG_OPERATION_WRITE_IMM] = true
	};
	enum config_operation operation = source->config->operation;
	struct source_block block;
	struct requester_message message = {
		.user = event,
		.address = lane->address,
		.rkey = lane->rkey,
		.immediate = (uint32_t)event,
		.operation = operation < RTE_DIM(writes) && writes[operation] ? REQUESTER_WRITE
									      : REQUESTER_SEND,
		.has_immediate = operation < RTE_DIM(immediates) && immediates[operation],
	};

	if (!lane->ready)
		return false;
	block = block_of(source, lane, event);
	message.length = block.size;
	return roce_source_post(source, lane, &message);
}

static bool is_due(const struct roce_source *source, uint64_t tsc)
{
	return source->cycles_per_event == 0 ||
	       (double)(tsc - source->start) >= (double)source->event * source->cycles_per_event;
}

// Posts what is due, event by event; returns how many messages.
static unsigned post_events(struct roce_source *source, uint64_t tsc)
{
	unsigned n = 0;

	while (n < ROLE_BURST && source->event < source->last_event) {
		if (source->source == 0 && (source->stopping || !is_due(source, tsc)))
			break;
		if (!post(source, &source->lanes[source->source], source->event))
			break;
		n++;
		if (++source->source == source->n_lanes) {
			source->source = 0;
			source->event++;
			counter_add(&source->source_counters.events, 1);
		}
	}
	return n;
}

static unsigned post_ends(struct roce_source *source)
{
	unsigned n = 0;

	while (n < ROLE_BURST && source->source < source->n_lanes &&
	       post(source, &source->lanes[source->source], END_MESSAGE)) {
		source->source++;
		n++;
	}
	return n;
}

static bool make_packet(struct roce_source *source, const struct requester_packet *packet,
			uint64_t tsc)
{
	struct lane *lane = lane_of(packet->qp);
	struct source_block block = block_of(source, lane, packet->user);
	uint64_t id = packet->user == END_MESSAGE ? MFP_END_OF_RUN
		      : source->script == NULL
			  ? block_packets_event_id(&source->packets, packet->user)
		      : block.size >= MFP_HEADER_SIZE ? load_le64(block.bytes + 8)
						      : 0; // nothing is named
	struct rte_mbuf *mbuf =
	    roce_packets_make(&source->packets.parameters, &lane->way, packet, &block, id,
			      block.bytes == source->packets.odin_block);

	if (mbuf == NULL)
		return false; // as if it had been lost
	if (source->config->dcqcn)
		dcqcn_sent(&source->dcqcn, &lane->flow, packet->size, tsc);
	sender_put(&source->sender, mbuf, 0, packet->user == END_MESSAGE);
	counter_add(&source->source_counters.segments, 1);
	counter_add(&source->source_counters.payload_bytes, packet->size);
	return true;
}

static bool is_held(struct roce_source *source, uint64_t tsc)
{
	const struct config_port *port = &source->parameters.config->ports[source->port];

	if (source->flow_control == NULL ||
	    !flow_control_paused(source->flow_control, port->flow_control.priority, tsc))
		return false;
	counter_add(&source->counters.held_pause, 1);
	return true;
}

static unsigned send_packets(struct roce_source *source, uint64_t now, uint64_t tsc)
{
	struct requester_packet packet;
	unsigned n = 0;

	if (is_held(source, tsc))
		return 0;
	while (n < ROLE_BURST && sender_room(&source->sender, 2) &&
	       requester_poll(source->requester, now, &packet)) {
		if (!make_packet(source, &packet, tsc)) {
			counter_add(&source->source_counters.no_buffer, 1);
			break;
		}
		n++;
	}
	return n;
}

static void take_completions(struct roce_source *source)
{
	struct requester_completion completion;

	while (requester_completion(source->requester, &completion)) {
		source->outstanding--;
		if (completion.cause == QP_NO_CAUSE) {
			counter_add(&source->counters.completed, 1);
			if (completion.user != END_MESSAGE)
				counter_add(&source->source_counters.blocks, 1);
		} else {
			counter_add(&source->counters.failed_messages, 1);
		}
	}
}

static void pace(struct roce_source *source, uint64_t tsc)
{
	if (!source->config->dcqcn)
		return;
	for (unsigned i = 0; i < source->n_lanes; i++) {
		struct lane *lane = &source->lanes[i];

		if (lane->ready && lane->flow.limited &&
		    dcqcn_poll(&source->dcqcn, &lane->flow, tsc))
			requester_set_rate(lane->qp, lane->flow.limited ? lane->flow.rate : 0);
	}
}

static void disconnect(struct roce_source *source, uint64_t now)
{
	for (unsigned i = 0; source->cm != NULL && i < source->n_lanes; i++)
		if (source->lanes[i].ready)
			(void)cm_disconnect(source->cm, source->lanes[i].connection, now);
}

static void finish(struct roce_source *source)
{
	source->state = STATE_FINISHED;
	atomic_store_explicit(&source->finished, true, memory_order_release);
}

static void next_state(struct roce_source *source, uint64_t now, uint64_t tsc)
{
	switch (source->state) {
	case STATE_CONNECT:
		if (all_ready(source)) {
			source->state = STATE_EVENTS;
			source->start = tsc;
		} else if (source->stopping) {
			finish(source);
		}
		break;
	case STATE_EVENTS:
		if (source->script != NULL) {
			if (source->stopping || roce_source_script_is_sent(source))
				source->state = STATE_SETTLE;
		} else if (source->source == 0 &&
			   (source->stopping || source->event >= source->last_event))
			source->state = STATE_END_OF_RUN;
		break;
	case STATE_END_OF_RUN:
		if (source->source == source->n_lanes)
			source->state = STATE_SETTLE;
		break;
	case STATE_SETTLE:
		if (source->outstanding == 0 && sender_settle(&source->sender) &&
		    source->sender.n_out == 0) {
			source->state = STATE_LEAVE;
			source->left_at = now;
			disconnect(source, now);
		}
		break;
	case STATE_LEAVE:
		if (source->cm == NULL || source->counters.connected == 0 ||
		    now - source->left_at > LEAVE_NS)
			finish(source);
		break;
	case STATE_FINISHED:
		break;
	}
}

static unsigned roce_source_poll(struct role *role, uint64_t tsc)
{
	struct roce_source *source = source_of(role);
	uint64_t now = (uint64_t)((double)tsc * source->ns_per_tick);
	unsigned done = take_responses(source, now, tsc), sent;

	if (source->cm != NULL)
		roce_source_poll_cm(source, now);
	if (source->state == STATE_EVENTS)
		done += source->script != NULL ? roce_source_post_script(source, tsc)
					       : post_events(source, tsc);
	if (source->state == STATE_END_OF_RUN)
		done += post_ends(source);
	done += send_packets(source, now, tsc);
	take_completions(source);
	sent = sender_flush(&source->sender);
	next_state(source, now, tsc);
	role->backpressured = done == 0 && sent == 0 && source->sender.n_out > 0;
	return role->backpressured ? 0 : done + sent;
}

static void roce_source_housekeep(struct role *role, uint64_t tsc)
{
	pace(source_of(role), tsc);
}

static bool roce_source_drain(struct role *role, uint64_t now)
{
	struct roce_source *source = source_of(role);

	source->stopping = true;
	(void)roce_source_poll(role, now);
	return source->state == STATE_FINISHED;
}

static void roce_source_fini(struct role *role)
{
	struct roce_source *source = source_of(role);

	sender_fini(&source->sender);
	cm_destroy(source->cm);
	requester_destroy(source->requester);
	qp_table_destroy(&source->table);
	block_packets_fini(&source->packets);
	free(source->lanes);
	rte_free(source);
}

static const struct role_operations roce_source_operations = {
	.kind = "source",
	.poll = roce_source_poll,
	.housekeep = roce_source_housekeep,
	.drain = roce_source_drain,
	.fini = roce_source_fini,
};

// --- creation ---

static bool make_engines(struct roce_source *source)
{
	const struct config_roce *config = source->config;
	const struct requester_parameters requester = {
		.table = &source->table,
		.depth = DEPTH,
		.window = config->window,
		.ack_interval = RTE_MAX(config->window / 2, 1u),
		.burst = ROLE_BURST,
	};
	const struct roce_client_parameters client = {
		.config = config,
		.table = &source->table,
		.address = source->parameters.packets.address,
		.path_mtu = source->path_mtu,
		.max_reads = 1,
	};

	source->requester = requester_create(&requester);
	if (config->connection == CONFIG_CONNECTION_CM)
		source->cm = roce_client_create_cm(&client);
	return source->requester != NULL &&
	       (config->connection != CONFIG_CONNECTION_CM || source->cm != NULL);
}

static void make_lane(struct roce_source *source, unsigned index)
{
	const struct roce_source_parameters *p = &source->parameters;
	struct lane *lane = &source->lanes[index];
	struct mfp_header header = { .event_id = MFP_END_OF_RUN,
				     .source_id = p->packets.set->ids[index] };

	memcpy(lane->way.own_mac, p->packets.mac, sizeof(lane->way.own_mac));
	memcpy(lane->way.peer_mac, p->destination_mac, sizeof(lane->way.peer_mac));
	lane->way.own = qp_address_ipv4(p->packets.address);
	lane->way.peer = qp_address_ipv4(p->generator->destination_address);
	lane->way.source_port = (uint16_t)(FIRST_PORT + index % SOURCE_PORTS);
	(void)mfp_encode_header(lane->end, sizeof(lane->end), &header, NULL, NULL);
}

static bool make_parts(struct roce_source *source)
{
	const struct roce_source_parameters *p = &source->parameters;
	uint64_t rate = p->config->ports[source->port].link_rate / 8;
	const char *why;

	sender_init(&source->sender, p->port_id, p->queue, p->packets.headers,
		    &p->generator->faults, p->generator->seed);
	source->lanes = calloc(source->n_lanes, sizeof(*source->lanes));
	if (source->lanes == NULL || !block_packets_init(&source->packets, &p->packets) ||
	    !qp_table_create(&source->table, RTE_MAX(2u, rte_align32pow2(2 * source->n_lanes))) ||
	    dcqcn_init(&source->dcqcn, &dcqcn_defaults, rate != 0 ? rate : DEFAULT_RATE,
		       rte_get_tsc_hz(), &why) != 0)
		return false;
	for (unsigned i = 0; i < source->n_lanes; i++)
		make_lane(source, i);
	return make_engines(source);
}

static unsigned find_port(const struct config *config, const char *name)
{
	unsigned i = 0;

	while (i + 1 < config->n_ports && strcmp(config->ports[i].name, name) != 0)
		i++;
	return i;
}

struct role *roce_source_role_create(const struct roce_source_parameters *parameters, char *error)
{
	const struct roce_source_parameters *p = parameters;
	double hz = (double)rte_get_tsc_hz();
	struct roce_source *source =
	    rte_zmalloc_socket("source", sizeof(*source), RTE_CACHE_LINE_SIZE, p->numa_node);

	snprintf(error, ROCE_SOURCE_ERROR_SIZE, "role %s: out of memory", p->name);
	if (source == NULL)
		return NULL;
	source->role.operations = &roce_source_operations;
	snprintf(source->role.name, sizeof(source->role.name), "%s", p->name);
	source->parameters = *p;
	source->config = &p->config->roce;
	source->responses = p->responses;
	source->flow_control = p->flow_control;
	source->port = find_port(p->config, p->generator->port);
	source->n_lanes = p->packets.set->n_sources;
	source->script = p->packets.set->script;
	source->last_event = p->generator->events > 0 ? p->generator->events : UINT64_MAX;
	source->cycles_per_event = p->generator->rate > 0 ? hz / p->generator->rate : 0;
	source->ns_per_tick = 1e9 / hz;
	source->path_mtu = source->config->path_mtu != 0 ? source->config->path_mtu
							 : roce_path_mtu(p->packets.mtu);
	if (!make_parts(source) ||
	    (source->cm == NULL && !roce_source_connect_statically(source, error))) {
		roce_source_fini(&source->role);
		return NULL;
	}
	return &source->role;
}

bool roce_source_role_is(const struct role *role)
{
	return role->operations == &roce_source_operations;
}

const struct source_counters *roce_source_role_source_counters(const struct role *role)
{
	return &source_of(role)->source_counters;
}

const struct roce_source_counters *roce_source_role_counters(const struct role *role)
{
	return &source_of(role)->counters;
}

const struct sender_counters *roce_source_role_sender_counters(const struct role *role)
{
	return &source_of(role)->sender.counters;
}

bool roce_source_role_finished(const struct role *role)
{
	return atomic_load_explicit(&source_of(role)->finished, memory_order_acquire);
}

const struct queue_pair *roce_source_role_qp(const struct role *role, unsigned index)
{
	return source_of(role)->lanes[index].qp;
}
