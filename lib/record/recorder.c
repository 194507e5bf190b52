// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "record/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"

struct recorder {
	struct evb_reader *reader;
	struct event_file *file;
	struct evb_event event; // valid while `pending`: could not be written yet
	bool pending;
	bool spy;
	uint8_t *copy; // spy: a copy of the event, which the ring may overwrite at any time
	size_t copy_capacity;
	uint64_t overwritten;
	const char *error;
};

uint64_t recorder_memory(enum file_format format)
{
	return sizeof(struct recorder) + event_file_memory(format);
}

int recorder_open(struct recorder **recorder, const struct recorder_parameters *parameters,
		  char *error)
{
	struct recorder *made = calloc(1, sizeof(*made));

	*recorder = NULL;
	if (!made)
		return error_line(error, EVENT_FILE_ERROR_SIZE, "out of memory");
	made->spy = parameters->reader.mode == EVB_READER_SPY;
	made->error = "";
	if (event_file_open(&made->file, &parameters->file, error)) {
		free(made);
		return -1;
	}
	if (evb_reader_open(&made->reader, parameters->appliance, &parameters->reader)) {
		snprintf(error, EVENT_FILE_ERROR_SIZE, "%s",
			 made->reader ? evb_reader_error(made->reader) : "out of memory");
		recorder_close(made);
		return -1;
	}
	if (parameters->ends_with_run)
		evb_reader_end_with_run(made->reader);
	*recorder = made;
	return 0;
}

// Copies the event from the ring. Returns 1; 0 if it was overwritten meanwhile; -ENOMEM.
static int copy_event(struct recorder *recorder)
{
	struct evb_event *event = &recorder->event;

	if (event->length > recorder->copy_capacity) {
		uint8_t *larger = realloc(recorder->copy, event->length);

		if (!larger) {
			recorder->error = "out of memory";
			return -ENOMEM;
		}
		recorder->copy = larger;
		recorder->copy_capacity = event->length;
	}
	memcpy(recorder->copy, event->data, event->length);
	if (!evb_event_intact(recorder->reader, event)) {
		recorder->overwritten++;
		return 0;
	}
	event->data = recorder->copy;
	return 1;
}

// Reads the next event into recorder->event; returns the results of evb_reader_next().
static int next_event(struct recorder *recorder, int timeout_ms)
{
	int result = evb_reader_next(recorder->reader, &recorder->event, timeout_ms);

	if (result < 0)
		recorder->error = evb_reader_error(recorder->reader);
	if (result == 1 && recorder->spy)
		result = copy_event(recorder);
	return result;
}

int recorder_skip(struct recorder *recorder)
{
	recorder->pending = false;
	if (recorder->spy || !evb_reader_release(recorder->reader, &recorder->event))
		return 0;
	recorder->error = evb_reader_error(recorder->reader);
	return -EINVAL;
}

int recorder_poll(struct recorder *recorder, int timeout_ms, uint64_t now_ns)
{
	int result = recorder->pending ? 1 : next_event(recorder, timeout_ms);

	if (result != 1) {
		event_file_tick(recorder->file, now_ns);
		return result;
	}
	recorder->pending = true;
	result = event_file_write(recorder->file, &recorder->event, now_ns);
	if (result) {
		recorder->error = event_file_error(recorder->file);
		return result;
	}
	result = recorder_skip(recorder);
	return result ? result : 1;
}

struct recorder_counters recorder_counters(const struct recorder *recorder)
{
	return (struct recorder_counters){
		.file = event_file_counters(recorder->file),
		.reader = evb_reader_counters(recorder->reader),
		.overwritten = recorder->overwritten,
		.pending = recorder->pending,
	};
}

const char *recorder_path(const struct recorder *recorder)
{
	return event_file_path(recorder->file);
}

const char *recorder_error(const struct recorder *recorder)
{
	return recorder->error;
}

int recorder_finish(struct recorder *recorder)
{
	return event_file_finish(recorder->file);
}

int recorder_close(struct recorder *recorder)
{
	int result;

	if (!recorder)
		return 0;
	result = event_file_close(recorder->file);
	// This returns an event that could not be written to its group.
	evb_reader_close(recorder->reader);
	free(recorder->copy);
	free(recorder);
	return result;
}
