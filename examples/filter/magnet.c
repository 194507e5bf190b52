// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "magnet.h"

#include <math.h>

// The poles: two horizontal rectangles above and below the beam. They are wide, so that the field
// depends little on x, and y stays almost straight. The sizes give a field integral of 3.9 T m up
// to the first station, and tails beyond it.
#define POLE_Z      5200.0 // of the centres
#define GAP         1300.0 // the poles lie at y = GAP and y = -GAP
#define HALF_WIDTH  3000.0 // in x
#define HALF_LENGTH 1650.0 // in z
#define POLE_FIELD  -1.85  // T, mu0 times the magnetic charge per area

// The charge e times the speed of light, in MeV/c per T and mm: p = 0.2998 B R, with p in GeV/c, B
// in T, R in m (Particle Data Group, Review of Particle Physics, "Particle detectors", momentum in
// a magnetic field).
#define E_C  0.299792458
#define STEP 50.0 // mm; half of it changes no position by more than 1 um

const double station_z[N_STATIONS] = { 7900, 8600, 9300 };

// The numbers that `./filter --fit` prints.
const double magnet_centre_z = 5077.01;
const double magnet_constants[N_STATIONS] = { 1213.73, 1251.82, 1274.43 };
const double magnet_coefficients[N_STATIONS][N_COEFFICIENTS] = {
	{ 1169.2, 932.94, -4935.4, 3909.4, -23594, -4298.8, 1.5551e+06 },
	{ 1213.3, 875.15, -5186.7, 3252, -23128, -2895.6, 1.5508e+06 },
	{ 1239.5, 826.51, -5244.7, 2865.9, -21096, -1798.1, 1.543e+06 },
};

// Adds the field of one pole, a rectangle with constant magnetic charge per area. It is the
// integral of the Coulomb field over the rectangle, and so has neither divergence nor curl outside
// of it (J. D. Jackson, Classical Electrodynamics, 5.9: magnetic scalar potential of a hard
// ferromagnet). The integral is a sum over the corners, with u, v, w the distances in x, y, z from
// a corner, and r the distance in space:
//   Bx: -ln(w + r), By: atan(u w / (v r)), Bz: -ln(u + r)
static void add_pole(double x, double v, double z, double charge, double field[3])
{
	const double scale = charge / (4 * M_PI);

	for (int i = -1; i <= 1; i += 2) {
		for (int k = -1; k <= 1; k += 2) {
			const double u = x - i * HALF_WIDTH, w = z - k * HALF_LENGTH;
			const double r = sqrt(u * u + v * v + w * w), sign = i * k * scale;

			field[0] -= sign * log(w + r);
			field[1] += sign * atan(u * w / (v * r));
			field[2] -= sign * log(u + r);
		}
	}
}

// Field lines go from the lower pole to the upper one if POLE_FIELD is positive.
void magnet_field(double x, double y, double z, double field[3])
{
	field[0] = field[1] = field[2] = 0;
	add_pole(x, y + GAP, z - POLE_Z, POLE_FIELD, field);
	add_pole(x, y - GAP, z - POLE_Z, -POLE_FIELD, field);
}

// The Lorentz force dp/dt = q v x B (Jackson, 12.1), with z instead of t as the variable and slopes
// instead of momenta; |p| is constant:
//   dtx/dz = e c (q/p) sqrt(1 + tx^2 + ty^2) (tx ty Bx - (1 + tx^2) By + ty Bz)
//   dty/dz = e c (q/p) sqrt(1 + tx^2 + ty^2) ((1 + ty^2) Bx - tx ty By - tx Bz)
static struct state derivative(const struct state *s, double z, double q_over_p)
{
	const double factor = E_C * q_over_p * sqrt(1 + s->tx * s->tx + s->ty * s->ty);
	double b[3];

	magnet_field(s->x, s->y, z, b);
	return (struct state){
		.x = s->tx,
		.y = s->ty,
		.tx = factor * (s->tx * s->ty * b[0] - (1 + s->tx * s->tx) * b[1] + s->ty * b[2]),
		.ty = factor * ((1 + s->ty * s->ty) * b[0] - s->tx * s->ty * b[1] - s->tx * b[2]),
	};
}

static struct state add(const struct state *a, double factor, const struct state *b)
{
	return (struct state){
		.x = a->x + factor * b->x,
		.y = a->y + factor * b->y,
		.tx = a->tx + factor * b->tx,
		.ty = a->ty + factor * b->ty,
	};
}

// The classical Runge-Kutta method of fourth order.
void magnet_propagate(struct state *state, double q_over_p, double from_z, double to_z)
{
	const unsigned n = (unsigned)ceil(fabs(to_z - from_z) / STEP);
	const double h = n > 0 ? (to_z - from_z) / n : 0;

	for (unsigned i = 0; i < n; i++) {
		const double z = from_z + i * h;
		struct state k1 = derivative(state, z, q_over_p), at = add(state, h / 2, &k1);
		struct state k2 = derivative(&at, z + h / 2, q_over_p), k3, k4;

		at = add(state, h / 2, &k2);
		k3 = derivative(&at, z + h / 2, q_over_p);
		at = add(state, h, &k3);
		k4 = derivative(&at, z + h, q_over_p);
		*state = add(state, h / 6, &k1);
		*state = add(state, h / 3, &k2);
		*state = add(state, h / 3, &k3);
		*state = add(state, h / 6, &k4);
	}
}

void magnet_terms(double tx, double ty, double terms[N_COEFFICIENTS])
{
	const double tx2 = tx * tx, ty2 = ty * ty;

	terms[0] = 1;
	terms[1] = tx2;
	terms[2] = tx2 * tx2;
	terms[3] = ty2;
	terms[4] = ty2 * ty2;
	terms[5] = tx2 * ty2;
	terms[6] = tx2 * ty2 * ty2;
}

double magnet_kick(unsigned station, double tx, double ty)
{
	double terms[N_COEFFICIENTS], kick = 0;

	magnet_terms(tx, ty, terms);
	for (unsigned i = 0; i < N_COEFFICIENTS; i++)
		kick += magnet_coefficients[station][i] * terms[i];
	return kick;
}

struct state magnet_straight(const struct state *segment, unsigned station)
{
	const double length = station_z[station] - SEGMENT_Z;

	return (struct state){
		.x = segment->x + segment->tx * length,
		.y = segment->y + segment->ty * length,
		.tx = segment->tx,
		.ty = segment->ty,
	};
}

// The pT kick: the magnet changes the slope at once, in the plane of its centre, by C_B q/p
// (F. Pisani, thesis, chapter 4):
//   tx_S = tx_V + C_B q/p,   x(z) = x0 + tx_V z before the centre, + tx_S (z - z_m) after it
double magnet_displacement(unsigned station, double kick, double q_over_p)
{
	return kick * q_over_p * (station_z[station] - magnet_centre_z);
}
