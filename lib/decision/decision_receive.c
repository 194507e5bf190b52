// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The results node: what arrives, and what the others may send.
#include "decision/decision_flow_internal.h"

#include <stdlib.h>

#include "base/counter.h"

#define TELL_NS   1000000u // between two RESULTS without need
#define TELL_MOST 64u      // nodes that get RESULTS in one poll

static bool is_peer(const struct flow_peer *peer)
{
	return peer->sends || peer->reports;
}

bool flow_make_peers(struct decision_flow *flow, struct flow_stream *stream)
{
	const struct cluster_system *system = flow->parameters.system;
	unsigned n_senders = 0;

	stream->peers = calloc(system->n_nodes, sizeof(*stream->peers));
	if (stream->peers == NULL)
		return false;
	for (unsigned i = 0; i < system->n_nodes; i++) {
		struct flow_peer *peer = &stream->peers[i];

		if (i == flow->self)
			continue;
		peer->sends = system->nodes[i].n_builders > 0 && !stream->results->is_from_ring;
		n_senders += peer->sends;
	}
	stream->share = decision_inbox_size(stream->inbox) / (n_senders > 0 ? n_senders : 1);
	return true;
}

void flow_begin_receiving(struct flow_stream *stream, unsigned node)
{
	struct flow_peer *peer = &stream->peers[node];

	peer->arrived_before = peer->arrived;
	peer->told_at = 0;
	peer->ended = false;
	if (peer->reports)
		stream->last_event = false;
}

void flow_follow_reporter(const struct decision_flow *flow, struct flow_stream *stream)
{
	stream->last_event = false;
	for (unsigned i = 0; i < flow->parameters.system->n_nodes; i++)
		stream->peers[i].reports =
		    i == flow->leader && i != flow->self && flow_is_told(flow, stream);
	if (flow->leader != CLUSTER_NONE)
		stream->peers[flow->leader].told_at = 0;
}

void flow_take_decisions(struct decision_flow *flow, struct flow_stream *stream, unsigned from,
			 const struct ctrl_decisions *decisions)
{
	const struct cluster_system_node *node = &flow->parameters.system->nodes[from];
	struct flow_peer *peer = &stream->peers[from];

	for (unsigned i = 0; i < decisions->n; i++) {
		const struct ctrl_decision entry = ctrl_decision_at(decisions, i);
		const struct decision_result result = {
			.event_id = decisions->first + entry.offset,
			.lines = entry.lines,
			.tag = entry.tag,
			.decide_us = entry.decide_us,
			.builder = (uint16_t)(node->first_builder + entry.builder),
			.decider = entry.member,
			.flags = entry.flags & (DECISION_ACCEPTED | DECISION_UNDECIDED),
		};

		if (entry.builder >= node->n_builders ||
		    result.event_id / stream->inbox->packing >= peer->told.decide_below ||
		    !decision_inbox_put(stream->inbox, from, &result))
			stream->view.refused++;
		else
			peer->arrived++;
	}
	peer->ended |= (decisions->flags & CTRL_DECISIONS_LAST) != 0;
}

void flow_take_events(struct decision_flow *flow, struct flow_stream *stream, unsigned from,
		      const struct ctrl_events *events)
{
	struct decision_inbox *inbox = stream->inbox;

	if (from != flow->leader || from == flow->self)
		return;
	// The second record of the manager shows that it knows this process: if the process ends
	// now, the next one continues.
	if (atomic_load_explicit(&inbox->begun, memory_order_relaxed))
		atomic_store_explicit(&inbox->confirmed, true, memory_order_release);
	else
		decision_inbox_begin(inbox, events->first);
	if (events->first != atomic_load_explicit(&inbox->known, memory_order_relaxed)) {
		stream->view.refused += events->n_events;
		return;
	}
	for (unsigned i = 0; i < events->n_events; i++) {
		const struct ctrl_published entry = ctrl_published_at(events, i / 4);

		if (!decision_inbox_know(inbox, (uint16_t)(entry.builders >> 16 * (i % 4)))) {
			stream->view.refused += events->n_events - i;
			return;
		}
	}
	stream->last_event |= (events->flags & CTRL_EVENTS_LAST) != 0;
}

// --- RESULTS ---

// Whether nothing more can arrive: the manager has reported all events, and all nodes that are not
// gone have sent their last decision.
static bool all_arrived(const struct decision_flow *flow, const struct flow_stream *stream)
{
	const unsigned manager = flow->leader;

	if (!flow->run_is_over || (flow_is_told(flow, stream) && !stream->last_event &&
				   (manager == CLUSTER_NONE || !flow_is_gone(flow, manager))))
		return false;
	for (unsigned i = 0; i < flow->parameters.system->n_nodes; i++)
		if (stream->peers[i].sends && !stream->peers[i].ended && !flow_is_gone(flow, i))
			return false;
	return true;
}

