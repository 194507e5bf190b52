// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rate at which a builder gets grants. The token bucket is stored as the time next_ns at which
// it has room again: a grant advances this time by the event's size divided by the rate, and it is
// never further in the past than `burst_ns`. The rate is the rate of the link, times the target
// utilisation, times a share. A report of congestion reduces the share; the share rises again with
// time as long as the last report had no congestion.
#include "sched/sched_internal.h"

#define LONGEST_NS 1e15 // upper limit for the time of one event: 11 days

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

void pace_start(struct sched *sched, struct sched_builder *builder,
		const struct sched_builder_parameters *parameters)
{
	builder->link_rate = parameters->link_rate;
	builder->window = parameters->window;
	builder->mean_16 = 16 * (uint64_t)sched->parameters.event_bytes;
	set_share(sched, builder, 1);
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

uint32_t pace_in_flight(const struct sched *sched, const struct sched_builder *builder)
{
	uint32_t credits = sched->parameters.credits, blocks = 0;

	if (credits > 0 && builder->granted >= credits)
		blocks |= SCHED_BLOCK_EVENTS;
	// One event is always allowed.
	if (builder->window > 0 && builder->granted > 0 &&
	    builder->in_flight + pace_estimate(builder) > builder->window)
		blocks |= SCHED_BLOCK_WINDOW;
	return blocks;
}

uint32_t pace_granted(struct sched *sched, struct sched_builder *builder, uint64_t bytes)
{
	uint64_t burst = sched->parameters.burst_ns;
	uint64_t earliest = sched->now > burst ? sched->now - burst : 0;
	double cost;
	uint64_t whole;

	if (builder->link_rate == 0)
		return 0;
	if (builder->share < 1 && builder->calm)
		recover(sched, builder);
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
		return 0;
	ranking_put(&sched->throttled, (uint32_t)(builder - sched->builders), builder->next_ns);
	return SCHED_BLOCK_RATE;
}

void pace_refill(struct sched *sched)
{
	while (ranking_least(&sched->throttled) <= sched->now) {
		uint32_t index = ranking_first(&sched->throttled);
		struct sched_builder *builder = &sched->builders[index];

		ranking_put(&sched->throttled, index, RANKING_OUT);
		candidates_update(sched, builder, builder->blocks & ~(uint32_t)SCHED_BLOCK_RATE);
	}
}

// The size of the first built event replaces the configured size.
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

// Whether a report is a reason to cut the rate. The rate was cut when a pause began, so the rest of
// the same pause is no reason to cut again.
static bool is_congested(const struct sched_parameters *parameters, const struct sched_port *port,
			 bool was_paused)
{
	if (was_paused && port->paused)
		return false;
	return port->paused || port->marks > 0 || port->occupancy >= parameters->congested_fill ||
	       (port->paused_share >= parameters->congested_share && !was_paused);
}

void pace_port_state(struct sched *sched, struct sched_builder *builder,
		     const struct sched_port *port)
{
	uint32_t blocks = builder->blocks & ~(uint32_t)SCHED_BLOCK_PAUSED;
	bool was_paused = (builder->blocks & SCHED_BLOCK_PAUSED) != 0;
	bool congested = is_congested(&sched->parameters, port, was_paused);

	if (port->paused && !was_paused)
		sched->counters.pauses++;
	if (port->paused)
		blocks |= SCHED_BLOCK_PAUSED;
	builder->paused_share = port->paused_share;
	if (congested)
		cut(sched, builder);
	else if (was_paused)
		builder->stepped_at = sched->now;
	else if (builder->share < 1)
		recover(sched, builder);
	builder->calm = !congested;
	candidates_update(sched, builder, blocks);
}
