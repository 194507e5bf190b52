// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Mail: the struct cluster_post of a node that has a control endpoint. Records for another node go
// to the endpoint, and wait in an outbox, in order, while its window is full. Records for oneself
// wait in one too until cluster_mail_poll() delivers them.
//
// A node whose outbox overflows, or that has taken nothing for `patience` though something was to
// be sent, is forgotten (control_forget()): what waits for it is dropped. Its own endpoint then
// sees a new session of this one, as if this process had restarted; here it is CONTROL_LOST, told
// by cluster_mail_poll(), and CONTROL_CONNECTED when it is heard again.
//
// Threads: one, that of the endpoint.
#pragma once

#include "cluster/cluster.h"
#include "control/endpoint.h"

struct cluster_mail;

struct cluster_mail_parameters {
	struct control_endpoint *endpoint; // NULL: there is no other node
	unsigned self;
	unsigned n_nodes;
	size_t outbox_size; // bytes that may wait for each node
	uint64_t patience;  // ns; 0: no limit
	void *context;

	// A record that the node has sent to itself.
	void (*deliver)(void *context, const struct ctrl_record *record);

	// A node was forgotten: CONTROL_LOST.
	void (*event)(void *context, unsigned peer, enum control_event event);
};

// Bytes that are allocated.
uint64_t cluster_mail_memory(const struct cluster_mail_parameters *parameters);

// NULL if memory ran out.
struct cluster_mail *cluster_mail_create(const struct cluster_mail_parameters *parameters);
void cluster_mail_destroy(struct cluster_mail *mail);

struct cluster_post cluster_mail_post(struct cluster_mail *mail);

// To be called with each event of the endpoint, before the logic hears of it.
void cluster_mail_event(struct cluster_mail *mail, unsigned peer, enum control_event event);

// To be called often, before control_poll(): delivers what was sent to oneself, hands on what
// waits, forgets nodes that take nothing. Returns the number of records moved.
unsigned cluster_mail_poll(struct cluster_mail *mail, uint64_t now);

// Bytes that wait for a node; times that a node was forgotten.
size_t cluster_mail_waiting(const struct cluster_mail *mail, unsigned node);
uint64_t cluster_mail_forgotten(const struct cluster_mail *mail);
