// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Connecting the queue pairs of a source that sends by RoCE.
#include <stdio.h>

#include "rdma/roce_source_internal.h"

static void lane_ready(struct roce_source *source, struct lane *lane, struct queue_pair *qp)
{
	lane->qp = qp;
	lane->ready = true;
	dcqcn_flow_init(&source->dcqcn, &lane->flow);
	counter_add(&source->counters.connected, 1);
}

enum roce_service roce_source_service(enum config_service service)
{
	static const enum roce_service services[] = {
		[CONFIG_SERVICE_RC] = ROCE_RC,
		[CONFIG_SERVICE_UC] = ROCE_UC,
		[CONFIG_SERVICE_UD] = ROCE_UD,
	};

	return services[service];
}

static bool connect_statically(struct roce_source *source, struct lane *lane,
			       const struct config_queue_pair *pair)
{
	const struct qp_connection connection = {
		.peer = lane->way.peer,
		.peer_qpn = pair->remote_qpn,
		.local_psn = pair->local_psn,
		.peer_psn = pair->remote_psn,
		.path_mtu = source->path_mtu,
		.qkey = source->config->q_key,
		.partition_key = source->config->partition_key,
		.timeout_code = source->config->timeout,
		.retry_count = source->config->retry_count,
		.rnr_retry = source->config->rnr_retry,
		.max_reads = 1,
		.user = lane,
	};
	struct queue_pair *qp =
	    qp_open(&source->table, roce_source_service(pair->service), pair->local_qpn, 0);

	if (qp == NULL || !qp_connect(qp, &connection))
		return false;
	lane->rkey = pair->rkey;
	lane->address = pair->virtual_address;
	lane->room = pair->size;
	lane_ready(source, lane, qp);
	return true;
}

// A capture's connections keep their service where RDMA CM knows it.
static uint8_t service_of(const struct roce_source *source, const struct lane *lane)
{
	unsigned index = (unsigned)(lane - source->lanes);

	if (source->script == NULL)
		return (uint8_t)roce_source_service(source->config->service);
	return source->script->streams[index].service == ROCE_UC ? ROCE_UC : ROCE_RC;
}

static void connect_lanes(struct roce_source *source, uint64_t now)
{
	if (source->n_asked + source->n_given_up == source->n_lanes)
		return;
	for (unsigned i = 0; i < source->n_lanes && source->n_connecting < ROCE_CLIENT_CONNECTING;
	     i++) {
		struct lane *lane = &source->lanes[i];
		const struct cm_destination destination = {
			.peer = lane->way.peer,
			.port = source->config->cm_service,
			.service = service_of(source, lane),
			.path_mtu = source->path_mtu,
			.user = lane,
		};

		if (lane->asked || lane->ready || lane->given_up)
			continue;
		lane->connection = cm_connect(source->cm, &destination, now);
		if (lane->connection == 0)
			return;
		lane->asked = true;
		source->n_asked++;
		source->n_connecting++;
	}
}

static void take_established(struct roce_source *source, const struct cm_event *event)
{
	struct lane *lane = event->user;

	source->n_connecting--;
	if (event->private_size >= 16) {
		lane->address = load_be64(event->private_data);
		lane->rkey = load_be32(event->private_data + 8);
		lane->room = load_be32(event->private_data + 12);
	}
	lane_ready(source, lane, event->qp);
}

// A connection that ends is tried anew; what was sent over it and not acknowledged is lost with it.
static void take_end(struct roce_source *source, const struct cm_event *event)
{
	struct lane *lane = event->user;
	struct requester_completion completion;

	if (lane->ready) {
		requester_flush(source->requester, lane->qp);
		while (requester_completion(source->requester, &completion)) {
			source->outstanding--;
			counter_add(&source->counters.failed_messages, 1);
		}
		source->counters.connected--;
	} else {
		source->n_connecting--;
		lane->given_up = source->script != NULL && ++lane->refusals >= REFUSALS_MOST;
		source->n_given_up += lane->given_up;
	}
	if (source->state < STATE_LEAVE)
		counter_add(&source->counters.failed, 1);
	lane->ready = lane->asked = false;
	source->n_asked--;
	lane->qp = NULL;
	cm_release(source->cm, event->id);
}

void roce_source_poll_cm(struct roce_source *source, uint64_t now)
{
	struct cm_datagram datagram;
	struct cm_event event;

	if (source->state == STATE_CONNECT || source->state == STATE_EVENTS)
		connect_lanes(source, now);
	while (sender_room(&source->sender, 2) && cm_poll(source->cm, now, &datagram)) {
		uint8_t headers[ROCE_MAX_HEADERS_SIZE];
		size_t size = roce_headers_encode(headers, &datagram.header);
		struct rte_mbuf *mbuf =
		    roce_frame_make(source->parameters.packets.headers, &source->lanes[0].way,
				    headers, size, datagram.mad, sizeof(datagram.mad));

		if (mbuf == NULL)
			break; // it is sent again
		sender_put(&source->sender, mbuf, 0, true);
	}
	while (cm_next_event(source->cm, &event)) {
		if (event.kind == CM_ESTABLISHED)
			take_established(source, &event);
		else if (event.kind == CM_REQUESTED)
			(void)cm_refuse(source->cm, event.id, ROCE_CM_CONSUMER_DEFINED, NULL, 0);
		else
			take_end(source, &event);
	}
}

// Whether the connections of a capture are one a source. False with one line in error.
static bool check_streams(const struct roce_source *source, char *error)
{
	for (unsigned i = 0; source->script != NULL && i < source->n_lanes; i++) {
		const struct roce_stream *stream = &source->script->streams[i];

		if (stream->mfps > 0 && !stream->is_mixed)
			continue;
		snprintf(error, ROCE_SOURCE_ERROR_SIZE,
			 "roce.queue_pairs: what was captured of queue pair 0x%x is %s, so none of "
			 "these stands for it: set roce.connection to \"cm\"",
			 stream->qpn, stream->mfps > 0 ? "of several sources" : "no MFP");
		return false;
	}
	return true;
}

bool roce_source_connect_statically(struct roce_source *source, char *error)
{
	if (!check_streams(source, error))
		return false;
	for (unsigned i = 0; i < source->n_lanes; i++) {
		const struct config_queue_pair *pair = NULL;

		for (unsigned j = 0; j < source->config->n_queue_pairs && pair == NULL; j++)
			if (source->config->queue_pairs[j].has_source &&
			    source->config->queue_pairs[j].source ==
				source->parameters.packets.set->ids[i])
				pair = &source->config->queue_pairs[j];
		if (pair == NULL || !connect_statically(source, &source->lanes[i], pair)) {
			snprintf(error, ROCE_SOURCE_ERROR_SIZE,
				 "roce.queue_pairs: source %u has no queue pair, or one whose "
				 "number's place is taken: give it one, or set roce.connection to "
				 "\"cm\"",
				 source->parameters.packets.set->ids[i]);
			return false;
		}
	}
	return true;
}
