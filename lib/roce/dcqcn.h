// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// DCQCN, the reaction point (Zhu et al., SIGCOMM 2015): the rate at which a queue pair sends, cut
// when a congestion notification comes, and raised again by time and by bytes sent.
//
// Threads: one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dcqcn_parameters {
	uint64_t line_rate; // bytes a second: what is never exceeded
	uint64_t minimum_rate;
	uint64_t additive;       // bytes a second added to the target in additive increase
	uint64_t hyper;          // the same in hyper increase
	uint64_t cut_interval;   // ns: at most one cut in it
	uint64_t alpha_interval; // ns without a notification until alpha decays a step
	uint64_t raise_interval; // ns of one timer stage
	uint64_t raise_bytes;    // of one byte stage
	uint32_t gain;           // g in 1/65536
	uint32_t fast_stages;    // stages of fast recovery
};

struct dcqcn {
	uint64_t rate; // bytes a second, what requester_set_rate() takes
	uint64_t target;
	uint64_t last_cut, last_alpha, last_raise; // ns
	uint64_t bytes;                            // since the last byte stage
	uint32_t alpha;                            // in 1/65536
	uint32_t time_stage, byte_stage;
};

// NVIDIA's defaults, with the paper's gain 1/256, for a line rate in bytes a second.
struct dcqcn_parameters dcqcn_defaults(uint64_t line_rate);

void dcqcn_start(struct dcqcn *dcqcn, const struct dcqcn_parameters *parameters, uint64_t now);

// A CNP came. True if the rate changed.
bool dcqcn_notified(struct dcqcn *dcqcn, const struct dcqcn_parameters *parameters, uint64_t now);

// Time has passed and `bytes` have been sent since the last call: a few times in each
// raise_interval is often enough. Bounded work however long it was. True if the rate changed.
bool dcqcn_advance(struct dcqcn *dcqcn, const struct dcqcn_parameters *parameters, uint64_t bytes,
		   uint64_t now);
