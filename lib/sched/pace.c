// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rate at which the builders of a port get grants, all together: what is not granted to one of
// them is left to the others. The token bucket is stored as the time next_ns at which it has room
// again: a grant advances this time by the event's size divided by the rate, and it is never
// further in the past than `burst_ns`. The rate is the rate of the link, times the target
// utilisation, times a share. A report of congestion reduces the share; the share rises again with
// time as long as the last report had no congestion.
#include <string.h>

#include "sched/sched_internal.h"

#define LONGEST_NS 1e15   // upper limit for the time of one event: 11 days
#define CUT        0.5    // of the share of the rate, by a report of congestion
#define STEP       0.0625 // by which the share recovers
#define FLOOR      0.0625 // lower limit of the share
// A port is congested from these on: share of the time for which it was paused, and occupancy.
#define CONGESTED_SHARE 0.01
#define CONGESTED_FILL  0.5

// The share of time in which a timed shift sends over a link.
static double window_share(const struct sched_parameters *parameters)
{
	const double send = (double)parameters->send_window_ns;

	return parameters->phase_share * send / (send + (double)parameters->idle_window_ns);
}

static void set_share(const struct sched *sched, struct sched_link *link, double share)
{
	double rate = (double)link->link_rate * sched->parameters.target_utilisation * share;

	link->share = share;
	if (link->link_rate == 0)
		return;
	link->rate = rate < 1 ? 1 : (uint64_t)rate;
	if (sched->parameters.shaping == SCHED_TIMED_SHIFT)
		rate *= window_share(&sched->parameters);
	link->ns_per_byte = 1e9 / rate;
}

void sched_set_link_rate(struct sched *sched, uint32_t builder, uint64_t bytes_per_second)
{
	struct sched_link *link = sched->builders[builder].link;

	link->link_rate = bytes_per_second;
	link->rate = 0;
	set_share(sched, link, link->share);
}

void pace_start(struct sched *sched, const struct sched_builder_parameters *builders)
{
	uint32_t last[SCHED_MAX_BUILDERS], n_links = 0; // last: by port

	memset(last, 0xFF, sizeof(last));
	for (uint32_t i = 0; i < sched->parameters.n_builders; i++) {
		struct sched_builder *builder = &sched->builders[i];
		uint32_t *of_port = &last[builders[i].port];

		builder->mean_16 = 16 * (uint64_t)sched->parameters.event_bytes;
		builder->next_on_link = builder;
		if (*of_port == SCHED_NONE) {
			builder->link = &sched->links[n_links++];
			builder->link->link_rate = builders[i].link_rate;
			builder->link->window = builders[i].window;
			builder->link->first = i;
			set_share(sched, builder->link, 1);
		} else {
			struct sched_builder *other = &sched->builders[*of_port];

			builder->link = other->link;
			builder->next_on_link = other->next_on_link;
			other->next_on_link = builder;
		}
		*of_port = i;
	}
}

static void recover(const struct sched *sched, struct sched_link *link)
{
	uint64_t steps = (sched->now - link->stepped_at) / sched->parameters.recover_ns;
	double share = link->share + (double)steps * STEP;

	if (steps == 0)
		return;
	link->stepped_at += steps * sched->parameters.recover_ns;
	set_share(sched, link, share < 1 ? share : 1);
}

uint32_t pace_blocks(const struct sched *sched, const struct sched_builder *builder)
{
	const struct sched_link *link = builder->link;
	uint32_t credits = sched->parameters.credits, blocks = 0;

	if (credits > 0 && builder->granted >= credits)
		blocks |= SCHED_BLOCK_EVENTS;
	// One event is always allowed.
	if (link->window > 0 && link->granted > 0 &&
	    link->in_flight + pace_estimate(builder) > link->window)
		blocks |= SCHED_BLOCK_WINDOW;
	if (ranking_key(&sched->throttled, (uint32_t)(link - sched->links)) != RANKING_OUT)
		blocks |= SCHED_BLOCK_RATE;
	return blocks;
}

