// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "readout/internal.h"

#define QUEUE_MOST 65536u // grants that wait

static bool make_pace(struct readout_logic *logic, uint64_t now)
{
	struct readout_pace_parameters parameters = logic->parameters.pace;

	parameters.n_builders = logic->parameters.n_builders;
	parameters.ticks_per_second = logic->parameters.ticks_per_second;
	return readout_pace_make(&logic->pace, &parameters, now);
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
		.phase_ticks = (uint64_t)((double)parameters->phase_ns * 1e-9 * hz),
	};

	*logic = (struct readout_logic){
		.parameters = *parameters,
		.counters = counters,
		.own_end = parameters->events > 0 ? parameters->events : UINT64_MAX,
		.run_end = UINT64_MAX,
		.ticks_per_event = parameters->rate > 0 ? hz / parameters->rate : 0,
	};
	return send_queue_make(&logic->queue, &queue) && make_pace(logic, now);
}

uint64_t readout_logic_memory(unsigned n_builders)
{
	return send_queue_memory(QUEUE_MOST) + readout_pace_memory(n_builders);
}

void readout_logic_free(struct readout_logic *logic)
{
	send_queue_free(&logic->queue);
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
