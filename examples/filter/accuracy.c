// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define N_FIT   4000
#define N_TABLE 2000
#define FIT_MIN 5000.0 // MeV/c
#define FIT_MAX 100000.0

const double accuracy_momenta[N_MOMENTA] = { 5, 10, 20, 50 };

// A track: its segment before the magnet, and the truth in the stations.
struct truth {
	struct state segment;
	double q_over_p;
	struct state stations[N_STATIONS];
};

static void make_truth(struct truth *truth, double momentum, uint64_t *random)
{
	const double tx = uniform_to(random, MAX_TX), ty = uniform_to(random, MAX_TY);
	struct state state = { tx * SEGMENT_Z, ty * SEGMENT_Z, tx, ty }; // from the origin
	double z = SEGMENT_Z;

	truth->segment = state;
	truth->q_over_p = (uniform(random) < 0.5 ? -1 : 1) / momentum;
	for (unsigned s = 0; s < N_STATIONS; s++) {
		magnet_propagate(&state, truth->q_over_p, z, station_z[s]);
		z = station_z[s];
		truth->stations[s] = state;
	}
}

// --- accuracy -----------------------------------------------------------------------------------

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

// |value| of which this fraction is smaller; sorts the values.
static double quantile(double *values, unsigned n, double fraction)
{
	for (unsigned i = 0; i < n; i++)
		values[i] = fabs(values[i]);
	qsort(values, n, sizeof(*values), compare);
	return values[(unsigned)(fraction * (n - 1))];
}

static double kick_of(enum model model, unsigned station, const struct state *segment)
{
	return model == MODEL_CONSTANT ? magnet_constants[station]
				       : magnet_kick(station, segment->tx, segment->ty);
}

static void measure_station(const struct truth *tracks, const double *resolution, unsigned n,
			    unsigned s, struct accuracy *accuracy)
{
	double *error = malloc(n * sizeof(*error)), *estimate = malloc(n * sizeof(*estimate));

	for (unsigned model = 0; model < N_MODELS; model++) {
		for (unsigned i = 0; i < n; i++) {
			const struct truth *t = &tracks[i];
			const double kick = kick_of(model, s, &t->segment);
			const double line = magnet_straight(&t->segment, s).x;
			const double x = t->stations[s].x;

			error[i] = x - line - magnet_displacement(s, kick, t->q_over_p);
			estimate[i] =
			    x - line - magnet_displacement(s, kick, t->q_over_p / resolution[i]);
		}
		accuracy->within_68[model] = quantile(error, n, 0.68);
		accuracy->within_95[model] = quantile(error, n, 0.95);
		accuracy->estimate_68[model] = quantile(estimate, n, 0.68);
		accuracy->estimate_90[model] = quantile(estimate, n, 0.90);
	}
	for (unsigned i = 0; i < n; i++) {
		const struct state line = magnet_straight(&tracks[i].segment, s);

		error[i] = tracks[i].stations[s].x - line.x;
		estimate[i] = tracks[i].stations[s].y - line.y;
	}
	accuracy->straight_90 = quantile(error, n, 0.90);
	accuracy->y_95 = quantile(estimate, n, 0.95);
	free(error);
	free(estimate);
}

void accuracy_measure(double momentum, unsigned n_tracks, struct accuracy accuracy[N_STATIONS])
{
	uint64_t random = (uint64_t)momentum;
	struct truth *tracks = malloc(n_tracks * sizeof(*tracks));
	double *resolution = malloc(n_tracks * sizeof(*resolution));

	for (unsigned i = 0; i < n_tracks; i++) {
		make_truth(&tracks[i], momentum, &random);
		do
			resolution[i] = 1 + MOMENTUM_RESOLUTION * gaussian(&random);
		while (resolution[i] < 0.2); // more than 5 standard deviations
	}
	for (unsigned s = 0; s < N_STATIONS; s++)
		measure_station(tracks, resolution, n_tracks, s, &accuracy[s]);
	free(tracks);
	free(resolution);
}

double accuracy_factor(struct accuracy all[N_MOMENTA][N_STATIONS], enum model model)
{
	double sum = 0;

	for (unsigned m = 0; m < N_MOMENTA; m++) {
		for (unsigned s = 0; s < N_STATIONS; s++)
			sum += all[m][s].estimate_68[model] / all[m][s].within_68[model];
	}
	return sum / (N_MOMENTA * N_STATIONS);
}

