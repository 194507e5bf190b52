// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of the messages share: messages.c (arrivals, begin and end) and messages_send.c.
#pragma once

#include "sim_traffic/congestion.h"
#include "sim_traffic/messages.h"

#define MESSAGES_NONE UINT32_MAX

enum { DATA_QUEUE, CONTROL_QUEUE, N_QUEUES };

// A message that has not arrived yet.
struct messages_record {
	struct sim_message message;
	uint32_t left;    // bytes that were not sent yet
	uint32_t packets; // that are underway
	uint32_t next;    // in the queue of its host, or of free records
	bool is_lost;
	uint64_t begun;  // ps
	uint64_t number; // of messages before it
};

struct messages_host {
	uint32_t first[N_QUEUES], last[N_QUEUES]; // records; MESSAGES_NONE: empty
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
	struct messages_host *hosts;
	uint64_t *received;
	struct messages_record *records;
	uint32_t n_records, free; // `free` is the first free record
	uint64_t n_messages;
	const struct sim_tracer *tracer; // NULL: none
	unsigned handler, paced_handler;
	const char *error;
	void (*deadlock)(void *context);
	void *context;
};

// The simulation cannot go on.
void messages_fail(struct sim_messages *messages, const char *error);

// --- messages_send.c ---

// Takes a message of the traffic model.
void messages_send(void *messages, const struct sim_message *message);
// Sends what the host takes now.
void messages_send_all(struct sim_messages *messages, uint32_t host);
void messages_free_record(struct sim_messages *messages, uint32_t record);
// Events of the engine.
void messages_due(void *messages, uint32_t host, uint32_t data);
void messages_paced(void *messages, uint32_t host, uint32_t data);
