// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim/messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/congestion.h"

#define NONE          UINT32_MAX
#define FIRST_RECORDS 1024u
#define MOST_FLOWS    64u // messages of a host that are looked at for one that may be sent

// Congestion notifications of RoCE v2 (CNP): headers and FCS. They have a priority of their own.
#define NOTIFICATION          (UINT64_C(1) << 63) // of packet.user; the rest: from and to
#define NOTIFICATION_BYTES    78u
#define NOTIFICATION_PRIORITY 1u

enum { DATA_QUEUE, CONTROL_QUEUE, N_QUEUES };

// A message that has not arrived yet.
struct record {
	struct sim_message message;
	uint32_t left;    // bytes that were not sent yet
	uint32_t packets; // that are underway
	uint32_t next;    // in the queue of its host, or of free records
	bool is_lost;
	uint64_t begun;  // ps
	uint64_t number; // of messages before it
};

struct host {
	uint32_t first[N_QUEUES], last[N_QUEUES]; // records; NONE: empty
	bool is_due;                              // an event will send its messages
	uint64_t paced_at;                        // an event will do that, ps; 0: none
};

struct sim_messages {
	struct sim_engine *engine;
	struct sim_fabric *fabric;
	struct sim_traffic *traffic;
	struct congestion *congestion; // NULL: hosts do not react to ECN
	struct sim_messages_account account;
	uint32_t n_hosts, packet;
	uint32_t *place, *host_at; // host to number in the topology, and back
	struct host *hosts;
	uint64_t *received;
	struct record *records;
	uint32_t n_records, free; // `free` is the first free record
	uint64_t n_messages;
	const struct sim_tracer *tracer; // NULL: none
	unsigned handler, paced_handler;
	const char *error;
	void (*deadlock)(void *context);
	void *context;
};

static void fail(struct sim_messages *messages, const char *error)
{
	if (messages->error == NULL)
		messages->error = error;
	sim_stop(messages->engine);
}

// --- records ---

static bool add_records(struct sim_messages *messages)
{
	const uint32_t n = messages->n_records == 0 ? FIRST_RECORDS : 2 * messages->n_records;
	struct record *records = NULL;

	if (n > messages->n_records)
		records = realloc(messages->records, n * sizeof(*records));
	if (records == NULL)
		return false;
	for (uint32_t i = messages->n_records; i < n; i++)
		records[i].next = i + 1 < n ? i + 1 : NONE;
	messages->free = messages->n_records;
	messages->records = records;
	messages->n_records = n;
	return true;
}

static void free_record(struct sim_messages *messages, uint32_t i)
{
	messages->records[i].next = messages->free;
	messages->free = i;
}

static void append(struct sim_messages *messages, struct host *host, unsigned queue, uint32_t i)
{
	messages->records[i].next = NONE;
	if (host->first[queue] == NONE)
		host->first[queue] = i;
	else
		messages->records[host->last[queue]].next = i;
	host->last[queue] = i;
}

// --- sending ---

