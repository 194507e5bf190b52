// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "decision/decision_flow_internal.h"

#include <stdlib.h>

static bool make_streams(struct decision_flow *flow)
{
	const struct decision_flow_parameters *p = &flow->parameters;

	for (unsigned i = 0; i < flow->n; i++) {
		struct flow_stream *stream = &flow->streams[i];

		stream->results = &p->system->results[i];
		stream->outbox = p->outboxes[i];
		stream->inbox = p->inboxes[i];
		if (stream->inbox != NULL && !flow_make_peers(flow, stream))
			return false;
	}
	return true;
}

struct decision_flow *decision_flow_create(const struct decision_flow_parameters *parameters)
{
	struct decision_flow *flow = calloc(1, sizeof(*flow));

	if (flow == NULL)
		return NULL;
	flow->parameters = *parameters;
	flow->self = parameters->system->self;
	flow->leader = CLUSTER_NONE;
	flow->n = parameters->system->n_results;
	flow->up = calloc(parameters->system->n_nodes, sizeof(*flow->up));
	flow->down_since = calloc(parameters->system->n_nodes, sizeof(*flow->down_since));
	if (flow->up == NULL || flow->down_since == NULL || !make_streams(flow)) {
		decision_flow_destroy(flow);
		return NULL;
	}
	return flow;
}

void decision_flow_destroy(struct decision_flow *flow)
{
	if (flow == NULL)
		return;
	for (unsigned i = 0; i < flow->n; i++)
		free(flow->streams[i].peers);
	free(flow->up);
	free(flow->down_since);
	free(flow);
}

static struct flow_stream *stream_of(struct decision_flow *flow, unsigned index, uint32_t run)
{
	return index < flow->n && run == flow->parameters.run ? &flow->streams[index] : NULL;
}

static void take_results(struct decision_flow *flow, unsigned from,
			 const struct ctrl_record *record)
{
	struct flow_stream *stream;
	struct ctrl_results results;

	if (ctrl_get_results(record, &results) != WIRE_OK)
		return;
	stream = stream_of(flow, results.results, results.run);
	if (stream != NULL && from == stream->results->node)
		flow_allowed(flow, stream, &results);
}

static void take_decisions(struct decision_flow *flow, unsigned from,
			   const struct ctrl_record *record)
{
	struct ctrl_decisions decisions;
	struct flow_stream *stream;

	if (ctrl_get_decisions(record, &decisions) != WIRE_OK)
		return;
	stream = stream_of(flow, decisions.results, decisions.run);
	if (stream != NULL && stream->inbox != NULL)
		flow_take_decisions(flow, stream, from, &decisions);
}

static void take_events(struct decision_flow *flow, unsigned from, const struct ctrl_record *record)
{
	struct flow_stream *stream;
	struct ctrl_events events;

	if (ctrl_get_events(record, &events) != WIRE_OK || events.n_events > 4 * events.n)
		return;
	stream = stream_of(flow, events.results, events.run);
	if (stream != NULL && stream->inbox != NULL)
		flow_take_events(flow, stream, from, &events);
}

bool decision_flow_record(struct decision_flow *flow, unsigned from,
			  const struct ctrl_record *record)
{
	switch (record->type) {
	case CTRL_RESULTS:
		take_results(flow, from, record);
		return true;
	case CTRL_DECISIONS:
		take_decisions(flow, from, record);
		return true;
	case CTRL_EVENTS:
		take_events(flow, from, record);
		return true;
	default:
		return false;
	}
}

void decision_flow_follow(struct decision_flow *flow, unsigned manager, uint32_t epoch,
			  const struct cluster_manager *here)
{
	if (flow->leader == manager && flow->epoch == epoch && flow->manager == here)
		return;
	flow->leader = manager;
	flow->epoch = epoch;
	flow->manager = here;
	for (unsigned i = 0; i < flow->n; i++) {
		flow_begin_reporting(&flow->streams[i]);
		if (flow->streams[i].inbox != NULL)
			flow_follow_reporter(flow, &flow->streams[i]);
	}
}

void decision_flow_event(struct decision_flow *flow, unsigned peer, enum control_event event)
{
	if (peer >= flow->parameters.system->n_nodes || peer == flow->self)
		return;
	if (event == CONTROL_LOST || event == CONTROL_PROCESS_ENDED)
		flow->up[peer] = false;
	else if (event == CONTROL_CONNECTED || event == CONTROL_RESTARTED || event == CONTROL_BACK)
		flow->up[peer] = true;
	flow->changed = true;
	if (event != CONTROL_CONNECTED && event != CONTROL_RESTARTED)
		return;
	for (unsigned i = 0; i < flow->n; i++) {
		struct flow_stream *stream = &flow->streams[i];

		if (stream->inbox != NULL)
			flow_begin_receiving(stream, peer);
		else if (stream->results->node == peer)
			flow_begin_sending(stream);
	}
}

static void watch_nodes(struct decision_flow *flow, uint64_t now)
{
	flow->now = now;
	if (flow->watches && !flow->changed)
		return;
	flow->watches = now > 0;
	flow->changed = false;
	for (unsigned i = 0; i < flow->parameters.system->n_nodes; i++) {
		if (flow->up[i] || i == flow->self)
			flow->down_since[i] = 0;
		else if (flow->down_since[i] == 0)
			flow->down_since[i] = now;
	}
}

void decision_flow_poll(struct decision_flow *flow, bool is_over, uint64_t now)
{
	flow->run_is_over = is_over;
	watch_nodes(flow, now);
	for (unsigned i = 0; i < flow->n; i++) {
		struct flow_stream *stream = &flow->streams[i];

		if (stream->inbox != NULL)
			flow_send_results(flow, stream, now);
		if (stream->outbox != NULL)
			flow_send_decisions(flow, stream);
		if (flow->manager != NULL && flow_is_told(flow, stream))
			flow_send_events(flow, stream);
	}
}

static bool is_done(const struct decision_flow *flow, const struct flow_stream *stream)
{
	const bool reports = flow->manager != NULL && flow_is_told(flow, stream);

	if (stream->inbox != NULL)
		return flow_all_told(flow, stream);
	if (flow_is_gone(flow, stream->results->node) || !flow->run_is_over)
		return true;
	// The results node has received everything when it says so.
	return (stream->outbox == NULL && !reports) ||
	       (stream->has_allowed && (stream->allowed.flags & CTRL_RESULTS_OVER) != 0);
}

bool decision_flow_is_done(const struct decision_flow *flow)
{
	for (unsigned i = 0; i < flow->n; i++)
		if (!is_done(flow, &flow->streams[i]))
			return false;
	return true;
}

void decision_flow_view(const struct decision_flow *flow, unsigned results,
			struct decision_flow_view *view)
{
	*view = flow->streams[results].view;
}
