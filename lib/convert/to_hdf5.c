// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A file of events, read by lib/inspect, to HDF5.

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"
#include "convert/convert_internal.h"
#include "convert/layout.h"
#include "convert/table.h"
#include "evring/evb_reader.h"

#define NO_EVENT_ID UINT64_MAX // of MDF records without ODIN bank

struct event_rows {
	uint64_t event_id[TABLE_ROWS];
	uint64_t offset[TABLE_ROWS];
	uint64_t length[TABLE_ROWS];
	uint64_t first_fragment[TABLE_ROWS];
	uint32_t n_fragments[TABLE_ROWS];
	uint8_t flags[TABLE_ROWS];
	// MEP:
	uint64_t first_block[TABLE_ROWS];
	uint16_t n_blocks[TABLE_ROWS];
	uint16_t n_missing[TABLE_ROWS];
	uint16_t packing[TABLE_ROWS];
	// MDF:
	uint32_t run[TABLE_ROWS];
	uint32_t orbit[TABLE_ROWS];
	uint32_t bunch[TABLE_ROWS];
};

struct block_rows {
	uint64_t event_id[TABLE_ROWS];
	uint64_t offset[TABLE_ROWS];
	uint32_t length[TABLE_ROWS];
	uint64_t first_fragment[TABLE_ROWS];
	uint16_t n_fragments[TABLE_ROWS];
	uint16_t source_id[TABLE_ROWS];
	uint8_t version[TABLE_ROWS];
	uint8_t missing[TABLE_ROWS];
};

struct fragment_rows {
	uint64_t event_id[TABLE_ROWS];
	uint64_t offset[TABLE_ROWS];
	uint16_t length[TABLE_ROWS];
	uint16_t source_id[TABLE_ROWS];
	uint8_t type[TABLE_ROWS];
	uint8_t version[TABLE_ROWS];
};