static uint64_t decide_below(const struct decision_flow *flow, const struct flow_stream *stream,
			     bool confirmed, uint64_t written)
{
	if (flow_is_told(flow, stream))
		return confirmed ? written + stream->results->window : 0;
	return written > 0 ? written + stream->results->window : UINT64_MAX;
}

static struct ctrl_results results_for(const struct decision_flow *flow,
				       const struct flow_stream *stream, unsigned node)
{
	const struct decision_inbox *inbox = stream->inbox;
	const struct flow_peer *peer = &stream->peers[node];
	const bool begun = atomic_load_explicit(&inbox->begun, memory_order_relaxed);
	const bool confirmed = atomic_load_explicit(&inbox->confirmed, memory_order_relaxed);
	// Read before `written`, which does not change after it.
	const bool is_over = atomic_load_explicit(&inbox->is_over, memory_order_acquire);
	const uint64_t written = atomic_load_explicit(&inbox->written, memory_order_acquire);
	struct ctrl_results results = {
		.results = (uint8_t)(stream - flow->streams),
		.run = flow->parameters.run,
		.epoch = flow->epoch,
		.written = written,
		.decisions =
		    counter_read(&inbox->received[node]) + stream->share - peer->arrived_before,
		.decide_below = decide_below(flow, stream, confirmed, written),
		.next =
		    begun ? atomic_load_explicit(&inbox->known, memory_order_relaxed) : inbox->tail,
		.report_below = begun ? decision_inbox_know_limit(inbox) : 0,
	};

	// Arrivals of an earlier session may be in the inbox still.
	if (counter_read(&inbox->received[node]) + stream->share < peer->arrived_before)
		results.decisions = 0;
	results.flags = (uint8_t)((begun ? CTRL_RESULTS_BEGUN : 0) |
				  (is_over && flow->run_is_over ? CTRL_RESULTS_OVER : 0));
	return results;
}

static bool is_due(const struct flow_stream *stream, const struct flow_peer *peer,
		   const struct ctrl_results *results, uint64_t now)
{
	const struct ctrl_results *told = &peer->told;

	if (peer->told_at == 0 || results->flags != told->flags ||
	    results->decisions - told->decisions > stream->share / 2)
		return true;
	return now - peer->told_at >= TELL_NS &&
	       (results->written != told->written || results->decisions != told->decisions ||
		results->decide_below != told->decide_below ||
		(peer->reports && results->report_below != told->report_below));
}

static void tell(struct decision_flow *flow, struct flow_stream *stream, unsigned node,
		 uint64_t now)
{
	const struct ctrl_results results = results_for(flow, stream, node);
	struct flow_peer *peer = &stream->peers[node];
	uint8_t bytes[CTRL_RESULTS_SIZE];

	if (!is_due(stream, peer, &results, now) ||
	    cluster_room(&flow->parameters.transport, node, sizeof(bytes)) < sizeof(bytes))
		return;
	cluster_send(&flow->parameters.transport, node, bytes,
		     ctrl_put_results(bytes, sizeof(bytes), &results));
	peer->told = results;
	peer->told_at = now > 0 ? now : 1;
}

void flow_send_results(struct decision_flow *flow, struct flow_stream *stream, uint64_t now)
{
	const unsigned n_nodes = flow->parameters.system->n_nodes;
	struct decision_inbox *inbox = stream->inbox;

	if (flow->run_is_over)
		atomic_store_explicit(&inbox->run_is_over, true, memory_order_release);
	if (all_arrived(flow, stream))
		atomic_store_explicit(&inbox->complete, true, memory_order_release);
	for (unsigned i = 0; i < n_nodes && i < TELL_MOST; i++) {
		if (is_peer(&stream->peers[stream->next_told]) && flow->up[stream->next_told])
			tell(flow, stream, stream->next_told, now);
		stream->next_told = (stream->next_told + 1) % n_nodes;
	}
}

bool flow_all_told(const struct decision_flow *flow, const struct flow_stream *stream)
{
	const uint64_t written =
	    atomic_load_explicit(&stream->inbox->written, memory_order_acquire);

	for (unsigned i = 0; i < flow->parameters.system->n_nodes; i++) {
		const struct flow_peer *peer = &stream->peers[i];

		if (is_peer(peer) && flow->up[i] &&
		    (peer->told_at == 0 || peer->told.written != written ||
		     (flow->run_is_over && (peer->told.flags & CTRL_RESULTS_OVER) == 0)))
			return false;
	}
	return true;
}
