// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bench.h"

#include <stdio.h>
#include <string.h>

struct bench bench_plain(uint32_t n_builders)
{
	struct bench bench = { .parameters = sched_defaults() };

	bench.parameters.n_builders = n_builders;
	bench.parameters.n_sources = 1;
	bench.parameters.shaping = SCHED_ALL_AT_ONCE;
	bench.parameters.distance = 0;
	bench.parameters.event_bytes = 1000;
	for (uint32_t i = 0; i < n_builders; i++)
		bench.builders[i] = (struct sched_builder_parameters){
			.slots = 4,
			.group = i,
			.weight = 1,
			.port = i,
		};
	return bench;
}

void bench_start(struct bench *bench)
{
	char error[SCHED_ERROR_SIZE] = "";

	bench->parameters.builders = bench->builders;
	if (sched_create(&bench->sched, &bench->parameters, error) != 0)
		fail_msg("%s", error);
	for (uint32_t i = 0; i < bench->parameters.n_builders; i++)
		assert_int_equal(
		    sched_register(bench->sched, i, 1, bench->builders[i].slots, bench->now),
		    SCHED_OK);
}

void bench_stop(struct bench *bench)
{
	sched_destroy(bench->sched);
}

void bench_announce(struct bench *bench, uint64_t up_to)
{
	for (uint32_t i = 0; i < bench->parameters.n_sources; i++)
		assert_int_equal(sched_announce(bench->sched, i, up_to, bench->now), SCHED_OK);
}

void bench_credit(struct bench *bench, uint32_t builder, uint32_t n_slots)
{
	for (uint32_t slot = 0; slot < n_slots; slot++)
		assert_int_equal(sched_credit(bench->sched, builder, slot, 1, bench->now),
				 SCHED_OK);
}

void bench_credit_all(struct bench *bench)
{
	for (uint32_t i = 0; i < bench->parameters.n_builders; i++)
		bench_credit(bench, i, bench->builders[i].slots);
}

unsigned bench_poll(struct bench *bench, unsigned max)
{
	bench->n = sched_poll(bench->sched, bench->now, bench->grants, max);
	return bench->n;
}

void bench_expect(struct bench *bench, unsigned max, const char *builders)
{
	char text[256] = "";
	size_t length = 0;

	bench_poll(bench, max);
	for (unsigned i = 0; i < bench->n && length < sizeof(text); i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%u",
					   i > 0 ? " " : "", bench->grants[i].builder);
	assert_string_equal(text, builders);
}

void bench_done(struct bench *bench, const struct sched_grant *grant)
{
	assert_int_equal(sched_done(bench->sched, grant->builder, grant->event, grant->slot,
				    grant->generation, grant->attempt, SCHED_COMPLETE, 1000,
				    bench->now),
			 SCHED_OK);
}

void bench_recycle(struct bench *bench, const struct sched_grant *grant)
{
	bench_done(bench, grant);
	assert_int_equal(sched_credit(bench->sched, grant->builder, grant->slot,
				      grant->generation + 1, bench->now),
			 SCHED_OK);
}

void bench_recycle_all(struct bench *bench)
{
	for (unsigned i = 0; i < bench->n; i++)
		bench_recycle(bench, &bench->grants[i]);
	bench->n = 0;
}

struct sched_builder_view bench_view(const struct bench *bench, uint32_t builder)
{
	struct sched_builder_view view;

	sched_view(bench->sched, builder, &view);
	return view;
}

void bench_port(struct bench *bench, uint32_t builder, bool paused)
{
	struct sched_port port = { .paused = paused };

	sched_port_state(bench->sched, builder, &port, bench->now);
}
