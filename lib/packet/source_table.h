// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The source ids that a run expects. Each expected source has an index, 0 to n_expected - 1 in
// ascending order of the ids. All arrays with one entry per source use this index.
//
// Made by the control thread before the roles start; read-only from then on.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

#define SOURCE_UNKNOWN    0xFFFFu // the id is not configured
#define SOURCE_UNEXPECTED 0xFFFEu // the id is configured, but not part of this run

struct source_table {
	uint16_t index[65536];         // by source id: index, SOURCE_UNKNOWN or SOURCE_UNEXPECTED
	uint16_t ids[EVB_MAX_SOURCES]; // by index
	unsigned n_expected;
};

// `ids`: the n configured source ids, in ascending order; expected[i]: whether ids[i] is part of
// this run. n <= EVB_MAX_SOURCES.
void source_table_make(struct source_table *table, const uint16_t *ids, const bool *expected,
		       unsigned n);
