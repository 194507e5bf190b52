// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pacing/dcqcn.h"

// One tick a nanosecond; 100 Gb/s.
#define GIGAHERTZ 1000000000ull
#define LINE      12500000000ull
#define US        1000ull
#define MEGABIT   125000ull

static struct dcqcn make(const struct dcqcn_parameters *parameters)
{
	struct dcqcn dcqcn;
	const char *why;

	assert_int_equal(dcqcn_init(&dcqcn, parameters, LINE, GIGAHERTZ, &why), 0);
	assert_null(why);
	return dcqcn;
}

static struct dcqcn_flow flow_of(const struct dcqcn *dcqcn)
{
	struct dcqcn_flow flow;

	dcqcn_flow_init(dcqcn, &flow);
	return flow;
}

// --- the reference: the equations in floating point, one event after the other ------------------

struct model {
	const struct dcqcn_parameters *p;
	double rate, target, alpha, line;
	double bytes;
	uint64_t timer_at, alpha_at, reduce_at;
	unsigned t, b;
	bool limited, waits;
};

static double fraction(uint32_t fixed)
{
	return (double)fixed / DCQCN_ONE;
}

static void model_reduce(struct model *m, uint64_t now)
{
	double factor, g = fraction(m->p->g);

	if (!m->limited)
		m->alpha = fraction(m->p->initial_alpha);
	factor = 1 - m->alpha / (double)(1u << m->p->gd_shift);
	m->target = m->rate;
	m->rate = fmax(m->rate * fmax(factor, fraction(m->p->minimum_factor)),
		       (double)m->p->minimum_rate);
	m->alpha = (1 - g) * m->alpha + g;
	m->alpha_at = now + m->p->alpha_period_ns;
	m->timer_at = now + m->p->time_reset_ns;
	m->reduce_at = now + m->p->rate_reduce_period_ns;
	m->t = m->b = 0;
	m->bytes = 0;
	m->limited = true;
	m->waits = false;
}

static void model_increase(struct model *m)
{
	if (m->t > m->p->threshold && m->b > m->p->threshold)
		m->target += (double)m->p->hyper_rate;
	else if (m->t >= m->p->threshold || m->b >= m->p->threshold)
		m->target += (double)m->p->additive_rate;
	m->target = fmin(m->target, m->line);
	m->rate = (m->rate + m->target) / 2;
}

// Each nanosecond on its own.
static void model_advance(struct model *m, uint64_t from, uint64_t to)
{
	for (uint64_t now = from + 1; now <= to; now++) {
		if (m->waits && now >= m->reduce_at)
			model_reduce(m, now);
		if (m->limited && now == m->alpha_at) {
			m->alpha *= 1 - fraction(m->p->g);
			m->alpha_at += m->p->alpha_period_ns;
		}
		if (m->limited && now == m->timer_at) {
			model_increase(m);
			m->t++;
			m->timer_at += m->p->time_reset_ns;
		}
	}
}

