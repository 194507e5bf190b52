// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What hosts send: the queues of their messages, and which message goes next.
#include <stdlib.h>

#include "sim_traffic/messages_internal.h"

#define FIRST_RECORDS 1024u
#define MOST_FLOWS    64u // messages of a host that are looked at for one that may be sent

// --- records ---

static bool add_records(struct sim_messages *messages)
{
	const uint32_t n = messages->n_records == 0 ? FIRST_RECORDS : 2 * messages->n_records;
	struct messages_record *records = NULL;

	if (n > messages->n_records)
		records = realloc(messages->records, n * sizeof(*records));
	if (records == NULL)
		return false;
	for (uint32_t i = messages->n_records; i < n; i++)
		records[i].next = i + 1 < n ? i + 1 : MESSAGES_NONE;
	messages->free = messages->n_records;
	messages->records = records;
	messages->n_records = n;
	return true;
}

void messages_free_record(struct sim_messages *messages, uint32_t i)
{
	messages->records[i].next = messages->free;
	messages->free = i;
}

static void append(struct sim_messages *messages, struct messages_host *host, unsigned queue,
		   uint32_t i)
{
	messages->records[i].next = MESSAGES_NONE;
	if (host->first[queue] == MESSAGES_NONE)
		host->first[queue] = i;
	else
		messages->records[host->last[queue]].next = i;
	host->last[queue] = i;
}

// --- sending ---

// The model may send further messages meanwhile, which moves the records.
void messages_send(void *context, const struct sim_message *message)
{
	struct sim_messages *messages = context;
	struct messages_host *host = &messages->hosts[message->from];
	uint32_t i;

	if (messages->free == MESSAGES_NONE && !add_records(messages)) {
		messages_fail(messages, "no memory for more messages: simulate a shorter time");
		return;
	}
	i = messages->free;
	messages->free = messages->records[i].next;
	messages->records[i] = (struct messages_record){
		.message = *message,
		.left = message->bytes,
		.begun = sim_now(messages->engine),
		.number = messages->n_messages++,
	};
	append(messages, host, message->kind == 0 ? DATA_QUEUE : CONTROL_QUEUE, i);
	messages->account.sent += message->kind == 0;
	if (host->is_due)
		return;
	host->is_due = true;
	sim_at(messages->engine, sim_now(messages->engine), messages->handler, message->from, 0);
}

// Sends the next packet of a message. Returns false if the host takes no more.
static bool send_packet(struct sim_messages *messages, uint32_t i)
{
	struct messages_record *record = &messages->records[i];
	const struct sim_message *message = &record->message;
	const uint32_t bytes = record->left < messages->packet ? record->left : messages->packet;
	const struct sim_packet packet = {
		.user = i,
		.source = messages->place[message->from],
		.destination = messages->place[message->to],
		.flow = message->from * messages->n_hosts + message->to,
		.bytes = bytes,
		.may_mark = messages->congestion != NULL && message->kind == 0,
	};
	const enum sim_sent result = sim_send(messages->fabric, &packet);

	if (result == SIM_NOT_A_PACKET)
		messages_fail(messages, "more packets are underway than the fabric has room for");
	if (result != SIM_SENT)
		return false;
	record->left -= bytes;
	record->packets++;
	if (packet.may_mark)
		congestion_sent(messages->congestion, message->from, message->to, bytes,
				sim_now(messages->engine));
	return true;
}

// The first message of a queue that its flow may send now, and the one before it. MESSAGES_NONE: an
// event will come when there is one. Control messages are not limited.
static uint32_t find_ready(struct sim_messages *messages, struct messages_host *host,
			   unsigned queue, uint32_t *before)
{
	const uint64_t now = sim_now(messages->engine);
	uint64_t next = SIM_NEVER;
	uint32_t i = host->first[queue];

	*before = MESSAGES_NONE;
	if (messages->congestion == NULL || queue == CONTROL_QUEUE)
		return i;
	for (unsigned n = 0; i != MESSAGES_NONE && n < MOST_FLOWS; n++) {
		const struct sim_message *message = &messages->records[i].message;
		const uint64_t at =
		    congestion_ready_at(messages->congestion, message->from, message->to);

		if (at <= now)
			return i;
		if (at < next)
			next = at;
		*before = i;
		i = messages->records[i].next;
	}
	if (next == SIM_NEVER)
		return i;
	if (host->paced_at == 0 || next < host->paced_at) {
		host->paced_at = next;
		sim_at(messages->engine, next, messages->paced_handler,
		       (uint32_t)(host - messages->hosts), 0);
	}
	return MESSAGES_NONE;
}

static void take_out(struct sim_messages *messages, struct messages_host *host, unsigned queue,
		     uint32_t i, uint32_t before)
{
	const uint32_t next = messages->records[i].next;

	if (before == MESSAGES_NONE)
		host->first[queue] = next;
	else
		messages->records[before].next = next;
	if (host->last[queue] == i)
		host->last[queue] = before;
}

static void send_queue(struct sim_messages *messages, struct messages_host *host, unsigned queue)
{
	while (host->first[queue] != MESSAGES_NONE &&
	       (queue == CONTROL_QUEUE || host->first[CONTROL_QUEUE] == MESSAGES_NONE)) {
		uint32_t before;
		const uint32_t i = find_ready(messages, host, queue, &before);

		if (i == MESSAGES_NONE || !send_packet(messages, i))
			return;
		if (messages->records[i].left == 0) {
			const struct sim_message message = messages->records[i].message;

			take_out(messages, host, queue, i, before);
			sim_traffic_sent(messages->traffic, &message);
		}
	}
}

void messages_send_all(struct sim_messages *messages, uint32_t number)
{
	struct messages_host *host = &messages->hosts[number];

	host->is_due = true; // what the model sends meanwhile is sent here
	send_queue(messages, host, CONTROL_QUEUE);
	send_queue(messages, host, DATA_QUEUE);
	host->is_due = false;
}

void messages_due(void *context, uint32_t host, uint32_t data)
{
	(void)data;
	messages_send_all(context, host);
}

void messages_paced(void *context, uint32_t number, uint32_t data)
{
	struct sim_messages *messages = context;
	struct messages_host *host = &messages->hosts[number];

	(void)data;
	if (sim_now(messages->engine) >= host->paced_at)
		host->paced_at = 0;
	messages_send_all(messages, number);
}
