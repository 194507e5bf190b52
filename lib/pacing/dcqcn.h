// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// DCQCN (Zhu et al., SIGCOMM 2015): how a sender of RoCE v2 slows down when the network marks its
// packets, and how a receiver tells it. Pure: time is ticks that the caller gives, never smaller
// than those given before.
//
// Reaction point (sender), one a flow. While no congestion was told it does nothing and the rate
// is the line's. On a congestion notification packet (CNP):
//   target = rate; rate = rate * (1 - alpha / 2); alpha = (1 - g) * alpha + g
// at most once a rate_reduce_period; alpha_period after the last, and again and again:
//   alpha = (1 - g) * alpha
// and with every time_reset and every byte_reset bytes sent since the last CNP (T and B count
// them; this one not counted):
//   max(T, B) < threshold:  rate = (rate + target) / 2                   fast recovery
//   min(T, B) > threshold:  target += hyper_rate, then the same          hyper increase
//   else:                   target += additive_rate, then the same       additive increase
// Back at the line's rate it forgets all.
//
// Threads: one owner a flow.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DCQCN_ONE (1u << 30) // 1 in fixed point

// Those of NVIDIA's firmware in parentheses, with their defaults.
struct dcqcn_parameters {
	uint64_t time_reset_ns;  // (RPG_TIME_RESET) 300 us
	uint64_t byte_reset;     // (RPG_BYTE_RESET) 32767 bytes
	uint32_t threshold;      // (RPG_THRESHOLD) 1; the paper: 5
	uint64_t additive_rate;  // (RPG_AI_RATE) bytes a second: 5 Mb/s
	uint64_t hyper_rate;     // (RPG_HAI_RATE) bytes a second: 50 Mb/s
	uint64_t minimum_rate;   // (RPG_MIN_RATE) bytes a second: 1 Mb/s
	uint32_t minimum_factor; // (RPG_MIN_DEC_FAC) of one reduction, of DCQCN_ONE: 50 %
	uint32_t g;              // (1024 - DCE_TCP_G) of DCQCN_ONE: 5 / 1024; the paper: 1 / 256
	uint32_t initial_alpha;  // (INITIAL_ALPHA) of DCQCN_ONE: 1023 / 1024
	uint32_t gd_shift;       // (RPG_GD - 10) rate *= 1 - alpha / 2^gd_shift: 1
	uint64_t rate_reduce_period_ns; // (RATE_REDUCE_MONITOR_PERIOD) 4 us
	uint64_t alpha_period_ns;       // 55 us, the paper's
};

extern const struct dcqcn_parameters dcqcn_defaults;

// Parameters in ticks, shared by all flows of a port. Read only once made.
struct dcqcn {
	struct dcqcn_parameters parameters;
	uint64_t line_rate;                                    // bytes a second
	uint64_t time_reset, rate_reduce_period, alpha_period; // ticks
};

// Returns 0, or -1 with `*why` naming the parameter that is out of range. line_rate: bytes a
// second, >= minimum_rate and < 2^44; ticks_per_second >= 1 million.
int dcqcn_init(struct dcqcn *dcqcn, const struct dcqcn_parameters *parameters, uint64_t line_rate,
	       uint64_t ticks_per_second, const char **why);

struct dcqcn_flow {
	uint64_t rate, target; // bytes a second
	uint64_t told;         // rate, when the last dcqcn_poll() returned
	uint64_t timer_at;     // ticks, of the next step by time
	uint64_t alpha_at;     // ticks, of the next decay
	uint64_t reduce_at;    // ticks: no reduction before
	uint64_t bytes;        // sent since the last step by bytes
	uint32_t alpha;        // of DCQCN_ONE
	uint32_t time_steps;   // T
	uint32_t byte_steps;   // B
	bool limited;          // below the line's rate
	bool cnp_waits;        // for reduce_at
	uint64_t cnps;         // counters: CNPs that came in
	uint64_t reductions;
};

// At the line's rate.
void dcqcn_flow_init(const struct dcqcn *dcqcn, struct dcqcn_flow *flow);

// A CNP for the flow came in. As dcqcn_sent(), it does the steps that were due before.
void dcqcn_cnp(const struct dcqcn *dcqcn, struct dcqcn_flow *flow, uint64_t now);

// The flow sent so many bytes. Cheap while it is not limited.
void dcqcn_sent(const struct dcqcn *dcqcn, struct dcqcn_flow *flow, uint32_t bytes, uint64_t now);

// Does the steps that time brings, at most 64; true if the rate is another than after the last
// poll: give it to the flow's pacer. Cheap while the flow is not limited.
bool dcqcn_poll(const struct dcqcn *dcqcn, struct dcqcn_flow *flow, uint64_t now);
