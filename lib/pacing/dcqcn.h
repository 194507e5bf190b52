// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The reaction point of DCQCN (Zhu et al., SIGCOMM 2015): how a sender of RoCE v2 reduces its rate
// when the network marks its packets. Pure: the caller passes the time, in ticks that never go
// back.
//
// Each flow has a rate. While there is no congestion it is that of the link, and nothing is
// computed. On a congestion notification packet (CNP), at most once per rate_reduce_period:
//   target = rate; rate = rate * (1 - alpha / 2); alpha = (1 - g) * alpha + g
// alpha_period after the last CNP, and again after each further alpha_period:
//   alpha = (1 - g) * alpha
// and after every time_reset and every byte_reset bytes sent since the last CNP (T and B count
// these steps; the current step is not counted):
//   max(T, B) < threshold:  rate = (rate + target) / 2                   fast recovery
//   min(T, B) > threshold:  target += hyper_rate, then the same          hyper increase
//   else:                   target += additive_rate, then the same       additive increase
// When the rate of a flow is again that of the link, the flow returns to its initial state.
//
// Threads: one owner per flow.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DCQCN_ONE (1u << 30) // 1 in fixed point

// The names in parentheses are those of NVIDIA's firmware; the values are its defaults.
struct dcqcn_parameters {
	uint64_t time_reset_ns;  // (RPG_TIME_RESET) 300 us
	uint64_t byte_reset;     // (RPG_BYTE_RESET) 32767 bytes
	uint32_t threshold;      // (RPG_THRESHOLD) 1; the paper: 5
	uint64_t additive_rate;  // (RPG_AI_RATE) bytes/s: 5 Mb/s
	uint64_t hyper_rate;     // (RPG_HAI_RATE) bytes/s: 50 Mb/s
	uint64_t minimum_rate;   // (RPG_MIN_RATE) bytes/s: 1 Mb/s
	uint32_t minimum_factor; // (RPG_MIN_DEC_FAC) of one reduction, of DCQCN_ONE: 50 %
	uint32_t g;              // (1024 - DCE_TCP_G) of DCQCN_ONE: 5 / 1024; the paper: 1 / 256
	uint32_t initial_alpha;  // (INITIAL_ALPHA) of DCQCN_ONE: 1023 / 1024
	uint32_t gd_shift;       // (RPG_GD - 10) rate *= 1 - alpha / 2^gd_shift: 1
	uint64_t rate_reduce_period_ns; // (RATE_REDUCE_MONITOR_PERIOD) 4 us
	uint64_t alpha_period_ns;       // 55 us, as in the paper
};

extern const struct dcqcn_parameters dcqcn_defaults;

// The parameters in ticks, shared by all flows of a port. Read-only after dcqcn_init().
struct dcqcn {
	struct dcqcn_parameters parameters;
	uint64_t line_rate;                                    // bytes/s
	uint64_t time_reset, rate_reduce_period, alpha_period; // ticks
};

// Returns 0, or -1 with `*why` naming the parameter that is out of range. line_rate: bytes/s,
// >= minimum_rate and < 2^44; ticks_per_second >= 1 million.
int dcqcn_init(struct dcqcn *dcqcn, const struct dcqcn_parameters *parameters, uint64_t line_rate,
	       uint64_t ticks_per_second, const char **why);

struct dcqcn_flow {
	uint64_t rate, target; // bytes/s
	uint64_t reported;     // rate at the last dcqcn_poll()
	uint64_t timer_at;     // ticks: next step by time
	uint64_t alpha_at;     // ticks: next decay of alpha
	uint64_t reduce_at;    // ticks: no reduction before
	uint64_t bytes;        // sent since the last step by bytes
	uint32_t alpha;        // of DCQCN_ONE
	uint32_t time_steps;   // T
	uint32_t byte_steps;   // B
	bool limited;          // the rate is below that of the link
	bool cnp_waits;        // a CNP waits for reduce_at
	uint64_t cnps;         // counter: CNPs received
	uint64_t reductions;   // counter
};

// Sets the flow to the rate of the link.
void dcqcn_flow_init(const struct dcqcn *dcqcn, struct dcqcn_flow *flow);

// The flow received a CNP.
void dcqcn_cnp(const struct dcqcn *dcqcn, struct dcqcn_flow *flow, uint64_t now);

// The flow sent so many bytes. Cheap while the flow is not limited.
void dcqcn_sent(const struct dcqcn *dcqcn, struct dcqcn_flow *flow, uint32_t bytes, uint64_t now);

// Does the steps by time that are due, at most 64; the two functions above do them as well. Returns
// true if the rate has changed since the last poll. Cheap while the flow is not limited.
bool dcqcn_poll(const struct dcqcn *dcqcn, struct dcqcn_flow *flow, uint64_t now);
