// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/readout_internal.h"

#include <rte_common.h>

#define UP_SECONDS 2u // for connections to all builders when a run begins

void readout_forget_grants(struct readout *readout)
{
	send_queue_clear(&readout->queue);
	readout_pace_clear(&readout->pace);
	if (readout->roce != NULL)
		readout_roce_forget(readout->roce);
}

// --- messages of the control role ---

static void set_run_state(struct readout *readout, const struct message *message, uint64_t now)
{
	if (message->run != readout->run) {
		if (readout->roce != NULL)
			readout_roce_forget(readout->roce);
		readout->run = message->run;
		readout->first = readout->released = readout->announced = message->event;
		readout->begins = true;
		readout->static_next = message->event;
		readout->run_end = UINT64_MAX;
		readout->ended = readout->is_up = false;
		readout->start = now;
	}
	readout->state = (enum ctrl_run_state)message->state;
	if (readout->state == CTRL_DRAINING)
		readout->run_end = message->event;
	if (readout->state == CTRL_STOPPED)
		readout_forget_grants(readout);
}

static void release(struct readout *readout, uint64_t event)
{
	readout->released = RTE_MAX(readout->released, event);
	if (readout->roce != NULL)
		readout_roce_released(readout->roce, readout->released);
}

static bool queue_grant(struct readout *readout, const struct message *grant)
{
	if (readout->roce != NULL)
		readout_roce_granted(readout->roce, grant);
	if (!send_queue_put(&readout->queue, grant))
		return false;
	readout_pace_add(&readout->pace, grant->builder);
	return true;
}

// Events that builders request are sent to the builders in turn. Each readout begins the turn with
// another builder.
static void take_grant(struct readout *readout, struct message grant)
{
	if ((grant.flags & MESSAGE_REQUESTED) != 0) {
		grant.round = 0;
		grant.position = grant.builder;
		grant.n_positions = (uint16_t)readout->parameters.n_builders;
	}
	if (!queue_grant(readout, &grant))
		counter_add(&readout->counters.gone, 1);
}

void readout_handle_message(struct readout *readout, const struct message *message, uint64_t now)
{
	switch (message->kind) {
	case MESSAGE_RUN:
		set_run_state(readout, message, now);
		break;
	case MESSAGE_RELEASE:
		release(readout, message->event);
		break;
	case MESSAGE_THROTTLE:
		readout->throttled = message->state != 0;
		break;
	case MESSAGE_SEND:
		take_grant(readout, *message);
		break;
	default:
		break;
	}
}

// --- the block store ---

static const struct block_store *store_of(const struct readout *readout)
{
	return readout->parameters.packets.store;
}

// Whether a packet of the event may still be made. Packets that were made keep their bytes.
static bool is_in_use(const struct readout *readout, uint64_t event)
{
	return (readout->sending && readout->grant.event == event) ||
	       (readout->roce != NULL && readout_roce_holds(readout->roce, event));
}

// The events of the previous run that are in use come first.
static void begin_store(struct readout *readout)
{
	if (readout->sending || (readout->roce != NULL && readout_roce_holds_any(readout->roce)))
		return;
	block_store_begin(readout->parameters.packets.store, readout->first);
	readout->freed = readout->first;
	readout->begins = false;
}

// Nobody confirms in static mode: an event is finished when it is sent.
void readout_tend_store(struct readout *readout, uint64_t now)
{
	struct block_store *store = readout->parameters.packets.store;
	uint64_t before = readout->freed;

	block_store_poll(store, now);
	if (readout->begins) {
		begin_store(readout);
		return;
	}
	if (readout->parameters.is_static &&
	    (readout->sending || send_queue_length(&readout->queue) > 0))
		return;
	while (readout->freed < readout->released && !is_in_use(readout, readout->freed))
		readout->freed++;
	if (readout->freed != before)
		block_store_release(store, readout->freed);
}

// --- announcing ---

// The first event that the run does not have.
static uint64_t end_of_events(const struct readout *readout)
{
	uint64_t end = RTE_MIN(readout->own_end, readout->run_end);

	return RTE_MIN(end, store_of(readout)->end);
}

// The first event that the readout does not have yet.
static uint64_t produced(const struct readout *readout, uint64_t now)
{
	uint64_t end = RTE_MIN(end_of_events(readout), store_of(readout)->ready);

	end = RTE_MIN(end, readout->released + readout->parameters.source_buffer);
	if (readout->cycles_per_event > 0) {
		double made = (double)(now - readout->start) / readout->cycles_per_event;

		end = RTE_MIN(end, readout->first + (uint64_t)made);
	}
	return RTE_MAX(end, readout->announced);
}

// The builders wait for events that are announced. Therefore nothing is announced before RoCE can
// bring it to all builders, or the time for connecting is over.
static bool is_up(struct readout *readout, uint64_t now)
{
	if (!readout->is_up)
		readout->is_up = readout->roce == NULL ||
				 readout_roce_is_connected(readout->roce) ||
				 now - readout->start > UP_SECONDS * readout->hz;
	return readout->is_up;
}

static bool may_announce(struct readout *readout, uint64_t now)
{
	if ((readout->state != CTRL_RUNNING && readout->state != CTRL_DRAINING) ||
	    readout->begins || !is_up(readout, now))
		return false;
	if (!readout->throttled || readout->state != CTRL_RUNNING)
		return true;
	counter_add(&readout->counters.throttled, 1);
	return false;
}

static void count_full(struct readout *readout, uint64_t event)
{
	bool full = event == readout->released + readout->parameters.source_buffer;

	counter_add(&readout->counters.full, full && !readout->was_full);
	readout->was_full = full;
}

void readout_announce(struct readout *readout, uint64_t now)
{
	struct message message = { .kind = MESSAGE_ANNOUNCE, .run = readout->run };

	if (!may_announce(readout, now))
		return;
	message.event = produced(readout, now);
	count_full(readout, message.event);
	// Events may be announced behind the end of the run before the end is known.
	if (message.event >= end_of_events(readout))
		message.flags = MESSAGE_LAST;
	if (message.event == readout->announced && (message.flags != 0) == readout->ended)
		return;
	if (!mailbox_put(readout->parameters.to_control, &message))
		return;
	readout->announced = message.event;
	readout->ended = message.flags != 0;
}

void readout_grant_statically(struct readout *readout)
{
	const struct readout_parameters *p = &readout->parameters;
	uint64_t n = p->n_builders, round = readout->static_next / n;
	uint64_t end = RTE_MIN((round + 1) * n, end_of_events(readout));

	if (send_queue_length(&readout->queue) > 0 || end > readout->announced ||
	    end == readout->static_next)
		return;
	for (uint64_t event = readout->static_next; event < end; event++) {
		const struct message message = {
			.kind = MESSAGE_SEND,
			.event = event,
			.round = round + 1,
			.builder = (uint16_t)(event % n),
			.position = (uint16_t)(event % n),
			.n_positions = (uint16_t)RTE_MAX(n, (uint64_t)p->n_nodes),
		};

		(void)queue_grant(readout, &message); // the queue was empty
	}
	readout->static_next = end;
	readout->released = end; // no builder confirms
}
