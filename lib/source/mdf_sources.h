// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which sources stand for the banks of an MDF file.
//
// A bank's source id is kept if no other source of the file has it and it states a
// subdetector (its upper 5 bits are not 0) or is ODIN's. Otherwise the source gets the subdetector
// that the bank's source id states, else that of the bank type (mdf_sources.c), and the number that
// the id's lower 11 bits state, else the next that is free, else one of the reserved subdetectors
// 16..31. A source map tells which source stands for which bank.
#pragma once

#include <stdint.h>

#include "source/mdf_events.h"
#include "source/source_map.h"

// Gives every row of the events its source id: ids[n_rows]. Returns 0, or -1 with one line in
// error[SOURCE_ERROR_SIZE] if there are not enough ids.
int mdf_sources_assign(const struct mdf_events *events, uint16_t *ids, char *error);

// The source map of an MDF file; freed with source_map_free(). Returns 0, or -1 with one line in
// error[SOURCE_ERROR_SIZE].
int mdf_sources_map(struct source_map **map, const char *path, char *error);
