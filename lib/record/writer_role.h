// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The writer role: a consumer inside the appliance that writes the events of its group to files. It
// makes system calls and may wait for the disk, unlike the other roles; where their delay matters,
// the writer needs its own lcore.
//
// The writer releases an event when the event is in the file. While an event cannot be written
// (disk full), the writer reports that once and tries again; the event ring fills meanwhile, which
// stops the builders.
#pragma once

#include "pipeline/role.h"
#include "record/recorder.h"

// Written by the role's lcore, read by telemetry.
struct writer_counters {
	uint64_t events;   // in files
	uint64_t bytes;    // in files
	uint64_t files;    // finished
	uint64_t refused;  // events that the file format cannot represent
	uint64_t pauses;   // times that events could not be written
	uint64_t failures; // files that could not be finished
	uint64_t lost;     // events in files whose sync failed
	uint64_t paused;   // errno because of which events cannot be written now; 0: they can
};

// Bytes that a writer allocates beside its reader.
uint64_t writer_role_memory(enum file_format format);

// Called by the control thread; the event rings must exist, and the reader is the member of a
// group. `name` is that of the role. Returns NULL with one line in error[EVENT_FILE_ERROR_SIZE].
struct role *writer_role_create(const char *name, const struct recorder_parameters *parameters,
				char *error);

const struct writer_counters *writer_role_counters(const struct role *role);