// Takes so many bytes from the token bucket.
static void take(struct sched *sched, struct sched_link *link, uint64_t bytes)
{
	uint64_t burst = sched->parameters.burst_ns;
	uint64_t earliest = sched->now > burst ? sched->now - burst : 0;
	double cost;
	uint64_t whole;

	if (link->next_ns < earliest) {
		link->next_ns = earliest;
		link->next_fraction = 0;
	}
	cost = (double)bytes * link->ns_per_byte + link->next_fraction;
	if (cost > LONGEST_NS)
		cost = LONGEST_NS;
	whole = (uint64_t)cost;
	link->next_ns += whole;
	link->next_fraction = cost - (double)whole;
	if (link->next_ns > sched->now)
		ranking_put(&sched->throttled, (uint32_t)(link - sched->links), link->next_ns);
}

void pace_granted(struct sched *sched, struct sched_builder *builder, uint64_t bytes)
{
	struct sched_link *link = builder->link;

	if (link->link_rate == 0)
		return;
	if (link->share < 1 && link->calm)
		recover(sched, link);
	take(sched, link, bytes);
}

void pace_refill(struct sched *sched)
{
	while (ranking_least(&sched->throttled) <= sched->now) {
		uint32_t index = ranking_first(&sched->throttled);
		struct sched_builder *builder = &sched->builders[sched->links[index].first];

		ranking_put(&sched->throttled, index, RANKING_OUT);
		candidates_update(sched, builder, builder->blocks & ~(uint32_t)SCHED_BLOCK_RATE);
		sched_update_others(sched, builder);
	}
}

// The size of the first built event replaces the configured size. If that was too small, too many
// events were granted until then. They would stay a backlog as long as the sources send, in which
// nodes that are out of step do not come back into step. Therefore each of these events takes the
// difference from the bucket when it is built.
void pace_built(struct sched *sched, struct sched_builder *builder, const struct sched_event *event,
		uint64_t bytes)
{
	uint64_t most = UINT64_MAX / 32;

	if (bytes > most)
		bytes = most;
	if (!event->is_sized && bytes > event->bytes && builder->link->link_rate > 0)
		take(sched, builder->link, bytes - event->bytes);
	if (!builder->sized && bytes > 0) {
		builder->sized = true;
		builder->mean_16 = 16 * bytes;
		return;
	}
	builder->mean_16 += bytes - builder->mean_16 / 16;
}

static void cut(struct sched *sched, struct sched_link *link)
{
	double share = link->share * CUT;

	link->stepped_at = sched->now;
	if (link->was_cut && sched->now - link->cut_at < sched->parameters.cut_ns)
		return;
	link->was_cut = true;
	link->cut_at = sched->now;
	sched->counters.cuts++;
	// Where no rate is known, congestion is counted, and there is nothing to cut.
	if (link->link_rate > 0)
		set_share(sched, link, share > FLOOR ? share : FLOOR);
}

// Whether a report is a reason to cut the rate. The rate was cut when a pause began, so the rest of
// the same pause is no reason to cut again.
static bool is_congested(const struct sched_port *port, bool was_paused)
{
	if (was_paused && port->paused)
		return false;
	return port->paused || port->marks > 0 || port->occupancy >= CONGESTED_FILL ||
	       (port->paused_share >= CONGESTED_SHARE && !was_paused);
}

void pace_port_state(struct sched *sched, struct sched_builder *builder,
		     const struct sched_port *port)
{
	uint32_t blocks = builder->blocks & ~(uint32_t)SCHED_BLOCK_PAUSED;
	struct sched_link *link = builder->link;
	bool was_paused = (builder->blocks & SCHED_BLOCK_PAUSED) != 0;
	bool congested = is_congested(port, was_paused);

	if (port->paused && !was_paused)
		sched->counters.pauses++;
	if (port->paused)
		blocks |= SCHED_BLOCK_PAUSED;
	builder->paused_share = port->paused_share;
	if (congested)
		cut(sched, link);
	else if (was_paused)
		link->stepped_at = sched->now;
	else if (link->share < 1)
		recover(sched, link);
	link->calm = !congested;
	candidates_update(sched, builder, blocks);
}
