// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A recorder: a consumer of an event ring that writes the events to event files.
//
// A recorder that is a member of a group releases an event only when its bytes are in the file. So
// a kill at any moment loses no event: the ring delivers an event that was not released to another
// member, or to the recorder when it is started again. A restarted recorder detects that the file
// which it recovered already contains the event. Another member cannot detect that, and may write
// this one event a second time.
//
// Only one thread uses a recorder. It allocates no memory per event, except that the buffer of a
// spy grows to the largest event.
#pragma once

#include "record/event_file.h"

struct recorder;

struct recorder_parameters {
	const char *appliance;
	struct evb_reader_options reader;
	bool ends_with_run; // at the end of a run it does not wait for the next one
	struct event_file_parameters file;
};

struct recorder_counters {
	struct event_file_counters file;
	struct evb_reader_counters reader;
	uint64_t overwritten; // spy: events that were overwritten while they were copied
	uint64_t pending;     // 1 while an event waits that could not be written yet, else 0
};

// Bytes that recorder_open() allocates beside the reader.
uint64_t recorder_memory(enum file_format format);

// Calls event_file_open() and evb_reader_open(). Returns 0, or -1 with one line in
// error[EVENT_FILE_ERROR_SIZE].
int recorder_open(struct recorder **recorder, const struct recorder_parameters *parameters,
		  char *error);

// Reads at most one event, waiting up to timeout_ms (as evb_reader_next()), and writes it. Also
// ends a file whose time is over. now_ns: CLOCK_MONOTONIC. Returns
//   1         an event was written and released;
//   0         no event arrived;
//   -EAGAIN   an event cannot be written for now: the next call tries again;
//   -EPIPE    the run is over, and all events are written;
//   -EBADMSG or -ENOTSUP   an event cannot be written at all; it stays unreleased.
int recorder_poll(struct recorder *recorder, int timeout_ms, uint64_t now_ns);

// Releases the event that cannot be written at all; recorder_poll() then goes on with the next.
// Returns 0 or -EINVAL.
int recorder_skip(struct recorder *recorder);

struct recorder_counters recorder_counters(const struct recorder *recorder);

// event_file_path(), and the last error of the event file or the reader.
const char *recorder_path(const struct recorder *recorder);
const char *recorder_error(const struct recorder *recorder);

// event_file_finish(): the counters of the file are then final if no event follows.
int recorder_finish(struct recorder *recorder);

// Ends the open file and closes the reader. An event that could not be written returns to the
// group. Returns 0, or -1 if a file could not be finished. NULL is allowed.
int recorder_close(struct recorder *recorder);
