// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The clock of a peer, estimated from the stamps that frames carry (stamp, echo and echo_age of
// wire/ctrl.h).
//
// A frame that echoes a stamp bounds the difference of the clocks: the peer received the echoed
// stamp after it was sent, and sent the frame before it arrived. Each frame gives an interval that
// contains the difference; its width is the round trip less the time at the peer. The intervals of
// all frames are intersected (K. Marzullo, S. Owicki, Maintaining the time in a distributed system,
// 1983), and grow with time by CONTROL_CLOCK_DRIFT_PPM. The estimate is the middle, the error half
// of the width: delays that differ between the directions, and late polls, widen the interval but
// never make the bound wrong.
//
// Pure: the caller passes the time. Stamps are us modulo 2^32. Threads: one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// By how much two clocks may drift apart: crystals have 50 ppm each.
#define CONTROL_CLOCK_DRIFT_PPM 100u

struct control_clock {
	bool is_known;
	uint32_t at; // own stamp of the last sample
	// The peer's clock less the own clock: between base + low and base + high, in us.
	uint32_t base; // modulo 2^32
	double low, high;
};

struct control_clock_estimate {
	uint32_t offset_us; // the peer's clock less the own clock, modulo 2^32
	uint32_t error_us;  // the true offset differs by at most this
};

// A frame with the peer's `stamp` arrived at `now`; it echoes the own stamp `echo`, which the peer
// had received `echo_age` us before it sent the frame.
void control_clock_add(struct control_clock *clock, uint32_t stamp, uint32_t echo,
		       uint32_t echo_age, uint32_t now);

// False if nothing is known of the peer's clock.
bool control_clock_estimate(const struct control_clock *clock, uint32_t now,
			    struct control_clock_estimate *estimate);