static void model_sent(struct model *m, uint32_t bytes)
{
	if (!m->limited)
		return;
	for (m->bytes += bytes; m->bytes >= (double)m->p->byte_reset;
	     m->bytes -= (double)m->p->byte_reset) {
		model_increase(m);
		m->b++;
	}
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

// A history of CNPs and packets at random times, polled at other times, against the model.
static void compare(const struct dcqcn_parameters *parameters, uint64_t cnp_odds, uint64_t seed)
{
	struct dcqcn dcqcn = make(parameters);
	struct dcqcn_flow flow = flow_of(&dcqcn);
	struct model model = {
		.p = parameters, .rate = LINE, .target = LINE, .line = LINE, .alpha = 0
	};
	uint64_t now = 0, random = seed, lowest = LINE;

	for (unsigned step = 0; step < 20000; step++) {
		uint64_t pass = next_random(&random) % 1500;
		uint64_t what = next_random(&random);

		model_advance(&model, now, now + pass);
		now += pass;
		if (what % cnp_odds == 0) {
			dcqcn_cnp(&dcqcn, &flow, now);
			if (now >= model.reduce_at)
				model_reduce(&model, now);
			else
				model.waits = true;
		} else if (what % 4 < 2) {
			dcqcn_sent(&dcqcn, &flow, (uint32_t)(what >> 8 & 0x3FFF), now);
			model_sent(&model, (uint32_t)(what >> 8 & 0x3FFF));
		} else {
			(void)dcqcn_poll(&dcqcn, &flow, now);
		}
		if (!flow.limited) {
			// Closer to the line than a byte a second; the model has no such end.
			assert_true(model.rate > (double)LINE - 2);
			model.limited = false;
			model.rate = model.target = LINE;
			continue;
		}
		assert_true(fabs((double)flow.rate - model.rate) < 4 + 1e-6 * model.rate);
		// What the flow has not done yet is due within this poll.
		if (flow.alpha_at > now && model.limited)
			assert_true(fabs(fraction(flow.alpha) - model.alpha) < 1e-5);
		lowest = flow.rate < lowest ? flow.rate : lowest;
	}
	assert_true(flow.reductions > 10);
	assert_true(lowest < LINE / 2);
}

static void reaction__follows_the_equations(void **state)
{
	struct dcqcn_parameters paper = dcqcn_defaults;

	(void)state;
	compare(&dcqcn_defaults, 200, 1);
	compare(&dcqcn_defaults, 10, 2);
	compare(&dcqcn_defaults, 1000, 3);
	paper.threshold = 5;
	paper.g = DCQCN_ONE / 256;
	paper.initial_alpha = DCQCN_ONE;
	paper.byte_reset = 10000000;
	paper.time_reset_ns = 55000;
	paper.additive_rate = 40 * MEGABIT;
	paper.hyper_rate = 400 * MEGABIT;
	paper.rate_reduce_period_ns = 50000;
	compare(&paper, 300, 4);
	paper.byte_reset = 150000;
	compare(&paper, 300, 5);
	paper.minimum_factor = DCQCN_ONE / 4 * 3;
	compare(&paper, 30, 6);
}

// --- by hand ------------------------------------------------------------------------------------

static void reaction__does_nothing_without_congestion(void **state)
{
	struct dcqcn dcqcn = make(&dcqcn_defaults);
	struct dcqcn_flow flow = flow_of(&dcqcn);

	(void)state;
	dcqcn_sent(&dcqcn, &flow, 1000000000, 5);
	assert_false(dcqcn_poll(&dcqcn, &flow, 1000 * US));
	assert_int_equal(flow.rate, LINE);
	assert_int_equal(flow.reductions, 0);
}

static void reaction__first_cnp_about_halves(void **state)
{
	struct dcqcn dcqcn = make(&dcqcn_defaults);
	struct dcqcn_flow flow = flow_of(&dcqcn);

	(void)state;
	dcqcn_cnp(&dcqcn, &flow, 100 * US);
	// 1 - 1023 / 2048
	assert_int_equal(flow.rate, LINE * 1025 / 2048);
	assert_int_equal(flow.target, LINE);
	assert_true(dcqcn_poll(&dcqcn, &flow, 100 * US));
	assert_false(dcqcn_poll(&dcqcn, &flow, 100 * US));
	// The timer: fast recovery, as nothing was counted yet.
	assert_false(dcqcn_poll(&dcqcn, &flow, 400 * US - 1));
	assert_true(dcqcn_poll(&dcqcn, &flow, 400 * US));
	assert_in_range(flow.rate, (LINE * 1025 / 2048 + LINE) / 2,
			(LINE * 1025 / 2048 + LINE) / 2 + 1);
}

static void reaction__one_reduction_a_period(void **state)
{
	struct dcqcn dcqcn = make(&dcqcn_defaults);
	struct dcqcn_flow flow = flow_of(&dcqcn);

	(void)state;
	dcqcn_cnp(&dcqcn, &flow, 100 * US);
	for (unsigned i = 1; i < 4; i++)
		dcqcn_cnp(&dcqcn, &flow, (100 + i) * US);
	assert_int_equal(flow.reductions, 1);
	assert_true(dcqcn_poll(&dcqcn, &flow, 105 * US));
	assert_int_equal(flow.reductions, 2); // those three made one
	(void)dcqcn_poll(&dcqcn, &flow, 150 * US);
	assert_int_equal(flow.reductions, 2);
	assert_int_equal(flow.cnps, 4);
}

static void reaction__never_below_the_minimum(void **state)
{
	struct dcqcn dcqcn = make(&dcqcn_defaults);
	struct dcqcn_flow flow = flow_of(&dcqcn);
	uint64_t before = LINE;

	(void)state;
	for (uint64_t i = 1; i < 200; i++) {
		dcqcn_cnp(&dcqcn, &flow, i * 10 * US);
		assert_true(flow.rate >= before / 2); // MIN_DEC_FAC
		before = flow.rate;
	}
	assert_int_equal(flow.rate, 1 * MEGABIT);
}

static void reaction__comes_back_and_forgets(void **state)
{
	struct dcqcn dcqcn = make(&dcqcn_defaults);
	struct dcqcn_flow flow = flow_of(&dcqcn);
	uint64_t now = 0;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		dcqcn_cnp(&dcqcn, &flow, now += 10 * US);
	assert_true(flow.rate < LINE / 30);
	for (unsigned i = 0; flow.limited && i < 1000000; i++) {
		dcqcn_sent(&dcqcn, &flow, 4096, now += 1 * US);
		(void)dcqcn_poll(&dcqcn, &flow, now);
	}
	assert_false(flow.limited);
	assert_int_equal(flow.rate, LINE);
	// The next one is as the first.
	dcqcn_cnp(&dcqcn, &flow, now + 100 * US);
	assert_int_equal(flow.rate, LINE * 1025 / 2048);
}

static void reaction__late_polls_make_up_for_it(void **state)
{
	struct dcqcn dcqcn = make(&dcqcn_defaults);
	struct dcqcn_flow often = flow_of(&dcqcn), seldom = flow_of(&dcqcn);

	(void)state;
	dcqcn_cnp(&dcqcn, &often, 1);
	dcqcn_cnp(&dcqcn, &seldom, 1);
	for (uint64_t now = 1; now <= 20000 * US; now += US)
		(void)dcqcn_poll(&dcqcn, &often, now);
	// 20 ms hold 66 timer steps and 363 decays: more than one poll may do.
	for (unsigned i = 0; i < 10; i++)
		(void)dcqcn_poll(&dcqcn, &seldom, 20000 * US);
	assert_int_equal(seldom.rate, often.rate);
	assert_int_equal(seldom.alpha, often.alpha);
	assert_int_equal(seldom.time_steps, often.time_steps);
}

static void init__refuses(void **state)
{
	struct dcqcn_parameters bad;
	struct dcqcn dcqcn;
	const char *why;

	(void)state;
#define REFUSED(field, value)                                                          \
	do {                                                                           \
		bad = dcqcn_defaults;                                                  \
		bad.field = value;                                                     \
		assert_int_equal(dcqcn_init(&dcqcn, &bad, LINE, GIGAHERTZ, &why), -1); \
		assert_string_equal(why, #field);                                      \
	} while (0)
	REFUSED(minimum_rate, 0);
	REFUSED(minimum_rate, LINE + 1);
	REFUSED(time_reset_ns, 0);
	REFUSED(alpha_period_ns, 0);
	REFUSED(byte_reset, 0);
	REFUSED(g, DCQCN_ONE + 1);
	REFUSED(initial_alpha, DCQCN_ONE + 1);
	REFUSED(minimum_factor, DCQCN_ONE + 1);
	REFUSED(gd_shift, 31);
	REFUSED(additive_rate, UINT64_MAX);
	REFUSED(hyper_rate, UINT64_MAX);
#undef REFUSED
	assert_int_equal(dcqcn_init(&dcqcn, &dcqcn_defaults, 1ull << 44, GIGAHERTZ, &why), -1);
	assert_string_equal(why, "line_rate");
	assert_int_equal(dcqcn_init(&dcqcn, &dcqcn_defaults, LINE, 1000, &why), -1);
	assert_string_equal(why, "ticks_per_second");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reaction__follows_the_equations),
		cmocka_unit_test(reaction__does_nothing_without_congestion),
		cmocka_unit_test(reaction__first_cnp_about_halves),
		cmocka_unit_test(reaction__one_reduction_a_period),
		cmocka_unit_test(reaction__never_below_the_minimum),
		cmocka_unit_test(reaction__comes_back_and_forgets),
		cmocka_unit_test(reaction__late_polls_make_up_for_it),
		cmocka_unit_test(init__refuses),
	};

	return cmocka_run_group_tests_name("dcqcn", tests, NULL, NULL);
}
