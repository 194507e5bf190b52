// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The windows of a timed shift. All nodes share the clock of the event manager. Its time is divided
// into phases, each a window in which the nodes send, and an idle window. In phase q node x sends
// to position (x + q) mod n_positions, or, in a folded system, to position (x + 1 + q mod
// (n_positions - 1)) mod n_positions: there each node builds, too, and needs no window for its own
// builders. So no two nodes send to one builder in the same window, whenever grants arrive, and a
// node that was late is in step again with its next window.
//
// The clock is in microseconds modulo 2^32. When it returns to 0, every 71 minutes, all nodes cut a
// phase short at the same time.
//
// Pure: the caller passes the time, in ticks. Threads: one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SHIFT_NO_POSITION UINT32_MAX

struct shift_windows_parameters {
	uint64_t send_ns; // > 0; 0: no timed shift
	uint64_t idle_ns;
	uint32_t rank; // of this node among the nodes that send
	uint32_t n_positions;
	bool is_folded; // all nodes that send have builders, at the position of their rank
	uint64_t ticks_per_second;
};

struct shift_windows {
	struct shift_windows_parameters parameters;
	double ns_per_tick;
	uint64_t clock_at; // ticks at which the manager's clock was clock_us
	uint32_t clock_us;
	// The present phase, in ticks
	uint64_t begins, idles, ends;
	uint64_t number; // since the manager's clock was 0
	uint32_t position;
};

void shift_windows_make(struct shift_windows *windows,
			const struct shift_windows_parameters *parameters);

// The manager's clock was `us` at the time `at`. Takes effect in the next phase. Before the first
// call, the windows are those of a clock that was 0 at tick 0.
void shift_windows_set_clock(struct shift_windows *windows, uint32_t us, uint64_t at);

void shift_windows_advance(struct shift_windows *windows, uint64_t now);

// The position to which the node may send now; SHIFT_NO_POSITION in an idle window.
static inline uint32_t shift_windows_position(struct shift_windows *windows, uint64_t now)
{
	if (now - windows->begins >= windows->ends - windows->begins)
		shift_windows_advance(windows, now);
	return now < windows->idles ? windows->position : SHIFT_NO_POSITION;
}