// `group`_rows.`name` as a column.
#define COLUMN(group, name)                                            \
	{                                                              \
#name, sizeof(((struct group##_rows *)NULL)->name[0]), \
		    offsetof(struct group##_rows, name)                \
	}
#define EVENT_COLUMNS                                                          \
	COLUMN(event, event_id), COLUMN(event, offset), COLUMN(event, length), \
	    COLUMN(event, first_fragment), COLUMN(event, n_fragments), COLUMN(event, flags)
#define N_COLUMNS(columns) (sizeof(columns) / sizeof((columns)[0]))

static const struct table_column mep_columns[] = {
	EVENT_COLUMNS,           COLUMN(event, first_block),
	COLUMN(event, n_blocks), COLUMN(event, n_missing),
	COLUMN(event, packing),
};
static const struct table_column mdf_columns[] = {
	EVENT_COLUMNS,
	COLUMN(event, run),
	COLUMN(event, orbit),
	COLUMN(event, bunch),
};
static const struct table_column block_columns[] = {
	COLUMN(block, event_id),       COLUMN(block, offset),      COLUMN(block, length),
	COLUMN(block, first_fragment), COLUMN(block, n_fragments), COLUMN(block, source_id),
	COLUMN(block, version),        COLUMN(block, missing),
};
static const struct table_column fragment_columns[] = {
	COLUMN(fragment, event_id),  COLUMN(fragment, offset), COLUMN(fragment, length),
	COLUMN(fragment, source_id), COLUMN(fragment, type),   COLUMN(fragment, version),
};

// MDF has no blocks.
enum { EVENTS, FRAGMENTS, BLOCKS, N_TABLES };
static const char *const TABLE_NAMES[] = { "events", "fragments", "blocks" };

struct to_hdf5 {
	const struct convert_options *options;
	const char *path; // of the HDF5 file
	char *error;
	int status; // as convert() returns it; once it is not 0, nothing more is done
	struct inspect *inspect;
	struct inspect_file input;
	uint64_t end;     // of the present event
	uint64_t written; // bytes of `data`
	uint64_t first_id, last_id;
	uint32_t packing; // the largest
	bool has_run;
	uint32_t run; // of the first record, or of the file's name
	hid_t file, data;
	unsigned n_tables, n_open;
	struct table tables[N_TABLES];
	struct event_rows events;
	struct block_rows blocks;
	struct fragment_rows fragments;
};

static void end(struct to_hdf5 *to, int status)
{
	to->status = status;
	inspect_stop(to->inspect);
}

static void fail(struct to_hdf5 *to)
{
	end(to, hdf5_file_error(to->options->output, to->error));
}

static void refuse(struct to_hdf5 *to, const char *why)
{
	end(to, error_line(to->error, CONVERT_ERROR_SIZE, "%s: %s", to->options->input, why));
}

static hid_t create_file(const char *path)
{
	hid_t access = H5Pcreate(H5P_FILE_ACCESS);
	hid_t creation = H5Pcreate(H5P_FILE_CREATE);
	hid_t file = -1;

	// The format of HDF5 1.10. new_file.h has the lock.
	if (H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0 &&
	    H5Pset_file_locking(access, false, true) >= 0 &&
	    H5Pset_obj_track_times(creation, false) >= 0)
		file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
	hdf5_file_close(creation);
	hdf5_file_close(access);
	return file;
}

static void make_tables(struct to_hdf5 *to)
{
	const bool mep = to->input.kind == INSPECT_MEP;

	to->tables[EVENTS] = (struct table){
		.columns = mep ? mep_columns : mdf_columns,
		.n_columns = mep ? N_COLUMNS(mep_columns) : N_COLUMNS(mdf_columns),
		.rows = &to->events,
	};
	to->tables[BLOCKS] = (struct table){
		.columns = block_columns,
		.n_columns = N_COLUMNS(block_columns),
		.rows = &to->blocks,
	};
	to->tables[FRAGMENTS] = (struct table){
		.columns = fragment_columns,
		.n_columns = N_COLUMNS(fragment_columns),
		.rows = &to->fragments,
	};
	for (unsigned i = 0; i < N_TABLES; i++)
		to->tables[i].options = to->options;
}

static void begin_file(void *context, const struct inspect_file *file)
{
	struct to_hdf5 *to = context;

	to->input = *file;
	if (file->kind == INSPECT_UNKNOWN) {
		refuse(to, "neither HDF5 nor events as MEP or MDF");
		return;
	}
	if (file->kind != INSPECT_MEP && file->kind != INSPECT_MDF) {
		refuse(to, "has no built events: evb gen, replay and run build them");
		return;
	}
	to->file = create_file(to->path);
	if (to->file >= 0)
		to->data =
		    hdf5_file_create_dataset(to->options, to->file, LAYOUT_DATA_NAME, 1, file->size,
					     file->size < LAYOUT_CHUNK ? file->size : LAYOUT_CHUNK);
	if (to->data < 0) {
		fail(to);
		return;
	}
	make_tables(to);
	to->n_tables = file->kind == INSPECT_MEP ? N_TABLES : BLOCKS;
	for (unsigned i = 0; i < to->n_tables && !to->status; i++, to->n_open++)
		if (table_open(&to->tables[i], to->file, TABLE_NAMES[i]))
			fail(to);
}

// Writes `data` in whole chunks up to `until`, and what is left at the end of the file.
static void write_data(struct to_hdf5 *to, uint64_t until)
{
	while (!to->status && to->written < until) {
		uint64_t left = until - to->written;
		uint64_t size = left < LAYOUT_CHUNK ? left : LAYOUT_CHUNK;
		const uint8_t *bytes = to->input.bytes + to->written;

		if (size < LAYOUT_CHUNK && until != to->input.size)
			break;
		if (hdf5_file_write(to->data, 1, to->written, size, bytes) != 0) {
			fail(to);
			break;
		}
		to->written += size;
		if (!convert_goes_on(to->options, to->written, to->input.size))
			end(to, CONVERT_STOPPED);
	}
}

static void begin_event(void *context, const struct inspect_event *event)
{
	struct to_hdf5 *to = context;
	struct event_rows *rows = &to->events;
	const unsigned n = to->tables[EVENTS].n;

	if (to->status)
		return;
	to->end = event->offset + event->size;
	rows->event_id[n] = event->has_event_id ? event->event_id : NO_EVENT_ID;
	rows->offset[n] = event->offset;
	rows->length[n] = event->size;
	rows->first_fragment[n] = table_count(&to->tables[FRAGMENTS]);
	rows->flags[n] = (uint8_t)(event->kind == INSPECT_MDF ? event->status
				   : event->n_missing         ? EVB_EVENT_INCOMPLETE
							      : 0);
	rows->first_block[n] = table_count(&to->tables[BLOCKS]);
	rows->n_blocks[n] = (uint16_t)event->n_sources;
	rows->n_missing[n] = (uint16_t)event->n_missing;
	rows->packing[n] = (uint16_t)event->n_events;
	rows->run[n] = event->mdf.run;
	rows->orbit[n] = event->mdf.orbit;
	rows->bunch[n] = event->mdf.bunch;
	to->packing = event->n_events > to->packing ? event->n_events : to->packing;
	if (event->has_event_id && event->event_id < to->first_id)
		to->first_id = event->event_id;
	if (event->has_event_id && (to->last_id == NO_EVENT_ID || event->event_id > to->last_id))
		to->last_id = event->event_id;
	if (event->kind == INSPECT_MDF && event->index == 0) {
		to->has_run = true;
		to->run = event->mdf.run;
	}
}

static void take_source(void *context, const struct inspect_source *source)
{
	struct to_hdf5 *to = context;
	struct block_rows *rows = &to->blocks;
	struct table *table = &to->tables[BLOCKS];

	if (to->status)
		return;
	rows->event_id[table->n] = source->header.event_id;
	rows->offset[table->n] = source->offset;
	rows->length[table->n] = source->header.packet_size;
	rows->first_fragment[table->n] = table_count(&to->tables[FRAGMENTS]);
	rows->n_fragments[table->n] = source->header.n_fragments;
	rows->source_id[table->n] = source->header.source_id;
	rows->version[table->n] = source->header.version;
	rows->missing[table->n] = source->missing;
	if (table_next(table))
		fail(to);
}

static void take_fragment(void *context, const struct inspect_fragment *fragment)
{
	struct to_hdf5 *to = context;
	struct fragment_rows *rows = &to->fragments;
	struct table *table = &to->tables[FRAGMENTS];

	if (to->status)
		return;
	rows->event_id[table->n] = fragment->has_event_id ? fragment->event_id : NO_EVENT_ID;
	rows->offset[table->n] = (uint64_t)(fragment->payload - to->input.bytes);
	rows->length[table->n] = fragment->size;
	rows->source_id[table->n] = fragment->source_id;
	rows->type[table->n] = fragment->type;
	rows->version[table->n] = fragment->version;
	if (table_next(table))
		fail(to);
}

static void end_event(void *context)
{
	struct to_hdf5 *to = context;
	struct table *table = &to->tables[EVENTS];

	if (to->status)
		return;
	to->events.n_fragments[table->n] =
	    (uint32_t)(table_count(&to->tables[FRAGMENTS]) - to->events.first_fragment[table->n]);
	if (table_next(table))
		fail(to);
	else
		write_data(to, to->end); // of events that were just read, from the CPU's cache
}

static void take_problem(void *context, const struct inspect_problem *problem)
{
	struct to_hdf5 *to = context;

	if (!to->status)
		end(to, error_line(to->error, CONVERT_ERROR_SIZE,
				   "%s: at byte %" PRIu64 ": %s (%s): evb dump --verify checks it",
				   problem->path, problem->offset, problem->text,
				   wire_reason(problem->reason)));
}

// The run number in a name as evb gives it, NAME-runRRRRRR-SSSS.mep.
static void find_run(struct to_hdf5 *to)
{
	const char *slash = strrchr(to->options->input, '/');
	const char *name = slash ? slash + 1 : to->options->input;
	unsigned long run;
	char *behind;

	for (name = strstr(name, "-run"); name && !to->has_run; name = strstr(name, "-run")) {
		name += strlen("-run");
		if (!isdigit((unsigned char)name[0]))
			continue;
		run = strtoul(name, &behind, 10);
		to->has_run = *behind == '-' && run <= UINT32_MAX;
		to->run = (uint32_t)run;
	}
}

static int put_attributes(struct to_hdf5 *to)
{
	const char *slash = strrchr(to->options->input, '/');
	hid_t file = to->file;
	int status = 0;

	find_run(to);
	status |= hdf5_file_put_number(file, LAYOUT_VERSION_NAME, H5T_STD_U32LE, LAYOUT_VERSION);
	status |= hdf5_file_put_text(file, LAYOUT_FORMAT_NAME, inspect_kind_name(to->input.kind));
	status |= hdf5_file_put_text(file, "program", to->options->program);
	status |= hdf5_file_put_text(file, "source_file", slash ? slash + 1 : to->options->input);
	if (to->has_run)
		status |= hdf5_file_put_number(file, "run_number", H5T_STD_U32LE, to->run);
	if (to->input.kind == INSPECT_MEP)
		status |= hdf5_file_put_number(file, "packing", H5T_STD_U32LE, to->packing);
	if (to->last_id != NO_EVENT_ID) {
		status |= hdf5_file_put_number(file, "first_event_id", H5T_STD_U64LE, to->first_id);
		status |= hdf5_file_put_number(file, "last_event_id", H5T_STD_U64LE, to->last_id);
	}
	return status;
}

static void finish(struct to_hdf5 *to, struct convert_result *result)
{
	for (unsigned i = 0; i < to->n_tables && !to->status; i++)
		if (table_finish(&to->tables[i]))
			fail(to);
	if (!to->status && put_attributes(to))
		fail(to);
	result->kind = to->input.kind;
	result->input_bytes = to->input.size;
	result->events = table_count(&to->tables[EVENTS]);
	result->fragments = table_count(&to->tables[FRAGMENTS]);
	for (unsigned i = 0; i < to->n_open; i++)
		table_close(&to->tables[i]);
	hdf5_file_close(to->data);
	// Here HDF5 writes what it has held back: its own metadata.
	if (to->file >= 0 && H5Fclose(to->file) < 0 && !to->status)
		fail(to);
}

static void read_input(struct to_hdf5 *to, struct convert_result *result)
{
	const struct inspect_options how = { .sources = true, .fragments = true };
	const struct inspect_visitor visitor = {
		.context = to,
		.file = begin_file,
		.event = begin_event,
		.source = take_source,
		.fragment = take_fragment,
		.event_end = end_event,
		.problem = take_problem,
	};

	to->inspect = inspect_open(&how, &visitor);
	if (!to->inspect) {
		to->status = error_line(to->error, CONVERT_ERROR_SIZE, "out of memory");
		return;
	}
	if (inspect_read(to->inspect, to->options->input, to->error))
		to->status = -1;
	else
		finish(to, result);
	inspect_close(to->inspect);
}

int convert_to_hdf5(const struct convert_options *options, const char *path,
		    struct convert_result *result, char *error)
{
	struct to_hdf5 *to;
	int status;

	hdf5_file_prepare();
	if (hdf5_file_check_compression(options->output, options->compression, error))
		return -1;
	to = calloc(1, sizeof(*to)); // megabytes
	if (!to)
		return error_line(error, CONVERT_ERROR_SIZE, "out of memory");
	to->options = options;
	to->path = path;
	to->error = error;
	to->first_id = to->last_id = NO_EVENT_ID;
	to->file = to->data = -1;
	read_input(to, result);
	status = to->status;
	free(to);
	return status;
}
