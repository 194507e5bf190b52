// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which events wait for which builder, and which of them still count.
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "cluster/cluster.h"
#include "rdma/readout_roce_internal.h"

#define MARGIN 16u // events of a lane that are given up and not taken out yet

static struct latest_grant *latest_of(const struct readout_roce *roce, uint64_t event)
{
	return &roce->latest[event & roce->latest_mask];
}

static bool is_latest(const struct latest_grant *latest, uint64_t event, uint16_t builder,
		      uint16_t attempt)
{
	return latest->valid && latest->event == event && latest->builder == builder &&
	       latest->attempt == attempt;
}

static bool counts(const struct readout_roce *roce, const struct readout_lane *lane,
		   const struct lane_event *event)
{
	return is_latest(latest_of(roce, event->event), event->event, lane->builder,
			 event->attempt) &&
	       (!roce->held || event->event >= roce->released);
}

// An event of a lane ends, one way or another.
static void leave(struct readout_roce *roce, const struct readout_lane *lane,
		  const struct lane_event *event)
{
	struct latest_grant *latest = latest_of(roce, event->event);

	if (is_latest(latest, event->event, lane->builder, event->attempt))
		latest->waits = false;
}

static void advance(struct readout_roce *roce, struct readout_lane *lane)
{
	while (lane->head != lane->next) {
		const struct lane_event *event = lane_event_at(lane, lane->head);

		if (event->done < roce->n_sources)
			return;
		leave(roce, lane, event);
		lane->head++;
	}
}

// Takes out what waits, from a serial number on, and does not count any more.
static void purge(struct readout_roce *roce, struct readout_lane *lane, uint32_t from)
{
	uint32_t to = from;

	for (uint32_t i = from; i != lane->tail; i++) {
		const struct lane_event event = *lane_event_at(lane, i);

		if (counts(roce, lane, &event)) {
			*lane_event_at(lane, to++) = event;
			continue;
		}
		leave(roce, lane, &event);
		counter_add(&roce->counters.withdrawn, 1);
	}
	lane->tail = to;
}

// Of what waits the first may have begun.
static uint32_t first_untouched(const struct readout_lane *lane)
{
	return lane->next +
	       (lane->next != lane->tail && lane_event_at(lane, lane->next)->posted > 0);
}

void readout_roce_granted(struct readout_roce *roce, const struct message *grant)
{
	struct latest_grant *latest = latest_of(roce, grant->event);

	if (is_latest(latest, grant->event, grant->builder, grant->attempt))
		return;
	// A builder that asks late for what another has been granted since.
	if ((grant->flags & MESSAGE_REQUESTED) != 0 && latest->valid &&
	    latest->event == grant->event && grant->attempt < latest->attempt)
		return;
	*latest = (struct latest_grant){
		.event = grant->event,
		.builder = grant->builder,
		.attempt = grant->attempt,
		.valid = true,
	};
}

void readout_roce_released(struct readout_roce *roce, uint64_t event)
{
	roce->released = RTE_MAX(roce->released, event);
}

void readout_roce_forget(struct readout_roce *roce)
{
	roce->released = 0;
	memset(roce->latest, 0, (roce->latest_mask + 1) * sizeof(*roce->latest));
	for (unsigned i = 0; i < roce->n_lanes; i++)
		purge(roce, &roce->lanes[i], first_untouched(&roce->lanes[i]));
}

bool readout_roce_post(struct readout_roce *roce, const struct message *grant)
{
	struct readout_lane *lane = &roce->lanes[grant->builder];
	struct latest_grant *latest = latest_of(roce, grant->event);

	if (!is_latest(latest, grant->event, grant->builder, grant->attempt)) {
		counter_add(&roce->counters.withdrawn, 1);
		return true;
	}
	if (latest->waits)
		return true; // the grant was repeated
	if (lane->tail - lane->head > lane->mask)
		purge(roce, lane, first_untouched(lane));
	if (lane->tail - lane->head > lane->mask)
		return false;
	*lane_event_at(lane, lane->tail++) = (struct lane_event){
		.event = grant->event,
		.attempt = grant->attempt,
		.address = grant->address,
		.rkey = grant->rkey,
	};
	latest->waits = true;
	readout_queue_post(roce, lane);
	return true;
}

