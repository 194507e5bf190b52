// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Assigns source ids to the banks of an MDF file.
//
// A source has the source id of its banks if no other source of the file has that id, and if the id
// names a subdetector (its upper 5 bits are not 0) or is that of ODIN. Otherwise the source gets a
// new id. Its subdetector is the one that the bank's source id names, else that of the bank type
// (mdf_sources.c). Its number is that of the lower 11 bits of the bank's source id, or the next
// free number. If the subdetector has no free number, the id is one of the reserved
// subdetectors 16..31. A source map states which source belongs to which bank.
#pragma once

#include <stdint.h>

#include "source/mdf_events.h"
#include "source/source_map.h"

// Assigns a source id to each row of the events: ids[n_rows], at most 65536. Returns 0, or -1 with
// one line in error[SOURCE_ERROR_SIZE] if the ids do not suffice.
int mdf_sources_assign(const struct mdf_events *events, uint16_t *ids, char *error);

// The rows of a part of a file and their sources, so that other parts get the same sources.
struct mdf_known_row {
	uint64_t key; // bank type, bank source id, occurrence
	uint16_t id;
	uint8_t version;
};

struct mdf_known {
	unsigned n;
	struct mdf_known_row rows[]; // in ascending order of keys
};

// Freed with free(). Returns 0, or -1 with one line in error[SOURCE_ERROR_SIZE].
int mdf_sources_learn(struct mdf_known **known, const struct mdf_events *events, char *error);

// NULL: the row is not known.
const struct mdf_known_row *mdf_sources_find(const struct mdf_known *known,
					     const struct mdf_row *row);

// The source map of an MDF file, or of the first part of one that is larger than a window
// (source_set.h); freed with source_map_free(). Returns 0, or -1 with one line in
// error[SOURCE_ERROR_SIZE].
int mdf_sources_map(struct source_map **map, const char *path, uint64_t window, char *error);
