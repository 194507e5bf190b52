// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A source with a script: it sends the messages of each captured connection over a queue pair of
// its own. Messages keep their bounds, order, operation and immediate data. Queue pair numbers,
// PSNs, keys and addresses are those of the new connections.
#include <stdio.h>

#include "base/counter.h"
#include "rdma/roce_source_internal.h"

struct store_block roce_source_script_block(const struct roce_source *source, uint64_t message)
{
	const struct roce_message *at = &source->script->messages[message];
	const uint8_t *bytes = source->parameters.set->memory;

	return (struct store_block){ .bytes = bytes + at->at, .size = at->size };
}

bool roce_source_script_is_sent(const struct roce_source *source)
{
	return source->event == source->script->n_messages;
}

bool roce_source_script_check(const struct roce_source *source, char *error)
{
	for (unsigned i = 0; source->script != NULL && i < source->n_sources; i++) {
		const struct roce_stream *stream = &source->script->streams[i];

		if (stream->mfps > 0 && !stream->is_mixed)
			continue;
		snprintf(error, ROCE_SOURCE_ERROR_SIZE,
			 "roce.queue_pairs: what was captured of queue pair 0x%x is %s, so none of "
			 "these stands for it: set roce.connection to \"cm\"",
			 stream->qpn, stream->mfps > 0 ? "of several sources" : "no MFP");
		return false;
	}
	return true;
}

static bool is_due(const struct roce_source *source, const struct roce_message *message,
		   uint64_t tsc)
{
	double speed = source->parameters.speed;

	return speed <= 0 || (double)(tsc - source->start) * source->roce.ns_per_tick * speed >=
				 (double)message->time_ns;
}

// Whether a message can never be sent: its connection has ended permanently, or it is too long for
// a datagram.
static bool is_hopeless(const struct roce_source *source, unsigned index,
			const struct roce_message *message)
{
	const struct queue_pair *qp = source->roce.flows[index].qp;

	if (source->sources[index].is_given_up)
		return true;
	return qp != NULL && ((source->roce.cm == NULL && qp->state == QP_ERROR) ||
			      (qp->service == ROCE_UD && message->size > source->roce.path_mtu));
}

// Posts a message of the script. A WRITE goes to the offset in the new region that it had from the
// lowest address of the captured WRITEs, if that lies inside the region. If the peer offers no
// region, the message is a SEND.
static bool post_message(struct roce_source *source, unsigned index, uint64_t message)
{
	const struct roce_message *at = &source->script->messages[message];
	const struct roce_flow *flow = &source->roce.flows[index];
	bool fits = at->offset < flow->size && at->size <= flow->size - at->offset;
	struct requester_message posted = {
		.user = message,
		.address = flow->address + (fits ? at->offset : 0),
		.rkey = flow->rkey,
		.length = at->size,
		.immediate = at->immediate,
		.operation = at->is_write && flow->size > 0 ? REQUESTER_WRITE : REQUESTER_SEND,
		.has_immediate = at->has_immediate,
		.solicited = at->solicited,
	};

	return roce_source_post(source, index, &posted);
}

// Posts the next message of a connection, or skips it if it can never be sent. False if none is
// due.
static bool post_next(struct roce_source *source, unsigned index, uint64_t tsc)
{
	const struct roce_stream *stream = &source->script->streams[index];
	struct source_flow *its = &source->sources[index];
	uint64_t message = stream->first_message + its->next;
	const struct roce_message *at = &source->script->messages[message];

	if (its->next == stream->n_messages)
		return false;
	if (is_hopeless(source, index, at))
		counter_add(&source->roce_counters.failed, 1);
	else if (!is_due(source, at, tsc) || !post_message(source, index, message))
		return false;
	its->next++;
	source->event++;
	return true;
}

unsigned roce_source_post_script(struct roce_source *source, uint64_t tsc)
{
	unsigned n = 0;

	for (unsigned idle = 0; n < ROLE_BURST && idle < source->n_sources && !source->stopping;) {
		bool posted = post_next(source, source->source, tsc);

		n += posted;
		idle = posted ? 0 : idle + 1;
		if (++source->source == source->n_sources)
			source->source = 0;
	}
	return n;
}
