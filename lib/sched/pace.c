// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How fast a builder's link is filled. The token bucket is kept as the time at which it has room
// again: a grant moves it by the time that the event takes at the rate, and it never lies further
// back than `burst_ns`. The rate is the link's, times the utilisation wanted, times a share that
// congestion cuts and calm restores.
#include "sched/sched_internal.h"

#define LONGEST_NS 1e15 // that one event can take: 11 days

static void set_share(const struct sched *sched, struct sched_builder *builder, double share)
{
	double rate = (double)builder->link_rate * sched->parameters.target_utilisation * share;

	builder->share = share;
	if (builder->link_rate == 0)
		return;
	builder->rate = rate < 1 ? 1 : (uint64_t)rate;
	if (sched->parameters.shaping == SCHED_TIMED_SHIFT)
		rate *= (double)sched->parameters.send_window_ns / (double)sched->rounds.phase_ns;
	builder->ns_per_byte = 1e9 / rate;
}

void pace_layout(struct sched *sched, const struct sched_builder_parameters *builders)
{
	for (uint32_t i = 0; i < sched->parameters.n_builders; i++) {
		struct sched_builder *builder = &sched->builders[i];

		builder->link_rate = builders[i].link_rate;
		builder->window = builders[i].window;
		builder->mean_16 = 16 * (uint64_t)sched->parameters.event_bytes;
		set_share(sched, builder, 1);
	}
}

uint32_t pace_window(const struct sched_builder *builder)
{
	if (builder->window == 0 || builder->granted == 0 ||
	    builder->in_flight + pace_estimate(builder) <= builder->window)
		return 0;
	return SCHED_BLOCK_WINDOW;
}

uint32_t pace_granted(struct sched *sched, struct sched_builder *builder, uint64_t bytes)
{
	uint64_t burst = sched->parameters.burst_ns;
	uint64_t earliest = sched->now > burst ? sched->now - burst : 0;
	double cost;
	uint64_t whole;

	if (builder->link_rate == 0)
		return pace_window(builder);
	if (builder->next_ns < earliest) {
		builder->next_ns = earliest;
		builder->next_fraction = 0;
	}
	cost = (double)bytes * builder->ns_per_byte + builder->next_fraction;
	if (cost > LONGEST_NS)
		cost = LONGEST_NS;
	whole = (uint64_t)cost;
	builder->next_ns += whole;
	builder->next_fraction = cost - (double)whole;
	if (builder->next_ns <= sched->now)
		return pace_window(builder);
	timers_add(sched, (uint32_t)(builder - sched->builders));
	return SCHED_BLOCK_RATE | pace_window(builder);
}

// The first event tells more than the guess before.
void pace_built(struct sched_builder *builder, uint64_t bytes)
{
	uint64_t most = UINT64_MAX / 32;

	if (bytes > most)
		bytes = most;
	if (!builder->sized && bytes > 0) {
		builder->sized = true;
		builder->mean_16 = 16 * bytes;
		return;
	}
	builder->mean_16 += bytes - builder->mean_16 / 16;
}

static void cut(struct sched *sched, struct sched_builder *builder)
{
	const struct sched_parameters *parameters = &sched->parameters;
	double share = builder->share * parameters->cut;

	builder->stepped_at = sched->now;
	if (builder->was_cut && sched->now - builder->cut_at < parameters->cut_ns)
		return;
	builder->was_cut = true;
	builder->cut_at = sched->now;
	sched->counters.cuts++;
	set_share(sched, builder, share > parameters->floor ? share : parameters->floor);
}

static void recover(const struct sched *sched, struct sched_builder *builder)
{
	uint64_t steps = (sched->now - builder->stepped_at) / sched->parameters.recover_ns;
	double share = builder->share + (double)steps * sched->parameters.step;

	if (steps == 0)
		return;
	builder->stepped_at += steps * sched->parameters.recover_ns;
	set_share(sched, builder, share < 1 ? share : 1);
}

void pace_port_state(struct sched *sched, struct sched_builder *builder,
		     const struct sched_port *port)
{
	uint32_t blocks = builder->blocks & ~(uint32_t)SCHED_BLOCK_PAUSED;

	if (port->paused && (builder->blocks & SCHED_BLOCK_PAUSED) == 0)
		sched->counters.pauses++;
	if (port->paused)
		blocks |= SCHED_BLOCK_PAUSED;
	builder->paused_share = port->paused_share;
	if (port->paused || port->marks > 0 ||
	    port->paused_share >= sched->parameters.congested_share ||
	    port->occupancy >= sched->parameters.congested_fill)
		cut(sched, builder);
	else if (builder->share < 1)
		recover(sched, builder);
	candidates_block(sched, builder, blocks);
}