// The model may send further messages meanwhile, which moves the records.
static void send_message(void *context, const struct sim_message *message)
{
	struct sim_messages *messages = context;
	struct host *host = &messages->hosts[message->from];
	uint32_t i;

	if (messages->free == NONE && !add_records(messages)) {
		fail(messages, "no memory for more messages: simulate a shorter time");
		return;
	}
	i = messages->free;
	messages->free = messages->records[i].next;
	messages->records[i] = (struct record){
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
	struct record *record = &messages->records[i];
	const struct sim_message *message = &record->message;
	const uint32_t bytes = record->left < messages->packet ? record->left : messages->packet;
	const struct sim_packet packet = {
		.user = i,
		.source = messages->place[message->from],
		.destination = messages->place[message->to],
		.flow = message->from * messages->n_hosts + message->to,
		.bytes = bytes,
		.may_mark = messages->congestion != NULL,
	};
	const enum sim_sent result = sim_send(messages->fabric, &packet);

	if (result == SIM_NOT_A_PACKET)
		fail(messages, "more packets are underway than the fabric has room for");
	if (result != SIM_SENT)
		return false;
	record->left -= bytes;
	record->packets++;
	if (messages->congestion != NULL)
		congestion_sent(messages->congestion, message->from, message->to, bytes,
				sim_now(messages->engine));
	return true;
}

// The first message of a queue that its flow may send now, and the one before it. NONE: an event
// will come when there is one.
static uint32_t find_ready(struct sim_messages *messages, struct host *host, unsigned queue,
			   uint32_t *before)
{
	const uint64_t now = sim_now(messages->engine);
	uint64_t next = SIM_NEVER;
	uint32_t i = host->first[queue];

	*before = NONE;
	for (unsigned n = 0; messages->congestion != NULL && i != NONE && n < MOST_FLOWS; n++) {
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
	return NONE;
}

static void take_out(struct sim_messages *messages, struct host *host, unsigned queue, uint32_t i,
		     uint32_t before)
{
	const uint32_t next = messages->records[i].next;

	if (before == NONE)
		host->first[queue] = next;
	else
		messages->records[before].next = next;
	if (host->last[queue] == i)
		host->last[queue] = before;
}

static void send_queue(struct sim_messages *messages, struct host *host, unsigned queue)
{
	while (host->first[queue] != NONE &&
	       (queue == CONTROL_QUEUE || host->first[CONTROL_QUEUE] == NONE)) {
		uint32_t before;
		const uint32_t i = find_ready(messages, host, queue, &before);

		if (i == NONE || !send_packet(messages, i))
			return;
		if (messages->records[i].left == 0) {
			const struct sim_message message = messages->records[i].message;

			take_out(messages, host, queue, i, before);
			sim_traffic_sent(messages->traffic, &message);
		}
	}
}

static void send_all(struct sim_messages *messages, uint32_t number)
{
	struct host *host = &messages->hosts[number];

	host->is_due = true; // what the model sends meanwhile is sent here
	send_queue(messages, host, CONTROL_QUEUE);
	send_queue(messages, host, DATA_QUEUE);
	host->is_due = false;
}

static void on_due(void *context, uint32_t host, uint32_t data)
{
	(void)data;
	send_all(context, host);
}

static void on_paced(void *context, uint32_t number, uint32_t data)
{
	struct sim_messages *messages = context;
	struct host *host = &messages->hosts[number];

	(void)data;
	if (sim_now(messages->engine) >= host->paced_at)
		host->paced_at = 0;
	send_all(messages, number);
}

static void on_room(void *context, uint32_t place, unsigned priority)
{
	struct sim_messages *messages = context;

	(void)priority;
	send_all(messages, messages->host_at[place]);
}

// --- arriving ---

// A packet of a message has arrived or was lost.
static void end_packet(struct sim_messages *messages, uint32_t i)
{
	struct record *record = &messages->records[i];
	const struct sim_message message = record->message;
	const uint64_t took = sim_now(messages->engine) - record->begun;
	const bool is_lost = record->is_lost;

	if (--record->packets > 0 || record->left > 0)
		return;
	if (messages->tracer != NULL)
		messages->tracer->message(messages->tracer->context, &message, record->number,
					  record->begun, is_lost);
	free_record(messages, i);
	if (is_lost) {
		messages->account.lost++;
		return;
	}
	if (message.kind == 0) {
		messages->account.delivered++;
		histogram_add(&messages->account.latency, took / SIM_NANOSECOND);
	}
	sim_traffic_delivered(messages->traffic, &message);
}

// `user` of a notification.
static uint64_t notification_of(const struct sim_message *message)
{
	return NOTIFICATION | (uint64_t)message->from << 32 | message->to;
}

// The receiver of a marked packet notifies the sender.
static void notify(struct sim_messages *messages, const struct sim_message *message)
{
	const struct sim_packet packet = {
		.user = notification_of(message),
		.source = messages->place[message->to],
		.destination = messages->place[message->from],
		.flow = message->to * messages->n_hosts + message->from,
		.bytes = NOTIFICATION_BYTES,
		.priority = NOTIFICATION_PRIORITY,
	};

	if (congestion_marked(messages->congestion, message->from, message->to,
			      sim_now(messages->engine)) &&
	    sim_send(messages->fabric, &packet) == SIM_SENT)
		messages->account.notifications++;
}

static void on_notification(struct sim_messages *messages, uint64_t user)
{
	congestion_notified(messages->congestion, (uint32_t)((user & ~NOTIFICATION) >> 32),
			    (uint32_t)user, sim_now(messages->engine));
}

static void on_deliver(void *context, uint32_t place, const struct sim_packet *packet)
{
	struct sim_messages *messages = context;
	const uint32_t i = (uint32_t)packet->user;

	if ((packet->user & NOTIFICATION) != 0) {
		on_notification(messages, packet->user);
		return;
	}
	if (packet->marked && messages->congestion != NULL)
		notify(messages, &messages->records[i].message);
	if (messages->records[i].message.kind == 0)
		messages->received[messages->host_at[place]] += packet->bytes;
	else
		messages->account.control += packet->bytes;
	end_packet(messages, i);
}

static void on_dropped(void *context, const struct sim_packet *packet, uint32_t port,
		       enum sim_cause cause)
{
	struct sim_messages *messages = context;

	(void)port;
	(void)cause;
	if ((packet->user & NOTIFICATION) != 0)
		return;
	messages->records[packet->user].is_lost = true;
	end_packet(messages, (uint32_t)packet->user);
}

static void on_deadlock(void *context)
{
	struct sim_messages *messages = context;

	if (messages->deadlock != NULL)
		messages->deadlock(messages->context);
}

// --- begin and end ---

static bool make_hosts(struct sim_messages *messages, const uint32_t *place)
{
	const uint32_t n = messages->n_hosts;

	messages->place = calloc(n, sizeof(messages->place[0]));
	messages->host_at = calloc(n, sizeof(messages->host_at[0]));
	messages->hosts = calloc(n, sizeof(messages->hosts[0]));
	messages->received = calloc(n, sizeof(messages->received[0]));
	if (messages->place == NULL || messages->host_at == NULL || messages->hosts == NULL ||
	    messages->received == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		messages->place[i] = place != NULL ? place[i] : i;
		messages->host_at[messages->place[i]] = i;
		for (unsigned queue = 0; queue < N_QUEUES; queue++)
			messages->hosts[i].first[queue] = NONE;
	}
	return true;
}

static bool make_fabric(struct sim_messages *messages,
			const struct sim_messages_parameters *parameters, char *error)
{
	static const struct sim_host_operations operations = {
		.deliver = on_deliver,
		.room = on_room,
		.dropped = on_dropped,
		.deadlock = on_deadlock,
	};
	struct sim_fabric_parameters fabric = *parameters->fabric;

	// One packet on the link, and the next one behind it.
	fabric.host_queue = (uint64_t)parameters->packet + 1;
	if (parameters->notification_interval > 0)
		fabric.n_priorities = NOTIFICATION_PRIORITY + 1;
	messages->fabric = sim_fabric_create(parameters->engine, parameters->topology, &fabric,
					     &operations, messages, error);
	return messages->fabric != NULL;
}

static bool make_traffic(struct sim_messages *messages,
			 const struct sim_messages_parameters *parameters)
{
	const double packet_seconds =
	    (double)sim_port_time(messages->fabric, 0, parameters->packet) / (double)SIM_SECOND;
	const struct sim_traffic_parameters traffic = {
		.settings = parameters->traffic,
		.n_hosts = messages->n_hosts,
		.bytes_per_second = parameters->packet / packet_seconds,
		.seed = parameters->seed,
		.engine = parameters->engine,
		.tracer = parameters->fabric->tracer,
		.send = send_message,
		.network = messages,
	};

	messages->handler = sim_engine_handler(parameters->engine, on_due, messages);
	messages->paced_handler = sim_engine_handler(parameters->engine, on_paced, messages);
	messages->traffic = sim_traffic_create(&traffic);
	return messages->traffic != NULL;
}

static bool make_congestion(struct sim_messages *messages,
			    const struct sim_messages_parameters *parameters)
{
	const uint64_t ps = sim_port_time(messages->fabric, 0, parameters->packet);
	const struct congestion_parameters congestion = {
		.line_rate = parameters->packet * SIM_SECOND / ps,
		.interval = parameters->notification_interval,
	};

	if (congestion.interval > 0)
		messages->congestion = congestion_create(&congestion);
	return congestion.interval == 0 || messages->congestion != NULL;
}

struct sim_messages *sim_messages_create(const struct sim_messages_parameters *parameters,
					 char *error)
{
	struct sim_messages *messages = calloc(1, sizeof(*messages));

	snprintf(error, SIM_ERROR_SIZE, "no memory for %u hosts", parameters->topology->n_hosts);
	if (messages == NULL)
		return NULL;
	messages->engine = parameters->engine;
	messages->n_hosts = parameters->topology->n_hosts;
	messages->packet = parameters->packet;
	messages->tracer = parameters->fabric->tracer;
	messages->free = NONE;
	messages->deadlock = parameters->deadlock;
	messages->context = parameters->context;
	if (!make_hosts(messages, parameters->place) || !make_fabric(messages, parameters, error) ||
	    !make_congestion(messages, parameters) || !make_traffic(messages, parameters)) {
		sim_messages_destroy(messages);
		return NULL;
	}
	return messages;
}

void sim_messages_destroy(struct sim_messages *messages)
{
	if (messages == NULL)
		return;
	sim_traffic_destroy(messages->traffic);
	congestion_destroy(messages->congestion);
	sim_fabric_destroy(messages->fabric);
	free(messages->place);
	free(messages->host_at);
	free(messages->hosts);
	free(messages->received);
	free(messages->records);
	free(messages);
}

struct sim_message_part sim_messages_part(const struct sim_messages *messages,
					  const struct sim_packet *packet)
{
	const uint32_t i = (uint32_t)packet->user;

	if ((packet->user & NOTIFICATION) != 0)
		return (struct sim_message_part){
			.message = { .from = messages->host_at[packet->source],
				     .to = messages->host_at[packet->destination] },
			.is_notification = true,
		};
	return (struct sim_message_part){ .number = messages->records[i].number,
					  .message = messages->records[i].message };
}

struct sim_fabric *sim_messages_fabric(struct sim_messages *messages)
{
	return messages->fabric;
}

const struct sim_traffic_account *sim_messages_traffic(const struct sim_messages *messages)
{
	return sim_traffic_account(messages->traffic);
}

const struct sim_messages_account *sim_messages_account(const struct sim_messages *messages)
{
	return &messages->account;
}

const uint64_t *sim_messages_received(const struct sim_messages *messages)
{
	return messages->received;
}

void sim_messages_begin(struct sim_messages *messages)
{
	messages->account = (struct sim_messages_account){ 0 };
	memset(messages->received, 0, messages->n_hosts * sizeof(messages->received[0]));
	sim_traffic_begin(messages->traffic);
}

const char *sim_messages_error(const struct sim_messages *messages)
{
	return messages->error;
}
