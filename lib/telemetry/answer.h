// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Builds DPDK's telemetry data from metric tables. Telemetry threads.
//
// Functions that return a size return an upper bound of the bytes that they add to the response.
#pragma once

#include <stdbool.h>

#include <rte_telemetry.h>

#include "base/histogram.h"
#include "telemetry/group.h"

// Adds the keys of a table, read from `base`, to a started dictionary.
size_t telemetry_add_table(struct rte_tel_data *data, const struct metric *table, const void *base);

// Adds all metrics of thing `index` to a started dictionary. With histograms, latencies are added
// as dictionaries NAME_ns beside their quantiles.
size_t telemetry_add_thing(struct rte_tel_data *data, const struct appliance *appliance,
			   const struct telemetry_group *group, unsigned index, bool histograms);

// Adds a histogram to a started dictionary: le_1, le_2, le_4, ... nanoseconds, cumulative.
size_t telemetry_add_histogram(struct rte_tel_data *data, const char *name,
			       const struct histogram *histogram);

// The value of a number or a text, where `base` is the address of its structure.
uint64_t telemetry_number(const struct metric *metric, const void *base);
const char *telemetry_text(const struct metric *metric, const void *base);

// Makes the response {"error": ...}; the text is formatted as by printf().
void telemetry_set_error(struct rte_tel_data *data, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
