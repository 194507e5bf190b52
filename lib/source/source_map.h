// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A source map states to which bank of an MDF file each source belongs. With it, a writer of .mdf
// files restores the source ids of the banks. It is a JSON file:
//
//   {"source": "lhcb-minbias.mdf",
//    "note": "...",
//    "sources": [{"id": 4097, "bank_type": 63, "bank_source_id": 1, "version": 2}, ...]}
//
// id: source id of the MFPs; version: that of the banks and MFPs. A fragment of type 92 and size 0
// stands for a bank that the event does not have; a writer leaves it out.
//
// Threads: made and freed by one thread, read-only in between.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "source/generator.h"

struct source_map_entry {
	uint16_t id;
	uint16_t bank_source_id;
	uint8_t bank_type;
	uint8_t version;
};

struct source_map {
	char source[EVB_PATH_SIZE]; // name of the file without directories
	unsigned n_entries;
	struct source_map_entry *entries; // ascending ids, no duplicates
};

// Reads a map. Returns 0, or -1 with one line in error[SOURCE_ERROR_SIZE] that names the file and
// the JSON path. Unknown keys are ignored.
int source_map_load(struct source_map **map, const char *path, char *error);

// The same from text in memory; `name` names the file in messages.
int source_map_parse(struct source_map **map, const char *text, size_t length, const char *name,
		     char *error);

// The entry of a source; NULL if it has none.
const struct source_map_entry *source_map_find(const struct source_map *map, uint16_t id);

// Writes the map to a file, which is replaced if it exists. Returns 0, or -1 with one line in
// error[SOURCE_ERROR_SIZE].
int source_map_save(const struct source_map *map, const char *path, char *error);

void source_map_free(struct source_map *map);
