// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What goes to the results node: decisions from nodes with builders, and from the manager which
// events there are.
#include "decision/decision_flow_internal.h"

// Records of this size fit the smallest frame, also with a key.
#define DECISIONS_MOST 46u
#define EVENTS_MOST    136u // entries
#define RECORD_MOST    CTRL_DECISIONS_SIZE(DECISIONS_MOST)
#define RECORDS_MOST   64u // in one poll

_Static_assert(RECORD_MOST <= CTRL_MIN_MAX_SIZE - CTRL_HEADER_SIZE - CTRL_SEAL_SIZE, "fits");
_Static_assert(CTRL_EVENTS_SIZE(EVENTS_MOST) <= RECORD_MOST, "fits");

// A new session begins: nothing may be sent until RESULTS arrives, and then everything that is not
// written is sent again.
void flow_begin_sending(struct flow_stream *stream)
{
	stream->has_allowed = stream->last_sent = false;
	flow_begin_reporting(stream);
	stream->in_session = 0;
	if (stream->outbox != NULL)
		stream->next = atomic_load_explicit(&stream->outbox->freed, memory_order_relaxed);
}

// Of the results on this node the manager continues behind the events that they know.
void flow_begin_reporting(struct flow_stream *stream)
{
	stream->first_sent = stream->confirmed = stream->last_event_sent = stream->in_term = false;
	if (stream->inbox != NULL)
		stream->reported =
		    atomic_load_explicit(&stream->inbox->known, memory_order_relaxed);
}

static void free_written(struct flow_stream *stream)
{
	const struct ctrl_results *allowed = &stream->allowed;
	struct decision_outbox *outbox = stream->outbox;

	decision_outbox_free(outbox, stream->next, allowed->written);
	atomic_store_explicit(&outbox->limit, allowed->decide_below, memory_order_relaxed);
	if ((allowed->flags & CTRL_RESULTS_OVER) != 0)
		atomic_store_explicit(&outbox->over, true, memory_order_release);
}

void flow_allowed(const struct decision_flow *flow, struct flow_stream *stream,
		  const struct ctrl_results *results)
{
	const bool has_begun = (results->flags & CTRL_RESULTS_BEGUN) != 0;
	const bool in_term = results->epoch == flow->epoch;

	// In a session, and in its term, the manager counts on from the first event that the
	// results node asks for.
	if (has_begun && in_term &&
	    (!stream->has_allowed || !stream->in_term ||
	     (stream->allowed.flags & CTRL_RESULTS_BEGUN) == 0))
		stream->reported = results->next;
	stream->in_term |= in_term;
	stream->has_allowed = true;
	stream->allowed = *results;
	stream->served |= has_begun;
	if (has_begun && results->written > stream->written)
		stream->written = results->written;
	if (stream->outbox != NULL)
		free_written(stream);
}

// --- decisions ---

static struct ctrl_decision on_wire(const struct decision_result *result, uint64_t first,
				    unsigned first_builder)
{
	return (struct ctrl_decision){
		.offset = (uint32_t)(result->event_id - first),
		.decide_us = result->decide_us,
		.lines = result->lines,
		.tag = result->tag,
		.builder = (uint8_t)(result->builder - first_builder),
		.member = result->decider,
		.flags = result->flags,
	};
}

// Collects the decisions of one record; their event ids differ by less than 2^32 from the base,
// which is 2^31 below the first one.
static unsigned collect(struct decision_flow *flow, struct flow_stream *stream,
			struct ctrl_decision *entries, uint64_t *base)
{
	const unsigned first_builder = flow->parameters.system->nodes[flow->self].first_builder;
	const uint64_t may = stream->allowed.decisions > stream->in_session
				 ? stream->allowed.decisions - stream->in_session
				 : 0;
	const struct decision_result *result;
	unsigned n = 0;

	while (n < DECISIONS_MOST && n < may &&
	       (result = decision_outbox_at(stream->outbox, stream->next + n)) != NULL) {
		if (n == 0)
			*base = result->event_id > INT32_MAX ? result->event_id - INT32_MAX : 0;
		if (result->event_id - *base > UINT32_MAX ||
		    result->event_id / stream->outbox->packing >= stream->allowed.decide_below)
			break;
		entries[n++] = on_wire(result, *base, first_builder);
	}
	return n;
}

// Sends one record. False if there is nothing to send.
static bool send_some(struct decision_flow *flow, struct flow_stream *stream)
{
	struct decision_outbox *outbox = stream->outbox;
	const bool ended = atomic_load_explicit(&outbox->ended, memory_order_acquire);
	struct ctrl_decision entries[DECISIONS_MOST];
	uint64_t base = 0;
	const unsigned n = collect(flow, stream, entries, &base);
	struct ctrl_decisions record = {
		.results = (uint8_t)(stream - flow->streams),
		.n = (uint16_t)n,
		.run = flow->parameters.run,
		.first = base,
	};
	uint8_t bytes[RECORD_MOST];

	if (ended && !stream->last_sent && decision_outbox_at(outbox, stream->next + n) == NULL)
		record.flags = CTRL_DECISIONS_LAST;
	if (n == 0 && record.flags == 0)
		return false;
	stream->last_sent |= record.flags != 0;
	cluster_send(&flow->parameters.transport, stream->results->node, bytes,
		     ctrl_put_decisions(bytes, sizeof(bytes), &record, entries));
	stream->view.sent += n;
	if (stream->next < stream->most)
		stream->view.sent_again +=
		    stream->most - stream->next < n ? stream->most - stream->next : n;
	stream->next += n;
	stream->in_session += n;
	if (stream->next > stream->most)
		stream->most = stream->next;
	return true;
}

