// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The writer role: a consumer inside the appliance that writes its group's events to files. Unlike
// the other roles it makes system calls and may wait for the disk: give it an lcore of its own
// where that matters.
//
// An event is released when it is in the file. Where it cannot be written (disk full) the writer
// pauses, says so once, and tries again: the event ring fills and holds the builders back.
#pragma once

#include "config/config.h"
#include "pipeline/role.h"
#include "record/event_file.h"

struct writer_parameters {
	const char *name;
	const struct config *config;
	const struct config_writer *writer;
	void (*notify)(void *context, const struct event_file_notice *notice);
	void *notify_context;
};

// Written by the role's lcore, read by telemetry.
struct writer_counters {
	uint64_t events; // in files
	uint64_t bytes;
	uint64_t files;   // finished
	uint64_t refused; // events that have no form in the file format; the account tells how many
	uint64_t pauses;
	uint64_t failures; // files that could not be finished
};

// Control thread; the event rings must exist. Returns NULL with one line in
// error[EVENT_FILE_ERROR_SIZE].
struct role *writer_role_create(const struct writer_parameters *parameters, char *error);

const struct writer_counters *writer_role_counters(const struct role *role);
