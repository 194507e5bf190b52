// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pacing/phase_gate.h"

struct phase_gate phase_gate_make(const struct phase_gate_parameters *parameters)
{
	const double per_ns = (double)parameters->ticks_per_second * 1e-9;

	return (struct phase_gate){
		.distance = parameters->distance,
		.longest_wait = (uint64_t)((double)parameters->longest_wait_ns * per_ns),
	};
}

void phase_gate_set_session(struct phase_gate *gate, uint16_t session)
{
	if (gate->session == session)
		return;
	*gate = (struct phase_gate){
		.distance = gate->distance,
		.longest_wait = gate->longest_wait,
		.session = session,
	};
}

void phase_gate_set_limit(struct phase_gate *gate, uint32_t limit)
{
	if (gate->has_limit && gate->limit == limit)
		return;
	gate->has_limit = true;
	gate->limit = limit;
	gate->waits = gate->is_free = false;
}

void phase_gate_reach(struct phase_gate *gate, uint32_t phase)
{
	// A grant that arrives late is one of an earlier phase.
	if (gate->has_reached && (int32_t)(phase - gate->reached) <= 0)
		return;
	gate->has_reached = gate->is_due = true;
	gate->reached = phase;
}

static bool is_within(const struct phase_gate *gate, uint32_t phase)
{
	return gate->has_limit && (int32_t)(phase - gate->limit) < (int32_t)gate->distance;
}

enum phase_gate_verdict phase_gate_ask(struct phase_gate *gate, uint32_t phase, uint64_t now)
{
	const bool waited = gate->waits;

	gate->waits = false;
	if (gate->is_free || is_within(gate, phase))
		return PHASE_GATE_OPEN;
	if (!waited)
		gate->since = now;
	gate->is_free = now - gate->since >= gate->longest_wait;
	gate->waits = !gate->is_free;
	return gate->is_free ? PHASE_GATE_LATE : PHASE_GATE_WAITS;
}
