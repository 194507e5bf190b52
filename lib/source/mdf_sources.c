// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/mdf_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"
#include "wire/mfp.h"

#define N_IDS          65536u
#define NUMBER_BITS    11
#define NUMBERS        (1u << NUMBER_BITS) // of one subdetector
#define FIRST_RESERVED 16u                 // subdetector
#define N_SUBDETECTORS 32u

// The subdetector that sends banks of a type; a reserved one if none does.
static unsigned subdetector_of_type(uint8_t type)
{
	switch (type) {
	case 16: // ODIN
		return 0;
	case 63: // VP
	case 97: // VeloSPPandCluster
		return 2;
	case 73: // VPRetinaCluster
		return 3;
	case 9: // Rich
		return 4;
	case 66: // UT
		return 5;
	case 64: // FTCluster
		return 7;
	case 84: // Plume
		return 10;
	case 21: // EcalPacked
	case 77: // Calo
		return 11;
	case 22: // HcalPacked
		return 12;
	case 13: // Muon
		return 13;
	default:
		return FIRST_RESERVED;
	}
}

static int free_number(const bool *taken, unsigned subdetector, unsigned number)
{
	for (unsigned i = 0; i < NUMBERS; i++) {
		unsigned id = subdetector << NUMBER_BITS | (number + i) % NUMBERS;

		if (!taken[id])
			return (int)id;
	}
	return -1;
}

static int new_id(const bool *taken, const struct mdf_row *row)
{
	unsigned subdetector = row->bank_source_id >> NUMBER_BITS;
	unsigned number = row->bank_source_id % NUMBERS;
	int id;

	if (!subdetector)
		subdetector = subdetector_of_type(row->bank_type);
	id = free_number(taken, subdetector, number);
	for (unsigned i = FIRST_RESERVED; id < 0 && i < N_SUBDETECTORS; i++)
		id = free_number(taken, i, number);
	return id;
}

static bool keeps_id(const struct mdf_row *row, const uint32_t *users)
{
	return users[row->bank_source_id] == 1 &&
	       (row->bank_source_id >> NUMBER_BITS || row->bank_type == MFP_TYPE_ODIN);
}

int mdf_sources_assign(const struct mdf_events *events, uint16_t *ids, char *error)
{
	struct census {
		uint32_t users[N_IDS]; // rows that have this bank source id
		bool taken[N_IDS];
	} *census = calloc(1, sizeof(*census));
	const struct mdf_row *rows = events->rows, *end = rows + events->n_rows;
	int id = 0;

	if (!census)
		return error_line(error, SOURCE_ERROR_SIZE, "out of memory");
	for (const struct mdf_row *row = rows; row < end; row++)
		census->users[row->bank_source_id]++;
	for (const struct mdf_row *row = rows; row < end; row++)
		if (keeps_id(row, census->users))
			census->taken[row->bank_source_id] = true;
	for (const struct mdf_row *row = rows; row < end; row++) {
		id =
		    keeps_id(row, census->users) ? row->bank_source_id : new_id(census->taken, row);
		if (id < 0)
			break;
		census->taken[id] = true;
		ids[row - rows] = (uint16_t)id;
	}
	free(census);
	if (id >= 0)
		return 0;
	return error_line(error, SOURCE_ERROR_SIZE, "%u banks are more than there are source ids",
			  events->n_rows);
}

static uint64_t key_of(const struct mdf_row *row)
{
	return (uint64_t)row->bank_type << 32 | (uint64_t)row->bank_source_id << 16 |
	       row->occurrence;
}

int mdf_sources_learn(struct mdf_known **known, const struct mdf_events *events, char *error)
{
	uint16_t *ids = calloc(N_IDS, sizeof(*ids));
	struct mdf_known *made = calloc(1, sizeof(*made) + events->n_rows * sizeof(made->rows[0]));
	int result = -1;

	if (!ids || !made)
		(void)error_line(error, SOURCE_ERROR_SIZE, "out of memory");
	else
		result = mdf_sources_assign(events, ids, error);
	for (uint32_t i = 0; !result && i < events->n_rows; i++)
		made->rows[made->n++] = (struct mdf_known_row){
			.key = key_of(&events->rows[i]), // rows are in this order
			.id = ids[i],
			.version = events->rows[i].version,
		};
	free(ids);
	if (result)
		free(made);
	else
		*known = made;
	return result;
}

static int by_key(const void *key, const void *row)
{
	uint64_t a = *(const uint64_t *)key, b = ((const struct mdf_known_row *)row)->key;

	return (a > b) - (a < b);
}

const struct mdf_known_row *mdf_sources_find(const struct mdf_known *known,
					     const struct mdf_row *row)
{
	uint64_t key = key_of(row);

	return bsearch(&key, known->rows, known->n, sizeof(known->rows[0]), by_key);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int by_id(const void *left, const void *right)
{
	const struct source_map_entry *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static int make_map(struct source_map *map, const struct mdf_events *events, char *error)
{
	uint16_t ids[N_IDS];

	map->entries = calloc(events->n_rows, sizeof(*map->entries));
	if (!map->entries)
		return error_line(error, SOURCE_ERROR_SIZE, "out of memory");
	if (mdf_sources_assign(events, ids, error))
		return -1;
	for (uint32_t i = 0; i < events->n_rows; i++) {
		const struct mdf_row *row = &events->rows[i];

		map->entries[i] = (struct source_map_entry){
			.id = ids[i],
			.bank_source_id = row->bank_source_id,
			.bank_type = row->bank_type,
			.version = row->version,
		};
	}
	map->n_entries = events->n_rows;
	qsort(map->entries, map->n_entries, sizeof(*map->entries), by_id);
	return 0;
}

int mdf_sources_map(struct source_map **map, const char *path, uint64_t window, char *error)
{
	struct source_map *made;
	struct mdf_events *events;
	int result = -1;

	if (mdf_events_load(&events, path, window, error))
		return -1;
	made = calloc(1, sizeof(*made));
	if (made) {
		snprintf(made->source, sizeof(made->source), "%s", base_name(path));
		result = make_map(made, events, error);
	} else {
		(void)error_line(error, SOURCE_ERROR_SIZE, "out of memory");
	}
	mdf_events_free(events);
	if (result)
		source_map_free(made);
	else
		*map = made;
	return result;
}
