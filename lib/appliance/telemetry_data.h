// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// From metric tables to DPDK's telemetry data. Telemetry threads.
#pragma once

#include <rte_telemetry.h>

#include "appliance/telemetry_tables.h"

// Adds the keys of a table, read from `base`, to a started dictionary.
void telemetry_add_table(struct rte_tel_data *data, const struct metric *table, const void *base);

// Adds a dictionary NAME_INDEX, made from a table, to a started dictionary.
void telemetry_add_nested(struct rte_tel_data *data, const char *name, unsigned index,
			  const struct metric *table, const void *base);

// Adds a histogram to a started dictionary: le_1, le_2, le_4, ... nanoseconds, cumulative.
void telemetry_add_histogram(struct rte_tel_data *data, const char *name,
			     const struct histogram *histogram);

// Makes the answer {"error": ...}, the rest of which is like printf's.
void telemetry_set_error(struct rte_tel_data *data, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
