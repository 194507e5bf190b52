// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Phases by the clock. Without conflicts in the network each host receives
//
//     b_eff * send_window / (send_window + idle_window)
//
// bytes/s, where b_eff is what its link can carry. A host sends one message after the other until
// its window ends, or is filled: the last message is shorter.
#include <stdlib.h>

#include "sim_traffic/traffic_internal.h"

struct a2a {
	struct sim_traffic base;
	uint64_t send_window, period; // ps
	uint64_t window_end;
	uint64_t *budget;  // of each host: bytes that it may still send in this window
	uint32_t distance; // of the phase: 1 to n_hosts - 1
	unsigned handler;
};

static void send_next(struct a2a *a2a, uint32_t host)
{
	struct sim_traffic *base = &a2a->base;
	const struct sim_traffic_parameters *parameters = &base->parameters;
	const uint64_t now = sim_now(parameters->engine);
	const uint64_t left = now < a2a->window_end ? a2a->window_end - now : 0;
	const double room = (double)left * parameters->bytes_per_second / (double)SIM_SECOND;
	uint64_t bytes = parameters->settings.message;

	if (bytes > a2a->budget[host])
		bytes = a2a->budget[host];
	if (room < (double)bytes)
		bytes = (uint64_t)room;
	if (bytes == 0)
		return;
	a2a->budget[host] -= bytes;
	traffic_send(base,
		     &(struct sim_message){ .from = host,
					    .to = (host + a2a->distance) % parameters->n_hosts,
					    .bytes = (uint32_t)bytes,
					    .about = a2a->distance });
}

static void begin_phase(void *context, uint32_t index, uint32_t data)
{
	struct a2a *a2a = context;
	const struct sim_traffic_parameters *parameters = &a2a->base.parameters;
	const uint64_t now = sim_now(parameters->engine);

	(void)index;
	(void)data;
	a2a->distance = a2a->distance % (parameters->n_hosts - 1) + 1;
	a2a->window_end = now + a2a->send_window;
	for (uint32_t host = 0; host < parameters->n_hosts; host++) {
		a2a->budget[host] = (uint64_t)((double)a2a->send_window / (double)SIM_SECOND *
					       parameters->bytes_per_second);
		send_next(a2a, host);
	}
	sim_at(parameters->engine, now + a2a->period, a2a->handler, 0, 0);
}

static bool start(struct sim_traffic *traffic)
{
	struct a2a *a2a = (struct a2a *)traffic;
	const struct sim_traffic_parameters *parameters = &traffic->parameters;

	a2a->send_window = parameters->settings.send_window_ns * SIM_NANOSECOND;
	a2a->period = a2a->send_window + parameters->settings.idle_window_ns * SIM_NANOSECOND;
	a2a->budget = calloc(parameters->n_hosts, sizeof(a2a->budget[0]));
	if (a2a->budget == NULL)
		return false;
	a2a->handler = sim_engine_handler(parameters->engine, begin_phase, a2a);
	sim_at(parameters->engine, sim_now(parameters->engine), a2a->handler, 0, 0);
	return true;
}

// A message of an earlier phase that conflicts held back begins no other one.
static void sent(struct sim_traffic *traffic, const struct sim_message *message)
{
	struct a2a *a2a = (struct a2a *)traffic;

	if (message->about == a2a->distance)
		send_next(a2a, message->from);
}

static void stop(struct sim_traffic *traffic)
{
	free(((struct a2a *)traffic)->budget);
}

const struct traffic_model traffic_a2a = {
	.size = sizeof(struct a2a),
	.start = start,
	.sent = sent,
	.stop = stop,
};
