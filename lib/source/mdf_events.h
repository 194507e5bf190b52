// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A whole MDF file in memory, as a table with one row per kind of bank and one column per event.
//
// The key of a row is (bank type, bank source id, occurrence). The occurrence counts banks of the
// same type and source id within an event, in their order. Rows are in ascending order of the key.
//
// Threads: made and freed by one thread, read-only in between.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "source/generator.h"
#include "wire/mdf.h"

struct mdf_cell {
	uint32_t event;      // 0 for the first of the file
	uint16_t occurrence; // 0 for the first such bank of an event
	struct mdf_bank bank;
};

struct mdf_row {
	const struct mdf_cell
	    *cells; // in ascending order of events; an event without such a bank has no cell
	uint32_t n_cells;
	uint16_t bank_source_id;
	uint16_t occurrence; // 0 for the first such bank of an event
	uint8_t bank_type;
	uint8_t version; // of all its banks
};

struct mdf_events {
	uint8_t *bytes; // of the file
	size_t size;
	uint32_t n_events;
	uint32_t n_rows;
	struct mdf_row *rows;
	struct mdf_cell *cells; // of all rows
	size_t n_cells, capacity;
};

// Reads and checks the file: every record, its checksum if it has one, and every bank. Of a file
// that is larger than the window only the records of its first part are read (source_set.h). Files
// without events are refused, records of anything but uncompressed banks, and banks of one row with
// different versions, which MFPs cannot carry. Returns 0, or -1 with one line in
// error[SOURCE_ERROR_SIZE] that names the file and the byte offset.
int mdf_events_load(struct mdf_events **events, const char *path, uint64_t window, char *error);

// The same from bytes that were allocated by malloc(). The events own the bytes if the function
// succeeds; otherwise the caller does. `name` names the file in messages.
int mdf_events_parse(struct mdf_events **events, uint8_t *bytes, size_t size, const char *name,
		     char *error);

// The bank of a row in an event; NULL if the event has none.
const struct mdf_bank *mdf_events_bank(const struct mdf_row *row, uint32_t event);

void mdf_events_free(struct mdf_events *events);
