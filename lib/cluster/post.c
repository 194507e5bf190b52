// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cluster/post.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/outbox.h"

#define OWN_MOST 256u // records to oneself that one poll delivers

struct box {
	struct outbox outbox;
	bool overflowed;
	uint64_t full_since; // 0: it takes records
};

struct cluster_mail {
	struct cluster_mail_parameters parameters;
	struct box *boxes; // by node
	uint64_t forgotten;
	uint8_t own[CTRL_MAX_SIZE]; // the record to oneself that is being delivered
};

uint64_t cluster_mail_memory(const struct cluster_mail_parameters *parameters)
{
	return sizeof(struct cluster_mail) +
	       parameters->n_nodes * (sizeof(struct box) + parameters->outbox_size);
}

struct cluster_mail *cluster_mail_create(const struct cluster_mail_parameters *parameters)
{
	struct cluster_mail *mail = calloc(1, sizeof(*mail));

	if (mail == NULL)
		return NULL;
	mail->parameters = *parameters;
	mail->boxes = calloc(parameters->n_nodes, sizeof(*mail->boxes));
	for (unsigned i = 0; mail->boxes != NULL && i < parameters->n_nodes; i++)
		if (!outbox_make(&mail->boxes[i].outbox, parameters->outbox_size)) {
			cluster_mail_destroy(mail);
			return NULL;
		}
	if (mail->boxes == NULL) {
		cluster_mail_destroy(mail);
		return NULL;
	}
	return mail;
}

void cluster_mail_destroy(struct cluster_mail *mail)
{
	if (mail == NULL)
		return;
	for (unsigned i = 0; mail->boxes != NULL && i < mail->parameters.n_nodes; i++)
		outbox_free(&mail->boxes[i].outbox);
	free(mail->boxes);
	free(mail);
}

static void send_record(void *context, unsigned node, const void *record, size_t size)
{
	struct cluster_mail *mail = context;
	struct box *box;

	if (node >= mail->parameters.n_nodes || size == 0)
		return;
	box = &mail->boxes[node];
	if (box->overflowed)
		return; // it is about to be forgotten
	if (node != mail->parameters.self && box->outbox.used == 0 &&
	    control_send(mail->parameters.endpoint, node, record, size))
		return;
	box->overflowed = !outbox_put(&box->outbox, record, size);
}

// What waits goes first: there is room for whole records only once nothing does.
static size_t room_for(void *context, unsigned node, size_t size)
{
	const struct cluster_mail *mail = context;
	const struct outbox *outbox = &mail->boxes[node].outbox;

	if (node == mail->parameters.self)
		return outbox->used * 2 < outbox->size ? outbox->size / 4 : 0;
	return outbox->used == 0 ? control_room(mail->parameters.endpoint, node, size) : 0;
}

static void clear(struct box *box)
{
	outbox_clear(&box->outbox);
	box->overflowed = false;
	box->full_since = 0;
}

static void forget(void *context, unsigned node)
{
	struct cluster_mail *mail = context;

	clear(&mail->boxes[node]);
	if (node != mail->parameters.self)
		control_forget(mail->parameters.endpoint, node);
}

struct cluster_post cluster_mail_post(struct cluster_mail *mail)
{
	return (struct cluster_post){
		.context = mail,
		.send = send_record,
		.room = room_for,
		.forget = forget,
	};
}

void cluster_mail_event(struct cluster_mail *mail, unsigned peer, enum control_event event)
{
	if (event == CONTROL_RESTARTED && peer < mail->parameters.n_nodes)
		clear(&mail->boxes[peer]);
}

// Delivering may send more to oneself, which moves the outbox's records.
static unsigned deliver_own(struct cluster_mail *mail)
{
	struct outbox *outbox = &mail->boxes[mail->parameters.self].outbox;
	unsigned n = 0;

	while (n < OWN_MOST) {
		struct ctrl_record record;
		size_t size;
		const void *front = outbox_front(outbox, &size);

		if (front == NULL)
			break;
		memcpy(mail->own, front, size);
		outbox_pop(outbox);
		n++;
		if (ctrl_record_at(mail->own, size, &record) == WIRE_OK)
			mail->parameters.deliver(mail->parameters.context, &record);
	}
	return n;
}

static unsigned hand_on(struct cluster_mail *mail, unsigned node)
{
	struct outbox *outbox = &mail->boxes[node].outbox;
	const void *front;
	size_t size;
	unsigned n = 0;

	for (front = outbox_front(outbox, &size);
	     front != NULL && control_send(mail->parameters.endpoint, node, front, size);
	     front = outbox_front(outbox, &size)) {
		outbox_pop(outbox);
		n++;
	}
	return n;
}

// Whether a node has taken nothing for too long.
static bool is_stuck(struct cluster_mail *mail, unsigned node, unsigned moved, uint64_t now)
{
	const uint64_t patience = mail->parameters.patience;
	struct box *box = &mail->boxes[node];

	if (moved > 0 || control_room(mail->parameters.endpoint, node, CTRL_GRANT_SIZE) > 0)
		box->full_since = 0;
	else if (box->full_since == 0)
		box->full_since = now;
	return box->overflowed ||
	       (patience > 0 && box->full_since != 0 && now - box->full_since > patience);
}

unsigned cluster_mail_poll(struct cluster_mail *mail, uint64_t now)
{
	unsigned n = deliver_own(mail);

	for (unsigned i = 0; i < mail->parameters.n_nodes; i++) {
		unsigned moved;

		if (i == mail->parameters.self)
			continue;
		moved = hand_on(mail, i);
		n += moved;
		if (!is_stuck(mail, i, moved, now))
			continue;
		forget(mail, i);
		mail->forgotten++;
		mail->parameters.event(mail->parameters.context, i, CONTROL_LOST);
	}
	return n;
}

size_t cluster_mail_waiting(const struct cluster_mail *mail, unsigned node)
{
	return mail->boxes[node].outbox.used;
}

uint64_t cluster_mail_forgotten(const struct cluster_mail *mail)
{
	return mail->forgotten;
}
