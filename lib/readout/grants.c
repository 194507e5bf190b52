// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "readout/internal.h"

#include "base/counter.h"

void readout_logic_set_builder(struct readout_logic *logic, unsigned builder, unsigned first,
			       bool is_local)
{
	logic->positions[builder] = builder == first ? logic->n_links++ : logic->positions[first];
	readout_pace_set_link(&logic->pace, builder, first);
	if (is_local)
		readout_pace_set_local(&logic->pace, builder);
}

// The queue of a builder's grants: that of its position, or the last one for the builders of this
// process.
static uint32_t list_of(const struct readout_logic *logic, unsigned builder)
{
	return logic->pace.flows[builder].is_local ? logic->window_queue.n_positions - 1
						   : logic->positions[builder];
}

bool readout_put_grant(struct readout_logic *logic, const struct message *grant)
{
	const bool done =
	    readout_logic_is_timed(logic)
		? window_queue_put(&logic->window_queue, list_of(logic, grant->builder), grant)
		: send_queue_put(&logic->queue, grant);

	if (done)
		readout_pace_add(&logic->pace, grant->builder);
	return done;
}

// Events for builders of this process come first: they take no time on a link.
static bool take_in_window(struct readout_logic *logic, uint64_t now)
{
	struct window_queue *queue = &logic->window_queue;
	uint32_t position;

	if (window_queue_take(queue, queue->n_positions - 1, &logic->grant, &logic->cursor))
		return true;
	position = shift_windows_position(&logic->windows, now);
	if (position != SHIFT_NO_POSITION &&
	    window_queue_take(queue, position, &logic->grant, &logic->cursor))
		return true;
	counter_add(&logic->counters->held_window, queue->n > 0);
	return false;
}

// Whether the current grant has a phase in this session.
static bool has_phase(const struct readout_logic *logic)
{
	return (logic->grant.flags & MESSAGE_BARRIER) != 0 && logic->grant.n_positions > 1 &&
	       logic->grant.state == logic->gate.session;
}

// Whether the current grant must wait for the other nodes.
static bool is_ahead(struct readout_logic *logic, uint64_t now)
{
	enum phase_gate_verdict verdict;

	if (!has_phase(logic))
		return false;
	phase_gate_reach(&logic->gate, logic->phase);
	verdict = phase_gate_ask(&logic->gate, logic->phase, now);
	counter_add(&logic->counters->held_phase, verdict == PHASE_GATE_WAITS);
	counter_add(&logic->counters->phase_timeouts, verdict == PHASE_GATE_LATE);
	return verdict == PHASE_GATE_WAITS;
}

void readout_end_phase(struct readout_logic *logic)
{
	if (has_phase(logic))
		phase_gate_reach(&logic->gate, logic->phase + 1);
}

void readout_tell_phase(struct readout_logic *logic)
{
	const struct message message = {
		.kind = MESSAGE_PHASE,
		.event = logic->gate.reached,
		.run = logic->run,
		.state = logic->gate.session,
	};

	if (logic->gate.is_due)
		logic->gate.is_due =
		    !logic->parameters.output->to_control(logic->parameters.context, &message);
}

bool readout_take_grant(struct readout_logic *logic, uint64_t now)
{
	if (readout_logic_is_timed(logic))
		return take_in_window(logic, now);
	if (!logic->is_held) {
		if (!send_queue_next(&logic->queue, &logic->grant))
			return false;
		logic->phase = send_queue_phase(&logic->queue);
	}
	logic->is_held = is_ahead(logic, now);
	if (logic->is_held)
		return false;
	logic->cursor = (struct packet_segment){ .event = logic->grant.event };
	return true;
}

bool readout_window_is_over(struct readout_logic *logic, uint64_t now)
{
	return readout_logic_is_timed(logic) && readout_messages(logic) == NULL &&
	       !logic->pace.flows[logic->grant.builder].is_local &&
	       shift_windows_position(&logic->windows, now) !=
		   logic->positions[logic->grant.builder];
}

void readout_return_grant(struct readout_logic *logic)
{
	window_queue_return(&logic->window_queue, list_of(logic, logic->grant.builder),
			    &logic->grant, &logic->cursor);
	readout_pace_add(&logic->pace, logic->grant.builder);
}

void readout_clear_grants(struct readout_logic *logic)
{
	logic->is_held = false;
	if (readout_logic_is_timed(logic))
		window_queue_clear(&logic->window_queue);
	else
		send_queue_clear(&logic->queue);
}
