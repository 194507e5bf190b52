// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "roce/dcqcn.h"

#define ONE        65536u // alpha and gain
#define STEPS_MOST 64u    // of alpha or rate in one call; more make no difference
#define MBIT_S     125000u

struct dcqcn_parameters dcqcn_defaults(uint64_t line_rate)
{
	return (struct dcqcn_parameters){
		.line_rate = line_rate,
		.minimum_rate = MBIT_S,
		.additive = 5 * MBIT_S,
		.hyper = 50 * MBIT_S,
		.cut_interval = 4000,
		.alpha_interval = 55000,
		.raise_interval = 300000,
		.raise_bytes = 32767,
		.gain = ONE / 256,
		.fast_stages = 1,
	};
}

void dcqcn_start(struct dcqcn *dcqcn, const struct dcqcn_parameters *parameters, uint64_t now)
{
	*dcqcn = (struct dcqcn){
		.rate = parameters->line_rate,
		.target = parameters->line_rate,
		.last_cut = now - parameters->cut_interval,
		.last_alpha = now,
		.last_raise = now,
		.alpha = ONE,
	};
}

bool dcqcn_notified(struct dcqcn *dcqcn, const struct dcqcn_parameters *parameters, uint64_t now)
{
	uint64_t cut;

	if (now - dcqcn->last_cut < parameters->cut_interval)
		return false;
	cut = (uint64_t)(((__uint128_t)dcqcn->rate * dcqcn->alpha) / (2 * ONE));
	dcqcn->target = dcqcn->rate;
	dcqcn->rate -= cut;
	if (dcqcn->rate < parameters->minimum_rate)
		dcqcn->rate = parameters->minimum_rate;
	dcqcn->alpha += (uint32_t)(((uint64_t)(ONE - dcqcn->alpha) * parameters->gain) / ONE);
	dcqcn->last_cut = now;
	dcqcn->last_alpha = now;
	dcqcn->last_raise = now;
	dcqcn->bytes = 0;
	dcqcn->time_stage = 0;
	dcqcn->byte_stage = 0;
	return true;
}

static void decay_alpha(struct dcqcn *dcqcn, const struct dcqcn_parameters *parameters,
			uint64_t now)
{
	for (unsigned i = 0; i < STEPS_MOST; i++) {
		if (now - dcqcn->last_alpha < parameters->alpha_interval)
			return;
		dcqcn->last_alpha += parameters->alpha_interval;
		dcqcn->alpha -=
		    (uint32_t)(((uint64_t)dcqcn->alpha * parameters->gain + ONE - 1) / ONE);
	}
	dcqcn->last_alpha = now;
}

// One stage more of time or of bytes.
static void raise_rate(struct dcqcn *dcqcn, const struct dcqcn_parameters *parameters)
{
	uint32_t fast = parameters->fast_stages;

	if (dcqcn->time_stage > fast && dcqcn->byte_stage > fast)
		dcqcn->target += parameters->hyper;
	else if (dcqcn->time_stage > fast || dcqcn->byte_stage > fast)
		dcqcn->target += parameters->additive;
	if (dcqcn->target > parameters->line_rate)
		dcqcn->target = parameters->line_rate;
	dcqcn->rate = dcqcn->rate / 2 + dcqcn->target / 2 + (dcqcn->rate & dcqcn->target & 1);
}

bool dcqcn_advance(struct dcqcn *dcqcn, const struct dcqcn_parameters *parameters, uint64_t bytes,
		   uint64_t now)
{
	uint64_t before = dcqcn->rate;
	unsigned steps = 0;

	decay_alpha(dcqcn, parameters, now);
	for (; now - dcqcn->last_raise >= parameters->raise_interval && steps < STEPS_MOST;
	     steps++) {
		dcqcn->last_raise += parameters->raise_interval;
		dcqcn->time_stage++;
		raise_rate(dcqcn, parameters);
	}
	if (steps == STEPS_MOST)
		dcqcn->last_raise = now;
	dcqcn->bytes += bytes;
	for (steps = 0; dcqcn->bytes >= parameters->raise_bytes && steps < STEPS_MOST; steps++) {
		dcqcn->bytes -= parameters->raise_bytes;
		dcqcn->byte_stage++;
		raise_rate(dcqcn, parameters);
	}
	if (steps == STEPS_MOST)
		dcqcn->bytes = 0;
	return dcqcn->rate != before;
}
