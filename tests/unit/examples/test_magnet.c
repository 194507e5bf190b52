// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The magnet model of examples/filter: its field and trajectories are physics, its accuracy is the
// published one, and its payload is read and refused as it says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy.h"
#include "hits.h"
#include "random.h"

#define N_TRACKS 600

static void expect_near(double found, double expected, double tolerance, const char *what)
{
	if (!(fabs(found - expected) <= tolerance))
		fail_msg("%s: %.9g instead of %.9g", what, found, expected);
}

// Outside of the poles the field has neither divergence nor curl.
static void field__obeys_maxwell(void **state)
{
	static const double points[][3] = {
		{ 200, 300, 5000 },
		{ 1000, -500, 6500 },
		{ 0, 100, 3000 },
		{ -1500, 900, 8600 },
	};

	(void)state;
	for (size_t p = 0; p < sizeof(points) / sizeof(points[0]); p++) {
		double d[3][3]; // d[i][k]: of component k by coordinate i, in T per mm

		for (unsigned i = 0; i < 3; i++) {
			double at[3], above[3], below[3];

			memcpy(at, points[p], sizeof(at));
			at[i] += 1;
			magnet_field(at[0], at[1], at[2], above);
			at[i] -= 2;
			magnet_field(at[0], at[1], at[2], below);
			for (unsigned k = 0; k < 3; k++)
				d[i][k] = (above[k] - below[k]) / 2;
		}
		assert_true(fabs(d[2][1]) + fabs(d[0][1]) > 1e-6); // it is not uniform
		expect_near(d[0][0] + d[1][1] + d[2][2], 0, 1e-9, "divergence");
		expect_near(d[1][2], d[2][1], 1e-9, "curl in x");
		expect_near(d[2][0], d[0][2], 1e-9, "curl in y");
		expect_near(d[0][1], d[1][0], 1e-9, "curl in z");
	}
}

// A fast particle on the axis is deflected by e c times the integral of By: 0.2998 GeV/c per T m.
static void propagate__kick_is_the_field_integral(void **state)
{
	const double q_over_p = 1e-7;
	struct state at = { 0 };
	double integral = 0, field[3];

	(void)state;
	for (double z = 800.5; z < 9300; z++) { // T mm
		magnet_field(0, 0, z, field);
		integral += field[1];
	}
	magnet_propagate(&at, q_over_p, 800, 9300);
	expect_near(at.tx / q_over_p, -0.299792458 * integral, 0.01, "kick in MeV/c");
	assert_in_range((unsigned)(-integral / 100), 35, 45); // 3.5 to 4.5 T m
}

// Back through the magnet a particle of the opposite charge arrives where it began.
static void propagate__is_reversible(void **state)
{
	const struct state begin = { 120, -80, 0.15, -0.1 };
	struct state at = begin;

	(void)state;
	magnet_propagate(&at, -1 / 4000., 800, 9300);
	assert_true(fabs(at.tx - begin.tx) > 0.2);
	magnet_propagate(&at, -1 / 4000., 9300, 800);
	expect_near(at.x, begin.x, 1e-3, "x");
	expect_near(at.y, begin.y, 1e-3, "y");
	expect_near(at.tx, begin.tx, 1e-6, "tx");
	expect_near(at.ty, begin.ty, 1e-6, "ty");
}

static void coefficients__are_those_of_the_fit(void **state)
{
	struct fit fit = { 0 };

	(void)state;
	accuracy_fit(&fit);
	expect_near(magnet_centre_z, fit.centre_z, 0.01, "centre");
	for (unsigned s = 0; s < N_STATIONS; s++) {
		expect_near(magnet_constants[s], fit.constants[s], 0.01, "constant");
		for (unsigned i = 0; i < N_COEFFICIENTS; i++)
			expect_near(magnet_coefficients[s][i], fit.coefficients[s][i],
				    1e-4 * fabs(fit.coefficients[s][i]), "coefficient");
	}
}

// Of another magnet, which has the same field integral and tails.
static void coefficients__are_near_the_published_ones(void **state)
{
	static const double published[N_STATIONS] = { 1171.5, 1214.7, 1238.7 };

	(void)state;
	for (unsigned s = 0; s < N_STATIONS; s++)
		expect_near(magnet_coefficients[s][0], published[s], 0.01 * published[s], "c00");
}

static struct accuracy measured[N_MOMENTA][N_STATIONS];

static int measure(void **state)
{
	(void)state;
	for (unsigned m = 0; m < N_MOMENTA; m++)
		accuracy_measure(1000 * accuracy_momenta[m], N_TRACKS, measured[m]);
	return 0;
}

static void accuracy__below_50_mm_and_5_mm(void **state)
{
	(void)state;
	assert_true(accuracy_momenta[0] == 5 && accuracy_momenta[N_MOMENTA - 1] == 50);
	for (unsigned s = 0; s < N_STATIONS; s++) {
		for (unsigned model = 0; model < N_MODELS; model++) {
			assert_true(measured[0][s].within_68[model] < 50);
			assert_true(measured[N_MOMENTA - 1][s].within_68[model] < 5);
			assert_true(measured[N_MOMENTA - 1][s].within_95[model] < 6);
		}
	}
}

