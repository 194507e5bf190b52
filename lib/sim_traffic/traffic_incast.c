// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Rounds at regular times. A round is complete when all of its messages have arrived; with a load
// above 1 rounds overlap.
#include "sim_traffic/traffic_internal.h"

#define RECEIVER    0u
#define MOST_ROUNDS 4096u // in progress at one time whose latency is measured

struct incast {
	struct sim_traffic base;
	uint32_t senders;
	uint64_t interval; // ps
	unsigned handler;
	uint32_t round;
	uint64_t begun[MOST_ROUNDS]; // ps, by round % MOST_ROUNDS
	uint32_t arrived[MOST_ROUNDS];
};

static void begin_round(void *context, uint32_t index, uint32_t data)
{
	struct incast *incast = context;
	struct sim_traffic *base = &incast->base;
	const uint32_t place = incast->round % MOST_ROUNDS;

	(void)index;
	(void)data;
	incast->begun[place] = sim_now(base->parameters.engine);
	incast->arrived[place] = 0;
	for (uint32_t i = 1; i <= incast->senders; i++)
		traffic_send(base,
			     &(struct sim_message){ .from = i,
						    .to = RECEIVER,
						    .bytes = base->parameters.settings.message,
						    .about = incast->round });
	base->account.begun++;
	incast->round++;
	sim_at(base->parameters.engine, incast->begun[place] + incast->interval, incast->handler, 0,
	       0);
}

static bool start(struct sim_traffic *traffic)
{
	struct incast *incast = (struct incast *)traffic;
	const struct sim_traffic_parameters *parameters = &traffic->parameters;
	const uint32_t others = parameters->n_hosts - 1;

	incast->senders = parameters->settings.senders;
	if (incast->senders == 0 || incast->senders > others)
		incast->senders = others;
	incast->interval =
	    traffic_time(traffic, (double)parameters->settings.message * incast->senders,
			 parameters->settings.load);
	incast->handler = sim_engine_handler(parameters->engine, begin_round, incast);
	sim_at(parameters->engine, sim_now(parameters->engine), incast->handler, 0, 0);
	return true;
}

static void delivered(struct sim_traffic *traffic, const struct sim_message *message)
{
	struct incast *incast = (struct incast *)traffic;
	const uint32_t place = message->about % MOST_ROUNDS;

	if (incast->round - message->about > MOST_ROUNDS ||
	    ++incast->arrived[place] < incast->senders)
		return;
	traffic_trace(traffic, RECEIVER, incast->begun[place]);
	traffic->account.complete++;
	histogram_add(&traffic->account.latency,
		      (sim_now(traffic->parameters.engine) - incast->begun[place]) /
			  SIM_NANOSECOND);
}

const struct traffic_model traffic_incast = {
	.size = sizeof(struct incast),
	.start = start,
	.delivered = delivered,
};
