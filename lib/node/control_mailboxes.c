// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/control_internal.h"

#define MESSAGES_MOST 32u // taken from a mailbox in one poll

static bool to_builder(void *context, unsigned builder, const struct message *message)
{
	struct control *control = context;

	if (message->kind == MESSAGE_EXPECT && control->parameters.slots != NULL)
		roce_slots_expect(control->parameters.slots, builder, message->event);
	return mailbox_put(&control->parameters.builder_mail[builder][0], message);
}

static bool to_readout(void *context, unsigned readout, const struct message *message)
{
	struct control *control = context;

	return mailbox_put(&control->parameters.readout_mail[readout][0], message);
}

static bool to_port(void *context, const struct message *message)
{
	struct control *control = context;

	return mailbox_put(control->parameters.offers, message);
}

void control_set_mailboxes(struct control *control, struct cluster_node_parameters *node)
{
	node->context = control;
	node->to_builder = to_builder;
	node->to_readout = to_readout;
	node->to_port = control->parameters.offers != NULL ? to_port : NULL;
}

static unsigned take_from(struct control *control, struct mailbox *mailbox, unsigned index,
			  void (*handle)(struct cluster_node *node, unsigned index,
					 const struct message *message, uint64_t now))
{
	unsigned n;
	struct message *messages = mailbox_look(mailbox, MESSAGES_MOST, &n);

	for (unsigned i = 0; i < n; i++) {
		if (messages[i].kind == MESSAGE_FREED && messages[i].time != 0)
			messages[i].time = control_ns(control, messages[i].time);
		handle(control->node, index, &messages[i], control->now);
	}
	mailbox_pass(mailbox, n);
	return n;
}

unsigned control_take_messages(struct control *control)
{
	const struct control_role_parameters *p = &control->parameters;
	unsigned done = 0;

	for (unsigned i = 0; i < p->n_builders; i++)
		done += take_from(control, &p->builder_mail[i][1], i, cluster_node_builder_message);
	for (unsigned i = 0; i < p->n_readouts; i++)
		done += take_from(control, &p->readout_mail[i][1], i, cluster_node_readout_message);
	return done;
}
