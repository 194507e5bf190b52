// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The times between two messages of a host are exponential, so that its messages are a Poisson
// process; each goes to any of the other hosts with the same probability.
#include <math.h>

#include "sim_traffic/traffic_internal.h"

struct uniform {
	struct sim_traffic base;
	double interval; // ps, mean
	unsigned handler;
};

static void schedule(struct uniform *uniform, uint32_t host)
{
	struct sim_engine *engine = uniform->base.parameters.engine;
	const double wait = -log(1 - random_uniform(&uniform->base.random)) * uniform->interval;

	sim_at(engine, sim_now(engine) + (uint64_t)wait, uniform->handler, host, 0);
}

static void send_one(void *context, uint32_t host, uint32_t data)
{
	struct uniform *uniform = context;
	struct sim_traffic *base = &uniform->base;
	const uint32_t other = random_below(&base->random, base->parameters.n_hosts - 1);

	(void)data;
	traffic_send(base, &(struct sim_message){ .from = host,
						  .to = other < host ? other : other + 1,
						  .bytes = base->parameters.settings.message });
	schedule(uniform, host);
}

static bool start(struct sim_traffic *traffic)
{
	struct uniform *uniform = (struct uniform *)traffic;
	const struct sim_traffic_parameters *parameters = &traffic->parameters;

	uniform->interval =
	    (double)traffic_time(traffic, parameters->settings.message, parameters->settings.load);
	uniform->handler = sim_engine_handler(parameters->engine, send_one, uniform);
	for (uint32_t host = 0; host < parameters->n_hosts; host++)
		schedule(uniform, host);
	return true;
}

const struct traffic_model traffic_uniform = {
	.size = sizeof(struct uniform),
	.start = start,
};
