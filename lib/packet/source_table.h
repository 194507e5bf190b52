// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which source ids a run expects, and their dense numbering: the expected sources, in ascending
// order of id, are 0 to n_expected - 1. Every per-source array goes by that index.
//
// Made by the control thread before the roles start; read-only from then on.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

#define SOURCE_UNKNOWN    0xFFFFu // id not configured
#define SOURCE_UNEXPECTED 0xFFFEu // configured, not part of this run

struct source_table {
	uint16_t index[65536];         // by source id: index, SOURCE_UNKNOWN or SOURCE_UNEXPECTED
	uint16_t ids[EVB_MAX_SOURCES]; // by index
	unsigned n_expected;
};

// `ids`: the n configured source ids, in ascending order; expected[i]: whether ids[i] is part of
// this run. n <= EVB_MAX_SOURCES.
void source_table_make(struct source_table *table, const uint16_t *ids, const bool *expected,
		       unsigned n);
