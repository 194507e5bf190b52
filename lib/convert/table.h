// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A table in an HDF5 file: a group with one dataset per column. The caller fills rows in memory,
// one array per column, and the table writes them when the arrays are full.
//
// Only one thread uses a table.
#pragma once

#include "convert/hdf5_file.h"

#define TABLE_ROWS        16384u // of an array, and of a chunk
#define TABLE_MAX_COLUMNS 16u

struct table_column {
	const char *name;
	unsigned width; // bytes of an unsigned integer: 1, 2, 4 or 8
	size_t offset;  // of its array in the rows, of TABLE_ROWS items
};

struct table {
	const struct convert_options *options; // compression
	const struct table_column *columns;
	unsigned n_columns;
	const void *rows; // the caller's arrays
	hid_t group;
	hid_t datasets[TABLE_MAX_COLUMNS];
	unsigned n;       // rows in memory
	uint64_t written; // rows in the file
};

// The rows must live as long as the table. Functions return 0 or -1 (hdf5_file_error()).
int table_open(struct table *table, hid_t file, const char *name);
int table_flush(struct table *table);

// Writes the rest.
int table_finish(struct table *table);
// After table_open(), also a failed one.
void table_close(struct table *table);

static inline uint64_t table_count(const struct table *table)
{
	return table->written + table->n;
}

// The row at index `n` of the arrays is complete.
static inline int table_next(struct table *table)
{
	return ++table->n == TABLE_ROWS ? table_flush(table) : 0;
}
