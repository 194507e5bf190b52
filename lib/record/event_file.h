// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The writer of event files: built events, in the order in which they are given, in a row of files
// PREFIX-runRRRRRR-SSSS.mep or .mdf (docs/files.md).
//
// An event is in the file when event_file_write() returns 0: it survives a kill of the process from
// then on, and the caller may release it. (A power failure is another matter: the last
// sync_size bytes may be lost, and without sync_size whatever the kernel has not written yet of the
// open file.) An event that could not be written leaves no trace in the file and is given again.
//
// Threads: an event file belongs to one thread; event_file_counters() too. It makes system calls
// and may wait for the disk. In steady state it does not allocate.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "evring/evb_reader.h"

#define EVENT_FILE_ERROR_SIZE 512

enum event_file_notice_kind {
	EVENT_FILE_FINISHED,  // a file is whole, on the disk, and has its name
	EVENT_FILE_RECOVERED, // a file that a killed writer left is whole and has its name
	EVENT_FILE_REMOVED,   // such a file that held no whole event is gone
	EVENT_FILE_PAUSED,    // events cannot be written for now; told once for each cause
	EVENT_FILE_RESUMED,   // they can again
	EVENT_FILE_FAILED, // a file could not be finished or recovered; its data stays where it is
};

struct event_file_notice {
	enum event_file_notice_kind kind;
	const char *path;  // of the file
	uint64_t bytes;    // in the file
	uint64_t events;   // in the file (FINISHED)
	uint64_t cut;      // bytes of a partial event that were cut off (RECOVERED, REMOVED)
	const char *cause; // PAUSED, FAILED: what failed and why; else NULL
};

struct event_file_parameters {
	const char *directory; // made if it does not exist, but not its parents
	const char *prefix;    // 1 to 31 characters of [A-Za-z0-9_.-], not beginning with a dot
	enum config_file_format format;
	uint64_t rotate_size; // bytes that a file does not exceed unless by a single event; 0: any
	uint64_t rotate_time_ns; // from a file's first event to its end; 0: any
	uint64_t sync_size;      // bytes after which data is forced to the disk; 0: at the end only
	const char *source_map;  // mdf: see source_map.h; NULL or empty: none
	// Called in the caller's thread from within the functions below; may be NULL.
	void (*notify)(void *context, const struct event_file_notice *notice);
	void *notify_context;
};

struct event_file_counters {
	uint64_t events;   // MEPs written
	uint64_t bytes;    // written into files
	uint64_t files;    // finished
	uint64_t failures; // files that could not be finished or recovered
	uint64_t pauses;   // times that writing stopped for want of room or another error
	uint64_t repeated; // events not written, as a recovered file holds them already
};

struct event_file;

// Makes the directory, recovers what killed writers of this prefix left in it, and gets ready. No
// file is made before the first event. Parameters are copied. Returns 0, or -1 with one line in
// error[EVENT_FILE_ERROR_SIZE].
int event_file_open(struct event_file **file, const struct event_file_parameters *parameters,
		    char *error);

// Writes one event. A file holds events of one run. `now_ns`: CLOCK_MONOTONIC.
// Returns 0 when the event is in the file; -EAGAIN when it could not be written (disk full or
// another error of the file; event_file_error() says which): give the same event again later;
// -EBADMSG when it is no sound MEP, -ENOTSUP when it has no form in MDF: giving it again is
// useless.
int event_file_write(struct event_file *file, const struct evb_event *event, uint64_t now_ns);

// Ends the open file if its time is over. To be called about once a second.
void event_file_tick(struct event_file *file, uint64_t now_ns);

struct event_file_counters event_file_counters(const struct event_file *file);

// Path of the file being written or written last, without the marks of its temporary name; "" if
// there was none.
const char *event_file_path(const struct event_file *file);

// What the last error was, one line; "" if there was none.
const char *event_file_error(const struct event_file *file);

// Ends the open file and frees everything. Returns 0, or -1 if any file could not be finished since
// event_file_open(); each was told by a notice. NULL is allowed.
int event_file_close(struct event_file *file);