double accuracy_windows(struct accuracy all[N_MOMENTA][N_STATIONS], enum model model)
{
	double sum = 0;

	for (unsigned m = 0; m < N_MOMENTA; m++) {
		for (unsigned s = 0; s < N_STATIONS; s++)
			sum += all[m][s].straight_90 / all[m][s].estimate_90[model];
	}
	return sum / (N_MOMENTA * N_STATIONS);
}

// The largest error of a momentum.
static double worst(const struct accuracy accuracy[N_STATIONS], enum model model)
{
	double most = 0;

	for (unsigned s = 0; s < N_STATIONS; s++)
		most = fmax(most, accuracy[s].within_68[model]);
	return most;
}

static void print_claim(FILE *file, const char *claim, const char *published, double constant,
			double polynomial)
{
	fprintf(file, "%-48s%10s%10.1f%12.1f\n", claim, published, constant, polynomial);
}

static void print_summary(FILE *file, struct accuracy all[N_MOMENTA][N_STATIONS])
{
	static const char *const kicks[] = { "1171.1", "1214.7", "1238.6" };
	struct accuracy *low = all[0], *high = all[N_MOMENTA - 1];

	fprintf(file, "\n%-48s%10s%10s%12s\n", "", "published", "constant", "polynomial");
	for (unsigned s = 0; s < N_STATIONS; s++) {
		char claim[64];

		snprintf(claim, sizeof(claim), "C_B of station %u; polynomial: c00, MeV/c", s + 1);
		print_claim(file, claim, kicks[s], magnet_constants[s], magnet_coefficients[s][0]);
	}
	print_claim(file, "error at low momentum, 5 GeV/c, mm", "< 50", worst(low, MODEL_CONSTANT),
		    worst(low, MODEL_POLYNOMIAL));
	print_claim(file, "error at high momentum, 50 GeV/c, mm", "< 5",
		    worst(high, MODEL_CONSTANT), worst(high, MODEL_POLYNOMIAL));
	print_claim(file, "error with 15 % resolution by that with true p", "4",
		    accuracy_factor(all, MODEL_CONSTANT), accuracy_factor(all, MODEL_POLYNOMIAL));
	print_claim(file, "window of a straight line by that of the model", "4",
		    accuracy_windows(all, MODEL_CONSTANT), accuracy_windows(all, MODEL_POLYNOMIAL));
	fprintf(file, "published: F. Pisani, thesis, chapter 4, for another magnet and detector\n");
}

void accuracy_print(FILE *file)
{
	struct accuracy all[N_MOMENTA][N_STATIONS];

	fprintf(file,
		"Errors in x of the extrapolation, mm: 68 %% (95 %%) of %d tracks are below.\n"
		"Windows, mm: 90 %% of the hits are within. |tx| <= %.2f, |ty| <= %.2f.\n\n",
		N_TABLE, MAX_TX, MAX_TY);
	fputs("     p   z  | error, true p               | error, p +- 15 %    "
	      "| window, p +- 15 %            | y 95 %\n"
	      " GeV/c   m  | constant      polynomial    | constant polynomial "
	      "| straight constant polynomial | error\n",
	      file);
	for (unsigned m = 0; m < N_MOMENTA; m++) {
		accuracy_measure(1000 * accuracy_momenta[m], N_TABLE, all[m]);
		for (unsigned s = 0; s < N_STATIONS; s++) {
			const struct accuracy *a = &all[m][s];

			fprintf(file,
				"%6.0f  %4.1f | %5.1f (%5.1f) %5.1f (%5.1f) | %8.1f %10.1f | "
				"%8.1f %8.1f %10.1f | %5.1f\n",
				accuracy_momenta[m], station_z[s] / 1000, a->within_68[0],
				a->within_95[0], a->within_68[1], a->within_95[1],
				a->estimate_68[0], a->estimate_68[1], a->straight_90,
				a->estimate_90[0], a->estimate_90[1], a->y_95);
		}
	}
	print_summary(file, all);
}

// --- fit ----------------------------------------------------------------------------------------

