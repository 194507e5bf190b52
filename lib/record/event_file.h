// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Writes built events, in the order of the calls, to a series of files PREFIX-runRRRRRR-SSSS.mep or
// .mdf (docs/files.md).
//
// When event_file_write() has returned 0, the event is in the file and survives a kill of the
// process, so that the caller may release it. If a sync of its file fails later, the file is left
// unfinished, and all its events are counted as lost: the disk may lack any of them. A power
// failure may lose the last sync_size bytes, or
// without sync_size all data of the open file that the kernel has not written yet. After an event
// that could not be written, the file is as before the call, and the caller repeats the call later.
//
// Threads: only one thread uses an event file, including event_file_counters(). The functions make
// system calls and may wait for the disk. In steady state they allocate no memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "evring/evb_reader.h"
#include "record/file_name.h"

#define EVENT_FILE_ERROR_SIZE 512

enum event_file_notice_kind {
	EVENT_FILE_FINISHED,  // a file is complete, on the disk, and has its final name
	EVENT_FILE_RECOVERED, // so is a file that a killed writer left
	EVENT_FILE_REMOVED,   // a file that a killed writer left without a whole event is removed
	EVENT_FILE_PAUSED,    // events cannot be written for now; reported once per cause
	EVENT_FILE_RESUMED,   // events can be written again
	EVENT_FILE_FAILED,    // a file could not be synced, finished or recovered
};

struct event_file_notice {
	enum event_file_notice_kind kind;
	const char *path;  // of the file
	uint64_t bytes;    // in the file
	uint64_t events;   // in the file (FINISHED); of it, that are lost (FAILED)
	uint64_t cut;      // bytes of a partial event that were cut off (RECOVERED, REMOVED)
	const char *cause; // PAUSED, FAILED: the failed step and its error; else NULL
};

struct event_file_parameters {
	const char *directory; // created if it does not exist; its parent must exist
	const char *prefix;    // 1 to 31 characters of [A-Za-z0-9_.-], not beginning with a dot
	enum file_format format;
	uint64_t rotate_size;    // largest file in bytes, unless one event is larger; 0: no limit
	uint64_t rotate_time_ns; // longest time from a file's first event to its end; 0: no limit
	uint64_t sync_size;      // bytes between syncs to the disk; 0: only at the end of a file
	const char *source_map;  // mdf: see source_map.h; NULL or empty: none
	// Called by the functions below, in the caller's thread; may be NULL.
	void (*notify)(void *context, const struct event_file_notice *notice);
	void *notify_context;
};

struct event_file_counters {
	uint64_t events;   // MEPs written
	uint64_t bytes;    // written into files
	uint64_t files;    // finished
	uint64_t failures; // files that could not be synced, finished or recovered
	uint64_t pauses;   // times that writing stopped because of a full disk or another error
	uint64_t lost;     // MEPs written to a file whose sync failed: the disk may not have them
	uint64_t repeated; // events not written because a recovered file already contains them
	uint64_t paused;   // errno because of which events cannot be written now; 0: they can
};

struct event_file;

// Bytes that event_file_open() allocates. A file of format mdf may take more for large events.
uint64_t event_file_memory(enum file_format format);

// Creates the directory and recovers the files that killed writers of this prefix left in it. The
// first file is created with the first event. Parameters are copied. Returns 0, or -1 with one line
// in error[EVENT_FILE_ERROR_SIZE].
int event_file_open(struct event_file **file, const struct event_file_parameters *parameters,
		    char *error);

// Writes one event. A file contains events of one run. `now_ns`: CLOCK_MONOTONIC. Returns
//   0         the event is in the file;
//   -EAGAIN   it could not be written (disk full or another error of the file, which
//             event_file_error() names): repeat the call with the same event later;
//   -EBADMSG  it is no valid MEP, -ENOTSUP: MDF cannot represent it; repeating is useless.
int event_file_write(struct event_file *file, const struct evb_event *event, uint64_t now_ns);

// Ends the open file when rotate_time_ns is over. To be called about once per second.
void event_file_tick(struct event_file *file, uint64_t now_ns);

struct event_file_counters event_file_counters(const struct event_file *file);

// The final path of the open or the most recent file; "" before the first file.
const char *event_file_path(const struct event_file *file);

// The last error in one line; "" before the first error.
const char *event_file_error(const struct event_file *file);

// Ends the open file; the counters are then final if no event follows. Returns 0, or -1 if a file
// could not be finished since event_file_open(); a notice has reported each such file.
int event_file_finish(struct event_file *file);

// Calls event_file_finish() and frees the memory; returns its result. NULL is allowed.
int event_file_close(struct event_file *file);
