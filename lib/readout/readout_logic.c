// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "readout/internal.h"

#include <stdlib.h>

#include "base/limits.h"

#define QUEUE_MOST 65536u // grants that wait

static bool make_pace(struct readout_logic *logic, uint64_t now)
{
	struct readout_pace_parameters parameters = logic->parameters.pace;

	parameters.n_builders = logic->parameters.n_builders;
	parameters.ticks_per_second = logic->parameters.ticks_per_second;
	return readout_pace_make(&logic->pace, &parameters, now);
}

static bool make_windows(struct readout_logic *logic)
{
	struct shift_windows_parameters parameters = logic->parameters.windows;

	parameters.rank = logic->parameters.rank;
	parameters.ticks_per_second = logic->parameters.ticks_per_second;
	shift_windows_make(&logic->windows, &parameters);
	// The last list is that of the builders of this process.
	return window_queue_make(&logic->window_queue, QUEUE_MOST, parameters.n_positions + 1);
}

static struct phase_gate make_gate(const struct readout_logic_parameters *parameters)
{
	struct phase_gate_parameters barrier = parameters->barrier;

	barrier.ticks_per_second = parameters->ticks_per_second;
	return phase_gate_make(&barrier);
}

bool readout_logic_make(struct readout_logic *logic,
			const struct readout_logic_parameters *parameters,
			struct readout_counters *counters, uint64_t now)
{
	const double hz = (double)parameters->ticks_per_second;
	const struct send_queue_parameters queue = {
		.size = QUEUE_MOST,
		.rank = parameters->rank,
		.n_senders = parameters->n_senders,
		.is_random = parameters->is_random,
		.seed = parameters->seed,
	};

	*logic = (struct readout_logic){
		.parameters = *parameters,
		.counters = counters,
		.own_end = parameters->events > 0 ? parameters->events : UINT64_MAX,
		.run_end = UINT64_MAX,
		.production = production_make(parameters->rate, &parameters->spill, hz),
	};
	logic->gate = make_gate(parameters);
	logic->positions = calloc(parameters->n_builders, sizeof(*logic->positions));
	if (logic->positions == NULL)
		return false;
	for (unsigned i = 0; i < parameters->n_builders; i++)
		logic->positions[i] = (uint16_t)i;
	return (readout_logic_is_timed(logic) ? make_windows(logic)
					      : send_queue_make(&logic->queue, &queue)) &&
	       make_pace(logic, now);
}

uint64_t readout_logic_memory(unsigned n_builders, bool is_timed)
{
	// A timed shift has at most as many positions as nodes.
	return (is_timed ? window_queue_memory(QUEUE_MOST, EVB_MAX_NODES + 1)
			 : send_queue_memory(QUEUE_MOST)) +
	       n_builders * sizeof(uint16_t) + readout_pace_memory(n_builders);
}

void readout_logic_free(struct readout_logic *logic)
{
	send_queue_free(&logic->queue);
	window_queue_free(&logic->window_queue);
	free(logic->positions);
	readout_pace_free(&logic->pace);
}

void readout_logic_leave(struct readout_logic *logic)
{
	if (!logic->leaving)
		readout_forget_grants(logic);
	logic->leaving = true;
	logic->state = CTRL_STOPPED;
	logic->own_end = logic->static_next;
}
