// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Shared by the tests of the results role: event rings, and parameters.
#pragma once

#include "helpers.h"

#include "record/results_role.h"

#define BUILDERS  2u
#define SLOTS     8u
#define PACKING   10u
#define EVENTS    (BUILDERS * SLOTS)
#define UNIT      DECISION_STREAM_UNIT
#define FILE_NAME "d-run000077-0000.decisions"

#define DECISIONS "decisions" // name of the ring
#define PER_BLOCK DECISION_STREAM_PER_BLOCK

static inline void make_rings_with(const char *directory, struct evring *rings[BUILDERS],
				   const char *const *groups, unsigned n_groups,
				   const struct evring_group_rules *rules)
{
	struct evring_parameters parameters = {
		.name = RING_NAME,
		.directory = directory,
		.memory = EVRING_SHM,
		.n_builders = BUILDERS,
		.run_number = RUN,
		.slots = SLOTS,
		.slot_size = MEP_ROOM,
		.groups = groups,
		.n_groups = n_groups,
		.rules = rules,
	};
	char error[EVRING_ERROR_SIZE];

	for (; parameters.builder < BUILDERS; parameters.builder++)
		if (evring_create(&rings[parameters.builder], &parameters, error) != 0)
			fail_msg("%s", error);
}

static inline struct results_parameters make_results(const char *directory)
{
	return (struct results_parameters){
		.name = "results.r",
		.appliance = RING_NAME,
		.reader = { .group = "results", .directory = directory },
		.order = { .window = 64, .packing = PACKING, .timeout_ns = 3600000000000 },
		.stream = { .directory = directory,
			    .prefix = "d",
			    .run_number = RUN,
			    .packing = PACKING },
	};
}

static inline struct decision_stream_parameters make_ring_stream(const char *directory,
								 uint32_t slots, unsigned n_groups)
{
	static const char *const groups[] = { "list" };

	return (struct decision_stream_parameters){
		.run_number = RUN,
		.packing = PACKING,
		.ring = { .name = DECISIONS,
			  .directory = directory,
			  .run_number = RUN,
			  .slots = slots,
			  .groups = groups,
			  .n_groups = n_groups },
	};
}

static inline struct evb_reader *open_reader(const char *directory, enum evb_reader_mode mode)
{
	const struct evb_reader_options options = { mode, "list", directory };
	struct evb_reader *reader;

	assert_int_equal(evb_reader_open(&reader, DECISIONS, &options), 0);
	return reader;
}
