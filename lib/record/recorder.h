// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A recorder: a consumer of an event ring that writes what it gets into event files.
//
// As a member of a group it releases an event only when its bytes are in the file. Hence a kill at
// any moment loses no event: one that was not released goes to another member, or comes again
// when the recorder is started anew, which then knows whether the file that it recovered holds it
// already. (Another member of the group does not know: it may write that one event a second time.)
//
// A recorder belongs to one thread. Nothing is allocated for each event, save that a spy's buffer
// grows to the largest event.
#pragma once

#include "record/event_file.h"

struct recorder;

struct recorder_parameters {
	const char *appliance;
	struct evb_reader_options reader;
	struct event_file_parameters file;
};

struct recorder_counters {
	struct event_file_counters file;
	struct evb_reader_counters reader;
	uint64_t overwritten; // spy: events that were overwritten while they were copied
	uint64_t kept;        // 1 while an event is kept that could not be written yet, else 0
};

// Opens reader and files, both as evb_reader_open() and event_file_open(). Returns 0, or -1 with
// one line in error[EVENT_FILE_ERROR_SIZE].
int recorder_open(struct recorder **recorder, const struct recorder_parameters *parameters,
		  char *error);

// Takes up to one event, waiting timeout_ms for it at most (as evb_reader_next()), and writes it.
// Also ends files whose time is over. now_ns: CLOCK_MONOTONIC.
// Returns 1 if an event was written and released; 0 if there was none; -EAGAIN if there is one that
// cannot be written for now: it is kept and tried again by the next call; -EPIPE when the run is
// over and all is written; -EBADMSG or -ENOTSUP if it cannot be written at all: it is kept.
int recorder_poll(struct recorder *recorder, int timeout_ms, uint64_t now_ns);

struct recorder_counters recorder_counters(const struct recorder *recorder);

// Path of the file being written, and the last error, as of event_file.h and evb_reader.h.
const char *recorder_path(const struct recorder *recorder);
const char *recorder_error(const struct recorder *recorder);

// Ends the open file, leaves the ring. An event that is kept as it could not be written goes back
// to the group. Returns 0, or -1 if any file could not be finished. NULL is allowed.
int recorder_close(struct recorder *recorder);
