// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "tracking.h"

#include <math.h>

// A segment extrapolated to the stations.
struct road {
	struct state line[N_STATIONS];   // without a field
	double displacement[N_STATIONS]; // by the magnet, for q/p = 1
};

static void make_road(const struct state *segment, struct road *road)
{
	for (unsigned s = 0; s < N_STATIONS; s++) {
		const double kick = magnet_kick(s, segment->tx, segment->ty);

		road->line[s] = magnet_straight(segment, s);
		road->displacement[s] = magnet_displacement(s, kick, 1);
	}
}

// The number of the first hit at x or beyond.
static unsigned first_from(const struct hits *hits, double x)
{
	unsigned begin = 0, end = hits->n;

	while (begin < end) {
		const unsigned middle = (begin + end) / 2;

		if (hits->x[middle] < x)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

// The hit nearest in x to where a track of this q/p passes, within the windows. Returns its index,
// or -1, and sets *distance to that in x.
static int nearest(const struct hits *hits, const struct road *road, unsigned s, double q_over_p,
		   double *distance)
{
	const double x = road->line[s].x + road->displacement[s] * q_over_p;
	const double y = road->line[s].y, y_window = WINDOW_Y + WINDOW_Y_P * fabs(q_over_p);
	const double x_window = WINDOW_X + WINDOW_X_P * fabs(q_over_p);
	double best = x_window;
	int found = -1;

	for (unsigned i = first_from(hits, x - x_window); i < hits->n && hits->x[i] < x + x_window;
	     i++) {
		const double away = fabs(hits->x[i] - x);

		if (away < best && fabs(hits->y[i] - y) < y_window) {
			best = away;
			found = (int)i;
		}
	}
	*distance = best;
	return found;
}

// Completes the track that begins with a hit at x in station 1. Returns false if it has no hits in
// the other stations.
static bool complete(const struct hit_event *event, const struct road *road, double x,
		     struct track *track)
{
	const double first = (x - road->line[0].x) / road->displacement[0];
	const double window = WINDOW_X + WINDOW_X_P * fabs(first);
	double sum = first;

	track->chi2 = 0;
	for (unsigned s = 1; s < N_STATIONS; s++) {
		double distance;
		const int hit = nearest(&event->stations[s], road, s, first, &distance);

		if (hit < 0)
			return false;
		track->chi2 += (distance / window) * (distance / window);
		sum += (event->stations[s].x[hit] - road->line[s].x) / road->displacement[s];
	}
	track->q_over_p = sum / N_STATIONS;
	return true;
}

static bool find_track(const struct hit_event *event, const struct segment *segment,
		       struct track *track)
{
	const struct hits *hits = &event->stations[0];
	const double estimate = segment->q_over_p;
	const struct state *at = &segment->state;
	double x, x_window, y_window;
	struct road road;

	make_road(at, &road);
	track->chi2 = INFINITY;
	x = road.line[0].x + road.displacement[0] * estimate;
	x_window = WINDOW_X + WINDOW_X_P * fabs(estimate) +
		   ESTIMATE_SIGMAS * 0.15 * fabs(road.displacement[0] * estimate);
	y_window = WINDOW_Y + WINDOW_Y_P * fabs(estimate);
	for (unsigned i = first_from(hits, x - x_window); i < hits->n && hits->x[i] < x + x_window;
	     i++) {
		struct track candidate;

		if (fabs(hits->x[i] - x) < x_window &&
		    fabs(hits->y[i] - road.line[0].y) < y_window &&
		    complete(event, &road, hits->x[i], &candidate) && candidate.chi2 < track->chi2)
			*track = candidate;
	}
	if (!isfinite(track->chi2))
		return false;
	track->pt =
	    sqrt((at->tx * at->tx + at->ty * at->ty) / (1 + at->tx * at->tx + at->ty * at->ty)) /
	    fabs(track->q_over_p);
	return true;
}

unsigned tracking_find(const struct hit_event *event, struct track tracks[MAX_SEGMENTS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < event->n_segments; i++) {
		if (find_track(event, &event->segments[i], &tracks[n]))
			tracks[n++].segment = i;
	}
	return n;
}

uint64_t tracking_lines(const struct track *tracks, unsigned n)
{
	bool high = false, positive = false, negative = false;

	for (unsigned i = 0; i < n; i++) {
		high |= tracks[i].pt > HIGH_PT;
		positive |= tracks[i].pt > PAIR_PT && tracks[i].q_over_p > 0;
		negative |= tracks[i].pt > PAIR_PT && tracks[i].q_over_p < 0;
	}
	return (uint64_t)high << LINE_HIGH_PT | (uint64_t)(positive && negative) << LINE_PAIR;
}
