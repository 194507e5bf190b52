// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "control/clock.h"

#define RESOLUTION_US 1.0      // stamps are whole microseconds, rounded down
#define WORST_TRIP_US 1000000u // frames of a longer round trip tell nothing

// By how much the interval has grown on each side since the last sample, us.
static double drift(const struct control_clock *clock, uint32_t now)
{
	return (double)(uint32_t)(now - clock->at) * CONTROL_CLOCK_DRIFT_PPM * 1e-6;
}

void control_clock_add(struct control_clock *clock, uint32_t stamp, uint32_t echo,
		       uint32_t echo_age, uint32_t now)
{
	// When this frame left, the own clock was at most `now`; when the peer received the echoed
	// stamp, the own clock was at least `echo`.
	const uint32_t least = stamp - now, most = stamp - echo_age - echo;
	const uint32_t base = clock->is_known ? clock->base : least;
	const double low = (double)(int32_t)(least - base) - RESOLUTION_US;
	const double high = (double)(int32_t)(most - base) + 2 * RESOLUTION_US;
	const double grown = clock->is_known ? drift(clock, now) : 0;

	if (now - echo - echo_age > WORST_TRIP_US)
		return;
	if (!clock->is_known || low > clock->high + grown || high < clock->low - grown) {
		// The first sample, or the peer's clock has changed.
		*clock = (struct control_clock){ .low = 0, .high = high - low };
		clock->base = base + (uint32_t)(int32_t)low;
	} else {
		clock->low = low > clock->low - grown ? low : clock->low - grown;
		clock->high = high < clock->high + grown ? high : clock->high + grown;
	}
	clock->is_known = true;
	clock->at = now;
}

bool control_clock_estimate(const struct control_clock *clock, uint32_t now,
			    struct control_clock_estimate *estimate)
{
	const double half = (clock->high - clock->low) / 2;

	if (!clock->is_known)
		return false;
	estimate->offset_us = clock->base + (uint32_t)(int32_t)(clock->low + half);
	estimate->error_us = (uint32_t)(half + drift(clock, now)) + 1;
	return true;
}
