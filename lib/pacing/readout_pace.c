// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pacing/readout_pace.h"

#include <stdlib.h>
#include <string.h>

// What leaves at once: what the rate gives between two polls, and some packets at least.
#define BURST_NS      20000u
#define BURST_PACKETS 2u
#define BURST_MOST    (1u << 20)

bool readout_pace_make(struct readout_pace *pace, const struct config *config, unsigned n_sources,
		       uint32_t mtu, uint64_t ticks_per_second, uint64_t now)
{
	const struct config_cluster *cluster = &config->cluster;
	const struct config_idle *idle = &config->idle;

	*pace = (struct readout_pace){
		.n_builders = cluster->n_builders,
		.n_sources = n_sources,
		.n_of_node = cluster->nodes[cluster->self].n_sources,
		.most_fan = (cluster->n_sources + n_sources - 1) / n_sources,
		.self = cluster->self,
		.builders = cluster->builders,
		.paces = config->event_manager.shaping != CONFIG_SHAPING_NONE,
		.timed = config->event_manager.shaping == CONFIG_SHAPING_TIMED_SHIFT,
		.burst_ns = BURST_NS,
		.least_burst = BURST_PACKETS * mtu,
	};
	// An lcore that sleeps comes late by as much.
	if (idle->policy == CONFIG_IDLE_ADAPTIVE)
		pace->burst_ns += idle->sleep_ns * 3 / 2;
	pacer_init(&pace->pacer, ticks_per_second, PACER_UNLIMITED, BURST_MOST, now);
	pace->waiting = calloc(pace->n_builders, sizeof(*pace->waiting));
	pace->lanes = calloc(pace->n_builders, sizeof(*pace->lanes));
	for (unsigned i = 0; pace->lanes != NULL && i < pace->n_builders; i++)
		pacer_init(&pace->lanes[i], ticks_per_second, PACER_UNLIMITED, BURST_MOST, now);
	return pace->waiting != NULL && pace->lanes != NULL;
}

void readout_pace_free(struct readout_pace *pace)
{
	free(pace->waiting);
	free(pace->lanes);
}

// What goes to a builder of this node is on no link.
static bool is_local(const struct readout_pace *pace, unsigned builder)
{
	return pace->builders[builder].node == pace->self;
}

void readout_pace_add(struct readout_pace *pace, unsigned builder)
{
	if (!is_local(pace, builder))
		pace->n_waiting += pace->waiting[builder]++ == 0;
}

void readout_pace_clear(struct readout_pace *pace)
{
	memset(pace->waiting, 0, pace->n_builders * sizeof(*pace->waiting));
	pace->n_waiting = 0;
}

// Builders for which there is something to send, and no more than make a whole link.
static unsigned fan_of(const struct readout_pace *pace)
{
	unsigned n = pace->n_waiting + (pace->waiting[pace->builder] == 0);

	if (pace->timed)
		return 1;
	return n < pace->most_fan ? n : pace->most_fan;
}

// Of so many shares of the builder's link.
static uint64_t rate_of(const struct readout_pace *pace, unsigned shares)
{
	if (pace->rate == 0 || !pace->paces)
		return PACER_UNLIMITED;
	return pace->rate * shares * pace->n_sources / pace->n_of_node;
}

// All lanes together may be late by as much as each.
static void set_pacer(const struct readout_pace *pace, struct pacer *pacer, unsigned shares,
		      uint64_t now)
{
	uint64_t rate = rate_of(pace, shares);
	double burst = (double)rate * (double)pace->burst_ns * 1e-9;

	if (rate == pacer->rate)
		return;
	if (burst < (double)pace->least_burst * shares)
		burst = (double)pace->least_burst * shares;
	pacer_set(pacer, rate, burst < BURST_MOST ? (uint32_t)burst : BURST_MOST, now);
}

static void set_rate(struct readout_pace *pace, uint64_t now)
{
	pace->fan = fan_of(pace);
	set_pacer(pace, &pace->pacer, pace->fan, now);
}

// What the event before has sent is owed by its lane, since it began.
static void settle(struct readout_pace *pace)
{
	uint32_t bytes = pace->bytes < UINT32_MAX ? (uint32_t)pace->bytes : UINT32_MAX;

	if (bytes > 0)
		(void)pacer_take(&pace->lanes[pace->builder], bytes, pace->began);
	pace->bytes = 0;
}

void readout_pace_begin(struct readout_pace *pace, unsigned builder, uint64_t rate, uint64_t now)
{
	if (pace->waiting[builder] > 0)
		pace->n_waiting -= --pace->waiting[builder] == 0;
	if (is_local(pace, builder))
		return;
	settle(pace);
	pace->builder = builder;
	pace->rate = rate;
	pace->held = true;
	set_pacer(pace, &pace->lanes[builder], 1, now);
	set_rate(pace, now);
}

void readout_pace_adapt(struct readout_pace *pace, uint64_t now)
{
	if (fan_of(pace) != pace->fan)
		set_rate(pace, now);
}