// Records for a node that is not there would wait, and reach its next process, which knows nothing
// of the records before them.
static bool may_send(const struct decision_flow *flow, const struct flow_stream *stream)
{
	return stream->has_allowed && flow->up[stream->results->node];
}

void flow_send_decisions(struct decision_flow *flow, struct flow_stream *stream)
{
	size_t room;

	// Decisions are retained until they are written; a node that ends does not wait without
	// limit.
	if (flow_is_gone(flow, stream->results->node) &&
	    atomic_load_explicit(&stream->outbox->ended, memory_order_acquire))
		atomic_store_explicit(&stream->outbox->over, true, memory_order_release);
	if (!may_send(flow, stream))
		return;
	room = cluster_room(&flow->parameters.transport, stream->results->node, RECORD_MOST);
	for (unsigned i = 0; i < RECORDS_MOST && room >= RECORD_MOST && send_some(flow, stream);
	     i++)
		room -= RECORD_MOST;
}

// --- events ---

static uint64_t entry_of(const struct cluster_manager *manager, uint64_t first, unsigned n)
{
	uint64_t builders = 0;

	for (unsigned i = 0; i < n; i++)
		builders |= (uint64_t)cluster_manager_publisher(manager, first + i) << 16 * i;
	return builders;
}

// Sends a record about the events up to `end`. `last`: no further ones will follow.
static void send_events(struct decision_flow *flow, struct flow_stream *stream, uint64_t end,
			bool last)
{
	struct ctrl_published entries[EVENTS_MOST];
	struct ctrl_events record = {
		.results = (uint8_t)(stream - flow->streams),
		.run = flow->parameters.run,
		.first = stream->reported,
		.n_events = (uint16_t)(end - stream->reported),
		.flags = last ? CTRL_EVENTS_LAST : 0,
	};
	uint8_t bytes[RECORD_MOST];

	for (; record.n < (record.n_events + 3u) / 4u; record.n++) {
		const unsigned left = record.n_events - 4u * record.n;

		entries[record.n].builders =
		    entry_of(flow->manager, record.first + 4u * record.n, left < 4 ? left : 4);
	}
	cluster_send(&flow->parameters.transport, stream->results->node, bytes,
		     ctrl_put_events(bytes, sizeof(bytes), &record, entries));
	stream->reported = end;
	stream->last_event_sent |= last;
}

// The first event that may not be written, if neither this manager nor a file tells: builders go
// ahead of the results by the window and their slots. Events that need no slot, as they were
// discarded or their node has ended, have a window more.
static uint64_t oldest_unwritten(const struct decision_flow *flow, const struct flow_stream *stream)
{
	const uint64_t first = cluster_manager_first(flow->manager);
	uint64_t ahead = UINT64_C(2) * stream->results->window;

	for (unsigned i = 0; i < flow->parameters.system->n_builders; i++)
		ahead += flow->parameters.system->builders[i].slots;
	return cluster_manager_resumed(flow->manager) && first > ahead ? first - ahead : 0;
}

// The first event of a results process that knows none. Where the run was going on before this
// process, or this manager, that is the one behind those that are written: as the process before it
// reported, or as its files have it (`tail`, 0: they have none). Its last report may not have
// arrived, and files do not have events that were discarded.
static uint64_t first_event(const struct decision_flow *flow, const struct flow_stream *stream,
			    uint64_t tail)
{
	const bool goes_on = stream->served || cluster_manager_resumed(flow->manager);

	if (goes_on && tail > stream->written)
		return tail;
	return stream->served ? stream->written : oldest_unwritten(flow, stream);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

// The results role is on this node.
static void report_here(struct decision_flow *flow, struct flow_stream *stream)
{
	const struct cluster_manager *manager = flow->manager;
	struct decision_inbox *inbox = stream->inbox;
	const uint64_t released = cluster_manager_released(manager);

	if (!atomic_load_explicit(&inbox->begun, memory_order_relaxed)) {
		stream->reported = first_event(flow, stream, inbox->tail);
		decision_inbox_begin(inbox, stream->reported);
		atomic_store_explicit(&inbox->confirmed, true, memory_order_release);
	}
	while (stream->reported < released &&
	       decision_inbox_know(inbox, cluster_manager_publisher(manager, stream->reported)))
		stream->reported++;
	stream->last_event = flow->run_is_over && stream->reported >= released;
}

void flow_send_events(struct decision_flow *flow, struct flow_stream *stream)
{
	const struct cluster_manager *manager = flow->manager;
	const struct ctrl_results *allowed = &stream->allowed;
	uint64_t released, end;
	size_t room;

	if (!cluster_manager_knows_events(manager))
		return;
	if (stream->inbox != NULL) {
		report_here(flow, stream);
		return;
	}
	room = cluster_room(&flow->parameters.transport, stream->results->node, RECORD_MOST);
	if (!may_send(flow, stream) || !stream->in_term || room < RECORD_MOST)
		return;
	if ((allowed->flags & CTRL_RESULTS_BEGUN) == 0) {
		if (!stream->first_sent) {
			stream->reported = first_event(flow, stream, allowed->next);
			send_events(flow, stream, stream->reported, false);
		}
		stream->first_sent = true;
		return;
	}
	released = cluster_manager_released(manager);
	for (unsigned i = 0; i < RECORDS_MOST && room >= RECORD_MOST; i++) {
		bool last;

		end = least(least(released, allowed->report_below),
			    stream->reported + UINT64_C(4) * EVENTS_MOST);
		end = end > stream->reported ? end : stream->reported;
		last = flow->run_is_over && !stream->last_event_sent && end >= released;
		if (end == stream->reported && !last && stream->confirmed)
			return;
		stream->confirmed = true;
		send_events(flow, stream, end, last);
		room -= RECORD_MOST;
	}
}
