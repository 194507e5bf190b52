// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "packet/source_table.h"

#include <string.h>

void source_table_make(struct source_table *table, const uint16_t *ids, const bool *expected,
		       unsigned n)
{
	memset(table, 0, sizeof(*table));
	memset(table->index, 0xFF, sizeof(table->index)); // SOURCE_UNKNOWN
	for (unsigned i = 0; i < n; i++) {
		uint16_t id = ids[i];

		if (!expected[i]) {
			table->index[id] = SOURCE_UNEXPECTED;
			continue;
		}
		table->index[id] = (uint16_t)table->n_expected;
		table->ids[table->n_expected++] = id;
	}
}
