// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Host x sends to host next[x], where next is one random cycle through all hosts (Sattolo 1986), so
// that no host sends to itself. Hosts begin at random times within the first interval.
#include <stdlib.h>

#include "sim_traffic/traffic_internal.h"

struct permutation {
	struct sim_traffic base;
	uint32_t *next;
	uint64_t interval; // ps, between two messages of a host
	unsigned handler;
};

static void send_one(void *context, uint32_t host, uint32_t data)
{
	struct permutation *permutation = context;
	struct sim_traffic *base = &permutation->base;
	struct sim_engine *engine = base->parameters.engine;

	(void)data;
	traffic_send(base, &(struct sim_message){ .from = host,
						  .to = permutation->next[host],
						  .bytes = base->parameters.settings.message });
	sim_at(engine, sim_now(engine) + permutation->interval, permutation->handler, host, 0);
}

static bool start(struct sim_traffic *traffic)
{
	struct permutation *permutation = (struct permutation *)traffic;
	const struct sim_traffic_parameters *parameters = &traffic->parameters;
	const uint32_t n = parameters->n_hosts;

	permutation->next = calloc(n, sizeof(permutation->next[0]));
	if (permutation->next == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++)
		permutation->next[i] = i;
	for (uint32_t i = n - 1; i > 0; i--) {
		const uint32_t j = random_below(&traffic->random, i);
		const uint32_t swapped = permutation->next[i];
		permutation->next[i] = permutation->next[j];
		permutation->next[j] = swapped;
	}
	permutation->interval =
	    traffic_time(traffic, parameters->settings.message, parameters->settings.load);
	permutation->handler = sim_engine_handler(parameters->engine, send_one, permutation);
	for (uint32_t host = 0; host < n; host++)
		sim_at(parameters->engine,
		       sim_now(parameters->engine) + (uint64_t)(random_uniform(&traffic->random) *
								(double)permutation->interval),
		       permutation->handler, host, 0);
	return true;
}

static void stop(struct sim_traffic *traffic)
{
	free(((struct permutation *)traffic)->next);
}

const struct traffic_model traffic_permutation = {
	.size = sizeof(struct permutation),
	.start = start,
	.stop = stop,
};
