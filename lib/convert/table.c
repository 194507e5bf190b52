// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "convert/table.h"

static hid_t type_of(unsigned width)
{
	switch (width) {
	case 1:
		return H5T_STD_U8LE;
	case 2:
		return H5T_STD_U16LE;
	case 4:
		return H5T_STD_U32LE;
	default:
		return H5T_STD_U64LE;
	}
}

int table_open(struct table *table, hid_t file, const char *name)
{
	hid_t creation = H5Pcreate(H5P_GROUP_CREATE);

	for (unsigned i = 0; i < table->n_columns; i++)
		table->datasets[i] = -1;
	(void)H5Pset_obj_track_times(creation, false);
	table->group = H5Gcreate2(file, name, H5P_DEFAULT, creation, H5P_DEFAULT);
	hdf5_file_close(creation);
	return table->group < 0 ? -1 : 0;
}

// A small table has one chunk of just its rows.
static hid_t create_column(const struct table *table, const struct table_column *column)
{
	const hsize_t rows = 0, most = H5S_UNLIMITED;
	hid_t space = H5Screate_simple(1, &rows, &most);
	hid_t creation = hdf5_file_creation(table->options, column->width, table->n ? table->n : 1);
	hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
	hid_t dataset = -1;

	// Whole chunks are written at once: a cache would only be one more copy.
	if (creation >= 0 && H5Pset_chunk_cache(access, 0, 0, 1) >= 0)
		dataset = H5Dcreate2(table->group, column->name, type_of(column->width), space,
				     H5P_DEFAULT, creation, access);
	hdf5_file_close(access);
	hdf5_file_close(creation);
	hdf5_file_close(space);
	return dataset;
}

static int append(const struct table *table, unsigned index)
{
	const struct table_column *column = &table->columns[index];
	const hsize_t first = table->written, n = table->n, rows = first + n;
	hid_t dataset = table->datasets[index];
	hid_t memory = H5Screate_simple(1, &n, NULL);
	hid_t space = -1;
	herr_t status = H5Dset_extent(dataset, &rows);

	if (status >= 0) {
		space = H5Dget_space(dataset);
		status = H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &n, NULL);
	}
	if (status >= 0)
		status = H5Dwrite(dataset, type_of(column->width), memory, space, H5P_DEFAULT,
				  (const uint8_t *)table->rows + column->offset);
	hdf5_file_close(space);
	hdf5_file_close(memory);
	return status < 0 ? -1 : 0;
}

int table_flush(struct table *table)
{
	for (unsigned i = 0; i < table->n_columns; i++) {
		if (table->datasets[i] < 0)
			table->datasets[i] = create_column(table, &table->columns[i]);
		if (table->datasets[i] < 0 || (table->n && append(table, i)))
			return -1;
	}
	table->written += table->n;
	table->n = 0;
	return 0;
}

int table_finish(struct table *table)
{
	return table->n || !table->written ? table_flush(table) : 0;
}

void table_close(struct table *table)
{
	for (unsigned i = 0; i < table->n_columns; i++)
		hdf5_file_close(table->datasets[i]);
	hdf5_file_close(table->group);
}
