// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A source of kind roce: sends what a capture's connections sent, each over a queue pair of its
// own. Messages keep their bounds, order, operation and immediate data; numbers of queue pairs and
// packets, keys and addresses are those of the new connections.
#include "rdma/roce_source_internal.h"

struct source_block roce_source_script_block(const struct roce_source *source, uint64_t message)
{
	const struct roce_message *at = &source->script->messages[message];
	const uint8_t *bytes = source->parameters.packets.set->memory;

	return (struct source_block){ .bytes = bytes + at->at, .size = at->size };
}

bool roce_source_script_is_sent(const struct roce_source *source)
{
	return source->event == source->script->n_messages;
}

static bool is_due(const struct roce_source *source, const struct roce_message *message,
		   uint64_t tsc)
{
	double speed = source->parameters.generator->speed;

	return speed <= 0 || (double)(tsc - source->start) * source->ns_per_tick * speed >=
				 (double)message->time_ns;
}

// Whether it can never be sent: its connection has ended for good, or it is too long for a
// datagram.
static bool is_hopeless(const struct roce_source *source, const struct lane *lane,
			const struct roce_message *message)
{
	if (lane->given_up)
		return true;
	return lane->ready && ((source->cm == NULL && lane->qp->state == QP_ERROR) ||
			       (lane->qp->service == ROCE_UD && message->size > source->path_mtu));
}

// A WRITE goes as far behind the new region's start as it did behind the lowest address of the
// captured ones, if that is inside. To a peer that offers no region it is a SEND.
static bool post_message(struct roce_source *source, struct lane *lane, uint64_t index)
{
	const struct roce_message *at = &source->script->messages[index];
	bool fits = at->offset < lane->room && at->size <= lane->room - at->offset;
	struct requester_message message = {
		.user = index,
		.address = lane->address + (fits ? at->offset : 0),
		.rkey = lane->rkey,
		.length = at->size,
		.immediate = at->immediate,
		.operation = at->is_write && lane->room > 0 ? REQUESTER_WRITE : REQUESTER_SEND,
		.has_immediate = at->has_immediate,
		.solicited = at->solicited,
	};

	return lane->ready && roce_source_post(source, lane, &message);
}

// Posts the next message of a connection, or passes it over if it cannot be sent. False if there is
// none now.
static bool post_next(struct roce_source *source, unsigned index, uint64_t tsc)
{
	const struct roce_stream *stream = &source->script->streams[index];
	struct lane *lane = &source->lanes[index];
	uint64_t message = stream->first_message + lane->next;
	const struct roce_message *at = &source->script->messages[message];

	if (lane->next == stream->n_messages)
		return false;
	if (is_hopeless(source, lane, at))
		counter_add(&source->counters.failed_messages, 1);
	else if (!is_due(source, at, tsc) || !post_message(source, lane, message))
		return false;
	lane->next++;
	source->event++;
	return true;
}

unsigned roce_source_post_script(struct roce_source *source, uint64_t tsc)
{
	unsigned n = 0;

	for (unsigned idle = 0; n < ROLE_BURST && idle < source->n_lanes && !source->stopping;) {
		bool posted = post_next(source, source->source, tsc);

		n += posted;
		idle = posted ? 0 : idle + 1;
		if (++source->source == source->n_lanes)
			source->source = 0;
	}
	return n;
}
