// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pacing/dcqcn.h"

#include <stddef.h>

#define ONE           DCQCN_ONE
#define ONE_BITS      30
#define NS_PER_SECOND 1000000000u
#define MEGABIT       125000u // per second, in bytes
#define MOST_STEPS    64u     // in one call
#define LINE_LIMIT    (1ull << 44)
#define LARGEST_GD    30u
#define FEWEST_TICKS  1000000u // per second

const struct dcqcn_parameters dcqcn_defaults = {
	.time_reset_ns = 300000,
	.byte_reset = 32767,
	.threshold = 1,
	.additive_rate = 5 * MEGABIT,
	.hyper_rate = 50 * MEGABIT,
	.minimum_rate = 1 * MEGABIT,
	.minimum_factor = ONE / 2,
	.g = ONE / 1024 * 5,
	.initial_alpha = ONE / 1024 * 1023,
	.gd_shift = 1,
	.rate_reduce_period_ns = 4000,
	.alpha_period_ns = 55000,
};

static const char *problem(const struct dcqcn_parameters *p, uint64_t line_rate,
			   uint64_t ticks_per_second)
{
	if (p->minimum_rate == 0 || p->minimum_rate > line_rate)
		return "minimum_rate";
	if (line_rate >= LINE_LIMIT)
		return "line_rate";
	if (p->additive_rate >= LINE_LIMIT)
		return "additive_rate";
	if (p->hyper_rate >= LINE_LIMIT)
		return "hyper_rate";
	if (ticks_per_second < FEWEST_TICKS)
		return "ticks_per_second";
	if (p->time_reset_ns < 1000)
		return "time_reset_ns";
	if (p->alpha_period_ns < 1000)
		return "alpha_period_ns";
	if (p->byte_reset == 0)
		return "byte_reset";
	if (p->g > ONE)
		return "g";
	if (p->initial_alpha > ONE)
		return "initial_alpha";
	if (p->minimum_factor > ONE)
		return "minimum_factor";
	if (p->gd_shift > LARGEST_GD)
		return "gd_shift";
	return NULL;
}

static uint64_t to_ticks(uint64_t ns, uint64_t ticks_per_second)
{
	return (uint64_t)((unsigned __int128)ns * ticks_per_second / NS_PER_SECOND);
}

int dcqcn_init(struct dcqcn *dcqcn, const struct dcqcn_parameters *parameters, uint64_t line_rate,
	       uint64_t ticks_per_second, const char **why)
{
	*why = problem(parameters, line_rate, ticks_per_second);
	if (*why != NULL)
		return -1;
	*dcqcn = (struct dcqcn){
		.parameters = *parameters,
		.line_rate = line_rate,
		.time_reset = to_ticks(parameters->time_reset_ns, ticks_per_second),
		.rate_reduce_period = to_ticks(parameters->rate_reduce_period_ns, ticks_per_second),
		.alpha_period = to_ticks(parameters->alpha_period_ns, ticks_per_second),
	};
	return 0;
}

void dcqcn_flow_init(const struct dcqcn *dcqcn, struct dcqcn_flow *flow)
{
	*flow = (struct dcqcn_flow){
		.rate = dcqcn->line_rate,
		.target = dcqcn->line_rate,
		.reported = dcqcn->line_rate,
	};
}

static uint64_t scale(uint64_t value, uint32_t factor)
{
	return (uint64_t)(((unsigned __int128)value * factor) >> ONE_BITS);
}

static void reduce(const struct dcqcn *dcqcn, struct dcqcn_flow *flow, uint64_t now)
{
	const struct dcqcn_parameters *p = &dcqcn->parameters;
	uint32_t factor;

	if (!flow->limited)
		flow->alpha = p->initial_alpha;
	factor = ONE - (flow->alpha >> p->gd_shift);
	if (factor < p->minimum_factor)
		factor = p->minimum_factor;
	flow->limited = true;
	flow->target = flow->rate;
	flow->rate = scale(flow->rate, factor);
	if (flow->rate < p->minimum_rate)
		flow->rate = p->minimum_rate;
	flow->alpha += p->g - (uint32_t)scale(flow->alpha, p->g);
	flow->alpha_at = now + dcqcn->alpha_period;
	flow->timer_at = now + dcqcn->time_reset;
	flow->reduce_at = now + dcqcn->rate_reduce_period;
	flow->time_steps = 0;
	flow->byte_steps = 0;
	flow->bytes = 0;
	flow->cnp_waits = false;
	flow->reductions++;
}

static void increase(const struct dcqcn *dcqcn, struct dcqcn_flow *flow)
{
	const struct dcqcn_parameters *p = &dcqcn->parameters;
	uint32_t most = flow->time_steps, least = flow->byte_steps;

	if (most < least) {
		most = flow->byte_steps;
		least = flow->time_steps;
	}
	if (least > p->threshold)
		flow->target += p->hyper_rate;
	else if (most >= p->threshold)
		flow->target += p->additive_rate;
	if (flow->target > dcqcn->line_rate)
		flow->target = dcqcn->line_rate;
	flow->rate =
	    (flow->rate + flow->target + 1) / 2; // rounded up, or it would never reach the target
	if (flow->rate >= dcqcn->line_rate && !flow->cnp_waits)
		flow->limited = false;
}

// Does the earliest step that is due. Returns false if no step is due.
static bool step(const struct dcqcn *dcqcn, struct dcqcn_flow *flow, uint64_t now)
{
	uint64_t reduce_at = flow->cnp_waits ? flow->reduce_at : UINT64_MAX;

	if (!flow->limited && !flow->cnp_waits)
		return false;
	if (reduce_at <= now && reduce_at <= flow->timer_at && reduce_at <= flow->alpha_at) {
		reduce(dcqcn, flow, reduce_at);
		return true;
	}
	if (flow->alpha_at <= now && flow->alpha_at <= flow->timer_at) {
		flow->alpha -= (uint32_t)scale(flow->alpha, dcqcn->parameters.g);
		flow->alpha_at += dcqcn->alpha_period;
		return true;
	}
	if (flow->timer_at <= now) {
		increase(dcqcn, flow);
		flow->time_steps++;
		flow->timer_at += dcqcn->time_reset;
		return true;
	}
	return false;
}

static void advance(const struct dcqcn *dcqcn, struct dcqcn_flow *flow, uint64_t now)
{
	for (unsigned i = 0; i < MOST_STEPS && step(dcqcn, flow, now); i++)
		;
}

void dcqcn_cnp(const struct dcqcn *dcqcn, struct dcqcn_flow *flow, uint64_t now)
{
	flow->cnps++;
	advance(dcqcn, flow, now);
	if (now >= flow->reduce_at)
		reduce(dcqcn, flow, now);
	else
		flow->cnp_waits = true;
}

void dcqcn_sent(const struct dcqcn *dcqcn, struct dcqcn_flow *flow, uint32_t bytes, uint64_t now)
{
	if (!flow->limited)
		return;
	advance(dcqcn, flow, now);
	flow->bytes += bytes;
	for (unsigned i = 0; i < MOST_STEPS && flow->bytes >= dcqcn->parameters.byte_reset; i++) {
		flow->bytes -= dcqcn->parameters.byte_reset;
		increase(dcqcn, flow);
		flow->byte_steps++;
	}
}

bool dcqcn_poll(const struct dcqcn *dcqcn, struct dcqcn_flow *flow, uint64_t now)
{
	advance(dcqcn, flow, now);
	if (flow->rate == flow->reported)
		return false;
	flow->reported = flow->rate;
	return true;
}
