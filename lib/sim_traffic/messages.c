// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_traffic/messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_traffic/messages_internal.h"

// Congestion notifications of RoCE v2 (CNP): headers and FCS. They have a priority of their own.
#define NOTIFICATION          (UINT64_C(1) << 63) // of packet.user; the rest: from and to
#define NOTIFICATION_BYTES    78u
#define NOTIFICATION_PRIORITY 1u

void messages_fail(struct sim_messages *messages, const char *error)
{
	if (messages->error == NULL)
		messages->error = error;
	sim_stop(messages->engine);
}

static void on_room(void *context, uint32_t place, unsigned priority)
{
	struct sim_messages *messages = context;

	(void)priority;
	messages_send_all(messages, messages->host_at[place]);
}

// --- arriving ---

// A packet of a message has arrived or was lost.
static void end_packet(struct sim_messages *messages, uint32_t i)
{
	struct messages_record *record = &messages->records[i];
	const struct sim_message message = record->message;
	const uint64_t took = sim_now(messages->engine) - record->begun;
	const bool is_lost = record->is_lost;

	if (--record->packets > 0 || record->left > 0)
		return;
	if (messages->tracer != NULL)
		messages->tracer->message(messages->tracer->context, &message, record->number,
					  record->begun, is_lost);
	messages_free_record(messages, i);
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
			messages->hosts[i].first[queue] = MESSAGES_NONE;
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
	if (fabric.flow_control == SIM_RETRY)
		fabric.host_queue += fabric.input_buffer; // copies of those without a response
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
		.send = messages_send,
		.network = messages,
	};

	messages->handler = sim_engine_handler(parameters->engine, messages_due, messages);
	messages->paced_handler = sim_engine_handler(parameters->engine, messages_paced, messages);
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
	messages->free = MESSAGES_NONE;
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
