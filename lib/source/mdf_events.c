// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/mdf_events.h"

#include <stdio.h>
#include <stdlib.h>

#include "source/file_bytes.h"

// A cell whose row is not known yet.
struct found {
	struct mdf_cell cell;
	uint16_t occurrence;
};

struct reading {
	const char *name;
	char *error;
	struct mdf_events *events;
	struct found *found;
	size_t n_found;
	size_t capacity;
};

static int refuse(const struct reading *reading, size_t offset, const char *what)
{
	snprintf(reading->error, SOURCE_ERROR_SIZE, "%s: at byte %zu: %s", reading->name, offset,
		 what);
	return -1;
}

static int out_of_memory(const struct reading *reading)
{
	snprintf(reading->error, SOURCE_ERROR_SIZE, "%s: out of memory", reading->name);
	return -1;
}

static int add_bank(struct reading *reading, const struct mdf_bank *bank)
{
	if (reading->n_found == reading->capacity) {
		size_t capacity = reading->capacity ? 2 * reading->capacity : 1024;
		struct found *grown = realloc(reading->found, capacity * sizeof(*grown));

		if (!grown)
			return out_of_memory(reading);
		reading->found = grown;
		reading->capacity = capacity;
	}
	reading->found[reading->n_found++] =
	    (struct found){ .cell = { .event = reading->events->n_events, .bank = *bank } };
	return 0;
}

// Reads the banks of the record at `start`.
static int read_record(struct reading *reading, size_t start, const struct mdf_header *header)
{
	const uint8_t *record = reading->events->bytes + start;
	size_t offset = MDF_HEADER_SIZE;
	enum wire_error reason = mdf_verify(record, header);

	if (reason)
		return refuse(reading, start, wire_reason(reason));
	if (header->compression || header->data_type != MDF_TYPE_BANKS)
		return refuse(reading, start, "a record of something else than uncompressed banks");
	while (true) {
		struct mdf_bank bank;
		bool done = false;

		reason = mdf_next_bank(record, header, &offset, &bank, &done);
		if (reason)
			return refuse(reading, start + offset, wire_reason(reason));
		if (done)
			return 0;
		if (add_bank(reading, &bank))
			return -1;
	}
}

