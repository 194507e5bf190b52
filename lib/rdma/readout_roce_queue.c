// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The queues of events that wait for builders. Only the last grant of each event is valid.
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "base/counter.h"
#include "rdma/readout_roce_internal.h"

#define MARGIN 16u // extra room for void events that are not removed yet

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

static bool counts(const struct readout_roce *roce, const struct readout_queue *queue,
		   const struct queued_event *event)
{
	return is_latest(latest_of(roce, event->event), event->event, queue->builder,
			 event->attempt) &&
	       (!roce->parameters.holds_until_release || event->event >= roce->released);
}

// Updates the last grant when an event leaves the queue, sent or not.
static void leave(struct readout_roce *roce, const struct readout_queue *queue,
		  const struct queued_event *event)
{
	struct latest_grant *latest = latest_of(roce, event->event);

	roce->queued[event->event & roce->latest_mask]--;
	roce->n_queued--;
	if (is_latest(latest, event->event, queue->builder, event->attempt))
		latest->waits = false;
}

static void advance(struct readout_roce *roce, struct readout_queue *queue)
{
	while (queue->head != queue->next) {
		const struct queued_event *event = queued_event_at(queue, queue->head);

		if (event->done < roce->n_sources)
			return;
		leave(roce, queue, event);
		queue->head++;
	}
}

// Removes the void events, beginning at a serial number.
static void purge(struct readout_roce *roce, struct readout_queue *queue, uint32_t from)
{
	uint32_t to = from;

	for (uint32_t i = from; i != queue->tail; i++) {
		const struct queued_event event = *queued_event_at(queue, i);

		if (counts(roce, queue, &event)) {
			*queued_event_at(queue, to++) = event;
			continue;
		}
		leave(roce, queue, &event);
		counter_add(&roce->counters.withdrawn, 1);
	}
	queue->tail = to;
}

// The serial number of the first event without a posted message.
static uint32_t first_untouched(const struct readout_queue *queue)
{
	return queue->next +
	       (queue->next != queue->tail && queued_event_at(queue, queue->next)->posted > 0);
}

void readout_roce_granted(struct readout_roce *roce, const struct message *grant)
{
	struct latest_grant *latest = latest_of(roce, grant->event);

	if (is_latest(latest, grant->event, grant->builder, grant->attempt))
		return;
	// A late request of a builder: the event has been granted to another builder since.
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

bool readout_roce_holds(const struct readout_roce *roce, uint64_t event)
{
	return roce->queued[event & roce->latest_mask] > 0;
}

bool readout_roce_holds_any(const struct readout_roce *roce)
{
	return roce->n_queued > 0;
}

void readout_roce_released(struct readout_roce *roce, uint64_t event)
{
	roce->released = RTE_MAX(roce->released, event);
}

void readout_roce_forget(struct readout_roce *roce)
{
	roce->released = 0;
	memset(roce->latest, 0, (roce->latest_mask + 1) * sizeof(*roce->latest));
	for (unsigned i = 0; i < roce->n_builders; i++)
		purge(roce, &roce->queues[i], first_untouched(&roce->queues[i]));
}

bool readout_roce_post(struct readout_roce *roce, const struct message *grant)
{
	struct readout_queue *queue = &roce->queues[grant->builder];
	struct latest_grant *latest = latest_of(roce, grant->event);

	if (!is_latest(latest, grant->event, grant->builder, grant->attempt)) {
		counter_add(&roce->counters.withdrawn, 1);
		return true;
	}
	if (latest->waits)
		return true; // the grant was repeated
	if (queue->tail - queue->head > queue->mask)
		purge(roce, queue, first_untouched(queue));
	if (queue->tail - queue->head > queue->mask)
		return false;
	*queued_event_at(queue, queue->tail++) = (struct queued_event){
		.event = grant->event,
		.attempt = grant->attempt,
		.address = grant->address,
		.rkey = grant->rkey,
	};
	roce->queued[grant->event & roce->latest_mask]++;
	roce->n_queued++;
	latest->waits = true;
	readout_queue_post(roce, queue);
	return true;
}

static bool post_message(struct readout_roce *roce, const struct readout_queue *queue,
			 const struct queued_event *event)
{
	const struct packet_segment at = { .event = event->event, .source = event->posted };
	struct requester_message message =
	    roce_sender_message(&roce->sender, queue->flow, event->event << 16 | event->posted,
				block_packets_find(roce->parameters.packets, &at).size);

	message.immediate = (uint32_t)event->event;
	if (event->rkey != 0) {
		message.address = event->address;
		message.rkey = event->rkey;
	}
	return roce_sender_post(&roce->sender, queue->flow, &message);
}

void readout_queue_post(struct readout_roce *roce, struct readout_queue *queue)
{
	while (queue->flow->qp != NULL && queue->next != queue->tail) {
		struct queued_event *event = queued_event_at(queue, queue->next);

		if (event->posted == event->done && !counts(roce, queue, event)) {
			event->posted = event->done = (uint16_t)roce->n_sources;
			counter_add(&roce->counters.withdrawn, 1);
		}
		for (; event->posted < roce->n_sources; event->posted++)
			if (!post_message(roce, queue, event))
				return;
		queue->next++;
	}
	advance(roce, queue);
}

void readout_queue_done(struct readout_roce *roce, struct readout_queue *queue)
{
	advance(roce, queue); // past the withdrawn events
	queued_event_at(queue, queue->head)->done++;
	advance(roce, queue);
}

void readout_queue_rewind(struct readout_roce *roce, struct readout_queue *queue)
{
	for (uint32_t i = queue->head; i != queue->tail; i++)
		queued_event_at(queue, i)->posted = queued_event_at(queue, i)->done;
	queue->next = queue->head;
	purge(roce, queue, queue->head);
}

// Makes room for all events that the builder can have been granted, and for as many void events
// that are not removed yet.
static bool make_queue(struct readout_roce *roce, unsigned builder)
{
	const struct readout_destination *to = &roce->parameters.builders[builder];
	struct readout_queue *queue = &roce->queues[builder];
	uint32_t size = rte_align32pow2(2 * to->slots + MARGIN);

	queue->builder = (uint16_t)builder;
	queue->node = to->node;
	queue->is_local = to->is_local;
	queue->flow = &roce->sender.flows[builder];
	queue->events = calloc(size, sizeof(*queue->events));
	queue->mask = size - 1;
	return queue->events != NULL;
}

bool readout_queues_make(struct readout_roce *roce)
{
	roce->latest_mask = roce->parameters.unfinished - 1;
	roce->latest = calloc(roce->latest_mask + 1, sizeof(*roce->latest));
	roce->queues = calloc(roce->n_builders, sizeof(*roce->queues));
	roce->queued = calloc(roce->latest_mask + 1, sizeof(*roce->queued));
	if (roce->latest == NULL || roce->queues == NULL || roce->queued == NULL)
		return false;
	for (unsigned i = 0; i < roce->n_builders; i++)
		if (!make_queue(roce, i))
			return false;
	return true;
}

void readout_queues_free(struct readout_roce *roce)
{
	for (unsigned i = 0; roce->queues != NULL && i < roce->n_builders; i++)
		free(roce->queues[i].events);
	free(roce->queues);
	free(roce->latest);
	free(roce->queued);
}
