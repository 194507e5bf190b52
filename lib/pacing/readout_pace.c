// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pacing/readout_pace.h"

#include <stdlib.h>

// The burst is the number of bytes that the rate permits between two polls, but at least some
// packets.
#define BURST_NS      20000u
#define BURST_PACKETS 2u
#define BURST_MOST    (1u << 20)

uint64_t readout_pace_memory(unsigned n_builders)
{
	return n_builders * sizeof(struct readout_flow);
}

// The number of shares of a link that a node has if no more than n_at_once send over it.
static unsigned own_shares(const struct readout_pace_parameters *parameters)
{
	const uint64_t at_once = (uint64_t)parameters->n_at_once * parameters->node_sources;

	return at_once > 0 && at_once < parameters->system_sources
		   ? (unsigned)(parameters->system_sources / at_once)
		   : 1;
}

bool readout_pace_make(struct readout_pace *pace, const struct readout_pace_parameters *parameters,
		       uint64_t now)
{
	*pace = (struct readout_pace){
		.parameters = *parameters,
		.flows = calloc(parameters->n_builders, sizeof(*pace->flows)),
		.own = own_shares(parameters),
		.most_fan = (parameters->system_sources + parameters->node_sources - 1) /
			    parameters->node_sources,
		// The time between two polls also contains a sleep of the lcore.
		.burst_ns = BURST_NS + parameters->sleep_ns * 3 / 2,
	};
	pacer_init(&pace->pacer, parameters->ticks_per_second, PACER_UNLIMITED, BURST_MOST, now);
	for (unsigned i = 0; pace->flows != NULL && i < parameters->n_builders; i++) {
		pacer_init(&pace->flows[i].pacer, parameters->ticks_per_second, PACER_UNLIMITED,
			   BURST_MOST, now);
		pace->flows[i].link = i;
	}
	return pace->flows != NULL;
}

void readout_pace_free(struct readout_pace *pace)
{
	free(pace->flows);
}

void readout_pace_set_link(struct readout_pace *pace, unsigned builder, unsigned first)
{
	pace->flows[builder].link = first;
}

void readout_pace_set_local(struct readout_pace *pace, unsigned builder)
{
	pace->flows[builder].is_local = true;
}

static struct readout_flow *flow_of(const struct readout_pace *pace, unsigned builder)
{
	return &pace->flows[pace->flows[builder].link];
}

void readout_pace_add(struct readout_pace *pace, unsigned builder)
{
	struct readout_flow *flow = flow_of(pace, builder);

	if (!pace->flows[builder].is_local)
		pace->n_waiting += flow->waiting++ == 0;
}

void readout_pace_clear(struct readout_pace *pace)
{
	for (unsigned i = 0; i < pace->parameters.n_builders; i++)
		pace->flows[i].waiting = 0;
	pace->n_waiting = 0;
}

// The shares of a link with which this node sends: its own for each link for which it has data,
// limited to a whole link.
static unsigned fan_of(const struct readout_pace *pace)
{
	unsigned n = pace->n_waiting + (pace->flow->waiting == 0);

	if (pace->parameters.timed)
		return 1;
	n *= pace->own;
	return n < pace->most_fan ? n : pace->most_fan;
}

// The rate of this readout for this number of shares of a link, in bytes/s. It is limited by the
// rate of the link: most_fan is rounded up, so that many shares may exceed a link.
static uint64_t rate_of(const struct readout_pace *pace, unsigned shares)
{
	const struct readout_pace_parameters *p = &pace->parameters;
	uint64_t node = pace->rate * shares;
	uint64_t link = pace->rate * p->system_sources / p->node_sources;

	if (pace->rate == 0 || !p->paced)
		return PACER_UNLIMITED;
	return (node < link ? node : link) * p->n_sources / p->node_sources;
}

// The burst of a pacer grows with the number of shares, since every flow may be late by its own
// burst.
static void set_pacer(const struct readout_pace *pace, struct pacer *pacer, unsigned shares,
		      uint64_t now)
{
	uint64_t rate = rate_of(pace, shares);
	double burst = (double)rate * (double)pace->burst_ns * 1e-9;
	double least = (double)BURST_PACKETS * pace->parameters.mtu * shares;

	if (rate == pacer->rate)
		return;
	if (burst < least)
		burst = least;
	pacer_set(pacer, rate, burst < BURST_MOST ? (uint32_t)burst : BURST_MOST, now);
}

static void set_rate(struct readout_pace *pace, uint64_t now)
{
	pace->fan = fan_of(pace);
	set_pacer(pace, &pace->pacer, pace->fan, now);
}

// Takes the bytes of the previous event from the bucket of its flow, as if they were sent when the
// event began.
static void settle(struct readout_pace *pace)
{
	uint32_t bytes = pace->bytes < UINT32_MAX ? (uint32_t)pace->bytes : UINT32_MAX;

	if (bytes > 0 && pace->flow != NULL)
		(void)pacer_take(&pace->flow->pacer, bytes, pace->began);
	pace->bytes = 0;
}

void readout_pace_begin(struct readout_pace *pace, unsigned builder, uint64_t rate, uint64_t now)
{
	struct readout_flow *flow = flow_of(pace, builder);

	if (pace->flows[builder].is_local)
		return;
	if (flow->waiting > 0)
		pace->n_waiting -= --flow->waiting == 0;
	settle(pace);
	pace->flow = flow;
	pace->rate = rate;
	pace->held = true;
	set_pacer(pace, &flow->pacer, pace->own, now);
	set_rate(pace, now);
}

void readout_pace_adapt(struct readout_pace *pace, uint64_t now)
{
	if (pace->flow != NULL && fan_of(pace) != pace->fan)
		set_rate(pace, now);
}
