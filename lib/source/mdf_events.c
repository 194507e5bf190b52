// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/mdf_events.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error_line.h"
#include "source/file_bytes.h"
#include "source/source_set.h"

struct reading {
	const char *name;
	char *error;
	struct mdf_events *events;
};

static int refuse(const struct reading *reading, size_t offset, const char *what)
{
	return error_line(reading->error, SOURCE_ERROR_SIZE, "%s: at byte %zu: %s", reading->name,
			  offset, what);
}

static int out_of_memory(const struct reading *reading)
{
	return error_line(reading->error, SOURCE_ERROR_SIZE, "%s: out of memory", reading->name);
}

static int add_bank(struct reading *reading, const struct mdf_bank *bank)
{
	struct mdf_events *events = reading->events;

	if (!array_reserve(&events->cells, &events->capacity, events->n_cells + 1,
			   sizeof(*events->cells)))
		return out_of_memory(reading);
	events->cells[events->n_cells++] =
	    (struct mdf_cell){ .event = events->n_events, .bank = *bank };
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
	return events->n_cells ? 0 : refuse(reading, 0, "there are no banks");
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
	const struct mdf_cell *a = left, *b = right;
	int order = compare(bank_key(&a->bank), bank_key(&b->bank));

	if (!order)
		order = compare(a->event, b->event);
	return order ? order : compare((uintptr_t)a->bank.payload, (uintptr_t)b->bank.payload);
}

static uint64_t row_key(const struct mdf_cell *cell)
{
	return (uint64_t)bank_key(&cell->bank) << 16 | cell->occurrence;
}

static int by_row(const void *left, const void *right)
{
	const struct mdf_cell *a = left, *b = right;
	int order = compare(row_key(a), row_key(b));

	return order ? order : compare(a->event, b->event);
}

// Counts the occurrences and sorts the cells by row and event.
static int sort_cells(const struct reading *reading)
{
	struct mdf_cell *cells = reading->events->cells;
	size_t n = reading->events->n_cells;

	qsort(cells, n, sizeof(*cells), by_place);
	for (size_t i = 1; i < n; i++) {
		if (bank_key(&cells[i - 1].bank) != bank_key(&cells[i].bank) ||
		    cells[i - 1].event != cells[i].event)
			continue;
		if (cells[i - 1].occurrence == UINT16_MAX)
			return refuse(reading, 0, "too many banks of one type and source id");
		cells[i].occurrence = cells[i - 1].occurrence + 1;
	}
	qsort(cells, n, sizeof(*cells), by_row);
	return 0;
}

static int extend_row(const struct reading *reading, struct mdf_row *row,
		      const struct mdf_cell *cell)
{
	row->n_cells++;
	if (row->version == cell->bank.version)
		return 0;
	return error_line(reading->error, SOURCE_ERROR_SIZE,
			  "%s: banks of type %u and source id %u have versions %u and %u, "
			  "which the MFPs of one source cannot carry",
			  reading->name, row->bank_type, row->bank_source_id, row->version,
			  cell->bank.version);
}

static int make_rows(const struct reading *reading)
{
	struct mdf_events *events = reading->events;
	const struct mdf_cell *cells = events->cells;
	size_t n_rows = 1;

	for (size_t i = 1; i < events->n_cells; i++)
		n_rows += row_key(&cells[i]) != row_key(&cells[i - 1]);
	events->rows = calloc(n_rows, sizeof(*events->rows));
	if (!events->rows)
		return out_of_memory(reading);
	for (size_t i = 0; i < events->n_cells; i++) {
		if (!i || row_key(&cells[i]) != row_key(&cells[i - 1]))
			events->rows[events->n_rows++] = (struct mdf_row){
				.cells = &cells[i],
				.bank_source_id = cells[i].bank.source_id,
				.occurrence = cells[i].occurrence,
				.bank_type = cells[i].bank.type,
				.version = cells[i].bank.version,
			};
		if (extend_row(reading, &events->rows[events->n_rows - 1], &cells[i]))
			return -1;
	}
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
		result = sort_cells(&reading);
	if (!result)
		result = make_rows(&reading);
	if (result) {
		reading.events->bytes = NULL; // the caller owns it
		mdf_events_free(reading.events);
	} else {
		*events = reading.events;
	}
	return result;
}

// The bytes of the records that are whole; all if there is something else behind them.
static size_t whole_records(const uint8_t *bytes, size_t size)
{
	struct mdf_header header;
	size_t offset = 0;
	enum wire_error reason;

	while (offset < size) {
		reason = mdf_decode(bytes + offset, size - offset, &header);
		if (reason)
			return reason == WIRE_TRUNCATED && offset > 0 ? offset : size;
		offset += header.size;
	}
	return size;
}

int mdf_events_load(struct mdf_events **events, const char *path, uint64_t window, char *error)
{
	uint64_t head = window / SOURCE_PARTS;
	uint8_t *bytes;
	size_t size;

	if (file_bytes_read_head(path, window, head, &bytes, &size, error))
		return -1;
	if (size == head)
		size = whole_records(bytes, size);
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
