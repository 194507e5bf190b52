// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A spectrometer of its own: a dipole magnet between a plane in which track segments are known and
// three tracking stations; the true trajectories in it, and the magnet model by which a filter
// extrapolates segments to the stations. The model is that of F. Pisani (thesis, chapter 4), who
// gives its coefficients for another magnet, and no field. The poles of this one have such sizes
// that c00 is nearly the published one; the other coefficients come from a fit to trajectories.
//
// z points along the beam, y up, x to the side to which the magnet bends. Lengths in mm, momenta in
// MeV/c, fields in T. A slope is tx = dx/dz, ty = dy/dz. q/p is in 1/(MeV/c), with q = 1 or -1.
#pragma once

#define N_STATIONS 3

#define SEGMENT_Z 800.0 // of the plane of the segments, upstream of the magnet
#define MAX_TX    0.25  // acceptance: |tx| and |ty| of segments
#define MAX_TY    0.15

extern const double station_z[N_STATIONS];

// A track in a plane of constant z.
struct state {
	double x, y, tx, ty;
};

// The magnetic field at a point, in T.
void magnet_field(double x, double y, double z, double field[3]);

// Moves the state of a particle from plane to plane by its equation of motion.
void magnet_propagate(struct state *state, double q_over_p, double from_z, double to_z);

// C_B of a station in MeV/c for a segment with these slopes:
//   C_B = c00 + c20 tx^2 + c40 tx^4 + c02 ty^2 + c04 ty^4 + c22 tx^2 ty^2 + c24 tx^2 ty^4
#define N_COEFFICIENTS 7
extern const double magnet_coefficients[N_STATIONS][N_COEFFICIENTS];
// The first approximation: one number per station.
extern const double magnet_constants[N_STATIONS];
// z of the plane in which the model changes the slope.
extern const double magnet_centre_z;

// The terms that the coefficients multiply.
void magnet_terms(double tx, double ty, double terms[N_COEFFICIENTS]);
double magnet_kick(unsigned station, double tx, double ty);

// The extrapolation of a segment in the plane SEGMENT_Z to a station: without a field, and the
// displacement in x by the magnet for a C_B and q/p. The model leaves y straight.
struct state magnet_straight(const struct state *segment, unsigned station);
double magnet_displacement(unsigned station, double kick, double q_over_p);
