// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An event manager with builders that answer it: what the tests of the scheduler share.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sched/sched.h"

#define BENCH_BUILDERS 16u
#define BENCH_GRANTS   4096u

struct bench {
	struct sched_parameters parameters;
	struct sched_builder_parameters builders[BENCH_BUILDERS];
	struct sched *sched;
	uint64_t now;
	struct sched_grant grants[BENCH_GRANTS]; // of the last poll
	unsigned n;
};

// Parameters of n builders with four slots, each with a group and a port of its own, one source, no
// rule and no shaping, so that nothing limits but what a test adds.
struct bench bench_plain(uint32_t n_builders);
// Creates the scheduler; builders register.
void bench_start(struct bench *bench);
void bench_stop(struct bench *bench);

// All sources announce the events below up_to.
void bench_announce(struct bench *bench, uint64_t up_to);
// Credits of a builder's slots from 0 on, at generation 1.
void bench_credit(struct bench *bench, uint32_t builder, uint32_t n_slots);
void bench_credit_all(struct bench *bench);
// Grants at most max; returns how many.
unsigned bench_poll(struct bench *bench, unsigned max);
// Polls, and expects the builders of the grants: "0 1 2", "" for none.
void bench_expect(struct bench *bench, unsigned max, const char *builders);
// The builder of a grant is done with the event, and sends the slot's next credit.
void bench_done(struct bench *bench, const struct sched_grant *grant);
void bench_recycle(struct bench *bench, const struct sched_grant *grant);
void bench_recycle_all(struct bench *bench);

struct sched_builder_view bench_view(const struct bench *bench, uint32_t builder);
void bench_port(struct bench *bench, uint32_t builder, bool paused);
