// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which source ids a run expects, and their dense numbering: the expected sources, in ascending
// order of id, are 0 to n_expected - 1. Every per-source array goes by that index.
//
// Made by the control thread before the roles start; read-only from then on.
#pragma once

#include <stdint.h>

#include "config/config.h"

#define SOURCE_UNKNOWN    0xFFFFu // id not configured
#define SOURCE_UNEXPECTED 0xFFFEu // configured, not part of this run

struct source_table {
	uint16_t index[65536];         // by source id: index, SOURCE_UNKNOWN or SOURCE_UNEXPECTED
	uint16_t ids[EVB_MAX_SOURCES]; // by index
	unsigned n_expected;
};

void source_table_make(struct source_table *table, const struct config_sources *sources);
