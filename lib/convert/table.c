// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "convert/table.h"

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

static int append(const struct table *table, unsigned index)
{
	const struct table_column *column = &table->columns[index];
	const uint8_t *items = (const uint8_t *)table->rows + column->offset;
	const hsize_t rows = table_count(table);
	hid_t dataset = table->datasets[index];

	if (H5Dset_extent(dataset, &rows) < 0)
		return -1;
	return hdf5_file_write(dataset, column->width, table->written, table->n, items);
}

int table_flush(struct table *table)
{
	for (unsigned i = 0; i < table->n_columns; i++) {
		const struct table_column *column = &table->columns[i];

		// A small table has one chunk of just its rows.
		if (table->datasets[i] < 0)
			table->datasets[i] = hdf5_file_create_dataset(
			    table->options, table->group, column->name, column->width, 0, table->n);
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