// Solves matrix * x = x, of the normal equations, by Gauss-Jordan elimination with pivots.
static void solve(double matrix[N_COEFFICIENTS][N_COEFFICIENTS], double x[N_COEFFICIENTS])
{
	for (unsigned i = 0; i < N_COEFFICIENTS; i++) {
		unsigned pivot = i;

		for (unsigned j = i + 1; j < N_COEFFICIENTS; j++)
			pivot = fabs(matrix[j][i]) > fabs(matrix[pivot][i]) ? j : pivot;
		for (unsigned k = 0; k < N_COEFFICIENTS; k++) {
			double swapped = matrix[i][k];

			matrix[i][k] = matrix[pivot][k];
			matrix[pivot][k] = swapped;
		}
		if (pivot != i) {
			double swapped = x[i];

			x[i] = x[pivot];
			x[pivot] = swapped;
		}
		for (unsigned j = 0; j < N_COEFFICIENTS; j++) {
			const double factor = matrix[j][i] / matrix[i][i];

			if (j == i)
				continue;
			for (unsigned k = 0; k < N_COEFFICIENTS; k++)
				matrix[j][k] -= factor * matrix[i][k];
			x[j] -= factor * x[i];
		}
	}
	for (unsigned i = 0; i < N_COEFFICIENTS; i++)
		x[i] /= matrix[i][i];
}

// C_B of one station: least squares of the change of slope times p/q, so that each momentum has the
// same weight.
static void fit_station(const struct truth *tracks, unsigned s, struct fit *fit)
{
	double matrix[N_COEFFICIENTS][N_COEFFICIENTS] = { { 0 } };
	double *right = fit->coefficients[s], scales[N_COEFFICIENTS], terms[N_COEFFICIENTS];

	magnet_terms(MAX_TX, MAX_TY, scales); // so that all terms have the same size
	memset(right, 0, sizeof(fit->coefficients[s]));
	fit->constants[s] = 0;
	for (unsigned i = 0; i < N_FIT; i++) {
		const struct state *segment = &tracks[i].segment;
		const double kick = (tracks[i].stations[s].tx - segment->tx) / tracks[i].q_over_p;

		magnet_terms(segment->tx, segment->ty, terms);
		fit->constants[s] += kick / N_FIT;
		for (unsigned j = 0; j < N_COEFFICIENTS; j++) {
			right[j] += terms[j] / scales[j] * kick;
			for (unsigned k = 0; k < N_COEFFICIENTS; k++)
				matrix[j][k] += terms[j] / scales[j] * terms[k] / scales[k];
		}
	}
	solve(matrix, right);
	for (unsigned j = 0; j < N_COEFFICIENTS; j++)
		right[j] /= scales[j];
}

// z of the centre: least squares of the error in x in all stations, times p.
static double fit_centre(const struct truth *tracks, const struct fit *fit)
{
	double numerator = 0, denominator = 0;

	for (unsigned i = 0; i < N_FIT; i++) {
		const struct truth *t = &tracks[i];
		double terms[N_COEFFICIENTS];

		magnet_terms(t->segment.tx, t->segment.ty, terms);
		for (unsigned s = 0; s < N_STATIONS; s++) {
			const double x = t->stations[s].x - magnet_straight(&t->segment, s).x;
			double kick = 0;

			for (unsigned j = 0; j < N_COEFFICIENTS; j++)
				kick += fit->coefficients[s][j] * terms[j];
			// x p/q = kick (z - z_m)
			numerator += kick * (kick * station_z[s] - x / t->q_over_p);
			denominator += kick * kick;
		}
	}
	return numerator / denominator;
}

void accuracy_fit(struct fit *fit)
{
	struct truth *tracks = malloc(N_FIT * sizeof(*tracks));
	uint64_t random = 1;

	for (unsigned i = 0; i < N_FIT; i++) {
		const double logarithm = log(FIT_MAX / FIT_MIN) * uniform(&random);

		make_truth(&tracks[i], FIT_MIN * exp(logarithm), &random);
	}
	for (unsigned s = 0; s < N_STATIONS; s++)
		fit_station(tracks, s, fit);
	fit->centre_z = fit_centre(tracks, fit);
	free(tracks);
}

void accuracy_print_fit(FILE *file)
{
	struct fit fit = { 0 };

	accuracy_fit(&fit);
	fprintf(file, "centre z  %.2f mm\n", fit.centre_z);
	for (unsigned s = 0; s < N_STATIONS; s++) {
		fprintf(file, "station %u  constant %.2f\n ", s + 1, fit.constants[s]);
		for (unsigned j = 0; j < N_COEFFICIENTS; j++)
			fprintf(file, " %.5g", fit.coefficients[s][j]);
		fprintf(file, "\n");
	}
}