static int read_records(struct reading *reading)
{
	struct mdf_events *events = reading->events;
	size_t offset = 0;

	while (offset < events->size) {
		struct mdf_header header;
		enum wire_error reason =
		    mdf_decode(events->bytes + offset, events->size - offset, &header);

		if (reason)
			return refuse(reading, offset, wire_reason(reason));
		if (events->n_events == UINT32_MAX)
			return refuse(reading, offset, "too many events");
		if (read_record(reading, offset, &header))
			return -1;
		events->n_events++;
		offset += header.size;
	}
	return reading->n_found ? 0 : refuse(reading, 0, "there are no banks");
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static uint32_t bank_key(const struct mdf_bank *bank)
{
	return (uint32_t)bank->type << 16 | bank->source_id;
}

// By bank type and source id, then by event, then by place in the file.
static int by_place(const void *left, const void *right)
{
	const struct mdf_cell *a = &((const struct found *)left)->cell;
	const struct mdf_cell *b = &((const struct found *)right)->cell;
	int order = compare(bank_key(&a->bank), bank_key(&b->bank));

	if (!order)
		order = compare(a->event, b->event);
	return order ? order : compare((uintptr_t)a->bank.payload, (uintptr_t)b->bank.payload);
}

static uint64_t row_key(const struct found *found)
{
	return (uint64_t)bank_key(&found->cell.bank) << 16 | found->occurrence;
}

static int by_row(const void *left, const void *right)
{
	const struct found *a = left, *b = right;
	int order = compare(row_key(a), row_key(b));

	return order ? order : compare(a->cell.event, b->cell.event);
}

static int count_occurrences(struct reading *reading)
{
	qsort(reading->found, reading->n_found, sizeof(*reading->found), by_place);
	for (size_t i = 1; i < reading->n_found; i++) {
		struct found *before = &reading->found[i - 1], *now = &reading->found[i];

		if (bank_key(&before->cell.bank) != bank_key(&now->cell.bank) ||
		    before->cell.event != now->cell.event)
			continue;
		if (before->occurrence == UINT16_MAX)
			return refuse(reading, 0, "too many banks of one type and source id");
		now->occurrence = before->occurrence + 1;
	}
	qsort(reading->found, reading->n_found, sizeof(*reading->found), by_row);
	return 0;
}

static int extend_row(const struct reading *reading, struct mdf_row *row,
		      const struct mdf_cell *cell)
{
	row->n_cells++;
	if (row->version == cell->bank.version)
		return 0;
	snprintf(reading->error, SOURCE_ERROR_SIZE,
		 "%s: banks of type %u and source id %u have versions %u and %u, "
		 "which the MFPs of one source cannot carry",
		 reading->name, row->bank_type, row->bank_source_id, row->version,
		 cell->bank.version);
	return -1;
}

static int make_rows(struct reading *reading)
{
	struct mdf_events *events = reading->events;
	size_t n_rows = 1;

	for (size_t i = 1; i < reading->n_found; i++)
		n_rows += row_key(&reading->found[i]) != row_key(&reading->found[i - 1]);
	events->rows = calloc(n_rows, sizeof(*events->rows));
	events->cells = malloc(reading->n_found * sizeof(*events->cells));
	if (!events->rows || !events->cells)
		return out_of_memory(reading);
	for (size_t i = 0; i < reading->n_found; i++) {
		const struct found *found = &reading->found[i];

		events->cells[i] = found->cell;
		if (!i || row_key(found) != row_key(found - 1))
			events->rows[events->n_rows++] = (struct mdf_row){
				.cells = &events->cells[i],
				.bank_source_id = found->cell.bank.source_id,
				.occurrence = found->occurrence,
				.bank_type = found->cell.bank.type,
				.version = found->cell.bank.version,
			};
		if (extend_row(reading, &events->rows[events->n_rows - 1], &found->cell))
			return -1;
	}
	events->n_cells = reading->n_found;
	return 0;
}

int mdf_events_parse(struct mdf_events **events, uint8_t *bytes, size_t size, const char *name,
		     char *error)
{
	struct reading reading = {
		.name = name,
		.error = error,
		.events = calloc(1, sizeof(**events)),
	};
	int result;

	if (!reading.events)
		return out_of_memory(&reading);
	reading.events->bytes = bytes;
	reading.events->size = size;
	result = read_records(&reading);
	if (!result)
		result = count_occurrences(&reading);
	if (!result)
		result = make_rows(&reading);
	free(reading.found);
	if (result) {
		reading.events->bytes = NULL; // the caller owns it
		mdf_events_free(reading.events);
	} else {
		*events = reading.events;
	}
	return result;
}

int mdf_events_load(struct mdf_events **events, const char *path, char *error)
{
	uint8_t *bytes;
	size_t size;

	if (file_bytes_read(path, &bytes, &size, error))
		return -1;
	if (mdf_events_parse(events, bytes, size, path, error)) {
		free(bytes);
		return -1;
	}
	return 0;
}

static int by_event(const void *key, const void *cell)
{
	return compare(*(const uint32_t *)key, ((const struct mdf_cell *)cell)->event);
}

const struct mdf_bank *mdf_events_bank(const struct mdf_row *row, uint32_t event)
{
	const struct mdf_cell *cell;

	if (event < row->n_cells && row->cells[event].event == event)
		return &row->cells[event].bank;
	cell = bsearch(&event, row->cells, row->n_cells, sizeof(*cell), by_event);
	return cell ? &cell->bank : NULL;
}

void mdf_events_free(struct mdf_events *events)
{
	if (!events)
		return;
	free(events->rows);
	free(events->cells);
	free(events->bytes);
	free(events);
}