static bool post_message(struct readout_roce *roce, const struct readout_lane *lane,
			 const struct lane_event *event)
{
	enum config_operation operation = roce->config->operation;
	const struct packet_segment at = { .event = event->event, .source = event->posted };
	const struct requester_message message = {
		.user = event->event << 16 | event->posted,
		.address = event->rkey != 0 ? event->address : lane->address,
		.rkey = event->rkey != 0 ? event->rkey : lane->rkey,
		.length = block_packets_find(roce->parameters.packets, &at).size,
		.immediate = (uint32_t)event->event,
		.operation =
		    operation == CONFIG_OPERATION_WRITE || operation == CONFIG_OPERATION_WRITE_IMM
			? REQUESTER_WRITE
			: REQUESTER_SEND,
		.has_immediate = operation == CONFIG_OPERATION_SEND_IMM ||
				 operation == CONFIG_OPERATION_WRITE_IMM,
	};

	return requester_post(roce->requester, lane->qp, &message);
}

void readout_queue_post(struct readout_roce *roce, struct readout_lane *lane)
{
	while (lane->qp != NULL && lane->next != lane->tail) {
		struct lane_event *event = lane_event_at(lane, lane->next);

		if (event->posted == event->done && !counts(roce, lane, event)) {
			event->posted = event->done = (uint16_t)roce->n_sources;
			counter_add(&roce->counters.withdrawn, 1);
		}
		for (; event->posted < roce->n_sources; event->posted++)
			if (!post_message(roce, lane, event))
				return;
		lane->next++;
	}
	advance(roce, lane);
}

void readout_queue_done(struct readout_roce *roce, struct readout_lane *lane)
{
	advance(roce, lane); // past those that were given up
	lane_event_at(lane, lane->head)->done++;
	advance(roce, lane);
}

void readout_queue_rewind(struct readout_roce *roce, struct readout_lane *lane)
{
	for (uint32_t i = lane->head; i != lane->tail; i++)
		lane_event_at(lane, i)->posted = lane_event_at(lane, i)->done;
	lane->next = lane->head;
	purge(roce, lane, lane->head);
}

// As many as a builder can have been granted, and as wait to be taken out.
static bool make_lane(struct readout_roce *roce, unsigned builder)
{
	const struct config_cluster *cluster = &roce->parameters.config->cluster;
	struct readout_lane *lane = &roce->lanes[builder];
	uint32_t size = rte_align32pow2(2 * cluster->builders[builder].slots + MARGIN);

	lane->builder = (uint16_t)builder;
	lane->local = cluster->builders[builder].node == cluster->self;
	lane->events = calloc(size, sizeof(*lane->events));
	lane->mask = size - 1;
	return lane->events != NULL;
}

bool readout_queue_make(struct readout_roce *roce)
{
	roce->latest_mask = cluster_unfinished(roce->parameters.config) - 1;
	roce->latest = calloc(roce->latest_mask + 1, sizeof(*roce->latest));
	roce->lanes = calloc(roce->n_lanes, sizeof(*roce->lanes));
	if (roce->latest == NULL || roce->lanes == NULL)
		return false;
	for (unsigned i = 0; i < roce->n_lanes; i++)
		if (!make_lane(roce, i))
			return false;
	return true;
}

void readout_queue_free(struct readout_roce *roce)
{
	for (unsigned i = 0; roce->lanes != NULL && i < roce->n_lanes; i++)
		free(roce->lanes[i].events);
	free(roce->lanes);
	free(roce->latest);
}