static void accuracy__four_times_worse_with_an_estimate(void **state)
{
	(void)state;
	expect_near(accuracy_factor(measured, MODEL_CONSTANT), 4, 0.7, "factor");
	// The better model gains where the momentum is known.
	assert_true(accuracy_factor(measured, MODEL_POLYNOMIAL) > 4.5);
}

static void accuracy__windows_are_four_times_smaller(void **state)
{
	(void)state;
	expect_near(accuracy_windows(measured, MODEL_CONSTANT), 4, 0.4, "constant");
	expect_near(accuracy_windows(measured, MODEL_POLYNOMIAL), 4, 0.4, "polynomial");
}

static void payload__is_what_was_written(void **state)
{
	static struct hit_event event, again;
	static uint8_t payload[MAX_PAYLOAD];
	uint64_t random = 5;
	size_t size;

	(void)state;
	event.n_segments = 17;
	for (unsigned i = 0; i < event.n_segments; i++)
		event.segments[i] =
		    (struct segment){ { i, -1.5 * i, 0.25, -0.125 }, 0.5 / (i + 1) };
	for (unsigned i = 0; i < 200; i++) { // in any order
		const float x = (float)uniform_to(&random, 2000);

		hits_add(&event.stations[1], x, 2 * x);
	}
	size = hits_write_segments(&event, payload);
	assert_int_equal(size, 4 + 17 * 20);
	assert_int_equal(hits_read_segments(&again, payload, size), 0);
	assert_int_equal(again.n_segments, 17);
	expect_near(again.segments[16].q_over_p, 0.5 / 17, 1e-9, "q/p");
	expect_near(again.segments[16].state.y, -24, 0, "y");
	size = hits_write_station(&event, 1, payload);
	assert_int_equal(hits_read_station(&again, 1, payload, size), 0);
	assert_int_equal(again.stations[1].n, 200);
	assert_memory_equal(again.stations[1].x, event.stations[1].x, 200 * sizeof(double));
	for (unsigned i = 0; i < 200; i++) {
		assert_true(i == 0 || again.stations[1].x[i] > again.stations[1].x[i - 1]);
		assert_true(again.stations[1].y[i] == 2 * again.stations[1].x[i]);
	}
}

// Hits in another order are put in order.
static void payload__hits_are_sorted(void **state)
{
	static struct hit_event event;
	uint8_t payload[4 + 3 * 8] = { 1, 0, 3, 0 };
	const float floats[] = { 5, 50, -7, 70, 1, 10 };

	(void)state;
	memcpy(payload + 4, floats, sizeof(floats));
	assert_int_equal(hits_read_station(&event, 2, payload, sizeof(payload)), 0);
	for (unsigned i = 0; i < 3; i++) {
		static const double expected[] = { -7, 1, 5 };

		expect_near(event.stations[2].x[i], expected[i], 0, "x");
		expect_near(event.stations[2].y[i], 10 * fabs(expected[i]), 0, "y");
	}
}

// Every length but the right one, in an allocation of that length.
static void payload__wrong_lengths_are_refused(void **state)
{
	static struct hit_event event;
	uint8_t whole[24] = { 1, 0, 1, 0 };

	(void)state;
	for (size_t length = 0; length <= sizeof(whole); length++) {
		uint8_t *bytes = malloc(length + (length == 0));

		memcpy(bytes, whole, length);
		assert_int_equal(hits_read_segments(&event, bytes, length), length == 24 ? 0 : -1);
		assert_int_equal(hits_read_station(&event, 0, bytes, length),
				 length == 12 ? 0 : -1);
		free(bytes);
	}
	whole[0] = 2;
	assert_int_equal(hits_read_segments(&event, whole, 24), -1);
}

// More records than there is room for are cut.
static void payload__many_hits_are_cut(void **state)
{
	static struct hit_event event;
	const unsigned n = 4000;
	uint8_t *bytes = calloc(1, 4 + 20 * n);
	const uint16_t header[2] = { 1, (uint16_t)n };

	(void)state;
	memcpy(bytes, header, sizeof(header));
	assert_int_equal(hits_read_segments(&event, bytes, 4 + 20 * n), 0);
	assert_int_equal(event.n_segments, MAX_SEGMENTS);
	assert_int_equal(hits_read_station(&event, 2, bytes, 4 + 8 * n), 0);
	assert_int_equal(event.stations[2].n, MAX_HITS);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(field__obeys_maxwell),
		cmocka_unit_test(propagate__kick_is_the_field_integral),
		cmocka_unit_test(propagate__is_reversible),
		cmocka_unit_test(coefficients__are_those_of_the_fit),
		cmocka_unit_test(coefficients__are_near_the_published_ones),
		cmocka_unit_test(accuracy__below_50_mm_and_5_mm),
		cmocka_unit_test(accuracy__four_times_worse_with_an_estimate),
		cmocka_unit_test(accuracy__windows_are_four_times_smaller),
		cmocka_unit_test(payload__is_what_was_written),
		cmocka_unit_test(payload__hits_are_sorted),
		cmocka_unit_test(payload__wrong_lengths_are_refused),
		cmocka_unit_test(payload__many_hits_are_cut),
	};

	return cmocka_run_group_tests(tests, measure, NULL);
}
